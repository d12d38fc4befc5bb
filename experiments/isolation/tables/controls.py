"""Write ``cells-controls.csv``: what congestion control does to the gain of isolation.

    python experiments/isolation/tables/controls.py FOLDER

KTH's cells with static routing at a share of 0.3, all jobs at once, by each control; FOLDER has the
job logs. About four minutes of one core.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import pandas as pd

from experiments.isolation import cells
from experiments.isolation.again import attack
from experiments.isolation.stretches import FAT_TREES, stretches_of
from experiments.kit.papers import Options
from netcosim.runs.points import replaced
from netsim.packet.model import CONGESTION_CONTROLS

TABLE = Path(__file__).with_name("cells-controls.csv")
LOG = "kth-sp2"
TARGET_BYTES = 32_768
"""In flight, above the product of 5 GB/s and the round trip."""


def gains(options: Options, log: str = LOG) -> pd.DataFrame:
    """Return the gain of Jigsaw by placement before and control."""
    these = dict(stretches_of(FAT_TREES, options))[log]
    found = []
    for placement in ("baseline", "random"):
        usual = {name: levels[0] for name, levels in cells.USUAL.items()}
        cell = cells.Designed({**usual, "placement": placement}, ("jigsaw",), False, ())
        for control in CONGESTION_CONTROLS:
            changes: dict[str, object] = {}
            if control != CONGESTION_CONTROLS[0]:
                changes["machine.packet.congestion_control"] = control
                changes["machine.packet.congestion_threshold_bytes"] = TARGET_BYTES
            change = partial(attack, changes=changes)
            points = cells.packet_points(FAT_TREES, log, these, cell, options.seed, change)
            for point in (replaced(p, {"labels.control": control}) for p in points):
                pairs = pd.DataFrame(cells.tables_of(point)["pairs"]).assign(**point["labels"])
                found.append(pairs)
    each = cells.gains_by_stretch(pd.concat(found), "control")
    tables = [
        cells.gains(part).assign(control=control)
        for control, part in each.groupby("control", sort=False)
    ]
    return pd.concat(tables).round(4)


if __name__ == "__main__":
    gains(Options(settings={"logs": sys.argv[1]})).to_csv(TABLE, index=False, lineterminator="\n")
