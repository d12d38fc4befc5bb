"""What runs in a worker process or on an MPI rank."""

from __future__ import annotations

import importlib
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import parent_process
from typing import Any, cast

from netcosim.runs.outcome import Outcome, PointResult, encode_tables
from netsim.errors import ModelWarning, NetcosimError, one_line
from queuesim.result import Rows

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
