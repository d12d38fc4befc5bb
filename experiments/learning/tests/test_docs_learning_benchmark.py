"""The page on the benchmark says what the stored tables say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.learning.cells import MACHINES, SCALES, WORKLOADS
from experiments.learning.clairvoyant import BOUND, CLAIRVOYANT, TRUE_TIMES
from experiments.learning.points import AGENT, BLIND, NO_CONTENTION, ORDER_ALONE
from experiments.learning.tables import (
    BETTER,
    CELL,
    NEXT,
    WORSE,
    between,
    counted,
    detectable,
    differences,
    percent_shown,
)

STUDY = Path(__file__).resolve().parents[1]
PAGE = (STUDY / "README.md").read_text(encoding="utf-8")
TEXT = " ".join(PAGE.split())
METRIC = "bounded-stretch"
FULL = SCALES["full"]
FRACTIONS = {"": (0.5, 0.9), ", less communication": (0.1, 0.7)}


def stored(name: str) -> pd.DataFrame:
    return pd.read_csv(STUDY / "tables" / f"{name}.csv")


def same(found: pd.DataFrame, kept: pd.DataFrame) -> None:
    """Equal but for the digits of the stored weeks; of small half-widths these are few."""
    power = "detectable_percent"
    np.testing.assert_allclose(found[power], kept[power], rtol=1e-3, atol=1e-2)
    found, kept = found.drop(columns=power), kept.drop(columns=power)
    pd.testing.assert_frame_equal(found, kept, rtol=1e-3, atol=1e-4)


def percent_of(row: pd.Series, column: str = "difference") -> float:
    """Of the hand rule's score on the same weeks."""
    return 100 * float(row[column]) / float(row["best_hand_score"])


def interval(row: pd.Series) -> str:
    low, high = percent_of(row, "low"), percent_of(row, "high")
    return f"{percent_of(row):+.1f} % ({low:+.1f} to {high:+.1f})"


def by_player() -> pd.DataFrame:
    return stored("differences").set_index([*CELL, "player"])


def range_of(percents: list[float]) -> str:
    """Of costs and gains, least to greatest, as the page has it."""
    return f"{min(percents):.0f} to {max(percents):.0f} %"


def cell_row(machine: str, workload: str, of: pd.DataFrame) -> str:
    """Return a row of the page's table of results."""
    agent = of.loc[AGENT]
    cells = [
        *(f"{machine}, {workload}", agent["best_hand"], f"{agent['best_hand_score']:.2f}"),
        *(interval(agent), agent["verdict"], percent_shown(agent["detectable_percent"])),
        *(interval(of.loc[CLAIRVOYANT]), f"{percent_of(of.loc[BOUND]):+.0f} %"),
    ]
    return f"| {' | '.join(map(str, cells))} |"


def candidate_rows() -> list[str]:
    """Return the rows of the page's table of candidates: contention and half-width, in percent."""
    rows = []
    for workload, mine in stored("candidates").groupby("workload", sort=False):
        cells = mine.set_index("machine").loc[list(MACHINES)]
        shown = [
            f"{row['contention_percent']:.1f} / {row['half_width_percent']:.1f}"
            + ("" if row["power"] == "yes" else ", dropped")
            for _, row in cells.iterrows()
        ]
        rows.append(f"| {workload} | {' | '.join(shown)} |")
    return rows


def test_every_machine_and_workload_is_on_the_page() -> None:
    for name, machine in MACHINES.items():
        assert f"`{name}`" in PAGE
        for rule in machine.rules:
            assert rule in PAGE
    for name, work in WORKLOADS.items():
        assert f"| `{name}` | {work.week} |" in PAGE
    assert f"the first {FULL.training} weeks are for training, the last {FULL.held_out}" in TEXT
    assert f"{FULL.evaluations} plans a week, on every second held-out week" in TEXT
    assert FULL.searched == 2


def test_the_tables_follow_from_the_weeks() -> None:
    """Computed again from the score of each player and week."""
    weeks = stored("weeks")
    same(differences(weeks, METRIC), stored("differences"))
    others = (BLIND, f"{BLIND}, {ORDER_ALONE}")
    networks = [between(weeks, METRIC, AGENT, other) for other in others]
    same(pd.concat(networks, ignore_index=True), stored("networks"))
    held = weeks[weeks["part"] == "held out"].groupby([*CELL, "player"]).size().unstack()
    assert set(held[AGENT]) == {FULL.held_out}
    assert set(held[CLAIRVOYANT]) == {FULL.held_out / FULL.searched}


