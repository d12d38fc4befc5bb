"""Findings of a run, as sentences; every number of them is in the table of policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netcosim.report.recommendation import Recommendation, format_duration, number
from netcosim.runs.store import Rows
from netcosim.study.samples import format_more, more_to_decide, samples_to_decide
from queuesim.statistics import LEAST_SAMPLES, NO_INTERVAL, Interval

Row = Mapping[str, Any]

REDRAWN = (
    "Intervals of waits come from {resamples} {jobs}, the same under every policy. Measured "
    "speed-ups are held fixed."
)
SAMPLING_VARIATION = (
    "Waits have no interval: each policy has one schedule of one sequence of jobs, and small "
    "differences may be sampling variation. --resamples 200 or a sweep over run.seed measures it."
)
SILENT = "Communication was not measured: no packets were sent (run.snapshots = 0)."


def reference_label(tables: Mapping[str, Rows]) -> str:
    """Describe what the ratios of a run are relative to."""
    return str(tables["policies"][0].get("relative_to", "")).removesuffix(" at the same point")


def run_recommendation(
    tables: Mapping[str, Rows], snapshots: int, seconds: float
) -> Recommendation:
    """Return the first finding with its limits.

    Parameters
    ----------
    tables : mapping
        Of a run: "policies", and "reference" where that is none of them.
    seconds : float
        That the run took.
    """
    label, (_, others) = reference_label(tables), _compared(tables)
    known = {str(row["policy"]): ratio for row in others if (ratio := _interval(row)) is not None}
    needs = {
        name: samples_to_decide(ratio, snapshots)
        for name, ratio in known.items()
        if ratio.low <= 1 <= ratio.high
    }
    more = more_to_decide(needs.values(), snapshots)
    step = (
        "Write seed = [1, 2, 3, 4, 5] under [run] and use netcosim sweep: other jobs, same rules."
    )
    if more is not None:
        took = seconds * (snapshots + more) / snapshots
        easiest = min(needs, key=lambda name: needs[name])
        step = f"{format_more(more, 'snapshot', took)}, on communication under {easiest}."
    stated = limits(tables)
    if any("communication_ratio" in row for row in others):
        measured = any(row.get("communication_ratio") is not None for row in others)
        rating = stated[0] if measured and not known else ""
    else:
        rating = SAMPLING_VARIATION if others and SAMPLING_VARIATION in stated else ""
    return Recommendation(
        findings(tables)[0],
        " ".join(line for line in stated if line != rating),
        f"Compared with {label}, for the jobs and traffic of this config.",
        step,
        rating,
        reliable=not rating,
    )


def _interval(row: Row) -> Interval | None:
    ends = _ends(row)
    return None if ends is None else Interval(float(row["communication_ratio"]), *ends)


def findings(tables: Mapping[str, Rows]) -> list[str]:
    """Return a sentence for each policy that is compared, the largest gain first."""
    label, (base, others) = reference_label(tables), _compared(tables)
    if not others:
        return [f"{label} is the only policy: there is nothing to compare it with."]
    return [_policy(row, label, base) for row in sorted(others, key=_gain)]


def limits(tables: Mapping[str, Rows]) -> list[str]:
    """Return what the findings do not cover."""
    others = _compared(tables)[1]
    waits = _on_waits(tables)
    if not any("communication_ratio" in row for row in tables["policies"]):
        return [SILENT, waits] if others else [SILENT]
    return [*_on_intervals(others), waits] if others else []


def _on_waits(tables: Mapping[str, Rows]) -> str:
    redrawn = tables.get("queue_intervals", ())
    return REDRAWN.format(**redrawn[0]) if redrawn else SAMPLING_VARIATION


def _compared(tables: Mapping[str, Rows]) -> tuple[Row | None, list[Row]]:
    """Return the reference's row, and those of the policies that are compared with it."""
    rows: list[Row] = list(tables["policies"])
    elsewhere: list[Row] = list(tables.get("reference", ()))
    label = reference_label(tables)
    base = elsewhere or [row for row in rows if row["policy"] == label]
    others = [row for row in rows if row["policy"] != label]
    return (base[0] if base else None), others


