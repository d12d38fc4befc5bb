"""The benchmark of learned schedulers: what is cut, judged, stored and told."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from queue_helpers import Mask, make_workload

from experiments.kit.results import read_tables
from experiments.learning.cells import MACHINES, NETWORK, SCALES, WORKLOADS, chosen, weeks_of
from experiments.learning.clairvoyant import CLAIRVOYANT, Plan, lower_bound, searched
from experiments.learning.figure import held_out_figure
from experiments.learning.learned import n_weights
from experiments.learning.output import agent_file
from experiments.learning.play import METRICS, PPO, BenchmarkCase, RandomPlayer, costs
from experiments.learning.points import AGENT, BLIND, FOLLOWED, Training, compute, points_of
from experiments.learning.tables import (
    BETTER,
    NOT_SIGNIFICANT,
    WORSE,
    between,
    counted,
    detectable,
    differences,
    is_hand,
    word,
)
from netcosim.cli import main
from netcosim.runs.frames import frames_of
from netsim.errors import NetcosimError
from queuesim.queue import simulate_queue
from queuesim.statistics import t_interval
from workloads.synthetic import laas_workload
from workloads.transform import select

QUICK = SCALES["quick"]


def quick_points(**given: Any) -> dict[str, Any]:
    [cell] = chosen("quick")
    points = points_of(cell, Training(QUICK, "bounded-stretch", 1), **given)
    return {str(point["bench_rl"]["player"]): point for point in points}  # type: ignore[index]


def test_weeks_are_disjoint_stretches_in_order_and_bursts_come_at_once() -> None:
    rng = np.random.default_rng(1)
    jobs = laas_workload(100, 4, rng, load=0.9, machine_nodes=64)
    weeks = weeks_of(jobs, 4, 20)
    ids = [week.job_id.tolist() for week in weeks]
    assert ids == [jobs.job_id[k : k + 20].tolist() for k in (0, 25, 50, 75)]
    for week, begin in zip(weeks, (0, 25, 50, 75), strict=True):
        expected = jobs.submit_s[begin : begin + 20] - jobs.submit_s[begin]
        np.testing.assert_allclose(week.submit_s, expected)
    [first, *_] = weeks_of(jobs, 4, 20, burst=8)
    assert len(np.unique(first.submit_s)) == 3
    np.testing.assert_allclose(first.submit_s, weeks[0].submit_s[[0] * 8 + [8] * 8 + [16] * 4])
    with pytest.raises(NetcosimError, match="fewer than 4 weeks of 30"):
        weeks_of(jobs, 4, 30)


def test_what_a_week_is_worth_is_what_the_environment_rewards() -> None:
    pytest.importorskip("gymnasium", reason="gymnasium is not installed (extra [rl])")
    from netcosim.gym.environments import CoSchedule

    benchmark = BenchmarkCase(quick_points()["random"])
    for metric in METRICS:
        world = CoSchedule(benchmark.config, reward=metric, n_jobs=25)
        rng, over, gained = np.random.default_rng(2), False, 0.0
        world.reset(seed=4)
        while not over:
            parts = np.split(world.action_masks(), [world.depth + 1])
            action = [int(rng.choice(np.flatnonzero(part))) for part in parts]
            _, reward, over, _, _ = world.step(action)
            gained += reward
        assert gained == pytest.approx(-costs(world.episode.run.result())[metric], rel=1e-9)


def test_chance_takes_all_that_is_possible_and_is_the_same_again() -> None:
    benchmark = BenchmarkCase(quick_points()["random"])
    found = [
        benchmark.played(0, RandomPlayer(benchmark.rules, seed)).start_s.tolist()
        for seed in (1, 1, 2)
    ]
    assert found[0] == found[1] != found[2]
    assert np.isfinite(found[0]).all()


def test_four_weeks_have_no_interval_and_no_verdict() -> None:
    few = t_interval([1.0, 2.0, 3.0, 6.0])
    assert np.isnan(few.low)
    assert np.isnan(few.high)
    assert word(few) == NOT_SIGNIFICANT
    assert [word(t_interval(x)) for x in ([-1, -2] * 3, [1, 2] * 3, [-1, 1] * 3)] == [
        BETTER,
        WORSE,
        NOT_SIGNIFICANT,
    ]


def test_the_detectable_difference_is_found_four_times_of_five() -> None:
    """Quantiles of 0.975 and 0.8 with 7 degrees of freedom: 2.365 and 0.896 (any table)."""
    rng, n, sd = np.random.default_rng(7), 8, 3.0
    found = detectable(2.3646 * sd / n**0.5, n)
    assert found == pytest.approx((2.3646 + 0.8960) * sd / n**0.5, rel=1e-4)
    drawn = rng.normal(-found, sd, (2000, n))
    power = np.mean([word(t_interval(weeks)) == BETTER for weeks in drawn])
    assert power == pytest.approx(0.8, abs=0.04)
    assert np.isnan(detectable(1.0, 3))


def test_the_best_hand_rule_is_chosen_on_the_training_weeks() -> None:
    """The one that is best in hindsight is a player of its own."""
    by_player = {
        "fcfs + a": ([2.0, 2.0], [1.0, 1.0, 1.0, 1.2, 1.0]),
        "shortest + a": ([1.0, 1.0], [2.0, 2.2, 1.8, 2.0, 2.0]),
        AGENT: ([0.5, 0.5], [1.5, 1.6, 1.4, 1.5, 1.5]),
        BLIND: ([3.0, 3.0], [2.5, 2.4, 2.6, 2.5, 2.5]),
    }
    weeks = pd.DataFrame(
        {"machine": "m", "workload": "w", "player": player, "week": week, "part": part, "x": value}
        for player, (training, held) in by_player.items()
        for week, (part, value) in enumerate(
            [("training", v) for v in training] + [("held out", v) for v in held]
        )
    )
    part = weeks[(weeks["player"] == BLIND) & weeks["week"].isin([2, 3, 4])]
    part = part.assign(player=CLAIRVOYANT, x=1.0)
    told = differences(pd.concat([weeks, part]), "x").set_index("player")
    assert set(told["best_hand"]) == {"shortest + a"}
    assert told.loc[AGENT, "difference"] == pytest.approx(-0.5)
    assert told.loc[AGENT, "verdict"] == BETTER
    assert told.loc["best in hindsight", "is"] == "fcfs + a"
    assert told.loc["next hand rule", "is"] == "fcfs + a"
    # it played three of the weeks, and is compared on these
    searched_weeks = told.loc[CLAIRVOYANT]
    assert searched_weeks["weeks"] == 3
    assert searched_weeks["best_hand_score"] == pytest.approx(2.0)
    assert searched_weeks["difference"] == pytest.approx(-1.0)
    half = told.loc[AGENT, "high"] - told.loc[AGENT, "difference"]
    assert told.loc[AGENT, "detectable_percent"] == pytest.approx(100 * detectable(half, 5) / 2.0)
    [line, *_] = counted(told.reset_index())
    assert re.search(r"; detectable difference ([\d.]+) % \(median; \1 to \1 by cell\)$", line)
    off = np.log([1.5 / 2.0, 1.6 / 2.2, 1.4 / 1.8, 1.5 / 2.0, 1.5 / 2.0])
    assert told.loc[AGENT, "ratio"] == pytest.approx(np.exp(off.mean()))
    [row] = between(weeks, "x", AGENT, BLIND).to_dict("records")
    assert row["difference"] == pytest.approx(-1.0)
    assert row["verdict"] == BETTER


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("bench") / "out"
    assert main(["bench-rl", "--scale", "quick", "--jobs", "2", "--quiet", "--out", str(out)]) == 0
    return out


def test_the_command_leaves_tables_figures_and_agents(quick: Path) -> None:
    names = {path.name for path in quick.iterdir()}
    tables = {f"{name}.csv" for name in ("differences", "networks", "curve", "weeks")}
    agent = "agent-fattree-128-bursty.py"
    assert names == {*tables, "held-out.png", agent, "bench-rl.db"}
    weeks = pd.read_csv(quick / "weeks.csv")
    rules = len(MACHINES["fattree-128"].rules)
    # five hand rules a placement; the agent, its order and its placing alone; the other and its
    # order alone; random; no contention; two of the search, and the bound
    assert weeks["player"].nunique() == 5 * rules + 6 + 1 + 3
    n = weeks.groupby(["player", "part"]).size().unstack(fill_value=0)
    hands = n[n.index.map(is_hand)]
    assert hands["training"].unique().tolist() == [QUICK.training]
    assert sorted(hands["held out"]) == [0] * (5 * rules - FOLLOWED) + [QUICK.held_out] * FOLLOWED
    others = n[~n.index.map(is_hand)]
    assert others["held out"].unique().tolist() == [QUICK.held_out]
    assert (weeks["bounded-stretch"] >= 1).all()
    curve = pd.read_csv(quick / "curve.csv")
    of_agent = curve[curve["player"] == AGENT]
    # twice the pairs, each on the batch, and the mean on all training weeks
    each = 2 * QUICK.pairs * QUICK.batch + QUICK.training
    assert of_agent["plays"].diff().dropna().unique().tolist() == [each]
    # the mean of the least training score is kept
    kept = weeks[(weeks["player"] == AGENT) & (weeks["part"] == "training")]
    assert kept["bounded-stretch"].mean() == pytest.approx(of_agent["training"].min(), rel=1e-5)


@pytest.mark.full
def test_nothing_is_played_again_and_two_processes_are_one(
    quick: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path.name: path.read_bytes() for path in quick.glob("*.csv")}
    assert main(["bench-rl", "--scale", "quick", "--quiet", "--out", str(quick)]) == 0
    assert "5 points, 0 computed" in capsys.readouterr().out
    assert {path.name: path.read_bytes() for path in quick.glob("*.csv")} == before
    for player in (AGENT, BLIND):
        point = quick_points()[player]
        stored = frames_of(read_tables(quick / "bench-rl.db", [point]))
        here = compute(point)
        for name, rows in here.items():
            found = pd.DataFrame(rows).drop(columns="cpu_s", errors="ignore")
            expected = stored[name].drop(columns="cpu_s", errors="ignore")
            pd.testing.assert_frame_equal(found, expected, check_exact=True, check_dtype=False)


def test_a_trained_agents_file_plays_as_it_was_judged(quick: Path) -> None:
    spec = importlib.util.spec_from_file_location("agent", quick / "agent-fattree-128-bursty.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    benchmark = BenchmarkCase(quick_points()[AGENT])
    weeks = pd.read_csv(quick / "weeks.csv")
    mine = weeks[weeks["player"] == AGENT].set_index("week")["bounded-stretch"]
    for week in benchmark.held_out:
        found = costs(benchmark.played(week, module.Agent()))["bounded-stretch"]
        assert found == pytest.approx(mine[week], rel=1e-5)


def test_an_agents_file_holds_its_weights_to_the_last_bit() -> None:
    weights = np.random.default_rng(1).standard_normal(n_weights(4, 3)).tolist()
    names: dict[str, Any] = {"__name__": "agent"}
    exec(agent_file("torus-128", "steady", weights), names)
    assert list(names["WEIGHTS"]) == weights
    assert names["RULES"] == tuple(MACHINES["torus-128"].rules)
    names["Agent"]()


@pytest.mark.parametrize("workload", sorted(WORKLOADS))
def test_every_machine_has_the_weeks_of_a_workload(workload: str) -> None:
    cells = chosen("full", workloads=[workload])
    assert [cell.machine for cell in cells] == list(WORKLOADS[workload].machines)
    for cell in cells[:1]:
        point = points_of(cell, Training(SCALES["full"], "turnaround", 1))[-1]
        benchmark = BenchmarkCase(point)
        assert benchmark.context.machine.topology.n_nodes == MACHINES[cell.machine].n_nodes
        assert [len(week) for week in benchmark.weeks] == [WORKLOADS[workload].week] * 48
        assert len(benchmark.training) + len(benchmark.held_out) == 48


def test_a_workload_is_played_where_contention_can_be_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    narrow = replace(WORKLOADS["bursty"], machines=("torus-128",))
    monkeypatch.setitem(WORKLOADS, "bursty", narrow)
    assert "fattree-128" not in {cell.machine for cell in chosen("full", workloads=["bursty"])}
    with pytest.raises(NetcosimError, match="machines of the workloads: bursty: torus-128"):
        chosen("full", ["fattree-128"], ["bursty"])


def test_the_search_begins_with_rules_and_only_improves() -> None:
    benchmark = BenchmarkCase(quick_points()["random"])
    found = {
        n: searched(benchmark, 3, "turnaround", n, np.random.default_rng(5)) for n in (12, 20, 40)
    }
    score = {n: [costs(one)["turnaround"] for one in pair] for n, pair in found.items()}
    assert score[12][0] == score[12][1] == score[20][0] == score[40][0]
    assert score[40][1] <= score[20][1] <= score[12][1]
    assert score[40][1] < score[12][1]
    again = searched(benchmark, 3, "turnaround", 20, np.random.default_rng(5))
    assert [costs(one)["turnaround"] for one in again] == score[20]
    # shortest first by true run times is among the plans of the beginning
    jobs = benchmark.weeks[3]
    exact = replace(jobs, requested_s=jobs.run_time_s)
    hand = simulate_queue(
        exact,
        benchmark._policy(3, benchmark.rules[1]),
        order="shortest",
        run_time_model=benchmark.model(NETWORK),
        rng=benchmark.context.queues.draws.rng("jobs"),
    )
    plan = Plan(-np.log(exact.run_time_s), np.full(len(exact), 1), benchmark.rules)
    played = benchmark.played(3, plan, true_times=True)
    assert played.start_s.tolist() == hand.start_s.tolist()
    assert played.end_s.tolist() == hand.end_s.tolist()


def test_the_lower_bound_is_below_every_schedule_and_reached_by_hand() -> None:
    """Two jobs of the whole machine, 100 and 300 s: 1 and 4/3, which the shorter first has."""
    one = make_workload([0, 0], [300, 100], [8, 8])
    assert lower_bound(one, 8) == pytest.approx((1 + 400 / 300) / 2)
    # the longer came first: it is taken from the server, at 10 s for 100 s, and ends at 400 s
    late = make_workload([0, 10], [300, 100], [8, 8])
    mean_s = (10 * 5 + 290 * 255) / 300
    assert lower_bound(late, 8) == pytest.approx((1 + (mean_s + 150) / 300) / 2)
    assert lower_bound(make_workload([0, 90], [50, 100], [1, 1]), 8) == 1.0
    rng = np.random.default_rng(2)
    for _ in range(20):
        jobs = laas_workload(60, 4, rng, load=2.0, machine_nodes=16, run_time_range_s=(20, 900))
        jobs = select(jobs, jobs.n_nodes <= 16)
        least = min(
            costs(simulate_queue(jobs, Mask(16), order=order, rng=rng))["bounded-stretch"]
            for order in ("shortest", "smallest", "fcfs")
        )
        bound = lower_bound(jobs, 16)
        assert 1.0 <= bound <= least


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--scale", "huge"], "unknown scale 'huge'"),
        (["--machine", "cab"], "unknown machine of the benchmark 'cab'"),
        (["--workload", "cab"], "unknown workload of the benchmark 'cab'"),
        (["--reward", "fame"], "unknown reward 'fame'"),
        (["--agent", "dqn"], "unknown agent 'dqn'"),
        (["--held-out", "0"], "--held-out 0; must be 1 to 10,000"),
        (["--seed", "-1"], "--seed -1; must be at least 0"),
        (["--jobs", "0"], "jobs"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(
    given: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["bench-rl", *given, "--out", str(out)]) == 2
    shown = capsys.readouterr().err
    assert told in shown
    assert shown.count("\n") == 1
    assert not out.exists()


def test_a_far_off_player_does_not_push_the_others_together() -> None:
    """A machine's axis is logarithmic where a ratio is above 10, and there alone."""
    columns = ("machine", "workload", "player", "ratio", "ratio_low", "ratio_high")
    rows = [
        ("one", "steady", AGENT, 1.1, 1.0, 1.2),
        ("one", "steady", PPO, 9.0, 8.0, 10.0),
        ("other", "steady", AGENT, 1.1, 1.0, 1.2),
        ("other", "steady", PPO, 80.0, 60.0, 99.0),
    ]
    figure = held_out_figure(pd.DataFrame(rows, columns=list(columns)), "bounded-stretch")
    assert [axis.get_xscale() for axis in figure.axes[:2]] == ["linear", "log"]


