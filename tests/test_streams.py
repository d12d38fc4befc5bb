"""Ranks of several streams: signals, what is exposed, and both packet engines."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from cosim.network.communication import Communication, with_compute
from cosim.network.ensemble import Ensemble, PlacedJob, SharedNetwork
from experiments.validation.cases import KINDS, Case, Send, Step, program, random_program
from experiments.validation.engines import both, same
from experiments.validation.reference.packets import simulate_reference
from netcosim.config.load import config_from
from netcosim.config.machine import build_machine
from netcosim.runs.cosim import run_cosim
from netcosim.runs.cosim_tables import result_tables
from netsim.errors import NetcosimError
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PacketConfig, PacketResult, ProgramStuckError
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology
from netsim.traffic import MAX_KINDS, Program, combine
from patterns.build import build_program, make_messages
from patterns.registry import PATTERNS
from patterns.training.times import timeline

US = 10**6
"""Picoseconds."""
ROUTING = make_routing(
    make_topology("fattree", {"radix": 4, "bandwidth_Bps": 10**9, "latency_s": 0.0})
)
FREE = PacketConfig(router_latency_s=0.0, buffer_bytes=1 << 20)


def run(made: Program, config: PacketConfig = FREE, n_nodes: int = 16) -> PacketResult:
    """Both engines on rank r at node r."""
    traffic = combine([made], [np.arange(made.n_ranks) % n_nodes])
    fast, plain = both(Case(ROUTING, traffic, config))
    assert same(fast, plain)
    return fast


def step_of(compute_us: float, n_bytes: int) -> Program:
    """Rank 0 computes, its second stream sends to rank 1, and it waits for the answer."""
    wait, done = Step(need=1, kind=1), Step(need=1)
    # steps of rank 0: 0 starts the other stream, 1 computes, 2 waits; 3 to 5 are the other stream
    first = [Step([Send(0, 0, 3)]), Step(compute_ps=int(compute_us * US)), wait]
    second = [done, Step([Send(1, n_bytes, 0)], need=1), Step([Send(0, 0, 2)])]
    answer = [Step(need=1), Step([Send(0, n_bytes, 4)])]
    return program([*first, *second], answer, streams=[[3, 3], [2]], kinds=("dp",))


@pytest.mark.parametrize("overheads", [(0.0, 0.0), (3e-6, 0.0), (3e-6, 2e-6)])
@pytest.mark.parametrize("compute_us", [0.0, 40.0, 500.0])
def test_computing_and_communicating_take_the_longer_of_both(
    compute_us: float, overheads: tuple[float, float]
) -> None:
    """There and back at 1 GB/s, cut-through without latency; signals cost nothing."""
    send_s, recv_s = overheads
    config = replace(FREE, send_overhead_s=send_s, recv_overhead_s=recv_s, packet_bytes=1000)
    got = run(step_of(compute_us, 100_000), config)
    away_ps = 2 * (100 * US + round((send_s + recv_s) * 1e12))
    assert got.rank_finish_ps[0] == max(compute_us * US, away_ps)
    assert got.exposed_ps.tolist() == [[max(0, away_ps - compute_us * US)], [0]]


def as_ranks(made: Program) -> Program:
    """Every stream as a rank of its own on the same node, signals as messages of 1 byte."""
    return replace(
        made,
        n_ranks=made.n_streams,
        send_dst=made.send_stream(),
        send_bytes=np.maximum(1, made.send_bytes),
        stream_ptr=None,
    )


@pytest.mark.parametrize("seed", range(20))
def test_streams_are_ranks_of_a_node_where_messages_cost_no_processor(seed: int) -> None:
    made = random_program(np.random.default_rng(seed), 6)
    nodes = np.arange(6) * 2 % 16
    one = combine([made], [nodes])
    other = combine([as_ranks(made)], [nodes[made.stream_rank()]])
    a, b = (
        simulate_packets(ROUTING, traffic, FREE, np.random.default_rng(1))
        for traffic in (one, other)
    )
    np.testing.assert_array_equal(a.message_finish_ps, b.message_finish_ps)
    np.testing.assert_array_equal(a.link_busy_ps, b.link_busy_ps)
    last = np.zeros(6, dtype=np.int64)
    np.maximum.at(last, made.stream_rank(), b.rank_finish_ps)
    np.testing.assert_array_equal(a.rank_finish_ps, last)


def test_threads_change_nothing() -> None:
    rng = np.random.default_rng(7)
    made = [random_program(rng, 16) for _ in range(6)]
    traffic = combine(made, [rng.permutation(16) for _ in made])
    assert traffic.program.stream_ptr is not None
    assert traffic.program.kinds
    one, two = (
        simulate_packets(ROUTING, traffic, FREE, np.random.default_rng(1), threads=threads)
        for threads in (1, 2)
    )
    assert one.exposed_ps.any()
    assert same(one, two)


def test_joined_programs_keep_their_streams_and_kinds() -> None:
    plain = program([Step([Send(1, 5)])], [Step(need=1)])
    tp = replace(step_of(3.0, 9), kinds=("tp",))
    joined = combine([plain, tp, step_of(4.0, 9)], [[0, 1], [2, 3], [4, 5]]).program
    joined.validate()
    assert joined.kinds == ("tp", "dp")
    assert joined.stream_rank().tolist() == [0, 1, 2, 2, 3, 4, 4, 5]
    assert np.flatnonzero(joined.step_kind).tolist() == [4, 12]
    assert joined.step_kind[[4, 12]].tolist() == [1, 2]


def test_iterations_repeat_every_stream() -> None:
    signal = make_messages([0, 1], [0, 1], [1, 0], [0, 1], 0)
    once = build_program(
        1, 2, signal, 1, [1e-6, 0], stream_ptr=np.array([0, 2]), kinds=("dp",), step_kind=[0, 1]
    )
    thrice = build_program(
        1, 2, signal, 3, [1e-6, 0], stream_ptr=np.array([0, 2]), kinds=("dp",), step_kind=[0, 1]
    )
    assert thrice.step_ptr.tolist() == (3 * once.step_ptr).tolist()
    assert run(thrice, n_nodes=1).end_ps == 3 * run(once, n_nodes=1).end_ps
    longer = with_compute(thrice, 3, 5e-6)
    assert run(longer, n_nodes=1).end_ps == run(thrice, n_nodes=1).end_ps + 3 * 5 * US


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"send_bytes": [0, 9, 0, 9]}, None),
        ({"send_bytes": [0, 0, 0, 9]}, "a message to another rank has fewer than 1 byte"),
        ({"send_bytes": [-1, 9, 0, 9]}, "fewer than 1 byte"),
        ({"stream_ptr": np.array([0, 2, 2])}, "stream_ptr needs one stream or more of each rank"),
        ({"stream_ptr": np.array([0, 1, 2])}, "step_ptr does not cover the steps"),
        ({"step_kind": None}, "step_kind needs 0..1 for each step"),
        ({"step_kind": np.full(8, 2, dtype=np.int8)}, "step_kind needs 0..1 for each step"),
        ({"kinds": tuple("abcdefgh")}, f"8 kinds of communication; at most {MAX_KINDS} are timed"),
    ],
)
def test_programs_that_do_not_fit_are_refused(
    change: dict[str, object], message: str | None
) -> None:
    fields = {k: np.array(v) if isinstance(v, list) else v for k, v in change.items()}
    made = replace(step_of(3.0, 9), **fields)  # type: ignore[arg-type]
    if message is None:
        made.validate()
        return
    with pytest.raises(NetcosimError, match=re.escape(message)):
        made.validate()


def test_a_stream_that_waits_for_ever_is_named() -> None:
    stuck = program([Step(), Step(need=1)], streams=[[1, 1]], kinds=KINDS)
    with pytest.raises(ProgramStuckError, match=r"rank 0 .* step 0 of its steps \(step 1 of all\)"):
        simulate_packets(ROUTING, combine([stuck], [[0]]), FREE, np.random.default_rng(1))


def test_jobs_on_a_network_report_what_is_exposed_by_parallelism() -> None:
    """By the packets, as by bus bandwidths; a job without kinds reports nothing."""
    wide = make_routing(
        make_topology("fattree", {"radix": 16, "levels": 2, "bandwidth_Bps": 50 * 10**9})
    )
    given: dict[str, object] = {"model": "llama-7b", "scale": 1e-2, "blocks": 4}
    training = PlacedJob(1, Communication("training", parameters=given), np.arange(16))
    other = PlacedJob(2, Communication("all-to-all"), np.arange(16, 24))
    network = SharedNetwork(wide, packet=PacketConfig(packet_bytes=4096), task_mapping="in-order")
    nothing, found = Ensemble(network, [other, training]).packets().exposed_s
    assert nothing == {}
    settings = PATTERNS["training"].arguments(given)["settings"]
    layout = settings.layout(16)
    closed = timeline(settings.stages(layout), layout, {"dp": 50e9}).exposed_s[0]
    assert found == pytest.approx({"dp": 1e-2 * closed["dp"]}, rel=0.05)


@pytest.mark.parametrize("until_us", [0, 40, 41, 100, 150, 200, 400])
def test_a_run_that_is_cut_counts_the_steps_in_progress(until_us: int) -> None:
    """Rank 0 computes for 40 us, then waits until 200 us for what it sends there and back."""
    made = step_of(40.0, 100_000)
    traffic = combine([made], [np.arange(2)])
    config = replace(FREE, packet_bytes=1000)
    results = [
        engine(ROUTING, traffic, config, np.random.default_rng(1), until_s=until_us * 1e-6)
        for engine in (simulate_packets, simulate_reference)
    ]
    assert same(*results)
    assert results[0].exposed_ps[0, 0] == (min(max(until_us, 40), 200) - 40) * US


@pytest.mark.parametrize("seed", range(10))
def test_both_engines_cut_random_programs_alike(seed: int) -> None:
    rng = np.random.default_rng(seed)
    traffic = combine([random_program(rng, 6)], [rng.permutation(16)[:6]])
    whole = simulate_packets(ROUTING, traffic, FREE, np.random.default_rng(1))
    for share in (0.2, 0.5, 0.8):
        until_s = int(share * whole.end_ps) * 1e-12
        cut = [
            engine(ROUTING, traffic, FREE, np.random.default_rng(1), until_s=until_s)
            for engine in (simulate_packets, simulate_reference)
        ]
        assert same(*cut)


def test_exposed_times_of_loops_are_those_of_an_iteration() -> None:
    """Computing between iterations is not exposed; a cut in an iteration changes a few per cent."""
    machine = make_topology("gpu-cluster", {"nodes": 4, "gpus_per_node": 8, "nodes_per_leaf": 4})
    network = SharedNetwork(
        make_routing(machine, "ecmp"), PacketConfig(packet_bytes=16384), 1, "in-order"
    )
    step = {"model": "llama-13b", "tp": 8, "zero": 1, "scale_up_GBps": 400.0}
    training = Communication("training", 1, 1, {**step, "blocks": 1, "scale": 1e-3})
    job = PlacedJob(1, training, np.arange(32, dtype=np.int32))
    once = Ensemble(network, [job]).packets()
    for compute_s in (0.0, 1e-3):  # in the loop, before each iteration
        looping = Ensemble(network, [replace(job, compute_s=compute_s)]).loops(0.02)
        assert looping.time_s[0] == pytest.approx(once.time_s[0] + compute_s, rel=0.01)
        assert looping.exposed_s[0] == pytest.approx(once.exposed_s[0], rel=0.06)


@pytest.mark.parametrize("together", ["always", "by-share"])
def test_a_run_has_exposed_communication_by_job(together: str) -> None:
    """A share of the iteration; what a job computes between iterations is not in it."""
    step = {"model": "llama-13b", "tp": 8, "zero": 1, "scale_up_GBps": 400}
    config = config_from(
        {
            "machine": {
                "family": "gpu-cluster",
                "nodes": 8,
                "gpus_per_node": 8,
                "nodes_per_leaf": 4,
                "oversubscription": 4.0,
                "packet": {"packet_bytes": "16 KiB"},
            },
            "workload": {"synthetic": {"n_jobs": 3, "sizes": [16]}},
            "queue": {"policies": ["baseline", "random"], "run_time_model": "as-logged"},
            "communication": {
                "task_mapping": "in-order",
                "together": together,
                "mix": [{"pattern": "training", "parameters": {**step, "scale": 1e-3}}],
            },
            "run": {"snapshots": 1},
        }
    )
    machine = build_machine(config.machine)
    network = SharedNetwork(machine.routing, machine.packets, 1, "in-order")
    training = Communication("training", 1, 1, {**step, "scale": 1e-3})
    job = PlacedJob(1, training, np.arange(16, dtype=np.int32))
    once = Ensemble(network, [job]).packets()
    alone = [once.exposed_s[0][kind] / once.time_s[0] for kind in ("tp", "dp")]
    rows = result_tables(run_cosim(config))["exposed"]
    assert {row["policy"] for row in rows} == {"baseline", "random"}
    for row in rows:
        assert row["exposed_tp"] > 0
        assert row["exposed_tp"] + row["exposed_dp"] < 1
        if row["policy"] == "baseline":  # each on a leaf of its own: as in isolation
            assert (row["exposed_tp"], row["exposed_dp"]) == pytest.approx(alone, rel=0.2)
