"""Times of jobs that run on a network at the same time, packet by packet or as flows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netsim.packet.model import PS_PER_S, PacketResult
from netsim.short_repr import short_repr
from netsim.traffic import Traffic

FloatArray = NDArray[np.float64]


@short_repr()
@dataclass(frozen=True, eq=False)
class PacketTimes:
    """Times of jobs that run together, packet by packet."""

    time_ps: NDArray[np.int64]
    """(n_jobs,) int64. From a job's start to its last rank's end."""
    rank0_time_ps: NDArray[np.int64]
    """(n_jobs,) int64. To the end of rank 0, or of the last rank in a broadcast, whose rank 0 only
    sends: the measure of the Level-Spread authors' simulator."""
    packets: PacketResult
    """Without times of messages."""
    exposed_s: tuple[dict[str, float], ...] = ()
    """Of each job: seconds by kind of communication, such as a parallelism of training, for which
    its ranks have waited, in the mean over ranks; see `netsim.traffic.Program`."""

    @property
    def time_s(self) -> FloatArray:
        """(n_jobs,) float64: from a job's start to its last rank's end."""
        return self.time_ps / PS_PER_S

    @property
    def rank0_time_s(self) -> FloatArray:
        """(n_jobs,) float64: see ``rank0_time_ps``."""
        return self.rank0_time_ps / PS_PER_S


def exposed_times_s(traffic: Traffic, result: PacketResult) -> tuple[dict[str, float], ...]:
    """Return `PacketTimes.exposed_s` of a run; a kind for which no rank has waited is left out."""
    ranks = np.bincount(traffic.rank_group)
    total_ps = np.add.reduceat(result.exposed_ps, np.cumsum(ranks) - ranks, axis=0)
    return tuple(
        {kind: mean_s for kind, mean_s in zip(traffic.program.kinds, row, strict=True) if mean_s}
        for row in (total_ps / ranks[:, None] / PS_PER_S).tolist()
    )


@short_repr()
@dataclass(frozen=True, eq=False)
class FlowTimes:
    """Times of jobs at max-min fair rates, each job one bundle of flows."""

    bound_s: FloatArray
    """(n_jobs,) float64. No schedule of an iteration's bytes is faster, even in isolation; 0 for a
    job that sends nothing."""
    stretch: FloatArray
    """(n_jobs,) float64. Time of an iteration among the others over ``bound_s``; at least 1."""
