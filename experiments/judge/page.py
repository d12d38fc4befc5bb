"""The judge's page, built only from its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from experiments.judge.config import JudgeConfig
from experiments.judge.figures import (
    Colours,
    changes_figure,
    communication_figure,
    fraction_figure,
    score_figure,
    waits_drawing,
)
from experiments.judge.verdict import format_score
from experiments.judge.waits import EXACTLY, SHORT_S, UNKNOWN, rate_waits
from netcosim.report.effect import COMMUNICATION as COMMUNICATION_TIME
from netcosim.report.effect import TURNAROUND, WAIT, Effect, effect_rows
from netcosim.report.figures.style import policy_colours
from netcosim.report.page import Section
from netsim.parameters import parameters_of
from netsim.topologies.registry import FAMILIES
from netsim.units import format_quantity, short_name
from queuesim.statistics import ENDS

Frames = Mapping[str, pd.DataFrame]
COMMUNICATION, NODE_HOURS = "Communication", "Run time by node-hours"


def assumptions(requested: JudgeConfig, frames: Frames) -> str:
    """Describe assumptions that the log does not cover."""
    section = requested.config.communication
    law = section.law()
    about = frames["machine_and_jobs"].iloc[0]
    mix = "; ".join(
        f"{entry.pattern}, weight {entry.weight:g}, "
        f"{format_quantity(entry.node_bytes or 0, 'bytes')} a node and iteration"
        + ("" if law else f", {_share(entry.communication_fraction)} of the run time")
        for entry in section.mix
    )
    if law is not None:
        mix += f"; fraction of the run time of all: {law.fractions.description}"
    where = "by this program" if requested.assumed else "in the config"
    cables = ", ".join(
        f"{short_name(name)} {_cell(name, value)}" for name, value in _cables(requested).items()
    )
    parts = [
        "ASSUMED, and not in the log: what jobs send and how much of their time that takes. "
        f"Set {where}, drawn for each job, the same under every policy: {mix}.",
        "Every percentage below scales with the share of the time that jobs communicate; the "
        "section on other shares shows how. Set others in [[communication.mix]] of the config "
        "at the end (pattern, weight, node_bytes, communication_fraction) and run it again with "
        "netcosim judge --config.",
    ]
    if cables:
        parts.append(
            f"Cables, where the machine's file has none: {cables}. A tree with full "
            "bandwidth up (taper 1) forgives most placements; give yours with --taper, or "
            "uplinks in [machine]."
            if "taper" in cables
            else f"Cables: {cables}."
        )
    stated = [note for note in about["notes"].split("\n\n") if note.startswith("in the log")]
    if stated:
        parts.append(f"Not drawn: {'; '.join(stated)}.")
    return "\n\n".join(parts)


def _cables(requested: JudgeConfig) -> dict[str, Any]:
    """Return bandwidths and tapers of the machine, given or the family's defaults."""
    section = requested.config.machine
    declared = parameters_of(FAMILIES[section.family].builder_for(section.parameters))
    values = {name: section.parameters.get(name, p.default) for name, p in declared.items()}
    return {
        name: value
        for name, value in values.items()
        if value is not None and (name.endswith("bandwidth_Bps") or name in ("taper", "uplinks"))
    }


def _cell(name: str, value: object) -> str:
    if name.endswith("_Bps") and isinstance(value, (int, float)):
        return format_quantity(value, "bandwidth")
    return str(value)


def _share(ends: tuple[float, float]) -> str:
    low, high = (f"{100 * end:g}" for end in ends)
    return f"{low} %" if low == high else f"{low} to {high} %"


def judge_sections(
    requested: JudgeConfig, frames: Frames, paired: Sequence[Effect]
) -> list[Section]:
    """Return the sections of the page, figures drawn, from the judge's tables.

    ``paired`` are changes of node-hours by each policy.
    """
    reference = requested.config.reference.get("policy", requested.config.queue.policies[0])
    colours = policy_colours([*requested.config.queue.policies, reference])
    sections = [
        _waits(requested, frames, colours),
        Section("Assumptions", assumptions(requested, frames)),
        *_communication(frames, reference, paired, colours),
        _waiting(requested, frames, reference),
        *_changes(frames, colours),
        *_score(frames, reference, colours),
        *_fractions(frames, paired, colours),
        _what_ran(frames),
    ]
    for name in requested.config.run.observables:
        sections.append(Section(name, "", frames[name].head(200)))
    return sections


def _waits(requested: JudgeConfig, frames: Frames, colours: Colours) -> Section:
    rows, queue = frames["reproduced"], requested.config.queue
    first = _row(rows.iloc[0])
    trusted = rate_waits(first, queue.order, queue.backfill)
    if first["reproduces"] == UNKNOWN:
        return Section("Does the simulated queue do what the real one did?", trusted, rows)
    text = (
        f"{trusted}\n\nSimulated with the run times of the log. Well: rank correlation of at least "
        "0.8 and a mean within a quarter; roughly: 0.5 and within a factor of 2; mean waits below "
        f"{SHORT_S:g} s in both count as well; near: within 5 minutes or a tenth. The machine is "
        "empty when the log begins, so the first days wait less here than they did."
    )
    table = frames["waits_by_size"]
    if first["reproduces"] == EXACTLY:
        table = rows
    return Section(
        "Does the simulated queue do what the real one did?",
        text,
        table,
        drawings=[waits_drawing(frames["jobs"], first["policy"], colours)],
    )


def _row(row: pd.Series[Any]) -> dict[str, Any]:
    """Return a row of a frame with None for what is not known."""
    return {str(k): None if v is None or v != v else v for k, v in row.items()}


