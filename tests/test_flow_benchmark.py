"""Speed of the flow engine (skipped by default; run with --benchmark-only).

Each benchmark leaves flows a second in its extra info and prints it with -s; the first
also gives the ratio to the plain solver on the same small case. Rounds after a warm-up:
no compile time.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from experiments.benchmarks.flows import NETWORKS, all_to_all
from experiments.validation.reference.flows import dense, reference_finish
from netsim.flow.job_messages import job_messages
from netsim.flow.job_routes import JobRoutes
from netsim.flow.maxmin import flow_finish_times
from netsim.flow.message_load import message_load
from netsim.flow.message_network import MessageNetwork
from netsim.flow.paths import flow_paths
from netsim.packet.model import PacketConfig
from netsim.routing.registry import make_routing
from netsim.topologies.fattree import fat_tree
from patterns.registry import make_pattern


def permutations(n_nodes, count, rng):
    src = np.tile(np.arange(n_nodes), count)
    dst = np.concatenate([rng.permutation(n_nodes) for _ in range(count)])
    return src[src != dst], dst[src != dst]


def report(benchmark, what, number, **extra):
    per_s = number / benchmark.stats.stats.min
    benchmark.extra_info.update({f"{what}_per_s": per_s, **extra})
    words = "".join(f", {key} {value:.4g}" for key, value in extra.items())
    print(f"\n{benchmark.name}: {number} {what}, {per_s:.4g} a second{words}")


def test_small_case_against_the_plain_solver(benchmark):
    topology, rng = fat_tree(4), np.random.default_rng(1)
    routing, capacity = make_routing(topology), topology.link_bandwidth_Bps.astype(float)
    src, dst = permutations(16, 4, rng)
    amount = rng.uniform(1e5, 1e6, len(src))
    paths = flow_paths(routing, src, dst)
    begin = time.perf_counter()
    expected = reference_finish(
        dense(paths.ptr, paths.links, len(capacity)), capacity, amount, np.zeros(len(src))
    )
    plain_s = time.perf_counter() - begin
    finish = benchmark.pedantic(
        flow_finish_times, (paths, amount, capacity), rounds=20, warmup_rounds=1
    )
    np.testing.assert_allclose(finish, expected, rtol=1e-9)
    report(benchmark, "flows", len(src), times_faster=plain_s / benchmark.stats.stats.min)


@pytest.mark.parametrize("network", NETWORKS)
def test_all_to_all_of_1024(benchmark, network):
    """Paths and all finishes of 1,047,552 flows."""
    topology = NETWORKS[network]()
    routing = make_routing(topology)
    src, dst = all_to_all(np.arange(1024))

    def run():
        paths = flow_paths(routing, src, dst)
        return flow_finish_times(paths, 1e6, topology.link_bandwidth_Bps)

    finish = benchmark.pedantic(run, rounds=3, warmup_rounds=1)
    assert len(finish) == 1_047_552
    report(benchmark, "flows", len(finish))


@pytest.mark.parametrize("sizes", ["equal", "any"])
@pytest.mark.parametrize("network", NETWORKS)
def test_eight_random_permutations_of_1024(benchmark, network, sizes):
    topology, rng = NETWORKS[network](), np.random.default_rng(1)
    routing = make_routing(topology)
    src, dst = permutations(1024, 8, rng)
    amount = np.full(len(src), 1e6) if sizes == "equal" else rng.uniform(1e5, 1e7, len(src))

    def run():
        paths = flow_paths(routing, src, dst)
        return flow_finish_times(paths, amount, topology.link_bandwidth_Bps)

    finish = benchmark.pedantic(run, rounds=3, warmup_rounds=1)
    report(benchmark, "flows", len(finish), distinct_finishes=len(np.unique(finish)))


@pytest.mark.parametrize("n_hosts", [64, 128, 256])
def test_all_to_all_of_all_different_sizes(benchmark, n_hosts):
    """No two flows are alike, and each finish moves the rates of a fifth of all."""
    topology, rng = fat_tree(16), np.random.default_rng(1)
    src, dst = all_to_all(np.arange(n_hosts))
    paths = flow_paths(make_routing(topology), src, dst)
    amount = rng.uniform(1e5, 1e7, len(src))
    flow_finish_times(paths, 1.0, topology.link_bandwidth_Bps)
    args = (paths, amount, topology.link_bandwidth_Bps)
    finish = benchmark.pedantic(flow_finish_times, args, rounds=2)
    report(benchmark, "flows", len(finish))


def with_simgrid() -> str:
    """An interpreter that has SimGrid's Python package; skips if there is none."""
    for name in (sys.executable, "python3", "/usr/bin/python3"):
        found = shutil.which(name)
        asked = [found, "-c", "import simgrid"] if found else ["false"]
        if subprocess.run(asked, capture_output=True, check=False).returncode == 0:
            return str(found)
    pytest.skip("SimGrid is not there (Debian: python3-simgrid)")


@pytest.mark.parametrize(("case", "n_hosts"), [("permutations", 1024), ("all-to-all", 256)])
def test_beside_simgrid(benchmark, case, n_hosts):
    """The same flows in SimGrid's Python package; a minute each."""
    peer = Path(__file__).parent / "simgrid_peer.py"
    ran = subprocess.run(
        [with_simgrid(), str(peer), case, str(n_hosts)], capture_output=True, check=True, text=True
    )
    theirs = json.loads(ran.stdout.splitlines()[-1])
    topology, rng = fat_tree(16), np.random.default_rng(1)
    routing = make_routing(topology)
    if case == "all-to-all":
        src, dst = all_to_all(np.arange(n_hosts))
        amount = np.full(len(src), 1e6)
    else:
        src, dst = permutations(n_hosts, 8, rng)
        amount = rng.uniform(1e5, 1e7, len(src))

    def run():
        paths = flow_paths(routing, src, dst)
        return flow_finish_times(paths, amount, topology.link_bandwidth_Bps)

    finish = benchmark.pedantic(run, rounds=3, warmup_rounds=1)
    if case == "all-to-all":
        assert theirs["flows"] == len(finish)
        assert finish.max() == pytest.approx(theirs["last_s"], rel=1e-6)
    ratio = theirs["cpu_s"] / benchmark.stats.stats.min
    report(benchmark, "flows", len(finish), simgrid_s=theirs["cpu_s"], times_faster=ratio)


@pytest.mark.parametrize("network", NETWORKS)
def test_change_among_64_jobs(benchmark, network):
    """One of 64 all-to-all jobs of 16 scattered nodes ends and starts again: two changes."""
    topology, rng = NETWORKS[network](), np.random.default_rng(1)
    routing = make_routing(topology)
    config = PacketConfig()
    job = job_messages(make_pattern("all-to-all", 16, 1_000_000, 1, rng), 1, config)
    nodes = rng.permutation(1024).astype(np.int32).reshape(64, 16)
    routes = JobRoutes(routing)
    loads = [message_load(routes, job, own, config) for own in nodes]
    net: MessageNetwork[int] = MessageNetwork(topology.n_links)
    net.change(list(enumerate(loads)), [])

    def run():
        for j in range(64):
            net.change([], [j])
            net.change([(j, loads[j])], [])

    benchmark.pedantic(run, rounds=5, warmup_rounds=1)
    report(benchmark, "changes", 128)
