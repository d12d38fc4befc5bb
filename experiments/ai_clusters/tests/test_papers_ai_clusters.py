"""The study of AI clusters: a balanced design, paired draws, and costs and purchases by hand."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.ai_clusters import cells, conclusions
from experiments.kit.log_study import offered_load_of
from experiments.kit.papers import Options
from netcosim.config.content import checked_config
from netcosim.runs.run_context import run_context

CELL: dict[str, Any] = {"log": "kalos", "load": 0.9, "placement": "random", "routing": "ecmp-1"}
CELL |= {"oversubscription": 7, "variant": "usual"}


@pytest.fixture(scope="module")
def designed() -> list[dict[str, Any]]:
    return [point["labels"] for point in cells.points(Options())]  # type: ignore[misc]


def test_a_design_is_every_combination_of_its_levels() -> None:
    designs = cells.designed(Options())
    networks = [tuple(at[name] for name in cells.FACTORS) for at in designs]
    crossed: set[tuple[Any, ...]] = set()
    for design in cells.STUDY["designs"]:
        assert set(design) <= set(cells.FACTORS)
        levels = [design.get(name, cells.STUDY["usual"][name]) for name in cells.FACTORS]
        crossed |= set(itertools.product(*levels))
    assert len(networks) == len(set(networks))
    assert set(networks) == crossed


def test_the_main_question_is_computed_first(designed: list[dict[str, Any]]) -> None:
    assert len(set(Counter(at["draw"] for at in designed).values())) == 1
    networks = [at for at in designed if "routing" in at]
    logs = {at["log"] for at in networks} - {cells.CONTROL}
    main = networks[: 3 * len(logs) * cells.STUDY["draws"]]
    assert {(at["routing"], at["variant"]) for at in main} == {("ecmp-1", "usual")}
    assert {(at["log"], at["oversubscription"]) for at in main} == set(
        itertools.product(logs, (1, 2, 7))
    )


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
        jobs = cells.jobs_of(context, labels)
        offered = offered_load_of(jobs, context.queues.topology.n_nodes)
        assert offered == pytest.approx(labels["load"])
        kept = found.setdefault(labels["log"], jobs)
        assert np.array_equal(kept.submit_s, jobs.submit_s)
        assert np.array_equal(kept.n_nodes, jobs.n_nodes)
    assert {*found} == {"frontier", "philly"}


@pytest.mark.parametrize("spines", ["1", "2", "7"])
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


def rows(live_s: list[float], blocks: int = 0, **cell: Any) -> list[dict[str, Any]]:
    """A cell whose draws complete in these times, 100 s without a network."""
    known = {"turnaround_s": 100.0, "longer": 0.1, "longer_alone": 0.04, "jobs": 9}
    known |= {"blocks": blocks}
    return [{**CELL, **cell, **known, "draw": draw, "live_s": s} for draw, s in enumerate(live_s)]


LIVE_S = [200.0, 210.0, 190.0, 205.0, 195.0]


def test_costs_and_purchases_by_hand() -> None:
    """From 200 s to 100 s is -50 %, whatever the draw; a cell that was not simulated has no row."""
    each = pd.DataFrame(
        rows(LIVE_S)
        + rows([s / 2 for s in LIVE_S], placement="slurm-tree")
        + rows([150.0, 160.0, 140.0], routing="spray")
    )
    cost = cells.costs(each).set_index(["placement", "routing"])
    usual = cost.loc[("random", "ecmp-1")]
    mean = np.exp(np.mean(np.log(np.array(LIVE_S) / 100)))
    assert usual["change_percent"] == pytest.approx(100 * (mean - 1))
    assert usual["longer_alone_percent"] == pytest.approx(4)
    assert (usual["sample"], usual["samples"]) == ("generated workload", 5)
    found = cells.purchases(each)
    of = found[found["placement"] == "random"].set_index("purchase")
    assert of.loc["few switches", "change_percent"] == pytest.approx(-50)
    assert of.loc["few switches", "change_percent_low"] == pytest.approx(-50)
    assert set(of.index) == {"few switches", "spraying"}
    assert "few switches" not in set(found[found["placement"] == "slurm-tree"].get("purchase", ()))
    assert of.loc["spraying", "samples"] == 3
    assert np.isnan(of.loc["spraying", "change_percent_low"])


def test_redrawn_blocks_of_a_log_are_scatter_of_one_log() -> None:
    """The value is that of the log itself; the interval is wider than that of a mean of draws."""
    live_s = [150.0, *LIVE_S]
    [log] = cells.costs(pd.DataFrame(rows(live_s, blocks=13))).to_dict("records")
    [generated] = cells.costs(pd.DataFrame(rows(live_s))).to_dict("records")
    assert log["change_percent"] == pytest.approx(50)
    assert (log["sample"], log["samples"]) == ("block of the log", 13)
    x = np.array(LIVE_S) / 100
    half = 2.776445 * (13 / 12) ** 0.5 * ((1.5 / x) ** 0.5).std(ddof=1)
    assert log["change_percent_low"] == pytest.approx(150 * (1 + half) ** -2 - 100, abs=1e-3)
    width = [row["change_percent_high"] - row["change_percent_low"] for row in (log, generated)]
    assert width[0] < width[1]  # of a log, the value itself is no draw


def test_the_pages_sentences_are_effects_by_hand() -> None:
    """Of five workloads that take half the time: -50 %, whose sample is named."""
    each = pd.DataFrame(
        rows(LIVE_S, log="frontier")
        + rows([s / 2 for s in LIVE_S], log="frontier", placement="slurm-tree")
    )
    tables = {"costs": cells.costs(each), "purchases": cells.purchases(each)}
    at = {"log": "frontier", "placement": "random"}
    found = conclusions.purchase(tables, **at, purchase="few switches")
    assert conclusions.sampled([found]) == (
        "Slurm's tree rule shortens mean turnaround at 7:1 by 50 % (50) compared with random "
        "servers. (5 generated workloads)"
    )
    assert conclusions.shown(conclusions.cost(tables, **at)).startswith("+100 (+")


@pytest.mark.full
def test_quick_scale_runs_and_finds_contention_under_random_servers(reproduced: Any) -> None:
    done = reproduced("ai-clusters", "cells")
    cost = done.analysis.tables["costs"]
    cost = cost[(cost["log"] == "frontier") & (cost["oversubscription"] == 7)]
    cost = cost.set_index("placement")
    assert cost.loc["random", "longer_percent"] > cost.loc["random", "longer_alone_percent"]
    assert cost.loc["random", "longer_percent"] > 3 * cost.loc["slurm-tree", "longer_percent"]
    again = reproduced("ai-clusters", "cells")
    assert again.computed == 0


@pytest.mark.full
def test_quick_packets_are_those_of_isolated_jobs(reproduced: Any, monkeypatch: Any) -> None:
    monkeypatch.setitem(cells.STUDY, "quick", {**cells.STUDY["quick"], "nodes": 16, "n_jobs": 8})
    options = Options(scale="quick")
    done = reproduced("ai-clusters", "packets", options)
    found = done.analysis.tables["packets"].set_index("placement")
    assert set(found.index) == set(cells.TODAY)
    assert (found.loc["baseline", ["packets_alone", "fluid_alone"]] == 1).all(axis=None)
