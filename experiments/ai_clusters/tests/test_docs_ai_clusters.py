"""The page on AI clusters is what its stored tables give, and its headline holds in them."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.ai_clusters import cells, conclusions
from experiments.ai_clusters.conclusions import EXPERTS, OVER, cost, purchase
from experiments.kit.papers import Options

TABLES = conclusions.stored()
PAGE = conclusions.PAGE.read_text(encoding="utf-8")
FLAT = " ".join(PAGE.split())
LOGS = ("kalos", "frontier")


def test_sentences_and_tables_are_those_of_the_stored_cells() -> None:
    assert conclusions.with_blocks(PAGE, TABLES) == PAGE
    assert PAGE.count("| kalos |") > 10
    assert PAGE.count("compared with a network without bottlenecks") > 3


def test_the_entire_design_is_stored() -> None:
    networks, draws = cells.designed(Options()), cells.STUDY["draws"]
    queues = {(network["log"], network["load"]) for network in networks}
    assert f"computes the {draws * (len(networks) + len(queues)):,} points" in FLAT
    costs = TABLES["costs"]
    assert set(costs["draws"]) == {draws}
    assert len(costs) == len(cells.PLACEMENTS) * len(networks)
    assert set(map(tuple, costs[list(cells.FACTORS)].to_numpy().tolist())) == {
        tuple(network[name] for name in cells.FACTORS) for network in networks
    }


def test_samples_are_blocks_of_the_log_or_generated_workloads() -> None:
    for table in (TABLES["costs"], TABLES["purchases"]):
        of_log = table["log"].eq("kalos")
        assert set(table["sample"][of_log]) == {"block of the log"}
        assert set(table["sample"][~of_log]) == {"generated workload"}
        assert (table["samples"][~of_log] == table["draws"][~of_log]).all()
        assert table["samples"].min() >= 5


@pytest.mark.parametrize("log", LOGS)
def test_the_first_paragraph_holds_on_both_logs(log: str) -> None:
    lowest = {"log": log, "placement": "baseline", "purchase": "few switches"}
    assert not any(purchase(TABLES, **lowest, oversubscription=o).significant for o in OVER)
    random = {"log": log, "placement": "random"}
    assert cost(TABLES, **random).significant
    for name in ("few switches", "spines"):
        assert purchase(TABLES, **random, purchase=name).better
    few = {"log": log, "placement": "slurm-tree", "variant": EXPERTS}
    for placement in ("baseline", "random", "slurm-tree"):
        assert cost(TABLES, log=log, placement=placement, variant=EXPERTS).significant
    assert purchase(TABLES, **few, purchase="spines").better
    own = conclusions.row(TABLES["costs"], **few)
    assert own["longer_alone_percent"] > 0.7 * own["longer_percent"]


def test_packets_agree_where_there_is_none_and_halve_what_is_on_random_servers() -> None:
    table = TABLES["packets"]
    table = table[table["variant"].eq("usual")]
    for (_, placement), part in table.groupby(["log", "placement"]):
        assert part["snapshot"].nunique() == 5
        packets, fluid = (
            float(np.average(part[name], weights=part["n_nodes"]) - 1)
            for name in ("packets", "fluid")
        )
        if placement == "random":
            assert 1.7 < fluid / packets < 2.4
        else:
            assert max(packets, fluid) < 0.02
