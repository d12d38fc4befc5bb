"""What the page on dragonflies concludes is what the stored tables have."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

STUDY = Path(__file__).resolve().parents[1]
SHORTER, LONGER, UNKNOWN = "would pay", "would not pay", "not significant"


def stored(name: str) -> pd.DataFrame:
    return pd.read_csv(STUDY / "tables" / f"spread-{name}.csv", dtype={"drive": str})


def text() -> str:
    return " ".join((STUDY / "dragonfly.md").read_text(encoding="utf-8").split())


def test_verdicts_are_those_of_the_intervals() -> None:
    gain = stored("gain")
    for column in ("by_node", "by_job"):
        low, high = gain[f"{column}_low"], gain[f"{column}_high"]
        for word, mine in ((SHORTER, low > 0.1), (LONGER, high < -0.1)):
            assert gain[f"{column}_verdict"].eq(word).equals(mine), column


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
