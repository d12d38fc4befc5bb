"""Conclusions router by router: points that differ in nothing else, means and changes by hand."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest

from experiments.kit.papers import Options
from experiments.kit.routers import OUTPUT_QUEUED, ROUTERS
from experiments.level_spread.paper import PAPER as LEVEL_SPREAD
from experiments.routers import figures
from experiments.routers.figures import Samples, level_means
from experiments.routers.paper import PAPER
from netcosim.runs.points import canonical_json
from netsim.errors import NetcosimError
from netsim.packet.model import PacketConfig
from queuesim.statistics import LEAST_SAMPLES

QUICK = Options(scale="quick")
ROUTER_KEYS = ("router", "crossbar_speedup")


def stripped(value: Any) -> Any:
    """A config without what tells routers apart."""
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if k not in ROUTER_KEYS}
        return {k: stripped(v) for k, v in kept.items() if k != "labels"}
    return [stripped(v) for v in value] if isinstance(value, list) else value


def test_routers_are_those_of_the_packet_model() -> None:
    made = [PacketConfig(**keys) for keys in ROUTERS.values()]
    assert [p.input_queued for p in made] == [False, True, True, True, True]
    assert [p.crossbar_speedup for p in made[1:]] == [1.0, 1.5, 2.0, "unlimited"]


@pytest.mark.parametrize("name", PAPER.figures)
def test_points_differ_in_the_router_alone(name: str) -> None:
    """Each point is there once a router, with the same draws: else nothing could be compared."""
    points = PAPER.figures[name].points(QUICK)
    assert len({canonical_json(point) for point in points}) == len(points)
    counts: dict[str, int] = {}
    for point in points:
        key = canonical_json(stripped(json.loads(canonical_json(point))))
        counts[key] = counts.get(key, 0) + 1
    assert set(counts.values()) == {len(ROUTERS)}


def test_level_means_by_hand() -> None:
    """Units that not all levels have are left out; a constant change has no width."""
    base = Samples(
        [1, 1, 2, 3, 4, 5, 6, 7],
        [1.0, 3.0, 8.0, 99.0, 1.5, 8.0, 1.5, 8.0],
        [3.0, 1.0, 4.0, 1.0, 4.0, 4.0, 4.0, 4.0],
    )
    more = Samples(
        [2, 1, 1, 4, 5, 6, 7],
        [10.0, 5.0, 3.0, 3.5, 10.0, 3.5, 10.0],
        [4.0, 1.0, 3.0, 4.0, 4.0, 4.0, 4.0],
    )
    found = level_means({"a": base, "b": more}, "a", seed=1)
    assert (found["a"].n_units, found["b"].n_units) == (6, 6)
    assert found["a"].mean.value == pytest.approx((1.5 + 8) / 2)
    assert found["a"].change == (0.0, 0.0, 0.0)
    assert found["b"].change == pytest.approx((2.0, 2.0, 2.0))
    # draws of three units of 1.5 and three of 8, as often either: one and five of six at the ends
    assert (found["a"].mean.low, found["a"].mean.high) == pytest.approx(
        ((5 * 1.5 + 8) / 6, (1.5 + 5 * 8) / 6)
    )
    assert found["a"].side(1.0) == "above"
    assert found["a"].side(9.0) == "below"
    assert found["a"].side(4.0) == "around"
    with pytest.raises(NetcosimError, match="levels a, b"):
        level_means({"a": base, "b": Samples([9], [1.0])}, "a", seed=1)


def times(level_spread: dict[str, float]) -> pd.DataFrame:
    """Six workloads of Fig. 10 under two routers; RDN takes 10 us, Level-Spread by router."""
    rows = [
        {"routing": "minimal", "router": router, "workload": index, "policy": policy, "kind": kind}
        | {"set": "", "time_us": simulated * (1 + index % 2) if policy == "level-spread" else 10.0}
        for router, simulated in level_spread.items()
        for index in range(6)
        for policy in ("level-spread", "rdn")
        for kind in ("small", "large")
    ]
    fig2 = [
        {"routing": "minimal", "router": router, "workload": "4 x 68 nodes", "policy": policy}
        | {"kind": "large", "repetition": k, "time_us": us}
        for router in level_spread
        for policy, us in (("rdn", 7.0), ("rdg", 10.0))
        for k in range(5)
    ]
    return pd.DataFrame(rows + fig2)


def test_level_spreads_conclusions_by_hand() -> None:
    """4 and 8 us beside 10 under one router: better in both, 60 and 20 % less; under the other
    8 and 16 us: better in one, worse in the other."""
    frames = {"times": times({OUTPUT_QUEUED: 4.0, "crossbar-1": 8.0})}
    done = figures.analyse(frames, Options(), samples=figures.level_spread)
    table = done.tables["routers"].set_index(["conclusion", "router"])
    below = table.loc["Fig. 2, 4 x 68 nodes: RDN below RDG (%)"]
    assert below["simulated"].tolist() == pytest.approx([30.0, 30.0])
    better = table.loc["Fig. 10: Level-Spread strictly better (%)"]
    assert better["simulated"].tolist() == [100.0, 50.0]
    assert better["change"].tolist() == [0.0, -50.0]
    mean = table.loc["Fig. 10: mean reduction by Level-Spread (%)"]
    assert mean["simulated"].tolist() == pytest.approx([40.0, (20 - 60) / 2])
    verdicts = done.claims.set_index("claim")["verdict"]
    assert verdicts["Fig. 2, 4 x 68 nodes: RDN below RDG (%)"] == "holds"
    assert verdicts["Fig. 10: mean reduction by Level-Spread (%)"] == "differs"
    [condition] = done.claims[done.claims["verdict"] == "differs"]["condition"].unique()
    assert condition == "minimal: output-queued above, crossbar-1 around"
    titles = [axis.get_title() for axis in figures.draw(done, Options()).axes]
    assert len(list(filter(None, titles))) == 5


@pytest.mark.full
@pytest.mark.parametrize("name", ["interference", "isolation"])
def test_a_quick_run(name: str, reproduced: Any) -> None:
    """Every conclusion under every router; few units have no interval and no verdict."""
    options = Options(scale="quick", routings=("d-mod-k",))
    done = reproduced("routers", name, options)
    table = done.analysis.tables["routers"]
    assert (table.groupby("conclusion")["router"].agg(tuple) == tuple(ROUTERS)).all()
    inside = (table["low"] <= table["simulated"]) & (table["simulated"] <= table["high"])
    assert (inside == (table["n"] >= LEAST_SAMPLES)).all()
    assert table.loc[~inside, ["low", "high"]].isna().all(axis=None)
    assert bool(len(done.analysis.claims)) is bool(inside.any())
    assert (table.loc[table["router"] == OUTPUT_QUEUED, "change"] == 0).all()
    assert (table["change"] != 0).any()


def test_mistakes_are_told() -> None:
    with pytest.raises(NetcosimError, match="crossbar-1"):
        LEVEL_SPREAD.check(Options(settings={"router": "crossbar-3"}))
    with pytest.raises(NetcosimError, match="ugal-l"):
        PAPER.check(Options(routings=("ugal",)))
