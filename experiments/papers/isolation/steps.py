"""In or out of step: what others cost jobs over a thousand iterations, by how they began.

Thunder's jobs on small machines, all sizes scaled down by as much, so that as many jobs as there
share the machine and a thousand iterations of all of them can be sent in seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import factorial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from experiments.figures.panels import panels
from experiments.figures.style import SOFT, colour
from experiments.frames import cells, groups
from experiments.papers.isolation.base import study_content, study_point
from experiments.papers.jigsaw.logs import THUNDER, fat_tree
from experiments.papers.kit.claims import claims_frame
from experiments.papers.kit.data import read_data
from experiments.papers.kit.logs import log_notes, needed
from experiments.papers.paper import Analysis, Options, Point
from queuesim.statistics import Interval, t_of_snapshots
from workloads.shares.study_mix import study_mix

NODE_BYTES = 16 * 1024
MOST_TO_ALL = 32
"""Ranks of an all-to-all: larger ones have so many messages that an iteration costs a second."""
LONG, SHORT, LATE = 1000, 300, 100
"""Iterations, and where the window ends that is compared with random phases."""
SNAPSHOTS = 4
REDRAWS = 16
DAYS = 14.0
"""Of Thunder's log."""
THUNDER_NODES = 1458
"""Of the machine on which the studies put Thunder's jobs."""
MACHINES: dict[str, tuple[dict[str, Any], dict[str, int], int, str]] = {
    "fattree": (fat_tree(12), {"radix": 6}, 432, "random"),
    "dragonfly": (
        {"family": "dragonfly", "p": 3, "a": 6, "h": 3, "g": 19},
        {"p": 2, "a": 4, "h": 2, "g": 9},
        342,
        "rdn",
    ),
}
"""By network: the machine, what is smaller for a quick look, its nodes, whose nodes jobs have."""
MAIN = "as others"
study = read_data("isolation")["steps"]
NOISES = [noise for noise, _ in study["noises"]]
SHOWN = {"meeting": "meetings over chance", "off_percent": "cost of others (%)"}
KEYS = ("network", "case", "periods", "phases", "noise")


def _way(periods: str, phases: str, noise: float, iterations: int) -> dict[str, Any]:
    return {"periods": periods, "phases": phases, "noise": noise, "iterations": iterations}


def _cases(network: str) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """What is varied: a name, keys of the config, and keys of ``run.steps``."""
    for noise, iterations in study["noises"]:
        yield MAIN, {}, _way("equal", "random", noise, iterations)
    for periods, phases in (("equal", "locked"), ("own", "random"), ("own", "locked")):
        yield MAIN, {}, _way(periods, phases, 0.0, LONG)
    for name, changes in study.get(network, {}).items():
        own = dict(changes)
        if "node_bytes" in own:
            own["communication.mix"] = _mix(own.pop("node_bytes"))
        yield name, own, _way("equal", "random", 0.0, SHORT)


def _mix(node_bytes: int) -> list[dict[str, Any]]:
    mix = study_mix(node_bytes=node_bytes)
    mix[0]["nodes"], mix[-1]["nodes"] = [1, MOST_TO_ALL], [MOST_TO_ALL + 1, mix[-1]["nodes"][1]]
    return mix


def points(options: Options) -> list[Point]:
    """One point a network, case and snapshot."""
    found: list[Point] = []
    for network, (machine, smaller, nodes, policy) in MACHINES.items():
        if options.quick:
            synthetic = {"n_jobs": 60, "mean_nodes": 4}
            machine = {**machine, **smaller}
            workload: dict[str, Any] = {"synthetic": synthetic, "all_at_zero": True}
        else:
            [(_, sections)] = needed([THUNDER], options)
            scaled = {"days": DAYS, "size_factor": round(nodes / THUNDER_NODES, 2)}
            workload = {**sections["workload"], **scaled}
        for case, changes, steps in _cases(network):
            steps = {"redraws": REDRAWS if steps["phases"] == "random" else 0, **steps}
            if options.quick:
                if case != MAIN:
                    continue
                steps |= {"iterations": 30, "redraws": min(steps["redraws"], 1)}
            for snapshot in range(1 if options.quick else SNAPSHOTS):
                content = study_content(
                    {"machine": machine, "workload": workload},
                    network,
                    [policy],
                    snapshots=SNAPSHOTS,
                    seed=options.seed,
                    changes={
                        "run.measure": "steps",
                        "run.only_snapshot": snapshot,
                        "communication.mix": _mix(NODE_BYTES),
                        **{f"run.steps.{key}": value for key, value in steps.items()},
                        **changes,
                    },
                )
                labels = {"network": network, "case": case, **{k: steps[k] for k in KEYS[2:]}}
                found.append(study_point("isolation-steps", content, labels))
    return sorted(found, key=lambda point: point["labels"]["case"] != MAIN)  # type: ignore[index]


def _interval(name: str, found: Interval) -> dict[str, float]:
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}


def going_on(rows: pd.DataFrame) -> pd.DataFrame:
    """Without windows in which a job that had begun did nothing more, and the ones before."""
    stopped = rows[(rows["from_iteration"] >= 4) & (rows["jobs_counted"] < rows["jobs"])]
    first = stopped.groupby([*KEYS, "snapshot"])["from_iteration"].min().rename("stopped")
    known = rows.merge(first, how="left", on=[*KEYS, "snapshot"])
    return known[~(known["to_iteration"] >= known["stopped"])]


