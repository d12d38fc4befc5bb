"""``netcosim curve``: closed forms, BookSim2's shape, convergence, the store, and mistakes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from study_configs import CURVE

from experiments.curve.adaptive import loads_between
from experiments.curve.config import CurveSection, curve_from
from experiments.curve.output import summary
from experiments.curve.point import _state, curve_point
from experiments.kit.offered import lone_time_ps
from experiments.kit.open_loop import matrix_destinations, open_loop
from netcosim.cli import main
from netsim.errors import NetcosimError
from netsim.packet.model import PacketConfig
from netsim.routing.registry import make_routing
from netsim.topologies.torus import torus
from netsim.units import short_name

DRAGONFLY = {"family": "dragonfly", "p": 2, "a": 4, "g": 9}


def rows(machine: dict[str, Any], **curve: Any) -> pd.DataFrame:
    config = curve_from({"machine": machine, "curve": curve})
    return pd.DataFrame([row for p in config.points() for row in curve_point(p)["curve"]])


def test_alone_a_message_takes_wires_routers_and_its_own_length() -> None:
    """To the next node of a ring: three links, two routers."""
    found = rows({"family": "torus", "dims": [8]}, traffic="shift", loads=[0.1])
    routing = make_routing(torus((8,)))
    one_s = lone_time_ps(routing, PacketConfig(), 3) * 1e-12
    alone = found[found["load"] == 0].iloc[0]
    assert (alone["latency_mean_s"], alone["latency_p99_s"]) == pytest.approx((one_s, one_s))
    assert alone["messages"] == 8


@pytest.mark.parametrize(
    ("machine", "traffic", "limit"),
    [
        (DRAGONFLY | {"routing": "minimal"}, "adversarial", 1 / 8),  # 1 / (a p)
        (DRAGONFLY | {"routing": "valiant"}, "adversarial", 7 / 16),  # (g - 2) / (2 a p)
        ({"family": "torus", "dims": [8, 8]}, "tornado", 1 / 3),  # three hops one way
        ({"family": "hyperx", "dims": [1], "concentration": 8}, "permutation", 1.0),
    ],
)
def test_saturation_is_where_theory_has_it(
    machine: dict[str, Any], traffic: str, limit: float
) -> None:
    loads = sorted({0.8 * limit, limit})
    packet = {"buffer_bytes": 64 * 2048}
    found = rows(machine | {"packet": packet}, traffic=traffic, loads=loads, doublings=0)
    states = dict(zip(found["load"], found["state"], strict=True))
    assert states[0.8 * limit] != "saturated"
    most = found["accepted"].max()
    assert 0.9 * limit < most < 1.03 * limit


def test_booksims_torus_has_the_same_shape() -> None:
    """8 flits of 8 bytes, a cycle (1 ns) a wire and a router: BookSim2's 21 and 28 cycles."""
    cycle = dict.fromkeys(("node_latency_s", "link_latency_s"), 1e-09)
    speed = dict.fromkeys(("node_bandwidth_Bps", "link_bandwidth_Bps"), 8 * 10**9)
    packet = {"packet_bytes": 64, "buffer_bytes": 64 * 64, "router_latency_s": 1e-9}
    machine = {"family": "torus", "dims": [8, 8], "packet": packet, **cycle, **speed}
    found = rows(machine, traffic="uniform", loads=[0.1, 0.3])
    cycles = dict(zip(found["load"], found["latency_mean_s"] * 1e9, strict=True))
    assert cycles[0.1] == pytest.approx(21, rel=0.1)
    assert cycles[0.3] == pytest.approx(28, rel=0.1)


def test_a_window_whose_halves_differ_is_doubled() -> None:
    """Without a warm-up latencies climb; the window grows until they have settled."""
    given: dict[str, Any] = {"loads": [0.7], "warm_up_s": 4e-6, "window_s": 200e-6}
    found = {n: rows(DRAGONFLY, tolerance=0.05, doublings=n, **given).iloc[1] for n in (0, 6)}
    assert found[0]["window_s"] == 200e-6
    assert found[0]["state"] != "steady"
    assert found[6]["window_s"] > 200e-6
    assert found[6]["warm_up_s"] / found[6]["window_s"] == pytest.approx(0.02)
    assert found[6]["state"] == "steady"
    assert abs(found[6]["drift"]) <= 0.05 < abs(found[0]["drift"])


