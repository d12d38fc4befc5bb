"""What a user wants to know of a log before using it, in lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workloads.job import Workload


def summary_lines(jobs: Workload) -> list[str]:
    """Summarise a log: sizes, times, load, and what was left out."""
    import numpy as np

    from netsim.units import format_quantity

    nodes, run_s = jobs.n_nodes, jobs.run_time_s
    span_s = float(np.max(jobs.submit_s + run_s) - jobs.submit_s[0])
    node_s = float(np.sum(nodes * run_s))
    quart = np.quantile(nodes, [0.5, 0.9])
    run_q = np.quantile(run_s, [0.5, 0.9])
    ratio = (jobs.requested_s / run_s)[np.isfinite(jobs.requested_s)]
    lines = [
        f"{jobs.name}: {len(jobs):,} jobs over {format_quantity(span_s, 'time')}",
        f"  nodes: median {quart[0]:g}, 90 % up to {quart[1]:g}, largest {nodes.max():,}",
        f"  run time: median {format_quantity(float(run_q[0]), 'time')}, 90 % up to "
        f"{format_quantity(float(run_q[1]), 'time')}, "
        f"longest {format_quantity(float(run_s.max()), 'time')}",
        f"  work: {node_s / 3600:,.0f} node-hours, as much as {node_s / span_s:,.0f} nodes busy "
        "all the time",
    ]
    if len(ratio):
        lines.append(f"  requested time: median {np.median(ratio):.2f} of the run time")
    known = ~np.isnan(jobs.wait_s)
    if known.any():
        wait = format_quantity(float(np.mean(jobs.wait_s[known])), "time")
        lines.append(f"  logged wait: mean {wait}, known for {100 * known.mean():.0f} % of jobs")
    lines += [f"  {line}" for line in carried_lines(jobs)]
    return lines + [f"  {line}" for line in left_out_and_notes(jobs)]


def carried_lines(jobs: Workload) -> list[str]:
    """Describe what the log contains besides sizes and times."""
    from datetime import UTC, datetime

    lines = []
    if jobs.start_unix_s is not None:
        begin = datetime.fromtimestamp(jobs.start_unix_s + jobs.submit_s[0], tz=UTC)
        lines.append(f"first job: {begin:%Y-%m-%d %H:%M:%S} UTC")
    for name, count in jobs.details.carried().items():
        column = getattr(jobs.details, name)
        names = getattr(column, "names", ())
        text = f"{count:,} jobs" if count < len(jobs) else "all jobs"
        if name == "node_list":
            text += f", {len(names):,} nodes"
        elif names:
            shown = ", ".join(names[:6])
            text += f": {shown}, ..." if len(names) > 6 else f": {shown}"
        lines.append(f"{name}: {text}")
    return lines


def left_out_and_notes(jobs: Workload) -> list[str]:
    """Return which of the log's jobs were left out, and notes on reading them."""
    lines = [f"left out: {count:,} ({reason})" for reason, count in jobs.dropped.items()]
    return lines + [f"note: {note}" for note in jobs.notes]
