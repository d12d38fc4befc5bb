"""The figures of a run, drawn from what a results file holds of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from netcosim.archive.values import ArchivedLinks, ArchivedMachine, ArchivedRun, ArchivedSchedule
from netcosim.report.effect import COMMUNICATION, RUN_TIME, TURNAROUND, WAIT
from netcosim.report.figures.lines import cdf, over_time
from netcosim.report.figures.machine import gantt, link_boxes, link_heat_map
from netcosim.report.figures.policies import effect_bars, effect_dots, waits_by_size
from netcosim.report.figures.style import policy_colours
from netcosim.report.verdict import effects_of, part_effects, reference_label
from netcosim.runs.store import Rows
from queuesim.metrics import SLOWDOWN_BOUND_S

FloatArray = NDArray[np.float64]

GANTT_JOBS = 400
"""Most jobs a Gantt chart shows: the busiest stretch of that many starts."""
SIDE_IN = (4.9, 4.0)
"""Size of figures that are side by side, one a policy."""
_DRAWN = (COMMUNICATION, RUN_TIME, WAIT, TURNAROUND)


@dataclass(frozen=True)
class RunFigure:
    """A figure of a run."""

    part: str
    """What it shows: a section of the page; figures of one part are side by side."""
    name: str
    """Of its file, without an ending."""
    words: str
    """Read to those who cannot see it."""
    draw: Callable[[], Figure]
    caption: str = ""
    """Text below it."""


def run_figures(tables: Mapping[str, Rows], kept: ArchivedRun | None) -> list[RunFigure]:
    """Return all figures of a run that its results file has numbers for, in the page's order.

    Parameters
    ----------
    tables : mapping
        Of the run's point.
    kept : ArchivedRun or None
        None: figures from tables alone.
    """
    colours = policy_colours([str(row["policy"]) for row in tables["policies"]])
    found = [*_effect_figures(tables, colours)]
    if kept is not None:
        found += [*_link_figures(kept, colours), *_schedule_figures(kept, colours)]
    return found


def _effect_figures(tables: Mapping[str, Rows], colours: Mapping[str, str]) -> list[RunFigure]:
    """Return the effects of policies, and those by pattern and size."""
    found, label = [], reference_label(tables)
    by_policy = effects_of(tables).values()
    effects = sorted(
        (e for found in by_policy for e in found if e.quantity in _DRAWN and e.against),
        key=lambda effect: _DRAWN.index(effect.quantity),
    )
    if effects:
        names = ", ".join(dict.fromkeys(effect.quantity.name for effect in effects))
        found.append(
            RunFigure(
                "policies",
                "policies",
                f"Change of each policy from {label} in percent: {names}.",
                partial(effect_dots, effects, colours),
                f"Change from {label}: left of the line is less. Bars: 95 % intervals.",
            )
        )
    if parts := part_effects(tables):
        name = parts[0].quantity.name
        found.append(
            RunFigure(
                "patterns",
                f"{name.replace(' ', '-')}-by-pattern",
                f"{name.capitalize()} by pattern and size of the job, change from {label}.",
                partial(effect_bars, parts, colours),
                "Lines: intervals; none for fewer than 5 snapshots or jobs.",
            )
        )
    return found


# Links


def busy_percent(links: ArchivedLinks) -> FloatArray:
    """Return the share of the snapshots' simulated time that each link is busy, (n_links,)."""
    span_ps = max(float(links.span_s.sum()) * 1e12, 1.0)
    return np.asarray(100.0 * links.busy_ps.sum(axis=0) / span_ps)


def _link_figures(kept: ArchivedRun, colours: Mapping[str, str]) -> list[RunFigure]:
    machine = kept.machine
    sent = {name: s.links for name, s in kept.schedules.items() if s.links is not None}
    if not sent or len(machine.link_src) == machine.first_router_link:
        return []
    busy = {name: busy_percent(links) for name, links in sent.items()}
    top = max(float(values[machine.first_router_link :].max()) for values in busy.values())
    maps = [
        RunFigure(
            "load",
            f"load-{name}",
            f"{name}: share of time that each link is busy, from row to column.",
            partial(link_heat_map, machine, values, title=name, top_percent=top, size_in=SIDE_IN),
        )
        for name, values in busy.items()
    ]
    caption = "Boxes: quartiles; lines: 1st to 99th percentile; dots: means over links."
    boxes = partial(_boxes, machine, sent, colours)
    words = "Packets and stalled time of links, a box a policy, by kind of link."
    return [*maps, RunFigure("links", "links", words, boxes, caption)]


