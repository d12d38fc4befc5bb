"""Measured run times: communication-time ratios from packet runs, applied to a log.

A job with communication share f whose communication takes ``ratio`` times as long as
under the reference policy runs ``logged * ((1 - f) + f * ratio)``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Policy
from netsim.errors import NetcosimError
from queuesim.draws import draw_key, uniform_per_job
from queuesim.runtime import FixedRunTimes, RunTimeModel, RunTimes
from queuesim.speedup_file import read_speedups
from queuesim.speedups import SpeedupTable
from workloads.job import Workload

if TYPE_CHECKING:
    from queuesim.model_context import ModelContext, ModelSettings

FloatArray = NDArray[np.float64]


MAX_WEIGHT = 1e12
"""Beyond, a weight of 1 beside it is no longer drawn."""


@dataclass(frozen=True)
class PatternShare:
    """A pattern's part of a mix.

    Attributes
    ----------
    pattern : str
    weight : float
        Share of jobs, up to a common factor.
    fraction_low, fraction_high : float
        The job's communication share of its run time is uniform between the two.
    """

    pattern: str
    weight: float
    fraction_low: float
    fraction_high: float


@dataclass(frozen=True)
class CommunicationMix:
    """What jobs send and how much of their time it takes, drawn per job."""

    shares: tuple[PatternShare, ...]

    def __init__(self, shares: Iterable[PatternShare]) -> None:
        object.__setattr__(self, "shares", tuple(shares))
        if not self.shares:
            raise NetcosimError("communication mix: it needs at least one pattern")
        for share in self.shares:
            if not 0 < share.weight <= MAX_WEIGHT:
                raise NetcosimError(
                    f"communication mix, {share.pattern}: weight {share.weight}; it must be above "
                    f"0 and at most {MAX_WEIGHT:g}"
                )
            if not 0 <= share.fraction_low <= share.fraction_high <= 1:
                raise NetcosimError(
                    f"communication mix, {share.pattern}: fraction {share.fraction_low} to "
                    f"{share.fraction_high}; need 0 <= low <= high <= 1"
                )

    def draw(
        self, workload: Workload, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], FloatArray]:
        """Pattern and communication share of every job.

        Returns
        -------
        share : (n,) int64
            Index into ``shares``.
        fraction : (n,) float64
        """
        key = draw_key(rng)
        edges = np.cumsum([share.weight for share in self.shares])
        u = uniform_per_job(key, 0, workload.job_id) * edges[-1]
        which = np.minimum(np.searchsorted(edges, u, side="right"), len(self.shares) - 1)
        low = np.array([share.fraction_low for share in self.shares])[which]
        high = np.array([share.fraction_high for share in self.shares])[which]
        return which, low + (high - low) * uniform_per_job(key, 1, workload.job_id)


@dataclass(frozen=True)
class Measured(RunTimeModel):
    """Run times from measured communication-time ratios.

    Parameters
    ----------
    table : SpeedupTable
    mix : CommunicationMix
    bound : str
        "mean", "low" or "high" end of the measured confidence intervals.
    """

    name = "measured"
    description = "logged times scaled by communication-time ratios measured with packets"
    table: SpeedupTable = field()
    mix: CommunicationMix = field()
    bound: str = "mean"

    @classmethod
    def check(cls, settings: ModelSettings) -> None:
        if settings.speedup_file is None and settings.snapshots == 0:
            raise NetcosimError(
                f'"{cls.name}" needs speed-ups from a file (queue.measured.table), or at least 1 '
                "snapshot to measure them; run.snapshots = 0"
            )
        if settings.speedup_file is None and settings.bound != "mean" and settings.snapshots < 2:
            raise NetcosimError(
                f'queue.measured.bound = "{settings.bound}" needs at least 2 snapshots, since one '
                f"has no interval; run.snapshots = {settings.snapshots}"
            )

    @classmethod
    def from_config(cls, context: ModelContext) -> Measured:
        """With the speed-ups of the config's file, or those that a campaign measures first."""
        file = context.settings.speedup_file
        table = context.measured_speedups() if file is None else read_speedups(file)
        return cls(table, context.mix, context.settings.bound)

    def prepare(self, workload: Workload, policy: Policy, rng: np.random.Generator) -> RunTimes:
        which, fraction = self.mix.draw(workload, rng)
        ratio = np.ones(len(workload))
        for k, share in enumerate(self.mix.shares):
            mine = which == k
            if mine.any():
                ratio[mine] = self.table.ratios(
                    share.pattern, policy.name, workload.n_nodes[mine], self.bound
                )
        return FixedRunTimes(workload.run_time_s * ((1 - fraction) + fraction * ratio))
