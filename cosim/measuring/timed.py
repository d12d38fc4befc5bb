"""Jobs of an instant of the reference's schedule, timed under all sides, and what follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cosim.measuring.pairs import Pair
from cosim.measuring.snapshots import FloatArray, LongArray, Measurements, Study
from netsim.packet.model import PacketResult


@dataclass(frozen=True, eq=False)
class TimedSnapshot:
    """Jobs of one instant, timed on all sides."""

    number: int
    running: Sequence[int]
    """Jobs, by index."""
    mean_s: Mapping[str, FloatArray]
    alone_s: Mapping[str, FloatArray]
    """mean_s, alone_s: mapping of str to (k,) float64. Time of each job by side: as the job runs
    there, and in isolation there."""
    packets: Mapping[str, PacketResult]
    """Of sides on which they ran together."""


def pairs_of(
    study: Study, found: TimedSnapshot, iterations: LongArray, duty: FloatArray
) -> list[Pair]:
    """Return one pair a side and job, with the iterations and the duty of each."""
    there, there_alone = found.mean_s[study.reference], found.alone_s[study.reference]
    jobs = study.sides[study.reference].schedule.workload
    return [
        Pair(
            snapshot=found.number,
            policy=name,
            job_id=int(jobs.job_id[index]),
            n_nodes=int(jobs.n_nodes[index]),
            run_s=float(jobs.run_time_s[index]),
            pattern=study.communication(index).pattern,
            iterations=int(iterations[k]),
            duty=float(duty[k]),
            reference_s=float(there[k]),
            reference_alone_s=float(there_alone[k]),
            policy_s=float(found.mean_s[name][k]),
            policy_alone_s=float(found.alone_s[name][k]),
        )
        for name in study.others
        for k, index in enumerate(found.running)
    ]


def measurements(study: Study, name: str, snapshots: Sequence[TimedSnapshot]) -> Measurements:
    """Return the times under a side over isolated ones under the reference, a row per job and
    snapshot."""
    none, side = np.empty(0), study.sides[name]
    job = np.array([j for s in snapshots for j in s.running], dtype=np.int64)
    return Measurements(
        policy=side.schedule.policy,
        snapshot=np.array([s.number for s in snapshots for _ in s.running], dtype=np.int64),
        job=job,
        share=np.asarray(study.share, dtype=np.int64)[job],
        n_nodes=side.schedule.workload.n_nodes[job].astype(np.int64),
        time_s=np.concatenate([none, *(s.mean_s[name] for s in snapshots)]),
        baseline_s=np.concatenate([none, *(s.alone_s[study.reference] for s in snapshots)]),
        packets=tuple(s.packets[name] for s in snapshots if name in s.packets),
        alone_s=np.concatenate([none, *(s.alone_s[name] for s in snapshots)]),
        instant_s=study.instants_s(study.reference),
    )
