"""Which nodes jobs had before they were isolated: by what rule, and what it does to the gain.

Figure ``placement``: the hops between a job's nodes under every reference placement, on Cab's
tree, next to Pollard et al. on Cab's record (Fig. 1); what Jigsaw reduces compared with each;
and the same with nodes that drive half of their link, and with I/O through gateways.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from cosim.measuring.pairs import run_time_reduction
from experiments.kit.claims import ClaimBuilder, claims_frame
from experiments.kit.fat_tree_logs import LINK_BPS, fat_tree
from experiments.kit.frames import cells, first_seen, groups
from experiments.kit.log_study import study_content, study_point
from experiments.kit.logs import log_notes, needed, read_logs
from experiments.kit.papers import Analysis, Options, Point
from experiments.kit.queues import Frames
from experiments.kit.study_mix import study_mix
from netcosim.report.figures.style import INK, SOFT, colour, grid, marker, new_figure, shared_legend
from queuesim.observables.jobs import BINS, by_size
from queuesim.statistics import Interval, known_ends, t_of_snapshots

PLACEMENTS = (
    *("baseline", "slurm-linear", "slurm-tree"),
    *("shortest-idle", "longest-idle", "random"),
)
"""All place by count alone: with equal run times every job starts and ends at the same moment."""
ISOLATING = "jigsaw"
QUEUE_DEPTH = 128
"""How many waiting jobs Cab's scheduler looked at."""
HOPS_LOGS = [
    read_logs("pollard")[name] for name in ("thunder on cab", "atlas on cab", "kth on small cab")
]
DAYS = 61.0
"""Fig. 1 has August and September of 2014."""
PARTS = 10
"""Of a log, one after the other; the first does not count, for the machine was empty."""
EXCESS = (0.0, 0.5, 1.0, 2.0)
"""Hops above the least from which on a job may be called scattered: not stated in the paper."""
GAIN_LOG = HOPS_LOGS[-1]
"""100 nodes in Cab's shape; a snapshot of Thunder's 1458 takes a minute of CPU for each case."""
NODE_BYTES = 64 * 1024
"""A quarter of the other studies', for the same reason."""
SNAPSHOTS = 16
STEADY = {"run.steady.precision": 0.05, "run.steady.most_iterations": 32}
QUICK_STEADY = {"run.steady.precision": 0.5, "run.steady.most_iterations": 16}
DRIVES = (1.0, 0.5)
IO = ((1e-4, 65536), (0.01, 65536), (0.05, 65536))
"""Drive and bytes at once. Frontier's file system takes 10 TB/s from 9408 nodes of 100 GB/s: 1 %.
The first is next to nothing: the same gateways, kept from jobs."""
QUICK_RADIX = 6
QUICK_JOBS = {"n_jobs": 60, "mean_nodes": 5}


def gateways(radix: int, n_leaves: int) -> str:
    """Return the gateway nodes of a full tree: the last leaf of every second pod."""
    leaf = radix // 2
    ends = [(2 * k + 1) * leaf * leaf for k in range(n_leaves)]
    return ",".join(f"{end - leaf}-{end - 1}" for end in ends)


def points(options: Options) -> list[Point]:
    """Return the logs on Cab's tree, then the jobs of one log in loops."""
    return [*hops_points(options), *gain_points(options)]


def hops_points(options: Options) -> list[Point]:
    """Return each log with its arrivals, as logged, under all placements."""
    if options.quick:
        made = {"synthetic": QUICK_JOBS, "larger_jobs": "drop"}
        logs = [("made", {"machine": fat_tree(QUICK_RADIX, pods=4), "workload": made})]
    else:
        logs = [(log.name, own) for log, own in needed(HOPS_LOGS, options)]
        for _, own in logs:
            own["workload"]["days"] = DAYS
    queue = {"policies": list(PLACEMENTS), "window": QUEUE_DEPTH, "run_time_model": "as-logged"}
    run = {"seed": options.seed, "snapshots": 0, "observables": ["spread"]}
    return [
        study_point("placement", {**own, "queue": queue, "run": run}, {"log": name, "what": "hops"})
        for name, own in logs
    ]


