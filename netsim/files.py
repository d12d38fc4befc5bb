"""Text files that users bring: bounded, plain or gzipped, one clear line when one is no good.

Every reader of the project comes here: job logs, configs, graphs, traces, menus, tables.
"""

from __future__ import annotations

import codecs
import gzip
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from netsim.errors import NetcosimError

MAX_TEXT_BYTES = 512 * 2**20
"""Most text that is read from one file, unzipped.

A line of a job log has some 80 bytes: room for six million jobs, more than any public log has.
A file of this size and its lines take below 2 GB of memory.
"""

MAX_LINE = 65_536
"""Most characters of one line of a table; a job line has some 80."""

_GZIP_MAGIC = b"\x1f\x8b"
_CHUNK = 2**20


def read_text(
    path: str | Path, *, encoding: str = "utf-8", limit_bytes: int = MAX_TEXT_BYTES
) -> str:
    """The text of a file; gzip is recognised by its first bytes, a byte-order mark is left out.

    Only regular files are read: a pipe or a device may never end.

    Parameters
    ----------
    path : str or Path
    encoding : {"utf-8", "latin-1"}
        Latin-1 decodes every byte: for old files with names of people in them.
    limit_bytes : int
        Most bytes of text.

    Raises
    ------
    NetcosimError
        A file that is missing, unreadable, no regular file or longer than the limit, a name
        ending in .gz that is not gzip, a broken or truncated gzip file, text in another
        encoding.
    """
    raw = _content(Path(path), limit_bytes)
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise NetcosimError(f"{path}: not a text file in UTF-8; it begins like UTF-16")
    if raw.startswith(codecs.BOM_UTF8):
        del raw[: len(codecs.BOM_UTF8)]
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        raise NetcosimError(f"{path}: not a text file (no UTF-8 at byte {error.start})") from None


def _content(path: Path, limit_bytes: int) -> bytearray:
    if "\0" in str(path):
        raise NetcosimError(f"{str(path)!r}: not a file name")
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            raise NetcosimError(f"{path}: cannot be read: a folder; a file is needed")
        if not stat.S_ISREG(found.st_mode):
            raise NetcosimError(
                f"{path}: cannot be read: a pipe or a device; a regular file is needed"
            )
        if found.st_size > limit_bytes:
            raise _too_long(path, limit_bytes, "")
        with path.open("rb") as file:
            zipped = file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
            file.seek(0)
            if zipped:
                with gzip.GzipFile(fileobj=file) as unzipped:
                    return _bounded(unzipped, path, limit_bytes, " once unzipped")
            if path.suffix == ".gz":
                raise NetcosimError(f"{path}: not a gzip file")
            return _bounded(file, path, limit_bytes, "")
    except EOFError:
        raise NetcosimError(f"{path}: the gzip file is truncated") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise NetcosimError(f"{path}: the gzip file is broken ({error})") from None
    except OSError as error:
        raise NetcosimError(f"{path}: cannot be read: {error.strerror}") from None


def _bounded(file: IO[bytes] | gzip.GzipFile, path: Path, limit_bytes: int, when: str) -> bytearray:
    """All of an open file, read piece by piece so that an endless one is noticed in time."""
    raw = bytearray()
    while chunk := file.read(_CHUNK):
        if len(raw) + len(chunk) > limit_bytes:
            raise _too_long(path, limit_bytes, when)
        raw += chunk
    return raw


def _too_long(path: Path, limit_bytes: int, when: str) -> NetcosimError:
    most = f"{limit_bytes / 2**20:g} MiB" if limit_bytes >= 2**20 else f"{limit_bytes / 1024:g} KiB"
    return NetcosimError(f"{path}: more than {most}{when}; at most that much is read")


def lines_of(text: str, path: str | Path) -> Iterator[str]:
    """The lines of a text, one after the other, without their ends; the text is not copied.

    Raises
    ------
    NetcosimError
        A line of more than `MAX_LINE` characters, named ``file:line``.
    """
    start, number = 0, 1
    while start < len(text):
        end = text.find("\n", start)
        if end < 0:
            end = len(text)
        if end - start > MAX_LINE:
            raise NetcosimError(
                f"{path}:{number}: a line of {end - start:,} characters; at most {MAX_LINE:,} "
                "are read"
            )
        yield text[start:end]
        start, number = end + 1, number + 1


def write_text(path: str | Path, text: str) -> None:
    """Write text in Latin-1, gzipped if the name ends in .gz (same text, same bytes).

    Raises
    ------
    NetcosimError
        The file cannot be written.
    """
    path = Path(path)
    raw = text.encode("latin-1", errors="replace")
    if path.suffix == ".gz":
        raw = gzip.compress(raw, mtime=0)
    try:
        path.write_bytes(raw)
    except OSError as error:
        raise NetcosimError(f"{path}: cannot be written ({error.strerror})") from None
