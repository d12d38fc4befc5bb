"""`netcosim validate`: quick groups hold here and now, and what is broken is noticed."""

from __future__ import annotations

import csv
import importlib.util
import json
import math
from dataclasses import fields, replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.validation import booksim, closed_forms, engines, flows, merlin, shapes
from experiments.validation.cases import random_case
from experiments.validation.page import lead_of, lines_of, sections_of, write_validation
from experiments.validation.registry import GROUPS, chosen_groups
from experiments.validation.row import (
    COLUMNS,
    Curve,
    Measured,
    Row,
    Setting,
    as_text,
    at_least,
    at_most,
    exact,
    within,
)
from netcosim.cli import main
from netcosim.config.content import checked_config
from netsim.errors import NetcosimError
from netsim.packet.model import PacketConfig
from netsim.packet.presets import packet_preset
from netsim.topologies.registry import FAMILIES

STUDY = Path(__file__).resolve().parents[1]
ROOT, TABLES = STUDY.parents[1], STUDY / "tables"
QUICK = Setting(scale="quick")
OWN = [group for group in GROUPS.values() if not group.peer]


@pytest.fixture(scope="module")
def measured() -> dict[str, Measured]:
    return {group.name: group.measure(QUICK) for group in OWN}


@pytest.mark.full
@pytest.mark.parametrize("name", [group.name for group in OWN])
def test_every_row_holds(measured: dict[str, Measured], name: str) -> None:
    rows = measured[name].rows
    assert rows
    assert [as_text(name, row) for row in rows if row.verdict == "fails"] == []


@pytest.mark.full
def test_the_page_has_the_rows_that_are_measured(measured: dict[str, Measured]) -> None:
    """The stored table was made at full scale, with both peers."""
    with (TABLES / "validation.csv").open(encoding="utf-8") as file:
        stored = list(csv.DictReader(file))
    assert {row["verdict"] for row in stored} <= {"holds"}
    own = {(row["group"], row["what"]) for row in stored if not GROUPS[row["group"]].peer}
    now = {(name, row.what) for name, m in measured.items() for row in m.rows}
    assert now <= own
    assert {what for _, what in own - now if "4 x 68" not in what} == set()
    assert {row["group"] for row in stored} == set(GROUPS)
    spec = importlib.util.spec_from_file_location("draw", TABLES / "draw_validation.py")
    assert spec is not None
    assert spec.loader is not None
    draw = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(draw)
    page = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    assert draw.with_tables(page, stored) == page


def test_job_times_of_merlin_cover_speeds_placements_and_routings() -> None:
    """Links that differ are what rows of equal links cannot see."""
    cases = merlin.job_times()
    found = {
        (case.placement, case.global_Bps, case.routing)
        for case in cases
        if (case.workload, case.pattern) == ("4 x 68", "all-to-all")
    }
    unlike = (250 * 10**6, 4 * 10**9)
    assert found >= set(product(("grouped", "scattered"), unlike, ("minimal", "ugal")))
    assert found >= set(product(("grouped", "scattered"), (250 * 10**6,), ("valiant",)))
    nodes = merlin.nodes_of(next(case for case in cases if case.placement == "scattered"))
    assert sorted(nodes) == list(range(272))
    assert (nodes != np.arange(272)).any()


# What is broken is noticed


def test_booksims_runs_have_seeds_and_only_real_differences() -> None:
    """What is excused from 4 % is off by more at full scale, what is not holds."""
    runs = pd.read_csv(STUDY / booksim.RUNS, keep_default_na=False)
    assert set(runs["network"]) == set(booksim.NETWORKS)
    assert set(runs["difference"]) == {"", *booksim.DIFFERENCES}
    keys = [name for name in runs if name not in {"seed", "value"}]
    by_row = runs.groupby(keys, sort=False)
    defaults = runs["switch"].str.startswith("islip")
    assert set(runs[defaults].groupby(keys)["seed"].agg(list).map(tuple)) == {(1, 2, 3)}
    with (TABLES / "validation.csv").open(encoding="utf-8") as file:
        stored = [row for row in csv.DictReader(file) if row["group"] == "booksim"]
    assert len({row["what"] for row in stored}) == len(stored) == len(by_row)
    for row, (key, values) in zip(stored, by_row["value"], strict=True):
        assert float(row["expected"]) == pytest.approx(values.mean())
        off = abs(float(row["simulated"]) / float(row["expected"]) - 1)
        assert (off > booksim.CLOSE) == bool(key[keys.index("difference")]), row["what"]


