"""The study of reference placements: its arithmetic by hand, and the quick study itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import wasserstein_distance

from experiments.isolation.placement import (
    PLACEMENTS,
    apart,
    gain_points,
    gain_table,
    gateways,
    hops_points,
    scattered_table,
)
from experiments.kit.papers import Options
from experiments.kit.points import measured
from netsim.topologies.fattree import fat_tree

QUICK = Options(scale="quick")


def test_the_earth_movers_distance_is_scipys_within_each_kind() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.random(40), rng.random(40) + 0.2
    kind = rng.integers(0, 3, 40)
    found = apart(a, b, kind)
    for k in range(3):
        of = kind == k
        assert found[of].mean() == pytest.approx(wasserstein_distance(a[of], b[of]))


def test_gateways_are_whole_leaves() -> None:
    tree = fat_tree(6)
    told = gateways(6, 2)
    nodes = [v for part in told.split(",") for v in range(*map(int, part.split("-")))]
    assert told == "6-8,24-26"
    assert len(np.unique(tree.routers_of(np.array([*nodes, 8, 26])))) == 2


@pytest.fixture(scope="module")
def hops() -> pd.DataFrame:
    [point] = hops_points(QUICK)
    return pd.DataFrame(measured(point)["spread"])


def test_random_nodes_are_the_furthest_from_the_least(hops: pd.DataFrame) -> None:
    assert set(hops["policy"]) == set(PLACEMENTS)
    table = scattered_table(hops).set_index(["policy", "measure"])["value"]
    for policy in PLACEMENTS:
        shares = [table[policy, f"above {x}"] for x in ("0", "0.5", "1", "2")]
        assert shares == sorted(shares, reverse=True)
        assert table[policy, "from least"] <= table["random", "from least"]
    assert table["random", "from random"] == 0
    # the same jobs at the same moments under each
    sizes = [part["nodes"].tolist() for _, part in hops.groupby("policy")]
    assert all(size == sizes[0] for size in sizes)


def test_the_gain_against_the_first_is_the_measures_own() -> None:
    """And against another it is what both together give: 1 - (jigsaw / first) / (other / first)."""
    point = gain_points(QUICK)[0]
    tables = measured(point)
    [told] = [row for row in tables["steady"] if row["policy"] == "jigsaw"]
    pairs = pd.DataFrame(tables["pairs"]).assign(io=np.nan, io_bytes=np.nan)
    table = gain_table(pairs).set_index("policy")
    assert table.loc["baseline", "taken_off"] == pytest.approx(told["taken_off_percent"])
    by = dict(iter(pairs.groupby("policy")))
    ratio = by["jigsaw"]["run_ratio"].to_numpy() / by["random"]["run_ratio"].to_numpy()
    weight = by["random"]["n_nodes"].to_numpy()
    expected = 100 * (1 - np.average(ratio, weights=weight))
    assert table.loc["random", "taken_off"] == pytest.approx(expected)


STORED = Path(__file__).resolve().parents[1] / "tables"


def test_what_is_concluded_of_the_hops_stands_in_the_stored_table() -> None:
    """Most jobs a hop and more above the least: random nodes on all logs, and no rule that goes by
    node numbers alone on any."""
    table = pd.read_csv(STORED / "placement-scattered.csv").set_index(["measure", "policy"])
    above = table.sort_index().loc["above 1"]
    assert set(above["log"]) == {"thunder on cab", "atlas on cab", "kth on small cab"}
    assert (above.loc["random", "low"] > 50).all()
    for policy in ("baseline", "slurm-linear", "slurm-tree"):
        assert (above.loc[policy, "high"] < 50).all()
    aged = above.loc[["shortest-idle", "longest-idle"]].set_index("log")["value"]
    assert (aged["thunder on cab"] > 65).all()
    assert (aged["atlas on cab"] < 30).all()
