"""The benchmark counts what it says it counts; how fast anything is, no test here asks."""

from __future__ import annotations

import inspect
import json
import os
import re
import signal
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.benchmarks import case as case_module
from experiments.benchmarks import memory, packets
from experiments.benchmarks.case import Case, Patience, Reading, measure, read_bench
from experiments.benchmarks.congested import CONGESTED
from experiments.benchmarks.fork import in_fork
from experiments.benchmarks.host import Host
from experiments.benchmarks.kernels_walk import walk
from experiments.benchmarks.packets import Load
from experiments.benchmarks.peers import PACKET_PEERS, PEERS, times_faster
from experiments.benchmarks.registry import CASES, PARTS, chosen
from experiments.benchmarks.table import line, rate_shown, record, report, seconds_shown, summary
from netcosim.cli import main
from netsim.errors import NetcosimError
from netsim.packet.engine import simulate_packets
from netsim.topologies.registry import make_topology

ROOT = Path(__file__).resolve().parents[3]
sys.path.append(str(Path(__file__).resolve().parents[1] / "tables"))

import draw_speed  # noqa: E402


class Clock:
    """A clock that only a round moves on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(case_module.time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(case_module, "_cpu_s", lambda: self.now / 2)

    def case(self, seconds: list[float], amounts: Iterator[float] | None = None) -> Case:
        """A case whose rounds take so long."""
        left = iter(seconds)

        def run() -> Mapping[str, float]:
            self.now += next(left)
            return {"hops": 10.0 if amounts is None else next(amounts), "router hops": 6.0}

        def prepare() -> case_module.Round:
            self.now += 7.0
            return run

        return Case("fake", "size", "a fake", prepare, "hops", True, PACKET_PEERS)


def test_the_first_round_warms_up_and_the_best_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Clock(monkeypatch).case([50.0, 3.0, 2.0, 2.5])
    reading = measure(case, Patience(rounds=3, enough_s=100.0))
    assert reading.wall_s == (3.0, 2.0, 2.5)
    assert reading.cpu_s == (1.5, 1.0, 1.25)
    assert (reading.prepare_s, reading.best_s, reading.spread) == (7.0, 1.0, 0.25)
    assert (reading.rate("hops"), reading.rate("router hops")) == (10.0, 6.0)
    by_wall = replace(reading, clock="wall")
    assert (by_wall.best_s, by_wall.rate("hops")) == (2.0, 5.0)
    assert reading.memory_bytes > 10**7


@pytest.mark.parametrize(
    ("seconds", "rounds"),
    [([1.0, 1.0, 1.0, 1.0, 1.0], 3), ([0.1] * 9, 5), ([9.0, 9.0], 1), ([0.5] * 9, 4)],
)
def test_rounds_end_when_enough_is_known(
    monkeypatch: pytest.MonkeyPatch, seconds: list[float], rounds: int
) -> None:
    """At least three, unless one alone takes longer than is enough; at most five."""
    reading = measure(Clock(monkeypatch).case([0.0, *seconds]), Patience(5, 1.6))
    assert len(reading.wall_s) == rounds


def test_a_case_of_one_round_does_not_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    case = replace(Clock(monkeypatch).case([5.0]), once=True)
    reading = measure(case, Patience(rounds=3, enough_s=100.0))
    assert (reading.wall_s, reading.amounts["hops"]) == ((5.0,), 10.0)


def test_rounds_that_do_not_do_the_same_are_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Clock(monkeypatch).case([1.0] * 5, iter([10.0, 10.0, 11.0]))
    with pytest.raises(NetcosimError, match=r"bench fake: .*10.*then.*11"):
        measure(case, Patience(5, 60.0))


def test_names_parts_and_peers_fit_together() -> None:
    assert len({case.description for case in CASES.values()}) == len(CASES)
    given = {case["name"] for case in read_bench()["cases"]}
    assert {name for name, case in CASES.items() if case.part != "threads"} < given
    assert all(0 < peer.low <= peer.high for peer in PEERS.values())
    for name, case in CASES.items():
        assert name == case.name
        assert inspect.signature(case.prepare.func).bind(**case.prepare.keywords)
        assert case.part in PARTS
        for peer in case.peers:
            assert PEERS[peer].unit in ("hops", "router hops", "flows")
    assert {case.name for case in chosen(False, None)} < set(CASES)
    once = {name for name, case in CASES.items() if case.once}
    assert [case.name for case in chosen(True, None)] == [
        name for name in CASES if name not in once
    ]
    assert {case.name for part in ("first", "scale") for case in chosen(False, part)} == once
    assert {case.part for case in chosen(False, "flows")} == {"flows"}
    assert [case.name for case in chosen(False, "store")] == ["store"]
    assert [case.name for case in chosen(False, "packets-32768")] == ["packets-32768"]
    assert len(chosen(False, "packets-torus-")) == 1
    with pytest.raises(NetcosimError, match="--only sotre: no such measurement; valid: size"):
        chosen(False, "sotre")


def test_a_load_is_what_its_line_says() -> None:
    """Three all-to-all jobs of 4 nodes: 3 x 8 x 7 messages, each sent over its path once."""
    load = Load("dragonfly", {"p": 2, "a": 4, "g": 3}, 3, 4)
    routing, traffic = load.built()
    assert routing.topology.n_nodes == 24
    assert traffic.program.n_messages == 3 * 8 * 7
    nodes = traffic.rank_node.reshape(3, 4, 2)
    assert len(np.unique(nodes)) == 12
    assert np.all(nodes[..., 0] == nodes[..., 1])
    amounts = packets._round(load, simulate_packets)()
    result = simulate_packets(routing, traffic, load.config, np.random.default_rng(1))
    assert amounts["hops"] == result.link_packets.sum()
    assert amounts["router hops"] == result.link_packets[2 * 24 :].sum()
    empty = packets._round(Load("dragonfly", load.parameters, 3, 4, until_s=0.0), simulate_packets)
    assert empty()["hops"] <= 24


@pytest.mark.parametrize("name", [name for name in CONGESTED if not name.startswith("sparse")])
def test_congested_loads_are_near_saturation(name: str) -> None:
    """Packets stall, and more of them above the load at which a link is full."""
    load = replace(CONGESTED[name], duration_s=200e-6)
    stalls = [
        replace(load, loaded=factor * load.loaded).prepare()()["stalls"] for factor in (1.0, 2.0)
    ]
    assert 0 < 1.5 * stalls[0] < stalls[1]


def test_sparse_loads_leave_links_idle() -> None:
    """A tenth of a node's bandwidth, 1,000 bytes a packet, at most five links a packet."""
    load = replace(CONGESTED["sparse-1056"], duration_s=100e-6)
    link_Bps = make_topology(load.family, load.parameters).link_bandwidth_Bps[0]
    packets_sent = 1056 * 0.1 * link_Bps * load.duration_s / 1000
    amounts = load.prepare()()
    assert amounts["stalls"] == 0
    assert 4 < amounts["hops"] / packets_sent < 5


