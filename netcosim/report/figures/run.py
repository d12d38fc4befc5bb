"""The figures of a run, drawn from what a results file holds of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from netcosim.archive.values import ArchivedLinks, ArchivedMachine, ArchivedRun, over_time_columns
from netcosim.report.effect import (
    COMMUNICATION,
    RUN_TIME,
    TURNAROUND,
    WAIT,
    Effect,
    Quantity,
    between,
)
from netcosim.report.figures.drawing import Drawing, Panel
from netcosim.report.figures.lines import cdf, over_time, time_unit
from netcosim.report.figures.machine import gantt, load_drawings
from netcosim.report.figures.policies import (
    bars_width_in,
    effect_bars,
    effects_drawing,
    pair_drawings,
    waits_by_size,
)
from netcosim.report.figures.shapes import FIVE, boxes
from netcosim.report.figures.style import SIDE_IN, SOFT, literal, policy_colours
from netcosim.report.verdict import effects_of, part_effects, reference_label
from netcosim.runs.store import Rows
from netsim.units import time_scale

FloatArray = NDArray[np.float64]

GANTT = "gantt"
"""Drawings in files alone: a page has its interactive views."""
PAIRS = (
    "Change of the row from the column. Blue: the row is significantly better; orange: the column "
    "is; grey: no significant difference, or no interval. Intervals of two policies that are both "
    "compared with the reference are joined end to end, so they are wide."
)
GANTT_JOBS = 400
"""Most jobs a Gantt chart shows: the busiest stretch of that many starts."""
LEAST_WAIT_S = 1.0
"""Shorter waits are drawn here, at the left end."""
_DRAWN = (COMMUNICATION, RUN_TIME, WAIT, TURNAROUND)
_QUANTILES = (1, 25, 50, 75, 99)


def run_drawings(tables: Mapping[str, Rows], kept: ArchivedRun | None) -> dict[str, list[Drawing]]:
    """Return all drawings of a run that its results file has numbers for, by what they show."""
    colours = policy_colours([str(row["policy"]) for row in tables["policies"]])
    found = _effect_drawings(tables, colours)
    if kept is not None:
        found |= _link_drawings(kept, colours) | _schedule_drawings(kept, colours)
    return {part: drawings for part, drawings in found.items() if drawings}


def _effect_drawings(
    tables: Mapping[str, Rows], colours: Mapping[str, str]
) -> dict[str, list[Drawing]]:
    """Return the effects of policies, every pair of them, and effects by pattern and size."""
    label, by_policy, parts = reference_label(tables), effects_of(tables), part_effects(tables)
    effects = sorted(
        (e for found in by_policy.values() for e in found if e.quantity in _DRAWN and e.against),
        key=lambda effect: _DRAWN.index(effect.quantity),
    )
    found: dict[str, list[Drawing]] = {"policies": [], "patterns": []}
    found["policies"] += effects_drawing(effects, colours)
    if effects:
        found["policies"] += _pairs(effects, [*colours])
    if parts:
        name = parts[0].quantity.name
        found["patterns"].append(
            Drawing(
                f"{name.replace(' ', '-')}-by-pattern",
                f"{name.capitalize()} by pattern and size of the job, change from {label}.",
                [Panel(partial(effect_bars, effects=parts, colours=colours))],
                "Lines: intervals; none for fewer than 5 snapshots or jobs.",
                size_in=(bars_width_in(parts), 4.0),
            )
        )
    return found


def _pairs(effects: Sequence[Effect], policies: Sequence[str]) -> list[Drawing]:
    """Return every pair of policies, from effects against one of them."""
    own = {(effect.quantity, effect.subject): effect for effect in effects}

    def changes(quantity: Quantity, a: str, b: str) -> list[Effect]:
        named = {effects[0].against, *(name for of, name in own if of == quantity)}
        if not {a, b} <= named:
            return []
        return [between(own.get((quantity, a)), own.get((quantity, b)))]

    return pair_drawings(policies, dict.fromkeys(e.quantity for e in effects), changes, PAIRS)


# Links


def busy_percent(links: ArchivedLinks) -> FloatArray:
    """Return the share of the snapshots' simulated time that each link is busy, (n_links,)."""
    span_ps = max(float(links.span_s.sum()) * 1e12, 1.0)
    return np.asarray(100.0 * links.busy_ps.sum(axis=0) / span_ps)


def _link_drawings(kept: ArchivedRun, colours: Mapping[str, str]) -> dict[str, list[Drawing]]:
    machine = kept.machine
    sent = {name: s.links for name, s in kept.schedules.items() if s.links is not None}
    if not sent or len(machine.link_src) == machine.first_router_link:
        return {}
    busy = {name: busy_percent(links) for name, links in sent.items()}
    panels = [
        Panel(partial(_boxes, machine=machine, sent=sent, value=value, colours=colours))
        for value in ("packets", "stall_ps")
    ]
    boxes = Drawing(
        "links",
        "Packets and stalled time of links, a box a policy, by kind of link.",
        panels,
        "Boxes: quartiles; lines: 1st to 99th percentile; dots: means over links.",
        size_in=SIDE_IN,
    )
    return {"load": load_drawings(machine, busy, colours), "links": [boxes]}


