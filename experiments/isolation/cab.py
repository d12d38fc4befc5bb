"""Cab's 1.08: which jobs, placements and loads give what Pollard et al. measured, one at a time.

They packed jobs on all of Cab (SC'18, V-B), ran them under TA and obliviously, and printed the mean
of each job's time over its time under TA. Every point is a packing and a config; what is varied
are the config's keys. Nothing is fitted: the entire table is predicted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from alloc.policy import Policy, Request
from alloc.registry import make_policy
from experiments.kit.claims import ClaimBuilder, claims_frame
from experiments.kit.data import read_data, read_printed
from experiments.kit.frames import groups
from experiments.kit.log_study import study_content, study_point
from experiments.kit.panels import panels
from experiments.kit.papers import Analysis, Options, Point
from experiments.kit.size_laws import draw_size
from netcosim.config.content import checked_config
from netcosim.config.machine import build_machine
from netcosim.runs.cosim import run_cosim
from netcosim.runs.cosim_tables import result_tables
from netcosim.runs.points import point_rng
from netcosim.runs.store import Rows
from queuesim.statistics import LEAST_WINDOWS, Interval, t_of_snapshots
from workloads.job import Workload, bare_jobs

printed = read_printed("kit/fattree_workloads")
ALL = "all"
PACKED = "experiments.isolation.cab:packed"
CASE, ALL_COMMUNICATION = "cab 4-128, 30 %", "cab 4-128"
BASE = "base"
NODE_BYTES = 32 * 1024
ITERATIONS = 8
"""Of the job with the longest one; all others do more."""
FRACTION = printed["communication_fraction"]
LINK_BPS = 4 * 10**9

study = read_data("isolation")["cab"]
VARIANTS: dict[str, dict[str, Any]] = study["variants"]


def tree(half: int, pods: int) -> dict[str, Any]:
    """Return a full tree by its level sizes; that of 18 and 4 is the preset "cab"."""
    links = {f"{level}_bandwidth_Bps": LINK_BPS for level in ("node", "level1", "level2")}
    sizes = {"m1": half, "m2": half, "m3": pods, "w2": half, "w3": half}
    return {"family": "fattree", **sizes, **links}


def points(options: Options) -> list[Point]:
    """Return a point a variant and packing; expensive variants have only the first packing."""
    chosen = {name: VARIANTS[name] for name in (study["quick"] if options.quick else VARIANTS)}
    cases = [(name, FRACTION) for name in chosen] + [
        (n, 1.0) for n in study["always"] if n in chosen
    ]
    return [
        _point(name, fraction, packing, options)
        for dear in (False, True)
        for packing in range(1 if dear else 2 if options.quick else 4)
        for name, fraction in cases
        if (name in study["dear"]) == dear
    ]


def _point(name: str, fraction: float, packing: int, options: Options) -> Point:
    changes = dict(VARIANTS[name])
    generations = changes.pop("generations", 0)
    node_bytes = changes.pop("node_bytes", NODE_BYTES)
    mix = [
        {"pattern": pattern, "node_bytes": node_bytes, "communication_fraction": [fraction] * 2}
        for pattern in printed["patterns"]
    ]
    changes = {
        "communication.mix": mix,
        "queue.policies": ["random", "ta"],
        "queue.backfill": "none",
        "run.repetition": packing,
        "run.steady.precision": 0.5,
        "run.steady.noise": 0.0,
        "run.steady.least_iterations": ITERATIONS,
        "run.steady.most_iterations": ITERATIONS,
        **changes,
    }
    machine = tree(4, 8) if options.quick else tree(18, 4)
    sections = {"machine": machine, "workload": {"synthetic": {"n_jobs": 1}}}
    content = study_content(
        sections, "fattree", (), snapshots=1, seed=options.seed, changes=changes
    )
    labels = {"variant": name, "f": fraction, "packing": packing}
    sizes = {"smallest": 2 if options.quick else 4, "largest": 16 if options.quick else 128}
    point = study_point("isolation-cab", content, labels)
    return {**point, "sizes": {**sizes, "generations": generations}}


def packed(point: Mapping[str, Any]) -> dict[str, Rows]:
    """Return a packing's jobs, each under oblivious placement and under TA: table "pairs"."""
    config, sizes = checked_config(point["config"]), point["sizes"]
    chosen = {"seed": config.run.seed, "packing": config.run.repetition}
    rng, topology = point_rng(chosen, "packing"), build_machine(config.machine).topology
    jobs = packed_jobs(
        make_policy(topology, "ta", rng),
        partial(draw_size, "powers", sizes["smallest"], sizes["largest"]),
        rng,
        generations=sizes["generations"],
    )
    pairs = result_tables(run_cosim(config, jobs=jobs))["pairs"]
    return {"pairs": [{**point["labels"], **row} for row in pairs]}


