"""The interface of measures, which time jobs' communication under policies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from cosim.measuring.snapshots import Measurement, Study
from cosim.measuring.tasks import Columns, Progress, ReportProgress, TaskRunner

Generators = Callable[[], np.random.Generator]
"""Gives a new generator for each bootstrap, always the same."""


class Measure(ABC):
    """A measure."""

    registered_in: ClassVar[str] = "cosim.registry:MEASURES"

    name: ClassVar[str]
    """As a config has it."""
    description: ClassVar[str]
    """One line."""
    compares: ClassVar[str]
    """What a ratio is the mean of, for a page."""
    baseline: ClassVar[str]
    """What a job's time is divided by, in a few words, for a table's head."""

    @classmethod
    def ignores(cls, together: str) -> tuple[str, ...]:
        """Return keys of ``[communication]`` that it does not read with this ``together``.

        ``*`` matches any name.
        """
        return ()

    @abstractmethod
    def sent(self, study: Study) -> dict[str, float]:
        """Return about how often what runs at a side's instants is sent, by side."""

    def loops(self, study: Study) -> bool:
        """Return whether jobs repeat single iterations for as long as `sent` of the longest
        take."""
        return False

    @abstractmethod
    def measure(
        self, study: Study, rng: Generators, runner: TaskRunner, progress: Progress | None = None
    ) -> Measurement:
        """Send a study's snapshots through the packet engine."""

    def _each_snapshot(
        self,
        study: Study,
        seen: Callable[[int], Columns],
        runner: TaskRunner,
        progress: Progress | None,
    ) -> list[Columns]:
        """Return the results of the snapshots, by number, without empty ones."""

        def compute(number: int, report: ReportProgress) -> Columns:
            return seen(number)

        named = {f"{self.name}, snapshot {n + 1}": (n,) for n in study.numbers}
        found = runner.each(compute, named, progress)
        return [columns for _, columns in found if columns]


def timings(study: Study) -> int:
    """Return how often each job is timed: isolated and as it runs under each side, once if that is
    isolated."""
    return 2 + sum(1 if side.isolates else 2 for side in study.others.values())
