"""Ways to measure what policies do to jobs' communication, by name."""

from __future__ import annotations

from cosim.measuring.campaign import Stretch
from cosim.measuring.paired import Paired
from cosim.measuring.steady_measure import Steady
from cosim.measuring.steps_measure import Steps

MEASURES: dict[str, type[Stretch] | type[Paired] | type[Steady] | type[Steps]] = {
    measure.name: measure for measure in (Stretch, Paired, Steady, Steps)
}
