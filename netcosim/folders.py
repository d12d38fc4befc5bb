"""Folders that results go into, looked at before hours of computing and not after."""

from __future__ import annotations

import os
from pathlib import Path

from netsim.errors import NetcosimError


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
