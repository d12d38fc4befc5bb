"""The judge's verdict: effects, and sentences that are made from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.judge.score import describe_score
from experiments.judge.waits import BADLY, EXACTLY, WELL
from experiments.kit.quantities import node_hours
from netcosim.report.effect import (
    COMMUNICATION,
    TURNAROUND,
    WAIT,
    Effect,
    best,
    change_of,
    format_duration,
    number,
    sentence,
    use,
)
from netcosim.report.recommendation import Recommendation, deciding
from queuesim.statistics import LEAST_SAMPLES

RELIABLE = (EXACTLY, WELL)
"""Ratings of the simulated queue with which its waits can be relied on."""

REPLAY = "replay"
"""The policy that places jobs as the log has them."""

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]


def paired_effects(tables: Tables) -> list[Effect]:
    """Return each policy's change of node-hours."""
    reference, about = str(tables["queue"][0]["policy"]), tables["machine_and_jobs"][0]
    quantity = node_hours(str(about["counts"]))
    return [
        Effect(
            str(row["policy"]), quantity, reference, *change_of(row), **_of_snapshots(row, about)
        )
        for row in tables.get("paired", ())
    ]


def _of_snapshots(row: Row, about: Row) -> dict[str, Any]:
    # few jobs that are seen often are few samples
    jobs = min(int(row.get("jobs", about["snapshots"])), int(about["jobs_of_several_nodes"]))
    samples = min(int(about["snapshots"]), jobs)
    return {"sample": "snapshot", "samples": samples, "method": "bootstrap of whole snapshots"}


def effects_of(tables: Tables) -> dict[str, list[Effect]]:
    """Return the effects of each policy but the reference, node-hours first: they are the cost."""
    about = tables["machine_and_jobs"][0]
    reference, *others = tables["queue"]
    against = str(reference["policy"])
    found: dict[str, list[Effect]] = {str(row["policy"]): [] for row in others}
    for effect in paired_effects(tables):
        found[effect.subject].append(effect)
    for row in tables.get("communication", ()):
        parts = ("" if row[key] == "all" else f"{row[key]}{of}" for key, of in _PARTS)
        one = Effect.of_row(
            row,
            "communication_ratio",
            subject=str(row["policy"]),
            quantity=COMMUNICATION,
            against=against,
            part=" on ".join(filter(None, parts)),
            **_of_snapshots(row, about),
        )
        if one is not None and row["policy"] != against:
            found[one.subject].append(one)
    days = {"sample": "block of submissions", "samples": about["blocks"], "method": "bootstrap"}
    for row in others:
        for name, quantity in (("wait", WAIT), ("turnaround", TURNAROUND)):
            if row.get(f"mean_{name}_s") is None:
                continue
            before, after = (float(one[f"mean_{name}_s"]) for one in (reference, row))
            own: dict[str, Any] = {"subject": str(row["policy"]), "quantity": quantity, **days}
            levels = (before, after)
            changed = Effect.of_row(row, f"{name}_ratio", against=against, levels=levels, **own)
            level = Effect(against="" if after else against, value=after, **own)
            found[str(row["policy"])].append(changed or level)
    return found


_PARTS = (("pattern", ""), ("nodes", " nodes"))
"""Columns that a row of communication is of a part by."""


def format_policy(policy: str, tables: Tables, waits: bool) -> str:
    """Describe in one sentence what a policy changes against the reference.

    Waits are left out where they cannot be relied on.
    """
    effects = [e for e in effects_of(tables)[policy] if not e.part and e.quantity != TURNAROUND]
    shown = [e for e in effects if waits or e.quantity != WAIT]
    if any(effect.quantity != WAIT for effect in shown):
        return sentence(shown)
    none = "no communication was measured: no job of several nodes ran at any snapshot"
    return f"{policy}: {none}.{f' {sentence(shown)}' if shown else ''}"


