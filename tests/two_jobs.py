"""A snapshot of jobs that exchange all the time, on the nodes that come free for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from alloc.registry import POLICIES, make_policy
from cosim.measuring.snapshots import Side
from cosim.network.communication import Communication
from cosim.network.ensemble import SharedNetwork
from queuesim.queue import simulate_queue
from workloads.csv_jobs import read_csv

FIRST, SECOND = 101, 102


def exchange(node_bytes: int) -> Communication:
    """Pairs of nodes send each other so many bytes, again and again."""
    once = {"rounds": 1, "warmup_rounds": 0}
    return Communication("bisection-pairing", rank_bytes=node_bytes, parameters=once)


def sides_of(
    folder: Path,
    network: SharedNetwork,
    free: Mapping[int, float],
    sizes: Sequence[int] = (2, 2),
    policies: Sequence[str] = ("baseline",),
) -> dict[str, Side]:
    """Schedules of single-node jobs, and of jobs of these sizes from `FIRST` on.

    Eight single ones, or as many as nodes are named, hold a node each until it comes free: at
    5,000 s where nothing else is said.
    """
    topology = network.routing.topology
    lines = ["job,nodes,arrival_s,run_s"]
    lines += [f"{node + 1},1,0,{free.get(node, 5000.0)}" for node in range(max(8, len(free)))]
    lines += [f"{FIRST + k},{size},{20 + 20 * k},4000" for k, size in enumerate(sizes)]
    path = folder / "jobs.csv"
    path.write_text("\n".join(lines) + "\n")
    jobs, sides = read_csv(path), {}
    for name in policies:
        policy = make_policy(topology, name, np.random.default_rng(0))
        rng = np.random.default_rng(0)
        schedule = simulate_queue(jobs, policy, window=50, rng=rng, keep_placements=True)
        sides[name] = Side(schedule, network, POLICIES[name].isolates)
    return sides
