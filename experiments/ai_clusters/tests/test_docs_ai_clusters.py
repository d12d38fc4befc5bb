"""The page on AI clusters has the numbers of its stored tables, and says what is not simulated."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from page_intervals import TOLD, known

from experiments.ai_clusters import cells
from netcosim.reproduce.paper import Options

STUDY = Path(__file__).resolve().parents[1]
TABLES = {name: pd.read_csv(STUDY / "tables" / f"{name}.csv") for name in ("costs", "purchases")}
PAGE = (STUDY / "README.md").read_text(encoding="utf-8")
FLAT = " ".join(PAGE.split())
TODAY = {"routing": "ecmp-1", "scheduler": "none", "variant": "usual"}
AT = {"load": 0.9, "oversubscription": 7}
LOGS = [log.name for log in cells.LOGS]
PLACEMENTS = ("random", "slurm-tree", "baseline", "hived", "segment", "balanced")
VARIANTS = {
    "ranks by number": "ranks by number of the server",
    "gradients only": "gradients only",
    "experts on 512 GPUs": "experts on up to 512 GPUs",
    "a third of the communication": "a third of the communication",
    "16 servers a leaf": "16 servers a segment",
}
ZERO = re.compile(r"-(0(?:\.0*)?)(?![\d.])")


def rows(name: str, **levels: object) -> pd.DataFrame:
    table = TABLES[name]
    for key, level in levels.items():
        table = table[table[key] == level]
    return table


def interval(row: pd.Series, name: str, digits: int | None = None) -> str:
    """Whole percents from 10 on."""
    digits = int(abs(row[name]) < 9.95) if digits is None else digits
    value, low, high = (f"{row[name + end]:.{digits}f}" for end in ("", "_low", "_high"))
    return ZERO.sub(r"\1", f"{value} ({low} .. {high})")


def one(name: str, **levels: object) -> pd.Series:
    [row] = [row for _, row in rows(name, **{**TODAY, **AT, **levels}).iterrows()]
    return row


def test_every_interval_is_stored() -> None:
    told = TOLD.findall(PAGE)
    assert len(told) > 100
    stored = {
        digits: {
            tuple(ZERO.sub(r"\1", value) for value in row)
            for row in known([*TABLES.values()], digits)
        }
        for digits in range(4)
    }
    assert [t for t in told if t not in stored[len(t[0].partition(".")[2])]] == []


@pytest.mark.parametrize("log", LOGS)
def test_the_table_of_costs_is_that_of_its_cells(log: str) -> None:
    digits = 3 if log == "philly" else None
    for placement in ("random",) if log == "philly" else PLACEMENTS:
        shown = " | ".join(
            interval(
                one("costs", log=log, placement=placement, routing=routing, oversubscription=over),
                "cost_percent",
                digits,
            )
            for routing, over in (*(("ecmp-1", over) for over in (1, 2, 7, 15)), ("spray", 7))
        )
        assert f"| {log} | `{placement}` | {shown} |" in PAGE


@pytest.mark.parametrize(
    ("title", "purchase", "routing"),
    [
        ("placement (`slurm-tree`)", "placement", "ecmp-1"),
        ("spines (1:1)", "spines", "ecmp-1"),
        ("spraying", "spraying", "ecmp-1"),
        ("ranks by server", "rank order", "ecmp-1"),
        ("pinned paths", "pinned paths", "ecmp-1"),
        ("16 queue pairs", "16 queue pairs", "ecmp-1"),
        ("4 queue pairs", "4 queue pairs", "ecmp-1"),
        ("`crux` on pinned paths", "crux", "pinned"),
        ("`cassini` on pinned paths", "cassini", "pinned"),
    ],
)
def test_the_table_of_purchases_is_that_of_its_cells(
    title: str, purchase: str, routing: str
) -> None:
    shown = []
    for placement, load in (("random", 0.9), ("random", 0.7), ("slurm-tree", 0.9)):
        for log in ("kalos", "frontier"):
            found = rows(
                "purchases", **{**TODAY, "routing": routing}, log=log, load=load,
                placement=placement, oversubscription=7, purchase=purchase,
            )  # fmt: skip
            shown.append(" ".join(interval(row, "off_percent") for _, row in found.iterrows()))
    assert f"| {title} | {' | '.join(shown)} |" in PAGE


@pytest.mark.parametrize("variant", [*VARIANTS])
def test_the_table_of_attacks_is_that_of_its_cells(variant: str) -> None:
    shown = " | ".join(
        interval(one("costs", log=log, placement=placement, variant=variant), "cost_percent")
        for log in ("kalos", "frontier")
        for placement in ("random", "slurm-tree", "hived")
    )
    assert f"| {VARIANTS[variant]} | {shown} |" in PAGE


@pytest.mark.parametrize("purchase", ["placement", "spines", "spraying"])
@pytest.mark.parametrize("log", ["kalos", "frontier"])
def test_the_first_paragraph_is_of_seven_to_one(log: str, purchase: str) -> None:
    row = one("purchases", log=log, placement="random", purchase=purchase)
    assert interval(row, "off_percent") in FLAT.partition("![")[0]
    assert row["verdict"] == "would pay"
    assert row["first"] == (purchase == "placement")


def test_placement_is_first_or_at_one_to_one_level_with_spraying() -> None:
    today = rows("purchases", **TODAY, placement="random")
    paid = today[(today["purchase"] == "placement") & (today["verdict"] == "would pay")]
    cell = ["log", "load", "oversubscription"]
    assert set(map(tuple, paid[cell].to_numpy())) == {
        (log, load, over)
        for log in ("kalos", "frontier")
        for load in (0.95, 0.9, 0.8, 0.7, 0.5)
        for over in (1, 2, 7, 15)
    }
    others = today[today["first"] & (today["purchase"] != "placement")]
    assert set(others["oversubscription"]) <= {1}
    both = others.merge(paid, on=cell)
    assert set(both["purchase_x"]) <= {"spraying"}
    assert (both["off_percent_x"] - both["off_percent_y"]).max() < 2


def test_what_pays_on_few_switches_and_that_nothing_does_on_the_control() -> None:
    few = rows("purchases", **TODAY, placement="slurm-tree")
    bought = few[few["purchase"].isin(("spines", "spraying")) & (few["log"] != "philly")]
    paid = bought["verdict"] == "would pay"
    assert f"significantly in {paid.sum()} of the {len(bought)} squares" in FLAT
    most = bought[bought["log"] == "frontier"]["off_percent"].max()
    assert f"they gain at most {most:.1f} % in the mean" in FLAT
    kalos = few[(few["log"] == "kalos") & (few["oversubscription"] >= 7)]
    gain = kalos[kalos["purchase"].isin(("spines", "spraying"))]["off_percent"]
    assert FLAT.count(f"from 7:1 on {gain.min():.0f} to {gain.max():.0f} %") == 2
    gain = kalos[kalos["purchase"] == "hived"]["off_percent"]
    assert f"there `hived` gains {gain.min():.0f} to {gain.max():.0f} % over" in FLAT
    cost = rows("costs", scheduler="none", variant="usual", placement="hived")["cost_percent"]
    assert f"contention then costs at most {cost.max():.1f} %" in FLAT
    assert not (rows("purchases", log="philly")["verdict"] == "would pay").any()


def test_network_schedulers_are_not_shown_to_gain() -> None:
    found = TABLES["purchases"]
    found = found[found["purchase"].isin(("crux", "cassini"))]
    assert not (found["verdict"] == "would pay").any()
    assert f"in none of {len(found)} cells" in FLAT


@pytest.mark.parametrize("log", ["kalos", "frontier"])
def test_placement_gains_at_all_loads(log: str) -> None:
    found = rows("purchases", **TODAY, log=log, placement="random", oversubscription=7)
    found = found[found["purchase"] == "placement"]
    assert set(found["load"]) == {0.5, 0.7, 0.8, 0.9, 0.95}
    gain = found["off_percent"]
    assert f"by {gain.min():.0f} to {gain.max():.0f} % on" in FLAT


def test_packets_and_fluid_are_means_over_gpus() -> None:
    table = pd.read_csv(STUDY / "tables" / "packets.csv")
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


def test_more_periods_change_single_draws_and_hardly_their_mean() -> None:
    table = pd.read_csv(STUDY / "tables" / "again.csv")
    off = np.log(table["live_50_s"] / table["live_s"])
    at_random = table["placement"] == "random"
    means = [100 * off[part].mean() for part in (at_random, ~at_random)]
    most = [100 * np.expm1(off[part].abs().max()) for part in (at_random, ~at_random)]
    assert f"by {means[0]:.1f} % on random servers and {means[1]:.1f} % on others" in FLAT
    assert f"single draws by up to {most[0]:.0f} and {most[1]:.0f} %" in FLAT


def test_how_far_the_product_is_from_the_live_cost() -> None:
    costs = TABLES["costs"]
    low = costs["cost_percent"] < 20
    off = (costs["product_percent"] - costs["cost_percent"])[low].abs().max()
    least, most, product = (
        costs[name].round(4)
        for name in ("cost_percent_low", "cost_percent_high", "product_percent")
    )
    inside = ((least <= product) & (product <= most)).sum()
    assert f"of the live cost in {inside} of {len(costs):,} cells" in FLAT
    ratio = (100 * costs["product_percent"] / costs["cost_percent"])[~low]
    assert (
        f"In {low.sum()} cells with a live cost below 20 % the product is at most {off:.1f} points "
        f"off. In {(~low).sum()} cells above it is {ratio.min():.0f} to {ratio.max():.0f} % of the "
        f"live cost, in the median {ratio.median():.0f} %"
    ) in FLAT


def test_the_entire_design_is_stored() -> None:
    networks, draws = cells.designed(Options()), cells.STUDY["draws"]
    queues = {(network["log"], network["load"]) for network in networks}
    assert f"{draws * (len(networks) + len(queues)):,} points" in FLAT
    costs = TABLES["costs"]
    assert set(costs["draws"]) == {draws}
    assert len(costs) == len(PLACEMENTS) * len(networks)
    assert set(map(tuple, costs[list(cells.FACTORS)].to_numpy().tolist())) == {
        tuple(network[name] for name in cells.FACTORS) for network in networks
    }


def test_the_readme_has_one_number_of_the_study() -> None:
    readme = " ".join((STUDY.parents[1] / "README.md").read_text(encoding="utf-8").split())
    at = {"log": "kalos", "load": 0.9, "placement": "random", "purchase": "placement"}
    [row] = rows("purchases", **TODAY, **at, oversubscription=7).to_dict("records")
    value, low, high = (row[f"off_percent{end}"] for end in ("", "_low", "_high"))
    assert f"mean completion by {value:.0f} % (95 % CI {low:.0f} to {high:.0f}) at 7:1" in readme