def test_loads_offer_what_their_lines_say() -> None:
    """Half of a node's bandwidth, and three times the load that fills a hot node's link."""
    full, overload = CONGESTED["adversarial-full"], CONGESTED["hotspot-overload"]
    assert full.loaded * full.saturation == 0.5
    assert overload.loaded * overload.saturation * (0.1 * 1458 / 16 + 0.9) == pytest.approx(3)
    assert (overload.family, overload.routing, full.routing) == ("fattree", "d-mod-k", "ugal-l")


def test_machines_are_as_large_as_their_names_say() -> None:
    for nodes in (1056, 8192, 32768):
        sparse = CONGESTED[f"sparse-{nodes}"]
        assert make_topology(sparse.family, sparse.parameters).n_nodes == nodes
    for nodes in (72, 1056, 1458, 4160):
        load = packets.LOADS[str(nodes)]
        topology = make_topology(load.family, load.parameters)
        assert topology.n_nodes == nodes
        assert load.n_jobs * load.job_nodes <= nodes


def test_chains_go_through_every_line_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "BLOCK_BYTES", 64 * 100)
    following = memory.ring()
    at, seen = 0, set()
    for _ in range(100):
        at = int(following[at])
        seen.add(at)
    assert seen == set(range(0, 800, 8))
    assert walk(following, np.array([0, 8]), 100) == 8


