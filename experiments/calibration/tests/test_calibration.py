"""The packet model against textbook limits: saturation, lone messages, offered = accepted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from offered_cycles import measure

from experiments.calibration.load_curves import (
    analyse_buffers,
    analyse_curves,
    saturation_table,
)
from experiments.calibration.paper import PAPER, buffer_points, curve_points
from experiments.calibration.point import run_point
from experiments.calibration.three_ways import MODELS
from experiments.kit.fat_tree_logs import KTH
from experiments.kit.load_latency import Window, measure_load
from experiments.kit.load_networks import (
    CYCLE_S,
    LINK_BPS,
    NETWORKS,
    dragonfly_limit,
    limit_of,
    packet_config,
)
from experiments.kit.offered import lone_load, offered_load, on_clock
from experiments.kit.open_loop import lone_messages, open_loop
from experiments.kit.papers import Options
from netsim.errors import NetcosimError
from netsim.packet.engine import simulate_packets
from netsim.routing.registry import make_routing
from netsim.topologies.dragonfly import GroupLinks, dragonfly
from netsim.topology import Topology
from netsim.traffic import combine
from workloads.swf import write_swf
from workloads.synthetic import laas_workload

# Large enough for detours to be worth 17/2 direct links (7/2 with 72 nodes).
P, A, G = 3, 6, 19


def balanced() -> Topology:
    """342 nodes, one flit a cycle, one cycle of latency."""
    return dragonfly(
        P,
        A,
        G,
        links=GroupLinks(
            node_bandwidth_Bps=LINK_BPS,
            local_bandwidth_Bps=LINK_BPS,
            global_bandwidth_Bps=LINK_BPS,
            node_latency_s=CYCLE_S,
            local_latency_s=CYCLE_S,
            global_latency_s=CYCLE_S,
        ),
    )


# Lone messages


@pytest.mark.parametrize(
    ("network", "routing"),
    [
        (name, routing)
        for name in ("dragonfly-72", "fattree-64", "torus-8x8")
        for routing in NETWORKS[name].routings
    ],
)
def test_lone_messages_take_wires_routers_and_one_serialisation(network: str, routing: str) -> None:
    lone = lone_load(
        make_routing(NETWORKS[network].build(), routing),
        packet_config(32),
        np.random.default_rng(2),
    )
    assert lone.worst_ps == 0
    assert lone.latency_mean_s == lone.expected_mean_s
    # h wires, h - 1 routers, 8 flits: one cycle each.
    assert lone.latency_mean_s == pytest.approx((2 * lone.links - 1 + 8) * CYCLE_S, rel=1e-12)


@pytest.mark.parametrize(
    ("network", "routing"), [("fattree-64", "adaptive"), ("torus-8x8", "minimal-adaptive")]
)
def test_lone_messages_go_the_shortest_way(network: str, routing: str) -> None:
    """Against networkx: 2 d - 1 + 8 cycles at a distance of d links."""
    made = make_routing(NETWORKS[network].build(), routing)
    topology, rng = made.topology, np.random.default_rng(3)
    n = topology.n_nodes
    src = np.sort(rng.permutation(n)[:40]).astype(np.int64)
    dst = (src + rng.integers(1, n, len(src))) % n
    program = lone_messages(n, src, dst, 64, 1e-6)
    result = simulate_packets(made, combine([program], [np.arange(n)]), packet_config(32), rng)
    vertices = nx.DiGraph(zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True))
    distance = [
        nx.shortest_path_length(vertices, s, d)
        for s, d in zip(src.tolist(), dst.tolist(), strict=True)
    ]
    took = (result.message_finish_ps - result.message_post_ps) // 1000
    assert took.tolist() == [2 * d - 1 + 8 for d in distance]


# Saturation


def test_adversarial_traffic_has_one_global_link_a_group() -> None:
    """Minimal: 1/(a p) within 5 %. Valiant: (g-2)/(2 a p), here 8.5 times as much."""
    topology = balanced()
    direct = 1 / (A * P)
    minimal = measure(make_routing(topology, "minimal"), "adversarial", 0.3, 4000).accepted
    valiant = measure(make_routing(topology, "valiant"), "adversarial", 0.6, 4000).accepted
    assert minimal == pytest.approx(direct, rel=0.05)
    assert valiant >= 5 * minimal
    assert valiant == pytest.approx((G - 2) / (2 * A * P), rel=0.07)
    assert valiant <= (G - 2) / (2 * A * P) * 1.01


@pytest.mark.parametrize("routing", ["ugal-l", "ugal-g", "par", "adaptive-local"])
def test_ugal_frees_adversarial_traffic(routing: str) -> None:
    made = make_routing(balanced(), routing)
    assert measure(made, "adversarial", 0.4, 4000).accepted >= 5 / (A * P)


QUEUE = {"ugal_compares": "output-queue"}


def test_ugal_keeps_uniform_traffic_minimal_once_short_queues_do_not_count() -> None:
    """By its own queues UGAL-L leaves the minimal way for one of a moment; a bias of 16 packets, or
    used credits, stop it."""
    topology = balanced()
    biased = make_routing(topology, "ugal-l", {"ugal_bias_s": 128 * CYCLE_S, **QUEUE})
    credits = make_routing(topology, "ugal-l")
    for made in (make_routing(topology, "ugal-g"), biased, credits):
        assert measure(made, "uniform-random", 0.9, 2500).accepted == pytest.approx(0.9, rel=0.02)


def test_used_credits_tell_of_a_full_link_before_queues_do() -> None:
    """Adversarial traffic at a tenth of the load: near Valiant; by queues, far slower."""
    topology = balanced()

    def cycles(name: str, **parameters: object) -> float:
        made = make_routing(topology, name, parameters)
        return measure(made, "adversarial", 0.1, 4000).latency_mean_s / CYCLE_S

    valiant, queues = cycles("valiant"), cycles("ugal-l", **QUEUE)
    assert cycles("ugal-g") < cycles("par") < 1.1 * valiant
    assert cycles("ugal-l") < 2 * valiant < queues / 3


def test_a_detour_inside_the_group_frees_neighbours_traffic() -> None:
    """All nodes of a router send to the next router of the group: p nodes on one link of it.

    Minimal: 1/p. By way of the a - 2 others each link but those carries a first and a second leg of
    p/(a-2): (a-2)/(2p).
    """
    p, a = 4, 8
    topology = dragonfly(
        p, a, 1, links=GroupLinks(node_bandwidth_Bps=LINK_BPS, local_bandwidth_Bps=LINK_BPS)
    )
    n, window = topology.n_nodes, Window(4e-6, 4e-6, 2e-6)

    def accepted(name: str) -> float:
        rng = np.random.default_rng(5)
        program = open_loop(
            n, "adversarial", 64, LINK_BPS, window.end_s, rng, params={"group_size": p}
        )
        traffic = combine([program], [np.arange(n)])
        made = make_routing(topology, name)
        return measure_load(made, traffic, window, packet_config(64), rng).accepted

    assert accepted("minimal") == accepted("valiant") == pytest.approx(1 / p, rel=0.01)
    limit = (a - 2) / (2 * p)
    assert 0.93 * limit < accepted("valiant-local") <= 1.01 * limit
    assert limit < accepted("adaptive-local") <= (limit + 1 / p) * 1.01


@pytest.mark.parametrize(
    ("network", "routing", "least"),
    [
        ("dragonfly-72", "minimal", 0.9),
        ("fattree-64", "d-mod-k", 0.95),
        ("fattree-64", "adaptive", 0.95),
        ("torus-8x8", "dimension-order", 0.9),
        ("torus-8x8", "minimal-adaptive", 0.9),
    ],
)
def test_uniform_traffic_is_accepted_nearly_whole(network: str, routing: str, least: float) -> None:
    made = make_routing(NETWORKS[network].build(), routing)
    assert measure(made, "uniform-random", 1.0, 10_000).accepted > least


@pytest.mark.parametrize("routing", ["dimension-order", "minimal-adaptive"])
def test_tornado_saturates_at_a_third(routing: str) -> None:
    """Each link of a ring carries the traffic of three nodes."""
    made = make_routing(NETWORKS["torus-8x8"].build(), routing)
    below = measure(made, "tornado", 0.32, 30_000)
    assert below.accepted == pytest.approx(0.32, rel=0.03)
    assert below.unfinished == 0
    for load in (0.36, 0.5):
        assert measure(made, "tornado", load, 10_000).accepted <= 1 / 3 * 1.01


@pytest.mark.parametrize(
    ("network", "routing", "traffic", "load"),
    [
        ("dragonfly-72", "minimal", "uniform-random", 0.7),
        ("dragonfly-72", "minimal", "adversarial", 0.1),
        ("dragonfly-72", "valiant", "adversarial", 0.35),
        ("fattree-64", "adaptive", "uniform-random", 0.8),
        ("torus-8x8", "dimension-order", "uniform-random", 0.7),
        ("torus-8x8", "dimension-order", "tornado", 0.25),
    ],
)
def test_below_saturation_what_is_offered_is_accepted(
    network: str, routing: str, traffic: str, load: float
) -> None:
    got = measure(make_routing(NETWORKS[network].build(), routing), traffic, load, 10_000)
    assert got.unfinished == 0
    assert got.offered == pytest.approx(load, rel=0.03)
    assert got.accepted == pytest.approx(got.offered, rel=0.01)
    assert got.warning == ""


def test_a_buffer_of_one_packet_limits_the_rate_and_is_warned_of() -> None:
    """T = 2 + 1 + 8 cycles, one packet of 8: no link carries more than 8/11 on a channel."""
    made = make_routing(NETWORKS["fattree-64"].build(), "d-mod-k")
    got = measure(made, "uniform-random", 1.0, 4000, buffer_packets=1)
    assert got.accepted < 8 / 11
    assert "(128 bytes needed)" in got.warning
    assert "72.7 %" in got.warning


# Sources, limits, tables


def test_sources_on_a_clock_keep_their_times() -> None:
    program = open_loop(8, "uniform-random", 64, LINK_BPS / 2, 2e-6, np.random.default_rng(1))
    snapped = on_clock(program, CYCLE_S)
    for rank in range(8):
        steps = slice(program.step_ptr[rank], program.step_ptr[rank + 1])
        was, now = np.cumsum(program.compute_s[steps]), np.cumsum(snapped.compute_s[steps])
        assert np.abs(was - now).max() <= 0.5 * CYCLE_S * (1 + 1e-6)
        np.testing.assert_allclose(now / CYCLE_S, np.rint(now / CYCLE_S), atol=1e-6)
    assert len(program.compute_s) > 800


def test_an_offered_load_takes_groups_and_rings_from_the_network() -> None:
    """A torus has no groups; with any clock, or none, its tornado is of 8 x 8 nodes."""
    made = make_routing(NETWORKS["torus-8x8"].build(), "dimension-order")
    with pytest.raises(NetcosimError, match="adversarial: group_size"):
        measure(made, "adversarial", 0.1, 100)
    window, packets = Window(1e-6, 8e-6, 2e-6), packet_config(32)
    for cycle_s in (None, CYCLE_S):
        rng = np.random.default_rng(1)
        got = offered_load(made, "tornado", 0.02, window, packets, rng, cycle_s=cycle_s)
        assert got.offered == pytest.approx(0.02, rel=0.1)
        # three hops each way: 2 x 3 + 2 wires, 7 routers, 8 flits; little waiting at this load
        assert 22.99 * CYCLE_S <= got.latency_mean_s < 26 * CYCLE_S


def test_limits_by_hand() -> None:
    assert dragonfly_limit(4, 8, 33, "minimal", "adversarial").ceiling == 1 / 32
    assert dragonfly_limit(4, 8, 33, "valiant", "adversarial").ceiling == 31 / 64
    assert dragonfly_limit(4, 8, 33, "ugal-g", "adversarial").ceiling == 33 / 64
    assert dragonfly_limit(4, 8, 33, "valiant", "uniform-random").ceiling == 1055 / 2048
    assert limit_of("torus-8x8", "dimension-order", "tornado").ceiling == 1 / 3
    assert limit_of("torus-8x8", "dimension-order", "uniform-random").ceiling == 63 / 64


def test_verdicts_follow_the_numbers() -> None:
    def curve(routing: str, accepted: list[float]) -> pd.DataFrame:
        return pd.DataFrame({
            "network": "torus-8x8", "traffic": "tornado", "routing": routing,
            "load": [0.1, 0.3, 0.6], "offered": [0.1, 0.3, 0.6], "accepted": accepted,
            "unfinished": [0.0, 0.0, 0.5],
        })  # fmt: skip

    table = saturation_table(
        pd.concat([
            curve("dimension-order", [0.1, 0.25, 0.2]),
            curve("minimal-adaptive", [0.1, 0.3, 0.33]),
        ])
    ).set_index("routing")  # fmt: skip
    assert table["verdict"].tolist() == ["differs", "holds"]
    assert table["peak_accepted"].tolist() == [0.25, 0.33]
    assert table["stable_to"].tolist() == [0.1, 0.3]
    assert table["accepted_at_full_load"].tolist() == [0.2, 0.33]


def test_points_run_and_analyse() -> None:
    """One routing's points through the point function; same point, same numbers."""
    options = Options(scale="quick", routings=("dimension-order",))
    points = [p for p in curve_points(options) if p.get("load") in (None, 0.1, 0.33)]
    assert {p["network"] for p in points} == {"torus-8x8"}
    rows: dict[str, list[dict[str, object]]] = {"load": [], "lone": []}
    for point in points:
        for name, found in run_point(point).items():
            rows[name] += found
    assert run_point(points[-1])["load"] == rows["load"][-1:]
    frames = {name: pd.DataFrame(found) for name, found in rows.items()}
    analysis = analyse_curves(frames, options)
    lone = analysis.claims[analysis.claims["claim"].str.contains("lone")]
    assert lone["verdict"].tolist() == ["holds"]
    assert analysis.tables["booksim"]["booksim_cycles"].tolist() == [21]
    few = [p for p in buffer_points(options) if p["traffic"] == "tornado"][:2]
    found = analyse_buffers({"load": pd.DataFrame([run_point(p)["load"][0] for p in few])}, options)
    assert found.tables["load"]["buffer_packets"].tolist() == [1, 2]


