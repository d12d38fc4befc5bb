"""The use the paper asks for: a queue that knows which jobs are bound by contention."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alloc.registry import make_policy
from alloc.torus.menus import MIRA, MIRA_CURRENT
from experiments.figures.style import colour
from experiments.inputs import checked_path, input_file
from experiments.papers.kit.claims import Says, claims_frame
from experiments.papers.kit.frames import groups
from experiments.papers.kit.panels import grouped_bars, panels
from experiments.papers.paper import Analysis, Options, PaperFigure
from experiments.papers.paper import Point as Content
from experiments.papers.partitions.machines import Point
from experiments.store import Rows
from netsim.analysis.pairing import pairing_s
from netsim.topologies.registry import preset
from queuesim.metrics import summarise, turnaround_s, wait_s
from queuesim.partition_bisection import PartitionBisection
from queuesim.queue import simulate_queue
from queuesim.statistics import bootstrap_ratio
from workloads.job import Workload
from workloads.registry import read_known_log
from workloads.transform import from_zero, scale_sizes, select

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MODULE = "experiments.papers.partitions.queue"
POLICIES = ("menu", "menu-proposed", "cuboid-best", "contention-aware")
BASELINE = "menu"
MIDPLANE_NODES = 512
WINDOW = 50
"""How many jobs behind the head backfilling looks at; docs/partitions.md has results with it."""
MONTH_S = 30.5 * 86400
KEYS = ("order", "bound_jobs", "communication")
METRICS = ("mean_turnaround_s", "bound_turnaround_s", "mean_wait_s", "bound_run_s")


def contention(extents: tuple[int, ...]) -> float:
    """As `pairing_s`, whatever the orientation."""
    return pairing_s(tuple(sorted(extents, reverse=True)))


def logged_geometry(midplanes: int) -> tuple[int, ...]:
    """What Mira's menu gave a job: the smallest partition that holds it."""
    return min((g for g in MIRA_CURRENT if prod(g) >= midplanes), key=prod)


def mira_workload(log: str, month: int, seed: int, made_jobs: int = 1500) -> Workload:
    """A month of Mira's log in midplanes, or a made one where no log is given.

    Sizes are rounded up to Mira's menu, so that all policies give a job as many
    midplanes. The made one: sizes as often as they halve, run times
    log-normal, arrivals for 90 % of the machine.
    """
    if log:
        jobs = read_known_log("mira", log)
        begin = float(jobs.submit_s.min()) + month * MONTH_S
        jobs = select(jobs, (jobs.submit_s >= begin) & (jobs.submit_s < begin + MONTH_S))
        jobs = from_zero(scale_sizes(jobs, 1 / MIDPLANE_NODES))
    else:
        jobs = _made(made_jobs, np.random.default_rng([seed, month]))
    sizes = np.array([prod(logged_geometry(n)) for n in range(1, prod(MIRA) + 1)], dtype=np.int32)
    columns = {c: getattr(jobs, c) for c in ("name", "job_id", "submit_s", "run_time_s")}
    return Workload(
        **columns,
        n_nodes=sizes[np.minimum(jobs.n_nodes, prod(MIRA)) - 1],
        requested_s=jobs.requested_s,
        user=jobs.user,
        project=jobs.project,
        wait_s=jobs.wait_s,
    )


def _made(n: int, rng: np.random.Generator) -> Workload:
    sizes = np.array([1, 2, 4, 8, 16, 24, 32, 48], dtype=np.int32)
    weights = 2.0 ** -np.arange(len(sizes))
    n_nodes = rng.choice(sizes, n, p=weights / weights.sum())
    run = np.clip(rng.lognormal(8.5, 1.0, n), 60, 86400)
    gap = float((n_nodes * run).mean()) / (0.9 * prod(MIRA))
    nobody = np.full(n, -1, dtype=np.int32)
    return Workload(
        name="made",
        job_id=np.arange(n, dtype=np.int64),
        submit_s=np.cumsum(rng.exponential(gap, n)),
        run_time_s=run,
        n_nodes=n_nodes,
        requested_s=run * rng.uniform(1.0, 3.0, n),
        user=nobody,
        project=nobody,
        wait_s=np.full(n, np.nan),
    )


