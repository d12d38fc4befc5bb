"""Programs of training: volumes, overlap in the packet engine against bus bandwidths, checks."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from test_patterns_programs import run_untimed

from netsim.errors import NetcosimError
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PacketConfig, PacketResult
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology
from netsim.traffic import Program, combine
from patterns.registry import PATTERNS, make_pattern
from patterns.training.layout import KINDS, Layout
from patterns.training.model import Model
from patterns.training.operations import OVERLAPS, Operation, iteration, overlapped
from patterns.training.program import Communicator, groups_of, program_of
from patterns.training.times import bytes_sent, timeline

RNG = np.random.default_rng(1)
FLOPS, BANDWIDTH = 100e12, 50e9
SMALL = Model(8, 1024, 8, 8, 4096, 1024, 1024)
MIXED = Model(8, 512, 8, 8, 1024, 512, 1024, experts=4, top_k=2)
EVERY = Layout(2, 2, 2, 4, ep=2, zero=3, interleave=2, micro_batches=4)
RING = Communicator()


def program(
    model: Model, layout: Layout, overlap: str, links: Communicator = RING, scale: float = 1.0
) -> Program:
    stages = operations_of(model, layout, overlap)
    return program_of(stages, layout, layout.gpus, 1, scale=scale, compute=True, links=links)


def operations_of(model: Model, layout: Layout, overlap: str) -> list[list[Operation]]:
    stages = range(layout.pp)
    return [overlapped(iteration(model, layout, stage, FLOPS), overlap) for stage in stages]


def packets_of(program: Program) -> PacketResult:
    """Run the program on one switch, one GPU a port, links of `BANDWIDTH`."""
    machine = {"radix": 128, "levels": 2, "bandwidth_Bps": int(BANDWIDTH), "latency_s": 1e-9}
    routing = make_routing(make_topology("fattree", machine), "d-mod-k")
    packets = PacketConfig(packet_bytes=65536, buffer_bytes=1 << 22, router_latency_s=1e-9)
    traffic = combine([program], [np.arange(program.n_ranks)])
    return simulate_packets(routing, traffic, packets, RNG)


def seconds_of(program: Program) -> float:
    return float(packets_of(program).group_finish_ps[0]) * 1e-12


@pytest.mark.parametrize("layout", [EVERY, replace(EVERY, zero=1, sequence_parallel=True)])
@pytest.mark.parametrize("overlap", OVERLAPS)
@pytest.mark.parametrize("links", [RING, Communicator("hierarchical", 4)])
def test_ranks_send_the_bytes_of_the_operations_and_finish(layout, overlap, links):
    made = program(MIXED, layout, overlap, links)
    made.validate()
    total = made.send_bytes.sum()
    per_stage = layout.gpus // layout.pp
    closed = sum(
        sum(bytes_sent(iteration(MIXED, layout, stage, FLOPS), layout).values()) * per_stage
        for stage in range(layout.pp)
    )
    # what an all-to-all cannot divide is left out
    assert total == pytest.approx(closed, rel=1e-6)
    assert len(run_untimed(made, RNG)) == made.n_streams


@pytest.mark.parametrize(
    "layout",
    [
        Layout(dp=8),
        Layout(dp=8, zero=2),
        Layout(dp=8, zero=3),
        Layout(dp=8, zero=3, prefetch=0),
        Layout(pp=4, micro_batches=8),
        Layout(pp=4, micro_batches=8, interleave=2),
        Layout(dp=2, pp=2, zero=3, micro_batches=3),
        Layout(tp=4),
        Layout(tp=2, pp=2, micro_batches=4),
    ],
)
@pytest.mark.parametrize("overlap", OVERLAPS)
def test_packets_take_the_time_of_bus_bandwidths(layout: Layout, overlap: str) -> None:
    """On one switch, where a collective has its GPUs' links to itself: all, and what is exposed."""
    if layout.zero == 3 and overlap == "gradients":
        return  # parameters and gradients share the links
    bandwidth = dict.fromkeys(("tp", "pp", "dp"), BANDWIDTH)
    expected = timeline(operations_of(SMALL, layout, overlap), layout, bandwidth)
    result = packets_of(program(SMALL, layout, overlap))
    assert result.group_finish_ps[0] * 1e-12 == pytest.approx(expected.seconds, rel=0.03)
    exposed_s = result.exposed_ps.reshape(layout.pp, -1, len(KINDS)).mean(axis=1) * 1e-12
    for stage, closed in zip(exposed_s, expected.exposed_s, strict=True):
        assert stage == pytest.approx(list(closed.values()), abs=0.03 * expected.seconds)
        assert np.all((stage == 0) == (np.array(list(closed.values())) == 0))


