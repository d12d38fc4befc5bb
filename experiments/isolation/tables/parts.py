"""Write ``cells-parts.csv``: how much of the gain is less interference, and how much other nodes.

    python experiments/isolation/tables/parts.py FOLDER

Jigsaw's cells with static routing at a share of 0.3, all jobs at once, and the one of random nodes
with ranks numbered by node; FOLDER has the job logs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.isolation import cells
from experiments.isolation.stretches import FAT_TREES, stretches_of
from experiments.kit.papers import Options

TABLE = Path(__file__).with_name("cells-parts.csv")
LOGS = ("kth-sp2",)
BEFORE = (("random", "static"), ("baseline", "static"), ("random", "sorted ranks"))
"""Placement and network; on random nodes of the first ranks are in random order, too."""


def table(options: Options, logs: tuple[str, ...] = LOGS) -> pd.DataFrame:
    """Return the parts of the gain of Jigsaw by log and placement before."""
    usual = {name: levels[0] for name, levels in cells.USUAL.items()}
    found = []
    for log, these in stretches_of(FAT_TREES, options):
        for placement, network in BEFORE if log in logs else ():
            levels = {**usual, "placement": placement, "network": network}
            cell = cells.Designed(levels, ("jigsaw",), False, ())
            for point in cells.packet_points(FAT_TREES, log, these, cell, options.seed):
                labels: Any = point["labels"]
                found.append(pd.DataFrame(cells.tables_of(point)["pairs"]).assign(**labels))
    return cells.parts(pd.concat(found)).round(4)


if __name__ == "__main__":
    table(Options(settings={"logs": sys.argv[1]})).to_csv(TABLE, index=False, lineterminator="\n")
