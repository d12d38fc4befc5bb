"""Speed of placement over whole runs (skipped by default; run with --benchmark-only).

Every call of `allocate` that the queue makes is counted, successes and failures together, and
its time measured around the call. Bounds of the project: 100 us a call on Synth-16 and
Thunder, 300 us on Synth-28; for LC+S, which shares links, the paper's time-out of 5 s for the
longest call.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
import pytest

from alloc.policy import Request
from alloc.registry import make_policy
from netsim.topologies.fattree import fat_tree
from queuesim.queue import simulate_queue
from workloads.registry import LOGS, read_known_log
from workloads.synthetic import laas_workload
from workloads.transform import all_at_zero

NEED_BPS = (0.5e9, 1.0e9, 1.5e9, 2.0e9)
CASES = {"synth-16": 16, "thunder": 18, "synth-28": 28}


def workload_of(name, shared_dir):
    if name == "thunder":
        path = shared_dir / "traces" / LOGS["thunder"].file_name
        return all_at_zero(read_known_log("thunder", path))
    return laas_workload(10_000, float(name.split("-")[1]), np.random.default_rng(1))


def counted(topology, name):
    """A policy that notes how often and how long its `allocate` runs; its clones do, too."""
    policy = make_policy(topology, name, np.random.default_rng(0))
    calls = {"n": 0, "placed": 0, "s": 0.0, "longest_s": 0.0}

    class Counted(type(policy)):
        def allocate(self, request):
            began = perf_counter()
            placement = super().allocate(request)
            took = perf_counter() - began
            calls["s"] += took
            calls["longest_s"] = max(calls["longest_s"], took)
            calls["n"] += 1
            calls["placed"] += placement is not None
            return placement

    policy.__class__ = Counted
    return policy, calls


@pytest.mark.shared
@pytest.mark.parametrize("name", ["ta", "laas", "jigsaw", "lc-s"])
@pytest.mark.parametrize("case", CASES)
def test_placement_over_a_whole_run(benchmark, shared_dir, case, name):
    topology = fat_tree(CASES[case], bandwidth_Bps=5 * 10**9)
    workload = workload_of(case, shared_dir)
    warm = make_policy(topology, name, np.random.default_rng(0))
    shares = name == "lc-s"
    for size in (1, 5, topology.n_nodes // 2):  # compile or load the kernels
        warm.allocate(Request(size, size, bandwidth_Bps=NEED_BPS[0] if shares else None))
    policy, calls = counted(topology, name)
    result = benchmark.pedantic(
        simulate_queue,
        (workload, policy),
        {
            "rng": np.random.default_rng(0),
            "window": 50,
            "bandwidth_Bps": np.random.default_rng(1).choice(NEED_BPS, len(workload))
            if shares
            else None,
        },
        rounds=1,
    )
    assert len(result) == len(workload)
    us = 1e6 * calls["s"] / calls["n"]
    per_job_us = 1e6 * float(result.scheduling_s.mean())
    benchmark.extra_info.update(
        {"us_per_call": us, "calls": calls["n"], "placed": calls["placed"], "us_a_job": per_job_us}
        | {"longest_ms": 1e3 * calls["longest_s"]}
    )
    print(
        f"\n{case} {name}: {us:.1f} us a call ({calls['n']} calls, {calls['placed']} placed), "
        f"the longest {1e3 * calls['longest_s']:.1f} ms, "
        f"{per_job_us:.0f} us a job with reservations, run {benchmark.stats.stats.min:.1f} s"
    )