def test_the_pages_rows_are_the_tables() -> None:
    cells = list(by_player().groupby(level=CELL, sort=False))
    assert len(cells) == sum(len(work.machines) for work in WORKLOADS.values())
    for (machine, workload), mine in cells:
        assert cell_row(machine, workload, mine.droplevel(CELL)) in PAGE
    for row in candidate_rows():
        assert row in PAGE


def test_the_pages_counts_are_the_tables() -> None:
    lines = [*counted(stored("differences")), *counted(stored("networks"), ["player", "other"])]
    for line in [*lines, *counted(stored("ppo"))]:
        assert line in TEXT


def test_the_headline_is_the_tables() -> None:
    """The agent beside the hand rule, its power, and how much there is to find."""
    table = by_player()
    agent = table.xs(AGENT, level="player")
    for _, row in agent.iterrows():
        half = (row["high"] - row["low"]) / 2
        percent = 100 * detectable(half, row["weeks"]) / row["best_hand_score"]
        assert row["detectable_percent"] == pytest.approx(percent, rel=1e-3, abs=1e-3)
    counts = agent["verdict"].value_counts()
    better, worse = (int(counts.get(which, 0)) for which in (BETTER, WORSE))
    assert f"better in {better} and worse in {worse} of {len(agent)} cells" in TEXT
    low, middle, high = map(percent_shown, agent["detectable_percent"].quantile([0, 0.5, 1]))
    assert f"detectable difference {middle} % (median; {low} to {high} by cell)" in TEXT
    gains = {}
    for player in (NO_CONTENTION, TRUE_TIMES, CLAIRVOYANT, BOUND):
        mine = table.xs(player, level="player")
        gains[player] = [-percent_of(row) for _, row in mine.iterrows()]
    searched = table.xs(CLAIRVOYANT, level="player")["verdict"]
    assert f"better in {(searched == BETTER).sum()} of {len(searched)} cells" in TEXT
    assert f"by {range_of(gains[CLAIRVOYANT])}" in TEXT
    assert f"true run times alone gain {range_of(gains[TRUE_TIMES])}" in TEXT
    assert f"contention costs {range_of(gains[NO_CONTENTION])}" in TEXT
    assert f"The optimum is at most {range_of(gains[BOUND])} below" in TEXT


def test_cells_are_those_with_power() -> None:
    """Contention costs at least twice the half-width; less communication is not played."""
    table = stored("candidates")
    for row in table.to_dict("records"):
        twice = row["contention_percent"] >= 2 * row["half_width_percent"]
        assert row["power"] == ("yes" if twice else "no")
    power = table[table["power"] == "yes"]
    for name, work in WORKLOADS.items():
        assert tuple(work.fraction) == FRACTIONS[""]
        assert set(power[power["workload"] == name]["machine"]) == set(work.machines)
    rest = power[~power["workload"].isin(WORKLOADS)]
    n, dropped = len(table), int((table["power"] == "no").sum())
    assert f"{n} candidates, of which {dropped} were dropped" in TEXT
    assert f"{len(rest)} more have power and are not played" in TEXT
    # the cells of the run are candidates, with the same numbers
    differs = by_player().sort_index()
    for row in power[power["workload"].isin(WORKLOADS)].to_dict("records"):
        of = differs.loc[row["machine"], row["workload"]]
        cost, other = -percent_of(of.loc[NO_CONTENTION]), of.loc[NEXT]
        assert row["contention_percent"] == pytest.approx(cost, rel=2e-3)
        half = (percent_of(other, "high") - percent_of(other, "low")) / 2
        assert row["half_width_percent"] == pytest.approx(half, rel=2e-3)


def test_players_are_between_the_bounds() -> None:
    """By week: none is below the lower bound; the search is never above its beginning."""
    weeks = stored("weeks")
    held = weeks[weeks["part"] == "held out"]
    table = held.pivot(index=[*CELL, "week"], columns="player", values=METRIC)
    others = table.drop(columns=[BOUND, NO_CONTENTION])
    assert (others.min(axis=1) >= table[BOUND] - 1e-4).all()
    searched = table.dropna(subset=[CLAIRVOYANT])
    assert (searched[CLAIRVOYANT] <= searched[TRUE_TIMES] + 1e-6).all()