@pytest.mark.parametrize("overlap", ["none", "batch", "dualpipe"])
def test_packets_take_the_time_of_experts_beside_computing(overlap: str) -> None:
    """Tokens of one pass beside another, and messages between stages, share a GPU's link."""
    layout = Layout(pp=2, dp=4, ep=4, micro_batches=8, expert_overlap=overlap)
    bandwidth = dict.fromkeys(("pp", "dp", "edp", "ep"), BANDWIDTH)
    expected = timeline(operations_of(MIXED, layout, "all"), layout, bandwidth)
    assert seconds_of(program(MIXED, layout, "all")) == pytest.approx(expected.seconds, rel=0.06)


def test_tokens_for_several_experts_of_a_node_go_there_once() -> None:
    """Two nodes of two GPUs, two experts a token on at most one node: half the bytes between."""
    links = Communicator("hierarchical", 2)
    sent = []
    for nodes in (0, 1):
        layout = Layout(dp=4, ep=4, expert_nodes=nodes, gpus_per_node=2)
        made = program(MIXED, layout, "all", links)
        step = np.repeat(np.arange(len(made.compute_s)), np.diff(made.send_ptr))
        src = np.searchsorted(made.rank_step_ptr, step, side="right") - 1
        apart = src // 2 != made.send_dst // 2
        sent.append([made.send_bytes[apart].sum(), made.send_bytes[~apart].sum()])
    exchange = 8 * 4 * 2 * 512 * 512 * 2 * 4
    assert sent[0][0] - sent[1][0] == pytest.approx(exchange / 2 / 2)
    assert sent[0][1] == sent[1][1]


@pytest.mark.parametrize("zero", [0, 2])
def test_merged_rings_send_the_same_bytes_in_about_the_same_time(zero: int) -> None:
    """One message a GPU and collective to the next GPU, in place of 7 or 14."""
    layout = Layout(dp=8, zero=zero)
    every, merged = (
        program(SMALL, layout, "all", one) for one in (RING, Communicator("ring", 1, True))
    )
    assert merged.send_bytes.sum() == pytest.approx(every.send_bytes.sum(), rel=1e-6)
    sent = merged.send_bytes > 0
    operations = iteration(SMALL, layout, 0, FLOPS)
    assert sent.sum() == 8 * sum(op.group == "dp" for op in operations)
    step = np.repeat(np.arange(len(merged.compute_s)), np.diff(merged.send_ptr))
    src = np.searchsorted(merged.rank_step_ptr, step, side="right") - 1
    assert np.array_equal(merged.send_dst[sent], (src[sent] + 1) % 8)
    assert seconds_of(merged) == pytest.approx(seconds_of(every), rel=0.05)


def test_scaling_keeps_the_share_of_each_part() -> None:
    layout = Layout(dp=8, zero=3)
    full = seconds_of(program(SMALL, layout, "all"))
    small = seconds_of(program(SMALL, layout, "all", scale=0.1))
    assert small == pytest.approx(0.1 * full, rel=0.05)