def test_maskable_ppo_where_it_is_installed() -> None:
    pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed")
    found = compute(quick_points(ppo=True)[PPO])
    assert [row["week"] for row in found["weeks"]] == list(range(8))
    assert all(row["bounded-stretch"] >= 1 for row in found["weeks"])
    assert compute(quick_points(ppo=True)[PPO])["weeks"] == found["weeks"]


def test_a_jobs_score_hangs_on_the_job_and_not_on_its_place() -> None:
    """Jobs that change places change scores; all else stays, but for the rules, of the first."""
    pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed")
    import torch

    from experiments.learning.ppo import N_DOMAIN, N_JOB, Scores

    depth, n_rules, n_domains = 5, 3, 4
    torch.manual_seed(1)
    scores = Scores(n_domains, depth, n_rules)
    for network in (scores.job, scores.wait, scores.rule):
        torch.nn.init.normal_(network[-1].weight)
    domains = torch.rand(1, n_domains * N_DOMAIN)
    jobs, machine = torch.rand(1, depth, N_JOB), torch.rand(1, 4)
    order = [0, 3, 1, 4, 2]

    def told(jobs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return scores(torch.cat([domains, jobs.reshape(1, -1), machine], 1))

    (actions, value), (moved, moved_value) = told(jobs), told(jobs[:, order])
    assert torch.allclose(moved[0, :depth], actions[0, order])
    assert torch.allclose(moved[0, depth:], actions[0, depth:])
    assert torch.allclose(moved_value, value)
    assert len(set(actions[0, :depth].tolist())) == depth
    other_first = told(jobs[:, [1, 0, 2, 3, 4]])[0]
    assert not torch.allclose(other_first[0, depth + 1 :], actions[0, depth + 1 :])


@pytest.mark.full
@pytest.mark.skipif(
    importlib.util.find_spec("sb3_contrib") is not None, reason="sb3-contrib is installed"
)
def test_maskable_ppo_where_it_is_not_says_what_is_needed() -> None:
    with pytest.raises(NetcosimError, match="needs torch, stable-baselines3 and sb3-contrib"):
        compute(quick_points(ppo=True)[PPO])
