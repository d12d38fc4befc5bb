"""The verdict's page and the README say what the stored tables hold."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from experiments.papers.isolation.cases import LOGS, SENSITIVITY
from queuesim.speedup_file import read_speedups

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "docs" / "isolation"
PAGE = (ROOT / "docs" / "isolation.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
ORDERS = {"lowest free first": "", "tree rule": "slurm-tree", "random (`random`": "random"}
KEYS = ["order", "ranks_per_node", "length", "duty", "policy", "nodes"]


def off() -> pd.DataFrame:
    return pd.read_csv(STORED / "sensitivity.csv").set_index(KEYS).sort_index()


def makespans() -> pd.Series[float]:
    table = pd.read_csv(STORED / "sensitivity-queues.csv")
    return table.set_index("run_times")["makespan_s_ratio"]


def case(order: str, ranks: int, length: int) -> str:
    """Name of the case in which jobs communicate 30 % of the time."""
    found = [
        c.name
        for c in SENSITIVITY
        if (c.order, c.ranks_per_node, c.length, c.duty) == (order, ranks, length, 0.3)
    ]
    [name] = found
    return name


def cells(text: str, first: str) -> list[str]:
    """Cells of the table row that begins so."""
    [line] = [row for row in text.splitlines() if row.startswith(f"| {first}")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def rows() -> list[tuple[str, str, int]]:
    return [*((text, order, 1) for text, order in ORDERS.items()), ("random, 4 ranks", "random", 4)]


@pytest.mark.parametrize(("text", "order", "ranks"), rows())
def test_the_first_table(text: str, order: str, ranks: int) -> None:
    table, ratios = off(), makespans()
    _, short, long, short_ratio, long_ratio = cells(PAGE, text)
    for length, told, ratio in ((1, short, short_ratio), (8, long, long_ratio)):
        if not told:
            assert ranks == 4
            continue
        row = table.loc[(order or "baseline", ranks, length, 0.3, "jigsaw", "all")]
        assert told == f"{row['taken_off']:.1f} ({row['low']:.1f} .. {row['high']:.1f})"
        assert ratio == f"{ratios[case(order, ranks, length)]:.3f}"


def test_what_is_measured_in_the_table_of_conclusions() -> None:
    table = off()["taken_off"]

    def told(duty: float, policy: str, length: int = 1) -> str:
        orders = ("baseline", "slurm-tree", "random")
        return ", ".join(f"{table[(o, 1, length, duty, policy, 'all')]:.1f}" for o in orders)

    [always] = re.findall(r"for the three node orders \(TA ([\d., ]+)\)", PAGE)
    assert always == told(1.0, "ta")
    assert f"Jigsaw {told(1.0, 'jigsaw')} % for the three node orders" in PAGE
    large = [table[("random", 1, n, 0.3, "jigsaw", "129-512")] for n in (1, 8)]
    small = [table[("random", 1, n, 0.3, "jigsaw", "2-8")] for n in (1, 8)]
    assert f"{large[0]:.1f} % off with 5 repeats, {large[1]:.1f} % with 40" in PAGE
    assert f"those of 2 to 8 nodes: {small[0]:.1f} and {small[1]:.1f} %" in PAGE
    first, longer = told(0.3, "jigsaw").split(", "), told(0.3, "jigsaw", 8).split(", ")
    assert (
        f"Measured: {first[0]} becomes {longer[0]} (first fit), {first[1]} becomes {longer[1]} "
        f"(tree rule), {first[2]} becomes {longer[2]} % (random) with 40 repeats"
    ) in PAGE
    assert f"TA's jobs gain {table[('random', 1, 8, 0.3, 'ta', 'all')]:.1f} % on Thunder" in PAGE


def test_the_readme() -> None:
    table, ratios = off()["taken_off"], makespans()
    flat = " ".join(README.split())
    values = [
        [f"{table[(o or 'baseline', 1, n, 0.3, 'jigsaw', 'all')]:.1f}" for o in ORDERS.values()]
        for n in (1, 8)
    ]
    a, b, c = values[0]
    assert f"{a} % (lowest free nodes), {b} % (tree rule) or {c} % (random nodes)" in flat
    a, b, c = values[1]
    assert f"eight times longer runs {a}, {b} and {c} %" in flat
    x, y, z = (f"{ratios[case(order, 1, 8)]:.3f}" for order in ORDERS.values())
    assert f"makespan is then {x}, {y} and {z} of Baseline's" in flat


@pytest.mark.parametrize("metric", ["makespan", "turnaround"])
def test_the_queues_tables(metric: str) -> None:
    text = PAGE[PAGE.index(f"**{metric.capitalize()}** over") :].split("\n\n")[1]
    head, _, *body = [[c.strip(" *") for c in r.strip("|").split("|")] for r in text.splitlines()]
    stored = pd.read_csv(STORED / "queues.csv", keep_default_na=False)
    stored = stored.set_index(["log", "policy", "run_times"])
    checked = 0
    for label, *values in body:
        for column, told in zip(head[1:], values, strict=True):
            log, policy = column.split(": ")
            row = stored.loc[(log, policy, label)]
            expected = f"{float(row[metric]):.3f}"
            if row[f"{metric}_low"]:
                low, high = (float(row[f"{metric}_{end}"]) for end in ("low", "high"))
                expected += f" ({low:.3f} .. {high:.3f})"
            assert told.replace("*", "") == expected, (label, column)
            checked += 1
    assert checked == {"makespan": 13 * 6, "turnaround": 13 * 9}[metric]


def test_tables_to_use_hold_ratios_of_run_times() -> None:
    """They can be read, no job of 30 % communication gains more than half, and all are linked."""
    files = sorted(STORED.glob("*-run-times.csv"))
    assert len(files) == 2 * len(LOGS)
    for path in files:
        assert f"isolation/{path.name}" in PAGE
        for row in read_speedups(path).rows:
            assert 0.5 < row.ratio_low <= row.ratio <= row.ratio_high


def test_nothing_is_called_an_upper_estimate() -> None:
    assert "upper estimate" not in README
    for line in PAGE.splitlines():
        assert "pper estimate" not in line or "| withdrawn |" in line, line


def test_the_blue_gene_page() -> None:
    """Gains by scheme with their intervals, from the stored month."""
    page = (ROOT / "docs" / "blue-gene.md").read_text(encoding="utf-8")
    stored = pd.read_csv(ROOT / "docs" / "blue-gene" / "gains-2018-10.csv")
    names = {"loss of capacity": "loss_of_capacity", "average wait": "wait_min"}
    names["average bounded slowdown"] = "bounded_slowdown"
    checked = 0
    for line in page.splitlines():
        told = [cell.strip() for cell in line.strip("|").split("|")]
        if told[0] not in names:
            continue
        of = stored[stored["metric"].eq(names[told[0]]) & stored["order"].eq(told[1].lower())]
        for scheme, cell in zip(("SL", "PF", "Combo", "AdjEst", "ActRun"), told[3:8], strict=True):
            row = of.set_index("scheme").loc[scheme]
            gain, low, high = (round(100 * row[c]) for c in ("gain", "low", "high"))
            assert cell == f"{gain} ({low} .. {high})"
            checked += 1
    assert checked == 30
