"""What a run has done so far, kept beside its results until they are whole.

Each part of a run (`cosim.measuring.parts`) is a file of arrays, written whole or not at all, in a
folder whose name is a hash of the config, the files it reads, and the sources and libraries that
compute it. A run that was killed finds its parts again; one with another config or other sources
does not. Several processes with one journal share the parts: the process that holds a part's
lock computes it, and the system lets go of a lock when its holder dies.
"""

from __future__ import annotations

import hashlib
import json
import re
import stat
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
import scipy

from cosim.measuring.parts import Columns, Part, Progress, ReportProgress, share_of
from netcosim.package_check import sources_hash
from netsim.atomic_files import atomic_write, make_folder, need_regular
from netsim.errors import NetcosimError
from netsim.file_lock import let_go, try_lock

FORMAT = 2
_FOLDER = re.compile("unfinished-[0-9a-f]{16}")
_FILE = re.compile(
    r"[0-9a-f]{32}\.npz|\.?[0-9a-f]{32}\.npz\.[0-9]+(\.part)?|[0-9a-f]{32}(\.npz)?\.lock|run\.lock"
)
_ABOUT = "about"
_LOOK_S = 0.02


@cache
def computed_by() -> str:
    """Return the sources and libraries that compute parts, as text.

    Unlike `netsim.fingerprint.code_fingerprint` it covers every byte, and this package too:
    recomputing a part costs little, a stale part gives a wrong result.
    """
    versions = (sys.version_info[:3], np.__version__, scipy.__version__, numba.__version__)
    return f"{versions} {sources_hash()}"


def journal_name(key: str) -> str:
    """Return the name of the folder of a run's parts.

    Parameters
    ----------
    key : str
        Of the point that it computes (`netcosim.runs.points.point_key`).
    """
    text = f"{FORMAT} {key} {computed_by()}"
    return f"unfinished-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


class Journal:
    """A `cosim.measuring.parts.TaskRunner` that keeps parts in a folder, and finds those that are
    there.

    Parameters
    ----------
    folder : Path
        Made when the first part is.
    resumed : callable ()
        Called when parts of a run before have been read, which do not count in the estimate of the
        others take.
    helps : bool
        Whether another process holds the journal: no part is begun when that has ended.
    """

    def __init__(
        self, folder: Path, resumed: Callable[[], None] = lambda: None, helps: bool = False
    ) -> None:
        self.folder = folder
        self.resumed = resumed
        self.helps = helps
        self._before = {path.name for path in folder.glob("*.npz")}

    def __len__(self) -> int:
        """Return the number of stored parts."""
        return sum(1 for _ in self.folder.glob("*.npz"))

    def each(self, parts: Sequence[Part], progress: Progress | None = None) -> list[Columns]:
        """Return the columns of all parts, stored or computed (see `TaskRunner.each`)."""
        found: dict[int, Columns] = {}

        def take(i: int, columns: Columns | None) -> bool:
            if columns is not None:
                found[i] = columns
                share_of(progress, parts[i].name, len(found), len(parts))(0.0)
            return columns is not None

        taken = [part for i, part in enumerate(parts) if take(i, self._read(part.name))]
        if any(self._path(part.name).name in self._before for part in taken):
            self.resumed()
        while len(found) < len(parts):
            before = len(found)
            for i, part in enumerate(parts):
                if i not in found:
                    take(i, self._got(part, share_of(progress, part.name, len(found), len(parts))))
            if len(found) == before:
                # all that is left is at other processes
                time.sleep(_LOOK_S)
        return [found[i] for i in range(len(parts))]

    def _got(self, part: Part, report_share: ReportProgress) -> Columns | None:
        """Compute a part if no process has; None while another process computes it."""
        path = self._path(part.name)
        if not self.helps:
            make_folder(self.folder)
        self._check_goes_on()
        # before the work: what is no file now cannot be replaced by the part then
        need_regular(path)
        lock = try_lock(path)
        if lock is None:
            return None
        try:
            # another process may have computed it since our last look
            columns = self._read(part.name)
            if columns is None:
                columns = part.compute(report_share)
                self._check_goes_on()
                self._write(path, part.name, columns)
            return columns
        finally:
            let_go(lock)

    def _check_goes_on(self) -> None:
        """Raise NetcosimError if the run that this process helps has ended."""
        if self.helps and not (self.folder / "run.lock").exists():
            raise NetcosimError(f"{self.folder}: the run has ended")

    def _path(self, name: str) -> Path:
        return self.folder / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.npz"

    def _about(self, name: str, columns: Columns) -> dict[str, object]:
        shapes = {key: [found.dtype.str, list(found.shape)] for key, found in columns.items()}
        return {"run": self.folder.name, "part": name, "columns": shapes}

    def _read(self, name: str) -> Columns | None:
        """Return a part; None if it is not there, damaged, or without a column that it had."""
        path = self._path(name)
        try:
            # a pipe would be waited at
            if not stat.S_ISREG(path.lstat().st_mode):
                return None
            with np.load(path, allow_pickle=False) as file:
                columns = {key: file[key] for key in file.files}
            about = json.loads(columns.pop(_ABOUT).tobytes())
        except Exception:
            # whatever a damaged archive leads to: it costs the part, not the run
            return None
        return columns if about == self._about(name, columns) else None

    def _write(self, path: Path, name: str, columns: Columns) -> None:
        text = json.dumps(self._about(name, columns))
        arrays: dict[str, Any] = {_ABOUT: np.frombuffer(text.encode(), dtype=np.uint8), **columns}
        with atomic_write(path) as part, part.open("wb") as file:
            np.savez(file, **arrays)


def journals_in(out: Path) -> list[Path]:
    """Return the folders of parts in a folder of results."""
    if not out.is_dir():
        return []
    return sorted(p for p in out.iterdir() if _FOLDER.fullmatch(p.name) and p.is_dir())


def drop(folder: Path) -> None:
    """Remove a journal's files, and its folder if nothing else is in it."""
    if folder.is_symlink() or not folder.is_dir():
        return
    for path in folder.iterdir():
        if _FILE.fullmatch(path.name):
            path.unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()