def _communication(
    frames: Frames, reference: str, paired: Sequence[Effect], colours: Colours
) -> list[Section]:
    if "communication" not in frames or not len(frames["communication"]):
        return [Section(COMMUNICATION, "No job of several nodes ran at any of the snapshots.")]
    rows = frames["communication"]
    return [
        Section(
            COMMUNICATION,
            f"Packets of the jobs that run side by side at instants of {reference}'s schedule, "
            f"where it has them, and where each other policy has the same jobs. Minus: "
            "faster. The two columns to the right are the factors of that: what the others' "
            "interference and what the job's own nodes change. Intervals: whole snapshots drawn "
            "again.",
            _in_percent(rows, reference),
            communication_figure(rows, reference, colours),
            "Bars below 0: faster. Lines: intervals; none for fewer than 5 snapshots or jobs.",
        ),
        Section(
            NODE_HOURS,
            "Change of run time, computing and all, jobs weighed by their nodes at instants of "
            "equal work; minus: the share of the machine that the setting gives back.",
            effect_rows(paired),
        ),
    ]


def _in_percent(rows: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Return a table with changes from the reference in place of ratios to it."""
    heads = {f"{n}_ratio": f"{n}_percent" for n in ("others_interference", "own_placement")}
    quantities = {"communication": COMMUNICATION_TIME, "wait": WAIT, "turnaround": TURNAROUND}
    for name, quantity in quantities.items():
        heads |= {f"{name}_ratio{end}": f"{quantity.label(reference)}{end}" for end in ENDS}
    known = {ratio: 100 * (rows[ratio].astype(float) - 1) for ratio in heads if ratio in rows}
    return rows.assign(**known).rename(columns=heads)


def _waiting(requested: JudgeConfig, frames: Frames, reference: str) -> Section:
    return Section(
        "Waits",
        "The full queue under each policy. First with the run times of the log: what it costs to "
        "wait for a placement. Then with run times fed back (run-time model "
        f"{requested.config.queue.run_time_model}; {reference} has those of the log): faster "
        "communication frees nodes earlier. Minus: shorter; intervals: whole days of "
        "submission (tenths of a shorter log) drawn again, which is short of the truth where a "
        "queue takes longer to drain."
        + (
            f" {reference} starts and places jobs as logged; its waits here "
            "with run times fed back are those of the simulated queue with the run times of the "
            "log that comes nearest to the log's, so that like is compared with like."
            if requested.config.reference
            else ""
        ),
        _in_percent(frames["queue"], reference),
    )


def _changes(frames: Frames, colours: Colours) -> list[Section]:
    most = frames["most"]
    sections = [
        Section(
            "Who gains and who loses",
            "Turnaround with run times fed back, against the same job under the reference. A job "
            "gains or loses if that changes by more than a minute and 5 %.",
            frames["gains"],
            changes_figure(frames["gains"], colours) if len(frames["gains"]) else None,
        )
    ]
    if len(most):
        sections.append(
            Section(
                "The jobs that gain and lose most",
                "Ten on each side. The wait of a single job is a matter of luck in any queue: look "
                "at what kind of jobs these are, not at their numbers.",
                most,
                folded=True,
            )
        )
    return sections


def _score(frames: Frames, reference: str, colours: Colours) -> list[Section]:
    if "score" not in frames or not len(frames["score"]):
        return []
    switch = frames["machine_and_jobs"].iloc[0]["switch"]
    return [
        Section(
            "Does the locality score predict communication?",
            f"{format_score(_row(frames['score'].iloc[0]))}\n\nThe score is the number of switches "
            f"(level {switch!r}) that hold nodes of a job. Agree: of placements of the same job on "
            "another number of switches, those whose communication is shorter with fewer. Change "
            "correlation: rank correlation of both changes within jobs, 1 for a perfect score and "
            "0 for a useless one. Across: switches over the fewest possible beside the slowdown, "
            "over all placements.",
            frames["score"],
            score_figure(frames["placements"], reference, colours),
            "A dot a placement. Left: against the same job's placement under the reference; the "
            "score is right in the lower left and the upper right. Right: over all placements.",
        )
    ]


def _fractions(frames: Frames, paired: Sequence[Effect], colours: Colours) -> list[Section]:
    rows = frames.get("fraction")
    if rows is None or not len(rows) or not paired:
        return []
    cells = zip(rows["communication_fraction"], rows["assumed"], strict=True)
    shares = [f"{100 * f:g} %{' (assumed above)' if assumed else ''}" for f, assumed in cells]
    table = rows.assign(communication_fraction=shares).drop(columns="assumed")
    return [
        Section(
            "If jobs communicate less or more",
            "The same jobs at the same instants, each communicating this share of its run time "
            "(the one assumed above: in the mean); waits with run times fed back from these "
            "packets.",
            _in_percent(table, paired[0].against),
            fraction_figure(rows, paired[0].quantity.label(paired[0].against), colours),
        )
    ]


def _what_ran(frames: Frames) -> Section:
    about = frames["machine_and_jobs"].iloc[0]
    dropped = f"; left out: {about['left_out']}" if about["left_out"] else ""
    text = (
        f"{about['machine']}: {about['nodes']:,} nodes behind {about['switches_with_nodes']:,} "
        f"switches (level {about['switch']!r}), {about['routers']:,} routers in all; routing "
        f"{about['routing']}.\n\n{about['log']}: {about['jobs']:,} jobs{dropped}. "
        f"{about['jobs_of_several_nodes']:,} have several nodes and "
        f"{about['their_node_hours_percent']:.0f} % of the node-hours: the others send nothing."
        f"\n\n{about['notes']}"
    )
    return Section("Machine and jobs", text)
