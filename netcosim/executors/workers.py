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


@dataclass(frozen=True)
class ExecutorEntry:
    """One way to compute tasks.

    ``open(argument, jobs)`` yields the workers while a block runs (None to MPI ranks other than
    0); ``check(argument)`` raises NetcosimError for what may not follow the name and a colon.
    Without ``check`` nothing may.
    """

    name: str
    description: str
    open: Callable[[str, int], AbstractContextManager[Workers | None]]
    check: Callable[[str], object] | None = None


def not_installed(extra: str) -> NetcosimError:
    """Return the error for an executor whose package is missing."""
    return NetcosimError(
        f"--executor {extra}: pip install 'netcosim[{extra}]' (workers need it, too)"
    )