def windows(rows: pd.DataFrame) -> pd.DataFrame:
    """Each window's means over snapshots, with Student's intervals."""
    seen = going_on(rows[rows["redrawn"] == 0])
    found = []
    for labels, part in cells(seen, *KEYS, "from_iteration", "to_iteration"):
        row: dict[str, Any] = {**labels, "snapshots": part["snapshot"].nunique()}
        row["jobs"] = int(part["jobs"].sum())
        for name in ("off_percent", "meeting", "order"):
            row |= _interval(name, t_of_snapshots(part[name], part["nodes"], part["snapshot"]))
        found.append(row)
    return pd.DataFrame(found)


def compared_with_random_phases(rows: pd.DataFrame) -> pd.DataFrame:
    """A late window less the value for random phases, snapshot by snapshot.

    The latter is from phases that are drawn anew (in the first iterations), and what the most
    noise gives in the same late window, where noise was varied.
    """
    keys, name = ["network", "case", "periods", "snapshot"], "off_percent"
    drawn = rows[rows["redrawn"] > 0].groupby(keys)[name].mean().rename("redrawn_percent")
    late = rows[(rows["redrawn"] == 0) & (rows["to_iteration"] <= LATE)]
    late = late[late["to_iteration"] == late["to_iteration"].max()]
    noisy = late[(late["noise"] > 0) & (late["noise"] == late["noise"].max())]
    noise = noisy.set_index(keys)[name].rename("noisy_percent")
    seen = late.merge(drawn, on=keys, how="left").merge(noise, on=keys, how="left")
    found = []
    for row, part in cells(seen, *KEYS):
        weigh = (part["nodes"], part["snapshot"])
        row["from_iteration"] = int(part["from_iteration"].iloc[0])
        for column in (name, "meeting", "redrawn_percent", "noisy_percent"):
            row |= _interval(column, t_of_snapshots(part[column], *weigh))
        for other in ("redrawn", "noisy"):
            less = part[name] - part[f"{other}_percent"]
            row |= _interval(f"less_{other}_points", t_of_snapshots(less, *weigh))
        found.append(row)
    return pd.DataFrame(found)


def even_periods_s(compute_s: Sequence[float], send_s: Sequence[float]) -> NDArray[np.float64]:
    """Mean time of an iteration of each of some jobs that share one link evenly, clocks apart.

    The set S of those that send has the weight |S|! times the product of c over S and of p over
    the others. For two jobs that is the isolated time and c_1 c_2 over the other's
    period: both lose the same part f_1 f_2 of their run time.

    Parameters
    ----------
    compute_s, send_s : sequence of float
        Means, of each job alone.
    """
    pairs = list(zip(compute_s, send_s, strict=True))

    def weigh(jobs: Sequence[tuple[float, float]]) -> float:
        of_size = np.array([1.0])  # products of c over sets of a size and of p over the others
        for p, c in jobs:
            of_size = np.append(of_size * p, 0) + np.append(0, of_size * c)
        return float(sum(factorial(m) * x for m, x in enumerate(of_size.tolist())))

    total = weigh(pairs)
    return np.array([total / weigh(pairs[:j] + pairs[j + 1 :]) for j in range(len(pairs))])


def one_link() -> pd.DataFrame:
    """Theory for equal jobs on one link: run time saved by isolation (%), by how they meet."""
    return pd.DataFrame(
        {
            "jobs": n,
            "share": f,
            "in_step_percent": 100 * (1 - 1 / (1 + (n - 1) * f)),
            "clocks_apart_percent": 100 * (1 - 1 / even_periods_s([1 - f] * n, [f] * n)[0]),
            "interleaved_percent": 100 * (1 - 1 / max(1.0, n * f)),
        }
        for n in (2, 3)
        for f in (0.1, 0.3, 0.5)
    )


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """By window, against phases drawn anew, and the closed forms beside them."""
    rows = frames["steps"]
    tables = {
        "windows": windows(rows),
        "chance": compared_with_random_phases(rows),
        "one-link": one_link(),
    }
    notes = () if options.quick else log_notes([THUNDER], options)
    return Analysis(claims_frame([]), tables, notes)


def draw(analysis: Analysis, options: Options) -> Figure:
    """Run time that others cost, and how often jobs meet, against the iteration."""
    predicted = analysis.tables["windows"]
    long = [predicted[predicted["case"] == MAIN].assign(shown=name) for name in SHOWN]

    def fill(axis: Axes, part: pd.DataFrame) -> None:
        name = part["shown"].iloc[0]
        for (phases, noise), line in groups(part, "phases", "noise"):
            x, i = np.sqrt(line["from_iteration"] * line["to_iteration"]), NOISES.index(noise)
            look = "-" if phases == "random" else "--"
            tint = colour(i if phases == "random" else len(NOISES))
            label = f"{phases} phases, noise {100 * noise:g} %"
            axis.plot(x, line[name], look, color=tint, marker="o", ms=3, label=label)
            if noise == 0:
                low, high = line[f"{name}_low"], line[f"{name}_high"]
                axis.fill_between(x, low, high, color=tint, alpha=0.12, lw=0)
        axis.axhline(1 if name == "meeting" else 0, color=SOFT, ls=":")
        axis.set_xscale("log")
        axis.set_ylim((0, 2.6) if name == "meeting" else (-2, 12))

    def title(network: str, periods: str, name: str) -> str:
        return f"{network}, {periods} periods: {SHOWN[name]}"

    frame, keys = pd.concat(long), ("network", "periods", "shown")
    frame = frame.sort_values(list(keys[:2]), ascending=False, kind="stable")
    return panels(frame, keys, fill, columns=2, size_in=(5.2, 2.6), xlabel="iteration", title=title)
