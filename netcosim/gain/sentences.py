"""The verdict as sentences; every number of them is in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isinf
from typing import Any

from cosim.isolation.phases import NOT, PAYS, UNKNOWN
from cosim.parameters import SHARES
from netcosim.gain.verdict import METRICS, PAPERS_PERCENT, overall
from netcosim.report.recommendation import Recommendation
from netcosim.study.samples import format_more
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
    """Return one word a policy."""
    return {
        str(row["policy"]): overall(
            [m["verdict"] for m in tables["metrics"] if m["policy"] == row["policy"]]
        )
        for row in tables["gains"]
    }


def recommend(tables: Tables) -> Recommendation:
    """Return whether to isolate jobs, by the policy with the best verdict and turnaround."""
    [about] = tables["rests_on"]
    reference, words = str(about["reference"]), verdicts(tables)
    metrics = {name: [m for m in tables["metrics"] if m["policy"] == name] for name in words}
    order = (PAYS, UNKNOWN, NOT)
    best = min(words, key=lambda n: (order.index(words[n]), sum(m["ratio"] for m in metrics[n])))
    clear = [row for row in metrics[best] if row["verdict"] != UNKNOWN]
    changes = " and ".join(map(_change, clear))
    if not clear:
        sentence = f"Keep {reference} for now: isolation with {best} has no significant effect."
    elif words[best] == PAYS:
        sentence = f"Isolate jobs with {best}: {changes} than with {reference}."
    elif words[best] == NOT:
        sentence = f"Keep {reference}: isolating jobs with {best} makes the {changes}."
    else:
        sentence = f"Isolating jobs with {best} is a trade-off against {reference}: {changes}."
    [gain] = [row for row in tables["gains"] if row["policy"] == best]
    outside, logs = about.get("outside"), int(about["drawn_logs"])
    share = f"{100 * about['fraction']:.0f} % of their time (share: {about['share']})"
    sends = "Set what your jobs send under [communication] in the config, and run it again."
    if gain["why"] == "predicted":
        sends = "Leave out --predict: packets then measure the gain."
    beyond = f"WARNING, outside of what the predictor was fitted on: {outside}. " if outside else ""
    return Recommendation(
        sentence,
        "; ".join(_percent_ends(row) for row in metrics[best])
        + f" ({100 * gain['level']:g} % intervals)",
        f"Jobs that communicate do so for {share}; more or less of it changes the answer.",
        _as_sentence(decides(gain)) or sends,
        beyond + _scheduling_noise(logs),
        reliable=not outside and logs >= LEAST_SAMPLES,
    )


def _as_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _change(row: Row) -> str:
    percent = 100 * (row["ratio"] - 1)
    return f"{METRICS[row['metric']]} {abs(percent):.2g} % {'shorter' if percent < 0 else 'longer'}"


def _percent_ends(row: Row) -> str:
    _, low, high = interval_cells(row, "ratio")
    if low is None or high is None:
        return f"{METRICS[row['metric']]}: no interval"
    ends = " to ".join(_rounded(100 * (end - 1), "{:+.1f}") for end in (low, high))
    return f"{METRICS[row['metric']]} {ends} %"


def decides(gain: Row) -> str:
    """Return what would decide on a policy; empty where it is decided, or for a prediction."""
    more, seconds = gain.get("more_snapshots"), gain.get("more_s")
    if more is None:
        return ""
    if seconds is not None:
        if not more:
            about = f"about {format_quantity(float(seconds), 'time', 1)}"
            return f"drawing the logs that an interval needs takes {about}"
        effect = "would give an interval" if gain["gain_percent_low"] is None else "would decide"
        return format_more(more, "snapshot", float(seconds), effect)
    if isinf(more):
        return "more snapshots would not decide: scheduling noise is larger than the effect"
    return f"about {more:.0f} more snapshots would decide, more than are looked at"


def lines_of(tables: Tables) -> list[str]:
    """Return the terminal's lines below the recommendation: one screen for one or two policies."""
    [about] = tables["rests_on"]
    jobs = f"{about['jobs']:,} jobs on {about['machine']}, {about['nodes']:,} nodes"
    lines, words = ["", f"{about['log']}: {jobs}"], verdicts(tables)
    for gain in tables["gains"]:
        lines.append(f"{gain['policy']}, isolation {words[str(gain['policy'])]}:")
        lines.append(f"  run time: {format_gain(gain)}")
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
    return [*lines, "", rests_on(tables)]


def _factor(factor: float) -> str:
    return {0.5: "half the share", 2.0: "double the share"}.get(factor, f"{factor:g} x the share")


def format_gain(row: Row) -> str:
    """Format the reduction of the run time by isolation."""
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
    """Format a metric's ratio, its verdict, and the gain from which it would be even."""
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


def rests_on(tables: Tables) -> str:
    """Describe the data and assumptions of the answer."""
    [about] = tables["rests_on"]
    seen = ""
    if about.get("share_drive") is not None:
        seen = (
            f"; it came out as {about['share_contended']:.2f} among the others and "
            f"{about['share_drive']:.2f} of the node's link"
        )
    return (
        f"It rests on: f = {about['fraction']:.2f} ({SHARES[about['share']]}){seen}; "
        f"{about['communicating_node_hours_percent']:.0f} % of the node-hours communicate; "
        f"nodes as {about['reference']} chooses them; {about['routing']}; node links of "
        f"{format_quantity(about['node_Bps'], 'bandwidth')}, the fabric's "
        f"{format_quantity(about['fabric_Bps'], 'bandwidth')}."
    )


def _scheduling_noise(logs: int) -> str:
    if logs < LEAST_SAMPLES:
        return f"Scheduling noise not estimated ({logs} of {LEAST_SAMPLES} bootstrap logs drawn)."
    return f"Scheduling noise estimated from {logs} bootstrap logs, drawn from blocks of this one."
