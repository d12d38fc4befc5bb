"""Figures 5 and 6: communication of Strassen-Winograd multiplication on Mira."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from alloc.bluegene.pairing import partition
from experiments.kit.claims import Claim, ClaimBuilder, claims_frame
from experiments.kit.data import read_printed
from experiments.kit.frames import groups
from experiments.kit.panels import panels
from experiments.kit.papers import Analysis, Options, Point
from experiments.partitions.bars import two_sides
from experiments.partitions.machines import geometry_of, labels
from netcosim.runs.store import Rows
from netsim.errors import need_name
from netsim.flow.job_load import job_link_load
from netsim.routing.registry import make_routing
from patterns.strassen_winograd import strassen_winograd

printed = read_printed("partitions")["multiplication"]
KEYS = ["mapping", "first_groups", "Midplanes"]
CHOICES = {"mira-current": "current_s", "mira-proposed": "proposed_s"}
FIRST_GROUPS = ("far", "near")


def multiplication(config: Mapping[str, Any]) -> dict[str, Rows]:
    """Return table "multiplication": communication of CAPS, one row a breadth-first step.

    ``config``: machine, choice, midplanes, ranks, matrix_dim, mapping (see `spread_ranks`),
    first_groups (see `patterns.strassen_winograd`), routing, seed. A step takes as long as
    its fullest link; steps follow each other; ranks on one node share memory.
    """
    geometry = geometry_of(config)
    topology = partition(geometry)
    routing = make_routing(topology, config["routing"])
    ranks, mapping, first = config["ranks"], config["mapping"], config["first_groups"]
    nodes = spread_ranks(mapping, ranks, topology.n_nodes, config["seed"])
    rows: list[dict[str, object]] = []
    for level, (src, dst, n_bytes) in enumerate(level_messages(ranks, config["matrix_dim"], first)):
        load = job_link_load(routing, src, dst, n_bytes, nodes)
        row = labels(config, geometry) | {
            "ranks": ranks,
            "mapping": mapping,
            "first_groups": first,
            "routing": config["routing"],
            "level": level,
            "time_s": load.isolated_bound_s,
            "network_bytes": float(load.link_bytes.sum()),
        }
        rows.append(row)
    return {"multiplication": rows}


def totals(multiplication: pd.DataFrame) -> pd.DataFrame:
    """Return seconds of both choices, summed over levels; ``factor``: current over proposed."""
    sums = multiplication.groupby([*KEYS, "choice"], as_index=False)["time_s"].sum()
    seconds: pd.DataFrame = sums.pivot(index=KEYS, columns="choice", values="time_s")
    wide = seconds.rename(columns=CHOICES).rename_axis(columns=None).reset_index()
    wide["factor"] = wide["current_s"] / wide["proposed_s"]
    return wide


def _laid(mapping: str, first: str) -> str:
    return f"ranks {mapping}, first groups {first}"


def choice_claims(table: pd.DataFrame) -> Iterator[Claim]:
    """Yield claims on Figure 5: current against proposed partitions, for every task mapping.

    The paper does not state how ranks were mapped to nodes, so all mappings are compared with
    its range.
    """
    low, high = printed["factors"]
    what = "communication is faster on proposed partitions"
    for row in table.to_dict("records"):
        laid = _laid(row["mapping"], row["first_groups"])
        check = ClaimBuilder("section 4.2, Fig. 5", f"{row['Midplanes']} midplanes, {laid}")
        yield check.between(what, low, high, float(row["factor"]))


def scaling_claims(table: pd.DataFrame) -> Iterator[Claim]:
    """Yield claims on Figure 6: strong scaling from 2 to 8 midplanes, for every task mapping."""
    papers = printed["scaling"]
    for (mapping, first), part in groups(table, "mapping", "first_groups"):
        check = ClaimBuilder("section 4.3, Fig. 6", _laid(mapping, first))
        times = part.set_index("Midplanes")
        gained = {choice: float(times[choice][2] / times[choice][8]) for choice in CHOICES.values()}
        for choice, paper in papers.items():
            what = f"communication time on 2 over 8 midplanes, {choice}"
            yield check.near(what, paper, gained[f"{choice}_s"], within=15, unit="%")
        what = "proposed partitions scale better than current ones, by"
        better = gained["proposed_s"] / gained["current_s"]
        yield check.above(what, better, 1.02, paper=papers["proposed"] / papers["current"])


def multiplication_bars(analysis: Analysis, options: Options) -> Figure:
    """Draw Figures 5 and 6: one panel a task mapping and order of the breadth-first steps."""
    table = analysis.tables["totals"]
    sides = {"current_s": "current", "proposed_s": "proposed"}
    return panels(
        table.assign(**{side: 1e3 * table[side] for side in sides}),
        ("first_groups", "mapping"),
        lambda axis, part: two_sides(axis, part, sides, "factor"),
        columns=table["mapping"].nunique(),
        size_in=(4.0, 2.6),
        xlabel="midplanes",
        ylabel="communication (ms)",
        title=lambda first, mapping: f"Mira, {_laid(mapping, first)}",
        share=True,
    )


def _parts(
    rows: Sequence[Mapping[str, int]], judge: Callable[[pd.DataFrame], Iterator[Claim]]
) -> tuple[Any, ...]:
    """Return a figure of rows of Table 3 or 4; their totals are judged."""

    def points(options: Options) -> list[Point]:
        """Return every task mapping and order of steps; quick: blocks and random, far first."""
        return [
            {
                "what": "multiplication",
                "machine": "mira",
                "choice": choice,
                **{key: row[key] for key in ("midplanes", "ranks", "matrix_dim")},
                "mapping": mapping,
                "first_groups": first,
                "routing": (*options.routings, "dimension-order")[0],
                "seed": options.seed,
            }
            for row in rows
            if not (options.quick and row["midplanes"] > 8)
            for mapping in (("blocks", "random") if options.quick else SPREADS)
            for first in (FIRST_GROUPS[:1] if options.quick else FIRST_GROUPS)
            for choice in CHOICES
        ]

    def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
        levels = frames["multiplication"]
        tables = {"totals": totals(levels), "levels": levels}
        return Analysis(claims_frame(list(judge(tables["totals"]))), tables)

    function = "experiments.partitions.multiplication:multiplication"
    return function, points, analyse, multiplication_bars


PARTS = {
    "fig5": _parts(printed["table_3"], choice_claims),
    "fig6": _parts(printed["table_4"], scaling_claims),
}
SPREADS = ("blocks", "cyclic", "random")


def spread_ranks(spread: str, ranks: int, n_nodes: int, seed: int) -> NDArray[np.int64]:
    """Return the node of each rank, as even as possible, (ranks,) int64.

    "blocks": consecutive ranks share a node, nodes in order. "cyclic": one rank a node in
    turn. "random": blocks with the ranks shuffled. Any number of ranks fits, unlike in
    `patterns.mapping.map_ranks`.
    """
    need_name("spread of ranks", spread, SPREADS)
    rank = np.arange(ranks, dtype=np.int64)
    if spread == "cyclic":
        return rank % n_nodes
    blocks = rank * n_nodes // ranks
    return np.random.default_rng(seed).permutation(blocks) if spread == "random" else blocks


@lru_cache(maxsize=2)
def level_messages(
    ranks: int, matrix_dim: int, first_groups: str
) -> list[tuple[NDArray[np.int32], NDArray[np.int32], int]]:
    """Return senders and receivers of each level of a multiplication, with bytes down and up.

    Both directions of a level use the same pairs, so their loads add up.
    """
    program = strassen_winograd(ranks, 1, matrix_dim=matrix_dim, first_groups=first_groups)
    steps = program.n_steps // ranks
    # Every rank sends the same number of messages in every step, step after step.
    each = program.n_messages // program.n_steps
    src, dst, size = (
        column.reshape(ranks, steps, each).swapaxes(0, 1).reshape(steps, -1)
        for column in (program.send_src(), program.send_dst, program.send_bytes)
    )
    levels = []
    for level in range(steps // 2):
        back = steps - 1 - level
        assert np.array_equal(dst[level], dst[back])
        assert np.ptp(size[level]) == np.ptp(size[back]) == 0
        levels.append((src[level], dst[level], int(size[level, 0] + size[back, 0])))
    return levels