@pytest.mark.parametrize(
    ("accepted", "unfinished", "drift", "state"),
    [
        *((0.5, 0.0, drift, "steady") for drift in (0.0, 0.05, -0.05)),
        *((0.5, 0.0, drift, "unsettled") for drift in (0.051, -0.051)),
        (0.4, 0.0, 0.0, "saturated"),
        (0.5, 0.1, 0.0, "saturated"),
    ],
)
def test_a_load_is_steady_if_it_is_accepted_and_its_halves_agree(
    accepted: float, unfinished: float, drift: float, state: str
) -> None:
    got: Any = SimpleNamespace(offered=0.5, accepted=accepted, unfinished=unfinished, drift=drift)
    assert _state(got, 0.05) == state


def test_links_of_a_ring_are_busy_as_their_neighbours_send() -> None:
    """A shift by one uses the links of one direction alone, each as long as its node's load.

    1000-byte packets with 100 bytes of header: at a load of 0.5 a link sends 0.55 of the time.
    """
    machine = {
        "family": "torus",
        "dims": [8],
        "packet": {"packet_bytes": 1000, "header_bytes": 100},
    }
    config = curve_from({"machine": machine, "curve": {"traffic": "shift", "loads": [0.5]}})
    alone, point = (curve_point(one) for one in config.points())
    assert "links" not in alone
    there, back = point["links"]
    assert (there["kind"], there["links"], back["links"], back["most"]) == ("d0+", 8, 8, 0.0)
    assert [there[name] for name in ("least", "most")] == pytest.approx([0.55, 0.55], rel=0.08)


def test_messages_go_as_a_matrix_says(tmp_path: Path) -> None:
    table = np.array([[0, 3, 1], [0, 0, 0], [2, 0, 0.0]])
    rng = np.random.default_rng(1)
    src = np.repeat([0, 2], 20_000)
    dst = matrix_destinations(table)(src, rng)
    assert np.bincount(dst[:20_000], minlength=3) / 20_000 == pytest.approx(
        [0, 0.75, 0.25], abs=0.02
    )
    assert set(dst[20_000:].tolist()) == {0}
    for process in ("poisson", "periodic"):
        rates = np.array([4e6, 0.0, 2e6])
        program = open_loop(3, matrix_destinations(table), 100, rates, 0.01, rng, process)
        sent = np.bincount(program.send_src(), minlength=3)
        assert sent == pytest.approx([400, 0, 200], rel=0.15)
    (tmp_path / "m.csv").write_text("0,3,1\n0,0,0\n2,0,0\n")
    found = rows(
        {"family": "hyperx", "dims": [1], "concentration": 5},
        traffic="matrix",
        file=str(tmp_path / "m.csv"),
        loads=[0.5],
    )
    loaded = found.iloc[1]
    # of what all nodes would send if each were the busiest
    assert (loaded["offered"], loaded["accepted"]) == pytest.approx((0.5, 0.5), abs=0.05)
    assert loaded["state"] == "steady"


def test_a_curve_is_told_in_a_line() -> None:
    names = ["routing", "traffic", "load", "latency_mean_s", "accepted", "state"]
    points = [("r", "t", 0.0, 1e-6, 0.0, "alone"), ("r", "t", 0.1, 2e-6, 0.1, "steady")]
    points += [("r", "t", 0.2, 3e-6, 0.15, "saturated"), ("r", "t", 0.3, 3e-6, 0.29, "steady")]
    frame = pd.DataFrame(points, columns=names)
    assert summary(frame).iloc[0].tolist() == ["r", "t", 1e-6, 0.1, 0.2, 0.29]
    assert summary(frame.iloc[:2])["steady_to"].tolist() == [0.1]
    assert np.isnan(summary(frame.iloc[:2])["saturates_at"].iloc[0])
    assert summary(frame.iloc[[0, 2]])["steady_to"].tolist() == [0.0]


