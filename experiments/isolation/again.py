"""Figures ``again``, ``controls`` and ``parts``: cells of figure ``cells`` simulated again.

``again``: with all draws anew (``coverage``): where each stretch begins in its part of the log, the
instants, the jobs' patterns and partners, random nodes, when jobs begin to communicate and how
computing varies. And with one thing changed (``attacks``), on the same stretches: does the sign
survive? ``controls``: under each congestion control. ``parts``: how much of the gain is less
interference, and how much other nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from experiments.isolation.cells import (
    FACTORS,
    Designed,
    designed,
    expanded,
    gains,
    gains_by_stretch,
    packet_points,
    parts,
)
from experiments.isolation.phases import over_stretches
from experiments.isolation.stretches import (
    FAT_TREES,
    STUDY,
    CellStudy,
    Stretch,
    stretches_of,
)
from experiments.kit.claims import claims_frame
from experiments.kit.frames import cells
from experiments.kit.papers import Analysis, Options, Point
from netcosim.runs.points import replaced
from queuesim.statistics import interval_columns

NAME = "isolation-again"
POLICY = "jigsaw"
QUICK: dict[str, Any] = {
    "coverage": [{}],
    "attacked": [{"placement": ["random"]}],
    "controls": [{"attacks": ["credits", "dcqcn"]}],
    "parts": [{}],
}
CELL = ["log", *FACTORS]
EVERY_OTHER = slice(0, None, 2)
"""Stretches of a cell with one thing changed."""
FEWER = {
    "every other stretch": EVERY_OTHER,
    "first half of the log": slice(4),
    "second half of the log": slice(4, None),
}
"""Attacks that only leave stretches out."""


def points(options: Options) -> list[Point]:
    """Return the cells as designed, drawn again, and each attacked one with its changes."""
    found = []
    for log, these in stretches_of(FAT_TREES, options):
        known = {tuple(each.cell.values()): each for each in designed(log, options)}
        attacked = _chosen("attacked", log, options)
        for each in [*_chosen("coverage", log, options), *attacked]:
            designed_cell = known[tuple(each.cell.values())]
            found += packet_points(FAT_TREES, log, these, designed_cell, options.seed)
        for each in attacked:
            some = these[EVERY_OTHER]
            found += attack_points(FAT_TREES, NAME, log, some, each, options.seed)
    for log, these in stretches_of(FAT_TREES, options, draw=1):
        for each in _chosen("coverage", log, options):
            again = packet_points(FAT_TREES, log, these, each, options.seed + 1)
            found += [replaced(point, {"labels.draw": 1}) for point in again]
    return found


def _chosen(name: str, log: str, options: Options) -> list[Designed]:
    designs = (QUICK if options.quick else STUDY)[name]
    return expanded([{**design, "policies": [POLICY]} for design in designs], log)


def attack_points(
    study: CellStudy,
    name: str,
    log: str,
    stretches: Sequence[Stretch],
    attacked: Designed,
    seed: int,
) -> list[Point]:
    """Return a cell with each of its attacks."""
    found = []
    for variant in attacked.attacks:
        change = partial(attack, changes=study.content["attacks"][variant])
        changed = packet_points(study, log, stretches, attacked, seed, change)
        labels = {"experiment": name, "labels.variant": variant}
        found += [replaced(point, labels) for point in changed]
    return found


def attack(content: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config with changes: dotted keys, and ``node_bytes`` and ``patterns`` of its mix."""
    other = dict(changes)
    mix = [dict(entry) for entry in content["communication"]["mix"]]
    kept = other.pop("patterns", [entry["pattern"] for entry in mix])
    node_bytes = other.pop("node_bytes", mix[0]["node_bytes"])
    mix = [{**entry, "node_bytes": node_bytes} for entry in mix if entry["pattern"] in kept]
    return replaced(content, {"communication.mix": mix, **other})


def coverage(stated: pd.DataFrame, again: pd.DataFrame) -> pd.DataFrame:
    """Compare each cell's stated interval (`gains`) with the mean of stretches drawn again
    (`gains_by_stretch`)."""
    known = stated[stated["policy"].eq(POLICY)].set_index(CELL)
    rows = []
    for cell, part in cells(again, *CELL):
        one = known.loc[tuple(cell.values())]
        found = {"again": float(part["by_node"].mean()), "again_stretches": len(part)}
        row = {**cell, **one[["stretches", "by_node", "by_node_low", "by_node_high"]], **found}
        inside = one["by_node_low"] <= found["again"] <= one["by_node_high"]
        rows.append({**row, "inside": bool(inside)})
    return pd.DataFrame(rows)


def attacks(base: pd.DataFrame, changed: pd.DataFrame, policy: str = POLICY) -> pd.DataFrame:
    """Compare the sign of each attacked cell's gain as designed with that of each change, both
    `gains_by_stretch`, the latter by ``variant``."""
    rows = []
    for cell, part in cells(changed, *CELL):
        is_base = (base[CELL] == pd.Series(cell)).all(axis=1) & base["policy"].eq(policy)
        as_designed = base[is_base].sort_values("part")
        variants = {"as designed": as_designed}
        fewer = {name: as_designed[chosen] for name, chosen in FEWER.items()}
        variants |= {name: mine for name, mine in fewer.items() if len(mine)}
        variants |= {str(of["variant"]): mine for of, mine in cells(part, "variant")}
        sign = over_stretches(as_designed["by_node"]).value > 0
        for name, mine in variants.items():
            gain = over_stretches(mine["by_node"])
            row = {**cell, "variant": name, "stretches": len(mine)}
            row |= interval_columns("by_node", gain)
            rows.append({**row, "same_sign": (gain.value > 0) == sign})
    return pd.DataFrame(rows)


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Compare the cells simulated again with those as designed."""
    pairs = frames["pairs"]
    first = pairs["variant"].isna() & pairs["draw"].isna()
    base = gains_by_stretch(pairs[first])
    again = gains_by_stretch(pairs[pairs["draw"].notna()], "draw")
    changed = gains_by_stretch(pairs[pairs["variant"].notna()], "variant")
    tables = {"coverage": coverage(gains(base), again), "attacks": attacks(base, changed)}
    return Analysis(claims_frame([]), tables, ())


CONTROLS = replace(FAT_TREES, content=STUDY | {"attacks": STUDY["congestion_controls"]})


def control_points(options: Options) -> list[Point]:
    """Return cells under each congestion control."""
    return [
        point
        for log, these in stretches_of(CONTROLS, options)
        for each in _chosen("controls", log, options)
        for point in attack_points(CONTROLS, CONTROLS.name, log, these, each, options.seed)
    ]


def analyse_controls(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return the gain of each cell by control."""
    each = gains_by_stretch(frames["pairs"], "variant")
    by_control = [gains(part).assign(control=of["variant"]) for of, part in cells(each, "variant")]
    return Analysis(claims_frame([]), {"controls": pd.concat(by_control).round(4)})


def part_points(options: Options) -> list[Point]:
    """Return cells with the usual ranks and with ranks numbered by node."""
    return [
        point
        for log, these in stretches_of(FAT_TREES, options)
        for each in _chosen("parts", log, options)
        for point in packet_points(FAT_TREES, log, these, each, options.seed)
    ]


def analyse_parts(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return the two parts of each cell's gain."""
    return Analysis(claims_frame([]), {"parts": parts(frames["pairs"]).round(4)})
