"""How far the flow level was from packets: known errors by family and routing.

Stretches of communication of jobs that share links, on random mixes that were not used to
choose anything of the flow level. From ``netcosim reproduce calibration flow``; the table is
docs/flow-errors.csv, and the mixes are told in docs/flow-model.md.
"""

from __future__ import annotations

from typing import NamedTuple

from netsim.routing.base import Routing


class FlowError(NamedTuple):
    """Errors |flow / packets - 1| of a shared job's stretch, beside those of answering 1.

    Attributes
    ----------
    n_jobs : int
    error_p50, error_p90 : float
        Median and 90th percentile.
    one_p50, one_p90 : float
        The same of who always answers 1.
    """

    n_jobs: int
    error_p50: float
    error_p90: float
    one_p50: float
    one_p90: float

    @property
    def helps(self) -> bool:
        """Whether the flow level is nearer to packets than answering 1, in both."""
        return self.error_p50 <= self.one_p50 and self.error_p90 <= self.one_p90


FLOW_ERRORS: dict[tuple[str, str], FlowError] = {}


def flow_error_text(routing: Routing) -> str:
    """What is known of the flow level's error under a routing, in a sentence."""
    family, name = routing.topology.family, routing.name
    known = FLOW_ERRORS.get((family, name))
    if known is None:
        return f"Flow level: how far it is from packets is not known for {family}, {name}."
    return (
        f"Flow level ({family}, {name}): on mixes that were not used for choosing, the median / "
        f"90th percentile error of a shared job's stretch is {known.error_p50:.1%} / "
        f"{known.error_p90:.0%}, always answering 1 gives {known.one_p50:.1%} / "
        f"{known.one_p90:.0%} ({known.n_jobs:,} jobs)."
    )


def flow_warning(routing: Routing) -> str | None:
    """The same where the flow level is no nearer than answering 1, or nothing is known."""
    known = FLOW_ERRORS.get((routing.topology.family, routing.name))
    return None if known is not None and known.helps else flow_error_text(routing)
