"""Text files that users bring: bounded, plain or compressed, one clear line when one is no good.

Every reader of the project comes here: job logs, configs, graphs, traces, menus, tables.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import stat
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from netsim.atomic_files import atomic_write
from netsim.errors import NetcosimError

MAX_TEXT_BYTES = 512 * 2**20
"""Most text that is read from one file, unzipped.

A line of a job log has some 80 bytes: room for six million jobs, as many as the longest public
logs have.
"""

MAX_LINE = 65_536
"""Most bytes of one line of a table; a job line has some 80."""

MAX_RATIO = 200
"""Of a compressed file from 64 MiB of text on; job logs have 4 to 15."""

_Unpacker = Callable[[IO[bytes]], Any]
_UNPACKERS: dict[bytes, tuple[str, _Unpacker]] = {
    b"\x1f\x8b": ("gzip", lambda file: gzip.GzipFile(fileobj=file)),
    b"BZh": ("bzip2", bz2.BZ2File),
    b"\xfd7zXZ\x00": ("xz", lzma.LZMAFile),
}
"""First bytes of compressed files, their format, and what opens them."""
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_BROKEN = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)
"""Errors of a compressed file that is cut or damaged; bz2 raises a bare OSError besides."""
_CHUNK = 2**20
_PLAUSIBLE_BYTES = 64 * 2**20


def read_text(path: str | Path, *, limit_bytes: int = MAX_TEXT_BYTES) -> str:
    """Return the text of a file in UTF-8; gzip, bzip2 and xz are recognised by their first bytes.

    A byte-order mark is left out. Only regular files are read: a pipe or a device may never end.
    """
    raw = read_bytes(path, limit_bytes=limit_bytes)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NetcosimError(f"{path}: not a text file (no UTF-8 at byte {error.start})") from None


def read_lines(
    path: str | Path, *, limit_bytes: int = MAX_TEXT_BYTES, longest: int = MAX_LINE
) -> Iterator[str]:
    """Yield the lines of a table without their ends; else as `read_text`.

    A file that is not UTF-8 from its first byte to its last is Latin-1, which decodes every
    byte: old logs have names of people in them. One encoding per file, so that names which
    differ stay different. Only one line is decoded at a time, so a long file takes little more
    memory than its bytes.
    """
    raw = read_bytes(path, limit_bytes=limit_bytes)
    encoding = encoding_of(raw)
    start, number = 0, 1
    while start < len(raw):
        end = raw.find(b"\n", start)
        if end < 0:
            end = len(raw)
        if end - start > longest:
            raise NetcosimError(
                f"{path}:{number}: a line of {end - start:,} bytes; at most {longest:,} are read"
            )
        yield raw[start:end].decode(encoding)
        start, number = end + 1, number + 1


def encoding_of(raw: bytes | bytearray, *, cut: bool = False) -> str:
    """Return "utf-8" if all bytes are, but for a last character that is ``cut``; else "latin-1"."""
    if raw.isascii():
        return "utf-8"
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(raw)
    try:
        for start in range(0, len(raw), _CHUNK):
            decoder.decode(view[start : start + _CHUNK])
        decoder.decode(b"", final=not cut)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def first_lines(path: str | Path, n_bytes: int = 4096) -> list[str]:
    """Return the lines of the first bytes of a text, unzipped; the last one may be cut."""
    path = Path(path)
    check_file(path)
    try:
        with path.open("rb") as file:
            found = _compression(file, path)
            raw = (file if found is None else found[1](file)).read(n_bytes)
    except _BROKEN:
        return []
    except OSError as error:
        if error.strerror is None:
            return []
        raise NetcosimError(f"{path}: cannot be read: {error.strerror}") from None
    raw = raw.removeprefix(codecs.BOM_UTF8)
    encoding = encoding_of(raw, cut=True)
    return [line.decode(encoding, errors="ignore") for line in raw.splitlines()]


def read_bytes(path: str | Path, *, limit_bytes: int = MAX_TEXT_BYTES) -> bytearray:
    """Return the content of a text file, unzipped and without a byte-order mark."""
    path = Path(path)
    check_file(path, limit_bytes=limit_bytes)
    name = "compressed"
    try:
        with path.open("rb") as file:
            found = _compression(file, path)
            if found is None:
                raw = _content(file, file, path, limit_bytes)
            else:
                name = found[0]
                with found[1](file) as unzipped:
                    raw = _content(unzipped, file, path, limit_bytes)
    except EOFError:
        raise NetcosimError(f"{path}: the {name} file is truncated") from None
    except _BROKEN as error:
        raise NetcosimError(f"{path}: the {name} file is broken ({error})") from None
    except OSError as error:
        if error.strerror is None:  # as bz2 raises it
            raise NetcosimError(f"{path}: the {name} file is broken ({error})") from None
        raise NetcosimError(f"{path}: cannot be read: {error.strerror}") from None
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise NetcosimError(f"{path}: not a text file in UTF-8; it begins like UTF-16")
    if raw.startswith(codecs.BOM_UTF8):
        del raw[: len(codecs.BOM_UTF8)]
    return raw


def check_file(path: str | Path, *, limit_bytes: int = MAX_TEXT_BYTES) -> None:
    """Check, without opening it, that a path is a regular file and not too long."""
    path = Path(path)
    if "\0" in str(path):
        raise NetcosimError(f"{str(path)!r}: not a file name")
    try:
        found = path.stat()
    except OSError as error:
        raise NetcosimError(f"{path}: cannot be read: {error.strerror}") from None
    if stat.S_ISDIR(found.st_mode):
        raise NetcosimError(f"{path}: cannot be read: a folder; a file is needed")
    if not stat.S_ISREG(found.st_mode):
        raise NetcosimError(f"{path}: cannot be read: a pipe or a device; a regular file is needed")
    if found.st_size > limit_bytes:
        raise _too_long(path, limit_bytes)


def _compression(file: IO[bytes], path: Path) -> tuple[str, _Unpacker] | None:
    """Return the format of a compressed file and what opens it, by its first bytes; None if
    plain."""
    head = file.read(6)
    file.seek(0)
    if head.startswith(_ZSTD_MAGIC):
        raise NetcosimError(
            f"{path}: a Zstandard file; gzip, bzip2 and xz are read: unpack it with zstd -d"
        )
    found = next((entry for magic, entry in _UNPACKERS.items() if head.startswith(magic)), None)
    if found is None and path.suffix == ".gz":
        raise NetcosimError(f"{path}: not a gzip file")
    return found


def _content(stream: IO[bytes], file: IO[bytes], path: Path, limit_bytes: int) -> bytearray:
    """Read all of a file, unzipped by the stream, in pieces.

    Some system files report a size of 0, and a few MB can unzip to gigabytes.
    """
    raw = bytearray()
    packed = stream is not file
    while chunk := stream.read(_CHUNK):
        raw += chunk
        if len(raw) > limit_bytes:
            raise _too_long(path, limit_bytes, " once unzipped" if packed else "")
        if packed and len(raw) > _PLAUSIBLE_BYTES and len(raw) > MAX_RATIO * file.tell():
            raise NetcosimError(
                f"{path}: unzips to more than {MAX_RATIO} times its size; no log or table does"
            )
    return raw


def _too_long(path: Path, limit_bytes: int, when: str = "") -> NetcosimError:
    most = f"{limit_bytes // 2**20} MiB" if limit_bytes >= 2**20 else f"{limit_bytes} bytes"
    return NetcosimError(f"{path}: more than {most}{when}; no longer file is read")


def write_text(path: str | Path, text: str) -> None:
    """Write text in UTF-8, gzipped if the name ends in .gz (same text, same bytes)."""
    path = Path(path)
    raw = text.encode("utf-8", errors="backslashreplace")
    with atomic_write(path) as part:
        part.write_bytes(gzip.compress(raw, mtime=0) if path.suffix == ".gz" else raw)
