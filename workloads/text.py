"""Plain or gzipped text of a log, with one clear line when it cannot be read."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from netsim.errors import NetcosimError

_GZIP_MAGIC = b"\x1f\x8b"


def read_text(path: str | Path) -> str:
    """The text of a file; gzip is recognised by its first bytes.

    Raises
    ------
    NetcosimError
        Missing or unreadable file, a name ending in .gz that is not gzip, a broken or
        truncated gzip file.
    """
    path = Path(path)
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise NetcosimError(f"{path}: no such file") from None
    except OSError as error:
        raise NetcosimError(f"{path}: cannot be read ({error.strerror})") from None
    if raw.startswith(_GZIP_MAGIC):
        try:
            raw = gzip.decompress(raw)
        except EOFError:
            raise NetcosimError(f"{path}: the gzip file is truncated") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise NetcosimError(f"{path}: the gzip file is broken ({error})") from None
    elif path.suffix == ".gz":
        raise NetcosimError(f"{path}: not a gzip file")
    # Headers of old logs have names in Latin-1, which decodes every byte.
    return raw.decode("latin-1")


def write_text(path: str | Path, text: str) -> None:
    """Write text, gzipped if the name ends in .gz (same text, same bytes).

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