def queue(config: Point) -> dict[str, Rows]:
    """Table "queue": a month of jobs on Mira under one policy.

    ``config``: policy, log ("" for a made workload), month, bound_jobs, communication, order,
    seed, made_jobs. Walltimes stay as requested. Wires outside a partition's midplanes are free.
    """
    seed, month, log = config["seed"], config["month"], config["log"]
    workload = mira_workload(checked_path(log) if log else "", month, seed, config["made_jobs"])
    model = PartitionBisection(
        bound_jobs=config["bound_jobs"],
        communication=config["communication"],
        contention=contention,
        logged=logged_geometry,
    )
    bound = model.bound(workload, np.random.default_rng(seed))
    result = simulate_queue(
        workload,
        make_policy(preset("mira-midplanes"), config["policy"], np.random.default_rng(seed)),
        order=config["order"],
        window=WINDOW,
        run_time_model=model,
        rng=np.random.default_rng(seed),
        # The hint: a bound job asks for all it can get, another for nothing.
        bandwidth_Bps=np.where(bound, np.inf, 0.0),
    )
    summary = summarise(result)
    run = result.end_s - result.start_s
    waits, turnarounds = wait_s(result), turnaround_s(result)
    row = {
        **{key: config[key] for key in ("policy", "month", *KEYS)},
        "jobs": len(workload),
        "mean_wait_s": summary.mean_wait_s,
        "bound_wait_s": _mean(waits[bound]),
        "mean_turnaround_s": summary.mean_turnaround_s,
        "bound_turnaround_s": _mean(turnarounds[bound]),
        "bound_run_s": _mean(run[bound]),
        "mean_bounded_slowdown": summary.mean_bounded_slowdown,
        "utilisation": summary.utilisation,
        "loss_of_capacity": summary.loss_of_capacity,
    }
    return {"queue": [row]}


def _mean(values: NDArray[np.float64]) -> float | None:
    return float(values.mean()) if len(values) else None


def analyse_queue(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Every policy against the static menu: means over the months, relative to it."""
    queue = frames["queue"]
    claims = []
    for (order, share, _), part in groups(queue, *KEYS):
        # Nobody bound: geometry acts on packing alone.
        metrics = METRICS if share else ("mean_turnaround_s", "mean_wait_s")
        months = part.pivot(index="month", columns="policy", values=list(metrics))
        for policy in (p for p in POLICIES if p != BASELINE and (part["policy"] == p).any()):
            says = Says(
                "section 5, future work (no number)", f"{policy}, {order}, {share:.0%} bound"
            )
            for metric in metrics:
                # Months are drawn together, so the interval is of the ratio of their means.
                ours, base = months[metric][policy], months[metric][BASELINE]
                found = bootstrap_ratio(ours, base, np.random.default_rng(0))
                what = f"{metric.removesuffix('_s')} against the static menu"
                claims.append(says.surely_below(what, found, 1.0))
    means = queue.drop(columns=["month", "jobs"]).groupby([*KEYS, "policy"], as_index=False).mean()
    return Analysis(claims_frame(claims), {"means": means, "months": queue})


def queue_bars(analysis: Analysis, options: Options) -> Figure:
    """Mean turnaround and wait of every policy, one panel each, bars by share of bound jobs."""
    names = {
        "mean_wait_s": "wait of all jobs",
        "mean_turnaround_s": "turnaround of all jobs",
        "bound_run_s": "run time of bound jobs",
    }
    means = analysis.tables["means"]
    shares = {share: colour(i) for i, share in enumerate(sorted(set(means["bound_jobs"])))}
    table = means.melt(["policy", "bound_jobs"], list(names), "metric", "seconds")

    def draw(axis: Axes, part: pd.DataFrame) -> None:
        grouped_bars(
            axis,
            part.dropna(subset="seconds"),
            "policy",
            "bound_jobs",
            "seconds",
            scale=1 / 3600,
            order=POLICIES,
            colours=shares,
            name=lambda share: f"{share:.0%} of jobs bound",
            numbers="%.1f",
        )

    return panels(
        table,
        "metric",
        draw,
        columns=3,
        size_in=(5.6, 3.2),
        ylabel="hours",
        title=lambda metric: f"Mira, contention-bound jobs known: {names[metric]}",
    )


def _queue_points(options: Options) -> list[Content]:
    """Months of Mira's log (setting "log") or made ones, three shares of bound jobs, WFP.

    Without bound jobs geometry acts on packing alone.
    """
    path = options.settings.get("log", "")
    log = input_file(path) if path else ""
    return [
        {
            "what": "queue",
            "policy": policy,
            "log": log,
            "month": month,
            "bound_jobs": share,
            "communication": 0.3,
            "order": "wfp",
            "made_jobs": 300 if options.quick else 1500,
            "seed": options.seed,
        }
        for month in range(1 if options.quick else 5)
        for share in (0.0, 0.25, 0.5)
        for policy in POLICIES
    ]


QUEUE = PaperFigure(
    "queue",
    "not in the paper: its proposed scheduler, in Mira's queue (--set log=FILE)",
    f"{MODULE}:queue",
    _queue_points,
    analyse_queue,
    queue_bars,
)
