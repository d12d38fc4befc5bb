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

from collections.abc import Sequence
from math import log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Placement
from cosim.network.communication import ALWAYS, rounded_s
from cosim.network.isolated_loops import LEAST_FRACTION, ROUGH
from cosim.network.job_network import JobNetwork
from cosim.network.situation import Situation
from cosim.run_times.model_context import Pilot
from workloads.job import Workload

FloatArray = NDArray[np.float64]

DRAWS = 8
"""Task mappings and random partners of jobs of a communication and size; a job's id selects one."""
PLACEMENTS = 4
"""Random placements whose mean replaces the reference's nodes where there is no pilot."""


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
    """

    def __init__(
        self,
        network: JobNetwork,
        workload: Workload,
        share: NDArray[np.int64],
        fraction: FloatArray,
        pilot: Pilot | None = None,
    ) -> None:
        self._network, self._workload, self._pilot = network, workload, pilot
        self._share, self._fraction = share, fraction
        self._known: dict[int, OnReference | None] = {}

    def on_reference(self, job: int) -> OnReference | None:
        """Return a job's loop on the reference's nodes; None if it sends nothing."""
        if job not in self._known:
            self._known[job] = self._loop(job)
        return self._known[job]

    def _loop(self, job: int) -> OnReference | None:
        loads = (self._network if self._pilot is None else self._pilot.network).loads.isolated
        places = self._reference(job)
        fraction, first = places[0].fraction, np.arange(places[0].n_nodes, dtype=np.int32)
        once_s = loads.once_s(Situation(places[0].share, first.tobytes(), draw=0))
        near = max(near_fraction(fraction), LEAST_FRACTION)
        nearby = [place._replace(fraction=near, once_s=once_s) for place in places]
        loops = [loads.of(place, 1.0, ROUGH) for place in nearby]
        times_s = [
            (loop.job.compute_s, loop.comm_s, loop.drift_s) for loop in loops if loop is not None
        ]
        if not times_s:
            return None
        compute_s, comm_s, drift_s = np.mean(times_s, axis=0).tolist()
        rest_s = comm_s * (1 / fraction - 1)
        return OnReference(rounded_s(compute_s), rest_s, comm_s, drift_s, once_s)

    def of(self, job: int, placement: Placement, own_links: bool) -> Isolated | None:
        """Return a job's isolated run on its nodes, or on the placement's links alone
        (``own_links``); None if it sends nothing there."""
        reference = self.on_reference(job)
        if reference is None:
            return None
        situation = self._situation(job, placement, own_links)._replace(
            compute_s=reference.near_s, once_s=reference.once_s
        )
        own = self._network.loads.isolated.of(situation, 1.0)
        if own is None:
            return None
        fraction = own.comm_s / (reference.compute_s + own.comm_s)
        settled_s = reference.comm_s + reference.drift_s
        more_s = own.comm_s + own.drift_s - settled_s
        locality = 1.0 + more_s / (reference.compute_s + settled_s)
        return Isolated(situation._replace(fraction=fraction), locality)

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
