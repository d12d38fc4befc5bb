"""The pages on isolation say what the stored tables hold: every number with an interval."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from page_intervals import TOLD, known

from cosim.measuring.speedup_file import read_speedups
from experiments.isolation.again import FEWER
from experiments.isolation.cells import FACTORS, expanded
from experiments.isolation.spread import DRAGONFLIES
from experiments.isolation.stretches import FAT_TREES, LOGS, STUDY, CellStudy

AT_ONCE = "all at once"
FOLDER = Path(__file__).resolve().parents[1]
ROOT, TABLES = FOLDER.parents[1], FOLDER / "tables"
PAPERS_OWN = FOLDER.parent / "routers" / "tables" / "level-spread-used-credits.csv"
PAGES = {
    "README": "",
    "dragonfly": "spread",
    "loop": ("loop-", "cab"),
    "placement": "placement-",
    "shares": "shares",
}
"""Pages, and how the names of their tables begin; the main page has those of all."""


def page(name: str) -> str:
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


def tables(begins: str | tuple[str, ...]) -> list[pd.DataFrame]:
    found = [pd.read_csv(p) for p in TABLES.glob("*.csv") if p.stem.startswith(begins)]
    assert found
    return found


@pytest.mark.parametrize("name", PAGES)
def test_every_interval_is_stored(name: str) -> None:
    found = [*tables(PAGES[name]), pd.read_csv(PAPERS_OWN), *changes()]
    told = TOLD.findall(page(name))
    assert told
    stored = {digits: known(found, digits) for digits in range(4)}
    wrong = [t for t in told if t not in stored[len(t[0].partition(".")[2])]]
    assert wrong == []


def changes() -> list[pd.DataFrame]:
    """What cells change in percent, minus: shorter; of run times and of the queue's metrics."""
    gain, phases = cell_table("gain"), cell_table("phases")
    ends = {"": "", "_low": "_high", "_high": "_low"}
    return [
        gain.assign(**{f"by_node{end}": 0.0 - gain[f"by_node{of}"] for end, of in ends.items()}),
        phases.assign(**{f"ratio{end}": 100 * (phases[f"ratio{end}"] - 1) for end in ends}),
    ]


def test_the_queue_is_side_by_side_with_run_times() -> None:
    """A row a log, load and placement: run time, and all metrics that the log has."""
    gain, phases = (
        table[is_usual(table) & table["share"].eq(0.3)].set_index(["log", "load", "placement"])
        for table in changes()
    )
    phases = phases[phases["walltimes"].eq("logged")].set_index("metric", append=True)
    text, clear = page("README"), {"by_node": 0, "makespan": 0}
    shown = [
        (log, load, placement)
        for log in ("kth-sp2", "thunder", "atlas")
        for load in (AT_ONCE, "0.9")
        for placement in ("random", "baseline")
    ]
    for at in shown:
        found = [one(gain.loc[at], "by_node", 1, "by_node_low", "by_node_high")]
        clear["by_node"] += gain.loc[at, "by_node_high"] < -0.1
        clear["makespan"] += phases.loc[(*at, "makespan"), "verdict"] == "would pay"
        for metric in ("makespan", "turnaround", "slowdown", "large-turnaround"):
            known = (*at, metric) in phases.index
            ends = ("ratio", 1, "ratio_low", "ratio_high")
            found.append(one(phases.loc[(*at, metric)], *ends) if known else "")
        row = f"| {at[0]} | {at[1]} | `{at[2]}` | {' | '.join(found)} |"
        assert row in text or row.replace("-0.0 ", "0.0 ") in text, at
    counts = f"in {clear['by_node']} of the {len(shown)} rows, makespan in {clear['makespan']}:"
    assert counts in " ".join(text.split())


def test_the_parts_of_a_gain_are_stored_and_add_up_to_it() -> None:
    table = pd.read_csv(TABLES / "cells-parts.csv")
    assert (table["gain"] - table["interference"] - table["locality"]).abs().max() < 1e-3
    keys = ["log", "placement", "network", "drive", "share", "load"]
    both = table.merge(cell_table("gain"), on=keys)
    assert len(both) == 2  # sorted ranks are in this table only
    assert both["gain"].tolist() == pytest.approx(both["by_node"].tolist(), rel=1e-3)
    text = page("README")
    for row in table.to_dict("records"):
        found = [
            one(row, name, 1, f"{name}_low", f"{name}_high")
            for name in ("gain", "interference", "locality")
        ]
        assert f"| `{row['placement']}` | " in text
        assert f" | {' | '.join(found)} |" in text


