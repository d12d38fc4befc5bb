"""Table 2 counted in other ways, and how spread jobs are: closed forms and brute force."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest
from queue_helpers import Mask, make_workload

from experiments.papers.fattree.logs import SYNTHETIC
from experiments.papers.fattree.point import average_pairwise_hops, queue_point, simulate
from experiments.papers.jigsaw import printed
from experiments.papers.jigsaw import table2_why as why
from experiments.papers.jigsaw.paper import PAPER as JIGSAW
from experiments.papers.paper import Options
from experiments.papers.pollard.fig1 import run_spread
from experiments.papers.pollard.paper import PAPER as POLLARD
from netsim.topologies.fattree import fat_tree
from queuesim.queue import simulate_queue

FIGURE = JIGSAW.figures["table2-why"]


def test_ways_of_counting_one_schedule():
    # 10 nodes: A (6 nodes) 0-60, B (4) 0-120, then C (9) 120-180; nothing fits beside.
    workload = make_workload([0, 0, 0], [60, 120, 60], [6, 4, 9])
    result = simulate_queue(workload, Mask(10), backfill="none", rng=np.random.default_rng(0))
    found = {name: busy.tolist() for name, busy in why.counted(result).items()}
    assert found == {
        why.EACH: [6, 10, 4, 0, 9, 0],
        "allocated nodes": [6, 10, 4, 0, 9, 0],
        "once an instant": [10, 4, 9, 0],
        why.TO_LAST_START: [6, 10, 4, 0, 9],
        "every minute": [10, 4, 9],
    }


def counts_frame(**ours):
    rows = []
    for (policy, schedule, counting), counts in ours["rows"].items():
        row = {"log": "thunder", "policy": policy, "reading": policy, "schedule": schedule}
        row |= {"counting": counting, "steady_percent": 80.0}
        rows.append(row | dict(zip(printed.RANGES, counts, strict=True)))
    return {"counts": pd.DataFrame(rows)}


def test_events_in_another_range():
    """The paper's own counts move nothing; one tenth from one range to another moves 10 %."""
    paper = printed.TABLE2["laas"]
    tenth = sum(paper) // 10
    moved = (paper[0], paper[1] - tenth, paper[2] + tenth, *paper[3:])
    rows = {
        ("laas", why.AS_TEXT, why.EACH): moved,
        ("laas", why.FIFO, why.EACH): paper,
        ("laas", why.FIFO, why.TO_LAST_START): paper,
    }
    analysis = FIGURE.analyse(counts_frame(rows=rows), Options())
    table = analysis.tables["readings"].query("reading == 'laas'")
    assert table["moved_percent"].tolist() == pytest.approx([10.0, 0.0, 0.0], abs=1e-3)
    verdicts = dict(
        zip(
            zip(analysis.claims["condition"], analysis.claims["where"], strict=True),
            analysis.claims["verdict"],
            strict=True,
        )
    )
    assert verdicts == {
        (why.AS_TEXT, "Table 2"): "differs",
        (why.FIFO, "Table 2"): "holds",
        (why.FIFO, "Table 2 (sum)"): "holds",
        (why.FIFO, "6.1"): "holds",  # 80 % is far below Fig. 6's 90
    }


def stream(tmp_path, n=300):
    rng = np.random.default_rng(3)
    lines = ["job,nodes,run_s,arrival_s"]
    lines += [
        f"{i},{int(rng.integers(1, 30))},{int(rng.integers(20, 300))},0" for i in range(1, n + 1)
    ]
    path = tmp_path / "synth-16.csv.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    return SYNTHETIC[3].config(tmp_path)


@pytest.mark.parametrize("backfill", ["easy", "none"])
def test_a_run_counted(tmp_path, backfill):
    """Each start and end once; the sum to the last start leaves out the jobs that still run."""
    point = queue_point(stream(tmp_path), {"radix": 6}, "jigsaw", backfill=backfill)
    rows = {row["counting"]: row for row in why.run_counts(point)["counts"]}
    total = {name: sum(row[r] for r in printed.RANGES) for name, row in rows.items()}
    result = simulate(point)
    assert total[why.EACH] == 600
    assert 600 - total[why.TO_LAST_START] == np.sum(result.end_s > result.start_s.max())
    assert rows[why.EACH]["schedule"] == (why.AS_TEXT if backfill == "easy" else why.FIFO)


def test_spread_by_brute_force(tmp_path):
    """Share above the least hops: least found by filling leaves and pods from the first on."""
    point = queue_point(stream(tmp_path), {"radix": 6}, "baseline", hops=True)
    found = run_spread(point)
    result = simulate(point, keep_placements=True)
    shape = fat_tree(radix=6).shape
    kept = result.placements
    above = []
    for job in np.flatnonzero(result.workload.n_nodes > 1):
        nodes = kept.nodes[kept.node_ptr[job] : kept.node_ptr[job + 1]]
        tight = np.arange(len(nodes), dtype=np.int32)
        mine, least = (
            average_pairwise_hops(x, np.array([0, len(x)]), shape)[0] for x in (nodes, tight)
        )
        above.append(mine > least + 1e-9)
    assert found["spread"][0]["above_least_percent"] == pytest.approx(100 * np.mean(above))
    assert all(row["hops"] >= row["least"] - 1e-9 for row in found["jobs"])
    assert len(found["jobs"]) == len(above)


def test_fig1_says_that_it_is_no_record(tmp_path):
    frames = {
        "spread": pd.DataFrame(
            {
                "log": ["atlas on cab"] * 2,
                "policy": ["baseline", "ta"],
                "above_least_percent": [60.0, 5.0],
                "mean_hops": [3.0, 1.1],
                "mean_least": [1.0, 1.0],
            }
        ),
        "jobs": pd.DataFrame({"log": [], "policy": [], "nodes": [], "hops": [], "least": []}),
    }
    analysis = POLLARD.figures["fig1"].analyse(frames, Options())
    assert analysis.claims["verdict"].tolist() == ["holds", "holds"]
    assert set(analysis.claims["condition"]) == {"simulated, not Cab's record"}
    assert any("not public" in note for note in analysis.notes)


def test_bars_are_percent_above_baseline():
    """Fig. 8: a bar's height is the claim's number; the paper's worst stands on our worst log."""
    rows = [
        {"log": log, "policy": "jigsaw", "scenario": s, "makespan_s": 1.0, "makespan_s_ratio": r}
        for log, s, r in (("thunder", "none", 1.03), ("atlas", "none", 1.06), ("atlas", "20%", 0.9))
    ]
    figure = JIGSAW.figures["fig8"]
    drawn = figure.draw(why.Analysis(pd.DataFrame(), {"makespan": pd.DataFrame(rows)}), Options())
    thunder, atlas = drawn.axes
    assert [bar.get_height() for bar in atlas.patches] == pytest.approx([6.0, -10.0])
    marks = [[c.get_segments() for c in axis.collections] for axis in (thunder, atlas)]
    assert marks[0] == []
    assert marks[1][0][0][0][1] == printed.MAKESPAN_WORST["jigsaw"]