def test_tensor_parallelism_as_time_takes_as_long_as_its_messages() -> None:
    layout, links = Layout(tp=4), Communicator(as_time_Bps={"tp": BANDWIDTH})
    made = program(SMALL, layout, "all", links)
    assert made.n_messages == 0
    as_messages, as_time = packets_of(program(SMALL, layout, "all")), packets_of(made)
    assert as_time.end_ps == pytest.approx(float(made.compute_s.sum()) / 4 * 1e12)
    assert as_messages.end_ps == pytest.approx(as_time.end_ps, rel=0.03)
    assert as_messages.exposed_ps[:, 0] == pytest.approx(as_time.exposed_ps[:, 0], rel=0.03)


def test_groups_share_all_coordinates_but_their_own() -> None:
    for stage in range(EVERY.pp):
        for name, members in groups_of(EVERY, stage).items():
            assert members.shape[1] == EVERY.size_of(name)
            assert sorted(members.reshape(-1)) == list(range(16 * stage, 16 * stage + 16))
            tensor, context = members % 2, members // 2 % 2
            assert name == "tp" or np.all(tensor == tensor[:, :1])
            assert name in ("cp", "dp", "edp") or np.all(context == context[:, :1])
    assert groups_of(EVERY, 0)["ep"][0].tolist() == [0, 4]
    assert groups_of(EVERY, 0)["edp"][0].tolist() == [0, 2, 8, 10]


@pytest.mark.parametrize(
    ("n_ranks", "given", "message"),
    [
        (12, {"tp": 8}, "12 ranks; tp 8 * cp 1 * pp 1 needs a multiple of 8"),
        (8, {"overlap": "some"}, "overlap"),
        (16, {"tp": 2, "dp": 4}, "16 ranks; tp 2 * cp 1 * pp 1 * dp 4 needs 8"),
        (4, {"pp": 4, "interleave": 3, "micro_batches": 2}, "must be a multiple of pp = 4"),
        (4, {"model": "gpt-5"}, "model"),
        (64, {"zero": 1, "bucket_bytes": 1}, "bucket_bytes = 1 makes at least 13,476,8"),
        (
            64,
            {"model": "deepseek-v3", "zero": 3, "bucket_bytes": 1, "micro_batches": 8},
            "bucket_bytes = 1 makes at least 359,",
        ),
        (4, {"sequence": -1}, "sequence"),
    ],
)
def test_ranks_and_values_that_do_not_fit_are_refused(n_ranks, given, message):
    with pytest.raises(NetcosimError, match=re.escape(message)):
        make_pattern("training", n_ranks, 1, 1, RNG, given)


def test_gpt3_by_packets_takes_the_time_of_bus_bandwidths() -> None:
    """On 128 servers of 8 GPUs, with a thousandth of all bytes and computing: within 3 %.

    All gradients are in two reductions a stage, tensor parallelism is time: few messages.
    """
    given: dict[str, object] = {"model": "gpt3-175b", "tp": 8, "pp": 8, "micro_batches": 64}
    given |= {"zero": 1, "sequence_parallel": True, "scale_up_GBps": 450.0, "blocks": 2}
    made = make_pattern("training", 1024, 1, 1, RNG, given | {"scale": 1e-3})
    assert made.n_messages < 400_000
    machine = make_topology("gpu-cluster", {"nodes": 128, "nodes_per_leaf": 32})
    traffic = combine([made], [np.arange(1024)])
    packets = PacketConfig(packet_bytes=4096, buffer_bytes=1 << 18)
    result = simulate_packets(make_routing(machine, "min-hop"), traffic, packets, RNG)
    lines = PATTERNS["training"].summary(1024, 50e9, **PATTERNS["training"].arguments(given))
    seconds = float(re.findall(r"takes ([\d.]+) s", lines[0])[0])
    assert result.end_ps * 1e-12 / 1e-3 == pytest.approx(seconds, rel=0.03)
    dp = next(line for line in lines if line.split()[0] == "dp")
    # 5.4 GB reduced and gathered among 16, and what the first stage has more
    assert float(dp.split()[2]) == pytest.approx(2 * 15 / 16 * 5.44 * 1.05, rel=0.03)
