"""The offered loads of each curve of the calibration."""

from __future__ import annotations

from experiments.kit.data import read_data
from experiments.kit.load_networks import limit_of

STUDY = read_data("calibration")


def loads_of(network: str, routing: str, traffic: str) -> tuple[float, ...]:
    """Return the offered loads of one curve, ascending."""
    if traffic == "adversarial":
        limit = limit_of(network, "minimal", traffic).ceiling
        low = tuple(round(share * limit, 6) for share in STUDY["loads"]["direct"])
        if routing == "minimal":
            return tuple(sorted({*low, 0.3, 1.0}))
        return tuple(sorted({low[1], low[3], *STUDY["loads"][traffic]}))
    return tuple(STUDY["loads"]["valiant" if routing == "valiant" else traffic])
