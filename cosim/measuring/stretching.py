"""A study's jobs on the network together, and the isolated baselines of their times.

What the measure "stretch" sends (`cosim.measuring.campaign`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.measuring.snapshot_loops import (
    groups_that_meet,
    isolated_loop,
    loops_together,
    united,
)
from cosim.measuring.snapshots import FloatArray, Measurements, Study, format_snapshots
from cosim.measuring.tasks import (
    Columns,
    Progress,
    ReportProgress,
    TaskRunner,
    cut,
    packet_columns,
    packets_from,
)
from cosim.network.communication import Communication
from cosim.network.ensemble import Ensemble, PlacedJob, SharedNetwork
from cosim.network.isolated_loops import IsolatedLoop, n_starts
from cosim.network.loops import without_messages
from cosim.network.situation import Situation
from netsim.packet.model import PacketResult
from queuesim.draws import substitute_id

Key = tuple[int, int, float, bytes]
"""Index of a communication, nodes, communication fraction, and the reference's nodes of a job.

Where no job computes, the last two are 1 and empty for all; where jobs do, that key has the
communication on the first nodes.
"""


ANY_FRACTION = 0.25
"""Communication fraction with which a job is timed on the first nodes, for all fractions."""


@dataclass
class IsolatedBaselines:
    """Isolated times of jobs on the machine's first nodes, measured once each.

    A job communicates for its fraction of its isolated time on the nodes that the reference gives
    it; that determines how long it computes, on every side. A baseline draws by its communication
    and size (`queuesim.draws.substitute_id`), so it does not depend on which job is first.
    """

    network: SharedNetwork
    communications: Sequence[Communication]
    by_share: bool = True
    """Whether jobs compute between iterations, for the share of the time that they do not
    communicate; the time is then the period of a loop."""
    known: dict[Key, tuple[float, float]] = field(default_factory=dict)
    """Computing between iterations, and time, in seconds."""

    def times_s(self, key: Key) -> tuple[float, float]:
        """Return computing between iterations and total time; 0 for a job without messages."""
        if key not in self.known:
            self.known[key] = self._timed(key)
        return self.known[key]

    def _timed(self, key: Key) -> tuple[float, float]:
        share, n_nodes, fraction, nodes = key
        communication, stand_in = self.communications[share], substitute_id((share, n_nodes))
        first = PlacedJob(stand_in, communication, np.arange(n_nodes))
        if not self.by_share:
            return 0.0, float(Ensemble(self.network, [first]).packets().time_s[0])
        if not nodes:
            loop = isolated_loop(self.network, first, ANY_FRACTION, stand_in)
            return 0.0, 0.0 if loop is None else loop.comm_s
        job = Situation(share, nodes).job(communication)
        loop = isolated_loop(self.network, job, fraction, substitute_id([job.job_id]))
        if loop is None:
            return 0.0, 0.0
        return loop.job.compute_s, loop.job.compute_s + self.times_s(_on_first(key))[1]

    def learn(self, keys: Iterable[Key], runner: TaskRunner) -> None:
        """Time those of these jobs that are not known yet, first what many of them share."""
        wanted = set(keys)
        steps = {"first nodes": set(map(_on_first, wanted)), "baselines": wanted}
        for step, of_step in steps.items():
            missing = sorted(of_step - set(self.known))
            pieces = {f"{step} {i}": (piece,) for i, piece in enumerate(cut(missing))}

            def compute(piece: Sequence[Key], report: ReportProgress) -> Columns:
                return {"times_s": np.array([self.times_s(key) for key in piece])}

            for piece, columns in runner.each(compute, pieces):
                times = map(tuple, columns["times_s"].tolist())
                self.known |= zip(piece, times, strict=True)


def _on_first(key: Key) -> Key:
    """Return the key of a job on the first nodes, whatever its fraction."""
    return key[0], key[1], 1.0, b""


EXPOSED = "exposed_s "
"""How the names of the columns of exposed communication begin."""


class Together(NamedTuple):
    """Jobs of a snapshot on the network at the same time: as `PacketTimes` has it, a job each."""

    running: list[int]
    time_s: FloatArray
    packets: PacketResult
    exposed_s: tuple[dict[str, float], ...]


def _exposed(found: Sequence[Columns]) -> dict[str, FloatArray]:
    """Return exposed communication by kind, 0 in the parts without a job of that kind."""
    names = dict.fromkeys(c for columns in found for c in columns if c.startswith(EXPOSED))
    return {
        name.removeprefix(EXPOSED): np.concatenate(
            [columns.get(name, np.zeros(len(columns["job"]))) for columns in found]
        )
        for name in names
    }


@dataclass
class Stretching:
    """A study's jobs on the network, and the isolated baselines of their times."""

    study: Study
    baselines: IsolatedBaselines
    """On the reference's network: times under two routings can be compared if both are divided by
    the same."""
    _keys: dict[int, Key] = field(default_factory=dict)

    def key(self, index: int) -> Key:
        """Return a job's isolated baseline, the same on all sides."""
        if index not in self._keys:
            self._keys[index] = self._key(index)
        return self._keys[index]

    def _key(self, index: int) -> Key:
        study, share = self.study, int(self.study.share[index])
        reference = study.sides[study.reference]
        n_nodes = int(reference.schedule.workload.n_nodes[index])
        if not study.by_share:
            return share, n_nodes, 1.0, b""
        placed = reference.placed(index, study.communication(index))
        nodes = np.asarray(placed.nodes, dtype=np.int32).tobytes()
        return share, n_nodes, float(study.fraction[index]), nodes

    def running(self, name: str, number: int) -> list[int]:
        """Return `Study.running` without jobs that never communicate."""
        running = self.study.running(name, number)
        return [index for index in running if self.key(index)[2] > 0]

    def together(self, name: str, number: int) -> Together | None:
        """Return the jobs of a snapshot that send anything, with their times; None without any.

        The routing's stream is the snapshot's number, on every side.
        """
        running, instant_s = self.running(name, number), self.study.instants_s(name)[number]
        network = self.study.sides[name].network_at(float(instant_s))
        if not running:
            return None
        jobs = [self.job(name, index) for index in running]
        if not self.study.by_share:
            run = Ensemble(network, jobs).packets(stream=number)
            return Together(running, run.time_s, run.packets, run.exposed_s)
        sends = Ensemble(network, jobs).least_s > 0
        pairs = list(zip(running, jobs, sends.tolist(), strict=True))
        loops = {
            index: IsolatedLoop(job, period_s)
            for index, job, sent in pairs
            if sent and (period_s := self.isolated_s(index)[1]) > 0
        }
        if not loops:
            return None
        sending = list(loops.values())
        time_s, exposed_s = np.zeros(len(sending)), [dict[str, float]()] * len(sending)
        packets = []
        groups = groups_that_meet(network, sending, self.study.sides[name].isolates)
        # Twice in groups, so that a time does not depend on how many jobs are in the group: all
        # ranks begin a first communication at once.
        least = 1 if len(groups) == 1 else 2
        for group in groups:
            mine = [sending[place] for place in group]
            runs = [
                loops_together(network, mine, least=least, draw=draw, stream=number)
                for draw in range(n_starts([loop.period_s for loop in mine]))
            ]
            time_s[group] = np.mean([times for times, _ in runs], axis=0)
            packets.append(without_messages(runs[0][1].packets))
            for place, spent_s in zip(group, runs[0][1].exposed_s, strict=True):
                exposed_s[place] = spent_s
        return Together(list(loops), time_s, united(packets), tuple(exposed_s))

    def isolated_s(self, index: int) -> tuple[float, float]:
        """Return a job's computing between iterations, and the time it is compared with."""
        return self.baselines.times_s(self.key(index))

    def job(self, name: str, index: int) -> PlacedJob:
        """Return a job on its nodes under a side, with the computing time of its baseline."""
        job = self.study.sides[name].placed(index, self.study.communication(index))
        return job.altered(compute_s=self.isolated_s(index)[0])

    def timed(self, name: str, numbers: Sequence[int], report: ReportProgress) -> Columns:
        """Send some snapshots of a side's schedule through the packet engine.

        Returns
        -------
        mapping of str to ndarray
            "snapshot", "job" and "time_s", a row a job, "exposed_s KIND" for each kind of
            communication that is timed, and the packets of each snapshot that has jobs
            (`cosim.measuring.tasks.packet_columns`).
        """
        snapshot, job, time_s = [], [], []
        exposed_s: list[dict[str, float]] = []
        packets: dict[str, NDArray[Any]] = {}
        for done, number in enumerate(numbers, start=1):
            if (found := self.together(name, number)) is not None:
                snapshot += [number] * len(found.running)
                job += found.running
                time_s += found.time_s.tolist()
                exposed_s += found.exposed_s
                packets |= packet_columns(found.packets, f"{number}.")
            report(done / len(numbers))
        return {
            "snapshot": np.array(snapshot, dtype=np.int64),
            "job": np.array(job, dtype=np.int64),
            "time_s": np.array(time_s, dtype=np.float64),
            **{
                f"{EXPOSED}{kind}": np.array([row.get(kind, 0.0) for row in exposed_s])
                for kind in dict.fromkeys(kind for row in exposed_s for kind in row)
            },
            **packets,
        }

    def measurements(self, name: str, found: Sequence[Columns]) -> Measurements:
        """Return the columns of `timed` of all snapshots of a side as measurements."""
        side, study = self.study.sides[name], self.study
        snapshot, job, time_s = (
            np.concatenate([columns[column] for columns in found])
            for column in ("snapshot", "job", "time_s")
        )
        isolated_s = np.array([self.isolated_s(index) for index in job.tolist()]).reshape(-1, 2)
        return Measurements(
            policy=side.schedule.policy,
            snapshot=snapshot,
            job=job,
            share=np.asarray(study.share, dtype=np.int64)[job],
            n_nodes=side.schedule.workload.n_nodes[job].astype(np.int64),
            time_s=time_s,
            baseline_s=isolated_s[:, 1],
            compute_s=isolated_s[:, 0] if study.by_share else None,
            packets=tuple(
                packets_from(columns, f"{number}.")
                for columns in found
                for number in np.unique(columns["snapshot"]).tolist()
            ),
            instant_s=study.instants_s(name),
            exposed_s=_exposed(found),
        )


def stretches(
    study: Study,
    baselines: IsolatedBaselines,
    runner: TaskRunner,
    progress: Progress | None = None,
) -> dict[str, Measurements]:
    """Send the snapshots of all sides' schedules through the packet engine, a few at a time."""
    stretching = Stretching(study, baselines)
    seen = (
        index
        for name in study.sides
        for number in study.numbers
        for index in stretching.running(name, number)
    )
    baselines.learn(map(stretching.key, seen), runner)
    pieces = {
        f"{name}, {format_snapshots(piece)}": (name, piece)
        for name in study.sides
        for piece in cut(study.numbers)
    }
    found = runner.each(stretching.timed, pieces, progress)
    return {
        name: stretching.measurements(name, [columns for one, _, columns in found if one == name])
        for name in study.sides
    }
