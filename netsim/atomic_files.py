"""Files that are written whole or not at all, by one process at a time, and signals that wait."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO

from netsim.errors import NetcosimError


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a name beside a file to write to: it becomes the file when all went well.

    All files that the project writes use this function. The file is replaced, never opened, so a
    full disk or a kill leaves the previous content.
    """
    need_regular(path)
    # a name per process: two writers of one file would rename each other's half
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        # never through a link that lies in the folder
        part.unlink(missing_ok=True)
        yield part
        part.replace(path)
    except OSError as error:
        raise NetcosimError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def write_text_atomically(path: Path, text: str) -> None:
    """Write text in UTF-8, whole or not at all; half of a surrogate pair becomes its escape."""
    with atomic_write(path) as part:
        part.write_bytes(text.encode("utf-8", errors="backslashreplace"))


def need_regular(path: Path) -> None:
    """Raise NetcosimError if a path is there and is no regular file.

    Replacing a link or a device would destroy it, and what it points to may be anyone's.
    """
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise NetcosimError(f"{path}: cannot be written: {reason}") from None
    if not stat.S_ISREG(mode):
        raise NetcosimError(
            f"{path}: cannot be written: {_kind(mode)}; name a regular file or a new one"
        )


def _kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a pipe or a device"


def make_folder(folder: Path) -> None:
    """Make a folder with those above it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NetcosimError(f"{folder}: cannot be made: {error.strerror}") from None


def need_folder(folder: Path) -> None:
    """Raise NetcosimError unless a folder can be written or made here; leaves nothing."""
    place = folder.absolute()
    try:
        if place.exists():
            if not place.is_dir():
                raise NetcosimError(f"{folder}: a file; a folder was expected")
        else:
            missing = place
            while not place.exists():
                missing, place = place, place.parent
            if not place.is_dir():
                raise NetcosimError(f"{folder}: cannot be made: {place} is a file")
            # the only sure way to know; some folders wrongly report that they are writable
            missing.mkdir()
            missing.rmdir()
    except (OSError, ValueError) as error:
        if isinstance(error, NetcosimError):
            raise
        reason = error.strerror if isinstance(error, OSError) else error
        raise NetcosimError(f"{folder}: cannot be made: {reason}") from None
    if not os.access(place, os.W_OK | os.X_OK):
        raise NetcosimError(f"{folder}: cannot be made: {place} cannot be written")


@contextmanager
def defer_signals() -> Iterator[None]:
    """Defer signals that arrive within the block to its end.

    It protects what must not be left half done, such as a started but not yet recorded process.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)

    before = {s: signal.signal(s, note) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if came:
            signal.raise_signal(came[0])


def acquire_lock(path: Path) -> IO[str]:
    """Acquire ``path.lock`` of a results file; the system releases it when the process ends."""
    lock = try_lock(path)
    if lock is None:
        raise NetcosimError(f"{path}: another process is writing this results file")
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
