"""What the page on dragonflies concludes is what the stored tables have."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from experiments.papers.isolation.cells import FACTORS, expanded
from experiments.papers.isolation.spread import DRAGONFLIES, OTHERS

DOCS = Path(__file__).resolve().parents[1] / "docs"
SHORTER, LONGER, UNKNOWN = "would pay", "would not pay", "not significant"
CELL = ["log", *FACTORS]


def stored(name: str) -> pd.DataFrame:
    return pd.read_csv(DOCS / "isolation" / f"spread-{name}.csv", dtype={"drive": str})


def text() -> str:
    return " ".join((DOCS / "isolation-dragonfly.md").read_text(encoding="utf-8").split())


def one(row: pd.Series, column: str, digits: int = 1) -> str:
    value, low, high = (row[f"{column}{end}"] for end in ("", "_low", "_high"))
    return f"{value:.{digits}f} ({low:.{digits}f} .. {high:.{digits}f})"


def test_the_tables_have_the_cells_of_the_design() -> None:
    gain, live = stored("gain"), stored("live")
    assert (gain["stretches"] == 8).all()
    for log in DRAGONFLIES.logs:
        designed = expanded(DRAGONFLIES.content["designs"], log.name, DRAGONFLIES)
        for table, chosen in ((gain, designed), (live, [d for d in designed if d.live])):
            mine = table[table["log"].eq(log.name)]
            found = set(mine[list(FACTORS)].itertuples(index=False, name=None))
            assert found == {tuple(each.cell.values()) for each in chosen}, log.name
        for each in designed:
            here = (gain[CELL] == pd.Series({"log": log.name, **each.cell})).all(axis=1)
            assert set(each.policies) == set(gain[here]["policy"])


def test_verdicts_are_those_of_the_intervals() -> None:
    gain = stored("gain")
    for column in ("by_node", "by_job"):
        low, high = gain[f"{column}_low"], gain[f"{column}_high"]
        for word, mine in ((SHORTER, low > 0.1), (LONGER, high < -0.1)):
            assert gain[f"{column}_verdict"].eq(word).equals(mine), column


def test_every_row_of_sixteen_percent_is_in_the_tables() -> None:
    """Log, state, network, share, and against what: communication time less in percent."""
    less = stored("communication")
    mine = less[less["policy"].eq("level-spread")].set_index(
        ["log", "load", "network", "share", "against"]
    )
    rows = [
        [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        for line in (DOCS / "isolation-dragonfly.md").read_text(encoding="utf-8").splitlines()
        if line.startswith(("| thunder |", "| atlas |"))
    ]
    assert len(rows) >= 6
    for log, load, network, share, against, found, _ in rows:
        key = (log, load, network, float(share), "rdn" if against == "random nodes" else against)
        assert found == one(mine.loc[key], "ratio"), key
    paper = pd.read_csv(DOCS / "routers" / "level-spread-used-credits.csv").set_index(
        ["figure", "claim"]
    )
    row = paper.loc[("fig10", "mean reduction by Level-Spread (%)")]
    assert f"| {row['simulated']:.1f} |" in text()
    assert row["paper"] == 16