def rows_of(text: str, *first: str) -> list[list[str]]:
    """Cells of the lines of tables whose first cells are these."""
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in text.splitlines()]
    return [row for row in cells if tuple(c.strip("`") for c in row[: len(first)]) == first]


def one(
    row: Mapping[Any, Any] | pd.Series,
    value: str,
    digits: int,
    low: str = "low",
    high: str = "high",
) -> str:
    return f"{row[value]:.{digits}f} ({row[low]:.{digits}f} .. {row[high]:.{digits}f})"


def cell_table(name: str) -> pd.DataFrame:
    found = pd.read_csv(TABLES / f"cells-{name}.csv")
    assert (found["stretches"] == 8).all()
    return found[found["policy"].eq("jigsaw")]


def is_usual(cells: pd.DataFrame) -> pd.Series:
    return cells["network"].eq("static") & cells["drive"].eq(1)


def test_every_gain_of_the_table_is_that_of_its_cell() -> None:
    """A row a log and placement, a column a network and share; drive 1, all jobs at once."""
    gain = cell_table("gain")
    gain = gain[gain["load"].eq(AT_ONCE) & gain["drive"].eq(1)]
    cells = gain.set_index(["log", "placement", "network", "share"])
    for log in dict.fromkeys(gain["log"]):
        for placement in ("random", "baseline"):
            [shown] = rows_of(page("README"), log, placement)
            places = [
                (log, placement, network, share)
                for network in ("static", "adaptive")
                for share in (0.1, 0.3, 0.5)
                if (network, share) != ("adaptive", 0.1)
            ]
            ends = ("by_node", 1, "by_node_low", "by_node_high")
            found = [one(cells.loc[at], *ends) if at in cells.index else "" for at in places]
            assert shown[2:] == found


@pytest.mark.parametrize(("begins", "study"), [("cells", FAT_TREES), ("spread", DRAGONFLIES)])
def test_the_tables_have_the_cells_of_the_design(begins: str, study: CellStudy) -> None:
    gain, live = (
        pd.read_csv(TABLES / f"{begins}-{name}.csv", dtype={"drive": str})
        for name in ("gain", "live")
    )
    assert (gain["stretches"] == 8).all()
    for log in study.logs:
        designed = expanded(study.content["designs"], log.name, study)
        for table, chosen in ((gain, designed), (live, [d for d in designed if d.live])):
            mine = table[table["log"].eq(log.name)]
            stored = set(mine[list(FACTORS)].itertuples(index=False, name=None))
            assert stored == {tuple(each.cell.values()) for each in chosen}, log.name
        for each in designed:
            here = (gain[list(FACTORS)] == pd.Series(each.cell)).all(axis=1)
            assert set(each.policies) <= set(gain[here & gain["log"].eq(log.name)]["policy"])


def pairs(factor: str, more: object, less: object, **where: object) -> pd.DataFrame:
    """Gains of cells that differ in one factor only, ``_x`` at the level that should give more."""
    gain = cell_table("gain")
    for name, level in where.items():
        gain = gain[gain[name].eq(level)]
    others = ["log", *(name for name in FACTORS if name != factor)]
    return gain[gain[factor].eq(more)].merge(gain[gain[factor].eq(less)], on=others)


