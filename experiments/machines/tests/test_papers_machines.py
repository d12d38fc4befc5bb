"""Machines of today: descriptions that load, medians by hand, placements of a small machine."""

from __future__ import annotations

import csv
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.kit.data import read_data
from experiments.kit.papers import Options
from experiments.machines import controls, day, rows, scatter
from experiments.machines.match.machine import load_match, match_from
from experiments.machines.match.rows import Row
from experiments.machines.paper import PAPER
from netsim.errors import NetcosimError
from netsim.inputs import input_file

FOLDER = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("NETCOSIM_SHARED", FOLDER.parents[2] / "shared"))
needs_rows = pytest.mark.skipif(
    not (SHARED / "inputs" / "measured").is_dir(), reason="shared/inputs/measured is missing"
)


@pytest.mark.parametrize("name", read_data("machines")["machines"])
def test_each_machine_is_described_and_routed(name: str) -> None:
    text = (FOLDER / "machines" / f"{name}.toml").read_text("utf-8")
    assert "Assumed" in text
    machine, described = load_match(FOLDER / "machines" / f"{name}.toml")
    assert machine.routing.topology.n_nodes >= 8
    if read_data("machines")["machines"][name].get("fit", True):
        _, fitted = load_match(FOLDER / "fitted" / f"{name}.toml")
        assert len(fitted["match"].pop("fitted")) >= 1
        assert len(fitted["machine"]) >= len(described["machine"])


def test_without_measured_rows_nothing_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NETCOSIM_SHARED", raising=False)
    for options in (Options(), Options(settings={"shared": str(tmp_path)})):
        with pytest.raises(NetcosimError, match=r"no folder inputs/measured .*nothing was"):
            PAPER.check(options)


def test_medians_leave_out_what_was_fitted_and_what_a_library_chose() -> None:
    """Ratios 0.5 and 1.1 of large rows, 2.0 of a small one; three rows do not count.

    The second and third are held out, and the first that was fitted on.
    """
    lines = [
        (1 << 20, 0.5, "", False),
        (1 << 16, 1.1, "", False),
        (1 << 10, 2.0, "", False),
        (1 << 20, 9.0, "NIC bandwidth", False),
        (1 << 20, 9.0, "", True),
        (1 << 20, float("nan"), "", False),
    ]
    frame = pd.DataFrame(lines, columns=["bytes", "ratio", "fitted", "library"])
    frame = frame.assign(machine="m", held_out=[False, True, True, True, False, False])
    [line] = rows.summarise(frame).to_dict("records")
    assert (line["held_out"], line["within_held_out_percent"]) == (2, 50)
    counts = (line["rows"], line["fitted"], line["not_simulated"], line["judged"])
    assert counts == (6, 1, 1, 3)
    assert line["median_large"] == pytest.approx(0.8)
    assert line["within_large_percent"] == 50
    assert (line["median_small"], line["within_small_percent"]) == (2.0, 0)


def test_rows_that_send_nothing_are_left_out() -> None:
    """8 integers are not dealt over 32 ranks; an all-reduce has them on each."""

    def row(test: str) -> Row:
        return Row(test, "ring_ompi", 32, 32, 32, "median", 1.0, "us")

    assert not rows._is_sent(row("ALLGATHER"))
    assert rows._is_sent(row("ALLREDUCE"))


def test_half_of_the_rows_are_held_out() -> None:
    """By what a row states, not by its file; every other one, about."""
    many = [Row("osu_bw", "", k, 2, 2, "mean", 1.0, "MB/s", f"a:{k}") for k in range(400)]
    held = [rows.is_held_out(row) for row in many]
    assert 160 < sum(held) < 240
    assert held == [rows.is_held_out(replace(row, where="b")) for row in many]


def content(policy: str, path: Path) -> dict[str, Any]:
    return {
        "name": "m",
        "policy": policy,
        "file": input_file(path),
        "groups": "groups",
        "leaves": "leaves",
        "where": {"partition": "G"},
        "family": "dragonfly",
        "parameters": {"p": 2, "a": 2, "g": 4, "h": 2},
        "seed": 1,
    }


def test_spans_are_over_the_fewest_possible(tmp_path: Path) -> None:
    """Groups of 4 nodes, switches of 2: a job of 6 nodes needs 2 groups and 3 switches."""
    path = tmp_path / "jobs.csv"
    path.write_text("partition,nodes,groups,leaves\nG,6,4,6\nC,4,1,1\nG,2,1,2\n")
    site = scatter.point(content("site", path))["jobs"]
    assert [(j["groups_over_fewest"], j["leaves_over_fewest"]) for j in site] == [(2, 2), (1, 2)]
    packed = scatter.point(content("baseline", path))["jobs"]
    assert [(j["groups_over_fewest"], j["leaves_over_fewest"]) for j in packed] == [(1, 1), (1, 1)]


