"""Figure ``optimum``: network schedulers in small cases.

Shares of what an exhaustive search finds, and CASSINI's gain by compatibility.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cosim.network.communication import Communication
from cosim.network.ensemble import SharedNetwork
from cosim.network.job_iterations import JobIterations
from cosim.network.job_network import JobNetwork
from cosim.network.mix import CommunicationMix, PatternShare
from cosim.network.periodic import JobGroup, NetworkPlan, PeriodicJob, iteration_times_s
from cosim.network.situation import Situation
from cosim.network_schedulers import cassini, crux
from cosim.registry import NETWORK_SCHEDULERS
from cosim.run_times.iterations import ScheduledJobs
from experiments.kit.claims import claims_frame
from experiments.kit.data import read_data
from experiments.kit.papers import Analysis, Options, Point
from netcosim.runs.store import Rows
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology

FUNCTION = "experiments.network_schedulers.optimum:run_point"
STUDY = read_data("network_schedulers")["optimum"]
PAIRS = "cassini gain"


def points(options: Options) -> list[Point]:
    """Return a point an item, with how many cases it has."""
    cases = {name: 1 if options.quick else row["cases"] for name, row in STUDY["shares"].items()}
    cases[PAIRS] = STUDY["pairs"]["cases"][options.scale]
    return [{"item": name, "cases": n} for name, n in cases.items()]


def run_point(point: Mapping[str, Any]) -> dict[str, Rows]:
    """Return a row a case; of pairs with the score: table "cases"."""
    item, rows = point["item"], []
    for case in range(point["cases"]):
        score, value = pair(case) if item == PAIRS else (np.nan, SHARES[item](case))
        rows.append({"item": item, "score": score, "value": value})
    return {"cases": rows}


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return shares of the optimum, and gains by compatibility."""
    cases, edges = frames["cases"], STUDY["pairs"]["scores"]
    parts = {name: cases[cases["item"] == name] for name in STUDY["shares"]}
    for low, high in itertools.pairwise(edges):
        inside = (cases["score"] >= low) & (cases["score"] < (high if high < 1 else np.inf))
        parts[f"{PAIRS}, score {low:.1f} to {high:.1f}"] = cases[inside]
    rows = [
        {"item": name, "cases": len(part), "mean": part["value"].mean()}
        | {"min": part["value"].min()}
        | {"printed": STUDY["shares"].get(name, {}).get("printed", np.nan)}
        for name, part in parts.items()
    ]
    return Analysis(claims_frame([]), {"optimum": pd.DataFrame(rows).round(4)})


# Small cases with an exhaustive optimum


def drawn_jobs(rng: np.random.Generator, n: int, n_links: int) -> list[PeriodicJob]:
    """Return jobs on one to three of some links, of 8 to 64 GPUs."""
    found = []
    for _ in range(n):
        comm_s, ratio = float(rng.uniform(0.2, 1.0)), float(rng.uniform(0.5, 3.0))
        links = np.sort(rng.choice(n_links, int(rng.integers(1, 1 + min(3, n_links))), False))
        gpus = int(rng.choice([8, 16, 32, 64]))
        found.append(
            PeriodicJob(ratio * comm_s, comm_s, 0.0, links, np.full(len(links), comm_s), gpus)
        )
    return found


def utilisation(jobs: list[PeriodicJob], time_s: np.ndarray) -> float:
    """Return the share of the time for which the jobs' GPUs compute."""
    work_s = np.array([job.work_s for job in jobs])
    return float((work_s / time_s).sum() / sum(job.gpus for job in jobs))


def by_priority(jobs: list[PeriodicJob], priority: Iterable[int]) -> float:
    """Return the utilisation under strict priorities, in the mean over phases."""
    group = JobGroup.of(jobs)
    rng, plan = np.random.default_rng(0), NetworkPlan.without(len(jobs))
    times = [
        iteration_times_s(
            group,
            NetworkPlan(
                np.array(list(priority)), rng.random(len(jobs)) * group.iteration_s, plan.pace_s
            ),
            rng,
        )
        for _ in range(3)
    ]
    return float(np.mean([utilisation(jobs, t) for t in times]))


def priority_share(case: int) -> float:
    """Return the utilisation by Crux's order of five jobs, over that of the best order."""
    jobs = drawn_jobs(np.random.default_rng([1, case]), 5, 4)
    rank = np.argsort(np.argsort(crux.corrected(JobGroup.of(jobs))))
    best = max(by_priority(jobs, order) for order in itertools.permutations(range(5)))
    return by_priority(jobs, rank) / best


def compression_share(case: int) -> float:
    """Return the utilisation by six jobs in two priorities of Crux, over that of the best two."""
    jobs = drawn_jobs(np.random.default_rng([2, case]), 6, 4)
    group = JobGroup.of(jobs)
    weight = np.array([crux.intensity(job) for job in jobs])
    level = crux.compressed(
        crux.corrected(group), crux.conflicts(group, weight), 2, np.random.default_rng(0)
    )
    best = max(by_priority(jobs, ways) for ways in itertools.product((0, 1), repeat=6))
    return by_priority(jobs, 1 - level) / best


