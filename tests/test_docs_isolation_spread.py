"""What is concluded of dragonflies stands in the stored tables."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from experiments.papers.isolation.spread import ALWAYS, BASE, CELLS, CUT, MINIMAL, OTHERS

STORED = Path(__file__).resolve().parents[1] / "docs" / "isolation"
KEYS = ["log", "cell", "policy", "against"]


def stored() -> pd.DataFrame:
    return pd.read_csv(STORED / "spread.csv").set_index(KEYS).sort_index()


def side(row: pd.Series, column: str) -> str:
    low, high = row[f"{column}_low"], row[f"{column}_high"]
    return "longer" if high < 0 else "shorter" if low > 0 else "cannot be told"


@pytest.mark.parametrize("log", ["thunder", "atlas"])
def test_compact_nodes_lengthen_jobs_that_communicate_for_a_part_of_the_time(log: str) -> None:
    table = stored()
    for policy in ("rdg", "simple"):
        row = table.loc[(log, BASE, policy, "rdn")]
        assert side(row, "off") == "longer"
        assert row["locality_ratio"] > 1.3
        assert row["interference_ratio"] < 1
        assert side(table.loc[(log, BASE, "level-spread", policy)], "communication") == "shorter"
    assert side(table.loc[(log, BASE, "level-spread", "rdn")], "off") == "cannot be told"
    assert table.loc[(log, BASE, "level-spread", OTHERS)]["communication"] == pytest.approx(
        11, abs=2
    )


def test_what_hangs_on_the_share_on_the_routing_and_on_the_measure() -> None:
    table = stored().loc["thunder"]
    always, minimal, cut, base = (
        table.loc[(cell, "rdg", "rdn")] for cell in (ALWAYS, MINIMAL, CUT, BASE)
    )
    assert side(always, "off") == side(always, "communication") == "cannot be told"
    assert side(minimal, "communication") == "longer"
    assert side(table.loc[(MINIMAL, "level-spread", "rdn")], "communication") == "longer"
    assert cut["stretch"] < base["stretch"]
    assert cut["locality_ratio"] > base["locality_ratio"]
    changes = pd.read_csv(STORED / "spread-changes.csv").set_index(["log", "cell", "policy"])
    assert changes.loc[("thunder", CUT, "rdg")]["high"] < 0


def test_what_is_stored_is_the_studys() -> None:
    told = {(log, ", ".join(levels) or BASE) for levels, logs, _ in CELLS for log in logs}
    found = set(stored().index.droplevel(["policy", "against"]))
    assert found <= told
    assert {("thunder", BASE), ("atlas", BASE)} <= found
