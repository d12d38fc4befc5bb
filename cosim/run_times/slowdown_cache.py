"""Slowdowns of running jobs at their last judgement by packets, and as flows have moved since."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from hashlib import blake2b
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.network.job_network import JobLoads
from cosim.network.situation import Situation
from cosim.parameters import PacketBudget
from cosim.run_times.packet_judge import PacketJudge, PacketRecord

FloatArray = NDArray[np.float64]


class Judgement(NamedTuple):
    """Judgement of a group at an instant, the jobs by their index in the workload."""

    group: tuple[int, ...]
    flow: tuple[float, ...]
    packet: tuple[float, ...]


class SlowdownCache:
    """Slowdowns at the last judgement, and when they are too old.

    A job is stale where its slowdown by flows is off by more than the budget's ``tolerance`` from
    what it was at its last judgement (1 before the first). With a tolerance of 0 every job is.

    Parameters
    ----------
    tolerance : float
        As in `PacketBudget`.

    Attributes
    ----------
    n_with_packets, n_by_flow : int
        Estimates based on packets, and those based only on flows.

    Notes
    -----
    A cached slowdown follows the flow model halfway: it is multiplied by the square root of
    the slowdown by flows now over that at the judgement. Not following, or following fully,
    is further off (docs/run-times.md). A job without a packet judgement has its slowdown by flows.
    """

    def __init__(self, tolerance: float) -> None:
        self.tolerance = tolerance
        self.n_with_packets = self.n_by_flow = 0
        self._flow: dict[int, float] = {}
        self._packet: dict[int, float] = {}

    def stale(self, group: Sequence[int], flow: Sequence[float]) -> list[int]:
        """Return the jobs that have to be judged, given the slowdowns by flows of a group that has
        changed."""
        return [job for job, now in zip(group, flow, strict=True) if self._is_stale(job, now)]

    def _is_stale(self, job: int, now: float) -> bool:
        then = self._flow.get(job, 1.0)
        return self.tolerance == 0 or abs(now - then) > self.tolerance * then

    def estimates(self, group: Sequence[int], flow: Sequence[float]) -> tuple[float, ...]:
        """Return the slowdowns of a group with these slowdowns by flows."""
        known = sum(job in self._packet for job in group)
        self.n_with_packets += known
        self.n_by_flow += len(group) - known
        return tuple(self._estimate(job, now) for job, now in zip(group, flow, strict=True))

    def _estimate(self, job: int, now: float) -> float:
        if job not in self._packet:
            return now
        return max(1.0, self._packet[job] * sqrt(now / self._flow[job]))

    def judged(
        self, group: Sequence[int], flow: Sequence[float], packet: Sequence[float] | None
    ) -> None:
        """Record a judgement; None where no packets were simulated."""
        self._flow.update(zip(group, flow, strict=True))
        for job in group:
            self._packet.pop(job, None)
        if packet is not None:
            self._packet.update(zip(group, packet, strict=True))

    def forget(self, job: int) -> None:
        """Remove an ended job."""
        self._flow.pop(job, None)
        self._packet.pop(job, None)


class Audit:
    """Simulates a sample of what was not judged again: how far off it was.

    Whether a situation is in the sample depends only on the network's seed and the situation;
    each is looked at once. What it simulates is not used, and not counted with the other packets.
    """

    def __init__(self, loads: JobLoads, budget: PacketBudget) -> None:
        self.share = budget.audit
        self.judge = PacketJudge(loads, budget, PacketRecord())
        self.kept: list[float] = []
        self.packet: list[float] = []
        self._seen: set[bytes] = set()

    def look(self, group: Sequence[Situation], kept: Sequence[float]) -> None:
        """Compare a group's slowdowns with packets, if it is in the sample."""
        if not self.share:
            return
        digest = blake2b(str(self.judge.network.shared.seed).encode(), digest_size=8)
        for job in sorted(group):
            digest.update(job.share.to_bytes(4, "little") + job.n_nodes.to_bytes(4, "little"))
            digest.update(job.nodes + struct.pack("<d", job.fraction))
        name = digest.digest()
        if int.from_bytes(name, "little") >= self.share * 2.0**64 or name in self._seen:
            return
        self._seen.add(name)
        order = sorted(range(len(group)), key=lambda k: group[k])
        self.kept += [kept[k] for k in order]
        self.packet += self.judge.judge(tuple(group[k] for k in order))

    def summary(self) -> dict[str, float]:
        """Return `cache_errors` of the sampled jobs and the cost of the audit."""
        return {
            "audited_jobs": len(self.kept),
            **cache_errors(np.array(self.kept), np.array(self.packet)),
            "audit_hops": self.judge.record.packet_hops,
        }


def cache_errors(kept: FloatArray, packet: FloatArray) -> dict[str, float]:
    """Return the errors of cached slowdowns relative to packets; nan without any.

    ``kept_p50`` and ``kept_p90`` are quantiles of |kept / packet - 1|. ``kept_mean`` is the mean of
    kept / packet - 1, and ``kept_slowest`` that over the tenth of the jobs that packets slow most.
    """
    if not len(kept):
        return dict.fromkeys(("kept_p50", "kept_p90", "kept_mean", "kept_slowest"), float("nan"))
    error = kept / packet - 1
    return {
        "kept_p50": float(np.quantile(np.abs(error), 0.5)),
        "kept_p90": float(np.quantile(np.abs(error), 0.9)),
        "kept_mean": float(error.mean()),
        "kept_slowest": float(error[packet >= np.quantile(packet, 0.9)].mean()),
    }