@pytest.mark.full
def test_quick_figures_of_the_coupled_models(tmp_path: Path, reproduced: Any) -> None:
    """Jobs that neighbours hold up, packets beside longer loops, and three ways from a log."""
    folder = tmp_path / "logs"
    folder.mkdir()
    write_swf(laas_workload(30, 8, np.random.default_rng(1)), folder / KTH.files[1])
    options, found = Options("quick", settings={"logs": str(folder)}), {}
    for name in ("neighbours", "packet-errors", "three-ways"):
        done = reproduced("calibration", name, options)
        found[name] = next(iter(done.analysis.tables.values()))
    assert found["neighbours"]["rank_correlation"].between(-1, 1).all()
    assert found["packet-errors"]["p90"].iloc[-1] < 10
    by_model = found["three-ways"].set_index("run_time_model")["run_time"]
    assert list(by_model.index) == list(MODELS)
    assert by_model["as-logged"] == 1 < by_model["coupled-packets"]
    options = Options(settings={"logs": str(tmp_path)})
    done = reproduced("calibration", "three-ways", options)
    assert "kth-sp2: put KTH-SP2" in "\n".join(done.analysis.notes)


def test_bad_options_are_told() -> None:
    for options, word in (
        (Options(routings=("fastest",)), "fastest"),
        (Options(measure="mean"), "measure"),
        (Options(settings={"x": "1"}), "'x'"),
    ):
        with pytest.raises(NetcosimError, match=word):
            PAPER.check(options)