def path_network(routing: str, **parameters: Any) -> JobNetwork:
    """Return a cluster of four leaves and three spines of half a NIC's bandwidth, and two mixes."""
    topology = make_topology(
        "gpu-cluster",
        {"nodes": 16, "gpus_per_node": 1, "fabric": "leaf", "nodes_per_leaf": 4, "spines": 3},
    )
    shares = [PatternShare("halo2d", 1.0, f, f) for f in (0.3, 0.5, 0.6)]
    communications = [Communication("halo2d", size) for size in (10**6, 2 * 10**6, 3 * 10**6)]
    shared = SharedNetwork(make_routing(topology, routing, parameters), task_mapping="in-order")
    return JobNetwork(shared, CommunicationMix(shares), communications)


def path_share(case: int) -> float:
    """Return the utilisation by four jobs on Crux's paths, over that on the best paths.

    Each job is a pair of nodes, one in the first leaf, with the same spine in both directions.
    """
    rng = np.random.default_rng([3, case])
    ends = [(i, 4 + int(k)) for i, k in enumerate(rng.permutation(12)[:4])]
    kinds = [(k, (0.3, 0.5, 0.6)[k]) for k in rng.integers(0, 3, 4).tolist()]
    situations = [
        Situation(k, np.array(pair, dtype=np.int32).tobytes(), f)
        for pair, (k, f) in zip(ends, kinds, strict=True)
    ]

    def found(jobs: list[PeriodicJob]) -> float:
        return by_priority(jobs, np.argsort(np.argsort([crux.intensity(job) for job in jobs])))

    best = 0.0
    for paths in itertools.product(range(3), repeat=4):
        pins = [
            [*way, 0, path]
            for (a, b), path in zip(ends, paths, strict=True)
            for way in ((a, b), (b, a))
        ]
        iterations = JobIterations(path_network("pinned", pins=pins).loads)
        best = max(best, found([iterations.placed(one) for one in situations]))  # type: ignore[misc]
    running = ScheduledJobs(path_network("pinned"), crux.Crux(), 0)
    for number, situation in enumerate(situations):
        running.start(number, situation)
    running.settle()
    return found([running.job(number) for number in range(4)]) / best


def shift_share(case: int) -> float:
    """Return the score of three jobs on a link by CASSINI's search, over the best of all shifts."""
    rng = np.random.default_rng([4, case])
    period = float(rng.uniform(0.5, 2.0))
    comm_s = rng.uniform(0.1, 0.8, 3) * period
    times_s = np.stack([period - comm_s, comm_s, np.zeros(3)], axis=1)
    found = cassini.circle(times_s, rng.uniform(0.4, 1.0, 3), period / cassini.GRID)
    assert found is not None
    shift = cassini.best_shifts(found, np.zeros(3, dtype=np.int64), np.ones(3, dtype=np.bool_))
    ways = itertools.product([0], range(cassini.ANGLES), range(cassini.ANGLES))
    return found.score(shift) / max(found.score(np.array(way)) for way in ways)


SHARES: dict[str, Callable[[int], float]] = {
    "crux paths": path_share,
    "crux priorities": priority_share,
    "crux compression": compression_share,
    "cassini shifts": shift_share,
}
"""By name: share of the optimum of a case."""


# CASSINI by compatibility


def compatibility(group: JobGroup, rng: np.random.Generator) -> float:
    """Return the lowest score of a group's links with their best shifts; 1 without any.

    A link whose circle is too long counts with random phases.
    """
    scores = [1.0]
    unit_s = float(group.iteration_s.min()) / cassini.GRID
    for users, use in group.users:
        link = cassini.circle(group.times_s[users], use, unit_s)
        if link is not None:
            best = cassini.best_shifts(link, np.zeros(len(users), dtype=np.int64), use > 0)
            scores.append(link.score(best))
        else:
            scores.append(_mean_score(group, users, use, rng))
    return min(scores)


def _mean_score(
    group: JobGroup, users: NDArray[np.int64], use: NDArray[np.float64], rng: np.random.Generator
) -> float:
    """Return the score in random phases that never repeat."""
    share = group.times_s[users, 1] / group.iteration_s[users]
    wanted = (rng.random((1 << 14, len(users))) < share) @ use
    return 1.0 - float(np.maximum(wanted - 1.0, 0.0).mean())


def pair(case: int) -> tuple[float, float]:
    """Return the compatibility of two jobs of like periods on a link, and CASSINI's gain."""
    rng = np.random.default_rng([5, case])
    share, period = rng.uniform(0.2, 1.0, 2), rng.choice([1.0, 1.0, 2.0], 2)
    jobs = [
        PeriodicJob(p * (1 - f), p * f, 0.0, np.zeros(1, dtype=np.int64), np.array([p * f]))
        for f, p in zip(share, period, strict=True)
    ]
    return compatibility(JobGroup.of(jobs), rng), gain("cassini", jobs)


def gain(scheduler: str, jobs: list[PeriodicJob]) -> float:
    """Return by how much iterations are shorter than without a scheduler, in the mean over jobs."""
    group = JobGroup.of(jobs)
    without, by = (
        iteration_times_s(
            group,
            NETWORK_SCHEDULERS[name]().plan(group, np.random.default_rng(0)),
            np.random.default_rng(0),
            phases=32,
        )
        for name in ("none", scheduler)
    )
    return float(np.mean(1 - by / without))