def recommend(
    tables: Tables, trusted: str, seconds: float, *, assumed: bool, level: float = 0.95
) -> Recommendation:
    """Return which policy to use, by node-hours; waits count only where they are reliable.

    ``seconds`` is what all of it took; ``assumed``: the judge assumes what jobs send.
    """
    paired = paired_effects(tables)
    chosen = best(paired)
    shown = (chosen,) if chosen else tuple(paired)
    every = (effect for found in effects_of(tables).values() for effect in found)
    return Recommendation(
        _sentence(chosen, paired, tables),
        shown,
        _condition(tables, assumed),
        _next_step(paired, int(tables["machine_and_jobs"][0]["snapshots"]), seconds),
        trusted,
        others=tuple(effect for effect in every if effect not in shown),
        level=level,
    )


def _sentence(chosen: Effect | None, paired: Sequence[Effect], tables: Tables) -> str:
    reference = str(tables["queue"][0]["policy"])
    if not any(effect.has_interval for effect in paired):
        return f"No policy can be compared with {reference} yet."
    if chosen is not None:
        [wait] = [e for e in effects_of(tables)[chosen.subject] if e.quantity == WAIT]
        longer = (wait.significant and not wait.better) or not wait.against
        if longer and tables["reproduced"][0]["reproduces"] in RELIABLE:
            return f"{sentence([chosen, wait])[:-1]}: weigh one against the other."
        return use(chosen)
    keep = "Keep the present placement" if reference == REPLAY else f"Keep {reference}"
    name = paired[0].quantity.name
    worse = [sentence([effect]) for effect in paired if effect.significant]
    if not worse:
        return f"{keep}: no other policy changes {name} significantly."
    return f"{keep}: no other policy reduces {name}. {' '.join(worse)}"


def _condition(tables: Tables, assumed: bool) -> str:
    shares = [r["communication_fraction"] for r in tables.get("fraction", ()) if r["assumed"]]
    share = f": {100 * shares[0]:.0f} % of the run time" if shares else ""
    if assumed:
        return f"What jobs send is assumed, not in the log{share}; all savings scale with it."
    return f"Jobs communicate as the config has it{share}; all savings scale with that."


def _next_step(paired: Sequence[Effect], snapshots: int, seconds: float) -> str:
    if not any(effect.has_interval for effect in paired):
        return f"An interval needs {LEAST_SAMPLES} snapshots and jobs (--snapshots, --first-jobs)."
    # other instants are measured if there are more of them, so all are measured again
    if (more := deciding(paired, snapshots, seconds)) is not None:
        return f"{more[1]}: --snapshots {snapshots + more[0]}."
    open_ = [e for e in paired if e.has_interval and not e.significant]
    if open_ and best(paired) is None:
        most = max(abs(end) for effect in open_ for end in (effect.low, effect.high))
        return f"More snapshots would hardly decide: any difference is below {number(most)} %."
    again = f"about {format_duration(seconds)}"
    return f"Set what your jobs send, [[communication.mix]] in judge.toml; judge again, {again}."


def details(tables: Tables) -> list[str]:
    """Return one sentence a policy, the score's quality, and directions of waits.

    Waits are printed only as far as the simulated queue reproduces the log's: with the policies
    where it does well, by their direction where it does so roughly or no log knows, not at all
    where it does badly. They belong below the rating.
    """
    reference, *others = (str(row["policy"]) for row in tables["queue"])
    word = tables["reproduced"][0]["reproduces"]
    lines = [format_policy(policy, tables, word in RELIABLE) for policy in others]
    lines += [format_score(row) for row in tables.get("score", ()) if row["pattern"] == "all"]
    if word not in (*RELIABLE, BADLY):
        ways: dict[str, list[str]] = {}
        for policy in others:
            ways.setdefault(_direction(policy, tables), []).append(policy)
        clauses = "; ".join(f"{way} under {', '.join(names)}" for way, names in ways.items())
        lines.append(f"Compared with {reference}, the simulated mean wait is {clauses}.")
    return lines


def _direction(policy: str, tables: Tables) -> str:
    """Return whether a policy shortens or lengthens the mean wait, without by how much."""
    [wait] = [effect for effect in effects_of(tables)[policy] if effect.quantity == WAIT]
    if not wait.against:
        return "longer"
    if not wait.has_interval and wait.value == 0:
        return "unchanged"
    if not wait.significant:
        return "not significantly different"
    return "shorter" if wait.better else "longer"


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
