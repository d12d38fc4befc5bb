"""An executor of other processes, and how many calls it takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from dataclasses import dataclass

from netsim.errors import NetcosimError


@dataclass(frozen=True)
class Workers:
    """Where calls are computed.

    Attributes
    ----------
    count : int
        Processes that compute at a time.
    executor : Executor or None
        None: local processes, started when there is something to compute.
    ahead : int
        Most calls under way.
    points : int
        Most points of one call.
    seconds : float
        A call that has taken so long begins no other point.
    lost : tuple of exception types
        How a call ends whose process was killed.
    """

    count: int
    executor: Executor | None = None
    ahead: int = 1
    points: int = 1
    seconds: float = math.inf
    lost: tuple[type[BaseException], ...] = ()


Open = Callable[[str, int], AbstractContextManager[Workers | None]]
"""From an executor's argument and ``--jobs``; yields None to MPI ranks other than 0."""


@dataclass(frozen=True)
class ExecutorEntry:
    """One way to compute points.

    Attributes
    ----------
    name, description : str
    open : callable
        Yields the workers while a block runs.
    argument : str
        What may follow the name and a colon; empty if nothing may.
    check : callable
        Raises NetcosimError for an argument that is not valid.
    """

    name: str
    description: str
    open: Open
    argument: str = ""
    check: Callable[[str], object] = str


def not_installed(name: str, package: str) -> NetcosimError:
    """Return the error for an executor whose package is missing."""
    return NetcosimError(
        f"--executor {name} needs {package}: pip install 'netcosim[{name}]' (on the workers, too)"
    )
