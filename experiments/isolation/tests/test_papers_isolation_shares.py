"""The study of isolation under published shares: each mix is run as what it is, some as others."""

from __future__ import annotations

import pandas as pd

from experiments.isolation.shares import CHOSEN, MISREAD, analyse, draw, points, readings
from experiments.kit.papers import Options
from experiments.kit.points import measured
from netcosim.config.content import checked_config
from workloads.registry import MIXES

QUICK = Options(scale="quick")


def test_every_point_differs_in_the_shares_alone() -> None:
    configs = [checked_config(point["config"]) for point in points(QUICK)]
    assert [(c.communication.drawn_from, c.run.steady.share) for c in configs] == readings()
    for name, share in MISREAD:
        assert MIXES[name].share != share
    for config in configs:
        same = config.model_copy(
            update={"communication": configs[0].communication, "run": configs[0].run}
        )
        assert same == configs[0]


def test_a_small_one_is_run_and_told_as_what_it_is() -> None:
    """Alone, 30 % of the time in communication comes out as 30 % of the time alone."""
    rows = measured(points(QUICK)[0])
    frames = {name: pd.DataFrame(table) for name, table in rows.items()}
    table = analyse(frames, QUICK).tables["gains"]
    [row] = table.to_dict("records")
    assert (row["mix"], row["read_as"], row["own"]) == (CHOSEN[0], "alone", True)
    assert abs(row["share_alone"] - 0.3) < 0.01
    draw(analyse(frames, QUICK), QUICK)
