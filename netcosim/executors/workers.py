"""An executor of other processes, and how many calls it takes; local processes."""

from __future__ import annotations

import math
import multiprocessing
import os
import pickle
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import parent_process, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from typing import Any

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
    """Whether the processes share the memory of this machine."""

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
    """Processes with a pipe each, so that one that is killed takes its own call along, no other.

    `concurrent.futures.ProcessPoolExecutor` lets its processes share pipes and their locks: who is
    killed in the middle of a result leaves the parent, and all others, waiting for ever. Each of
    the ``jobs`` processes starts with its first call.
    """

    def __init__(self, jobs: int) -> None:
        self._calls = SimpleQueue[tuple[Future[Any], Any] | None]()
        self._lock = threading.Lock()
        self._processes = set[BaseProcess]()
        self._terminated = False
        self._threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(jobs)]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a call (see `concurrent.futures.Executor.submit`)."""
        future: Future[Any] = Future()
        self._calls.put((future, (fn, args, kwargs)))
        return future

    def terminate(self) -> None:
        """End all processes at once, and start no other."""
        with self._lock:
            self._terminated = True
            for process in self._processes:
                process.kill()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """End the processes after the calls under way, or after all."""
        while cancel_futures and not self._calls.empty():
            if (call := self._calls.get()) is not None:
                call[0].cancel()
        for _ in self._threads:
            self._calls.put(None)
        while wait and self._threads:
            self._threads.pop().join()

    def _serve(self) -> None:
        """Have one process compute call after call, and start it again when it was killed."""
        started: tuple[BaseProcess, Connection] | None = None
        while (call := self._calls.get()) is not None:
            future, what = call
            if not future.set_running_or_notify_cancel():
                continue
            try:
                _, pipe = started = started or self._start()
                pipe.send_bytes(pickle.dumps(what))
                good, value = pickle.loads(pipe.recv_bytes())
            except (EOFError, OSError):
                future.set_exception(BrokenProcessPool("a process was killed"))
                self._end(started)
                started = None
            except Exception as error:
                future.set_exception(error)
            else:
                (future.set_result if good else future.set_exception)(value)
        self._end(started)

    def _start(self) -> tuple[BaseProcess, Connection]:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["netcosim.executors.executor", "netcosim.runs.cosim"])
        # A terminal sends Ctrl-C to all processes at once. Python makes forkserver and workers deaf
        # only after their imports, each of which would end in a traceback; but a blocked signal is
        # inherited. The resource tracker comes first, because starting it unblocks.
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        pipe, far = context.Pipe()
        process = context.Process(target=serve_calls, args=(far,))
        with self._lock:
            if self._terminated:
                raise EOFError("terminated")
            try:
                process.start()
            except (EOFError, OSError):
                # the process that forks the others was killed: it starts again, once
                process = context.Process(target=serve_calls, args=(far,))
                process.start()
            self._processes.add(process)
        # the last copy on this side, so that the death of the process ends the pipe
        far.close()
        return process, pipe

    def _end(self, started: tuple[BaseProcess, Connection] | None) -> None:
        if started is not None:
            process, pipe = started
            pipe.close()
            process.join()
            with self._lock:
                self._processes.discard(process)


def serve_calls(pipe: Connection) -> None:
    """Compute the calls that come through a pipe, until its other end is closed."""
    start_worker()
    while True:
        try:
            content = pipe.recv_bytes()
        except EOFError:
            return
        try:
            fn, args, kwargs = pickle.loads(content)
            answer = pickle.dumps((True, fn(*args, **kwargs)))
        except BaseException as error:
            answer = pickle.dumps((False, error))
        pipe.send_bytes(answer)


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
