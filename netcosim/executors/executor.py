"""Computes tasks in this process or with workers, any of which may be killed."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from queue import SimpleQueue
from typing import Any

from netcosim.executors.worker import compute_some, describe_error
from netcosim.executors.workers import Workers
from netsim.errors import NetcosimError

Finish = Callable[[Sequence[tuple[str, Any]]], None]
"""Called with the keys and results of tasks, those that come together at a time."""

BATCH_S = 0.02
"""Results of this process within so long come together."""

KILLED = (
    "the worker process was killed each time that it computed this (out of memory? time limit?)"
)


def run_tasks(
    function: Callable[[Any], Any], tasks: Mapping[str, Any], finish: Finish, workers: Workers
) -> list[str]:
    """Compute tasks with these workers.

    A task whose worker was killed is tried again. A local process that dies ends all calls under
    way, and the pool cannot report which of them killed it, so each task then runs alone, twice at
    most. Elsewhere a call is repeated as it was; if it is lost again, each of its tasks gets its
    own call, twice at most. A lost MPI rank ends the entire MPI job.

    Parameters
    ----------
    function : callable
        Pickled for other processes. It returns the failure of a task as its result; what it raises
        ends all tasks.
    tasks : mapping of str to object
        The function's argument, by key.

    Returns
    -------
    list of str
        Keys of tasks that have no result because they killed their worker each time.
    """
    if workers.compute_here(len(tasks)):
        _compute_here(function, tasks, finish)
        return []
    even = -(-len(tasks) // workers.count)
    grouped = replace(workers, tasks=min(workers.tasks, even))
    single = replace(workers, tasks=1, ahead=1 if workers.local else workers.ahead)
    left = list(tasks.items())
    first = (grouped,) if workers.local else (grouped, grouped)
    for how in (*first, single, single):
        left = _feed(how, function, left, finish)
    return [key for key, _ in left]


def _compute_here(function: Callable[[Any], Any], tasks: Mapping[str, Any], finish: Finish) -> None:
    results, began_s = list[tuple[str, Any]](), time.monotonic()
    try:
        for key, argument in tasks.items():
            results.append((key, function(argument)))
            if time.monotonic() - began_s >= BATCH_S:
                come, results, began_s = results, [], time.monotonic()
                finish(come)
    finally:
        finish(results)


def _feed(
    workers: Workers,
    function: Callable[[Any], Any],
    tasks: Sequence[tuple[str, Any]],
    finish: Finish,
) -> list[tuple[str, Any]]:
    """Submit tasks, a few ahead; return those in progress when their workers were lost."""
    assert workers.executor is not None
    waiting, lost, computed = deque(tasks), list[tuple[str, Any]](), False
    under_way: dict[Future[list[Any]], list[tuple[str, Any]]] = {}
    # `concurrent.futures.wait` looks at every future each time, 4 ms for those of 1000 ranks
    finished: SimpleQueue[Future[list[Any]]] = SimpleQueue()
    try:
        while waiting or under_way:
            while waiting and len(under_way) < workers.ahead:
                call = [waiting.popleft() for _ in range(min(workers.tasks, len(waiting)))]
                arguments = [argument for _, argument in call]
                future = workers.executor.submit(compute_some, function, arguments, workers.seconds)
                under_way[future] = call
                future.add_done_callback(finished.put)
            come = [finished.get(), *(finished.get() for _ in range(finished.qsize()))]
            results: list[tuple[str, Any]] = []
            try:
                for future in come:
                    call = under_way.pop(future)
                    try:
                        values = future.result()
                    except workers.lost:
                        lost += call
                    else:
                        results += zip((key for key, _ in call), values, strict=False)
                        waiting.extendleft(reversed(call[len(values) :]))
            except Exception as error:
                raise NetcosimError(
                    f"the workers are lost: {describe_error(error)[:300]}; what was computed is "
                    "stored, the same command goes on from there"
                ) from None
            finally:
                finish(results)
            computed = computed or bool(results)
            if workers.local and not computed and len(lost) > 2 * workers.ahead > 2:
                raise NetcosimError(
                    "every local process ended before it had computed anything: out of memory, or "
                    "a script that lacks `if __name__ == '__main__':` before what it runs"
                )
    finally:
        for future in under_way:
            future.cancel()
    return lost
