"""Computes tasks in this process or with workers, any of which may be killed; what these run."""

from __future__ import annotations

import importlib
import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from queue import SimpleQueue
from typing import Any, cast

from netcosim.executors.workers import Workers
from netcosim.runs.outcome import Outcome, PointResult, encode_tables
from netsim.errors import NetcosimError, one_line
from queuesim.result import Rows

Finish = Callable[[Sequence[tuple[str, Any]]], None]
"""Called with the keys and results of tasks, those that come together at a time."""

BATCH_S, WRITING = 0.5, 0.1
"""Results of this process come together, for so long at most, where each for itself would spend
more than this part of the time on what takes them: a transaction costs the disk 25 ms."""

KILLED = (
    "the worker process was killed each time that it computed this (out of memory? time limit?)"
)


def run_tasks(
    function: Callable[[Any], Any], tasks: Mapping[str, Any], finish: Finish, workers: Workers
) -> list[str]:
    """Compute a function of each task; return the keys whose worker was killed each time.

    The function is pickled for other processes. It returns the failure of a task as its result;
    what it raises ends all tasks.

    A task whose worker was killed is tried again: in a local process alone, twice at most, since
    two may have been too many for the memory. Elsewhere a call is repeated as it was; if it is lost
    again, each of its tasks gets its own call, twice at most. A lost MPI rank ends the entire MPI
    job.
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
    results, began_s, batch_s = list[tuple[str, Any]](), time.monotonic(), 0.0
    try:
        for key, argument in tasks.items():
            results.append((key, function(argument)))
            if (now_s := time.monotonic()) - began_s >= batch_s:
                come, results = results, []
                finish(come)
                began_s = time.monotonic()
                batch_s = min(BATCH_S, (began_s - now_s) * (1 / WRITING - 1))
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
            if workers.local and not computed and len(lost) > workers.ahead > 1:
                raise NetcosimError(
                    "every local process ended before it had computed anything: out of memory, or "
                    "a script that lacks `if __name__ == '__main__':` before what it runs"
                )
    finally:
        for future in under_way:
            future.cancel()
    return lost


PointFunction = Callable[[Mapping[str, object]], Mapping[str, Rows] | PointResult]
"""What a sweep computes: a point's config to its tables (name to list of rows)."""


def function_path(function: str | PointFunction) -> str:
    """Return the ``"module:name"`` of a function that another process can import."""
    if isinstance(function, str):
        load_function(function)
        return function
    path = f"{function.__module__}:{function.__qualname__}"
    if load_function(path) is not function:
        raise NetcosimError(f"{path} is not importable by that name")
    return path


def load_function(path: str) -> PointFunction:
    """Return the function that ``"module:name"`` names."""
    module, _, name = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise NetcosimError(f"cannot import the point function {path!r}: {error}") from None
    if not callable(found):
        raise NetcosimError(f"{path!r} is not a function")
    return cast("PointFunction", found)


def compute(path: str, config: Mapping[str, object]) -> Outcome:
    """Run the point function on one config; whatever it raises becomes the outcome's error."""
    started = time.perf_counter()
    try:
        found = load_function(path)(config)
        kept = found.kept if isinstance(found, PointResult) else {}
        tables = encode_tables(found.tables if isinstance(found, PointResult) else found)
    except Exception as error:
        raise_interrupt_behind(error)
        return Outcome(None, describe_error(error), time.perf_counter() - started)
    return Outcome(tables, None, time.perf_counter() - started, kept)


def compute_some(
    function: Callable[[Any], Any], arguments: Sequence[Any], seconds: float
) -> list[Any]:
    """Call a function with each argument, in order, until so many seconds have passed."""
    started = time.perf_counter()
    results: list[Any] = []
    for argument in arguments:
        if results and time.perf_counter() - started > seconds:
            break
        results.append(function(argument))
    return results


def raise_interrupt_behind(error: BaseException) -> None:
    """Raise the Ctrl-C that a library turned into its own error; no task has failed then."""
    behind: BaseException | None = error
    while behind is not None:
        if isinstance(behind, KeyboardInterrupt):
            raise behind from None
        behind = behind.__cause__ or behind.__context__


def describe_error(error: BaseException) -> str:
    """Format an exception in one line; an error of the program includes its source line."""
    text = one_line(str(error), 400)
    if isinstance(error, NetcosimError):
        return text or "unknown error"
    trace, place = error.__traceback__, ""
    while trace is not None:
        code = trace.tb_frame.f_code
        place = f" ({os.path.basename(code.co_filename)}:{trace.tb_lineno} in {code.co_name})"
        trace = trace.tb_next
    return f"{type(error).__name__}: {text}{place}"