def test_signs_over_pairs_of_cells() -> None:
    text = " ".join(page("README").split())
    places = pairs("placement", "random", "baseline")
    routings, ranks = (pairs("network", "static", other) for other in ("adaptive", "random ranks"))
    much, little = pairs("share", 0.5, 0.3), pairs("share", 0.3, 0.1)
    busy, full = pairs("load", "0.9", "0.5"), pairs("load", AT_ONCE, "0.9")
    static, adaptive = (pairs("drive", 2, 1, network=name) for name in ("static", "adaptive"))

    def count(mine: pd.DataFrame) -> str:
        return f"{(mine['by_node_x'] > mine['by_node_y']).sum()} of {len(mine)}"

    def median(mine: pd.DataFrame) -> str:
        return f"{(mine['by_node_y'] / mine['by_node_x']).median():.2f} of it"

    sentences = (
        f"than against the lowest free ones in {count(places)} pairs",
        f"the latter is {median(places)} in the median",
        f"adaptive routing in {count(routings)} pairs (median of the latter: {median(routings)}",
        f"and than with ranks in random order in {count(ranks)}",
        f"share of 0.5 than at 0.3 in {count(much)}, and at 0.3 than at 0.1 in {count(little)}.",
        f"At a load of 0.9 it is larger than at 0.5 in {count(busy)}",
        f"larger than at 0.9 only in {count(full)}",
        f"raise the gain with static routing in {count(static)} pairs",
        f"lower it with adaptive routing in {len(adaptive)} of {len(adaptive)}",
    )
    assert [x for x in sentences if x not in text] == []
    assert (adaptive["by_node_x"] < adaptive["by_node_y"]).all()


def test_intervals_cover_cells_that_are_drawn_again() -> None:
    found = pd.read_csv(TABLES / "cells-coverage.csv")
    inside = found["again"].between(found["by_node_low"], found["by_node_high"])
    assert inside.equals(found["inside"])
    assert len(found) == 40
    assert inside.sum() >= 36
    stated = found.merge(
        cell_table("gain"), on=["log", "placement", "network", "drive", "share", "load"]
    )
    assert len(stated) == 40
    for end in ("by_node", "by_node_low", "by_node_high"):
        assert stated[f"{end}_x"].tolist() == pytest.approx(stated[f"{end}_y"].tolist(), rel=1e-4)
    text = " ".join(page("README").split())
    assert f"{inside.sum()} of the {len(found)} means lie inside" in text


def test_signs_of_cells_with_one_thing_changed() -> None:
    found = pd.read_csv(TABLES / "cells-attacks.csv", dtype={"drive": str})
    changed = found[found["variant"].ne("as designed")]
    text = " ".join(page("README").split())
    assert f"{changed['variant'].nunique()} changes" in text
    assert f"{changed['same_sign'].sum()} of {len(changed)} gains keep their sign" in text
    for log in LOGS:
        for each in expanded(STUDY["attacked"], log.name):
            here = (changed[list(FACTORS)] == pd.Series(each.cell)).all(axis=1)
            mine = changed[here & changed["log"].eq(log.name)]
            assert set(mine["variant"]) == {*each.attacks, *FEWER}
    ends = ("by_node", 1, "by_node_low", "by_node_high")
    open_ = changed[changed["by_node_low"].lt(0) & changed["placement"].eq("random")]
    assert all(one(row, *ends) in text for _, row in open_.iterrows())


def test_where_isolation_pays_in_makespan() -> None:
    every = cell_table("phases")
    every = every[every["walltimes"].eq("logged")]
    assert every["metric"].value_counts()["large-turnaround"] == 59

    def counts(metric: str) -> str:
        verdicts = every.loc[every["metric"].eq(metric), "verdict"]
        return " and ".join(str(verdicts.eq(f"would {x}pay").sum()) for x in ("", "not "))

    found = every[every["metric"].eq("makespan")]
    pays, costs = (found[found["verdict"].eq(f"would {x}pay")] for x in ("", "not "))
    text = " ".join(page("README").split())
    side_by_side = (
        f"Of {len(found)} cells isolation shortens makespan in {len(pays)} and lengthens it in "
        f"{len(costs)}, mean turnaround in {counts('turnaround')}, mean bounded slowdown in "
        f"{counts('slowdown')};** turnaround of jobs of more than 100 nodes, in 59 cells that have "
        f"some, in {counts('large-turnaround')}."
    )
    assert side_by_side in text
    change = f"makespan in {len(pays)} and lengthens it in {len(costs)}, turnaround in 55 and 3,"
    assert counts("turnaround") == "55 and 3"
    page_of_command = (ROOT / "experiments" / "isolation" / "gain.md").read_text(encoding="utf-8")
    assert f"{change} slowdown in {counts('slowdown')}." in " ".join(page_of_command.split())
    at_random = pays[pays["placement"].eq("random")]
    assert f"{len(at_random)} of the {len(pays)} are against random nodes" in text
    assert set(pays["share"]) == {0.3, 0.5}
    adaptive = pays[pays["network"].eq("adaptive")]
    assert set(zip(adaptive["log"], adaptive["placement"], adaptive["share"], strict=True)) == {
        ("kth-sp2", "random", 0.5)
    }
    lowest = found[found["placement"].eq("baseline") & found["log"].ne("llm-jobs")]
    assert not lowest["verdict"].eq("would pay").any()
    assert f"none of the {len(lowest)} cells of KTH, Thunder and Atlas" in text
    assert f"Of {len(found)} verdicts about {0.025 * len(found):.0f} would" in text
    at = found[is_usual(found)].set_index(["log", "placement", "share", "load"])["verdict"]
    assert at["kth-sp2", "random", 0.3, AT_ONCE] == "would pay"
    assert at["kth-sp2", "baseline", 0.3, AT_ONCE] == "not significant"
    assert at["thunder", "random", 0.3, "0.9"] == "would pay"
    assert at["thunder", "random", 0.3, AT_ONCE] == at["thunder", "random", 0.5, "0.5"]
    assert at["thunder", "random", 0.5, "0.5"] == "not significant"
    assert at["thunder", "random", 0.5, AT_ONCE] == at["atlas", "random", 0.5, AT_ONCE]
    assert at["atlas", "random", 0.5, AT_ONCE] == "would pay"
    assert at["atlas", "baseline", 0.5, AT_ONCE] == "would not pay"


