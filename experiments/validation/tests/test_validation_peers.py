"""Other simulators: what they are asked, how answers are judged, and what is said without them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.validation import ns3, simgrid
from experiments.validation.ns3 import on_one_channel
from experiments.validation.peer import Peer
from experiments.validation.posted import posted_messages
from experiments.validation.registry import GROUPS
from experiments.validation.row import Setting
from netsim.errors import NetcosimError
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PacketConfig
from netsim.routing.registry import make_routing
from netsim.topologies.dragonfly import dragonfly
from netsim.topologies.fattree import fat_tree
from netsim.topologies.torus import torus

QUICK = Setting(scale="quick")
ECHO = Peer("Echo", "json", "json.tool", "it comes with Python")


def test_a_peer_is_asked_and_answers_in_json() -> None:
    assert ECHO.ask("words") == "words"


@pytest.mark.parametrize(
    ("peer", "python", "told"),
    [
        (replace(ECHO, package="no_such_package"), "", "no Python here has it; it comes"),
        (replace(ECHO, package="no_such_package"), "python3", "python3 has it not"),
        (ECHO, "/no/such/python", "/no/such/python has it not"),
        (replace(ECHO, script="no_such_script"), "", "ended with status 1: .*no_such_script"),
        (replace(ECHO, script="this"), "", "not JSON"),
    ],
)
def test_a_peer_that_is_not_here_or_fails_is_told_in_a_line(
    peer: Peer, python: str, told: str
) -> None:
    with pytest.raises(NetcosimError, match=told) as caught:
        peer.ask("words", python)
    assert "\n" not in str(caught.value)


def answer_of(flows: ns3.Flows) -> dict[str, object]:
    """What ns-3 would answer if it agreed: our own engine's ends."""
    seen: list[np.ndarray] = []

    def keep(*args: object, **options: object) -> object:
        result = simulate_packets(*args, **options)  # type: ignore[arg-type]
        seen.append(result.message_finish_ps)
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ns3, "simulate_packets", keep)
        ns3.compared(flows, {"end_ns": [0] * len(flows.src), "lost": 0})
    return {"end_ns": (seen[0] / 1000).tolist(), "lost": 0}


def test_one_flow_that_ends_a_nanosecond_later_there_fails() -> None:
    flows = ns3.random_flows(2, QUICK)
    answer = answer_of(flows)
    assert ns3.compared(flows, answer).verdict == "holds"
    answer["end_ns"][7] += 1  # type: ignore[index]
    row = ns3.compared(flows, answer)
    assert (row.verdict, row.simulated) == ("fails", 1.0)
    assert "1 flows differ" in row.note


def test_ns3_is_asked_for_the_ways_that_our_packets_go() -> None:
    flows = ns3.random_flows(2, QUICK)
    asked, topology = ns3.question_of(flows), flows.routing.topology
    assert len(asked["cables"]) * 2 == topology.n_links
    for number, flow in enumerate(asked["flows"]):
        assert flow["way"][0] == flows.src[number]
        assert flow["way"][-1] == flows.dst[number]
        ends = [set(asked["cables"][cable]) for cable in flow["cables"]]
        assert ends == [set(pair) for pair in zip(flow["way"], flow["way"][1:], strict=False)]


def test_posted_messages_keep_their_times_and_numbers() -> None:
    src, dst = np.array([0, 0, 2]), np.array([1, 3, 3])
    start_s = np.array([1e-6, 4e-6, 2e-6])
    routing = make_routing(fat_tree(4))
    traffic = posted_messages(routing.topology.n_nodes, src, dst, [10, 20, 30], start_s)
    result = simulate_packets(routing, traffic, PacketConfig(), np.random.default_rng(1))
    assert result.message_post_ps.tolist() == [1_000_000, 4_000_000, 2_000_000]
    assert traffic.program.send_bytes.tolist() == [10, 20, 30]


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: dragonfly(2, 4, 9), "minimal"),
        (lambda: torus((5, 3)), "dimension-order"),
        (lambda: fat_tree(4), "d-mod-k"),
    ],
)
def test_one_channel_keeps_the_ways(make: Callable[[], object], name: str) -> None:
    routing = make_routing(make(), name)  # type: ignore[arg-type]
    one = on_one_channel(routing)
    assert one.n_vcs == 1
    n = routing.topology.n_nodes
    for src, dst in np.random.default_rng(1).integers(0, n, (200, 2)).tolist():
        if src != dst:
            assert ns3.links_of(one, src, dst) == ns3.links_of(routing, src, dst)
    src = np.arange(n)
    traffic = posted_messages(n, src, (src + n // 2) % n, 5000, np.zeros(n))
    ran = simulate_packets(one, traffic, PacketConfig(), np.random.default_rng(1))
    assert (ran.message_finish_ps > 0).all()


def test_one_channel_is_refused_where_ways_are_chosen() -> None:
    with pytest.raises(NetcosimError, match="valiant"):
        on_one_channel(make_routing(dragonfly(2, 4, 9), "valiant"))
    with pytest.raises(NetcosimError, match="dimension-order"):
        on_one_channel(make_routing(torus((4, 4)), "dimension-order"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ns3", "simgrid"])
def test_the_peer_agrees(name: str) -> None:
    """Where its package is installed."""
    peer = {"ns3": ns3.PEER, "simgrid": simgrid.PEER}[name]
    try:
        peer.interpreter("")
    except NetcosimError as error:
        pytest.skip(str(error))
    assert {row.verdict for row in GROUPS[name].measure(QUICK).rows} == {"holds"}


def test_scripts_of_peers_import_nothing_of_ours() -> None:
    for peer in (ns3.PEER, simgrid.PEER):
        path = Path(__file__).resolve().parents[3] / f"{peer.script.replace('.', '/')}.py"
        lines = path.read_text(encoding="utf-8").splitlines()
        imports = [line for line in lines if line.startswith(("from ", "import "))]
        assert not [line for line in imports if "netcosim" in line or "netsim" in line]
