"""One writer at a time for a file that several processes know."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO

from netsim.errors import NetcosimError


def take_lock(path: Path) -> IO[str]:
    """Hold ``path.lock``; the system lets go of it when the process ends, however it ends.

    Raises
    ------
    NetcosimError
        Another process holds it, or it cannot be made.
    """
    lock_path = path.with_name(path.name + ".lock")
    while True:
        try:
            file = lock_path.open("w")
        except OSError as error:
            raise NetcosimError(f"{path}: cannot be written: {error.strerror}") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise NetcosimError(f"{path}: another process is writing this results file") from None
        # The former holder may have removed the name between our open and our lock.
        if lock_path.exists() and os.fstat(file.fileno()).st_ino == lock_path.stat().st_ino:
            return file
        file.close()
