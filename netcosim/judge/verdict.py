"""The judge's verdict as sentences; every number of them is in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from netcosim.judge.score import describe_score
from netcosim.judge.waits import BADLY, EXACTLY, WELL
from netcosim.report.recommendation import Recommendation, format_duration, number
from netcosim.study.samples import format_more, more_to_decide, samples_to_decide
from queuesim.statistics import LEAST_SAMPLES, NO_INTERVAL, Ends, Interval, interval_cells

MANY_PERCENT = 100.0
"""A time that is at least twice as long is printed as a multiple."""
RELIABLE = (EXACTLY, WELL)
"""Ratings of the simulated queue with which its waits can be relied on."""

REPLAY = "replay"
"""The policy that places jobs as the log has them."""
SAVED = "taken_off_percent"
"""Column with the node-hours that a policy saves."""

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]


def off_percent(row: Row, name: str) -> Ends:
    """Return how much less than the reference in percent: the mean and the ends, low to high."""
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


def _timed(found: Ends, what: str) -> str:
    value, low, high = found
    if low is not None and high is not None and high < 0 and value <= -MANY_PERCENT:
        times = [number(1 - end / 100) for end in (value, high, low)]
        return f"makes {what} {times[0]} times as long ({times[1]} to {times[2]})"
    return format_change(found, what, f"shortens {what} by {{}}", f"lengthens {what} by {{}}")


def recommend(
    tables: Tables, trusted: str, snapshots: int, seconds: float, *, assumed: bool
) -> Recommendation:
    """Return which policy to use, by node-hours; waits count only where they are reliable.

    Parameters
    ----------
    trusted : str
        How far waits can be relied on (`netcosim.judge.waits.rate_waits`).
    seconds : float
        That all of it took.
    assumed : bool
        Whether the judge assumes what jobs send.
    """
    reference = str(tables["queue"][0]["policy"])
    known = {
        str(row["policy"]): Interval(*interval_cells(row, SAVED))  # type: ignore[arg-type]
        for row in tables.get("paired", ())
        if row[f"{SAVED}_low"] is not None
    }
    ends = [f"{name} {_ends(saved)} %" for name, saved in known.items()]
    if best := _best(known):
        ends = [f"{_ends(known[best])} % of the node-hours"]
    return Recommendation(
        _sentence(reference, known, tables),
        f"{'; '.join(ends)} (95 %), from {snapshots} snapshots." if known else "",
        _condition(tables, assumed),
        _next_step(known, snapshots, seconds),
        trusted,
    )


def _sentence(reference: str, known: Mapping[str, Interval], tables: Tables) -> str:
    if not known:
        return f"No policy can be compared with {reference} yet."
    keep = "Keep the present placement" if reference == REPLAY else f"Keep {reference}"
    if best := _best(known):
        saved = f"saves {number(known[best].value)} % of the node-hours compared with {reference}"
        if waits := _longer_waits(best, tables):
            return f"{best} {saved}, but {waits}: weigh one against the other."
        return f"Use {best}: it {saved}."
    worse = [name for name, saved in known.items() if saved.high < 0]
    if not worse:
        return f"{keep}: no other policy changes node-hours significantly."
    costs = ", ".join(f"{name} costs {number(-known[name].value)} % more" for name in worse)
    return f"{keep}: no other policy saves node-hours; {costs}."


def _best(known: Mapping[str, Interval]) -> str:
    """Return the policy that saves most node-hours, of those that save some significantly."""
    better = [name for name, saved in known.items() if saved.low > 0]
    return max(better, key=lambda name: known[name].value, default="")


def _longer_waits(policy: str, tables: Tables) -> str:
    """Return by how much waits are longer, where they can be relied on and are so significantly."""
    if tables["reproduced"][0]["reproduces"] not in RELIABLE:
        return ""
    return _format_waits(policy, tables) if _direction(policy, tables) == "longer" else ""


def _ends(found: Interval) -> str:
    return f"{number(found.low)} to {number(found.high)}"


def _condition(tables: Tables, assumed: bool) -> str:
    shares = [r["communication_fraction"] for r in tables.get("fraction", ()) if r["assumed"]]
    share = f": {100 * shares[0]:.0f} % of the run time" if shares else ""
    if assumed:
        return f"What jobs send is assumed, not in the log{share}; all savings scale with it."
    return f"Jobs communicate as the config has it{share}; all savings scale with that."


def _next_step(known: Mapping[str, Interval], snapshots: int, seconds: float) -> str:
    if not known:
        return f"An interval needs {LEAST_SAMPLES} snapshots and jobs (--snapshots, --first-jobs)."
    ratios = {name: Interval(*(1 - x / 100 for x in saved)) for name, saved in known.items()}
    needs = {
        name: samples_to_decide(Interval(value, *sorted(ends)), snapshots)
        for name, (value, *ends) in ratios.items()
        if known[name].low <= 0 <= known[name].high
    }
    # other instants are measured if there are more of them, so all are measured again
    more = more_to_decide(needs.values(), snapshots)
    if more is not None:
        total = snapshots + more
        took = format_more(more, "snapshot", seconds * total / snapshots)
        easiest = min(needs, key=lambda name: needs[name])
        return f"{took}, on {easiest}: --snapshots {total}."
    if needs and not _best(known):
        most = max(max(abs(known[name].low), abs(known[name].high)) for name in needs)
        return f"More snapshots would hardly decide: any difference is below {number(most)} %."
    again = f"about {format_duration(seconds)}"
    return f"Set what your jobs send, [[communication.mix]] in judge.toml; judge again, {again}."


def details(tables: Tables) -> list[str]:
    """Return one sentence a policy, and the score's quality.

    Waits are printed only as far as the simulated queue reproduces the log's: with the policies
    where it does well, by their direction where it does so roughly or no log knows, not at all
    where it does badly. They belong below the rating.
    """
    reference, *others = (str(row["policy"]) for row in tables["queue"])
    word = tables["reproduced"][0]["reproduces"]
    lines = [format_policy(policy, tables, word in RELIABLE) for policy in others]
    lines += [format_score(row) for row in tables.get("score", ()) if row["pattern"] == "all"]
    if word not in (*RELIABLE, BADLY):
        ways = "; ".join(f"{policy} {_direction(policy, tables)}" for policy in others)
        lines.append(f"Direction of the simulated mean wait against {reference}: {ways}.")
    return lines


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
