"""Papers whose figures can be reproduced, by name."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import cast

from experiments.papers.paper import Paper
from netsim.errors import need_name


@dataclass(frozen=True)
class PaperEntry:
    """A registered paper."""

    description: str
    """One line."""
    module: str
    """The module that has it, under the name ``PAPER``; imported when it is wanted."""

    def load(self) -> Paper:
        """Import the paper with its figures."""
        return cast("Paper", importlib.import_module(self.module).PAPER)


PAPERS: dict[str, PaperEntry] = {
    "level-spread": PaperEntry(
        "Zhang et al., Level-Spread: A New Job Allocation Policy for Dragonfly Networks, IPDPS'18",
        "experiments.papers.level_spread.paper",
    ),
    "calibration": PaperEntry(
        "Calibration of the packet model: load-latency curves beside closed forms and BookSim2",
        "experiments.papers.calibration.paper",
    ),
    "partitions": PaperEntry(
        "Oltchik and Schwartz, Network Partitioning and Avoidable Contention",
        "experiments.papers.partitions.paper",
    ),
    "jigsaw": PaperEntry(
        "Smith and Lowenthal, Jigsaw: an interference-free scheduler for fat-trees, HPDC'21",
        "experiments.papers.jigsaw.paper",
    ),
    "pollard": PaperEntry(
        "Pollard et al., Evaluation of an Interference-free Node Allocation Policy, SC'18",
        "experiments.papers.pollard.paper",
    ),
    "isolation": PaperEntry(
        "When isolation pays: assumed and simulated gains of isolated jobs (Jigsaw, Pollard, ...)",
        "experiments.papers.isolation.paper",
    ),
    "ai-clusters": PaperEntry(
        "AI clusters: what contention costs the queue, and what to buy first",
        "experiments.papers.ai_clusters.paper",
    ),
    "routers": PaperEntry(
        "Which of the conclusions about placement depend on the router: crossbars of any speed-up",
        "experiments.papers.routers.paper",
    ),
    "walltime": PaperEntry(
        "Tang et al., Reducing Fragmentation on Torus-Connected Supercomputers, IPDPS'11",
        "experiments.papers.walltime.paper",
    ),
}


def load_paper(name: str) -> Paper:
    """Load the paper of this name; raise NetcosimError for an unknown one."""
    need_name("paper", name, PAPERS)
    return PAPERS[name].load()
