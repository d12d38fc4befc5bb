"""The tasks of a run in its results file, until the run is done.

A task's name is unique in its run, and the run's key is a hash of the config, the files it reads,
and the sources and libraries that compute it. A run that was stopped finds its tasks again; one
with another config or other sources does not.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, cast

import cloudpickle
import numba
import numpy as np
import scipy
from numpy.typing import NDArray

from cosim.measuring.tasks import (
    Columns,
    Progress,
    ReportProgress,
    SerialExecutor,
    Tasks,
    share_of,
)
from netcosim.config.config import Config
from netcosim.executors.executor import KILLED, raise_interrupt_behind, run_tasks
from netcosim.executors.workers import Workers
from netcosim.package_check import sources_hash
from netcosim.runs.progress import Show
from netcosim.runs.store import Store
from netsim.atomic_files import make_folder
from netsim.errors import NetcosimError, one_line
from netsim.plugins import pinned_plugin, using

LEAST_RUN_S = 60.0
"""A run that is refused within so long leaves nothing; its tasks are soon computed again."""
_FORMAT = 4
_MOST_BYTES = 900 * 10**6
"""SQLite stores no longer value; a larger result is computed again by a run that goes on."""


@cache
def computed_by() -> str:
    """Return the sources and libraries that compute tasks, as text.

    Unlike `netsim.fingerprint.code_fingerprint` it covers every byte, and this package too:
    recomputing a task costs little, a stale result gives a wrong one.
    """
    versions = (sys.version_info[:3], np.__version__, scipy.__version__, numba.__version__)
    return f"{versions} {sources_hash()}"


def run_key(key: str) -> str:
    """Return the key of a run's tasks from that of its point (`netcosim.runs.points.point_key`)."""
    return hashlib.sha256(f"{_FORMAT} {key} {computed_by()}".encode()).hexdigest()


def count_tasks(results: Path, key: str) -> int:
    """Return how many tasks of a run are in a results file, which may be missing."""
    # a run that is starting has made an empty one
    if not results.exists() or not results.stat().st_size:
        return 0
    with Store(results, "read") as store:
        return len(store.task_names(run_key(key)))


class StoredTasks:
    """A `cosim.measuring.tasks.TaskRunner` that stores results, and computes what is not stored.

    Plug-ins of the config are loaded where tasks are computed. ``resumed`` is called when tasks of
    a run before have been read, which do not count in the estimate of the time that others take.
    """

    def __init__(
        self,
        store: Store,
        run: str,
        workers: Workers,
        plugins: Sequence[Mapping[str, str]] = (),
        resumed: Callable[[], None] = lambda: None,
    ) -> None:
        self.store, self.run, self.workers = store, run, workers
        self._plugins, self._resumed = tuple(plugins), resumed
        self.before = store.task_names(run)
        """Names of the tasks that were stored at the start."""

    def __reduce__(self) -> tuple[type[SerialExecutor], tuple[()]]:
        """Pickle what another process has in its place: it computes by itself."""
        return SerialExecutor, ()

    def __len__(self) -> int:
        """Return the number of stored tasks."""
        return len(self.store.task_names(self.run))

    def each(
        self,
        compute: Callable[..., Columns],
        tasks: Tasks,
        progress: Progress | None = None,
        digests: Mapping[str, str] | None = None,
    ) -> list[tuple[Any, ...]]:
        """Return the columns of all tasks, stored or computed (see `TaskRunner.each`)."""
        done: dict[str, Columns] = {}

        def share(name: str) -> ReportProgress:
            return share_of(progress, name, len(done), len(tasks))

        def finish(results: Sequence[tuple[str, Columns | TaskFailure]]) -> None:
            failures = [result for _, result in results if isinstance(result, TaskFailure)]
            good = {n: result for n, result in results if not isinstance(result, TaskFailure)}
            with self.store.together():
                for name, columns in good.items():
                    if len(content := to_bytes(columns)) <= _MOST_BYTES:
                        self.store.put_task(self.run, name, content)
            for name in good:
                done[name] = good[name]
                share(name)(0.0)
            for failure in failures:
                raise failure.error()

        for name in tasks:
            if (content := self.store.task(self.run, name)) is not None:
                done[name] = columns_from(content)
                share(name)(0.0)
        if not self.before.isdisjoint(done):
            self._resumed()
        missing = {name: arguments for name, arguments in tasks.items() if name not in done}
        if self.workers.compute_here(len(missing)):

            def compute_here(name: str) -> Columns:
                done[name] = compute(*missing[name], share(name))
                return done[name]

            run_tasks(compute_here, {name: name for name in missing}, finish, self.workers)
        elif missing:
            function = partial(compute_pickled, _pickled(compute), self._plugins)
            for name in run_tasks(function, missing, finish, self.workers):
                raise NetcosimError(f"{name}: {KILLED}")
        return [(*arguments, done[name]) for name, arguments in tasks.items()]


