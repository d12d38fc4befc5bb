"""Zhang et al., "Level-Spread: A New Job Allocation Policy for Dragonfly Networks", IPDPS 2018.

Machines, links and patterns are those that the authors gave to SST. The paper's routing is
adaptive ("ugal-l" here, the default); its simulations may in fact have run with minimal
routing, so any figure can be had with either.
"""

from __future__ import annotations

from experiments.papers.level_spread.bars import FIG2, FIG4
from experiments.papers.level_spread.common import check
from experiments.papers.level_spread.hetero import FIG7, FIG8
from experiments.papers.level_spread.links import FIG5, FIG6
from experiments.papers.level_spread.random import FIG10, FIG11, FIG12, FIG13, SINGLE
from experiments.papers.level_spread.slingshot import SLINGSHOT
from experiments.papers.level_spread.sst import SST
from experiments.papers.paper import Paper

PAPER = Paper(
    name="level-spread",
    title="Level-Spread: A New Job Allocation Policy for Dragonfly Networks",
    figures={
        figure.name: figure
        for figure in (
            FIG2,
            FIG4,
            FIG5,
            FIG6,
            FIG7,
            FIG8,
            FIG10,
            FIG11,
            FIG12,
            FIG13,
            SINGLE,
            SST,
            SLINGSHOT,
        )
    },
    check=check,
)
