"""The measured pairs of the figures: which points, and their tables joined."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from experiments.papers.isolation.cases import cases, duties, machines
from experiments.papers.isolation.point import measure_points
from experiments.papers.isolation.shares import with_ratios
from experiments.papers.paper import Options, Point
from netsim.errors import NetcosimError

if TYPE_CHECKING:
    import pandas as pd

NETWORKS = ("fattree", "dragonfly")
NO_LOGS = (
    "none of the job logs (Thunder, Atlas, Theta) is there: give --logs DIR, or --scale quick "
    "for a small machine and made jobs; netcosim list logs says where to get them"
)


def points_of(network: str, options: Options) -> list[Point]:
    """All snapshots of all logs, case by case, the main case first.

    Raises
    ------
    NetcosimError
        No log is there.
    """
    found = [
        point
        for case in cases(network, options)
        for machine in machines(network, options)
        for point in measure_points(machine, case, options.seed)
    ]
    if not found:
        raise NetcosimError(NO_LOGS)
    return found


def measured_pairs(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The table "pairs" of the points, with ratios.

    Raises
    ------
    NetcosimError
        No job of more than one node was seen.
    """
    if "pairs" not in frames or frames["pairs"].empty:
        raise NetcosimError("no job of more than one node ran at any of the snapshots")
    return with_ratios(frames["pairs"], duties())