def test_a_fork_gives_back_what_came_out() -> None:
    def refused() -> None:
        raise NetcosimError("too large")

    def broken() -> None:
        raise ZeroDivisionError("by zero")

    def killed() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    assert in_fork(lambda: [1, 2]) == [1, 2]
    for function, told in (
        (refused, "bench: too large"),
        (broken, "bench: ZeroDivisionError: by zero"),
        (killed, "killed"),
    ):
        with pytest.raises(NetcosimError, match=told):
            in_fork(function)


def host(load: float, cores: int = 2) -> Host:
    return Host("a processor", cores, 8 * 10**9, load, "3.11", "2.0", "0.60", "Linux x86_64", "1.2")


def test_a_busy_machine_is_told() -> None:
    assert not host(0.5).busy
    assert host(0.7).busy
    assert not host(0.7, 4).busy
    assert "warning: this machine is busy" in host(5.0).lines()[-1]
    assert len(host(0.0).lines()) == 2


def reading(name: str, seconds: float, hops: float) -> Reading:
    amounts = {"hops": hops, "router hops": hops / 2}
    cpu_s = (seconds, 1.5 * seconds)
    return Reading(name, (3 * seconds, 3 * seconds), cpu_s, amounts, 0.5, 2 * 10**8)


def test_table_and_ratios_by_hand() -> None:
    """Six million router hops in two seconds: 3 M a second, 49 to 61 times SST."""
    first = CASES["packets-1056"], reading("packets-1056", 2.0, 12e6)
    assert "6 M hops/s" in line(*first)
    assert "+25 %" in line(*first)
    assert "200 MB" in line(*first)
    [told] = summary([first])
    assert told.startswith("packets-1056: SST 16 49 to 61 x, BookSim2 60 x, CODES 15 x, ns-3")
    pair = [
        (CASES[name], reading(name, s, 1e6))
        for name, s in (("packets-odd", 2.0), ("packets-round", 1.0))
    ]
    assert summary(pair)[-1] == "odd bandwidths against round ones: 0.5 x"
    found = report(host(0.0), [first])
    assert json.loads(json.dumps(found)) == found
    assert times_faster(PEERS["SST 16"], 30_500.0) == "0.5 to 0.62 x"


