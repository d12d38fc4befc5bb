"""The verdict as sentences; every number of them is in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isinf
from typing import Any

from cosim.isolation.phases import UNKNOWN
from cosim.measuring.steady import SHARES
from netcosim.gain.verdict import METRICS, PAPERS_PERCENT, overall
from netsim.units import format_quantity
from queuesim.statistics import LEAST_SAMPLES, interval_cells

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]


def interval(row: Row, name: str, form: str) -> str:
    """Return a number with its ends: ``1.02 (0.99 to 1.05)``; nothing is ``-0.0``."""
    value, low, high = interval_cells(row, name)
    if low is None or high is None:
        return f"{_rounded(value, form)} (no interval)"
    return f"{_rounded(value, form)} ({_rounded(low, form)} to {_rounded(high, form)})"


def _rounded(value: float, form: str) -> str:
    text = form.format(value)
    return text.removeprefix("-") if float(text) == 0 else text


def verdicts(tables: Tables) -> dict[str, str]:
    """One word a policy."""
    return {
        str(row["policy"]): overall(
            [m["verdict"] for m in tables["metrics"] if m["policy"] == row["policy"]]
        )
        for row in tables["gains"]
    }


def answer(tables: Tables) -> list[str]:
    """Return one line a policy: the verdict, and where it is open what would decide."""
    reference = tables["rests_on"][0]["reference"]
    lines = []
    for (name, verdict), gain in zip(verdicts(tables).items(), tables["gains"], strict=True):
        words = {str(m["verdict"]) for m in tables["metrics"] if m["policy"] == name}
        if verdict != UNKNOWN:
            lines.append(f"{name}: isolation {verdict} (against {reference})")
        elif words == {UNKNOWN}:
            effect = f"{name}: the effect of isolation is not significant (against {reference})"
            lines.append(f"{effect}{decides(gain)}")
        else:
            lines.append(f"{name}: {_disagree(name, tables)} (against {reference})")
    return lines


def _disagree(policy: str, tables: Tables) -> str:
    parts = [
        f"{METRICS[row['metric']]} {row['verdict']}"
        for row in tables["metrics"]
        if row["policy"] == policy
    ]
    return f"isolation by {', by '.join(parts)}"


def decides(gain: Row) -> str:
    """Return what would decide on a policy, as the end of a sentence; empty for a prediction."""
    more, seconds = gain.get("more_snapshots"), gain.get("more_s")
    if more is None:
        return ""
    if seconds is not None:
        about = f"about {format_quantity(float(seconds), 'time', 1)}"
        if not more:
            return f"; drawing the logs that an interval needs takes {about}"
        what = f"{more:.0f} more snapshot{'' if more == 1 else 's'}"
        if gain["gain_percent_low"] is None:
            return f"; an interval needs {what}, {about}"
        return f"; {what} would decide, {about}"
    if isinf(more):
        return "; more snapshots would not decide: scheduling noise is larger than the effect"
    return f"; about {more:.0f} more snapshots would decide, more than are looked at"


def lines_of(tables: Tables) -> list[str]:
    """All that the terminal shows, in one screen for one or two policies."""
    [about] = tables["rests_on"]
    lines = [*answer(tables)]
    jobs = f"{about['jobs']:,} jobs on {about['machine']}, {about['nodes']:,} nodes"
    lines += ["", f"{about['log']}: {jobs}"]
    for gain in tables["gains"]:
        lines += [f"{gain['policy']}:", f"  run time: {format_gain(gain)}"]
        for row in tables["metrics"]:
            if row["policy"] == gain["policy"]:
                lines.append(f"  {format_metric(row)}")
        for row in tables["node_hours"]:
            if row["policy"] == gain["policy"]:
                ratio = interval(row, "ratio", "{:.3f}")
                lines.append(f"  node-hours: {ratio} of {about['reference']}'s")
        shares = [row for row in tables["shares"] if row["policy"] == gain["policy"]]
        if shares:
            parts = [
                f"{_factor(row['factor'])}: {row['gain_percent']:.1f} %, {row['verdict']}"
                for row in shares
                if row["factor"] != 1
            ]
            lines.append(f"  by the predictor, at {'; at '.join(parts)}")
    return [*lines, "", *rests_on(tables)]


def _factor(factor: float) -> str:
    return {0.5: "half the share", 2.0: "double the share"}.get(factor, f"{factor:g} x the share")


def format_gain(row: Row) -> str:
    """Reduction of the run time by isolation."""
    gain = (
        f"{interval(row, 'gain_percent', '{:.1f}')} % less by node-hours, "
        f"{interval(row, 'by_job_percent', '{:.1f}')} by job-hours"
    )
    level = f"{100 * row['level']:g} %"
    if row["why"] == "predicted":
        return f"{gain}: PREDICTED without packets ({level} interval)"
    return (
        f"{gain}: packets at {row['snapshots']} snapshot{'' if row['snapshots'] == 1 else 's'}, "
        f"{row['jobs']} jobs "
        f"({level} interval; {row['why']})"
    )


def format_metric(row: Row) -> str:
    """A metric's ratio, its verdict, and the gain from which it would be even."""
    even = row["break_even_percent"]
    high = row["break_even_percent_high"]
    if even is None or even != even:
        broken = "a gain hardly changes it"
    elif high is not None and high <= 0:
        broken = "even without any gain"
    else:
        broken = f"even from a gain of {interval(row, 'break_even_percent', '{:.1f}')} %"
    papers = ", ".join(
        f"{row[f'at_{gain:g}_percent']:.3f} at {gain:g} %" for gain in PAPERS_PERCENT
    )
    ratio = interval(row, "ratio", "{:.3f}")
    return f"{METRICS[row['metric']]}: {ratio}, {row['verdict']}; {broken}; {papers}"


def rests_on(tables: Tables) -> list[str]:
    """What the answer rests on, and how sure it can be."""
    [about] = tables["rests_on"]
    seen = ""
    if about.get("share_drive") is not None:
        seen = (
            f"; it came out as {about['share_contended']:.2f} among the others and "
            f"{about['share_drive']:.2f} of the node's link"
        )
    lines = [
        f"It rests on: f = {about['fraction']:.2f} ({SHARES[about['share']]}){seen}; "
        f"{about['communicating_node_hours_percent']:.0f} % of the node-hours communicate; "
        f"nodes as {about['reference']} chooses them; {about['routing']}; node links of "
        f"{format_quantity(about['node_Bps'], 'bandwidth')}, the fabric's "
        f"{format_quantity(about['fabric_Bps'], 'bandwidth')}.",
        _scheduling_noise(int(about["drawn_logs"])),
    ]
    if about.get("outside"):
        lines.append(f"WARNING, outside of what the predictor was fitted on: {about['outside']}.")
    return lines


def _scheduling_noise(logs: int) -> str:
    if logs < LEAST_SAMPLES:
        return f"Scheduling noise not estimated ({logs} of {LEAST_SAMPLES} bootstrap logs drawn)."
    return f"Scheduling noise estimated from {logs} bootstrap logs, drawn from blocks of this one."
