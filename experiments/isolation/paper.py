"""When does isolation pay? What isolated jobs gain over the space of what logs do not record.

Pollard et al. (SC'18) and Smith and Lowenthal (Jigsaw, HPDC'21) let isolated jobs run 5, 10 or
20 % shorter, or by the scenarios V1, V2, Random. Here the same jobs of the same logs communicate
in packets, under the policies' own schedules: cell by cell, and a study of each premise. Zhang et
al. (Level-Spread, IPDPS'18) measured communication on dragonflies without a queue; here they share
it.
"""

from __future__ import annotations

from typing import Any

from experiments.isolation import (
    again,
    cab,
    cells,
    cells_draw,
    loop,
    placement,
    predictor,
    shares,
    spread,
)
from experiments.kit.paper_folder import A_FACTOR, checker, folder_paper
from experiments.kit.papers import FollowUp
from experiments.kit.points import MEASURED
from experiments.kit.windows import WITH_SPEEDUPS

PARTS: dict[str, tuple[Any, ...]] = {
    "cells": (cells.FUNCTION, cells.points, cells.analyse, cells_draw.draw),
    "again": (cells.FUNCTION, again.points, again.analyse, None),
    "controls": (cells.FUNCTION, again.control_points, again.analyse_controls),
    "parts": (cells.FUNCTION, again.part_points, again.analyse_parts),
    "predictor": (
        MEASURED,
        predictor.points,
        predictor.analyse,
        predictor.draw,
        FollowUp(predictor.FEATURES_OF, predictor.feature_points),
    ),
    "loop": (
        MEASURED,
        loop.points,
        loop.analyse,
        loop.draw,
        FollowUp(WITH_SPEEDUPS, loop.queue_points),
    ),
    "cab": (cab.PACKED, cab.points, cab.analyse, cab.draw),
    "placement": (MEASURED, placement.points, placement.analyse, placement.draw),
    "shares": (MEASURED, shares.points, shares.analyse, shares.draw),
    "dragonfly": (cells.FUNCTION, spread.points, spread.analyse, spread.draw),
}
"""Of each figure: its point function and points, its analysis and drawing, its further points."""
PAPER = folder_paper("isolation", PARTS, checker("isolation", ("logs",), no_routing=A_FACTOR))
