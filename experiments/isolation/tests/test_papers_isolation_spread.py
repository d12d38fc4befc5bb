"""Dragonflies by cell: verdicts, parts of communication and the paper's 16 % by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cosim.measuring.pairs import Pair
from cosim.parameters import PLACED, SMALL_FIRST
from experiments.isolation import spread
from experiments.isolation.cells import FACTORS, designed, interference_alone, parts
from experiments.isolation.spread import DRAGONFLIES, OTHERS
from experiments.kit.papers import Options
from netcosim.config.content import checked_config
from netcosim.runs.cosim import run_cosim
from netcosim.runs.cosim_tables import result_tables
from netcosim.runs.points import canonical_json

QUICK = Options(scale="quick")
CELL = {"log": "thunder", "placement": "rdn", "network": "ugal", "drive": "1", "share": 1.0}
CELL |= {"load": SMALL_FIRST}
REFERENCE_S, ALONE_S = 100.0, 60.0


def rows(
    policy_s: Mapping[str, float], *, duty: float = 1.0, alone_s: float = ALONE_S
) -> pd.DataFrame:
    """A job on each of four stretches, which takes 100 s under the reference and 60 s isolated."""
    return pd.DataFrame(
        {
            **CELL,
            "part": part,
            **Pair(
                0, name, 0, 8, 9.0, "pairs", 5, duty, REFERENCE_S, ALONE_S, seconds + part, alone_s
            ).row(),
        }
        for name, seconds in policy_s.items()
        for part in range(4)
    )


def test_run_times_are_judged_by_their_intervals() -> None:
    """Ratios 1 - x / 100; half-widths fall as the square root of the number of stretches."""
    table = pd.DataFrame({"stretches": [4, 4, 4], "by_node": [4.0, -2.0, 1.0]})
    table = table.assign(by_node_low=table["by_node"] - 1.5, by_node_high=table["by_node"] + 1.5)
    for end in ("", "_low", "_high"):
        table[f"by_job{end}"] = table[f"by_node{end}"]
    found = spread.judged(table)
    assert found["by_node_verdict"].tolist() == ["would pay", "would not pay", "not significant"]
    assert found["by_job_would_decide"].tolist() == [1, 3, 9]


def test_communication_by_hand() -> None:
    """80 s beside 100, 160 and 64 s of communication; interference and locality multiply."""
    pairs = rows({"level-spread": 80.0, "rdg": 160.0, "simple": 64.0}, alone_s=48.0)
    found = spread.communication(pairs.assign(ratio=pairs["policy_s"].sub(pairs["part"]) / 100))
    against_rdn = found[found["against"].eq("rdn")].set_index("policy")
    assert against_rdn["ratio"].to_dict() == pytest.approx(
        {"level-spread": 20.0, "rdg": -60.0, "simple": 36.0}
    )
    assert against_rdn["locality_ratio"].tolist() == pytest.approx([20.0] * 3)
    others = found[found["policy"].eq("level-spread")].set_index("against")["ratio"]
    expected = {"rdg": 50.0, "simple": -25.0, OTHERS: 100 * (1 - (0.8 * 0.5 * 1.25) ** (1 / 3))}
    assert others.drop("rdn").to_dict() == pytest.approx(expected)


def test_the_interval_is_that_of_stretches() -> None:
    """Communication of 80, 81, 82 and 83 s beside 100: Student's t of 3 degrees, 3.1824."""
    [row] = spread.communication(rows({"level-spread": 80.0})).to_dict("records")
    logs = np.log([0.80, 0.81, 0.82, 0.83])
    assert row["ratio"] == pytest.approx(100 * (1 - np.exp(logs.mean())))
    # neighbours are alike, so the interval is at least as wide as of independent stretches
    half = 3.1824 * logs.std(ddof=1) / 2
    assert row["ratio_low"] <= 100 * (1 - np.exp(logs.mean() + half)) + 1e-3
    assert row["ratio_high"] >= 100 * (1 - np.exp(logs.mean() - half)) - 1e-3


