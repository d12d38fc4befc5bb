"""Computes points in this process, in a pool of processes or with other workers."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing import forkserver, resource_tracker
from queue import SimpleQueue
from typing import Any

from experiments.executors.workers import Workers
from experiments.outcome import Outcome
from experiments.signals import defer_signals
from experiments.worker import compute, compute_some, describe_error, start_worker
from netsim.errors import NetcosimError
from netsim.limits import MAX_INDEX, shown
from netsim.topologies.checks import need_int

Task = tuple[str, Mapping[str, object]]
"""A point's key and config."""

Finish = Callable[[str, Outcome], None]
"""Called with each outcome, in the order in which they come."""

# Points handed out ahead of the workers: enough to keep them busy, few to take back.
_AHEAD = 3

_KILLED = (
    "the worker process was killed while it computed this point, twice (out of memory? time limit?)"
)


FORK_SERVER_GONE = (EOFError, ConnectionError)
"""What starting a process raises when the process that forks it was killed."""

_LEAST_LIMIT = 32
_A_PROCESSOR = 4


def check_jobs(jobs: int) -> None:
    """Raise NetcosimError for a number of local processes that no machine like this one bears.

    Each takes a few hundred MB, and more of them than processors only wait for each other.

    Raises
    ------
    NetcosimError
        Below 1, or above 32 and four times the number of processors.
    """
    processors = os.cpu_count() or 1
    most = max(_LEAST_LIMIT, _A_PROCESSOR * processors)
    if not 1 <= need_int("local processes", "jobs", jobs, -MAX_INDEX) <= most:
        raise NetcosimError(
            f"jobs = {shown(jobs)}; allowed on this machine of {processors} processors: 1 to {most}"
        )


def run_tasks(path: str, tasks: Sequence[Task], finish: Finish, workers: Workers) -> None:
    """Compute tasks with these workers.

    Any worker may be killed. When a local one dies, the pool cannot report which of the points
    under way killed it. They are run again one by one, each alone in a new pool: the one that
    kills it twice is recorded as failed, the others get their results. Elsewhere a lost call
    is repeated; if it is lost again, each of its points gets its own call. A lost MPI rank ends
    the entire MPI job.

    Parameters
    ----------
    path : str
        Of the point function.

    Raises
    ------
    NetcosimError
        The workers are gone: a scheduler was killed, a batch system refuses jobs.
    """
    if workers.executor is not None:
        left = list(tasks)
        for points in (workers.points, workers.points, 1)[workers.points == 1 :]:
            left = _feed(replace(workers, points=points), path, deque(left), finish)
        for key, _ in left:
            finish(key, Outcome(None, _KILLED, 0.0))
        return
    if workers.count == 1 or len(tasks) < 2:
        for key, config in tasks:
            finish(key, compute(path, config))
        return
    waiting = deque(tasks)
    while waiting:
        suspects = _pool_round(path, waiting, finish, workers.count)
        for key, config in suspects:
            # Two tries: under way beside a killer it may not have run at all.
            if all(_pool_round(path, deque([(key, config)]), finish, 1) for _ in range(2)):
                finish(key, Outcome(None, _KILLED, 0.0))


def start_forkserver() -> None:
    """Start the process that forks the workers, ignoring Ctrl-C from its start on.

    A terminal sends Ctrl-C to all processes at once. Python makes forkserver and workers deaf
    only after their imports, each of which would end in a traceback; but a blocked signal is
    inherited. The resource tracker comes first, because starting it unblocks.
    """
    resource_tracker.ensure_running()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _pool_round(path: str, waiting: deque[Task], finish: Finish, jobs: int) -> list[Task]:
    """Run until nothing waits or the pool breaks; the points that were under way then."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["experiments.worker", path.partition(":")[0]])
    start_forkserver()
    pool = ProcessPoolExecutor(min(jobs, len(waiting)), context, initializer=start_worker)
    try:
        local = Workers(jobs, pool, ahead=jobs * _AHEAD, lost=(BrokenProcessPool,))
        return _feed(local, path, waiting, finish)
    except BaseException:
        # Ctrl-C or a full disk: what is under way is not waited for.
        processes: dict[int, Any] = getattr(pool, "_processes", None) or {}
        for process in list(processes.values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _feed(workers: Workers, path: str, waiting: deque[Task], finish: Finish) -> list[Task]:
    """Submit points, a few ahead; return those in progress when their workers were lost."""
    executor = workers.executor
    assert executor is not None
    local = isinstance(executor, ProcessPoolExecutor)
    under_way: dict[Future[list[Outcome]], list[Task]] = {}
    # `concurrent.futures.wait` looks at every future each time, 4 ms for those of 1000 ranks
    finished: SimpleQueue[Future[list[Outcome]]] = SimpleQueue()
    lost: list[Task] = []
    try:
        while waiting or under_way:
            # a process pool that has lost a worker is broken
            while waiting and len(under_way) < workers.ahead and not (local and lost):
                tasks = [waiting.popleft() for _ in range(min(workers.points, len(waiting)))]
                configs = [config for _, config in tasks]
                try:
                    # it may start a process, which would outlive us if we did not know of it
                    with defer_signals():
                        future = executor.submit(compute_some, path, configs, workers.seconds)
                        under_way[future] = tasks
                    future.add_done_callback(finished.put)
                except (BrokenProcessPool, *FORK_SERVER_GONE):
                    lost += tasks
            if not under_way:
                break
            future = finished.get()
            tasks = under_way.pop(future)
            try:
                outcomes = future.result()
            except workers.lost:
                lost += tasks
            except Exception as error:
                raise NetcosimError(
                    f"the workers are lost: {describe_error(error)[:300]}; what was computed is "
                    "stored, the same command goes on from there"
                ) from None
            else:
                for (key, _), outcome in zip(tasks, outcomes, strict=False):
                    finish(key, outcome)
                waiting.extendleft(reversed(tasks[len(outcomes) :]))
    except BaseException:
        for future in under_way:
            future.cancel()
        raise
    return lost
