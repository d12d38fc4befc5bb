"""Known errors of the flow level relative to packets, by family and routing.

Run times of jobs that share links, on random mixes that were not used to choose anything of the
flow level. From ``netcosim reproduce calibration flow``; the table is
docs/flow-errors.csv; docs/flow-model.md describes the mixes.
"""

from __future__ import annotations

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


FLOW_ERRORS: dict[tuple[str, str], FlowError] = {
    ("fattree", "d-mod-k"): FlowError(37, 0.0111, 0.0336, 0.0144, 0.0328),
    ("fattree", "adaptive"): FlowError(44, 0.0033, 0.0353, 0.0, 0.0128),
    ("fattree", "two-choice"): FlowError(44, 0.0028, 0.0357, 0.0, 0.0103),
    ("fattree", "random-up"): FlowError(44, 0.0046, 0.0204, 0.0003, 0.0158),
    ("fattree", "shortest-path"): FlowError(43, 0.0151, 0.0813, 0.0175, 0.0923),
    ("dragonfly", "minimal"): FlowError(39, 0.0456, 0.1723, 0.1186, 0.251),
    ("dragonfly", "valiant"): FlowError(54, 0.0501, 0.1423, 0.0908, 0.3439),
    ("dragonfly", "valiant-local"): FlowError(53, 0.0417, 0.146, 0.101, 0.3455),
    ("dragonfly", "ugal-l"): FlowError(53, 0.0286, 0.1035, 0.0317, 0.1428),
    ("dragonfly", "ugal-g"): FlowError(53, 0.0315, 0.0666, 0.0323, 0.1306),
    ("dragonfly", "par"): FlowError(53, 0.0268, 0.1146, 0.0351, 0.17),
    ("dragonfly", "adaptive-local"): FlowError(53, 0.0316, 0.1019, 0.0341, 0.176),
    ("dragonfly", "shortest-path"): FlowError(44, 0.0403, 0.1367, 0.0997, 0.1985),
    ("torus", "dimension-order"): FlowError(84, 0.0179, 0.0895, 0.0184, 0.1306),
    ("torus", "minimal-adaptive"): FlowError(106, 0.0062, 0.0615, 0.0007, 0.0297),
    ("torus", "shortest-path"): FlowError(94, 0.016, 0.0704, 0.0203, 0.1395),
    ("hypercube", "shortest-path"): FlowError(52, 0.0101, 0.0688, 0.0185, 0.0771),
    ("hyperx", "shortest-path"): FlowError(26, 0.0264, 0.0816, 0.0321, 0.0942),
    ("slimfly", "shortest-path"): FlowError(46, 0.0127, 0.0732, 0.0165, 0.0781),
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