def test_an_engine_that_errs_by_a_picosecond_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    right = engines.simulate_packets

    def wrong(*args, **options):
        result = right(*args, **options)
        return replace(result, end_ps=result.end_ps + 1)

    monkeypatch.setattr(engines, "simulate_packets", wrong)
    rows = engines.measure(replace(QUICK, cases=1)).rows
    assert len(rows) == len(FAMILIES)
    assert {row.verdict for row in rows} == {"fails"}


def test_a_slow_packet_fails_every_closed_form(monkeypatch: pytest.MonkeyPatch) -> None:
    right = closed_forms.simulate_packets

    def wrong(*args, **options):
        result = right(*args, **options)
        return replace(result, message_finish_ps=result.message_finish_ps + 1)

    monkeypatch.setattr(closed_forms, "simulate_packets", wrong)
    assert closed_forms._long_message(QUICK).verdict == "fails"
    assert closed_forms._permutation(QUICK).verdict == "fails"


def test_a_switch_that_waits_a_tenth_longer_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    right = shapes.mean_wait
    monkeypatch.setattr(shapes, "mean_wait", lambda *args: 1.1 * right(*args))
    assert "fails" in {row.verdict for row in shapes.measure(QUICK).rows}


def test_flows_that_ignore_their_weights_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    right = flows.flow_finish_times
    monkeypatch.setattr(flows, "flow_finish_times", lambda *args, flow_weight=None: right(*args))
    assert flows._plain(QUICK, weighted=False).verdict == "holds"
    assert flows._plain(QUICK, weighted=True).verdict == "fails"


def test_the_command_ends_with_1_if_a_row_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["validate", "--scale", "quick", "--only", "flows", "--out", str(tmp_path / "v")]
    assert main(command) == 0
    assert "flows  12 of 12 rows hold" in capsys.readouterr().out
    right = flows.max_min_rates
    monkeypatch.setattr(flows, "max_min_rates", lambda *a, **k: 1.01 * right(*a, **k))
    assert main(command) == 1
    told = capsys.readouterr().out
    assert "fails: flows: parking lot: a flow over 9 links" in told
    assert "5.05, expected 5 (by hand)" in told


# Rows


@pytest.mark.parametrize(
    ("row", "verdict", "allowed"),
    [
        (exact("a", 3, 3, "ps", ""), "holds", "0"),
        (exact("a", 3, 4, "ps", ""), "fails", "0"),
        (exact("a", 3, math.nan, "ps", ""), "fails", "0"),
        (within("a", 10, 11, "", "", share=0.1), "holds", "9 to 11"),
        (within("a", 10, 8.9, "", "", share=0.1), "fails", "9 to 11"),
        (within("a", -10, -10.5, "", "", share=0.1), "holds", "-11 to -9"),
        (at_least("a", 0.9, 0.95, "", ""), "holds", "at least 0.9"),
        (at_least("a", 0.9, 0.85, "", ""), "fails", "at least 0.9"),
        (at_most("a", 0.9, 0.95, "", ""), "fails", "at most 0.9"),
    ],
)
def test_verdicts(row: Row, verdict: str, allowed: str) -> None:
    assert (row.verdict, row.allowed) == (verdict, allowed)