def _boxes(
    axis: Axes,
    machine: ArchivedMachine,
    sent: Mapping[str, ArchivedLinks],
    value: str,
    colours: Mapping[str, str],
) -> None:
    """Draw a number of links between routers, by their kind."""
    first, kind = machine.first_router_link, machine.link_kind[machine.first_router_link :]
    rows, most = [], 0.0
    for name, links in sent.items():
        values = getattr(links, value).sum(axis=0)[first:].astype(np.float64)
        for number in np.unique(kind):
            own = values[kind == number]
            ends = dict(zip(FIVE, np.percentile(own, _QUANTILES), strict=True))
            row = {"policy": name, "kind": f"{machine.kinds[number]} links", "mean": own.mean()}
            rows.append(row | ends)
            most = max(most, float(ends["most"]))
    factor, label = 1.0, "packets on a link"
    if value == "stall_ps":
        factor, unit = time_scale(most * 1e-12)
        factor, label = factor * 1e-12, f"stalled time of a link ({unit})"
    boxes(axis, rows, "kind", "policy", scale=factor, colours=colours, name=literal)
    axis.set(ylabel=label, ylim=(0, None if most else 1))
    if not most:
        axis.text(0.5, 0.5, "all 0", transform=axis.transAxes, ha="center", color=SOFT)


# Schedules


def waits_drawing(name: str, panels: Sequence[Panel]) -> Drawing:
    """Return the drawing of panels from `wait_shares`."""
    caption = "Share of jobs that wait for at most this time; the median is in the legend."
    title = "Cumulative share of jobs by wait, a line a policy."
    return Drawing(name, title, panels, caption, SIDE_IN, legend=False, lines="both")


def wait_shares(axis: Axes, wait_s: Mapping[str, FloatArray], colours: Mapping[str, str]) -> None:
    """Draw the cumulative share of jobs by their wait; the shortest are at the left end."""
    longest_s = max([0.0, *(float(np.nanmax(w)) for w in wait_s.values() if not np.isnan(w).all())])
    unit_s, unit = time_unit(longest_s)
    waits = {name: values / unit_s for name, values in wait_s.items()}
    label = f"wait ({unit}; less than {LEAST_WAIT_S:g} s at the left)"
    least = LEAST_WAIT_S / unit_s
    cdf(axis, waits, xlabel=label, of="jobs", log=True, least=least, colours=colours)


def waits_of(kept: ArchivedRun) -> dict[str, FloatArray]:
    """Return the waits of all jobs by policy; nan for jobs that never ran."""
    submit_s = kept.jobs.submit_s
    return {name: np.maximum(s.start_s - submit_s, 0.0) for name, s in kept.schedules.items()}


def _schedule_drawings(kept: ArchivedRun, colours: Mapping[str, str]) -> dict[str, list[Drawing]]:
    schedules = {n: s for n, s in kept.schedules.items() if np.isfinite(s.start_s).any()}
    if not schedules:
        return {}
    over = {n: over_time_columns(kept, s) for n, s in schedules.items()}
    percent = {n: (o["time_s"], 100 * o["utilisation"]) for n, o in over.items()}
    queue = {n: (o["time_s"], o["waiting_jobs"]) for n, o in over.items()}
    waits = {n: wait_s for n, wait_s in waits_of(kept).items() if n in schedules}

    def one(name: str, title: str, caption: str, draw: Callable[..., None], **own: Any) -> Drawing:
        panel = Panel(partial(draw, colours=colours, **own))
        return Drawing(name, title, [panel], caption, SIDE_IN)

    return {
        "time": [
            one(
                "utilisation",
                "Utilisation of the machine over time, a line a policy.",
                "Nodes that jobs hold, smoothed over a hundredth of the span.",
                partial(over_time, series=percent, ylabel="nodes in use (%)", top=102),
            ),
            one(
                "queue-length",
                "Jobs in the queue over time, a line a policy.",
                "Jobs that wait, smoothed likewise.",
                partial(over_time, series=queue, ylabel="jobs in the queue"),
            ),
        ],
        "waits": [
            waits_drawing("waits", [Panel(partial(wait_shares, wait_s=waits, colours=colours))]),
            one(
                "wait-by-size",
                "Waits by the size of jobs, a mark a policy.",
                "Marks: mean waits; lines: from the median to the 90th percentile.",
                partial(waits_by_size, n_nodes=kept.jobs.n_nodes, wait_s=waits),
            ),
        ],
        GANTT: [
            Drawing(
                f"gantt-{name}",
                f"{name}: which nodes jobs held, and when.",
                [Panel(partial(_gantt, kept=kept, policy=name, paint=colours[name]), name)],
                size_in=SIDE_IN,
                lines="",
            )
            for name, schedule in schedules.items()
            if len(schedule.range_first)
        ],
    }


def _gantt(axis: Axes, kept: ArchivedRun, policy: str, paint: str) -> None:
    """Draw the busiest stretch of `GANTT_JOBS` starts."""
    schedule = kept.schedules[policy]
    ran = np.flatnonzero(np.isfinite(schedule.start_s))
    by_start = ran[np.argsort(schedule.start_s[ran], kind="stable")]
    run_s = schedule.end_s[by_start] - schedule.start_s[by_start]
    work = np.cumsum(kept.jobs.n_nodes[by_start] * run_s)
    many = min(GANTT_JOBS, len(by_start))
    gains = work[many - 1 :] - np.concatenate([[0.0], work[: len(work) - many]])
    begin = int(np.argmax(gains))
    jobs = by_start[begin : begin + many]
    counts = np.diff(schedule.range_ptr)[jobs]
    mine = np.concatenate(
        [np.arange(schedule.range_ptr[job], schedule.range_ptr[job + 1]) for job in jobs]
    )
    gantt(
        axis,
        schedule.start_s[jobs],
        schedule.end_s[jobs],
        np.concatenate([[0], np.cumsum(counts)]),
        schedule.range_first[mine],
        schedule.range_length[mine],
        machine_nodes=kept.machine.n_nodes,
        paint=paint,
    )
