"""Where isolation pays: verdicts by hand, loads as they are called, designs that are balanced."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from experiments.isolation import cells
from experiments.isolation.gain.phase_map import AT_ONCE, POINTS, config_at, map_lines
from experiments.isolation.phases import NOT, PAYS, UNKNOWN, foretold, verdict, word
from experiments.isolation.stretches import LOGS, QUICK_STRETCHES
from experiments.kit.log_study import offered_load_of
from experiments.kit.papers import Options
from netcosim.cli import main
from netcosim.config.config import Config
from netcosim.config.content import checked_config
from netcosim.runs.run_context import run_context
from netsim.errors import NetcosimError
from queuesim.statistics import Interval

pytestmark = pytest.mark.usefixtures("undrawn")


def test_a_ratio_between_and_beyond_known_gains() -> None:
    known = ([0, 10, 20], [1.1, 1.0, 0.8])
    found = [foretold(*known, at) for at in (-5, 0, 5, 10, 15, 25)]
    assert found == pytest.approx([1.15, 1.1, 1.05, 1.0, 0.9, 0.7])


def test_a_verdict_by_hand() -> None:
    """Four ratios of 0.9 e^(+-0.02): Student's t of 3 degrees, 3.1824, over their logarithms."""
    found = verdict(0.9 * np.exp([0.02, -0.02, 0.02, -0.02]))
    half = 3.182446 * np.sqrt(4 * 0.02**2 / 3 / 4)
    assert tuple(found.ratio) == pytest.approx((0.9, 0.9 * np.exp(-half), 0.9 * np.exp(half)))
    assert found.word == PAYS
    # the half-width falls as the square root of the number of stretches
    assert found.would_decide == np.ceil(4 * (half / -np.log(0.9)) ** 2)
    assert verdict([1.2, 1.21, 1.19, 1.2]).word == NOT
    assert verdict([0.9, 1.1, 0.95, 1.05]).word == UNKNOWN
    # 0.05 % less, or more, is too little
    for ends in ((0.99, 0.9995), (1.0005, 1.01)):
        assert word(Interval(1.0, *ends)) == UNKNOWN


def test_every_level_meets_every_stretch_alike() -> None:
    """No factor is confounded with the stretch of the log: all cells have the same stretches."""
    for log in LOGS:
        designed = cells.designed(log.name, Options())
        assert len({tuple(each.cell.values()) for each in designed}) == len(designed) > 0
        placements = ("random", "baseline")
        of_two = [each for each in designed if each.cell["placement"] in placements]
        # both placements meet all else
        seen = Counter(tuple(each.cell.values())[1:] for each in of_two)
        assert set(seen.values()) == {2}
    points = cells.points(Options(scale="quick"))
    packets = [point["labels"] for point in points if point["config"]["run"]["snapshots"]]
    for name in cells.FACTORS:
        seen = Counter((label[name], label["part"]) for label in packets)
        assert len(set(seen.values())) == 1, name
    queues = [point["labels"] for point in points if "walltimes" in point["labels"]]
    seen = Counter((label["load"], label["walltimes"], label["scenario"]) for label in queues)
    assert set(seen.values()) == {QUICK_STRETCHES}


def own_log(tmp_path: Path, *, between_s: float = 30.0) -> Config:
    """Sixty jobs of 1 to 8 nodes that arrive evenly."""
    path = tmp_path / "jobs.csv"
    rows = [f"{k},{k % 8 + 1},{k * between_s},{100 + k}" for k in range(60)]
    path.write_text("\n".join(["job,nodes,arrival_s,run_s", *rows, ""]))
    mix = {"pattern": "all-to-all", "node_bytes": "1 KiB", "communication_fraction": 0.5}
    return checked_config(
        {
            "machine": {"family": "fattree", "radix": 4},
            "workload": {"log": str(path)},
            "queue": {"policies": ["random", "jigsaw"], "run_time_model": "as-logged"},
            "communication": {"mix": [mix, {**mix, "pattern": "halo2d"}]},
            "run": {"measure": "steady", "snapshots": 64},
        }
    )


@pytest.mark.parametrize(("load", "share"), POINTS[::5])
def test_a_point_has_its_load_and_share(load: str, share: float, tmp_path: Path) -> None:
    context = run_context(config_at(own_log(tmp_path), load, share))
    jobs, topology = context.queues.jobs, context.queues.topology
    offered = offered_load_of(jobs, topology.n_nodes)
    assert offered == pytest.approx(float("inf") if load == AT_ONCE else float(load))
    _, fraction = context.drawn
    assert (fraction[jobs.n_nodes > 1] == share).all()


def test_jobs_without_arrivals_have_no_load_to_vary(tmp_path: Path) -> None:
    with pytest.raises(NetcosimError, match="all jobs arrive at once, so there is no load"):
        config_at(own_log(tmp_path, between_s=0.0), "0.9", 0.3)


def test_lines_of_a_map() -> None:
    rows = [
        {"load": load, "share": share, "policy": "jigsaw", "metric": metric, "verdict": word}
        for metric in ("makespan", "mean_turnaround")
        for (load, share), word in zip(
            itertools.product(("0.9", "0.5"), (0.3, 0.1)), (PAYS, NOT, PAYS, UNKNOWN), strict=True
        )
    ]
    first, *_ = map_lines("jigsaw", rows)
    assert first == (
        "jigsaw, makespan: would pay at 2 of 4 points (share 0.3 at load 0.9, 0.5); would not pay "
        "at 1 of 4 points (share 0.1 at load 0.9); not significant at 1 of 4 points"
    )


@pytest.mark.full
def test_a_map_of_an_own_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "mine.toml"
    config.write_text(
        '[machine]\nfamily = "fattree"\nradix = 4\n[workload]\nlarger_jobs = "drop"\n'
        "[workload.synthetic]\nn_jobs = 40\n"
        'mean_nodes = 4\n[queue]\npolicies = ["random", "jigsaw"]\n'
        '[[communication.mix]]\npattern = "all-to-all"\nnode_bytes = "1 KiB"\n'
        "communication_fraction = 0.5\n[run.steady]\nleast_iterations = 4\nmost_iterations = 4\n"
    )
    command = ["isolation-gain", str(config), "--map", "--minutes", "1", "--out", str(tmp_path)]
    assert main(command) == 0
    first = capsys.readouterr().out
    assert re.match(r"Isolate jobs|Do not isolate|Not significant|Isolation", first)
    assert "\njigsaw, makespan: " in first
    assert (tmp_path / "report.html").exists()
    # what is stored is not computed again
    assert main(command) == 0
    again = capsys.readouterr().out
    assert again.splitlines()[:3] == first.splitlines()[:3]
