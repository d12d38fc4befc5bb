"""Links that are slow or down for a while, in packets and flows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packet_cases import ENGINES
from selection import examples

import netcosim as nc
from netcosim.config.load import config_from
from netsim.errors import NetcosimError
from netsim.faults import Fault, with_faults
from netsim.routing.deadlock import find_cycle
from netsim.routing.registry import ROUTINGS, routings_for

CONFIG = nc.PacketConfig(packet_bytes=1000, header_bytes=0, buffer_bytes=1 << 20)


def triangle() -> nc.Topology:
    """Routers a, b and c, joined by cables of 1 GB/s and no latency, with a node each."""
    g = nx.Graph([("a", "b"), ("b", "c"), ("a", "c")])
    return nc.Topology.from_networkx(g, link_latency_s=0.0, node_latency_s=0.0)


def sent_s(topology: nc.Topology, engine: str, nodes: list[int], size: int = 1_000_000) -> float:
    """Return the time of one message from the first of these nodes to the second."""
    program = nc.make_pattern("broadcast", 2, size, 1, np.random.default_rng(1))
    traffic = nc.combine([program], [np.array(nodes)])
    routing = nc.make_routing(topology, "min-hop")
    result = ENGINES[engine](routing, traffic, CONFIG, np.random.default_rng(1))
    return float(result.group_finish_ps[0]) / 1e12


@pytest.mark.parametrize("engine", list(ENGINES))
def test_a_message_by_hand(engine: str) -> None:
    """1000 packets of 1 us, whose heads go on at once; each router takes 0.1 us.

    - healthy: 1000 us, and two routers
    - the cable at a quarter: 1000 packets of 4 us
    - the cable down: over c, one router more
    - the sender's link at half: 1000 packets of 2 us
    """
    t = triangle()
    assert sent_s(t, engine, [0, 1]) == pytest.approx(1000.2e-6, abs=1e-12)
    slow = with_faults(t, [Fault(("b", "a"), speed=0.25)])
    assert sent_s(slow, engine, [0, 1]) == pytest.approx(4000.2e-6, abs=1e-12)
    assert sent_s(slow, engine, [0, 2]) == pytest.approx(1000.2e-6, abs=1e-12)
    down = with_faults(t, [Fault(("a", "b"))])
    assert sent_s(down, engine, [0, 1]) == pytest.approx(1000.3e-6, abs=1e-12)
    adapter = with_faults(t, [Fault(("0",), speed=0.5)])
    assert sent_s(adapter, engine, [0, 1]) == pytest.approx(2000.2e-6, abs=1e-12)


def test_flows_see_the_same_speeds() -> None:
    """Of 1 MB over 1 GB/s at a quarter 4 ms; healthy 1 ms."""
    t = triangle()
    for speed, expected_s in ((1.0, 1e-3), (0.25, 4e-3)):
        faulty = with_faults(t, [Fault(("a", "b"), speed=speed)])
        network = nc.SharedNetwork(nc.make_routing(faulty, "min-hop"), CONFIG, 1, "in-order")
        job = nc.PlacedJob(1, nc.Communication("broadcast", 1_000_000), np.arange(2))
        bound_s = nc.Ensemble(network, [job]).flows().bound_s
        assert float(np.max(bound_s)) == pytest.approx(expected_s, rel=1e-3)


def test_the_slowest_of_several_faults_holds() -> None:
    t = triangle()
    first = t.first_router_link
    both = [Fault(("a", "b"), speed=0.25), Fault(("b", "a"), speed=0.5), Fault(("c", "a"), speed=1)]
    assert with_faults(t, both).link_bandwidth_Bps[first : first + 2].tolist() == [250_000_000] * 2
    assert with_faults(t, []) is t
    assert with_faults(t, both[2:]) is t


def test_of_parallel_cables_some() -> None:
    g = nx.MultiGraph([("a", "b")] * 3)
    t = nc.Topology.from_networkx(g)
    one = with_faults(t, [Fault(("a", "b"), cables=1)])
    assert one.down is not None
    assert one.down.sum() == 2
    with pytest.raises(NetcosimError, match="cables = 4; there are 3"):
        with_faults(t, [Fault(("a", "b"), cables=4)])


AVOIDING = ("adaptive-shortest-path", "ecmp", "min-hop", "shortest-path", "spray")


@examples(25)
@given(st.data())
def test_routes_are_those_of_the_network_without_the_links(data: Any) -> None:
    """Links that are down carry nothing; hops, and times of one message, are those without them."""
    g = nx.random_regular_graph(
        3, data.draw(st.sampled_from([4, 6, 8])), seed=data.draw(st.integers(0, 9))
    )
    edges = sorted(tuple(sorted(edge)) for edge in g.edges)
    out = data.draw(st.lists(st.sampled_from(edges), unique=True, max_size=3))
    left = nx.Graph(g)
    left.remove_edges_from(out)
    t = nc.Topology.from_networkx(g)
    faulty = with_faults(t, [Fault((str(a), str(b))) for a, b in out])
    name = data.draw(st.sampled_from(AVOIDING))
    if not nx.is_connected(left):
        with pytest.raises(NetcosimError, match=r"no path from router .* while links are down"):
            nc.make_routing(faulty, name)
        return
    routing = nc.make_routing(faulty, name)
    assert find_cycle(routing) is None
    program = nc.make_pattern("all-to-all", len(g), 3000, 1, np.random.default_rng(1))
    traffic = nc.combine([program], [np.arange(len(g))])
    results = [
        engine(routing, traffic, nc.PacketConfig(), np.random.default_rng(1))
        for engine in ENGINES.values()
    ]
    assert np.array_equal(results[0].rank_finish_ps, results[1].rank_finish_ps)
    assert np.array_equal(results[0].link_bytes, results[1].link_bytes)
    if faulty.down is not None:
        assert not results[1].link_bytes[faulty.down].any()
    hops = dict(nx.all_pairs_shortest_path_length(left))
    packets = sum(hops[a][b] for a in g for b in g) + 2 * len(g) * (len(g) - 1)
    assert results[1].packet_hops == packets * -(-3000 // nc.PacketConfig().packet_bytes)


def test_only_routings_of_any_graph_go_around() -> None:
    assert tuple(sorted(name for name in ROUTINGS if ROUTINGS[name].avoids_down)) == AVOIDING
    t = nc.make_topology("fattree", {"radix": 4})
    down = with_faults(t, [Fault(("0", "8"))])
    for name in routings_for("fattree"):
        if name in AVOIDING:
            nc.make_routing(down, name)
            continue
        with pytest.raises(NetcosimError, match=f"'{name}' does not route around links that are"):
            nc.make_routing(down, name)
    # slow links are no matter of routes
    slow = with_faults(t, [Fault(("0", "8"), speed=0.5)])
    assert nc.make_routing(slow, "d-mod-k").topology is slow


def test_a_spine_that_is_cut_off_is_on_no_path() -> None:
    g = nx.complete_bipartite_graph(2, 2)
    nx.set_node_attributes(g, {0: 2, 1: 2, 2: 0, 3: 0}, "hosts")
    t = nc.Topology.from_networkx(g)
    cut = with_faults(t, [Fault(("0", "2")), Fault(("1", "2"))])
    for name in AVOIDING:
        routing = nc.make_routing(cut, name)
        assert [int(cut.link_dst[h.link]) - t.n_ports for h in routing.choices(0, 2, 0)] == [3]


def test_adapters_of_gpus_leave_the_scale_up_port() -> None:
    t = nc.make_topology("gpu-cluster", {"nodes": 2, "gpus_per_node": 2})
    slow = with_faults(t, [Fault(("1",), speed=0.5)])
    changed = np.flatnonzero(slow.link_bandwidth_Bps != t.link_bandwidth_Bps)
    assert changed.tolist() == [3, t.n_ports + 3]


# In a run


def content(**machine: Any) -> dict[str, Any]:
    return {
        "machine": {"family": "torus", "dims": [8], "routing": "min-hop", **machine},
        "workload": {"synthetic": {"n_jobs": 12, "mean_nodes": 4}, "larger_jobs": "drop"},
        "queue": {"policies": ["baseline", "random"], "run_time_model": "as-logged"},
        "communication": {"together": "always", "mix": [{"pattern": "shift"}]},
        "run": {"snapshots": 6},
    }


def times(config: dict[str, Any]) -> dict[str, np.ndarray]:
    result = nc.run(config, progress=False)
    return {name: measured.time_s for name, measured in result.measured.items()}


def test_snapshots_are_measured_with_the_faults_of_their_time() -> None:
    """The schedule is that of logged times; snapshots before the fault are as without it.

    With all links at a quarter for all the time, times are those of a machine of such links.
    """
    plain = nc.run(content(), progress=False)
    instants = plain.measured["random"].instant_s
    assert instants is not None
    middle_s = float(instants[2] + instants[3]) / 2
    ring = [{"link": [str(i), str((i + 1) % 8)], "speed": 0.25} for i in range(8)]
    always, later = times(content(faults=ring)), [dict(one, from_s=middle_s) for one in ring]
    quarter = times(content(link_bandwidth_Bps=250_000_000))
    told: list[str] = []
    faulty = nc.run_cosim(config_from(content(faults=later)), notice=told.append)
    for name, measured in plain.measured.items():
        before = measured.snapshot < 3
        assert before.any()
        assert not before.all()
        found = faulty.measured[name].time_s
        assert np.array_equal(found[before], measured.time_s[before])
        assert np.array_equal(found[~before], always[name][~before])
        assert np.array_equal(faulty.measured[name].baseline_s, measured.baseline_s)
    assert (always["random"] >= plain.measured["random"].time_s).all()
    assert always["random"].sum() > plain.measured["random"].time_s.sum()
    assert all(np.array_equal(quarter[name], always[name]) for name in always)
    note = "faults of links: of 6 snapshots 3 under baseline, 3 under random have some"
    assert note in told


def test_faults_are_part_of_a_points_content() -> None:
    fault = {"link": ["0", "1"], "speed": 0.5, "from": "1 h", "to": "2 h"}
    config = config_from(content(faults=[fault]))
    assert config_from(config.resolved()) == config
    assert config.machine.faults[0].fault() == Fault(("0", "1"), 0.5, None, 3600.0, 7200.0)
    assert "faults" not in config_from(content()).resolved()["machine"]
    holds = [config.machine.faults[0].fault().holds(t) for t in (3599, 3600, 7199, 7200)]
    assert holds == [False, True, True, False]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"faults": [{"link": ["0", "9"]}]}, "fault on link 0 - 9: no router '9'"),
        ({"faults": [{"link": ["0", "2"]}]}, "has no cable between these two"),
        ({"faults": [{"link": ["0"]}]}, "without it node 0 is cut off; nodes that are out"),
        ({"faults": [{"link": ["n3"], "speed": 0.5}]}, "no node 'n3'"),
        (
            {"faults": [{"link": ["0", "1"]}, {"link": ["1", "2"], "from": "1 h"}]},
            "key machine.faults: torus.* no path from router 0 to router 1 while links are down",
        ),
        ({"faults": [{"link": ["0", "1"], "from": "2 h", "to": "1 h"}]}, "to must be later"),
        ({"faults": [{"link": ["0", "1"], "speed": 1.5}]}, "must be at most 1"),
        ({"faults": [{"link": ["0", "1", "2"]}]}, "at most 2 ends"),
        (
            {"faults": [{"link": ["0", "1"]}], "routing": "dimension-order"},
            "'dimension-order' does not route around links that are down; these do: ",
        ),
    ],
)
def test_faults_that_do_not_fit(more: dict[str, Any], told: str) -> None:
    with pytest.raises(NetcosimError, match=told) as error:
        nc.run(content(**more), progress=False)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith("key machine.faults")


@pytest.mark.parametrize(
    ("section", "told"),
    [
        (
            {"queue": {"policies": ["baseline"], "run_time_model": "coupled-flow"}},
            "has one network for the",
        ),
        ({"run": {"snapshots": 1, "measure": "steady"}}, 'measure = "steady" has one network'),
        ({"run": {"snapshots": 0}}, "nothing reads it: it is read where run.snapshots is above 0"),
    ],
)
def test_where_faults_are_not_read(section: dict[str, Any], told: str) -> None:
    with pytest.raises(NetcosimError, match=told):
        config_from({**content(faults=[{"link": ["0", "1"], "speed": 0.5}]), **section})


def test_isolating_policies_keep_to_links(tmp_path: Path) -> None:
    machine = {"family": "fattree", "radix": 4, "routing": "min-hop"}
    queue = {"policies": ["jigsaw"], "run_time_model": "as-logged"}
    for speed, fits in ((0.5, True), (0.0, False)):
        faults = [{"link": ["0", "8"], "speed": speed}]
        given = {**content(), "machine": {**machine, "faults": faults}, "queue": queue}
        if fits:
            config_from(given)
            continue
        with pytest.raises(NetcosimError, match="policy jigsaw keeps jobs to links, which may be"):
            config_from(given)
