"""Files that are written whole or not at all, and the folders that they are in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from netsim.errors import NetcosimError


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A name beside a file to write to: it becomes the file when all went well.

    Raises
    ------
    NetcosimError
        A file that cannot be written.
    """
    # never through a link that lies in the folder
    part = path.with_name(f".{path.name}.part")
    try:
        part.unlink(missing_ok=True)
        yield part
        part.replace(path)
    except OSError as error:
        raise NetcosimError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Make a folder with those above it.

    Raises
    ------
    NetcosimError
        It cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NetcosimError(f"{folder}: cannot be made: {error.strerror}") from None
