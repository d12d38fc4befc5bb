"""What is estimated before it is built or sent, against what is then built and sent."""

from __future__ import annotations

import resource
import sys
from types import ModuleType

import numpy as np
import pytest
from hostile.row import config_text

from cosim.measuring import cost
from cosim.measuring.cost import (
    PacketCounts,
    estimate_line,
    flow_level_line,
    flow_level_s,
    mean_hops,
    node_pairs,
)
from cosim.network.communication import Communication
from netcosim.config.config import Config
from netcosim.config.load import config_from, parse_toml
from netcosim.runs.cosim import run_cosim
from netcosim.runs.run_context import check_snapshots
from netsim import limits
from netsim.errors import NetcosimError
from netsim.packet.checks import MAX_PACKET_HOPS
from netsim.routing.registry import make_routing
from netsim.topologies.registry import FAMILIES, make_topology
from patterns.registry import make_pattern

EXACT = [
    ("dragonfly", {"p": 2, "a": 4, "g": 9}),
    ("dragonfly", {"p": 1, "a": 3, "g": 2, "h": 4}),
    ("dragonfly", {"p": 4, "a": 96, "g": 3, "h": 2, "group": "aries"}),
    ("dragonfly-plus", {"p": 2, "leaves": 4, "spines": 3, "g": 9}),
    ("dragonfly-plus", {"p": 1, "leaves": 2, "spines": 4, "g": 3, "h": 3}),
    ("fattree", {"radix": 8}),
    ("fattree", {"radix": 8, "pods": 3, "taper": 0.5}),
    ("fattree", {"radix": 6, "levels": 2}),
    ("torus", {"dims": [4, 3, 5], "concentration": 2}),
    ("hyperx", {"dims": [3, 4, 2], "concentration": 3}),
    ("hypercube", {"dimension": 6}),
]
AT_LEAST = [
    ("torus", {"dims": [4, 3], "wrap": False}),
    ("torus", {"dims": [2, 1, 6]}),
    ("slimfly", {"q": 5}),
    ("slimfly", {"q": 7}),
]


def builders_module(family: str) -> ModuleType:
    return sys.modules[FAMILIES[family].builders[0].__module__]


SMALL = [(name, params) for name, family in FAMILIES.items() for params in family.small]


@pytest.mark.parametrize(("family", "params"), [*EXACT, *AT_LEAST, *SMALL])
def test_sizes_are_those_of_the_network(
    family: str, params: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(builders_module(family), "need_size", lambda *of: told.append(of[2:]))
    built = make_topology(family, params)
    [(nodes, links)] = told
    assert nodes == built.n_nodes
    assert links >= built.n_links
    if (family, params) in EXACT:
        assert links == built.n_links
    else:
        assert links < 2 * built.n_links


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - {"ibnetdiscover"}))
def test_every_family_refuses_what_is_too_large(family: str) -> None:
    """But a file that lists each cable: no machine is larger than what its file says."""
    module = builders_module(family)
    assert hasattr(module, "need_size"), (
        f"{module.__name__}: call netsim.topologies.checks.need_size(where, given, n_nodes, "
        "n_links) before anything is allocated"
    )


def test_memory_is_what_the_machine_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "memory_bytes", lambda: 10**9)
    limits.need_memory("key x: 1", 10**9)
    with pytest.raises(NetcosimError, match=r"^key x: 1: about 2\.0 GB of memory .* 1\.0 GB$"):
        limits.need_memory("key x: 1", 2 * 10**9)
    with pytest.raises(NetcosimError, match=r"torus: .* about 12 GB"):
        # 8.4 million nodes, each with two links of its own and four to others, 250 bytes a link
        make_topology("torus", {"dims": [2900, 2900]})
    monkeypatch.undo()
    assert 10**8 < limits.memory_bytes() < 10**15
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    monkeypatch.setattr(limits.resource, "getrlimit", lambda which: (12345, hard))
    assert limits.memory_bytes() == 12345


def test_huge_numbers_are_shown_by_their_power() -> None:
    assert limits.shown(1234567) == "1,234,567"
    assert limits.shown(10**30) == "about 10^30"
    assert limits.shown(-(10**30)) == "-about 10^30"
    # int to text of more than 4300 digits is an error in Python
    assert limits.shown(10**9000) == "about 10^9000"


