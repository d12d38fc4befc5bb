"""Known errors of the flow level relative to packets, by family and routing.

Run times of jobs that share links, on random mixes that were not used to choose anything of the
flow level. From ``netcosim reproduce calibration flow``; the table is
experiments/calibration/tables/flow-errors.csv; docs/flow-model.md describes the mixes.
"""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import NamedTuple

from netsim.routing.base import Routing


class FlowError(NamedTuple):
    """Errors |flow / packets - 1| of run times of jobs that share links; those of answering 1."""

    n_jobs: int
    error_p50: float
    error_p90: float
    """error_p50, error_p90: Median and 90th percentile."""
    one_p50: float
    one_p90: float
    """one_p50, one_p90: The same for a constant prediction of 1."""

    @property
    def helps(self) -> bool:
        """Whether the flow level is nearer to packets than answering 1, in both."""
        return self.error_p50 <= self.one_p50 and self.error_p90 <= self.one_p90


_LINES = files("cosim.run_times").joinpath("flow_errors.csv").read_text("utf-8").splitlines()[1:]
FLOW_ERRORS = {
    (family, routing): FlowError(int(n_jobs), *map(float, errors))
    for family, routing, n_jobs, *errors in csv.reader(_LINES)
}


def flow_error_text(routing: Routing) -> str:
    """Describe the known error of the flow level under a routing in one sentence."""
    family, name = routing.topology.family, routing.name
    known = FLOW_ERRORS.get((family, name))
    if known is None:
        return f"Flow level: how far it is from packets is not known for {family}, {name}."
    return (
        f"Flow level ({family}, {name}): on mixes that were not used for choosing, the median / "
        f"90th percentile error of a job's run time is {known.error_p50:.1%} / "
        f"{known.error_p90:.1%}, always answering 1 gives {known.one_p50:.1%} / "
        f"{known.one_p90:.1%} ({known.n_jobs:,} jobs that share links)."
    )


def flow_warning(routing: Routing) -> str | None:
    """Return the same text if the flow level is no better than assuming 1, or its error is
    unknown."""
    known = FLOW_ERRORS.get((routing.topology.family, routing.name))
    return None if known is not None and known.helps else flow_error_text(routing)