def _gain(row: Row) -> tuple[bool, float]:
    """Sort significant gains first, then by the shortest communication, or wait."""
    ratio = row.get("communication_ratio")
    undecided = ratio is not None and _undecided(row)
    if "communication_ratio" not in row:
        undecided = _undecided(row, "wait_ratio")
    key = ratio if ratio is not None else row.get("wait_ratio")
    return undecided, float("inf") if key is None else float(key)


def _ends(row: Row, ratio: str = "communication_ratio") -> tuple[float, float] | None:
    low, high = row.get(f"{ratio}_low"), row.get(f"{ratio}_high")
    return None if low is None or high is None else (float(low), float(high))


def _undecided(row: Row, ratio: str = "communication_ratio") -> bool:
    ends = _ends(row, ratio)
    return ends is not None and ends[0] <= 1 <= ends[1] and ends[0] < ends[1]


def _policy(row: Row, label: str, base: Row | None) -> str:
    name, waits = str(row["policy"]), _waits(row, label, base)
    if "communication_ratio" not in row:
        return f"{name} {waits[0]} against {label}{waits[1]}."
    ratio, ends = row["communication_ratio"], _ends(row)
    joined = f"; it {waits[0]}{waits[1]}."
    if ratio is None:
        return f"{name}: no job that communicates was seen at its snapshots{joined}"
    if _undecided(row) and ends is not None:
        change = f"is not significantly different from {label} in communication"
        return f"{name} {change} ({ends[0]:.2f} to {ends[1]:.2f}){joined}"
    percent = 100 * (1 - float(ratio))
    if ends is None:
        verb = "shorter" if percent > 0 else "longer"
        change = f"communication is {number(abs(percent))} % {verb} than under {label}"
        return f"{name}: {change} ({NO_INTERVAL}){joined}"
    if ends[0] == ends[1] == 1:
        return f"{name} does not change communication under {label}{joined}"
    low, high = sorted(abs(100 * (1 - end)) for end in ends)
    verb = "shortens" if percent > 0 else "lengthens"
    change = f"by {number(abs(percent))} % ({number(low)} to {number(high)}) against {label}"
    return f"{name} {verb} communication {change}{joined}"


def _waits(row: Row, label: str, base: Row | None) -> tuple[str, str]:
    """Describe what a policy does to waits, and from what to what."""
    wait, ratio = float(row["mean_wait_s"]), row.get("wait_ratio")
    if ratio is None:
        if wait == 0:
            return "has no waiting jobs", f", as {label}"
        return (
            f"lets jobs wait {format_duration(wait)} in the mean",
            f" where none waits under {label}",
        )
    percent = 100 * (1 - float(ratio))
    before = (
        ""
        if base is None
        else f", from {format_duration(base['mean_wait_s'])} to {format_duration(wait)}"
    )
    if abs(percent) < 0.05:
        return "leaves mean waits as they are", ""
    ends = _ends(row, "wait_ratio")
    if ends is not None and _undecided(row, "wait_ratio"):
        change = "does not change mean waits significantly"
        return f"{change} (ratio {ends[0]:.2f} to {ends[1]:.2f})", before
    verb = "shortens" if percent > 0 else "lengthens"
    change = f"{verb} mean waits by {number(abs(percent))} %"
    if ends is not None:
        low, high = sorted(100 * (1 - end) if percent > 0 else 100 * (end - 1) for end in ends)
        change += f" ({number(low)} to {number(high)})"
    return change, before


def _on_intervals(rows: list[Row]) -> list[str]:
    if any(_ends(row) is not None for row in rows):
        return [
            "In brackets: the interval of communication in percent, or of its ratio, from drawing "
            "whole snapshots again. If the ratio's holds 1, the difference is not significant."
        ]
    if any(row.get("communication_ratio") is not None for row in rows):
        least = f"at least {LEAST_SAMPLES} snapshots (run.snapshots) and jobs"
        return [f"An interval, and so a comparison, needs {least}."]
    return []
