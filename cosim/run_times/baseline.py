"""Isolated run times on the reference's nodes, and what a job's own nodes make of them.

A logged run time is that of an isolated run on the nodes that the job has in the reference policy's
queue (its *pilot*). There it computes for C between iterations, of which each takes c more:
c / (C + c) is its communication fraction. On its own nodes it computes as long and an iteration
takes c' more. Its *locality* is (C + c') / (C + c), and its fraction there c' / (C + c').

c and c' hardly depend on C: loops are simulated for fractions rounded to eighths of an octave, so
that few are where the network does not distinguish jobs, and with the C that an isolated iteration
on the machine's first nodes suggests, unless c then falls.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from math import log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Placement
from cosim.network.communication import ALWAYS, rounded_s
from cosim.network.isolated_loops import LEAST_FRACTION, ROUGH, IsolatedLoops
from cosim.network.job_network import JobNetwork
from cosim.network.situation import Situation
from cosim.run_times.like_jobs import LEAST_LIKE, LikeJobs
from cosim.run_times.model_context import Pilot
from cosim.run_times.packet_judge import PacketRecord
from workloads.job import Workload

FloatArray = NDArray[np.float64]

DRAWS = 8
"""Task mappings and random partners of jobs of a communication and size; a job's id selects one."""
PLACEMENTS = 4
"""Random placements whose mean replaces the reference's nodes where there is no pilot."""
BESIDE_GROUPS = 0.5
"""Part of the budget that localities may spend where groups of jobs are simulated too."""


class OnReference(NamedTuple):
    """A job's isolated loop on the reference's nodes."""

    near_s: float
    """Computing between iterations with which loops are simulated."""
    compute_s: float
    """Computing that makes the communication fraction what it is."""
    comm_s: float
    drift_s: float
    """comm_s, drift_s: What an iteration takes beside, and more in the long run."""
    once_s: float
    """What an iteration without computing takes on the machine's first nodes."""


class Isolated(NamedTuple):
    """A job's isolated run on its own nodes."""

    situation: Situation
    locality: float
    """Its isolated time over that on the reference's nodes."""


def near_fraction(fraction: float) -> float:
    """Round a fraction to eighths of an octave."""
    return min(1.0, 2 ** (round(8 * log2(fraction)) / 8))


