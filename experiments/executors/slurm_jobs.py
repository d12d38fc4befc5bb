"""Jobs of Slurm, each of which computes some points (submitit)."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from experiments.executors.workers import ExecutorEntry, Workers, not_installed
from netsim.errors import NetcosimError

_OF_THE_TIME = 0.5
"""The part of a job's time limit after which it begins no other point."""


@dataclass(frozen=True)
class SlurmOptions:
    """What follows ``slurm:``, as KEY=VALUE separated by commas.

    Attributes
    ----------
    partition, account, qos, constraint : str
        As of sbatch; empty: the site's default.
    time : int
        Minutes of a job; at half of them it begins no other point.
    array : int
        Jobs at a time.
    points : int
        Most points of a job.
    cpus : int
        Of a job.
    mem : int
        GB of a job; 0: the site's default.
    folder : str
        For scripts and output of the jobs, on a file system that all nodes have.
    cluster : str
        "slurm", or "local": jobs are processes of this machine.
    """

    partition: str = ""
    account: str = ""
    qos: str = ""
    constraint: str = ""
    time: int = 60
    array: int = 100
    points: int = 100
    cpus: int = 1
    mem: int = 0
    folder: str = "netcosim-slurm"
    cluster: str = "slurm"


def slurm_options(argument: str) -> SlurmOptions:
    """Read options.

    Raises
    ------
    NetcosimError
        An unknown key, or a value that is not allowed.
    """
    kinds = {field.name: type(field.default) for field in fields(SlurmOptions)}
    given: dict[str, Any] = {}
    for part in filter(None, argument.split(",")):
        key, equals, value = part.partition("=")
        where = f"--executor slurm:{argument}"
        if not equals or key not in kinds:
            raise NetcosimError(f"{where}: {part!r}; allowed: KEY=VALUE of {', '.join(kinds)}")
        if kinds[key] is int and not (value.isdecimal() and int(value) >= (key != "mem")):
            raise NetcosimError(f"{where}: {part}; must be a whole number of at least 1")
        given[key] = kinds[key](value)
    options = SlurmOptions(**given)
    if options.cluster not in ("slurm", "local"):
        raise NetcosimError(f"cluster={options.cluster}; allowed: slurm, local")
    return options


class SubmititExecutor(Executor):
    """`concurrent.futures` over submitit: calls that come together are one job array.

    Parameters
    ----------
    inner : submitit executor
    poll_s : float
        From one look at the jobs to the next.
    late_s : float
        A file of results may come so long after its job has ended (network file systems).
    """

    def __init__(self, inner: Any, poll_s: float, late_s: float) -> None:
        self._inner, self._poll_s, self._late_s = inner, poll_s, late_s
        self._new: list[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]] = []
        self._jobs: dict[Future[Any], Any] = {}
        self._ended_s: dict[Future[Any], float] = {}
        self._guard = threading.Lock()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="submitit", daemon=True)
        self._thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """See `concurrent.futures.Executor.submit`; without keywords."""
        future: Future[Any] = Future()
        with self._guard:
            self._new.append((future, fn, args))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Cancel the jobs that have not ended."""
        self._closed.set()
        self._thread.join()
        for job in self._jobs.values():
            job.cancel(check=False)

    def _watch(self) -> None:
        while not self._closed.wait(self._poll_s):
            with self._guard:
                new, self._new = self._new, []
            try:
                self._start([call for call in new if call[0].set_running_or_notify_cancel()])
                for future, job in list(self._jobs.items()):
                    self._look(future, job)
            except Exception as error:  # sbatch refuses, a full disk: every call learns of it
                for future in (*self._jobs, *(call[0] for call in new)):
                    if not future.done():
                        future.set_exception(error)
                self._jobs.clear()

    def _start(self, calls: list[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]]) -> None:
        if not calls:
            return
        with self._inner.batch():
            jobs = [self._inner.submit(fn, *args) for _, fn, args in calls]
        self._jobs.update(zip((future for future, _, _ in calls), jobs, strict=True))

    def _look(self, future: Future[Any], job: Any) -> None:
        """Set a call's result if its job has ended, and remove the job's files."""
        from submitit.core.utils import UncompletedJobError

        if not job.done():
            return
        if not job.paths.result_pickle.exists():
            ended_s = self._ended_s.setdefault(future, time.monotonic())
            if time.monotonic() - ended_s < self._late_s:
                return
            future.set_exception(UncompletedJobError(f"job {job.job_id} has left no result"))
        elif (error := job.exception()) is not None:
            future.set_exception(error)
        else:
            future.set_result(job.result())
            paths = job.paths
            for path in (paths.result_pickle, paths.submitted_pickle, paths.stdout, paths.stderr):
                path.unlink(missing_ok=True)
        del self._jobs[future]


@contextmanager
def _open(argument: str, jobs: int) -> Iterator[Workers]:
    options = slurm_options(argument)
    try:
        import submitit
        from submitit.core.utils import UncompletedJobError
    except ImportError:
        raise not_installed("slurm", "submitit") from None

    # one for each run: jobs of an earlier one may still write theirs
    folder = Path(options.folder) / f"{socket.gethostname()}-{os.getpid()}"
    local = options.cluster == "local"
    try:
        inner = submitit.AutoExecutor(folder, cluster=options.cluster)
    except RuntimeError as error:
        raise NetcosimError(
            f"--executor slurm: {error} (slurm:cluster=local starts jobs on this machine)"
        ) from None
    site = {key: getattr(options, key) for key in ("partition", "account", "qos", "constraint")}
    inner.update_parameters(
        name="netcosim",
        timeout_min=options.time,
        cpus_per_task=options.cpus,
        mem_gb=options.mem or None,
        slurm_array_parallelism=options.array,
        **{f"slurm_{key}": value for key, value in site.items() if value},
    )
    executor = SubmititExecutor(inner, *((0.05, 1.0) if local else (2.0, 15.0)))
    with executor:
        yield Workers(
            count=options.array,
            executor=executor,
            ahead=options.array,
            points=options.points,
            seconds=60 * options.time * _OF_THE_TIME,
            lost=(UncompletedJobError,),
        )
    with suppress(OSError):  # what jobs printed that failed stays
        folder.rmdir()
        folder.parent.rmdir()


SLURM = ExecutorEntry(
    "slurm",
    "Slurm jobs of some points each (submitit)",
    _open,
    f"KEY=VALUE,... of {', '.join(field.name for field in fields(SlurmOptions))}",
    slurm_options,
)
