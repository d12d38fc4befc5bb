"""The page on AI clusters has the numbers of its stored tables, and says what is not simulated."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_docs_isolation import TOLD, known

from experiments.papers.ai_clusters.cells import LOGS, designed
from experiments.papers.paper import Options

DOCS = Path(__file__).resolve().parents[1] / "docs"
TABLES = {
    name: pd.read_csv(DOCS / "ai-clusters" / f"{name}.csv") for name in ("costs", "purchases")
}
PAGE = (DOCS / "ai-clusters.md").read_text(encoding="utf-8")
FLAT = " ".join(PAGE.split())
TODAY = {"routing": "ecmp-1", "scheduler": "none", "variant": "usual"}


def rows(name: str, **levels: object) -> pd.DataFrame:
    table = TABLES[name]
    for key, level in levels.items():
        table = table[table[key] == level]
    return table


def interval(row: pd.Series, name: str, digits: int = 1) -> str:
    value, low, high = (f"{row[name + end]:.{digits}f}" for end in ("", "_low", "_high"))
    return f"{value} ({low} .. {high})".replace("-0.0 ", "0.0 ").replace("(-0.0 ", "(0.0 ")


def test_every_interval_is_stored() -> None:
    told = TOLD.findall(PAGE)
    assert len(told) > 40
    zero = re.compile(r"^-(0(?:\.0*)?)$")
    stored = {
        digits: {
            tuple(zero.sub(r"\1", value) for value in row)
            for row in known([*TABLES.values()], digits)
        }
        for digits in range(4)
    }
    assert [t for t in told if t not in stored[len(t[0].partition(".")[2])]] == []


@pytest.mark.parametrize("log", ["kalos", "frontier", "philly"])
def test_the_table_of_costs_is_that_of_its_cells(log: str) -> None:
    digits = 3 if log == "philly" else 1
    placements = ("random",) if log == "philly" else ("random", "slurm-tree", "balanced")
    for placement in placements:
        cells = [
            rows("costs", **{**TODAY, "routing": routing}, log=log, load=0.9, placement=placement,
                 oversubscription=over).iloc[0]
            for routing, over in (*(("ecmp-1", over) for over in (1, 2, 7, 15)), ("spray", 7))
        ]  # fmt: skip
        shown = " | ".join(interval(row, "cost_percent", digits) for row in cells)
        shown = shown.replace("-0.000", "0.000")
        assert f"| {log} | `{placement}` | {shown} |" in PAGE


@pytest.mark.parametrize("purchase", ["placement", "spines", "spraying"])
@pytest.mark.parametrize("log", ["kalos", "frontier"])
def test_the_first_paragraph_is_of_seven_to_one(log: str, purchase: str) -> None:
    at = rows("purchases", **TODAY, log=log, load=0.9, placement="random", oversubscription=7)
    row = at[at["purchase"] == purchase].iloc[0]
    assert interval(row, "off_percent") in FLAT.partition("![")[0]
    assert row["verdict"] == "would pay"
    assert row["first"] == (purchase == "placement")


def test_placement_is_first_wherever_anything_pays_from_random_servers() -> None:
    today = rows("purchases", **TODAY, placement="random")
    first = today[today["first"]]
    assert set(first["purchase"]) == {"placement"}
    large = today[(today["log"] != "philly") & (today["draws"] == 4)]
    paid = large[(large["purchase"] == "placement")]
    assert (paid["verdict"] == "would pay").all()


def test_nothing_pays_on_few_switches_or_on_the_control() -> None:
    few = rows("purchases", **TODAY, placement="slurm-tree")
    assert len(few) > 20
    assert not (few["verdict"] == "would pay").any()
    assert not (rows("purchases", log="philly")["verdict"] == "would pay").any()


def test_packets_and_fluid_are_means_over_gpus() -> None:
    table = pd.read_csv(DOCS / "ai-clusters" / "packets.csv")
    for routing, part in table.groupby("routing"):
        means = [
            100 * np.average(part[k], weights=part["n_nodes"]) - 100 for k in ("packets", "fluid")
        ]
        assert f"`{routing}` {means[0]:.0f} % by packets and {means[1]:.0f} % by fluid" in FLAT

    small = [
        f"{100 * np.average(part['packets_8_MB'], weights=part['n_nodes']) - 100:.0f}"
        for _, part in sorted(table.groupby("routing"), reverse=True)
    ]
    assert f"packets give {small[0]} and {small[1]} %" in FLAT


def test_phases_drawn_again_change_a_draw_so_much() -> None:
    table = pd.read_csv(DOCS / "ai-clusters" / "again.csv")
    off = 100 * (table["again_s"] / table["live_s"] - 1).abs()
    at_random = table["placement"] == "random"
    most, least = off[at_random].max(), off[~at_random].max()
    assert f"by up to {most:.0f} % on random servers and {least:.1f} % otherwise" in FLAT


def test_how_far_the_product_is_from_the_live_cost() -> None:
    costs = TABLES["costs"]
    low = costs["cost_percent"] < 20
    off = (costs["product_percent"] - costs["cost_percent"])[low].abs().max()
    ratio = (100 * costs["product_percent"] / costs["cost_percent"])[~low]
    assert (
        f"In {low.sum()} cells with a live cost below 20 % the product is at most {off:.1f} points "
        f"off. In {(~low).sum()} cells above it is {ratio.min():.0f} to {ratio.max():.0f} % of the "
        f"live cost, in the median {ratio.median():.0f} %"
    ) in FLAT


def test_the_size_of_the_design_and_of_what_is_stored() -> None:
    networks = designed(Options())
    loads = len({network["load"] for network in networks})
    n_points = 4 * len(LOGS) * (len(networks) + loads)
    assert f"{n_points:,} points" in FLAT
    done = TABLES["costs"].query("draws == 4").groupby(["log", "load", *TODAY, "oversubscription"])
    assert f"{done.ngroups} of {len(LOGS) * len(networks)} networks" in FLAT


def test_the_readme_has_one_number_of_the_study() -> None:
    readme = " ".join((DOCS.parent / "README.md").read_text(encoding="utf-8").split())
    at = {"log": "kalos", "load": 0.9, "placement": "random", "purchase": "placement"}
    [row] = rows("purchases", **TODAY, **at, oversubscription=7).to_dict("records")
    value, low, high = (row[f"off_percent{end}"] for end in ("", "_low", "_high"))
    assert f"mean completion by {value:.0f} % (95 % CI {low:.0f} to {high:.0f}) at 7:1" in readme
