"""Means, the best hand rule, and differences to it, paired by week."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from experiments.learning.clairvoyant import BOUND, CLAIRVOYANT, TRUE_TIMES
from experiments.learning.play import PPO
from experiments.learning.points import (
    AGENT,
    BLIND,
    NO_CONTENTION,
    ORDER_ALONE,
    PLACING_ALONE,
    RANDOM,
)
from queuesim.statistics import LEAST_SAMPLES, LEVEL, Interval, t_interval, t_quantile

CELL = ["machine", "workload"]
NEXT, HINDSIGHT = "next hand rule", "best in hindsight"
"""The second best of the training weeks; the best of the held-out weeks."""
PLAYERS = (
    *(AGENT, f"{AGENT}, {ORDER_ALONE}", f"{AGENT}, {PLACING_ALONE}"),
    *(BLIND, f"{BLIND}, {ORDER_ALONE}", PPO, RANDOM),
)
REFERENCES = (NEXT, HINDSIGHT, NO_CONTENTION, TRUE_TIMES, CLAIRVOYANT, BOUND)
"""PLAYERS, REFERENCES: What is compared with the best hand rule; the latter know more, or are none
that could be played."""
BETTER, WORSE, NOT_SIGNIFICANT = "better", "worse", "not significant"
POWER = 0.8
"""How often a difference as large as `detectable` would come out significant."""


def word(difference: Interval) -> str:
    """Return the verdict of a difference, where less is better."""
    if difference.high < 0:
        return BETTER
    return WORSE if difference.low > 0 else NOT_SIGNIFICANT


def detectable(half_width: float, n: int, level: float = LEVEL) -> float:
    """Return the least true difference that n pairs find significant with power `POWER`.

    From the half-width of Student's interval, t s / sqrt(n): the quantile of the power joins that
    of the level (Cohen, Statistical Power Analysis for the Behavioral Sciences, 1988, chapter 2).
    """
    if n < LEAST_SAMPLES:
        return float("nan")
    return half_width * (1 + t_quantile(2 * POWER - 1, n - 1) / t_quantile(level, n - 1))


def is_hand(player: str) -> bool:
    """Return whether a player is a hand rule: an order + a placement."""
    return " + " in player


def differences(weeks: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return a row a cell and of both: it beside the best hand rule, held-out weeks.

    That rule is the one of the least mean on the training weeks. Of a player of some of the weeks
    both scores are of these.
    """
    rows = []
    for (machine, workload), mine in weeks.groupby(CELL, sort=False):
        held = _by_week(mine[mine["part"] == "held out"], metric)
        trained = _by_week(mine[mine["part"] == "training"], metric).mean()
        hands = [player for player in held.columns if is_hand(player)]
        if not hands:
            continue
        best, *others = trained[hands].sort_values(kind="stable").index
        which = {HINDSIGHT: held[hands].mean().idxmin(), NEXT: others[0] if others else best}
        for player in (*PLAYERS, *REFERENCES):
            name = which.get(player, player)
            if name not in held.columns or (known := held[name].notna()).sum() == 0:
                continue
            pair = held[known]
            row = {"machine": machine, "workload": workload, "player": player, "is": name}
            row |= {"weeks": len(pair), "score": float(pair[name].mean())}
            row |= {"best_hand": best, "best_hand_score": float(pair[best].mean())}
            rows.append(row | _beside(pair, str(name), str(best)))
    return pd.DataFrame(rows)


def between(weeks: pd.DataFrame, metric: str, one: str, other: str) -> pd.DataFrame:
    """Return a row a cell: one player less another on held-out weeks, paired."""
    rows = []
    for (machine, workload), mine in weeks.groupby(CELL, sort=False):
        held = _by_week(mine[mine["part"] == "held out"], metric)
        if not {one, other} <= set(held.columns):
            continue
        row = {"machine": machine, "workload": workload, "player": one, "other": other}
        row |= {"weeks": len(held), "score": float(held[one].mean())}
        row |= {"other_score": float(held[other].mean())}
        rows.append(row | _beside(held, one, other))
    return pd.DataFrame(rows)


def _beside(held: pd.DataFrame, one: str, other: str) -> dict[str, object]:
    """Return one player less another and over it, paired by the weeks that are the table's rows."""
    off = t_interval(held[one] - held[other])
    positive = bool((held[[one, other]] > 0).all(axis=None))
    logs = np.log(held[one] / held[other]) if positive else held[one] * np.nan
    ratio = np.exp(list(t_interval(logs))).tolist()
    cells: dict[str, object] = {"difference": off.value, "low": off.low, "high": off.high}
    cells["verdict"] = word(off)
    least = detectable(off.high - off.value, len(held))
    cells["detectable_percent"] = 100 * least / float(held[other].mean())
    return cells | dict(zip(("ratio", "ratio_low", "ratio_high"), ratio, strict=True))


def cell_lines(table: pd.DataFrame) -> list[str]:
    """Return a line a cell: the best hand rule, and what others are below and above it."""
    lines = []
    for (machine, workload), mine in table.groupby(CELL, sort=False):
        percent = (100 * mine["difference"] / mine["best_hand_score"]).set_axis(mine["player"])
        others = ", ".join(
            f"{player} {percent[player]:+.1f} %"
            for player in (AGENT, NO_CONTENTION, CLAIRVOYANT, BOUND)
            if player in percent
        )
        hand = mine.iloc[0]
        lines.append(
            f"{machine}, {workload}: {hand['best_hand']} {hand['best_hand_score']:.2f}; {others}"
        )
    return lines


def counted(table: pd.DataFrame, by: Sequence[str] = ("player",)) -> list[str]:
    """Return a line a player: in how many cells it is better and worse than the other.

    The detectable difference is the range over cells, in percent of the score beside. There is
    none for `REFERENCES`.
    """
    lines = []
    for names, mine in table.groupby(list(by), sort=False):
        if names[0] in REFERENCES:
            continue
        counts = mine["verdict"].value_counts()
        better, worse = (counts.get(which, 0) for which in (BETTER, WORSE))
        percent = 100 * (float(np.exp(np.mean(np.log(list(mine["ratio"]))))) - 1)
        lines.append(
            f"{' beside '.join(map(str, names))}: better in {better}, worse in {worse} of "
            f"{len(mine)} cells; geometric mean over cells {percent:+.1f} %"
            f"{_power(mine['detectable_percent'])}"
        )
    return lines


def _power(percent: pd.Series) -> str:
    known = percent.dropna()
    if known.empty:
        return ""
    low, middle, high = map(percent_shown, known.quantile([0, 0.5, 1]))
    return f"; detectable difference {middle} % (median; {low} to {high} by cell)"


def percent_shown(percent: float) -> str:
    """Return a percentage with a decimal below 10."""
    return f"{percent:.1f}" if percent < 10 else f"{percent:,.0f}"


def _by_week(mine: pd.DataFrame, metric: str) -> pd.DataFrame:
    return mine.pivot(index="week", columns="player", values=metric)
