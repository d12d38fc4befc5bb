"""How far the flow level was from packets: known errors by family and routing.

Run times of jobs that share links, on random mixes that were not used to choose anything of the
flow level. From ``netcosim reproduce calibration flow``; the table is
docs/flow-errors.csv; docs/flow-model.md describes the mixes.
"""

from __future__ import annotations

from typing import NamedTuple

from netsim.routing.base import Routing


class FlowError(NamedTuple):
    """Errors |flow / packets - 1| of run times of jobs that share links; those of answering 1.

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
    ("fattree", "d-mod-k"): FlowError(192, 0.0778, 0.2688, 0.1825, 0.4631),
    ("fattree", "adaptive"): FlowError(223, 0.0613, 0.2937, 0.0626, 0.3240),
    ("fattree", "two-choice"): FlowError(223, 0.0717, 0.2945, 0.0518, 0.2909),
    ("fattree", "random-up"): FlowError(223, 0.0574, 0.2727, 0.0587, 0.3324),
    ("fattree", "shortest-path"): FlowError(216, 0.0878, 0.3255, 0.3294, 0.6087),
    ("dragonfly", "minimal"): FlowError(193, 0.0937, 0.3639, 0.3674, 0.6775),
    ("dragonfly", "valiant"): FlowError(256, 0.1584, 0.5731, 0.4404, 0.7264),
    ("dragonfly", "valiant-local"): FlowError(263, 0.1830, 0.5207, 0.4456, 0.7226),
    ("dragonfly", "ugal-l"): FlowError(245, 0.1537, 0.3954, 0.2942, 0.6297),
    ("dragonfly", "ugal-g"): FlowError(245, 0.1258, 0.3584, 0.3236, 0.5904),
    ("dragonfly", "par"): FlowError(245, 0.1631, 0.4254, 0.3415, 0.6553),
    ("dragonfly", "adaptive-local"): FlowError(245, 0.1618, 0.4389, 0.2393, 0.6284),
    ("dragonfly", "shortest-path"): FlowError(210, 0.0996, 0.4242, 0.3489, 0.6612),
    ("torus", "dimension-order"): FlowError(444, 0.0618, 0.2619, 0.1457, 0.5029),
    ("torus", "minimal-adaptive"): FlowError(525, 0.0447, 0.2995, 0.0228, 0.3330),
    ("torus", "shortest-path"): FlowError(469, 0.0761, 0.3147, 0.2449, 0.5649),
    ("hypercube", "shortest-path"): FlowError(263, 0.0469, 0.2278, 0.1249, 0.4722),
    ("hyperx", "shortest-path"): FlowError(156, 0.0918, 0.3422, 0.2441, 0.5750),
    ("slimfly", "shortest-path"): FlowError(265, 0.0515, 0.2448, 0.1091, 0.4761),
}


def flow_error_text(routing: Routing) -> str:
    """What is known of the flow level's error under a routing, in a sentence."""
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
    """The same where the flow level is no nearer than answering 1, or nothing is known."""
    known = FLOW_ERRORS.get((routing.topology.family, routing.name))
    return None if known is not None and known.helps else flow_error_text(routing)