def _boxes(
    machine: ArchivedMachine, sent: Mapping[str, ArchivedLinks], colours: Mapping[str, str]
) -> Figure:
    import pandas as pd

    first = machine.first_router_link
    kinds = np.array(machine.kinds)[machine.link_kind[first:]]
    frames = [
        pd.DataFrame(
            {
                "policy": name,
                "kind": kinds,
                "packets": links.packets.sum(axis=0)[first:],
                "stall_s": links.stall_ps.sum(axis=0)[first:] * 1e-12,
            }
        )
        for name, links in sent.items()
    ]
    return link_boxes(pd.concat(frames), colours=colours)


# Schedules


def steps(time_s: ArrayLike, change: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return a step function from its changes: ascending times, each once, and values."""
    order = np.argsort(time_s, kind="stable")
    times = np.asarray(time_s, dtype=np.float64)[order]
    values = np.cumsum(np.asarray(change, dtype=np.float64)[order])
    last = np.append(times[1:] > times[:-1], True) if len(times) else np.empty(0, dtype=bool)
    return times[last], values[last]


def busy_nodes(schedule: ArchivedSchedule) -> tuple[FloatArray, FloatArray]:
    """Return the nodes that jobs hold, as a step function of time."""
    ran = np.isfinite(schedule.start_s)
    nodes = schedule.allocated_nodes[ran].astype(np.float64)
    times = np.concatenate([schedule.start_s[ran], schedule.end_s[ran]])
    return steps(times, np.concatenate([nodes, -nodes]))


def waiting_jobs(submit_s: FloatArray, schedule: ArchivedSchedule) -> tuple[FloatArray, FloatArray]:
    """Return the jobs that are submitted and have not started, as a step function of time."""
    ran = np.isfinite(schedule.start_s)
    times = np.concatenate([submit_s, schedule.start_s[ran]])
    return steps(times, np.concatenate([np.ones(len(submit_s)), -np.ones(int(ran.sum()))]))


def slowdowns(submit_s: FloatArray, schedule: ArchivedSchedule) -> FloatArray:
    """Return bounded slowdowns of the jobs that ran (`queuesim.metrics.bounded_slowdown`)."""
    ran = np.isfinite(schedule.start_s)
    start, end = schedule.start_s[ran], schedule.end_s[ran]
    run = np.maximum(end - start, SLOWDOWN_BOUND_S)
    return np.asarray(np.maximum((end - submit_s[ran]) / run, 1.0))


def _schedule_figures(kept: ArchivedRun, colours: Mapping[str, str]) -> list[RunFigure]:
    schedules = {n: s for n, s in kept.schedules.items() if np.isfinite(s.start_s).any()}
    if not schedules:
        return []
    n_nodes, jobs = kept.machine.n_nodes, kept.jobs
    busy = {n: busy_nodes(s) for n, s in schedules.items()}
    percent = {n: (time_s, 100 * (nodes / n_nodes)) for n, (time_s, nodes) in busy.items()}
    queue = {n: waiting_jobs(jobs.submit_s, s) for n, s in schedules.items()}
    waits = {n: np.maximum(s.start_s - jobs.submit_s, 0.0) for n, s in schedules.items()}
    slow = {n: slowdowns(jobs.submit_s, s) for n, s in schedules.items()}
    charts = [
        RunFigure(
            "gantt",
            f"gantt-{name}",
            f"{name}: which nodes jobs held, and when.",
            partial(_gantt, kept, name, colours[name]),
        )
        for name, schedule in schedules.items()
        if len(schedule.range_first)
    ]
    return [
        RunFigure(
            "time",
            "utilisation",
            "Utilisation of the machine over time, a line a policy.",
            partial(over_time, percent, "nodes in use (%)", colours, top=102),
            "Nodes that jobs hold, smoothed over a hundredth of the span.",
        ),
        RunFigure(
            "time",
            "queue-length",
            "Jobs in the queue over time, a line a policy.",
            partial(over_time, queue, "jobs in the queue", colours),
            "Jobs that wait, smoothed likewise.",
        ),
        RunFigure(
            "waits",
            "wait-by-size",
            "Waits by the size of jobs, a mark a policy.",
            partial(waits_by_size, jobs.n_nodes, waits, colours),
            "Marks: mean waits; lines: from the median to the 90th percentile.",
        ),
        RunFigure(
            "waits",
            "bounded-slowdown",
            "Cumulative share of jobs by bounded slowdown, a line a policy.",
            partial(cdf, slow, xlabel="bounded slowdown", log=True, colours=colours),
            "Share of jobs with at most this bounded slowdown.",
        ),
        *charts,
    ]


def _gantt(kept: ArchivedRun, policy: str, paint: str) -> Figure:
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
    return gantt(
        schedule.start_s[jobs],
        schedule.end_s[jobs],
        np.concatenate([[0], np.cumsum(counts)]),
        schedule.range_first[mine],
        schedule.range_length[mine],
        machine_nodes=kept.machine.n_nodes,
        title=policy,
        paint=paint,
        size_in=SIDE_IN,
    )
