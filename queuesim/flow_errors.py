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


FLOW_ERRORS: dict[tuple[str, str], FlowError] = {
    ("fattree", "d-mod-k"): FlowError(188, 0.0626, 0.2529, 0.1549, 0.4810),
    ("fattree", "adaptive"): FlowError(224, 0.0800, 0.3498, 0.0635, 0.3926),
    ("fattree", "shortest-path"): FlowError(217, 0.0814, 0.3185, 0.3058, 0.6319),
    ("dragonfly", "minimal"): FlowError(187, 0.1321, 0.4399, 0.3925, 0.6543),
    ("dragonfly", "valiant"): FlowError(259, 0.1704, 0.5899, 0.4593, 0.7150),
    ("dragonfly", "ugal-l"): FlowError(243, 0.1671, 0.4344, 0.2906, 0.6199),
    ("dragonfly", "ugal-g"): FlowError(243, 0.1193, 0.3539, 0.3016, 0.5787),
    ("dragonfly", "shortest-path"): FlowError(208, 0.1080, 0.4308, 0.4070, 0.6367),
    ("torus", "dimension-order"): FlowError(438, 0.0700, 0.2810, 0.2039, 0.5107),
    ("torus", "minimal-adaptive"): FlowError(537, 0.0475, 0.3081, 0.0278, 0.3519),
    ("torus", "shortest-path"): FlowError(456, 0.0640, 0.3181, 0.2624, 0.5649),
    ("hypercube", "shortest-path"): FlowError(265, 0.0545, 0.2422, 0.1411, 0.4775),
    ("hyperx", "shortest-path"): FlowError(155, 0.0855, 0.2758, 0.2519, 0.5369),
    ("slimfly", "shortest-path"): FlowError(263, 0.0531, 0.2496, 0.1128, 0.4537),
}


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
