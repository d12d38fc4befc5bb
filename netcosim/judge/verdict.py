"""The judge's answer in words, every number of which stands in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from netcosim.judge.score import worth
from netcosim.judge.waits import BADLY, UNKNOWN
from netsim.units import format_quantity

MANY_PERCENT = 100.0
"""From twice as long on a time is told as a multiple."""

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]


def number(value: float) -> str:
    """A percentage as a sentence has it: 12, 3.4, 0.02."""
    size = abs(value)
    text = f"{value:.0f}" if size >= 9.95 else f"{value:.1f}" if size >= 0.095 else f"{value:.2g}"
    return text.replace("-0.0", "0") if float(text) == 0 else text


def off_percent(row: Row, name: str) -> tuple[float, float | None, float | None]:
    """How much less than under the reference, in percent: the mean and the ends, low to high."""
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    if low is None or high is None:
        return 100 * (1 - value), None, None
    return 100 * (1 - value), 100 * (1 - high), 100 * (1 - low)


def change_told(
    found: tuple[float, float | None, float | None], what: str, less: str, more: str
) -> str:
    """A change in words.

    Parameters
    ----------
    found : (value, low, high)
        Percent less than under the reference.
    what : str
        Of what: "communication".
    less, more : str
        Sentences with a place for the percentage: "shortens communication by {}".
    """
    value, low, high = found
    if low is None or high is None:
        return f"{what}: cannot be told ({_signed(-value)} % in the one sample there is)"
    if low == high == 0:
        return f"leaves {what} as it is"
    if low <= 0 <= high:
        ends = f"{_signed(-high)} to {_signed(-low)}"
        return f"makes no difference in {what} that can be told ({_signed(-value)} %, {ends})"
    if value > 0:
        return f"{less.format(number(value) + ' %')} ({number(low)} to {number(high)})"
    return f"{more.format(number(-value) + ' %')} ({number(-high)} to {number(-low)})"


def _signed(value: float) -> str:
    return f"+{number(value)}" if value > 0 else number(value)


def policy_told(policy: str, tables: Tables) -> str:
    """What a policy changes against the reference, in one sentence."""
    everything = [
        row
        for row in tables.get("communication", ())
        if (row["policy"], row["pattern"], row["nodes"]) == (policy, "all", "all")
    ]
    parts = []
    for row in everything:
        told = off_percent(row, "communication_ratio")
        parts.append(_timed(told, "communication"))
    for row in tables.get("paired", ()):
        if row["policy"] == policy:
            saved = [row[f"taken_off_percent{end}"] for end in ("", "_low", "_high")]
            less, more = "saves {} of the node-hours", "costs {} more node-hours"
            parts.append(change_told((saved[0], saved[1], saved[2]), "node-hours", less, more))
    if not parts:
        parts.append("communication: cannot be told (no job that communicates was seen)")
    return f"{policy} {'; '.join([*parts, _waits_told(policy, tables)])}"


def _waits_told(policy: str, tables: Tables) -> str:
    [row] = [row for row in tables["queue"] if row["policy"] == policy]
    if row["wait_ratio"] is None:
        waits = float(row["mean_wait_s"])
        return (
            "nobody waits under either"
            if waits == 0
            else f"{told_s(waits)} of mean wait, none before"
        )
    before, after = told_s(tables["queue"][0]["mean_wait_s"]), told_s(row["mean_wait_s"])
    return f"{_timed(off_percent(row, 'wait_ratio'), 'the mean wait')}, {before} to {after}"


def told_s(seconds: float) -> str:
    """A time as a sentence has it: 2.2 h."""
    return format_quantity(float(seconds), "time", 2)


def _timed(found: tuple[float, float | None, float | None], what: str) -> str:
    value, low, high = found
    if low is not None and high is not None and high < 0 and value <= -MANY_PERCENT:
        times = [number(1 - end / 100) for end in (value, high, low)]
        return f"makes {what} {times[0]} times as long ({times[1]} to {times[2]})"
    return change_told(found, what, f"shortens {what} by {{}}", f"lengthens {what} by {{}}")


def answer(tables: Tables) -> list[str]:
    """The answer: one sentence on all policies, what weakens it, and what the score is worth."""
    reference, *others = (str(row["policy"]) for row in tables["queue"])
    lines = [
        f"Against {reference}: " + ". ".join(policy_told(policy, tables) for policy in others) + "."
    ]
    word = tables["reproduced"][0]["reproduces"]
    if word == BADLY:
        lines.append(
            "Cannot be told: what this means for waiting, since the simulated queue does not "
            "reproduce the waits of the log (below)."
        )
    elif word == UNKNOWN:
        lines.append("Nobody can check the waits: the log has too few of its own (below).")
    for row in tables.get("score", ()):
        if row["pattern"] == "all":
            lines.append(score_told(row))
    return lines


def score_told(row: Row) -> str:
    """What counting switches is worth, in one sentence."""
    told = worth(row)
    if row["agree_percent"] is None or row["change_correlation"] is None:
        return f"Whether counting switches is worth anything {told}."
    ends = ""
    if row["agree_low_percent"] is not None:
        ends = f" ({number(row['agree_low_percent'])} to {number(row['agree_high_percent'])})"
    return (
        f"Counting switches is {told}: of two placements of a job the one with fewer switches "
        f"communicates faster in {number(row['agree_percent'])} %{ends} of cases, rank correlation "
        f"of the changes {row['change_correlation']:.2f}."
    )
