"""Speed of the packet engine (skipped by default; run with --benchmark-only).

Each benchmark leaves packet-hops a second in its extra info and prints them with -s: over all
links, and over router-to-router links alone (without injection and ejection). Times are those
of whole calls, arrays and all; a rate per CPU-second is given, too, for machines that are not
idle. Memory is the peak of a fresh process that runs the case once. No compile time: the first
round is a warm-up.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from experiments.benchmarks.packets import LOADS
from experiments.validation.reference.packets import simulate_reference
from netsim.packet import build, kernels_engine
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PacketConfig
from netsim.packet.routing_tables import kernel_tables
from netsim.packet.tables import grown

CONFIG = PacketConfig()
ROOT = Path(__file__).resolve().parents[1]


def usual_case():
    """1056 nodes under UGAL-L, fourteen 64-node jobs."""
    return LOADS["1056-ugal-l"].built()


def own_process_peak():
    """Peak resident memory of a process that imports, builds and runs the case once."""
    code = (
        "import numpy as np, test_packet_benchmark as b; routing, traffic = b.usual_case();"
        "b.simulate_packets(routing, traffic, b.CONFIG, np.random.default_rng(1));"
        "print(b.peak_bytes())"
    )
    path = f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / 'tests')!r}];"
    done = subprocess.run(
        [sys.executable, "-c", path + code], capture_output=True, text=True, check=True
    )
    return int(done.stdout.split()[-1])


class Timed:
    """Runs the engine and keeps the CPU time of every run."""

    def __init__(self, routing, traffic):
        self.routing, self.traffic, self.cpu_s = routing, traffic, []

    def __call__(self):
        begin = time.process_time()
        rng = np.random.default_rng(1)
        result = simulate_packets(self.routing, self.traffic, CONFIG, rng)
        self.cpu_s.append(time.process_time() - begin)
        return result


def report(benchmark, run, result, **extra):
    routing = run.routing
    between = int(result.link_packets[2 * routing.topology.n_nodes :].sum())
    for what, hops in (("packet_hops", result.packet_hops), ("router_hops", between)):
        benchmark.extra_info[what] = hops
        benchmark.extra_info[f"{what}_per_s"] = hops / benchmark.stats.stats.min
        benchmark.extra_info[f"{what}_per_cpu_s"] = hops / min(run.cpu_s)
        benchmark.extra_info[f"{what}_per_s_median"] = hops / benchmark.stats.stats.median
    benchmark.extra_info.update(extra)
    words = "".join(f"\n  {key}: {value:.4g}" for key, value in benchmark.extra_info.items())
    print(f"\n{benchmark.name}{words}")


def test_fourteen_all_to_all_jobs_on_1056_nodes(benchmark):
    routing, traffic = usual_case()
    run = Timed(routing, traffic)
    result = benchmark.pedantic(run, rounds=5, warmup_rounds=1)
    assert np.all(result.group_finish_ps > 0)
    assert np.all(result.message_finish_ps >= 0)
    report(benchmark, run, result, peak_memory_bytes=own_process_peak())


def test_the_simpy_reference_on_a_small_case(benchmark):
    """72 nodes, one 64-node all-to-all: both engines, equal results."""
    routing, traffic = LOADS["72"].built()
    run = Timed(routing, traffic)
    result = benchmark.pedantic(run, rounds=10, warmup_rounds=1)
    begin = time.process_time()
    plain = simulate_reference(routing, traffic, CONFIG, np.random.default_rng(1))
    plain_s = time.process_time() - begin
    np.testing.assert_array_equal(result.message_finish_ps, plain.message_finish_ps)
    report(
        benchmark,
        run,
        result,
        reference_packet_hops_per_s=plain.packet_hops / plain_s,
        times_faster=plain_s / min(run.cpu_s),
    )


def test_the_loop_alone_on_1056_nodes(benchmark):
    """The compiled loop on fresh arrays, without checking input and building arrays."""
    routing, traffic = usual_case()
    clock = build.choose_clock(routing.topology, traffic, CONFIG, None)
    tables = kernel_tables(routing.tables, clock.tick_ps)
    hops = []

    def fresh():
        arrays = build.build_arrays(routing, traffic, CONFIG, clock, 1, False)
        # room for all packets at once, so that the loop never comes back for more
        return (grown(grown(arrays)),), {}

    def loop(arrays):
        why = kernels_engine.run(None, None, None, arrays, tables, 1 << 61, 1 << 61)
        assert why == kernels_engine.DONE
        hops.append(int(arrays.links.packets.sum()))

    benchmark.pedantic(loop, setup=fresh, rounds=9, warmup_rounds=1)
    rate = hops[0] / benchmark.stats.stats.min
    benchmark.extra_info["packet_hops_per_s"] = rate
    print(f"\n{benchmark.name}\n  packet_hops_per_s: {rate:.4g}")