def gain_points(options: Options) -> list[Point]:
    """Return jobs in loops: all placements, some at less drive, some with I/O."""
    if options.quick:
        made = {"synthetic": QUICK_JOBS, "all_at_zero": True, "larger_jobs": "drop"}
        own: dict[str, Any] = {"machine": fat_tree(QUICK_RADIX), "workload": made}
        name, named = "made", gateways(QUICK_RADIX, 2)
    else:
        [(log, own)] = needed((GAIN_LOG,), options)
        own["workload"] |= {"days": DAYS, "all_at_zero": True}
        name, named = log.name, gateways(int(own["machine"]["radix"]), 2)
    cases: list[tuple[dict[str, object], dict[str, object]]] = [
        ({"drive": drive}, {} if drive == 1 else {"machine.node_bandwidth_Bps": LINK_BPS // 2})
        for drive in DRIVES
    ]
    for drive, message_bytes in IO[-2:] if options.quick else IO:
        io = {"gateways": named, "drive": drive, "message_bytes": message_bytes}
        cases.append(({"io": drive, "io_bytes": message_bytes}, {"communication.io": io}))
    found = []
    for labels, changes in cases:
        content = study_content(
            own,
            "fattree",
            [*(("baseline", "random") if changes else PLACEMENTS), ISOLATING],
            snapshots=2 if options.quick else SNAPSHOTS,
            seed=options.seed,
            changes={
                "communication.mix": study_mix(node_bytes=NODE_BYTES),
                **(QUICK_STEADY if options.quick else STEADY),
                **changes,
            },
        )
        found.append(study_point("placement", content, {"log": name, **labels}))
    return found


def _ends(found: Interval) -> dict[str, float | None]:
    low, high = known_ends(found)
    return {"low": low, "high": high}


def hops_table(spread: pd.DataFrame) -> pd.DataFrame:
    """Return quartiles of the hops by job size, under every placement."""
    rows = []
    for where, part in cells(spread, "log", "policy"):
        sizes = part["nodes"].to_numpy()
        for name, mine in [*by_size(sizes, BINS), ("2+", sizes > 1)]:
            hops = part["hops"][mine]
            quartiles = {f"q{q}": hops.quantile(q / 100) for q in (25, 50, 75)}
            means = {"mean": hops.mean(), "least": part["least"][mine].mean()}
            rows.append({**where, "nodes": name, "jobs": len(hops), **quartiles, **means})
    return pd.DataFrame(rows)


def scattered_table(spread: pd.DataFrame) -> pd.DataFrame:
    """Return shares of jobs by hops above the least, and distances to random's and the least.

    Intervals are over parts of a log. Distances are earth mover's, within sizes, in hops.
    """
    rows = []
    for where, both in cells(spread, "log"):
        part = np.arange(int((both["policy"] == "random").sum()))
        part = part * PARTS // max(len(part), 1)
        random = both.loc[both["policy"] == "random", "hops"].to_numpy()
        for (policy,), mine in groups(both, "policy"):
            hops, least = mine["hops"].to_numpy(), mine["least"].to_numpy()
            kind = 100 * part + np.searchsorted(list(BINS.values()), mine["nodes"], side="right")
            columns = {f"above {x:g}": 100.0 * (hops - least > x - 1e-9) for x in EXCESS[1:]}
            columns |= {"above 0": 100.0 * (hops - least > 1e-9)}
            columns |= {
                "from random": apart(hops, random, kind),
                "from least": np.abs(hops - least),
            }
            for name, values in columns.items():
                late = part > 0
                found = t_of_snapshots(values[late], np.ones(late.sum()), part[late])
                row = {**where, "policy": policy, "measure": name, "value": found.value}
                rows.append({**row, **_ends(found)})
    return pd.DataFrame(rows)


def gain_table(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the reduction of each placement's run times by Jigsaw, in percent, by node-hours.

    ``alone`` is the part of it that is due to the nodes themselves, without other jobs.
    """
    keys = ["log", "drive", "io", "io_bytes"]
    pairs = pairs.fillna({"drive": 1.0, "io": 0.0, "io_bytes": 0})
    pairs = pairs.sort_values(["io", "drive"], ascending=[True, False], kind="stable")
    rows = []
    for where, part in cells(pairs, *keys):
        by_policy = dict(iter(part.groupby("policy", sort=False)))
        there = by_policy[ISOLATING]
        reference = there.assign(
            policy_s=there["reference_s"], policy_alone_s=there["reference_alone_s"]
        )
        sides = {"baseline": reference, **by_policy}
        for policy in (p for p in PLACEMENTS if p in sides):
            row = {**where, "policy": policy, "jobs": len(there)}
            for name, column in (("taken_off", "policy_s"), ("alone", "policy_alone_s")):
                ratio = there[column].to_numpy() / sides[policy][column].to_numpy()
                off = 100 * run_time_reduction(ratio, np.ones(len(ratio)))
                found = t_of_snapshots(off, there["n_nodes"], there["snapshot"])
                ends = {f"{name}_{end}": value for end, value in _ends(found).items()}
                row |= {name: found.value, **ends}
            rows.append(row)
    return pd.DataFrame(rows)


def analyse(frames: Frames, options: Options) -> Analysis:
    """Return which placements the paper's sentence allows, and the gain with each."""
    spread, pairs = frames["spread"], frames["pairs"]
    scattered = scattered_table(spread)
    check, claims = ClaimBuilder("Fig. 1", "simulated, not Cab's record"), []
    for row in scattered[scattered["measure"].isin(["above 0", "above 1"])].to_dict("records"):
        share = Interval(row["value"], row["low"], row["high"])
        hops = str(row["measure"]).removeprefix("above ")
        what = f"{row['log']}, {row['policy']}: jobs more than {hops} hops above the least (%)"
        claims.append(check.above(what, share, 50, note='"most jobs"'))
    tables = {"hops": hops_table(spread), "scattered": scattered, "gain": gain_table(pairs)}
    notes = () if options.quick else log_notes(HOPS_LOGS, options, set(spread["log"]))
    return Analysis(claims_frame(claims), tables, notes)


def apart(hops: ArrayLike, others: ArrayLike, kind: ArrayLike) -> NDArray[np.float64]:
    """Return differences whose mean is the earth mover's distance, within each kind of jobs.

    Of the same jobs under two placements; at the places of each kind's jobs: its hops by rank, one
    way less the other, positive.
    """
    mine, placed, of = np.asarray(hops), np.asarray(others), np.asarray(kind)
    order = np.argsort(of, kind="stable")
    found = np.empty(len(of))
    found[order] = np.abs(mine[np.lexsort((mine, of))] - placed[np.lexsort((placed, of))])
    return found


def draw(analysis: Analysis, options: Options) -> Figure:
    """Draw hops over sizes, a panel a log, and below the reduction by Jigsaw by placement."""
    hops, gain = analysis.tables["hops"], analysis.tables["gain"]
    logs, policies = first_seen(hops, "log"), first_seen(hops, "policy")
    wide = max(2, len(logs))
    figure, axes = new_figure(4.0 * wide, 6.4, 2, wide)
    for axis, (log,) in zip(axes, ((log,) for log in logs), strict=False):
        _hops(axis, hops[(hops["log"] == log) & (hops["nodes"] != "2+")], policies)
        axis.set_title(log, fontsize=9)
    axes[0].set_ylabel("average pairwise hops (quartiles)", fontsize=8)
    cases = list(groups(gain, "drive", "io", "io_bytes"))
    _gain(axes[wide], cases[0][1], policies)
    axes[wide].set_title("reduction of run time by Jigsaw, by placement", fontsize=9)
    axes[wide].set_ylabel("off the run time (%)", fontsize=8)
    _cases(axes[wide + 1], gain, policies)
    axes[wide + 1].set_title("against baseline and random nodes, by case", fontsize=9)
    for axis in (*axes[len(logs) : wide], *axes[wide + 2 :]):
        axis.set_visible(False)
    shared_legend(figure, axes[:1])
    return figure


def _hops(axis: Axes, part: pd.DataFrame, policies: list[str]) -> None:
    names = first_seen(part, "nodes")
    order = sorted(names, key=lambda name: int(name.lstrip(">").split("-")[0]))
    at = {name: k for k, name in enumerate(order)}
    for k, policy in enumerate(policies):
        mine = part[part["policy"] == policy]
        x = mine["nodes"].map(at).to_numpy() + 0.11 * (k - (len(policies) - 1) / 2)
        axis.vlines(x, mine["q25"], mine["q75"], color=colour(k), lw=1.5)
        axis.plot(x, mine["q50"], ls="", marker=marker(k), ms=4, color=colour(k), label=policy)
    least = part.drop_duplicates("nodes")
    place = least["nodes"].map(at).to_numpy()
    axis.hlines(least["least"], place - 0.42, place + 0.42, color=INK, ls=":", label="least")
    axis.set_xticks(range(len(order)), order, fontsize=7)
    axis.set_xlabel("nodes of the job", fontsize=8)
    axis.set_ylim(-0.1, 4.1)
    grid(axis)


def _bars(axis: Axes, x: np.ndarray, rows: pd.DataFrame, ink: str, shape: str, name: str) -> None:
    axis.plot(x, rows["taken_off"], ls="", marker=shape, ms=5, color=ink, label=name)
    low, high = (rows[f"taken_off_{end}"].astype(float) for end in ("low", "high"))
    axis.vlines(x, low, high, color=ink, lw=1.4)


def _gain(axis: Axes, rows: pd.DataFrame, policies: list[str]) -> None:
    for k, policy in enumerate(policies):
        mine = rows[rows["policy"] == policy]
        _bars(axis, np.full(len(mine), k), mine, colour(k), marker(k), policy)
    axis.set_xticks(range(len(policies)), policies, fontsize=6.5, rotation=20)
    axis.axhline(0, color=SOFT, lw=0.8)
    grid(axis)


def _cases(axis: Axes, gain: pd.DataFrame, policies: list[str]) -> None:
    names = []
    for place, ((drive, io, io_bytes), part) in enumerate(groups(gain, "drive", "io", "io_bytes")):
        tick = f"I/O {100 * io:g} %\n{io_bytes / 1024:g} KiB" if io else f"drive {drive:g}"
        names.append(tick)
        for step, policy in ((-0.1, "baseline"), (0.1, "random")):
            mine, k = part[part["policy"] == policy], policies.index(policy)
            _bars(axis, np.full(len(mine), place + step), mine, colour(k), marker(k), policy)
    axis.set_xticks(range(len(names)), names, fontsize=7)
    axis.axhline(0, color=SOFT, lw=0.8)
    grid(axis)
