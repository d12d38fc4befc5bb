"""The page and the table of a co-simulation run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.pyplot import close

from experiments.cosim_result import CosimResult
from experiments.report.page import Section, long_table
from experiments.store import Rows
from netcosim.figures.bars import bars_against_baseline
from netcosim.figures.boxes import link_boxes
from netcosim.figures.curves import cdf, utilisation_over_time
from netcosim.figures.gantt import gantt
from netcosim.figures.heatmap import link_heat_map
from netcosim.thread_share import threads_line
from netsim.analysis.bounds import bounds_of
from netsim.packet.credit import buffer_warning
from queuesim.coupled import CoupledFlow
from queuesim.flow_errors import flow_error_text
from queuesim.measure import MEASURES
from queuesim.metrics import bounded_slowdown
from queuesim.observables.registry import OBSERVABLES
from queuesim.result import CUT
from queuesim.snapshots import sizes_told

REPORTS = {
    "paired": (
        "Isolated or not: the same jobs under every policy",
        "The jobs that run at the instants of the reference's schedule, there and where each "
        "policy has them. stretch: communication under the reference over that alone there; ratio: "
        "communication time over the reference's, the product of what is left of the others' "
        "interference and of what other nodes and routes change (means over jobs). "
        "taken_off_percent: less run time than under the reference, by node-hours, with its "
        "confidence interval from resampling whole snapshots.",
    ),
    "proof": (
        "Isolated jobs are untouched",
        "Of the jobs at one instant of an isolating policy's own schedule, those that take the "
        "same time, to the picosecond, alone and with all others.",
    ),
    "flow_vs_packets": (
        "Flow against packets on this run",
        "Stretch of communication of every job in every group sent through the packet engine: "
        "the flow level's against the packets'. Errors are |flow / packets - 1|; kept_p50 and "
        "kept_p90 are |kept / packets - 1| of audited stretches that were kept.",
    ),
    "queue_rules": (
        "Rules of the queue",
        "Jobs that never ran (what they waited for cannot happen), were cut at their walltime, "
        "were stopped by a node that failed, or were sent back to the queue by one; jobs that "
        "waited for others, and dependencies on jobs that are not in the log (taken as "
        "satisfied); mean waits from the submission and from when a job was eligible.",
    ),
}
"""Title and text of the tables that measures and run-time models report."""

GANTT_JOBS = 400
"""Most jobs a Gantt chart shows: the busiest stretch of that many starts."""


def policy_table(tables: Mapping[str, Rows]) -> pd.DataFrame:
    """One row a policy: what a reader wants to know first.

    Parameters
    ----------
    tables : mapping
        From `experiments.cosim.result_tables`.

    Returns
    -------
    pandas.DataFrame
        Texts and numbers, as the command line prints them.

    Examples
    --------
    >>> import netcosim as nc
    >>> config = nc.config_from(
    ...     {
    ...         "machine": {"family": "dragonfly", "p": 2, "a": 2, "g": 5},
    ...         "workload": {"synthetic": {"n_jobs": 30, "mean_nodes": 4}},
    ...         "queue": {"policies": ["rdn", "simple"], "run_time_model": "as-logged"},
    ...         "run": {"snapshots": 0},
    ...     }
    ... )
    >>> nc.policy_table(nc.result_tables(nc.run_cosim(config)))[["policy", "wait_s"]].round(1)
       policy  wait_s
    0     rdn  3580.5
    1  simple  3580.5
    """
    rows = []
    for row in tables["policies"]:
        measured = {}
        if "communication_ratio" in row:
            measured = {"communication_time": _ratio(row)}
        rows.append(
            {
                "policy": row["policy"],
                **measured,
                "wait_s": row["mean_wait_s"],
                "turnaround_s": row["mean_turnaround_s"],
                "slowdown": row["mean_bounded_slowdown"],
                "utilisation_percent": 100 * float(str(row["utilisation"])),
                "makespan_h": float(str(row["makespan_s"])) / 3600,
            }
            | ({"cut_jobs": _cut_jobs(row, tables)} if row.get("overrun") == "cut" else {})
        )
    return pd.DataFrame(rows)


def _cut_jobs(row: Mapping[str, object], tables: Mapping[str, Rows]) -> object:
    """Jobs cut at their walltime: fewer than were late where they have a time of grace."""
    told = {rules["policy"]: rules["cut_jobs"] for rules in tables.get("queue_rules", ())}
    return told.get(row["policy"], row["overran_jobs"])


def _ratio(row: Mapping[str, object]) -> str:
    ratio, low, high = (row[f"communication_ratio{end}"] for end in ("", "_low", "_high"))
    if ratio is None:
        return "-"
    interval = "one snapshot: no interval" if low is None else f"{low:.2f} to {high:.2f}"
    return f"{ratio:.2f} ({interval})"


def notes_of(result: CosimResult) -> list[str]:
    """What a reader of the table of policies has to know, a line each."""
    jobs, lines = result.workload, []
    if result.measured:
        lines.append(f"communication_time is relative to {result.reference.label}")
    else:
        lines.append("no packets were sent (run.snapshots = 0): nothing is said of communication")
    if result.measured and (line := threads_line(result)) is not None:
        lines.append(line)
    if result.config.analysis.bounds:
        lines += bounds_of(result.machine.topology).told()
    lines += [f"left out: {count:,} ({why})" for why, count in jobs.dropped.items() if count]
    lines += [f"note: {note}" for note in jobs.notes]
    return lines + list(result.measurement.notes if result.measurement is not None else ())


def print_table(frame: pd.DataFrame) -> str:
    """A data frame as aligned text."""

    def cell(value: object) -> str:
        if isinstance(value, float):
            return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
        return str(value)

    columns = [str(c) for c in frame.columns]
    body = [[cell(v) for v in row] for row in frame.itertuples(index=False)]
    width = [max(len(c), *(len(r[i]) for r in body)) for i, c in enumerate(columns)]
    lines = []
    for row in [columns, *body]:
        first = row[0].ljust(width[0])
        lines.append(
            "  ".join([first, *(v.rjust(w) for v, w in zip(row[1:], width[1:], strict=True))])
        )
    return "\n".join(lines)


def run_sections(result: CosimResult, tables: Mapping[str, Rows]) -> list[Section]:
    """The sections of a run's page, figures drawn.

    Parameters
    ----------
    result : CosimResult
    tables : mapping
        Its tables, from `experiments.cosim.result_tables`.
    """
    first = result.config.queue.policies[0]
    topology = result.machine.topology
    sections = [
        Section("Policies", _about_policies(result), policy_table(tables)),
        *_reference_sections(result, tables),
        Section("Machine and jobs", _what_ran(result)),
    ]
    measured = () if result.measurement is None else result.measurement.tables
    reports = (key for s in result.schedules.values() for key in s.reports)
    for name in dict.fromkeys((*(key for key in measured if key in REPORTS), *reports)):
        title, told = REPORTS.get(name, (name.replace("_", " "), ""))
        sections.append(Section(title, told, pd.DataFrame(tables[name])))
    for name in result.config.run.observables:
        told = f"{OBSERVABLES[name].description}."
        sections.append(long_table(name, pd.DataFrame(tables[name]), told))
    sections += _measured_sections(result, tables)
    sections.append(
        Section(
            "Utilisation over time",
            "Busy nodes, smoothed over a hundredth of the span.",
            figure=_utilisation(result),
        )
    )
    sections.append(
        Section(
            "Bounded slowdown",
            "Share of jobs with at most this slowdown (turnaround over run time, run times below "
            "10 s counted as 10 s).",
            figure=cdf(
                {
                    name: bounded_slowdown(r.of_those_that_ran)
                    for name, r in result.schedules.items()
                },
                xlabel="bounded slowdown",
                log=True,
            ),
        )
    )
    chart = _gantt(result, first)
    if chart is not None:
        sections.append(
            Section(
                "Jobs over nodes",
                f"Where {first} put jobs; {topology.n_nodes:,} nodes, a busy stretch of the run.",
                figure=chart,
            )
        )
    return sections


def close_figures() -> None:
    """Give the memory of all drawn figures back."""
    close("all")


def _about_policies(result: CosimResult) -> str:
    queue = (
        "Waits, turnarounds and bounded slowdowns are means over all jobs of the queue with "
        f"run-time model {result.config.queue.run_time_model}."
    )
    if not result.measured:
        return f"No packets were sent (run.snapshots = 0): no communication times. {queue}"
    return (
        "Communication time is the mean over measured jobs, relative to "
        f"{result.reference.label}: {MEASURES[result.config.run.measure].compares}; in brackets "
        f"its confidence interval. {queue}"
    )


def _reference_sections(result: CosimResult, tables: Mapping[str, Rows]) -> list[Section]:
    """The reference's own numbers, where it is none of the policies above."""
    if "reference" not in tables:
        return []
    told = "What the ratios are relative to: run with the same jobs and otherwise the same config."
    return [Section("Reference", told, pd.DataFrame(tables["reference"]))]


