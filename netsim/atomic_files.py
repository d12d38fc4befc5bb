"""What is done whole or not at all: files, their folders, and steps that signals wait for."""

from __future__ import annotations

import os
import signal
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

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
