"""One writer at a time for a file that several processes know."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO

from netsim.atomic_files import need_regular
from netsim.errors import NetcosimError


def acquire_lock(path: Path, what: str = "results file") -> IO[str]:
    """Acquire ``path.lock``; the system releases it when the process ends, however it ends.

    Parameters
    ----------
    what : str
        What it protects, for the message.
    """
    lock = try_lock(path)
    if lock is None:
        raise NetcosimError(f"{path}: another process is writing this {what}")
    return lock


def try_lock(path: Path) -> IO[str] | None:
    """Acquire a lock as `acquire_lock` does, but return None if another process holds it."""
    lock_path = path.with_name(path.name + ".lock")
    while True:
        need_regular(lock_path)
        try:
            file = open(lock_path, "a", opener=_open_lock)  # noqa: SIM115
        except OSError as error:
            raise NetcosimError(f"{path}: cannot be written: {error.strerror}") from None
        # A lock is removed when it is released; a file with content belongs to another program.
        if os.fstat(file.fileno()).st_size:
            file.close()
            raise NetcosimError(
                f"{lock_path}: a file with content is in the place of the lock of {path}; move it"
            )
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            if isinstance(error, BlockingIOError):
                return None
            raise NetcosimError(
                f"{lock_path}: the file system has no locks ({error.strerror}); mount it with "
                "flock (Lustre: -o flock), or write to another one"
            ) from None
        # The former holder may have removed the name between our open and our lock.
        if lock_path.exists() and os.fstat(file.fileno()).st_ino == lock_path.stat().st_ino:
            return file
        file.close()


def _open_lock(path: str, flags: int) -> int:
    """Open a file without truncating it, following a link or waiting at a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)


def let_go(lock: IO[str]) -> None:
    """Remove a lock that is held."""
    Path(lock.name).unlink(missing_ok=True)
    lock.close()
