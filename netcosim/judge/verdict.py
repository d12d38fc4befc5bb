"""The judge's verdict as sentences; every number of them is in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from netcosim.judge.score import describe_score
from netcosim.judge.waits import BADLY, EXACTLY, WELL
from netsim.units import format_quantity
from queuesim.statistics import LEAST_SAMPLES, NO_INTERVAL, Ends, interval_cells

MANY_PERCENT = 100.0
"""A time that is at least twice as long is printed as a multiple."""
RELIABLE = (EXACTLY, WELL)
"""Ratings of the simulated queue with which its waits can be relied on."""

SAVED = "taken_off_percent"
"""Column with the node-hours that a policy saves."""

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]


def number(value: float) -> str:
    """A percentage as a sentence has it: 12, 3.4, 0.02."""
    size = abs(value)
    text = f"{value:.0f}" if size >= 9.95 else f"{value:.1f}" if size >= 0.095 else f"{value:.2g}"
    return text.replace("-0.0", "0") if float(text) == 0 else text


def off_percent(row: Row, name: str) -> Ends:
    """How much less than under the reference, in percent: the mean and the ends, low to high."""
    value, low, high = interval_cells(row, name)
    if low is None or high is None:
        return 100 * (1 - value), None, None
    return 100 * (1 - value), 100 * (1 - high), 100 * (1 - low)


def format_change(found: Ends, what: str, less: str, more: str) -> str:
    """Describe a change.

    Parameters
    ----------
    found : Ends
        Percent less than under the reference
    what : str
        Of what: "communication".
    less, more : str
        Sentences with a place for the percentage: "shortens communication by {}".
    """
    value, low, high = found
    if low is None or high is None:
        return f"changes {what} by {_signed(-value)} % ({NO_INTERVAL})"
    if low == high == 0:
        return f"leaves {what} as it is"
    if low <= 0 <= high:
        ends = f"{_signed(-high)} to {_signed(-low)}"
        return f"does not change {what} significantly ({_signed(-value)} %, {ends})"
    if value > 0:
        return f"{less.format(number(value) + ' %')} ({number(low)} to {number(high)})"
    return f"{more.format(number(-value) + ' %')} ({number(-high)} to {number(-low)})"


def _signed(value: float) -> str:
    return f"+{number(value)}" if value > 0 else number(value)


def format_policy(policy: str, tables: Tables, waits: bool) -> str:
    """Describe in one sentence what a policy changes against the reference.

    Node-hours come first: they are the cost of a setting. Waits are left out where they cannot
    be relied on.
    """
    parts = []
    for row in tables.get("paired", ()):
        if row["policy"] == policy:
            less, more = "saves {} of the node-hours", "costs {} more node-hours"
            saved = interval_cells(row, SAVED)
            parts.append(format_change(saved, "node-hours", less, more))
    for row in tables.get("communication", ()):
        if (row["policy"], row["pattern"], row["nodes"]) == (policy, "all", "all"):
            parts.append(_timed(off_percent(row, "communication_ratio"), "communication"))
    if not parts:
        parts.append("no communication was measured: no job of several nodes ran at any snapshot")
    if waits:
        parts.append(_format_waits(policy, tables))
    return f"{policy} {'; '.join(parts)}."


def _format_waits(policy: str, tables: Tables) -> str:
    [row] = [row for row in tables["queue"] if row["policy"] == policy]
    if row["wait_ratio"] is None:
        waits = float(row["mean_wait_s"])
        return (
            "no job waits under either"
            if waits == 0
            else f"{format_duration(waits)} of mean wait, none before"
        )
    before, after = (
        format_duration(tables["queue"][0]["mean_wait_s"]),
        format_duration(row["mean_wait_s"]),
    )
    return f"{_timed(off_percent(row, 'wait_ratio'), 'the mean wait')}, {before} to {after}"


def format_duration(seconds: float) -> str:
    """A time as a sentence has it: 2.2 h."""
    return format_quantity(float(seconds), "time", 2)


def _timed(found: Ends, what: str) -> str:
    value, low, high = found
    if low is not None and high is not None and high < 0 and value <= -MANY_PERCENT:
        times = [number(1 - end / 100) for end in (value, high, low)]
        return f"makes {what} {times[0]} times as long ({times[1]} to {times[2]})"
    return format_change(found, what, f"shortens {what} by {{}}", f"lengthens {what} by {{}}")


def answer(tables: Tables, trusted: str) -> list[str]:
    """Return the verdict: the result, one sentence a policy, the score's quality, and the waits.

    Waits are printed only as far as the simulated queue reproduces the log's: with the policies
    where it does well, below its rating and by their direction where it does so roughly or no log
    knows, not at all where it does badly.

    Parameters
    ----------
    tables : mapping
    trusted : str
        How far waits can be relied on (`netcosim.judge.waits.trust`).
    """
    reference, *others = (str(row["policy"]) for row in tables["queue"])
    word = tables["reproduced"][0]["reproduces"]
    lines = [result(reference, tables)]
    lines += [format_policy(policy, tables, word in RELIABLE) for policy in others]
    lines += [format_score(row) for row in tables.get("score", ()) if row["pattern"] == "all"]
    lines.append(trusted)
    if word not in (*RELIABLE, BADLY):
        ways = "; ".join(f"{policy} {_direction(policy, tables)}" for policy in others)
        lines.append(f"Direction of the simulated mean wait against {reference}: {ways}.")
    return lines


def result(reference: str, tables: Tables) -> str:
    """Recommend a policy in one sentence: the one that saves most node-hours significantly."""
    saved = {str(row["policy"]): interval_cells(row, SAVED) for row in tables.get("paired", ())}
    known = {
        name: (low, high)
        for name, (_, low, high) in saved.items()
        if low is not None and high is not None
    }
    if not known:
        needs = f"an interval needs {LEAST_SAMPLES} snapshots and jobs (--snapshots, --first-jobs)"
        return f"No policy can be compared with {reference} yet: {needs}."
    better = [name for name, (low, _) in known.items() if low > 0]
    worse = [name for name, (_, high) in known.items() if high < 0]
    if better:
        best = max(better, key=lambda name: saved[name][0])
        most = _percent(saved[best][0], *known[best])
        return f"Use {best} instead of {reference}: it saves {most} of node-hours."
    if worse:
        ends = {name: (-saved[name][0], -known[name][1], -known[name][0]) for name in worse}
        costs = ", ".join(f"{name} costs {_percent(*found)}" for name, found in ends.items())
        return f"Keep {reference}: no policy saves node-hours, {costs} more."
    return f"Keep {reference}: no policy changes node-hours significantly."


def _percent(value: float, low: float, high: float) -> str:
    return f"{number(value)} % ({number(low)} to {number(high)})"


def _direction(policy: str, tables: Tables) -> str:
    """Return whether a policy shortens or lengthens the mean wait, without by how much."""
    [row] = [row for row in tables["queue"] if row["policy"] == policy]
    if row["wait_ratio"] is None:
        return "unchanged" if row["mean_wait_s"] == 0 else "longer"
    ratio, low, high = interval_cells(row, "wait_ratio")
    if low is None or high is None or low <= 1 <= high:
        return "not significant"
    return "shorter" if ratio < 1 else "longer"


def format_score(row: Row) -> str:
    """Describe the quality of counting switches, in one sentence."""
    rating = describe_score(row)
    if row["agree_percent"] is None or row["change_correlation"] is None:
        return f"The switch count {rating}."
    ends = ""
    if row["agree_low_percent"] is not None:
        ends = f" ({number(row['agree_low_percent'])} to {number(row['agree_high_percent'])})"
    return (
        f"Counting switches is {rating}: of two placements of a job the one with fewer switches "
        f"communicates faster in {number(row['agree_percent'])} %{ends} of cases, rank correlation "
        f"of the changes {row['change_correlation']:.2f}."
    )