def test_numbers_are_shown_in_three_digits() -> None:
    assert [rate_shown(x) for x in (9_812_345, 56_900, 12.34, 2.5e9)] == [
        "9.81 M", "56.9 k", "12.3", "2.5 G",
    ]  # fmt: skip
    assert [seconds_shown(x) for x in (12.34, 0.0123, 4.5e-6, 3e-8)] == [
        "12.3 s", "12.3 ms", "4.5 us", "30 ns",
    ]  # fmt: skip


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two small cases instead of all; one of them fails."""

    def broken() -> case_module.Round:
        raise ValueError("no")

    def prepare() -> case_module.Round:
        return packets._round(Load("dragonfly", {"p": 2, "a": 2, "g": 3}, 1, 4), simulate_packets)

    good = Case("good", "size", "a good one", prepare, "hops", True)
    bad = Case("bad", "size", "a bad one", broken, "hops")
    monkeypatch.setattr("experiments.benchmarks.registry.CASES", {"good": good, "bad": bad})
    # all parts, some of which no other test of the default selection calls
    monkeypatch.setattr("netcosim.announce.compile_kernels", list)


@pytest.mark.usefixtures("tiny")
def test_the_command_measures_and_stores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "new" / "speed.json"
    assert main(["bench", "--out", str(target)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^good +[\d.]+ [Mk]? ?hops/s", out, re.M)
    found = json.loads(target.read_text())
    assert found["machine"]["cores"] >= 1
    [stored] = found["readings"]
    assert stored["name"] == "good"
    assert stored["amounts"]["hops"] > stored["amounts"]["router hops"] > 0
    assert len(stored["wall_s"]) == len(stored["cpu_s"]) == 5
    assert main(["bench", "--full"]) == 1
    out = capsys.readouterr().out
    assert "bad: bench: ValueError: no" in out
    assert "good" in out


def test_mistakes_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, told in (
        (["--out", str(tmp_path)], "cannot be written: a folder; name a regular file"),
        (["--only", "nothing"], "--only nothing: no such measurement"),
        (["--quick", "--full"], "not allowed with"),
    ):
        assert main(["bench", *arguments]) == 2
        err = capsys.readouterr().err
        assert told in err
        assert err.startswith("netcosim: error: ")


# The page


def test_the_page_stands_on_the_stored_readings() -> None:
    """Every number of the tables of docs/speed.md is of the stored file."""
    page = draw_speed.PAGE.read_text(encoding="utf-8")
    assert draw_speed.with_tables(page, draw_speed.stored()) == page
    assert (ROOT / "docs" / "images" / "speed.png").exists()


def test_page_and_readme_have_one_range() -> None:
    """At about a thousand nodes."""
    page, readme = (p.read_text(encoding="utf-8") for p in (draw_speed.PAGE, draw_speed.README))
    [told] = draw_speed.RANGE.findall(page)
    assert draw_speed.RANGE.findall(readme) == [told]


def test_every_measurement_that_is_stored_is_shown() -> None:
    """A machine with other cores has other numbers of threads; the rest is what there is."""
    found = {r["name"]: r for r in draw_speed.stored()["readings"]}
    assert {case.name for case in chosen(False, None)} < set(found)
    known = {name: case for name, case in CASES.items() if case.part != "threads"}
    page = draw_speed.PAGE.read_text(encoding="utf-8")
    for name, stored in found.items():
        assert f"(`{name}`" in page
        assert stored["part"] == "threads" or stored["unit"] == known[name].unit
    assert {name for r in found.values() for name in r["peers"]} == set(PEERS)


def test_readings_are_stored_as_they_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All but the long ones, those left after an interruption, then one by its name."""
    rounds: list[str] = []

    def case(name: str, part: str) -> Case:
        def run() -> Mapping[str, float]:
            rounds.append(name)
            if (name, len(rounds)) == ("second", 2):
                raise KeyboardInterrupt
            return {"hops": 1.0}

        return Case(name, part, f"the {name}", lambda: run, "hops", once=True)

    cases = {name: case(name, part) for name, part in (("first", "size"), ("second", "size"))}
    cases["long"] = case("long", "scale")
    monkeypatch.setattr(draw_speed, "CASES", cases)
    monkeypatch.setattr("experiments.benchmarks.registry.CASES", cases)
    monkeypatch.setattr(draw_speed, "compile_kernels", lambda: None)
    monkeypatch.setattr(draw_speed, "in_fork", lambda function: function())
    monkeypatch.setattr(draw_speed, "this_host", lambda: host(1.0))
    monkeypatch.setattr(draw_speed, "now", lambda: f"2026-11-2{len(rounds)}T12:00:00")
    monkeypatch.setattr(draw_speed, "STORED", tmp_path / "speed.json")
    draw_speed.STORED.write_text('{"machine": {}, "readings": [{"name": "gone"}]}')
    with pytest.raises(KeyboardInterrupt):
        draw_speed.measured((), False)
    assert [r["name"] for r in draw_speed.stored()["readings"]] == ["first"]
    assert [r["name"] for r in draw_speed.measured((), True)["readings"]] == ["first", "second"]
    found = draw_speed.measured(["long"], False)
    assert found == draw_speed.stored()
    assert rounds == ["first", "second", "second", "long"]
    assert [r["measured"][:10] for r in found["readings"]] == [
        f"2026-11-2{day}" for day in (1, 3, 4)
    ]
    assert draw_speed.machine(found, "")[0].startswith("netcosim 1.2, 2026-11-20; a processor, 2 c")
    assert "| the long (`long`; netcosim 1.2, 2026-11-24) |" in draw_speed.rows(found, "scale")[-1]


def test_the_figures_numbers_by_hand() -> None:
    one = Reading("memory-1", (9.0,), (2.0, 1.0, 3.0), {"lines": 12e6}, 0.5, 0)
    found = {"machine": {}, "readings": [record(CASES["memory-1"], one)]}
    assert draw_speed.roof_of(found) == {1: 12e6 / draw_speed.COLD_LINES}
    assert "| 12 M lines/s | +100 % | 0 MB |" in draw_speed.rows(found, "memory")[2]
    assert "83.3 ns" in draw_speed.roof(found, "")[-1]
