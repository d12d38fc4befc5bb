"""The keys of the run-time model "partition-bisection" in a config."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le

from netsim.parameters import OneOf, check_values

MENUS = ("mira-current", "mira-proposed", "juqueen", "sequoia")
"""The names in `alloc.bluegene.menus.MENUS`."""


@dataclass(frozen=True)
class PartitionKeys:
    """``[queue.partition-bisection]``."""

    bound_jobs: Annotated[float, "share of jobs that are contention-bound", Ge(0), Le(1)] = 0.5
    communication: Annotated[
        float, "share of a bound job's logged time that is communication", Ge(0), Le(1)
    ] = 0.3
    logged_menu: Annotated[
        str, "menu from which the log's jobs had their partitions", OneOf(MENUS)
    ] = "mira-current"

    def __post_init__(self) -> None:
        check_values("run-time model partition-bisection", self)