def test_files_have_all_rows_and_the_page_has_a_figure(tmp_path: Path) -> None:
    rows = [exact("one, two", 1, 1, "ps", "by hand"), at_most("three", 2.5, 2, "us", "a book")]
    curves = [
        Curve("waits", "simulated", [0.1, 0.5], [1, 2]),
        Curve("waits", "theirs", [0.1, 0.5], [1, 2], published=True),
    ]
    found = {"first": Measured(rows, curves), "second": Measured([at_least("x", 1, 2, "", "")])}
    written = write_validation(tmp_path / "new", found, {"--seed": 1})
    assert [path.name for path in written] == [
        "validation.html", "validation.csv", "validation.json", "curves.svg",
    ]  # fmt: skip
    with written[1].open(encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    records = json.loads(written[2].read_text(encoding="utf-8"))
    assert list(table[0]) == list(records[0]) == list(COLUMNS)
    assert [row["what"] for row in table] == ["one, two", "three", "x"]
    assert records[1]["difference"] == -0.5
    page = written[0].read_text(encoding="utf-8")
    assert "3 of 3 rows hold" in page
    assert "<svg " in page
    assert [section.title for section in sections_of(found)] == ["Rows", "Curves"]
    assert lead_of(found) == "3 of 3 rows hold; all measured here and now."
    seconds = {"first": 1.0, "second": 0.5}
    assert lines_of(found, seconds) == [
        "first   2 of 2 rows hold, 1.0 s",
        "second  1 of 1 rows hold, 0.5 s",
    ]
    broken = {"first": Measured([exact("a", 1, 2, "", "by hand"), *rows])}
    assert lines_of(broken, seconds)[0] == "first  2 of 3 rows hold, 1 fails, 1.0 s"


def test_groups_by_name() -> None:
    assert chosen_groups(None, []) == OWN
    assert [group.name for group in chosen_groups(None, ["shapes", "engines"])] == [
        "engines", "shapes",
    ]  # fmt: skip
    assert [group.name for group in chosen_groups("ns3", [])] == ["ns3"]
    for peer, only, told in (
        ("opnet", [], "opnet"), (None, ["shape"], "shapes"), (None, ["ns3"], "ns3"),
        ("ns3", ["flows"], "--only"),
    ):  # fmt: skip
        with pytest.raises(NetcosimError, match=told):
            chosen_groups(peer, only)


# Cases


def test_a_config_takes_the_packets_of_a_preset_and_changes_them() -> None:
    raw = {
        "machine": {"family": "dragonfly", "p": 2, "a": 2, "g": 5},
        "workload": {"synthetic": {"n_jobs": 2, "mean_nodes": 2}},
        "queue": {"policies": ["simple"], "run_time_model": "as-logged"},
        "run": {"snapshots": 0},
    }

    def packet(given: dict[str, object]) -> PacketConfig:
        config = checked_config({**raw, "machine": {**raw["machine"], "packet": given}})
        return PacketConfig(**config.machine.packet.model_dump())

    assert packet({"preset": "merlin"}) == packet_preset("merlin")
    slow = packet({"preset": "merlin", "router_latency": "1 us"})
    assert slow == replace(packet_preset("merlin"), router_latency_s=1e-6)
    for bad in ("marlin", 3):
        with pytest.raises(NetcosimError, match=r"machine\.packet: unknown packet preset .*merlin"):
            packet({"preset": bad})


def test_every_key_of_the_packets_is_drawn() -> None:
    """`with_router` draws the keys of the router and the delivery, `with_allocation` two more."""
    drawn = [random_case(np.random.default_rng(k), "fattree").config for k in range(60)]
    for field in fields(PacketConfig):
        assert len({getattr(config, field.name) for config in drawn}) > 1, field.name


def test_cases_differ_and_come_again() -> None:
    drawn = [random_case(np.random.default_rng((3, k)), "dragonfly") for k in range(12)]
    assert len({case.routing.name for case in drawn}) > 2
    assert len({case.routing.topology.name for case in drawn}) > 2
    assert len({case.config for case in drawn}) > 8
    again = random_case(np.random.default_rng((3, 5)), "dragonfly")
    assert again.config == drawn[5].config
    np.testing.assert_array_equal(again.traffic.rank_node, drawn[5].traffic.rank_node)
