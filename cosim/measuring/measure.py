"""Ways to measure what policies do to jobs' communication, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from cosim.measuring.campaign import Stretch
from cosim.measuring.paired import Paired
from cosim.measuring.parts import TaskRunner
from cosim.measuring.snapshots import Measurement, Progress, Study
from cosim.measuring.steady_measure import Steady
from cosim.measuring.steps_measure import Steps


class Measure(Protocol):
    """A way to measure."""

    @property
    def name(self) -> str:
        """As a config has it."""
        ...

    @property
    def description(self) -> str:
        """One line."""
        ...

    @property
    def compares(self) -> str:
        """What a ratio is the mean of, for a page."""
        ...

    @property
    def baseline(self) -> str:
        """What a job's time is divided by, in a few words, for a table's head."""
        ...

    @property
    def ignores(self) -> tuple[str, ...]:
        """Keys of a config, beside the other measures' own, that it does not read.

        ``*`` stands for any name.
        """
        ...

    def sent(self, study: Study) -> dict[str, float]:
        """How often what runs at a side's instants is sent, by side, about."""
        ...

    def loops(self, study: Study) -> bool:
        """Whether jobs repeat single iterations for as long as `sent` of the longest take."""
        ...

    def measure(
        self,
        study: Study,
        rng: Callable[[], np.random.Generator],
        parts: TaskRunner | None = None,
        progress: Progress | None = None,
    ) -> Measurement:
        """Send a study's snapshots through the packet engine.

        Parameters
        ----------
        study : Study
        rng : callable () -> numpy.random.Generator
            A new one for each bootstrap, always the same.
        parts : TaskRunner, optional
            Gets the simulations computed; here by default.
        progress : callable, optional
        """
        ...


MEASURES: dict[str, type[Stretch] | type[Paired] | type[Steady] | type[Steps]] = {
    measure.name: measure for measure in (Stretch, Paired, Steady, Steps)
}
