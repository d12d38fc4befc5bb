"""The page on the benchmark says what the stored tables say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from netcosim.bench_rl.cells import MACHINES, WORKLOADS
from netcosim.bench_rl.play import METRICS, PPO
from netcosim.bench_rl.points import AGENT, BLIND, ORDER_ALONE, RANDOM
from netcosim.bench_rl.tables import (
    BETTER,
    NOT_SIGNIFICANT,
    WORSE,
    between,
    counted,
    detectable,
    differences,
    percent_shown,
    scores,
    word,
)
from queuesim.statistics import Interval

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = (DOCS / "learning-benchmark.md").read_text(encoding="utf-8")
METRIC = "bounded-stretch"


def stored(name: str) -> pd.DataFrame:
    return pd.read_csv(DOCS / "learning" / f"{name}.csv")


def same(found: pd.DataFrame, kept: pd.DataFrame) -> None:
    """Equal but for the digits of the stored weeks; of small half-widths these are few."""
    power = "detectable_percent"
    np.testing.assert_allclose(found[power], kept[power], rtol=1e-3, atol=1e-3)
    found, kept = found.drop(columns=power), kept.drop(columns=power)
    pd.testing.assert_frame_equal(found, kept, rtol=1e-3, atol=1e-4)


def test_every_machine_and_workload_is_on_the_page() -> None:
    for name, machine in MACHINES.items():
        assert f"`{name}`" in PAGE
        for rule in machine.rules:
            assert rule in PAGE
    for name, work in WORKLOADS.items():
        assert f"| `{name}` | {work.week} |" in PAGE


def test_the_tables_follow_from_the_weeks() -> None:
    """Computed again from the score of each player and week."""
    weeks = stored("weeks")
    same(differences(weeks, METRIC), stored("differences"))
    pd.testing.assert_frame_equal(scores(weeks, METRIC), stored("scores"), rtol=1e-4)
    networks = pd.concat(
        [between(weeks, METRIC, AGENT, other) for other in (BLIND, f"{BLIND}, {ORDER_ALONE}")],
        ignore_index=True,
    )
    same(networks, stored("networks"))


def test_the_pages_rows_are_the_tables() -> None:
    told = stored("differences")
    for row in told[told["player"] == AGENT].to_dict("records"):
        line = (
            f"| {row['machine']}, {row['workload']} | {row['best_hand']} | "
            f"{row['best_hand_score']:.2f} | {row['score']:.2f} | {row['difference']:+.2f} "
            f"({row['low']:+.2f} to {row['high']:+.2f}) | {row['verdict']} | "
            f"{percent_shown(row['detectable_percent'])} |"
        )
        assert line in PAGE
    networks = stored("networks")
    for row in networks[networks["other"] == f"{BLIND}, {ORDER_ALONE}"].to_dict("records"):
        line = (
            f"| {row['machine']}, {row['workload']} | {row['score']:.2f} | "
            f"{row['other_score']:.2f} | {row['difference']:+.2f} "
            f"({row['low']:+.2f} to {row['high']:+.2f}) | {row['verdict']} | "
            f"{percent_shown(row['detectable_percent'])} |"
        )
        assert line in PAGE


def test_the_pages_counts_are_the_tables() -> None:
    lines = [*counted(stored("differences")), *counted(stored("networks"), ["player", "other"])]
    for line in lines:
        assert line in PAGE


def test_an_interval_says_what_its_word_says() -> None:
    for name in ("differences", "networks", "attacks", "seeds"):
        for row in stored(name).to_dict("records"):
            assert row["verdict"] == word(Interval(row["difference"], row["low"], row["high"]))
            assert row["difference"] == pytest.approx((row["low"] + row["high"]) / 2, abs=2e-3)


def test_the_headline_says_what_could_have_been_found() -> None:
    """Of the agent beside the hand rule: cells that are not significant, and their power."""
    told = stored("differences")
    told = told[told["player"] == AGENT]
    for row in told.to_dict("records"):
        half = (row["high"] - row["low"]) / 2
        percent = 100 * detectable(half, row["weeks"]) / row["best_hand_score"]
        assert row["detectable_percent"] == pytest.approx(percent, rel=1e-3, abs=1e-3)
    n = int((told["verdict"] == NOT_SIGNIFICANT).sum())
    low, middle, high = map(percent_shown, told["detectable_percent"].quantile([0, 0.5, 1]))
    power = f"detectable difference {middle} % (median; {low} to {high} by cell)"
    head = f"not significant in {n} of {len(told)} cells"
    assert f"{head}; {power}" in " ".join(PAGE.split())
    weak = int((told["detectable_percent"] >= 10).sum())
    assert f"In {weak} of {len(told)} cells it is 10 % or more" in " ".join(PAGE.split())


def test_attacks_judge_by_every_score() -> None:
    attacks = stored("attacks")
    assert set(attacks["metric"]) == set(METRICS)
    for (_, _, metric), mine in attacks.groupby(["machine", "workload", "metric"]):
        assert mine["player"].nunique() == 4
        assert mine["best_hand_score"].nunique() == 1, metric


def test_the_pages_words_on_attacks_are_the_tables() -> None:
    attacks = stored("attacks")
    told = attacks.groupby(["player", "metric"])["verdict"].value_counts()

    def cells(player: str, metric: str, says: str) -> int:
        return int(told.get((player, metric, says), 0))

    made = attacks[(attacks["jobs"] == "other seed") & (attacks["player"] == AGENT)]
    own = made[made["metric"].isin([METRIC, "bounded-slowdown"])]
    assert len(own) == 2 * 9
    [differs] = own[own["verdict"] != NOT_SIGNIFICANT].to_dict("records")
    assert (differs["metric"], differs["verdict"]) == ("bounded-slowdown", BETTER)
    text = " ".join(PAGE.split())
    for line, metric in (
        ("by turnaround the agent is better in {} and worse in {} of 15 cells", "turnaround"),
        ("communication better in {} and worse in {}.", "communication"),
    ):
        found = (cells(AGENT, metric, says) for says in (BETTER, WORSE))
        assert line.format(*found) in text
    cell = f"{differs['machine']}, {differs['workload']}"
    assert f"bounded slowdown one is better ({cell};" in text
    both = attacks["verdict"].value_counts()
    n, chance = len(attacks), round(len(attacks) * 0.05)
    line = "all {} comparisons of the table {} are significantly better and {} worse, where chance"
    assert line.format(n, both[BETTER], both[WORSE]) in text
    assert f"chance alone makes about {chance}" in text
    silent = attacks[attacks["player"] == f"{AGENT}, told nothing"]
    apart = int((silent[silent["metric"] == METRIC]["verdict"] != NOT_SIGNIFICANT).sum())
    assert f"significantly from the hand rule by bounded stretch in {apart} of 15 cells" in text


def test_agents_keep_their_best_generation() -> None:
    curve, table = stored("curve"), stored("scores")
    for (machine, workload, player), mine in curve.groupby(["machine", "workload", "player"]):
        if player != AGENT:
            continue
        row = table[
            (table["machine"] == machine)
            & (table["workload"] == workload)
            & (table["player"] == player)
        ]
        assert mine["training"].min() == pytest.approx(row["training"].item(), rel=1e-4)
        assert mine["generation"].tolist() == list(range(len(mine)))
        assert np.isfinite(mine["held_out"].iloc[-1])


def test_maskable_ppo_is_judged_as_the_others() -> None:
    """Its weeks beside the best hand rule's, all of one model version; the page has each row."""
    weeks, told = stored("ppo-weeks"), stored("ppo")
    found = differences(weeks, METRIC)
    found = found[found["player"] == PPO].reset_index(drop=True)
    same(found, told)
    assert counted(told)[0] in PAGE
    chance = scores(weeks, METRIC).set_index(["machine", "workload", "player"])["held_out"]
    for row in told.to_dict("records"):
        line = (
            f"| {row['machine']}, {row['workload']} | {row['score']:,.2f} | "
            f"{row['difference']:+,.2f} ({row['low']:+,.2f} to {row['high']:+,.2f}) | "
            f"{row['verdict']} | {percent_shown(row['detectable_percent'])} | "
            f"{chance[row['machine'], row['workload'], RANDOM]:.2f} |"
        )
        assert line in PAGE
