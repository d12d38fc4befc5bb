"""Smith and Lowenthal, "Jigsaw: A High-Utilization, Interference-Free Job Scheduler", HPDC 2021.

Full fat-trees of radix 16, 18, 22 and 28 (1024, 1458, 2662, 5488 nodes); Thunder, Atlas and Cab
on 1458 nodes. Where Cab's log is not at hand, Theta (on 4394 nodes) and KTH SP2 (on 100)
are substitutes with their real arrivals, and are named so.
"""

from __future__ import annotations

from experiments.jigsaw import figures, why
from experiments.kit.data import read_data
from experiments.kit.papers import Paper
from experiments.kit.queues import check_queues, queue_figures

PAPER = Paper(
    name="jigsaw",
    title=read_data("jigsaw")["title"],
    figures={
        figure.name: figure
        for figure in (
            figures.TABLE1,
            *queue_figures("jigsaw", figures.ANALYSES | why.ANALYSES),
        )
    },
    check=check_queues,
)
