"""The verdict: are the speed-ups that papers assume for isolated jobs true when measured?

Pollard et al. (SC'18) and Smith and Lowenthal (Jigsaw, HPDC'21) let isolated jobs run 5, 10 or
20 % shorter, or by the scenarios V1, V2, Random. Here the same jobs of the same logs communicate
in packets, under the policies' own schedules, and the queues run with what was measured. Zhang et
al. (Level-Spread, IPDPS'18) measured communication on dragonflies without a queue; here is theirs.
"""

from __future__ import annotations

from experiments.papers.isolation.cab import CAB
from experiments.papers.isolation.cases import CASES
from experiments.papers.isolation.figures import FATTREE
from experiments.papers.isolation.loop import LOOP
from experiments.papers.isolation.placement import PLACEMENT
from experiments.papers.isolation.predictor import PREDICTOR
from experiments.papers.isolation.queues import QUEUES, SENSITIVITY_FIGURE
from experiments.papers.isolation.shares import SHARES
from experiments.papers.isolation.spread import DRAGONFLY
from experiments.papers.isolation.steps import STEPS
from experiments.papers.isolation.surface import SURFACE
from experiments.papers.kit.logs import logs_folder
from experiments.papers.paper import Options, Paper, check_known


def check(options: Options) -> None:
    """Raise NetcosimError for what the verdict does not have."""
    routings = dict.fromkeys(case.routing for cases in CASES.values() for case in cases)
    check_known(options, "isolation", routings, ("logs",))
    logs_folder(options)


PAPER = Paper(
    name="isolation",
    title="The verdict: assumed and measured speed-ups of isolated jobs",
    figures={
        figure.name: figure
        for figure in (
            *(FATTREE, DRAGONFLY, QUEUES, SENSITIVITY_FIGURE),
            *(CAB, LOOP, PLACEMENT, PREDICTOR, SHARES, STEPS, SURFACE),
        )
    },
    check=check,
)