def test_a_queue_with_contention_knows_no_locality() -> None:
    """Isolated 60 s under both, of which half is communication: 90 s here and 70 s there."""
    pairs = rows({"rdg": 90.0}, duty=0.5)
    same = interference_alone(pairs)
    assert same["run_ratio"].tolist() == pytest.approx(pairs["run_ratio"].tolist())
    # isolated it communicates twice as long (60 s) on its nodes, among the others 60 s, too
    slower = interference_alone(rows({"rdg": 90.0}, duty=0.5, alone_s=90.0)[:1])
    stretched = 0.5 + 0.5 * (70 / 30)
    assert slower["run_ratio"].tolist() == pytest.approx([1 / stretched])


def test_a_gain_in_two_parts_by_hand() -> None:
    """100 s among others, 60 s isolated, half of them communication. 90 s in a partition is a gain
    of 10 %. On the old nodes it would be 60 s without others, 40 %; its nodes cost 30 points."""
    pairs = rows({"jigsaw": 90.0}, duty=0.5, alone_s=90.0)
    pairs = pairs.assign(policy_s=90.0, run_ratio=0.9)
    stretch = 70 / 30
    pairs = pairs.assign(stretch=stretch, interference_ratio=1 / stretch)
    [row] = parts(pairs).to_dict("records")
    assert row["stretches"] == 4
    assert row["gain"] == pytest.approx(10)
    assert row["interference"] == pytest.approx(40)
    assert row["locality"] == pytest.approx(-30)


@pytest.mark.parametrize(("other_s", "verdict"), [(100.0, "holds"), (40.0, "differs")])
def test_the_claim_is_of_the_mean_of_policies(other_s: float, verdict: str) -> None:
    pairs = rows({"level-spread": 84.0, "rdg": other_s})
    pairs = pairs.assign(ratio=(pairs["policy_s"] - pairs["part"]) / REFERENCE_S)
    [claim] = spread.claims_of(spread.communication(pairs))
    assert claim.paper is None
    assert claim.row()["verdict"] == verdict


def test_cells_differ_in_their_levels_and_share_their_stretches() -> None:
    networks = set()
    for log in DRAGONFLIES.logs:
        found = designed(log.name, Options(), DRAGONFLIES)
        places = [tuple(each.cell.values()) for each in found]
        assert len(set(places)) == len(places)
        networks |= {each.cell["network"] for each in found}
        assert {each.cell["load"] for each in found} - {"all at once", "0.9", "0.5"} < set(PLACED)
    assert networks == set(DRAGONFLIES.content["networks"])
    points = spread.points(QUICK)
    assert len({canonical_json(point["config"]) for point in points}) == len(points)
    attacked = Counter(p["labels"]["variant"] for p in points if "variant" in p["labels"])
    assert set(attacked) == set(DRAGONFLIES.content["attacks"])
    cells = [p["labels"] for p in points if len(p["labels"]) == len(FACTORS) + 2]
    assert set(Counter(label["part"] for label in cells).values()) == {2}


@pytest.mark.full
def test_a_quick_run_has_what_its_configs_give(
    reproduced: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The study's means are those of ``netcosim run``; its points are ordinary configs."""
    attacks = DRAGONFLIES.content["attacks"]
    one = {"router with a crossbar": attacks["router with a crossbar"]}
    monkeypatch.setitem(DRAGONFLIES.content, "attacks", one)
    found = reproduced("isolation", "dragonfly")
    tables = found.analysis.tables
    cell = tables["gain"][tables["gain"]["load"].eq("all at once")].set_index("policy")
    points = [p for p in spread.points(QUICK) if p["labels"].get("load") == "all at once"]
    ran = [
        result_tables(run_cosim(checked_config(point["config"])))["steady"]
        for point in points
        if len(point["labels"]) == len(FACTORS) + 2
    ]
    for row in ran[0]:
        policy = row["policy"]
        parts = [r["taken_off_percent"] for table in ran for r in table if r["policy"] == policy]
        assert cell.loc[policy, "by_node"] == pytest.approx(np.mean(parts))
    assert len(tables["live"]) == 2 * len(DRAGONFLIES.live_policies) * 2
    assert set(tables["attacks"]["policy"]) == set(DRAGONFLIES.policies)