def to_bytes(columns: Columns) -> bytes:
    """Return arrays as a line of JSON, their names, types and shapes, and the bytes of all.

    A file of NumPy's (npz) takes as long as many a task.
    """
    if mixed := [name for name, array in columns.items() if array.dtype.kind in "OV"]:
        raise ValueError(f"Object and structured arrays are not stored: {mixed}")
    head = [(name, array.dtype.str, array.shape) for name, array in columns.items()]
    values = b"".join(array.tobytes() for array in columns.values())
    return json.dumps(head).encode() + b"\n" + values


def columns_from(content: bytes) -> Columns:
    """Return the arrays of `to_bytes`."""
    found: dict[str, NDArray[Any]] = {}
    at = content.index(b"\n") + 1
    for name, kind, shape in json.loads(content[:at]):
        found[name] = np.frombuffer(content, kind, math.prod(shape), at).reshape(shape).copy()
        at += found[name].nbytes
    return found


@dataclass(frozen=True)
class TaskFailure:
    """Why a task that another process computed has no result."""

    message: str
    is_fault: bool
    """Whether it is a fault of the program, and the message its traceback."""

    def error(self) -> Exception:
        """Return the exception to raise here."""
        return RuntimeError(self.message) if self.is_fault else NetcosimError(self.message)


def compute_pickled(
    pickled: bytes, plugins: Sequence[Mapping[str, str]], arguments: tuple[Any, ...]
) -> Columns | TaskFailure:
    """Compute a task in another process, with the plug-ins of its config."""
    try:
        with using(map(pinned_plugin, plugins)):
            return _unpickled(pickled)(*arguments, lambda share: None)
    except Exception as error:
        raise_interrupt_behind(error)
        is_fault = not isinstance(error, NetcosimError)
        return TaskFailure(traceback.format_exc() if is_fault else str(error), is_fault)


def _pickled(compute: Callable[..., Columns]) -> bytes:
    try:
        return cast("bytes", cloudpickle.dumps(compute))
    except Exception as error:
        reason = one_line(f"{type(error).__name__}: {error}", 200)
        raise NetcosimError(
            f"tasks cannot be sent to other processes ({reason}): an object of a plug-in that has "
            "no pickle? Use --jobs 1"
        ) from None


@lru_cache(maxsize=1)
def _unpickled(pickled: bytes) -> Callable[..., Columns]:
    """Return the function of a step, the same one for all tasks that this process gets of it."""
    return cast("Callable[..., Columns]", cloudpickle.loads(pickled))


@contextmanager
def stored_tasks(
    results: Path, key: str, workers: Workers, config: Config, show: Show
) -> Iterator[StoredTasks]:
    """Open the results file of a point's run, with what is stored of its tasks; make it if missing.

    They stay if the block is left by an exception, but for a new run that is refused before it has
    done much. Tasks of other runs are dropped.
    """
    began, run = time.monotonic(), run_key(key)
    new_folder, new_file = not results.parent.exists(), not results.exists()
    make_folder(results.parent)
    try:
        with Store(results, "write") as store:
            if dropped := store.drop_tasks(but=run):
                show.print_line(
                    f"{results}: {dropped:,} tasks of a run of another config or version, dropped"
                )
            tasks = StoredTasks(store, run, workers, config.plugins, show.restart)
            if len(tasks):
                show.print_line(f"{len(tasks):,} tasks of this run are stored: it goes on")
            try:
                yield tasks
            except BaseException as error:
                soon = isinstance(error, Exception) and time.monotonic() - began < LEAST_RUN_S
                if tasks.before or (len(tasks) and not soon):
                    show.print_line(
                        f"{len(tasks):,} tasks are stored in {results}; start it again to go on"
                    )
                else:
                    store.drop_tasks()
                    if new_file and not store.statuses():
                        results.unlink()
                raise
    except BaseException:
        if new_folder:
            with suppress(OSError):
                results.parent.rmdir()
        raise
