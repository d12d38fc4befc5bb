"""What a run has measured: effects by policy and by part of the jobs, and their sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cosim.measuring.snapshots import format_sizes
from cosim.measuring.speedup_file import RATIO_OF
from netcosim.report.about import config_section, is_over_log
from netcosim.report.effect import (
    COMMUNICATION,
    MAKESPAN,
    RUN_TIME,
    SLOWDOWN,
    TURNAROUND,
    WAIT,
    Effect,
    change_of,
    contrary,
    sentence,
)
from netcosim.report.recommendation import Recommendation, deciding
from netcosim.runs.store import Rows
from queuesim.statistics import LEAST_SAMPLES

Row = Mapping[str, Any]
Tables = Mapping[str, Rows]

SAMPLING_VARIATION = (
    "Waits have no interval: each policy has one schedule of one sequence of jobs, and small "
    "differences may be sampling variation. --resamples 200 or a sweep measures it."
)
SILENT = "Communication was not measured: no packets were sent (run.snapshots = 0)."
FEW = f"No interval: it needs at least {LEAST_SAMPLES} snapshots (run.snapshots) and jobs."
OTHER_JOBS = "seed = [1, 2, 3, 4, 5]"
OTHER_BLOCKS = "repetition = {from = 0, to = 9, step = 1}"
"""Keys of ``[run]`` that repeat a run with other samples: of synthetic jobs, and of a log."""
_OTHER_LOGS = "queues on other logs, with speed-ups of snapshots drawn again"
_BATCH_MEANS = "batch means of the run's jobs"
_QUEUE = {"wait": WAIT, "turnaround": TURNAROUND, "slowdown": SLOWDOWN, "makespan": MAKESPAN}
"""By the name that a column of its ratio begins with."""


def repeated(over_log: bool) -> str:
    """Return how a run is repeated with other samples of what its jobs are."""
    if over_log:
        return f"{OTHER_BLOCKS} under [run]: blocks of the log drawn again, same rules"
    return f"{OTHER_JOBS} under [run]: other jobs, same rules"


def reference_label(tables: Tables) -> str:
    """Describe what the ratios of a run are relative to."""
    return str(tables["policies"][0].get("relative_to", "")).removesuffix(" at the same point")


def effects_of(tables: Tables) -> dict[str, list[Effect]]:
    """Return the effects of each policy that is compared, the largest gain first."""
    label = reference_label(tables)
    rows: list[Row] = list(tables["policies"])
    elsewhere: list[Row] = list(tables.get("reference", ()))
    base = next(iter(elsewhere or [row for row in rows if row["policy"] == label]), None)
    found = {
        str(row["policy"]): _effects(row, base, label, tables)
        for row in rows
        if row["policy"] != label
    }
    return dict(sorted(found.items(), key=lambda pair: _order(pair[1])))


def _order(effects: Sequence[Effect]) -> tuple[bool, float]:
    """Sort what is significant, or has no interval, first; then by the first effect."""
    first = effects[0]
    return first.has_interval and not first.significant, -first.gain


def _effects(row: Row, base: Row | None, label: str, tables: Tables) -> list[Effect]:
    own: dict[str, Any] = {"subject": str(row["policy"]), "against": label}
    seen = [m for m in tables.get("measured_jobs", ()) if m["policy"] == row["policy"]]
    snapshots = len({m["snapshot"] for m in seen})
    of_packets: dict[str, Any] = own | {
        "sample": "snapshot",
        "samples": min(snapshots, len({m["job_id"] for m in seen})),
        "method": "bootstrap of whole snapshots",
    }
    found = [Effect.of_row(row, "communication_ratio", quantity=COMMUNICATION, **of_packets)]
    for run in (*tables.get("steady", ()), *tables.get("paired", ())):
        if run["policy"] == row["policy"] and run.get("taken_off_percent") is not None:
            method = "interval over snapshots, jobs weighed by node-hours"
            own_ends = change_of(run)._asdict()
            found.append(
                Effect(**{**of_packets, "quantity": RUN_TIME, **own_ends, "method": method})
            )
    for name, quantity in _QUEUE.items():
        own_fields = {**own, "quantity": quantity}
        found.append(_of_queue(row, base, name, quantity.column, own_fields, tables))
    return [effect for effect in found if effect is not None]


def _of_queue(
    row: Row, base: Row | None, name: str, column: str, own: dict[str, Any], tables: Tables
) -> Effect | None:
    if row.get(column) is None:
        return None
    value = float(row[column])
    before = None if base is None or base.get(column) is None else float(base[column])
    drawn = next(iter(tables.get("queue_intervals", ())), {})
    sample = drawn.get("sample", "sequence of jobs")
    own |= {
        "sample": sample,
        "samples": drawn.get("samples", 1),
        "method": _BATCH_MEANS if sample == "batch of jobs" else _OTHER_LOGS,
        "levels": None if before is None else (before, value),
    }
    ratio = row.get(f"{name}_ratio")
    if ratio is None and before:
        ratio = value / before
    if ratio is not None:
        return Effect.of_row({**row, f"{name}_ratio": ratio}, f"{name}_ratio", **own)
    if value == 0:
        return Effect(value=0.0, **own)
    return Effect(value=value, **own | {"against": "", "levels": None})


def part_effects(tables: Tables) -> list[Effect]:
    """Return effects by policy, pattern and size: of communication, or of entire runs."""
    label, found = reference_label(tables), list[Effect]()
    rows: Sequence[Row] = tables.get("speedups", ())
    for row in rows:
        of_runs = row.get(RATIO_OF) == "run"
        part = f"{row['pattern']} on {format_sizes(row['min_nodes'], row['max_nodes'])} nodes"
        effect = Effect.of_row(
            row,
            "ratio",
            subject=str(row["policy"]),
            quantity=RUN_TIME if of_runs else COMMUNICATION,
            against=label,
            sample="snapshot",
            # intervals are computed from so many only
            samples=LEAST_SAMPLES if row.get("ratio_low") is not None else 1,
            method="bootstrap of whole snapshots",
        )
        if effect is not None and row["policy"] != label:
            found.append(replace(effect, part=part))
    return found


def findings(tables: Tables) -> list[str]:
    """Return a sentence for each policy that is compared, the largest gain first."""
    by_policy, parts = effects_of(tables), part_effects(tables)
    if not by_policy:
        label = reference_label(tables)
        return [f"{label} is the only policy: there is nothing to compare it with."]
    return [
        _with_parts(effects, [part for part in parts if part.subject == policy])
        for policy, effects in by_policy.items()
    ]


def _with_parts(effects: Sequence[Effect], parts: Sequence[Effect]) -> str:
    """Return a policy's sentence on its network and on waits, and what differs by part."""
    shown = [e for e in effects if e.quantity in (COMMUNICATION, RUN_TIME, WAIT)]
    texts = (contrary(effect, parts) for effect in shown)
    return " ".join([sentence(shown), *filter(None, texts)])