def _what_ran(result: CosimResult) -> str:
    topology, jobs = result.machine.topology, result.workload
    dropped = ", ".join(f"{count:,} {why}" for why, count in jobs.dropped.items() if count)
    parts = [
        f"{topology.name}: {topology.n_nodes:,} nodes, {topology.n_routers:,} routers, "
        f"{topology.n_links - topology.first_router_link:,} links between routers; routing "
        f"{result.machine.routing.name}.",
        f"{jobs.name}: {len(jobs):,} jobs of 1 to {int(jobs.n_nodes.max()):,} nodes"
        + (f"; left out: {dropped}." if dropped else "."),
        *jobs.notes,
    ]
    cut = result.config.queue.overrun == "cut"
    overran = {
        name: int(((r.outcome == CUT) if cut else r.overran).sum())
        for name, r in result.schedules.items()
    }
    if any(overran.values()):
        counts = ", ".join(f"{count:,} under {name}" for name, count in overran.items())
        parts.append(
            f"Jobs {'cut at' if cut else 'that ran on past'} their requested walltime: {counts}."
        )
    warning = buffer_warning(topology, result.machine.packets)
    if warning is not None:
        parts.append(f"Warning: {warning}")
    if result.config.queue.run_time_model == CoupledFlow.name:
        parts.append(flow_error_text(result.machine.routing))
    hops = sum(m.packet_hops for m in result.measured.values())
    if hops:
        snapshots = sum(len(m.packets) for m in result.measured.values())
        measured = sum(len(m.job) for m in result.measured.values())
        parts.append(
            f"Measured: {measured:,} communicating jobs in {snapshots} snapshots, "
            f"{hops:,} link traversals of packets."
        )
    return "\n\n".join(parts)


