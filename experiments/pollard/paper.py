"""Pollard et al., "Evaluation of an Interference-free Node Allocation Policy", SC 2018.

Cab (4 pods of 18 leaves of 18 nodes) and Pinot (8 such pods) with three months of Cab's log and
its jobs made two and three times as large; EASY looks at 128 waiting jobs; jobs end at their time
limit. Where Cab's log is not at hand, KTH SP2 on trees of Cab's and Pinot's form with 25 nodes a
pod, and Theta on 4394 nodes, are substitutes and named so.
"""

from __future__ import annotations

from experiments.kit.data import read_data
from experiments.kit.papers import Paper
from experiments.kit.queues import check_queues, queue_figures
from experiments.pollard.figures import ANALYSES
from experiments.pollard.interference.figures import INTERFERENCE

PAPER = Paper(
    name="pollard",
    title=read_data("pollard")["title"],
    figures={
        figure.name: figure for figure in (*queue_figures("pollard", ANALYSES), *INTERFERENCE)
    },
    check=check_queues,
)
