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
from queue import SimpleQueue
from typing import Any

from netcosim.executors.workers import Workers, not_installed
from netsim.errors import NetcosimError
from netsim.text_numbers import whole_number

_Call = tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]


@dataclass(frozen=True)
class SlurmOptions:
    """What follows ``slurm:``, as KEY=VALUE separated by commas."""

    partition: str = ""  # these four as of sbatch; empty: the site's default
    account: str = ""
    qos: str = ""
    constraint: str = ""
    time: int = 60  # minutes of a job; at half of them it begins no other point
    array: int = 100  # jobs at a time
    points: int = 100  # most points of a job
    cpus: int = 1  # of a job
    mem: int = 0  # GB of a job; 0: the site's default
    folder: str = "netcosim-slurm"  # for the jobs' files; all nodes must have it
    cluster: str = "slurm"  # or "local": jobs are processes of this machine


def slurm_options(argument: str) -> SlurmOptions:
    """Read options."""
    kinds = {f.name: int if isinstance(f.default, int) else str for f in fields(SlurmOptions)}
    given: dict[str, Any] = {}
    for part in filter(None, argument.split(",")):
        key, equals, value = part.partition("=")
        where = f"--executor slurm:{argument}"
        if not equals or key not in kinds:
            raise NetcosimError(f"{where}: {part!r}; allowed: KEY=VALUE of {', '.join(kinds)}")
        if kinds[key] is int and whole_number(value, int(key != "mem")) is None:
            raise NetcosimError(f"{where}: {part}; must be a whole number of at least 1")
        given[key] = kinds[key](value)
    options = SlurmOptions(**given)
    if options.cluster not in ("slurm", "local"):
        raise NetcosimError(f"cluster={options.cluster}; allowed: slurm, local")
    return options


class SubmititExecutor(Executor):
    """`concurrent.futures` over submitit: calls that come together are one job array.

    It looks at the jobs every ``poll_s``. A job's results may appear ``late_s`` after its end
    (network file systems).
    """

    def __init__(self, inner: Any, poll_s: float, late_s: float) -> None:
        self._inner, self._poll_s, self._late_s = inner, poll_s, late_s
        self._new = SimpleQueue[_Call]()
        self._jobs: dict[Future[Any], Any] = {}
        self._ended_s: dict[Future[Any], float] = {}
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="submitit", daemon=True)
        self._thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a call without keywords (see `concurrent.futures.Executor.submit`)."""
        future: Future[Any] = Future()
        self._new.put((future, fn, args))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Cancel the jobs that have not ended."""
        self._closed.set()
        self._thread.join()
        for job in self._jobs.values():
            job.cancel(check=False)

    def _watch(self) -> None:
        while not self._closed.wait(self._poll_s):
            calls = [self._new.get() for _ in range(self._new.qsize())]
            calls = [call for call in calls if call[0].set_running_or_notify_cancel()]
            try:
                if calls:
                    with self._inner.batch():
                        jobs = [self._inner.submit(fn, *args) for _, fn, args in calls]
                    self._jobs.update(zip((call[0] for call in calls), jobs, strict=True))
                for future, job in list(self._jobs.items()):
                    if job.done():
                        self._take(future, job)
            except Exception as error:  # sbatch refuses, a full disk: every call ends by it
                for future in {*self._jobs, *(call[0] for call in calls)}:
                    if not future.done():
                        future.set_exception(error)
                self._jobs.clear()

    def _take(self, future: Future[Any], job: Any) -> None:
        """Set a call's result, and remove the job's files."""
        from submitit.core.utils import UncompletedJobError

        paths = job.paths
        if not paths.result_pickle.exists():
            ended_s = self._ended_s.setdefault(future, time.monotonic())
            if time.monotonic() - ended_s < self._late_s:
                return
            future.set_exception(UncompletedJobError(f"job {job.job_id} has left no result"))
        elif (error := job.exception()) is not None:
            future.set_exception(error)
        else:
            future.set_result(job.result())
            for path in (paths.result_pickle, paths.submitted_pickle, paths.stdout, paths.stderr):
                path.unlink(missing_ok=True)
        del self._jobs[future]


@contextmanager
def open_jobs(argument: str, jobs: int) -> Iterator[Workers]:
    options = slurm_options(argument)
    try:
        import submitit
        from submitit.core.utils import UncompletedJobError
    except ImportError:
        raise not_installed("slurm") from None

    # one for each run: jobs of an earlier one may still write their results
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
    array, points, seconds = options.array, options.points, 30.0 * options.time
    with SubmititExecutor(inner, *((0.05, 1.0) if local else (2.0, 15.0))) as executor:
        yield Workers(array, executor, array, points, seconds, (UncompletedJobError,))
    with suppress(OSError):  # what jobs printed that failed stays
        folder.rmdir()
        folder.parent.rmdir()