def limits(tables: Tables) -> list[str]:
    """Return what the findings do not cover."""
    effects = [effect for found in effects_of(tables).values() for effect in found]
    measured = [effect for effect in effects if effect.quantity == COMMUNICATION]
    found = []
    if not any("communication_ratio" in row for row in tables["policies"]):
        found.append(SILENT)
    elif measured and not any(effect.has_interval for effect in measured):
        found.append(FEW)
    for row in tables["policies"]:
        if row.get("communication_ratio", 0) is None:
            found.append(f"No job that communicates was measured under {row['policy']}.")
    if effects and not any(e.has_interval for e in effects if e.quantity == WAIT):
        found.append(SAMPLING_VARIATION)
    return found


def run_recommendation(tables: Tables, config: Row, seconds: float) -> Recommendation:
    """Return the first finding of a run with its limits, from tables and resolved config."""
    run = config_section(config, "run")
    by_policy, stated = effects_of(tables), limits(tables)
    first, *rest = [tuple(found) for found in by_policy.values()] or [()]
    measured = [e for found in by_policy.values() for e in found if e.quantity == COMMUNICATION]
    step = f"Write {repeated(is_over_log(config))}; then use netcosim sweep."
    if (more := deciding(measured, int(run.get("snapshots") or 0), seconds)) is not None:
        step = f"{more[1]}."
    rating = next(
        (text for text in stated if text == (FEW if measured else SAMPLING_VARIATION)), ""
    )
    if rating == FEW:
        step = f"Write snapshots = {2 * LEAST_SAMPLES} under [run]; then use netcosim run."
    condition = f"Compared with {reference_label(tables)}, for the jobs and traffic of this config."
    others = (*(effect for found in rest for effect in found), *part_effects(tables))
    return Recommendation(
        findings(tables)[0],
        tuple(e for e in first if e.quantity in (COMMUNICATION, RUN_TIME, WAIT)),
        " ".join([condition, *(line for line in stated if line != rating)]),
        step,
        rating,
        reliable=not rating,
        others=(*(e for e in first if e.quantity not in (COMMUNICATION, RUN_TIME, WAIT)), *others),
        level=float(run.get("confidence") or 0.95),
    )
