"""The answer in words, every number of which stands in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from netcosim.gain.verdict import METRICS, PAPERS_PERCENT, overall
from netsim.units import format_quantity
from queuesim.steady import SHARES

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]


def interval(row: Row, name: str, form: str) -> str:
    """A number with its ends: ``1.02 (0.99 to 1.05)``."""
    value = form.format(row[name])
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if low is None or high is None:
        return f"{value} (no interval)"
    return f"{value} ({form.format(low)} to {form.format(high)})"


def verdicts(tables: Tables) -> dict[str, str]:
    """One word a policy."""
    return {
        str(row["policy"]): overall(
            [m["verdict"] for m in tables["metrics"] if m["policy"] == row["policy"]]
        )
        for row in tables["gains"]
    }


def answer(tables: Tables) -> list[str]:
    """One line a policy: the verdict."""
    reference = tables["rests_on"][0]["reference"]
    return [
        f"{name}: isolation {said} (against {reference})" for name, said in verdicts(tables).items()
    ]


def lines_of(tables: Tables) -> list[str]:
    """All that the terminal shows, in one screen for one or two policies."""
    [about] = tables["rests_on"]
    lines = [
        f"{about['log']}: {about['jobs']:,} jobs on {about['machine']}, {about['nodes']:,} nodes"
    ]
    for told, gain in zip(answer(tables), tables["gains"], strict=True):
        lines += ["", told, f"  run time: {gain_told(gain)}"]
        for row in tables["metrics"]:
            if row["policy"] == gain["policy"]:
                lines.append(f"  {metric_told(row)}")
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


def gain_told(row: Row) -> str:
    """What isolation takes off the run time."""
    gain = (
        f"{interval(row, 'gain_percent', '{:.1f}')} % less by node-hours, "
        f"{interval(row, 'by_job_percent', '{:.1f}')} by job-hours"
    )
    level = f"{100 * row['level']:g} %"
    if row["why"] == "predicted":
        return f"{gain}: PREDICTED without packets ({level} interval)"
    return (
        f"{gain}: packets at {row['snapshots']} snapshots, {row['jobs']} jobs "
        f"({level} interval; {row['why']})"
    )


def metric_told(row: Row) -> str:
    """A metric's ratio, its verdict, and the gain from which it would be even."""
    even = row["break_even_percent"]
    if even is None or even != even:
        broken = "a gain hardly changes it"
    elif row["break_even_percent_high"] is None or row["break_even_percent_high"] <= 0:
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
        f"The queue's own chance: {about['drawn_logs']} logs drawn again from blocks of this one.",
    ]
    if about.get("outside"):
        lines.append(f"WARNING, outside of what the predictor was fitted on: {about['outside']}.")
    return lines
