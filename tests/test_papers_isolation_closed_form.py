"""The verdict's measurement by hand: two jobs on one link, through every step of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments.inputs import input_file
from experiments.papers.isolation.cases import Case, Machine
from experiments.papers.isolation.pairs import measured_pairs
from experiments.papers.isolation.point import measure_point, measure_snapshot
from experiments.papers.isolation.tables import verdict_tables

LINK_BPS = 5 * 10**9
NODE_BYTES = 256 * 1024
SEND_US = NODE_BYTES / LINK_BPS * 1e6
FIRST, SECOND = 101, 102
NEAR = 0.03
"""Heads on the wires, and packets that take turns: so much beside the closed form."""

SHARED = {0: 10.0, 4: 10.0, 1: 30.0, 6: 30.0}
"""When single nodes come free: the first job gets 0 and 4, the second 1 and 6. D-mod-k sends
what is for 4 and for 6 up the same link of the leaf that has 0 and 1; the ways back differ."""


FULL = {"radix": 4, "bandwidth_Bps": LINK_BPS}
TAPERED = {**FULL, "taper": 0.5}
"""One up-link a leaf: jobs on nodes 0, 2 and 1, 3 share it both ways."""


def two_jobs(tmp_path, case, *, seed=1, free=SHARED, tree=FULL, policies=("ta", "jigsaw")):
    """A snapshot of two jobs of two nodes that exchange, on a tree of 16 nodes (leaves of 2)."""
    lines = ["job,nodes,arrival_s,run_s"]
    lines += [f"{node + 1},1,0,{free.get(node, 5000.0)}" for node in range(8)]
    lines += [f"{FIRST},2,20,4000", f"{SECOND},2,40,4000"]
    path = tmp_path / "two.csv"
    path.write_text("\n".join(lines) + "\n")
    log = {
        "name": "two",
        "kind": "csv",
        "file": input_file(path),
        "mean_nodes": 0,
        "arrivals": 1.0,
        "sizes": 1,
        "days": None,
    }
    point = measure_point(Machine(log, "fattree", tree, (1, 1), 7), case, 0, seed)
    point |= {"patterns": ["bisection-pairing"], "policies": list(policies)}
    rows = measure_snapshot(point)["pairs"]
    return pd.DataFrame(rows)


def phase(job_id, seed):
    """Where in its first iteration a job begins, of 1: a draw of its own."""
    return np.random.default_rng([seed, job_id, 1]).random()


def apart(seed):
    """How much later the second begins than the first, in periods."""
    return phase(SECOND, seed) - phase(FIRST, seed)


def test_two_jobs_on_one_link_take_twice_as_long_as_isolated_ones(tmp_path):
    found = two_jobs(tmp_path, Case("d-mod-k"))
    assert sorted(found["job_id"].unique()) == [FIRST, SECOND]
    assert (found["iterations"] == 5).all()
    alone = found["reference_alone_us"] / found["iterations"]
    assert alone.to_numpy() == pytest.approx(SEND_US, rel=NEAR)
    np.testing.assert_allclose(found["reference_us"] / found["reference_alone_us"], 2, rtol=NEAR)
    np.testing.assert_allclose(found["policy_us"], found["reference_alone_us"], rtol=NEAR)
    assert (found["policy_us"] == found["policy_alone_us"]).all()


def test_jobs_on_links_of_their_own_do_not_feel_each_other(tmp_path):
    """The second on nodes 1 and 3: what is for 3 goes up the other link."""
    found = two_jobs(tmp_path, Case("d-mod-k"), free={0: 10.0, 4: 10.0, 1: 30.0, 3: 30.0})
    assert (found["reference_us"] == found["reference_alone_us"]).all()


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_a_job_alone_communicates_for_its_share_of_the_time(tmp_path, share):
    """An iteration takes t / f alone: it computes for t (1 / f - 1), before it sends for t."""
    found = two_jobs(tmp_path, Case("d-mod-k", duty=share))
    whole = two_jobs(tmp_path, Case("d-mod-k"))
    send_us = whole["reference_alone_us"] / whole["iterations"]
    alone_us = found["reference_alone_us"] / found["iterations"]
    # computing is in whole tenths of a microsecond, and a lone iteration starts cold
    np.testing.assert_allclose(alone_us, send_us / share, rtol=0.01)


def seeds(low, high):
    """Two seeds whose jobs begin so far apart (in periods, the shorter way round)."""
    found = [s for s in range(400) if low < abs(apart(s)) < high and abs(apart(s)) < 0.5]
    assert len(found) > 1
    return found[:2]


@pytest.mark.parametrize("seed", seeds(0.35, 0.5))
def test_jobs_that_never_send_at_once_do_not_feel_each_other(tmp_path, seed):
    """At f = 0.3, begun more than 0.3 and less than 0.7 of a period apart."""
    found = two_jobs(tmp_path, Case("d-mod-k", duty=0.3), seed=seed)
    assert (found["reference_us"] == found["reference_alone_us"]).all()


@pytest.mark.parametrize("seed", [*seeds(0.02, 0.08), *seeds(0.15, 0.25)])
def test_jobs_that_meet_in_part_feel_each_other_in_part(tmp_path, seed):
    """The one sends alone for d, then both share the link: an iteration sends for 2 t - d.

    The second begins d later and ends d later, so it is the same in every iteration. What a
    leaf of their own (the tree rule finds one) takes off is 1 - (c + t) / (c + 2 t - d), with
    computing c = t (1 / f - 1).
    """
    case = Case("d-mod-k", duty=0.3)
    free = {0: 10.0, 2: 10.0, 1: 30.0, 3: 30.0}
    found = two_jobs(tmp_path, case, seed=seed, free=free, tree=TAPERED, policies=["slurm-tree"])
    assert (found["policy_us"] == found["policy_alone_us"]).all()
    period_us = float((found["reference_alone_us"] / found["iterations"]).iloc[0])
    one_us = case.duty * period_us
    together_us = period_us + one_us - abs(apart(seed)) * period_us
    np.testing.assert_allclose(found["reference_us"] / found["iterations"], together_us, rtol=NEAR)
    verdict = verdict_tables(measured_pairs({"pairs": found}), 1)[0]
    told = verdict[verdict["weighting"] == "node-hours"]
    expected = 100 * (1 - period_us / together_us)
    assert told["taken_off"].tolist() == pytest.approx([expected], abs=1.5)