class Baseline:
    """Isolated periods of a queue's jobs on the reference's nodes.

    Parameters
    ----------
    share, fraction : (n,) int64, (n,) float64
        Communication of each job.
    pilot : Pilot, optional
        The reference policy's queue; without it, random placements take its place, as they do for
        jobs that never ran in it.
    record : PacketRecord, optional
        Filled during the run.
    budget_s : float
        CPU time that isolated loops may take by the last start, evenly over starts. Each of the
        first `LEAST_LIKE` jobs of a class is simulated ahead of this pace, until estimates suffice.
        Who is simulated depends neither on its cost nor on its nodes, so that those simulated are a
        sample of all whose loops are not known.
    beside_groups : bool
        Groups of jobs are simulated too: they have the rest of the budget, and need the computing
        of jobs.
    """

    def __init__(
        self,
        network: JobNetwork,
        workload: Workload,
        share: NDArray[np.int64],
        fraction: FloatArray,
        pilot: Pilot | None = None,
        *,
        record: PacketRecord | None = None,
        budget_s: float = float("inf"),
        beside_groups: bool = False,
    ) -> None:
        self._network, self._workload, self._pilot = network, workload, pilot
        self._share, self._fraction = share, fraction
        self._known: dict[int, OnReference | None] = {}
        self.record = PacketRecord() if record is None else record
        self.budget_s, self._beside_groups = budget_s, beside_groups
        self._allowed_s = budget_s * (BESIDE_GROUPS if beside_groups else 1.0)
        self._loops = network.loads.isolated
        self._of_pilot = self._loops if pilot is None else pilot.network.loads.isolated
        self._n_jobs = int(((workload.n_nodes > 1) & (fraction > 0)).sum())
        self._n_started = 0
        self._like = LikeJobs()
        self._seen: set[tuple[IsolatedLoops, Hashable, float]] = set()

    def on_reference(self, job: int) -> OnReference | None:
        """Return a job's loop on the reference's nodes; None if it sends nothing."""
        if job not in self._known:
            self._known[job] = self._loop(job)
        return self._known[job]

    def _loop(self, job: int) -> OnReference | None:
        places = self._reference(job)
        fraction, once_s = places[0].fraction, self._once_s(places[0])
        near = max(near_fraction(fraction), LEAST_FRACTION)
        times_s = []
        for place in places:
            loop = self._of_pilot.of(place._replace(fraction=near, once_s=once_s), 1.0, ROUGH)
            if loop is not None:
                self.record.pay(self._of_pilot, loop.simulated, loop.packet_hops)
                times_s.append((loop.job.compute_s, loop.comm_s, loop.drift_s))
        if not times_s:
            return None
        compute_s, comm_s, drift_s = np.mean(times_s, axis=0).tolist()
        rest_s = comm_s * (1 / fraction - 1)
        return OnReference(rounded_s(compute_s), rest_s, comm_s, drift_s, once_s)

    def _once_s(self, situation: Situation) -> float:
        """Return what a job's iteration without computing takes on the machine's first nodes."""
        first = np.arange(situation.n_nodes, dtype=np.int32).tobytes()
        once = Situation(situation.share, first, draw=0)
        once_s, hops = self._of_pilot.once(once)
        self.record.pay(self._of_pilot, once, hops)
        return once_s

    def of(self, job: int, placement: Placement, own_links: bool) -> Isolated | None:
        """Return a job's isolated run on its nodes, or on the placement's links alone
        (``own_links``); None if it sends nothing there."""
        self._n_started += 1
        own = self._situation(job, placement, own_links)
        near = near_fraction(own.fraction)
        reference_at = self._reference(job)
        places = {(self._of_pilot, self._of_pilot.place(at), near) for at in reference_at}
        own_place = self._loops, self._loops.place(own), near
        alike, new = places == {own_place}, (places | {own_place}) - self._seen
        simulates = not new or self._may_simulate(own, alike)
        if not simulates or (alike and not self._beside_groups):
            if not self._loops.least_s(own):
                return None
            if alike:
                self.record.n_equal += 1
                return self._not_simulated(own, near, 1.0)
            self.record.n_like += 1
            bound = self._bound(own, reference_at)
            locality = self._like.locality(own.share, own.n_nodes, own.fraction, bound)
            return self._not_simulated(own, near, locality)
        reference = self.on_reference(job)
        if reference is None:
            return None
        situation = own._replace(compute_s=reference.near_s, once_s=reference.once_s)
        loop = self._loops.of(situation, 1.0)
        if loop is None:
            return None
        self.record.pay(self._loops, loop.simulated, loop.packet_hops)
        fraction = loop.comm_s / (reference.compute_s + loop.comm_s)
        settled_s = reference.comm_s + reference.drift_s
        more_s = loop.comm_s + loop.drift_s - settled_s
        locality = 1.0 + more_s / (reference.compute_s + settled_s)
        if new:
            self._seen |= new
            self.record.n_localities += 1
        else:
            self.record.n_equal += 1
        if new and not alike:
            bound_of = partial(self._bound, own, reference_at)
            self._like.add(own.share, own.n_nodes, own.fraction, locality, bound_of)
        return Isolated(situation._replace(fraction=fraction), locality)

    def _bound(self, own: Situation, places: Sequence[Situation]) -> float:
        """Return the bound of an iteration on a job's nodes, over the mean of some places."""
        pilot = self._network if self._pilot is None else self._pilot.network
        on_reference_s = float(np.mean([pilot.loads.bound_s(place) for place in places]))
        return self._network.loads.bound_s(own) / on_reference_s

    def _may_simulate(self, own: Situation, alike: bool) -> bool:
        """Return whether a job's loops are in pace, or it is among the first of its class.

        Once jobs have had to be estimated, no others of a class whose estimates are good enough.
        """
        spent_s, done = self.record.loops_s, min(1.0, self._n_started / self._n_jobs)
        in_pace = spent_s < self._allowed_s * done
        if alike:
            return in_pace
        if not in_pace and self._like.count(own.share, own.n_nodes) >= LEAST_LIKE:
            return False
        # a budget that covers all is spent on all
        if self.record.n_like and self._like.suffices(own.share, own.n_nodes):
            return False
        return spent_s < self._allowed_s or not self._like.knows(own.share)

    def _not_simulated(self, own: Situation, near: float, locality: float) -> Isolated:
        """Return a job's isolated run of a given locality."""
        if self._beside_groups:
            once_s = self._once_s(own)
            near_s = rounded_s(once_s * (1 / max(near, LEAST_FRACTION) - 1))
            own = own._replace(compute_s=near_s, once_s=once_s)
        # it computes for 1 - f of its time on the reference's nodes
        return Isolated(own._replace(fraction=1 - (1 - own.fraction) / locality), locality)

    def _reference(self, job: int) -> Sequence[Situation]:
        """Return where the job may run isolated for its logged time."""
        pilot, n_nodes = self._pilot, int(self._workload.n_nodes[job])
        if pilot is not None:
            kept = pilot.result.placements
            assert kept is not None
            placement = kept.placement(job, int(self._workload.job_id[job]))
            if len(placement.nodes):
                own_links = bool(len(placement.links)) and pilot.network.partition_routing
                return [self._situation(job, placement, own_links)]
        shared = self._network.shared
        rng = np.random.default_rng([shared.seed, n_nodes])
        all_nodes = shared.routing.topology.largest_island
        return [
            self._situation(
                job, Placement(0, rng.permutation(all_nodes)[:n_nodes].astype(np.int32)), False
            )
            for _ in range(PLACEMENTS)
        ]

    def _situation(self, job: int, placement: Placement, own_links: bool) -> Situation:
        """Return a job where it is placed, by its communication fraction."""
        nodes = np.asarray(placement.nodes, dtype=np.int32)
        links = np.asarray(placement.links, dtype=np.int32)
        fraction = 1.0 if self._network.together == ALWAYS else float(self._fraction[job])
        return Situation(
            int(self._share[job]),
            nodes[: int(self._workload.n_nodes[job])].tobytes(),
            fraction,
            draw=int(self._workload.job_id[job]) % DRAWS,
            partition=(nodes.tobytes(), links.tobytes()) if own_links and len(links) else (),
        )