def _measured_sections(result: CosimResult, tables: Mapping[str, Rows]) -> list[Section]:
    if not result.measured:
        return []
    first = result.config.queue.policies[0]
    speedups = pd.DataFrame(tables["speedups"])
    sections = []
    if len(speedups):
        sizes = [
            sizes_told(low, high)
            for low, high in zip(speedups["min_nodes"], speedups["max_nodes"], strict=True)
        ]
        frame = pd.DataFrame(
            {
                "group": [
                    f"{p}\n{s} nodes" for p, s in zip(speedups["pattern"], sizes, strict=True)
                ],
                "policy": speedups["policy"],
                "ratio": speedups["ratio"],
                "low": speedups["ratio_low"].astype(float),
                "high": speedups["ratio_high"].astype(float),
            }
        )
        sections.append(
            Section(
                f"{'Run' if result.table.whole_runs else 'Communication'} time by pattern and size",
                f"Relative to {result.reference.label}; below 1 is faster. Bars: confidence "
                "interval from resampling whole snapshots; none for what one snapshot alone has "
                'seen. With run-time model "measured" they change the jobs\' run times in the '
                "queue.",
                speedups.assign(nodes=sizes)[
                    ["pattern", "nodes", "policy", "ratio", "ratio_low", "ratio_high"]
                ],
                bars_against_baseline(frame, baseline=_short_name(result)),
            )
        )
    links = _link_frame(result)
    if links is not None:
        sections.append(
            Section(
                "Links",
                "Every link between routers, all snapshots together. Stalled: a packet was ready "
                "and the buffer behind the link was full.",
                figure=link_boxes(links),
            )
        )
    busiest = result.measured[first]
    if busiest.packets:
        busy = np.sum([p.link_busy_ps for p in busiest.packets], axis=0).astype(float)
        span = sum(max(p.end_ps, 1) for p in busiest.packets)
        sections.append(
            Section(
                "Where the load is",
                f"Share of time that links are busy under {first}, from row to column.",
                figure=link_heat_map(result.machine.topology, 100 * busy / span),
            )
        )
    return sections


def _short_name(result: CosimResult) -> str:
    """The reference's name where there is little room."""
    return result.reference.policy if result.reference.elsewhere is None else "reference"


def _link_frame(result: CosimResult) -> pd.DataFrame | None:
    topology = result.machine.topology
    between = np.arange(topology.first_router_link, topology.n_links)
    kinds = np.array(topology.kinds)[topology.link_kind[between]]
    frames = []
    for name, m in result.measured.items():
        if m.packets:
            packets = np.sum([p.link_packets for p in m.packets], axis=0)[between]
            stall_s = np.sum([p.link_stall_ps for p in m.packets], axis=0)[between] * 1e-12
            frames.append(
                pd.DataFrame(
                    {"policy": name, "kind": kinds, "packets": packets, "stall_s": stall_s}
                )
            )
    return pd.concat(frames) if frames and len(between) else None


def _utilisation(result: CosimResult) -> Figure:
    series = {}
    for name, schedule in result.schedules.items():
        time_s, nodes = schedule.busy_nodes()
        series[name] = (time_s, nodes / schedule.machine_nodes)
    return utilisation_over_time(series)


def _gantt(result: CosimResult, policy: str) -> Figure | None:
    schedule = result.schedules[policy].of_those_that_ran
    kept = schedule.placements
    if kept is None or len(schedule) == 0:
        return None
    by_start = np.argsort(schedule.start_s, kind="stable")
    work = np.cumsum((schedule.workload.n_nodes * (schedule.end_s - schedule.start_s))[by_start])
    many = min(GANTT_JOBS, len(by_start))
    gains = work[many - 1 :] - np.concatenate([[0.0], work[: len(work) - many]])
    begin = int(np.argmax(gains))
    jobs = by_start[begin : begin + many]
    sizes = np.diff(kept.node_ptr)[jobs]
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    nodes = np.concatenate([kept.nodes[kept.node_ptr[j] : kept.node_ptr[j + 1]] for j in jobs])
    return gantt(
        schedule.start_s[jobs],
        schedule.end_s[jobs],
        ptr,
        nodes,
        machine_nodes=schedule.machine_nodes,
    )