def test_the_nearest_policy_is_the_least_factor_off() -> None:
    """Site 2 and 4; a policy with 1 and 2 is half of it, one with 4 and 4 off by sqrt(2)."""
    jobs = [
        {"machine": "m", "policy": policy, "nodes": nodes, "groups_over_fewest": value,
         "leaves_over_fewest": None}
        for policy, values in (("site", (2.0, 4.0)), ("a", (1.0, 2.0)), ("b", (4.0, 4.0)))
        for nodes, value in zip((4, 8), values, strict=True)
    ]  # fmt: skip
    found = scatter.analyse({"jobs": pd.DataFrame(jobs)}, Options()).tables["nearest"]
    assert found["policy"].tolist() == ["b", "a"]
    assert found["groups_factor_off"].tolist() == pytest.approx([2**0.5, 2.0])


def test_each_network_of_the_controls_has_room_for_the_load_test() -> None:
    points = controls.points(Options())
    assert {one["control"] for one in points} == {"credits", "endpoint-pairs", "dcqcn"}
    for one in points[::3]:
        nodes = match_from({"machine": one["machine"]}).topology.n_nodes
        assert nodes >= 5 * one["testing"] - 3


@pytest.mark.parametrize("design", ["incasts", "jobs"])
def test_loads_by_day_are_shares_of_a_node(design: str) -> None:
    """At a load of 0.5 each root is sent 0.5 * 10.2 GB/s * 0.2 s = 1.02 GB; the pair sends none."""
    machine, _ = load_match(FOLDER / "machines" / "piz-daint.toml")
    how = read_data("machines")["day"][design]
    programs = day.loads(machine, 0.5, how, np.random.default_rng(1))
    assert len(programs) == how.get("jobs", 1)
    for program, nodes in programs:
        assert program.total_bytes == pytest.approx(1.02e9, rel=0.1)
        assert not {0, 1, 84} & set(nodes.tolist())
        sends = program.send_dst.reshape(len(program.send_dst) // (len(nodes) - 1), -1)
        assert design == "incasts" or not sends.any()
    if design == "incasts":
        steps = program.send_ptr[program.step_ptr[:64]]
        at_once = program.send_dst[steps]
        assert (at_once == at_once[0]).all()
        assert at_once[0] >= 64


def test_controls_are_side_by_side() -> None:
    """An impact of 40 without control, 1.6 with it: above 1.5 in the mean, below 3 at the 99 %."""
    lines = [
        {"network": "n", "control": control, "test": "lat", "statistic": name, "impact": impact}
        for control, impact in (("credits", 40.0), ("endpoint-pairs", 1.6))
        for name in ("mean", "p99")
    ]
    found = controls.analyse({"impacts": pd.DataFrame(lines)}, Options())
    assert found.tables["controls"]["credits"].tolist() == [40.0, 40.0]
    assert found.tables["controls"]["endpoint-pairs"].tolist() == [1.6, 1.6]
    assert found.claims["verdict"].tolist() == ["differs", "holds"]


def table(name: str) -> list[dict[str, str]]:
    with (FOLDER / "tables" / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_page_has_the_stored_medians() -> None:
    page = (FOLDER / "README.md").read_text("utf-8")
    for line in table("summary"):
        cells = [
            f"{float(line[key]):.2f}" if line[key] else ""
            for key in ("median_large", "median_small")
        ]
        assert f"| {line['machine']} | {line['judged']} | {cells[0]} | {cells[1]} |" in page
    for line in table("controls"):
        if line["test"] == "lat":
            cells = [f"{float(line[one]):.3g}" for one in ("credits", "endpoint-pairs", "dcqcn")]
            assert f"| {line['network']}, {line['statistic']} | {' | '.join(cells)} |" in page
    for line in table("day"):
        if (line["pair"], line["when"], line["bytes"]) == ("same rack", "day", "16777216"):
            assert f"{float(line['simulated_us']):.0f}" in page
    for line in table("nearest"):
        if line["policy"] in ("longest-idle", "random"):
            assert f"{float(line['groups_over_fewest']):.2f}" in page


@pytest.mark.shared
@needs_rows
def test_lumi_is_as_stored() -> None:
    """The stored medians of the smallest machine are computed again."""
    options = Options(scale="quick", settings={"shared": str(SHARED)})
    [lumi] = [one for one in rows.points(options) if one["name"] == "lumi"]
    frame = pd.DataFrame(rows.point(lumi)["rows"]).fillna({"fitted": ""})
    [line] = rows.summarise(frame).to_dict("records")
    [stored] = [one for one in table("summary") if one["machine"] == "lumi"]
    for key in ("median_large", "median_small"):
        assert line[key] == pytest.approx(float(stored[key]), rel=0.02)