@pytest.mark.parametrize("pattern", ["all-to-all", "halo3d26", "allreduce-ring", "pairs"])
@pytest.mark.parametrize("n_ranks", [100, 216, 512])
def test_packets_of_a_job_are_counted_or_carried_on(pattern: str, n_ranks: int) -> None:
    """Up to 128 ranks exact; beyond by the growth, which no pattern misses by a third."""
    communication = Communication(pattern, 10_000, 3)
    found = PacketCounts(2048).of(0, communication, n_ranks)
    program = make_pattern(pattern, n_ranks, 10_000, 3, np.random.default_rng(0))
    exact = int(np.sum(-(-program.send_bytes // 2048)))
    assert found == pytest.approx(exact, rel=1e-12 if n_ranks <= 128 else 0.34)


def test_mean_hops_of_a_full_mesh() -> None:
    """Each pair of different routers one link apart, and a link in and one out."""
    routing = make_routing(make_topology("hyperx", {"dims": [64]}))
    assert mean_hops(routing) == pytest.approx(2 + 63 / 64, abs=0.06)


def small(**changes: str) -> Config:
    from pathlib import Path

    text = config_text({key.replace("__", "."): value for key, value in changes.items()})
    return config_from(parse_toml(text, Path("c.toml")))


def test_hops_of_a_campaign_against_those_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a quarter: the ways of sampled pairs, and the jobs alone, are all that is guessed."""
    told: list[float] = []

    def keep(hops: float, n_snapshots: int) -> None:
        told.append(hops)

    monkeypatch.setattr("netcosim.runs.run_context.estimate_line", keep)
    config = small(
        run__snapshots="20", workload__synthetic__n_jobs="100", mix__message_bytes="50000"
    )
    result = run_cosim(config)
    sent = sum(m.packet_hops for m in result.measured.values())
    assert told[0] == pytest.approx(sent, rel=0.25)


def test_long_runs_are_announced_and_endless_ones_refused() -> None:
    assert estimate_line(5e8, 10) is None  # 50 s
    assert estimate_line(1.08e11, 48) == (
        "about 3 h of packet simulation ahead: 48 snapshots, 1.1e+11 packet hops"
    )
    with pytest.raises(NetcosimError, match=r"message_bytes or iterations"):
        estimate_line(1.01 * MAX_PACKET_HOPS, 48)
    with pytest.raises(NetcosimError, match=r"key run.snapshots: 100,001; at most 100,000"):
        check_snapshots(100_001, 2, 100)
    with pytest.raises(NetcosimError, match=r"key run.snapshots: 100,000 under 10 policies"):
        check_snapshots(100_000, 10, 10**9)


def test_the_announcement_comes_before_the_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    monkeypatch.setattr(cost, "LONG_S", 0.0)
    run_cosim(
        small(),
        lambda what, share: events.append(what),
        lambda line: events.append(f"notice {line}"),
    )
    place = next(i for i, event in enumerate(events) if event.startswith("notice about"))
    assert events[place - 1].startswith("queue")
    assert events[place + 1].startswith("packets")


@pytest.mark.parametrize(("pattern", "n", "pairs"), [("all-to-all", 40, 1560), ("pairs", 10, 10)])
def test_pairs_of_small_jobs_are_counted(pattern: str, n: int, pairs: int) -> None:
    assert node_pairs(Communication(pattern), n) == pairs


def test_pairs_of_large_jobs_are_carried_on() -> None:
    """n (n - 1) grows a little faster than n squared from 64 to 128; halos linearly, about."""
    assert node_pairs(Communication("all-to-all"), 2000) == pytest.approx(2000 * 1999, rel=0.04)
    assert node_pairs(Communication("pairs"), 2000) == 2000


def test_the_flow_level_of_large_jobs_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    """300 jobs of 1000 nodes in all-to-all on a torus: 999,000 pairs of 2.9 us each, 14 minutes."""
    routing = make_routing(make_topology("torus", {"dims": [10, 10, 10]}), "minimal-adaptive")
    jobs = (np.zeros(300, np.int64), np.full(300, 1000, np.int32))
    seconds, longest = flow_level_s(routing, [Communication("all-to-all")], *jobs)
    told = flow_level_line(2 * seconds, longest)
    assert told is not None
    assert told.startswith("about 29 min at flow level ahead")
    assert flow_level_line(*flow_level_s(routing, [Communication("pairs")], *jobs)) is None
    monkeypatch.setattr(limits, "memory_bytes", lambda: 10**8)
    with pytest.raises(NetcosimError, match="all-to-all of a job of 1,000 nodes at flow level"):
        flow_level_s(routing, [Communication("all-to-all")], *jobs)
