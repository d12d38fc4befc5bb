"""Schedules measured again: run times change schedules, and schedules what is measured of them.

The meaning of a log's run time determines what is measured. Under the reference policy
("contended-baseline") the reference's schedule is the log's in every round, and a policy's answers
with the nodes that its jobs have in its new schedule. In isolation ("isolated") the reference's
jobs run as much longer as they are delayed, so its schedule, and which jobs delay which, changes
too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cosim.measuring.measured import SpeedupTable
from cosim.measuring.pairs import over, speedup_rows
from cosim.measuring.snapshots import Measurement, Study
from cosim.parameters import ISOLATED
from netsim.errors import NetcosimError
from queuesim.metrics import summarise
from queuesim.result import QueueResult, Rows

ALONE = "isolated on the reference's nodes"
"""What a table's ratios are relative to, instead of a policy, if logged times are isolated."""

Rounds = Sequence[tuple[Measurement, Mapping[str, QueueResult]]]
"""What was measured, and the schedules with the run times that follow from it, by round."""


def isolated_speedups(
    found: Measurement, study: Study, rng: Callable[[], np.random.Generator]
) -> SpeedupTable:
    """Return run times under every side over those isolated on the reference's nodes."""
    if "pairs" not in found.tables or not found.table.of_run_times:
        raise NetcosimError(
            f'queue.measured.runtime_reference = "{ISOLATED}" needs whole runs: run.measure = '
            '"steady", or "paired" with communication.together = "by-share"'
        )
    rows: Sequence[Mapping[str, Any]] = found.tables["pairs"]
    first = rows[0]["policy"] if rows else ""
    sides = {
        study.reference: ("reference_s", [row for row in rows if row["policy"] == first]),
        **{
            name: ("policy_s", [row for row in rows if row["policy"] == name])
            for name in study.others
        },
    }
    patterns = list(dict.fromkeys(communication.pattern for communication in study.communications))
    made = [
        row
        for name, (column, mine) in sides.items()
        if mine
        for row in speedup_rows(
            name,
            [{**o, "run_ratio": over(o[column], o["reference_alone_s"])} for o in mine],
            patterns,
            rng(),
            study.confidence,
        )
    ]
    return SpeedupTable(ALONE, tuple(made), of_run_times=True)


def with_rounds(rounds: Rounds, reference: str) -> Measurement:
    """Return the last measurement, with a table "rounds" and a line on what the last round moved.

    Queue metrics are relative to those of the reference, where it is a policy of the run.
    """
    rows = round_rows(rounds, reference)
    last = rounds[-1][0]
    return replace(last, tables={**last.tables, "rounds": rows}, notes=(*last.notes, *_notes(rows)))


def round_rows(rounds: Rounds, reference: str) -> Rows:
    """Return a row a round and policy: what was measured, and the queue with the run times of it.

    ``ratio`` of communication times and, where the measure has it, ``taken_off_percent``, with
    their intervals; ``makespan_s`` and ``mean_turnaround_s``, and both over the reference's of the
    same round. ``settled``: the number is in its interval of the round before; None in the first
    round, and where that has none.
    """
    rows: list[dict[str, object]] = []
    before: dict[str, dict[str, object]] = {}
    for number, (found, schedules) in enumerate(rounds, start=1):
        off = {str(row["policy"]): row for row in _summaries(found)}
        queue = {name: summarise(run, lost=False) for name, run in schedules.items()}
        base = queue.get(reference)
        for name, mine in queue.items():
            ratio = found.ratios.get(name)
            row: dict[str, object] = {"round": number, "policy": name}
            for end, column in (("ratio", "ratio"), ("low", "ratio_low"), ("high", "ratio_high")):
                row[column] = None if ratio is None else getattr(ratio, end)
            for column in _OFF:
                row[column] = off.get(name, {}).get(column)
            row |= {"makespan_s": mine.makespan_s, "mean_turnaround_s": mine.mean_turnaround_s}
            row["makespan_ratio"] = base and mine.makespan_s / base.makespan_s
            row["turnaround_ratio"] = base and mine.mean_turnaround_s / base.mean_turnaround_s
            row["settled"] = _settled(row, before.get(name))
            before[name] = row
            rows.append(row)
    return rows


_OFF = ("taken_off_percent", "taken_off_percent_low", "taken_off_percent_high")
_RATIO = ("ratio", "ratio_low", "ratio_high")


def _summaries(found: Measurement) -> Sequence[Mapping[str, Any]]:
    """Return a measure's rows on policies, where it has some."""
    return next((found.tables[name] for name in ("steady", "paired") if name in found.tables), [])


def _settled(row: Mapping[str, Any], before: Mapping[str, Any] | None) -> bool | None:
    columns = _RATIO if row[_OFF[0]] is None else _OFF
    value = row[columns[0]]
    low, high = (None, None) if before is None else (before[c] for c in columns[1:])
    return None if value is None or low is None or high is None else bool(low <= value <= high)


def _notes(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    last = [row for row in rows if row["round"] == rows[-1]["round"]]
    text = {True: "within its interval of the round before", False: "outside of it"}
    words = [
        f"{row['policy']} {text.get(row['settled'], 'no interval')}"
        for row in last
        if row["ratio"] is not None
    ]
    return (f"round {rows[-1]['round']}: {', '.join(words)}",)
