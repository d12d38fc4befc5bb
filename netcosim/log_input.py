"""A log that comes through a pipe: standard input, or what the shell has opened."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from netsim.errors import NetcosimError
from netsim.files import MAX_TEXT_BYTES, first_lines

STDIN = "-"
NAME = "standard input"
_CHUNK = 1 << 20


@contextmanager
def log_file(log: str) -> Iterator[str]:
    """Yield a file with the log: itself, or a copy of what comes through an open pipe.

    A reader reads a log more than once: its first bytes determine its format. The copy exists
    during the block, and messages name it as the user did. A pipe is "-" for standard input, or a
    name that the shell gives to an open one (/dev/stdin, /dev/fd/63). Other pipes and devices are
    left to the reader, which refuses them: opening one may block for ever.
    """
    if not _is_pipe(log):
        yield log
        return
    name = NAME if log == STDIN else Path(log).name
    with tempfile.TemporaryDirectory(prefix="netcosim-") as folder:
        path = Path(folder) / name
        _copy(log, name, path)
        if _is_table(path):
            # the format of a table is known by its name
            path = path.rename(path.with_name(f"{name}.csv"))
        try:
            yield str(path)
        except NetcosimError as error:
            message = str(error).replace(str(path), NAME if log == STDIN else log)
            raise NetcosimError(message) from None


def _is_pipe(log: str) -> bool:
    if log == STDIN:
        return True
    if log != "/dev/stdin" and Path(log).parent != Path("/dev/fd"):
        return False
    try:
        mode = os.stat(log).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def _copy(log: str, name: str, path: Path) -> None:
    try:
        # a copy of the descriptor: standard input stays open when the log has been read
        descriptor = os.dup(0) if log == STDIN else os.open(log, os.O_RDONLY)
        with os.fdopen(descriptor, "rb") as source, path.open("wb") as copy:
            if source.isatty():
                raise NetcosimError(f"{name}: a terminal; send a log through a pipe")
            size = 0
            while chunk := source.read(_CHUNK):
                size += len(chunk)
                if size > MAX_TEXT_BYTES:
                    most = f"{MAX_TEXT_BYTES // 2**20} MiB"
                    raise NetcosimError(f"{name}: more than {most}; no longer log is read")
                copy.write(chunk)
    except OSError as error:
        raise NetcosimError(f"{name}: cannot be read: {error.strerror}") from None


def _is_table(path: Path) -> bool:
    """Return whether the first line that is no comment is the header of a table of jobs."""
    from workloads.csv_jobs import NEEDED

    lines = (line for line in first_lines(path) if not line.startswith("#"))
    names = {name.strip() for name in next(lines, "").split(",")}
    return names >= set(NEEDED)
