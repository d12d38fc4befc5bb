"""The study of AI clusters: a balanced design, paired draws, and costs and purchases by hand."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.ai_clusters import cells
from netcosim.config.content import checked_config
from netcosim.reproduce.figure import reproduce
from netcosim.reproduce.paper import Options
from netcosim.runs.run_context import run_context
from workloads.job import offered_load

CELL: dict[str, Any] = {"log": "kalos", "load": 0.9, "placement": "random", "routing": "ecmp-1"}
CELL |= {"oversubscription": 7, "scheduler": "none", "variant": "usual"}


@pytest.fixture(scope="module")
def designed() -> list[dict[str, Any]]:
    return [point["labels"] for point in cells.points(Options())]  # type: ignore[misc]


def test_a_design_is_every_combination_of_its_levels() -> None:
    networks = [tuple(at[name] for name in cells.FACTORS) for at in cells.designed(Options())]
    crossed: set[tuple[Any, ...]] = set()
    for design in cells.STUDY["designs"]:
        assert set(design) <= set(cells.FACTORS)
        levels = [design.get(name, cells.STUDY["usual"][name]) for name in cells.FACTORS]
        crossed |= set(itertools.product(*levels))
    assert len(networks) == len(set(networks))
    assert set(networks) == crossed


def test_main_factors_are_fully_crossed() -> None:
    """Placement (within a point), routing and oversubscription at two loads, on both logs."""
    main = [
        at
        for at in cells.designed(Options())
        if (at["variant"], at["scheduler"]) == ("usual", "none")
        and at["load"] in (0.7, 0.9)
        and at["log"] != "philly"
    ]
    assert len(main) == 2 * 2 * 5 * 4
    for one, other in itertools.combinations(("log", "load", "routing", "oversubscription"), 2):
        pairs = Counter((at[one], at[other]) for at in main)
        levels = len({at[one] for at in main}) * len({at[other] for at in main})
        assert len(pairs) == levels, (one, other)
        assert len(set(pairs.values())) == 1, (one, other)


def test_a_draw_is_a_complete_study_and_begins_with_the_main_question(
    designed: list[dict[str, Any]],
) -> None:
    draws = [at["draw"] for at in designed]
    assert draws == sorted(draws)
    assert len(set(Counter(draws).values())) == 1
    networks = [at for at in designed if "routing" in at]
    first = networks[: 8 * len({at["log"] for at in networks})]
    assert {at["routing"] for at in first} == {"ecmp-1", "spray"}
    assert {at["oversubscription"] for at in first} == {1, 2, 7, 15}
    assert {at["load"] for at in first} == {0.9}


def test_each_network_has_its_queue_without_one(designed: list[dict[str, Any]]) -> None:
    keys = ("log", "load", "draw")
    alone = {tuple(at[k] for k in keys) for at in designed if "routing" not in at}
    assert {tuple(at[k] for k in keys) for at in designed if "routing" in at} == alone


def test_draws_are_the_same_jobs_on_every_network_at_the_load_of_the_cell() -> None:
    options = Options(scale="quick")
    points = [p for p in cells.points(options) if p["labels"]["draw"] == 1]  # type: ignore[index]
    found = {}
    for point in points:
        labels: Any = point["labels"]
        context = run_context(checked_config(point["config"]))  # type: ignore[arg-type]
        jobs = cells._jobs(context, labels)
        offered = offered_load(jobs, context.queues.topology.n_nodes)
        assert offered == pytest.approx(labels["load"])
        kept = found.setdefault(labels["log"], jobs)
        assert np.array_equal(kept.submit_s, jobs.submit_s)
        assert np.array_equal(kept.n_nodes, jobs.n_nodes)
    assert {*found} == {"frontier", "philly"}


@pytest.mark.parametrize("spines", ["1", "2", "7", "15"])
def test_oversubscription_is_what_it_is_called(spines: str) -> None:
    work = {"synthetic": {"n_jobs": 10}}
    network = {**cells.USUAL, "oversubscription": int(spines)}
    config = checked_config(cells.cell_content(work, network, Options()))
    topology = run_context(config).machine.topology
    up, down = (
        topology.link_bandwidth_Bps[topology.kind_mask(kind)].sum()
        for kind in ("leaf-up", "injection")
    )
    assert down / up == pytest.approx(int(spines), rel=1e-6)
    assert topology.link_bandwidth_Bps[topology.kind_mask("leaf-up")].min() >= 50e9


def rows(live_s: list[float], **cell: Any) -> list[dict[str, Any]]:
    """A cell whose draws complete in these times, 100 s without a network."""
    known = {"completion_s": 100.0, "elasticity": 2.0, "share": 0.5, "longer": 0.1}
    return [
        {**CELL, **cell, **known, "draw": draw, "live_s": s, "cost": s / 100, "product": 1.1}
        for draw, s in enumerate(live_s)
    ]


def test_costs_and_purchases_by_hand() -> None:
    """Off: from 200 s to 100 s is 50 %; to 199 s is significant but less than 1 %."""
    each = pd.DataFrame(
        rows([200.0, 210.0, 190.0, 200.0])
        + rows([100.0, 105.0, 95.0, 100.0], placement="slurm-tree")
        + rows([150.0, 160.0, 140.0, 150.0], routing="spray")
        + rows([199.0, 208.95, 189.05, 199.0], oversubscription=1)
    )
    cost = cells.costs(each).set_index(["placement", "routing", "oversubscription"])
    mean = np.exp(np.mean(np.log([2.0, 2.1, 1.9, 2.0])))
    assert cost.loc[("random", "ecmp-1", 7), "cost_percent"] == pytest.approx(100 * (mean - 1))
    assert cost.loc[("random", "ecmp-1", 7), "product_percent"] == pytest.approx(10)
    found = cells.purchases(each)
    today = found[(found["placement"] == "random") & (found["oversubscription"] == 7)]
    today = today[today["routing"] == "ecmp-1"].set_index("purchase")
    assert today.loc["placement", "off_percent"] == pytest.approx(50)
    assert today.loc["spines", "off_percent"] == pytest.approx(0.5)
    assert today["verdict"].to_dict() == {
        "placement": "would pay",
        "spines": "would not pay",
        "spraying": "would pay",
    }
    assert today["first"].to_dict() == {"placement": True, "spines": False, "spraying": False}
    assert "placement" not in set(found.loc[found["placement"] == "slurm-tree", "purchase"])


@pytest.mark.full
def test_quick_scale_runs_and_finds_contention_under_random_servers(tmp_path: Any) -> None:
    done = reproduce(
        "ai-clusters", "cells", out_dir=tmp_path, options=Options(scale="quick"), progress=False
    )
    assert done is not None
    assert not done.failed
    cost = done.analysis.tables["costs"]
    cost = cost[(cost["log"] == "frontier") & (cost["oversubscription"] == 7)]
    longer = cost.set_index(["placement", "routing"])["longer"]
    assert longer["random", "ecmp-1"] > longer["random", "spray"] > longer["slurm-tree", "spray"]
    again = reproduce(
        "ai-clusters", "cells", out_dir=tmp_path, options=Options(scale="quick"), progress=False
    )
    assert again is not None
    assert again.computed == 0
