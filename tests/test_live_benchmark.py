"""Time of a change told to `Live` (skipped by default; run with --benchmark-only).

Jobs of 2 to 16 random nodes come and go; a round is one end and one start.
"""

from __future__ import annotations

import numpy as np
import pytest

from cosim.run_times.live import Live, LiveJob
from netsim.topologies.dragonfly import dragonfly


@pytest.mark.parametrize("pattern", ["halo3d", "all-to-all"])
@pytest.mark.parametrize(("machine", "n_jobs"), [((4, 8, 33), 100), ((8, 16, 64), 1000)])
def test_one_job_goes_and_another_comes(benchmark, machine, n_jobs, pattern):
    rng = np.random.default_rng(1)
    live = Live(dragonfly(*machine))
    free = set(range(live.topology.n_nodes))
    running: dict[int, list[int]] = {}

    def job(number):
        nodes = rng.choice(sorted(free), int(rng.choice([2, 4, 8, 16])), replace=False).tolist()
        free.difference_update(nodes)
        running[number] = nodes
        return LiveJob(number, nodes, pattern, communication_fraction=0.3)

    for number in range(n_jobs):
        live.change([job(number)])
    numbers = iter(range(n_jobs, 10**9))

    def prepare():
        gone = int(rng.choice(list(running)))
        free.update(running.pop(gone))
        return ([job(next(numbers))], [gone]), {}

    benchmark.pedantic(live.change, setup=prepare, rounds=100, warmup_rounds=20)
    took_ms = 1000 * benchmark.stats.stats.median
    print(f"\n{benchmark.name}: {live.topology.n_nodes} nodes, {took_ms:.2f} ms")
