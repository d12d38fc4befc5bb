"""An executor of other processes, and how many calls it takes; local processes."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import forkserver, parent_process, resource_tracker
from typing import Any

from netsim.atomic_files import defer_signals
from netsim.errors import ModelWarning, NetcosimError
from netsim.limits import MAX_INDEX, need_memory, shown


@dataclass(frozen=True)
class Workers:
    """Where calls are computed."""

    count: int
    """Processes that compute at a time."""
    executor: Executor | None = None
    """None: this process alone."""
    ahead: int = 1
    tasks: int = 1
    """ahead, tasks: Most calls under way; most tasks of one."""
    seconds: float = math.inf
    """A call that has taken so long begins no other task."""
    lost: tuple[type[BaseException], ...] = ()
    """How a call ends whose process was killed."""
    local: bool = False
    """Whether a killed process ends all calls under way."""

    def compute_here(self, n_tasks: int) -> bool:
        """Return whether this process computes so many tasks itself."""
        return self.executor is None or (self.local and n_tasks < 2)


def not_installed(extra: str) -> NetcosimError:
    """Return the error for an executor whose package is missing."""
    return NetcosimError(
        f"--executor {extra}: pip install 'netcosim[{extra}]' (workers need it, too)"
    )


PROCESS_BYTES = 300 * 10**6
"""What a process takes before it knows its task: Python, its libraries and compiled kernels."""

# Calls handed out ahead of each process: enough to keep it busy, few to take back.
_AHEAD = 3
_LEAST_LIMIT, _LIMIT_OF_PROCESSOR = 32, 4


def check_jobs(jobs: int) -> None:
    """Raise NetcosimError for a number of local processes that no machine like this one bears.

    Each takes a few hundred MB, and more of them than processors only wait for each other.
    """
    from netsim.topologies.checks import need_int

    processors = os.cpu_count() or 1
    most = max(_LEAST_LIMIT, _LIMIT_OF_PROCESSOR * processors)
    if not 1 <= need_int("local processes", "jobs", jobs, -MAX_INDEX) <= most:
        raise NetcosimError(
            f"jobs = {shown(jobs)}; allowed on this machine of {processors} processors: 1 to {most}"
        )


@contextmanager
def local_processes(argument: str, jobs: int) -> Iterator[Workers]:
    """Yield so many local processes, started when there is something to compute; 1 is this one."""
    if jobs == 1:
        yield Workers(1)
        return
    need_memory(f"--jobs {jobs}", jobs * PROCESS_BYTES)
    pool = ProcessExecutor(jobs)
    try:
        yield Workers(jobs, pool, jobs * _AHEAD, lost=(BrokenProcessPool,), local=True)
    except BaseException:
        # Ctrl-C or a full disk: what is under way is not waited for
        pool.terminate()
        raise
    finally:
        pool.shutdown()


class ProcessExecutor(Executor):
    """A process pool that begins again after a process, or the one that forks them, was killed."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._pool: ProcessPoolExecutor | None = None

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a call (see `concurrent.futures.Executor.submit`)."""
        for _ in range(2):
            try:
                # it may start a process, which would outlive us if we did not know of it
                with defer_signals():
                    self._pool = self._pool or _start_pool(self._jobs)
                    return self._pool.submit(fn, *args, **kwargs)
            # the latter two: the process that forks the others was killed
            except (BrokenProcessPool, EOFError, ConnectionError):
                self.shutdown()
        lost: Future[Any] = Future()
        lost.set_exception(BrokenProcessPool("no process could be started"))
        return lost

    def terminate(self) -> None:
        """End all processes at once."""
        processes: dict[int, Any] = getattr(self._pool, "_processes", None) or {}
        for process in list(processes.values()):
            process.terminate()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """Wait for the calls under way; the next call would start other processes."""
        if self._pool is not None:
            self._pool.shutdown(wait=wait, cancel_futures=cancel_futures)
        self._pool = None


def _start_pool(jobs: int) -> ProcessPoolExecutor:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["netcosim.executors.executor", "netcosim.runs.cosim"])
    # A terminal sends Ctrl-C to all processes at once. Python makes forkserver and workers deaf
    # only after their imports, each of which would end in a traceback; but a blocked signal is
    # inherited. The resource tracker comes first, because starting it unblocks.
    resource_tracker.ensure_running()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    return ProcessPoolExecutor(jobs, context, initializer=start_worker)


def start_worker() -> None:
    """Set up a pool's process: leave Ctrl-C to the parent, and exit when the parent does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore", ModelWarning)
    parent = parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    # A parent that is killed cannot stop its workers, which would wait for ever.
    threading.Thread(target=watch, name="watch-parent", daemon=True).start()
