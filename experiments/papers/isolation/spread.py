"""Dragonflies: compact, spread or random nodes, in a queue's states and on an empty machine.

Jobs go on for ever under random nodes (RDN, the reference), random groups (RDG), the first free
nodes (simple) and Level-Spread; one thing at a time is other than in the base, then several.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cosim.measuring.snapshots import class_name, size_class
from experiments.figures.panels import grouped_bars, panels
from experiments.figures.style import INK, policy_colours
from experiments.frames import cells, groups
from experiments.papers.isolation.base import study_content, study_point
from experiments.papers.jigsaw.logs import ATLAS, THETA, THUNDER
from experiments.papers.kit.claims import Claim, ClaimBuilder, claims_frame
from experiments.papers.kit.data import read_data, read_printed
from experiments.papers.kit.logs import log_notes, needed
from experiments.papers.kit.routers import ROUTERS
from experiments.papers.paper import Analysis, Options, Point
from queuesim.placing import SMALL_FIRST
from queuesim.statistics import Interval, t_of_snapshots
from workloads.shares.study_mix import study_mix

printed = read_printed("level_spread")["random"]["Fig. 10, VI-D"]
REFERENCE, LEVEL_SPREAD = "rdn", "level-spread"
LOGS = (THUNDER, ATLAS, THETA)
MACHINES = {THUNDER.name: "dragonfly-1056", ATLAS.name: "dragonfly-1056", THETA.name: "theta"}
DAYS = 20.0
"""Of Thunder's log: its whole queue under four policies would take as long as the packets."""
SMALL = {"family": "dragonfly", "p": 2, "a": 2, "g": 5}
SMALL_LOG, SMALL_JOBS = "synth-small", {"n_jobs": 40, "mean_nodes": 4}
SNAPSHOTS = 4
STEADY = {"least_iterations": 8, "most_iterations": 8}
"""Eight iterations of the longest job: means scatter more between snapshots than in one."""
BASE, ALWAYS, MINIMAL, CUT = "base", "all the time", "minimal", "window cut"
study = read_data("isolation")["dragonfly"]
LEVELS: dict[str, dict[str, Any]] = study["levels"]
CELLS = [tuple(map(tuple, cell)) for cell in study["cells"]]
"""Levels, logs and policies."""
OTHERS = "the mean of the others"
LESS = ("communication", "communication_low", "communication_high")
QUICK = ((), (MINIMAL,), (ALWAYS, SMALL_FIRST, "shuffled"))
"""Levels of the cells of a quick look, those of most policies."""


def points(options: Options) -> list[Point]:
    """Return a point a cell, log and seed, with all its snapshots; two seeds of the base."""
    if options.quick:
        jobs = {"synthetic": SMALL_JOBS, "all_at_zero": True, "larger_jobs": "drop"}
        known = {SMALL_LOG: {"machine": SMALL, "workload": jobs}}
    else:
        known = {
            log.name: {**sections, "machine": {"preset": MACHINES[log.name]}}
            for log, sections in needed(LOGS, options)
        }
    found: list[Point] = []
    for levels, names, policies in CELLS:
        changes: dict[str, object] = {"run.steady": STEADY}
        for level in levels:
            changes |= _changes_of(level)
        for log, sections in known.items():
            if log not in names and not (options.quick and levels in QUICK and len(policies) > 2):
                continue
            days = {"workload.days": DAYS} if log == THUNDER.name else {}
            for seed in (0, 1) if len(policies) > 3 else (0,):
                content = study_content(
                    sections,
                    "dragonfly",
                    policies,
                    snapshots=SNAPSHOTS,
                    seed=options.seed,
                    changes={**changes, **days, "run.repetition": seed},
                )
                labels = {"log": log, "cell": ", ".join(levels) or BASE, "seed": seed}
                found.append(study_point("isolation-dragonfly", content, labels))
    return found


def _changes_of(level: str) -> dict[str, object]:
    """Return the keys of a config that a level changes."""
    changes = dict(LEVELS[level])
    if "router" in changes:
        changes["machine.packet"] = ROUTERS[changes.pop("router")]
    if "mix" in changes:
        changes["communication.mix"] = study_mix(**changes.pop("mix"))
    return changes