def test_what_papers_assumed_is_rare() -> None:
    gain = cell_table("gain")
    most = gain[gain["by_node"].gt(10)]
    text = " ".join(page("README").split())
    assert f"is rare: {len(most)} cells gain more than 10 % by node-hours" in text
    [lowest] = most[most["placement"].ne("random")].to_dict("records")
    assert (lowest["log"], lowest["placement"], lowest["drive"]) == ("thunder", "baseline", 2)
    assert f"drive 2, {one(lowest, 'by_node', 1, 'by_node_low', 'by_node_high')} %" in text
    assert set(most["share"]) == {0.5}
    assert "adaptive" not in set(most["network"])
    found = pd.read_csv(TABLES / "cells-gain.csv")
    found = found[is_usual(found) & found["share"].eq(0.3) & found["load"].eq(AT_ONCE)]
    thunder = found[found["log"].eq("thunder")].set_index(["placement", "policy"])["by_node"]
    for placement, where in (("random", "random nodes"), ("baseline", "the lowest free ones")):
        ta, laas, jigsaw = (thunder[placement, policy] for policy in ("ta", "laas", "jigsaw"))
        assert f"{ta:.1f}, {laas:.1f} and {jigsaw:.1f}" in text
        assert f"against {where}" in text


def test_live_queues_beside_what_is_foretold() -> None:
    live = cell_table("live")
    live = live[live["metric"].isin(["makespan", "turnaround"])]
    text = " ".join(page("README").split())
    cells = live.groupby("log").size() // 2
    assert f"{cells['kth-sp2']} cells of KTH and {cells['thunder']} of Thunder" in text
    by_verdict = live.groupby("foretold_verdict")["same_sign"].agg(["sum", "size"])
    pay, cost, open_ = (
        by_verdict.loc[name] for name in ("would pay", "would not pay", "not significant")
    )
    assert min(pay["size"], cost["size"], open_["size"]) >= 5
    assert f"{pay['sum']} of the {pay['size']} that are foretold to pay" in text
    assert f"{cost['sum']} of the {cost['size']} that are foretold not to pay" in text
    assert f"{open_['sum']} of the {open_['size']} that are not significant" in text
    clear = live[live["verdict"].ne("not significant") & ~live["same_sign"]]
    assert clear.empty == ("none is significant on the other side" in text)


def test_the_table_of_speed_ups_is_one() -> None:
    """Those of 30 % communication: no job gains more than half."""
    [path] = TABLES.glob("*-run-times.csv")
    page = (ROOT / "docs" / "run-times.md").read_text(encoding="utf-8")
    assert path.relative_to(ROOT).as_posix() in page
    table = read_speedups(path)
    assert table.reference_policy == "baseline"
    assert len(table.policies) == 4
    assert all(0.5 < row.ratio_low <= row.ratio <= row.ratio_high for row in table.rows)