def test_the_command_leaves_tables_and_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(CURVE)
    assert main(["curve", "c.toml", "--quiet"]) == 0
    lines = capsys.readouterr().out.splitlines()
    first, *lines = lines
    lines = [line for line in lines if not line.startswith("  ")]
    assert first.startswith("Use ")
    page = Path("curve-c/report.html").read_text(encoding="utf-8")
    [sentence] = re.findall(r'<p class="sentence">(.*?)</p>', page)
    assert re.sub("<[^>]+>", "", sentence).replace("\u00a0", " ") == first
    assert [line.split()[:2] for line in lines[1:4]] == [
        ["routing", "traffic"],
        ["minimal", "uniform-random"],
        ["valiant", "uniform-random"],
    ]
    assert lines[4].startswith("bisection 2 GB/s each way")
    assert "6 points computed, 0 were stored" in lines[5]
    first = Path("curve-c/curve.csv").read_bytes()
    frame = pd.read_csv("curve-c/curve.csv")
    assert frame["load"].tolist() == [0.0, 0.2, 0.6] * 2
    assert Path("curve-c/curve.png").read_bytes()[:4] == b"\x89PNG"
    links = pd.read_csv("curve-c/links.csv")
    assert links["load"].tolist() == [0.2] * 2 + [0.6] * 2 + [0.2] * 2 + [0.6] * 2
    assert (links["least"] <= links["median"]).all()
    assert (links["most"] <= 1).all()
    assert "Load of links." in page
    assert not list(Path("curve-c").glob(".*part"))
    # another load computes what is new
    Path("c.toml").write_text(CURVE.replace("0.6]", "0.6, 0.7]"))
    assert main(["curve", "c.toml", "--quiet", "--format", "svg"]) == 0
    assert "<svg" in Path("curve-c/curve.svg").read_text()
    assert "2 points computed, 6 were stored" in capsys.readouterr().out
    assert first.splitlines()[:4] == Path("curve-c/curve.csv").read_bytes().splitlines()[:4]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[0.2, 0.6]", "[0.2, 1.5]", "key curve.loads.1: 1.5; must be at most 1"),
        ("[0.2, 0.6]", "[0.2, 0.2]", "one is listed twice"),
        ("[0.2, 0.6]", "[]", "key curve.loads"),
        ('["minimal", "valiant"]', '["minimal", "ugly"]', "unknown routing for dragonfly 'ugly'"),
        ("[curve]", '[curve]\ntraffic = "rush"', "unknown traffic 'rush'"),
        ("[curve]", '[curve]\ntraffic = "matrix"', "traffic matrix needs a file"),
        ("[curve]", '[curve]\nfile = "c.toml"', "file is for a matrix"),
        ("[curve]", "[curve]\nparameters = { offset = 2 }", "unknown parameter of uniform-random"),
        ("[curve]", '[curve]\nwindow = "0 s"', "warm_up and window must be above 0"),
        ("[curve]", "[curve]\nspeed = 3", "key curve.speed: unknown key"),
        ("[curve]", '[curve]\ntraffic = "tornado"\nparameters = { grid = [2, 2] }', "product 6"),
        ("g = 3", 'g = 3\nrouting = "minimal"', "routing is set in [machine] and routings in"),
        ("seed = 5", "seed = -5", "key run.seed"),
        ("[machine]", "[machines]", "key machine: missing; a curve is of a machine"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(
    old: str,
    new: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(CURVE.replace(old, new))
    assert main(["curve", "c.toml", "--quiet"]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["c.toml"]


def test_nodes_with_unlike_links_have_no_common_load() -> None:
    from dataclasses import replace

    from experiments.curve.point import node_bandwidth

    topology = torus((4,))
    speeds = topology.link_bandwidth_Bps.copy()
    speeds[1] *= 2
    with pytest.raises(NetcosimError, match="a curve needs the same for all"):
        node_bandwidth(replace(topology, link_bandwidth_Bps=speeds))


# Loads that the command chooses


def curve_rows(latencies: dict[float, float], saturated: Sequence[float]) -> pd.DataFrame:
    rows = [
        {
            "routing": "minimal",
            "traffic": "uniform",
            "load": load,
            "state": "alone" if not load else "saturated" if load in saturated else "steady",
            "latency_mean_s": latency,
        }
        for load, latency in latencies.items()
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("latencies", "saturated", "expected"),
    [
        ({0: 1, 0.1: 1, 0.4: 1.2, 0.7: 1.4}, (), []),  # flat
        ({0: 1, 0.1: 1, 0.4: 1.5, 0.7: 1.6}, (), [0.25]),
        ({0: 1, 0.1: 1, 0.4: 1.1, 0.7: 9, 1: 99}, (0.7, 1), [0.55]),  # nothing above saturation
        ({0: 1, 0.1: 9, 0.4: 99}, (0.1, 0.4), []),
        ({0: 1, 0.5: 1, 0.52: 9}, (0.52,), []),  # near enough
    ],
)
def test_loads_are_added_where_a_curve_is_steep(
    latencies: dict[float, float], saturated: Sequence[float], expected: list[float]
) -> None:
    found = loads_between(curve_rows(latencies, saturated))
    assert [load for _, _, load in found] == pytest.approx(expected)


@pytest.mark.usefixtures("undrawn")
def test_adaptive_loads_find_saturation_with_few_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Adversarial traffic between groups of two nodes with one link saturates at 1/2 (minimal)."""
    monkeypatch.chdir(tmp_path)
    text = CURVE.replace('"minimal", "valiant"', '"minimal"')
    Path("c.toml").write_text(text.replace("[curve]", '[curve]\ntraffic = "adversarial"'))
    command = ["curve", "c.toml", "--quiet", "--adaptive"]
    assert main(command) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    frame = pd.read_csv("curve-c/curve.csv")
    assert f"{len(frame)} points computed, 0 were stored" in line
    loaded = frame[frame["state"] != "alone"].sort_values("load")
    assert len(loaded) <= 14
    first = int(np.argmax(loaded["state"] != "steady"))
    low, high = loaded["load"].iloc[first - 1 : first + 1]
    assert 0.4 < low < high <= 0.525
    assert high - low <= 0.025
    # all of them are stored, and the same loads are chosen again
    assert main(command) == 0
    assert f"0 points computed, {len(frame)} were stored" in capsys.readouterr().out


def test_loads_of_the_command_line_and_a_dry_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(CURVE)
    assert main(["curve", "c.toml", "--loads", "0.1,0.3,0.5", "--dry-run"]) == 0
    plan = capsys.readouterr().out.splitlines()
    assert plan[0] == "8 points, 0 stored, 8 to compute"
    assert plan[1].startswith("estimate: ")
    assert not Path("curve-c/curve.db").exists()
    for options, expected in [
        (("--loads", "0.2,2"), "key curve.loads.1: 2.0; must be at most 1"),
        (("--loads", "x"), "--loads x; must be numbers, 0.1,0.5"),
        (("--loads", "0.2", "--adaptive"), "not allowed with argument --loads"),
        (("--adaptive", "--collective", "all-reduce"), "are for latencies, not for --collective"),
    ]:
        assert main(["curve", "c.toml", *options]) == 2
        assert expected in capsys.readouterr().err


@pytest.mark.usefixtures("undrawn")
def test_a_stopped_curve_is_drawn_as_far_as_it_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(CURVE)
    assert main(["curve", "c.toml", "--quiet", "--loads", "0.2"]) == 0
    Path("curve-c/curve.png").unlink()
    capsys.readouterr()

    def stopped(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("experiments.kit.results.compute_points", stopped)
    assert main(["curve", "c.toml", "--quiet"]) == 130
    out, err = capsys.readouterr()
    assert "4 of 6 points are stored; page: curve-c/report.html; figure: curve-c/curve.png" in out
    assert "what was computed is stored, the same command goes on from there" in err
    assert Path("curve-c/curve.png").exists()


def test_the_page_on_curves_has_every_key() -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "curve.md"
    rows = re.findall(r"^\| (`\w+`.*?) \|", page.read_text(encoding="utf-8"), re.M)
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(named) == sorted(map(short_name, CurveSection.model_fields))
