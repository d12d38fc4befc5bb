"""Features that predict a job's gain from isolation without packets.

A schedule determines which jobs run where at an instant, a job's communication what it sends, and a
static routing over which links. So much is known of each job: its own share of time in
communication, that of the jobs whose paths cross its own, how much longer it would take at max-min
fair rates if all that may be communicating were, and how much its own nodes and links under the
other policy only shorten its path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosim.measuring.neighbours import parts
from cosim.measuring.snapshots import Study
from cosim.network.ensemble import Ensemble
from netsim.flow.bundles import bundle_stretches
from netsim.flow.job_load import JobLoad

FloatArray = NDArray[np.float64]

DRAWS = 64
"""Number of samples of the jobs that communicate at the same time."""

FEATURES = ("fraction", "near", "pressure", "stretch_all", "stretch_phases", "locality")
"""Columns of a row that a law may look at; see `job_features`."""


def job_features(
    study: Study, number: int, cache: LoadCache | None = None
) -> list[dict[str, object]]:
    """Return the features of the jobs of a snapshot under each policy but the reference.

    Parameters
    ----------
    number : int
        Of the snapshot.
    cache : LoadCache, optional
        Of that study.

    Returns
    -------
    list of dict
        A row a job and policy, with ``snapshot``, ``policy``, ``job_id``, ``n_nodes``,
        ``pattern`` and `FEATURES`:

        - ``fraction``: its share of time in communication, f.
        - ``near``: the mean of the others' f, each counted by what it sends over the job's links.
        - ``pressure``: on the worst of its links, the part of it that the job takes while it
          communicates times the mean demand of the others on it.
        - ``stretch_all``: of its communication at max-min fair rates, if all others communicate
          all the time.
        - ``stretch_phases``: the same in the mean, if each of the others communicates with
        probability f.
        - ``locality``: its communication's least isolated time, there over under the reference.
    """
    cache = LoadCache(study) if cache is None else cache
    reference = study.reference
    running = [
        index
        for index in study.running(reference, number)
        if study.fraction[index] > 0 and len(cache.load(reference, index).links)
    ]
    if not running:
        return []
    loads = [cache.load(reference, index) for index in running]
    fraction = study.fraction[np.array(running)]
    capacity = study.sides[reference].network.routing.topology.link_bandwidth_Bps.astype(np.float64)
    known = contention(capacity, loads, fraction)
    jobs = study.sides[reference].schedule.workload
    return [
        {
            "snapshot": number,
            "policy": name,
            "job_id": int(jobs.job_id[index]),
            "n_nodes": int(jobs.n_nodes[index]),
            "pattern": study.communication(index).pattern,
            "fraction": float(fraction[k]),
            **{column: float(values[k]) for column, values in known.items()},
            "locality": cache.load(name, index).isolated_bound_s / loads[k].isolated_bound_s,
        }
        for name in study.others
        for k, index in enumerate(running)
    ]


@dataclass
class LoadCache:
    """Cache of the loads of a study's jobs on the links under each side."""

    study: Study
    _known: dict[tuple[str, int], JobLoad] = field(default_factory=dict)

    def load(self, name: str, index: int) -> JobLoad:
        """Return the bytes of one iteration of a job (by index) on a side's links."""
        key = name, index
        if key not in self._known:
            side = self.study.sides[name]
            job = side.placed(index, self.study.communication(index))
            self._known[key] = Ensemble(side.network, [job]).loads[0]
        return self._known[key]


def contention(
    capacity_Bps: ArrayLike, loads: Sequence[JobLoad], fraction: ArrayLike, draws: int = DRAWS
) -> Mapping[str, FloatArray]:
    """Return the contention of jobs that share links, without packets: ``near``, ``pressure``,
    ``stretch_all`` and ``stretch_phases`` of `job_features`, (k,) float64 each.

    No load is empty; ``fraction`` is the share of the time in which each communicates.
    """
    from scipy.sparse import csr_array

    capacity, f = np.asarray(capacity_Bps, dtype=np.float64), np.asarray(fraction, dtype=np.float64)
    ptr = np.cumsum([0, *(len(load.links) for load in loads)])
    links = np.concatenate([load.links for load in loads])
    sent = np.concatenate([load.link_bytes for load in loads])
    bound_s = np.repeat([load.isolated_bound_s for load in loads], np.diff(ptr))
    shape = len(loads), len(capacity)
    near = parts(csr_array((sent, links, ptr), shape=shape), capacity) @ f
    # fraction of each link that isolated jobs use while they communicate
    demand = csr_array((sent / bound_s / capacity[links], links, ptr), shape=shape)
    others = demand.T @ f
    pressure = np.array(
        [
            float(np.max(mine * (others[load.links] - f[k] * mine), initial=0.0))
            for k, load in enumerate(loads)
            for mine in [demand.data[ptr[k] : ptr[k + 1]]]
        ]
    )
    # only links that all jobs together would overload can delay a job
    tight = np.asarray(demand.sum(axis=0)).ravel() > 1.0
    place = np.cumsum(tight) - 1
    bundles = []
    for k, load in enumerate(loads):
        kept = tight[load.links]
        mine = demand.data[ptr[k] : ptr[k + 1]]
        bundles.append((place[load.links[kept]], np.minimum(mine[kept], 1.0)))
    ones = np.ones(int(tight.sum()))
    together = np.random.default_rng(0).random((draws, len(loads))) < f
    return {
        "near": near,
        "pressure": pressure,
        "stretch_all": bundle_stretches(ones, bundles),
        "stretch_phases": np.array(
            [_mean_stretch(ones, bundles, k, together) for k in range(len(loads))]
        ),
    }


def _mean_stretch(
    capacity: FloatArray,
    bundles: Sequence[tuple[NDArray[np.integer], FloatArray]],
    k: int,
    together: NDArray[np.bool_],
) -> float:
    """Return a job's mean stretch over samples of the jobs that communicate with it."""
    if not len(bundles[k][0]):
        return 1.0
    present = together.copy()
    present[:, k] = True
    # jobs that cannot delay any other need not be known
    present &= np.array([len(links) > 0 for links, _ in bundles])
    cases, counts = np.unique(present, axis=0, return_counts=True)
    found = [
        bundle_stretches(capacity, [bundles[j] for j in np.flatnonzero(case).tolist()])[
            int(case[:k].sum())
        ]
        for case in cases
    ]
    return float(np.average(found, weights=counts))
