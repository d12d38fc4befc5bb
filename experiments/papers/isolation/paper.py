"""When does isolation pay? What isolated jobs gain over the space of what no log tells.

Pollard et al. (SC'18) and Smith and Lowenthal (Jigsaw, HPDC'21) let isolated jobs run 5, 10 or
20 % shorter, or by the scenarios V1, V2, Random. Here the same jobs of the same logs communicate
in packets, under the policies' own schedules: a surface over the factors of the gain, and a study
of each of its premises. Zhang et al. (Level-Spread, IPDPS'18) measured communication on dragonflies
without a queue; here is theirs.
"""

from __future__ import annotations

from experiments.papers.isolation.cab import CAB
from experiments.papers.isolation.cells import CELLS
from experiments.papers.isolation.loop import LOOP
from experiments.papers.isolation.placement import PLACEMENT
from experiments.papers.isolation.predictor import PREDICTOR
from experiments.papers.isolation.shares import SHARES
from experiments.papers.isolation.spread import DRAGONFLY
from experiments.papers.isolation.steps import STEPS
from experiments.papers.isolation.surface import SURFACE
from experiments.papers.kit.logs import logs_folder
from experiments.papers.paper import Options, Paper, check_known
from netsim.errors import NetcosimError


def check(options: Options) -> None:
    """Raise NetcosimError for what the studies do not have; the routing is a factor of theirs."""
    if options.routings:
        raise NetcosimError("--routing: the routing is a factor of these studies, not a choice")
    check_known(options, "isolation", (), ("logs",))
    logs_folder(options)


PAPER = Paper(
    name="isolation",
    title="When isolation pays: assumed and simulated gains of isolated jobs",
    figures={
        figure.name: figure
        for figure in (SURFACE, CELLS, PREDICTOR, LOOP, CAB, STEPS, PLACEMENT, SHARES, DRAGONFLY)
    },
    check=check,
)
