"""In or out of step: what others cost jobs over a thousand iterations, by how they began.

Thunder's jobs on small machines, all sizes scaled down by as much, so that as many jobs as there
share the machine and a thousand iterations of all of them can be sent in seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.frames import cells, groups
from experiments.papers.isolation.base import study_content, study_mix, study_point
from experiments.papers.jigsaw.logs import QUICK_DAYS, THUNDER, fat_tree
from experiments.papers.kit.claims import claims_frame
from experiments.papers.kit.logs import log_notes, needed
from experiments.papers.kit.points import MEASURED
from experiments.papers.paper import Analysis, Options, PaperFigure, Point
from queuesim.statistics import Interval, t_of_snapshots
from queuesim.steps import even_periods_s

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NODE_BYTES = 16 * 1024
MOST_TO_ALL = 32
"""Ranks of an all-to-all: larger ones have so many messages that an iteration costs a second."""
LONG, SHORT = 1000, 300
"""Iterations."""
SNAPSHOTS = 4
REDRAWS = 16
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
KEYS = ("network", "case", "periods", "phases", "noise")


def _ways() -> Iterator[dict[str, Any]]:
    """Periods, phases, noise and length of the main case; noise forgets how jobs began."""
    for noise, iterations in ((0.0, LONG), (0.01, LONG), (0.05, SHORT), (0.2, SHORT)):
        yield _way("equal", "random", noise, iterations)
    yield _way("equal", "locked", 0.0, LONG)
    yield _way("own", "random", 0.0, LONG)
    yield _way("own", "locked", 0.0, LONG)


def _way(periods: str, phases: str, noise: float, iterations: int) -> dict[str, Any]:
    return {"periods": periods, "phases": phases, "noise": noise, "iterations": iterations}


def _cases(network: str) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """What else is varied: a name, keys of the config, and keys of ``run.steps``."""
    for way in _ways():
        yield MAIN, {}, way
    if network == "fattree":
        equal = _way("equal", "random", 0.0, SHORT)
        yield "64 KiB a node", {"communication.mix": _mix(4 * NODE_BYTES)}, equal
        yield "lowest free nodes", {"queue.policies": ["baseline"]}, equal
        yield "adaptive routing", {"machine.routing": "adaptive"}, equal


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
            scaled = {"days": QUICK_DAYS, "size_factor": round(nodes / THUNDER_NODES, 2)}
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


def windows(rows: pd.DataFrame) -> pd.DataFrame:
    """Each window's means over snapshots, with Student's intervals."""
    import pandas as pd

    seen = rows[rows["redrawn"] == 0]
    found = []
    for labels, part in cells(seen, *KEYS, "from_iteration", "to_iteration"):
        row: dict[str, Any] = {**labels, "snapshots": part["snapshot"].nunique()}
        row["jobs"] = int(part["jobs"].sum())
        for name in ("off_percent", "meeting", "order"):
            row |= _interval(name, t_of_snapshots(part[name], part["nodes"], part["snapshot"]))
        found.append(row)
    return pd.DataFrame(found)


def against_redrawn(rows: pd.DataFrame) -> pd.DataFrame:
    """The last window less what phases give that are drawn anew, snapshot by snapshot."""
    import pandas as pd

    drawn = rows[rows["redrawn"] > 0]
    keys = ["network", "case", "periods", "snapshot"]
    still = drawn[drawn["noise"] == 0].groupby(keys, sort=False)
    chance = still[["off_percent", "meeting"]].mean().add_suffix("_redrawn").reset_index()
    seen = rows[rows["redrawn"] == 0].merge(chance, on=keys)
    found = []
    for labels, part in cells(seen, *KEYS):
        last = part[part["to_iteration"] == part["to_iteration"].max()]
        weigh = (last["nodes"], last["snapshot"])
        row = {**labels, "from_iteration": int(last["from_iteration"].iloc[0])}
        for name in ("off_percent", "meeting"):
            row |= _interval(name, t_of_snapshots(last[name], *weigh))
            row |= _interval(f"{name}_redrawn", t_of_snapshots(last[f"{name}_redrawn"], *weigh))
        less = last["off_percent"] - last["off_percent_redrawn"]
        found.append(row | _interval("less_points", t_of_snapshots(less, *weigh)))
    return pd.DataFrame(found)


def one_link() -> pd.DataFrame:
    """What theory says of equal jobs on one link: run time off if alone (%), by how they meet."""
    import pandas as pd

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
    tables = {"windows": windows(rows), "redrawn": against_redrawn(rows), "one-link": one_link()}
    notes = () if options.quick else log_notes([THUNDER], options)
    return Analysis(claims_frame([]), tables, notes)


def draw(analysis: Analysis, options: Options) -> Figure:
    """Run time that others cost, and how often jobs meet, against the iteration."""
    from experiments.figures.panels import panels
    from experiments.figures.style import SOFT, colour

    both = analysis.tables["windows"]
    both = both[both["case"] == MAIN]
    redrawn = analysis.tables["redrawn"]

    def fill(axis: Axes, part: pd.DataFrame) -> None:
        network, periods = part["network"].iloc[0], part["periods"].iloc[0]
        for i, ((phases, noise), line) in enumerate(groups(part, "phases", "noise")):
            x = np.sqrt(line["from_iteration"] * line["to_iteration"])
            style = "-" if phases == "random" else "--"
            name = f"{phases}, noise {100 * noise:g} %"
            axis.plot(x, line["off_percent"], style, color=colour(i), marker="o", ms=3, label=name)
            if phases == "locked" or noise == 0:
                low, high = line["off_percent_low"], line["off_percent_high"]
                axis.fill_between(x, low, high, color=colour(i), alpha=0.12, lw=0)
        same = (redrawn["network"] == network) & (redrawn["periods"] == periods)
        chance = redrawn[same & (redrawn["case"] == MAIN)]["off_percent_redrawn"]
        if len(chance):
            axis.axhline(chance.iloc[0], color=SOFT, ls=":", label="phases drawn anew")
        axis.set_xscale("log")
        axis.set_ylim(bottom=0)

    return panels(both, ("network", "periods"), fill)


STEPS = PaperFigure(
    "steps",
    "do jobs fall into step over 1000 iterations? gain of isolation by iteration",
    MEASURED,
    points,
    analyse,
    draw,
)