def _compared(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return pairs against RDN, and Level-Spread's against the others: percent less time."""
    idle_s = (1 - pairs["duty"]) * pairs["reference_alone_s"]
    pairs = pairs.assign(idle_s=idle_s, against=REFERENCE)
    keys = ["log", "cell", "seed", "snapshot", "job_id"]
    mine = pairs[pairs["policy"] == LEVEL_SPREAD].drop(columns=["against", "reference_s"])
    others = pairs.loc[pairs["policy"] != LEVEL_SPREAD, [*keys, "policy", "policy_s"]]
    others = others.rename(columns={"policy": "against", "policy_s": "reference_s"})
    compared = pd.concat([pairs, mine.merge(others, on=keys)])
    there_s, here_s = compared["reference_s"], compared["policy_s"]
    compared = compared.assign(
        off=100 * (1 - here_s / there_s),
        log_ratio=np.log((here_s - compared["idle_s"]) / (there_s - compared["idle_s"])),
        size_class=size_class(compared["n_nodes"]),
    )
    mine = compared[compared["policy"] == LEVEL_SPREAD]
    several = mine[mine.groupby(["log", "cell"])["against"].transform("nunique") > 1]
    mean = several.groupby([*keys, "policy"], as_index=False, sort=False).mean(numeric_only=True)
    return pd.concat([compared, mean.assign(against=OTHERS)])


def _means(part: pd.DataFrame) -> dict[str, object]:
    """Return percent off by node-hours, and less communication time, geometric mean of jobs."""
    row: dict[str, object] = {"jobs": len(part), "snapshots": part["snapshot"].nunique()}
    off = t_of_snapshots(part["off"], part["n_nodes"], part["snapshot"])
    mean, low, high = t_of_snapshots(part["log_ratio"], 1.0, part["snapshot"])
    less = (100 * (1 - float(np.exp(x))) for x in (mean, high, low))
    row |= zip(("off", "off_low", "off_high", *LESS), (*off, *less), strict=True)
    each = [one["off"] @ one["n_nodes"] / one["n_nodes"].sum() for _, one in groups(part, "seed")]
    return row | {"seeds": len(each), "seed_least": min(each), "seed_most": max(each)}


def _changes(compared: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Yield the effect of each level on the same jobs, instants and seed."""
    keys = ["log", "policy", "seed", "snapshot", "job_id"]
    compared = compared[compared["against"] == REFERENCE]
    base = compared[compared["cell"] == BASE].set_index(keys)["off"].rename("base")
    for labels, part in cells(compared[compared["cell"] != BASE], "log", "cell", "policy"):
        both = part.join(base, on=keys, how="inner")
        if len(both):
            found = t_of_snapshots(both["off"] - both["base"], both["n_nodes"], both["snapshot"])
            yield {**labels, **dict(zip(("more_off", "low", "high"), found, strict=True))}


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return the reduction by each policy and cell; each level's effect; the paper's claims."""
    compared = _compared(frames["pairs"])
    rows, sizes = [], []
    for labels, part in cells(compared, "log", "cell", "policy", "against"):
        rows.append({**labels, **_means(part)})
        if labels["against"] == REFERENCE:
            for ratio in ("stretch", "interference_ratio", "locality_ratio"):
                rows[-1][ratio] = float(part[ratio].mean())
            for (which,), piece in groups(part.sort_values("size_class"), "size_class"):
                sizes.append({**labels, "nodes": class_name(int(which)), **_means(piece)})
    tables = {"spread": pd.DataFrame(rows), "spread-sizes": pd.DataFrame(sizes)}
    tables["spread-changes"] = pd.DataFrame(list(_changes(compared)))
    notes = () if options.quick else log_notes(LOGS, options)
    return Analysis(claims_frame(_claims(tables["spread"])), tables, notes)


def _claims(spread: pd.DataFrame) -> list[Claim]:
    """Judge whether communication is shorter under Level-Spread, and by 16 % in the mean."""
    claims = []
    for row in spread[spread["policy"] == LEVEL_SPREAD].to_dict("records"):
        less = Interval(*(float(row[column]) for column in LESS))
        what = f"{row['log']}: communication, less under Level-Spread than {row['against']} (%)"
        check = ClaimBuilder("Level-Spread, abstract and VI-D", row["cell"])
        note = "paper: eight policies, random workloads"
        claims.append(
            check.near(
                what, printed["mean reduction (%)"], less, within=5, unit="points", note=note
            )
            if row["against"] == OTHERS
            else check.surely_above(what, less, 0)
        )
    return claims


def draw(analysis: Analysis, options: Options) -> Figure:
    """Draw a panel a log: how much less time communication takes in each cell."""
    table = analysis.tables["spread"].query("against == @REFERENCE")
    paint = policy_colours(CELLS[0][2][1:])

    def bars(axis: Axes, part: pd.DataFrame) -> None:
        grouped_bars(axis, part, "cell", "policy", LESS[0], ends=LESS[1:], colours=paint)
        axis.axhline(0, color=INK, lw=0.8)
        axis.tick_params(axis="x", labelsize=6.5)

    table = table.assign(cell=table["cell"].str.replace(", |(?<=crossbar)-", "\n", regex=True))
    compared = "less communication time\nthan under RDN (%)"
    return panels(table, "log", bars, size_in=(12.0, 3.0), ylabel=compared)