def speedups(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over jobs of time over time under TA, by variant, share and pattern.

    ``base`` is that of the base over the same packings.
    """
    found = []
    pairs = pairs.assign(speedup=pairs["reference_s"] / pairs["policy_s"])
    for (variant, f), part in groups(pairs, "variant", "f"):
        base = pairs[(pairs["variant"] == BASE) & (pairs["f"] == f)]
        base = base[base["packing"].isin(part["packing"])]
        for pattern in (ALL, *printed["patterns"]):
            every = pattern == ALL
            mine, same = (p[every | (p["pattern"] == pattern)] for p in (part, base))
            if mine.empty:
                continue
            packings = mine["packing"]
            mean = t_of_snapshots(mine["speedup"], 1, packings, least_samples=LEAST_WINDOWS)
            case = CASE if f < 1 else ALL_COMMUNICATION
            row = {"variant": variant, "f": f, "pattern": pattern, "jobs": len(mine)}
            row |= {"paper": printed["speedups"][case].get(pattern), "speedup": mean.value}
            row |= {"low": mean.low, "high": mean.high, "most": mine["speedup"].max()}
            found.append({**row, "base": same["speedup"].mean()})
    return pd.DataFrame(found)


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return which variants have Cab's means in their intervals."""
    table, claims = speedups(frames["pairs"]), []
    for row in table[table["paper"].notna() & table["low"].notna()].to_dict("records"):
        check = ClaimBuilder("Pollard V-B", f"{row['variant']}, f = {row['f']:g}")
        statement = f"mean speed-up under TA, {row['pattern']}"
        measured = Interval(row["speedup"], row["low"], row["high"])
        case = CASE if row["f"] < 1 else ALL_COMMUNICATION
        paper = printed["speedups"][case][row["pattern"]]
        inside = measured.low <= paper <= measured.high
        claims.append(check.holds(statement, inside, "in our interval", measured, paper=paper))
    return Analysis(claims_frame(claims), {"cab": table})


def draw(analysis: Analysis, options: Options) -> Figure:
    """Draw speed-ups at 30 % by variant, with the paper's."""
    table = analysis.tables["cab"]
    shown = table[(table["pattern"] == ALL) & (table["f"] < 1)]

    def rows(axis: Axes, part: pd.DataFrame) -> None:
        part = part.iloc[::-1]
        ends = [part["speedup"] - part["low"], part["high"] - part["speedup"]]
        place = np.arange(len(part))
        axis.errorbar(part["speedup"], place, xerr=np.nan_to_num(ends), fmt="o", capsize=3)
        axis.axvline(printed["speedups"][CASE][ALL], color="black", linestyle="--")
        axis.set_yticks(place, list(part["variant"]))

    return panels(
        shown,
        (),
        rows,
        size_in=(7.5, 0.28 * len(shown) + 1.0),
        xlabel="time over time under TA, mean over jobs; dashed: measured on Cab",
        title=lambda: "30 % communication",
        legend=False,
    )


PATIENCE = 10
"""Draws in a row that find no place, after which a machine is full."""
LONG_S, SHORT_S = 1e6, 600.0
"""Run times: of the packed jobs, and at most of those before them."""


def packed_jobs(
    policy: Policy,
    draw_size: Callable[[np.random.Generator], int],
    rng: np.random.Generator,
    *,
    generations: int = 0,
) -> Workload:
    """Return jobs that fill a machine together, numbered from 1, and earlier jobs on it.

    Jobs of drawn sizes are packed by the policy until `PATIENCE` draws in a row find no place. All
    are submitted at 0, those before them first (``generations`` machines full of them): these end
    one by one, at random, and the packed ones take, first come first served, the nodes that become
    free. So under a queue without backfilling free nodes lie scattered when a packed job comes, as
    on a machine in use; at half of the work all packed jobs run, and no other job.
    """
    sizes: list[int] = []
    missed = 0
    while missed < PATIENCE:
        n_nodes = draw_size(rng)
        missed += 1
        if policy.allocate(Request(len(sizes), n_nodes)) is not None:
            missed = 0
            sizes.append(n_nodes)
    before: list[int] = []
    while sum(before) < generations * policy.topology.n_nodes:
        before.append(draw_size(rng))
    run_s = np.concatenate([rng.uniform(1, SHORT_S, len(before)), np.full(len(sizes), LONG_S)])
    ids = np.concatenate([len(sizes) + np.arange(len(before)), np.arange(len(sizes))]) + 1
    return bare_jobs(
        "packing",
        submit_s=np.zeros(len(run_s)),
        run_time_s=run_s,
        n_nodes=np.array([*before, *sizes]),
        requested_s=run_s,
        job_id=ids,
    )
