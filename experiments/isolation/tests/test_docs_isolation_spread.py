"""What the page on dragonflies concludes is what the stored tables have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from experiments.isolation.cells import FACTORS, expanded
from experiments.isolation.spread import DRAGONFLIES, OTHERS
from experiments.kit.data import read_data

STUDY = Path(__file__).resolve().parents[1]
SHORTER, LONGER, UNKNOWN = "would pay", "would not pay", "not significant"
CELL = ["log", *FACTORS]
READINGS = read_data("level_spread")


def stored(name: str) -> pd.DataFrame:
    return pd.read_csv(STUDY / "tables" / f"spread-{name}.csv", dtype={"drive": str})


def text() -> str:
    return " ".join((STUDY / "dragonfly.md").read_text(encoding="utf-8").split())


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
        for line in (STUDY / "dragonfly.md").read_text(encoding="utf-8").splitlines()
        if line.startswith(("| thunder |", "| atlas |"))
    ]
    assert len(rows) >= 6
    for log, load, network, share, against, found, _ in rows:
        key = (log, load, network, float(share), "rdn" if against == "random nodes" else against)
        assert found == one(mine.loc[key], "ratio"), key
    paper = pd.read_csv(
        STUDY.parent / "routers" / "tables" / "level-spread-used-credits.csv"
    ).set_index(["figure", "claim"])
    row = paper.loc[("fig10", "mean reduction by Level-Spread (%)")]
    own = f"{row['simulated']:.1f} ({row['low']:.1f} .. {row['high']:.1f})"
    assert f"| {own} | the paper's setting" in text()
    assert f"16 % less *communication time* is {own} % in the paper's own setting" in text()
    assert row["paper"] == 16
    assert f"{READINGS['sweep']['full']['random_workloads']:,} workloads" in text()
    at = {"log": "thunder", "load": "empty-small-first", "network": "ugal, shuffled", "share": 1.0}
    mine = less[(less[list(at)] == pd.Series(at)).all(axis=1)]
    single = mine[mine["policy"].eq("level-spread") & mine["against"].ne(OTHERS)]
    without = np.log(1 - single[single["against"].ne("rrn")]["ratio"] / 100).mean()
    assert f"{100 * (1 - np.exp(without)):.1f} without `rrn`" in text()
    [rrn] = single[single["against"].eq("rrn")].to_dict("records")
    assert rrn["ratio_low"] < 0 < rrn["ratio_high"]


def test_what_the_page_concludes() -> None:
    gain = stored("gain")
    assert SHORTER not in set(gain["by_node_verdict"])
    compact = gain[gain["policy"].isin(["rdg", "simple"]) & gain["network"].ne("ugal, shuffled")]
    assert (compact["by_node"] < 0).all()
    open_cells = compact[compact["by_node_verdict"].ne(LONGER)]
    assert open_cells[["log", "policy", "load"]].to_numpy().tolist() == [["atlas", "rdg", "0.9"]]
    usual = {"network": "ugal", "share": 0.3, "load": "all at once"}
    sizes, less = (
        table[(table[list(usual)] == pd.Series(usual)).all(axis=1)]
        for table in (stored("sizes"), stored("communication"))
    )
    on_thunder = sizes[sizes["log"].eq("thunder")].set_index(["policy", "fits"])
    for policy in ("rdg", "level-spread"):
        assert on_thunder.loc[(policy, "a router"), "by_node_low"] > 0
        for fits in ("a group", "no group"):
            assert on_thunder.loc[(policy, fits), "by_node_high"] < 0
    against_rdn = less[less["against"].eq("rdn")].set_index("policy")
    assert (against_rdn.loc["rdg", "locality_ratio_high"] < 0).all()
    assert (against_rdn.loc["rdg", "interference_ratio_low"] > 0).all()
    ends = against_rdn.loc["level-spread", ["ratio_low", "ratio_high"]]
    assert (ends["ratio_low"] < 0).all()
    assert (ends["ratio_high"] > 0).all()


def test_signs_with_one_thing_changed() -> None:
    found = stored("attacks")
    changed = found[found["variant"].ne("as designed")]
    for policy, name in (("rdg", "`rdg`"), ("level-spread", "Level-Spread")):
        mine = changed[changed["policy"].eq(policy)]
        assert f"{name}, {mine['same_sign'].sum()} of {len(mine)}" in text()
    broken = changed[~changed["same_sign"]]
    assert set(zip(broken["policy"], broken["variant"], strict=True)) == {
        ("level-spread", "ranks shuffled")
    }


def test_live_queues_know_interference_alone() -> None:
    live = stored("live")
    mine = live[live["metric"].isin(["makespan", "turnaround"])]
    assert f"{mine['same_sign'].sum()} of {len(mine)} ratios" in text()
    clear = mine[mine["verdict"].ne(UNKNOWN) & ~mine["same_sign"]]
    assert clear.empty == ("none is significant on the other side" in text())
    compact = mine[mine["policy"].eq("rdg")]
    assert (compact["foretold"] < 1).all()
