"""`netcosim judge`: what it says of waits, times, jobs and the score is what the tables hold."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection import examples

from cosim.network.mix import CommunicationMix, PatternShare
from experiments.judge.changes import (
    DAY_S,
    blocks,
    changes_of,
    gain_rows,
    most_rows,
    queue_rows,
)
from experiments.judge.config import Flags, load_judge_config
from experiments.judge.page import _in_percent
from experiments.judge.score import (
    describe_score,
    drawn_correlation,
    placement_rows,
    rank_correlation,
    score_rows,
    weighted_correlations,
)
from experiments.judge.trial import FRACTION, JudgeTrial
from experiments.judge.verdict import details, recommend
from experiments.judge.waits import rate_waits, reproduced
from netcosim.cli import main
from netcosim.config.load import config_from
from netcosim.config.machine import build_machine
from netcosim.executors.workers import Workers
from netcosim.report.table import PLAIN, shown_texts
from netcosim.runs.outcome import encode_tables
from netcosim.runs.run_context import run_context
from netcosim.runs.store import Store
from netcosim.runs.tasks import StoredTasks
from queuesim.metrics import wait_s
from workloads.details import JobDetails, Labels
from workloads.synthetic import laas_workload

pytestmark = pytest.mark.usefixtures("undrawn")

MACHINE = """[machine]
family = "fattree"
radix = 8
pods = 4
"""


def a_log(folder: Path, policy: str, n_jobs: int = 150, name: str = "log.csv") -> Path:
    """Jobs, and the waits that our own queue gives them under a policy."""
    config = config_from(
        tomllib.loads(MACHINE)
        | {
            "workload": {
                "synthetic": {
                    "n_jobs": n_jobs,
                    "mean_nodes": 9,
                    "load": 1.1,
                    "requested_factor": [1.0, 3.0],
                },
                "larger_jobs": "drop",
            },
            "queue": {"policies": [policy], "run_time_model": "as-logged"},
            "run": {"snapshots": 0},
        }
    )
    queues = run_context(config).queues
    jobs, waited = queues.jobs, wait_s(queues.under(policy))
    assert waited.mean() > 60
    rows = zip(
        *(jobs.job_id, jobs.n_nodes, jobs.submit_s, jobs.run_time_s, jobs.requested_s, waited),
        strict=True,
    )
    lines = ["job,nodes,arrival_s,run_s,requested_s,wait_s"]
    lines += [",".join(repr(value.item()) for value in row) for row in rows]
    (folder / name).write_text("\n".join(lines) + "\n")
    (folder / "machine.toml").write_text(MACHINE)
    return folder / name


def judged(folder: Path, log: Path, *more: str, policies: str = "slurm-tree,random,ta") -> Path:
    """The folder that a small run leaves."""
    out = folder / "out"
    machine = str(folder / "machine.toml")
    given = ("--log", str(log), "--machine", machine, "--policies", policies, "--out", str(out))
    assert main(["judge", *given, "--snapshots", "5", "--fractions", "0.6", *more]) == 0
    return out


def table(out: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(out / "tables" / f"{name}.csv")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run for the tests that look at what it left."""
    folder = tmp_path_factory.mktemp("judge")
    return judged(folder, a_log(folder, "slurm-tree"))


# Waits


def test_waits_of_our_own_queue_are_reproduced_exactly_and_by_no_other(small: Path) -> None:
    """slurm-tree and random start every job at once where it fits; ta makes jobs wait."""
    found = table(small, "reproduced").set_index("policy")
    assert found.loc["slurm-tree", "reproduces"] == "exactly"
    assert found.loc["slurm-tree", "largest_difference_s"] < 1e-6
    assert found.loc["slurm-tree", "rank_correlation"] == pytest.approx(1)
    assert found.loc["ta", "reproduces"] != "exactly"
    assert found.loc["ta", "mean_wait_s"] > found.loc["ta", "logged_mean_wait_s"]
    assert "reproduced exactly" in (small / "report.html").read_text()


@pytest.mark.parametrize(
    ("wait", "word"),
    [
        (lambda x: x, "exactly"),
        (lambda x: 1.2 * x + 2, "well"),
        (lambda x: 1.9 * x + 2, "roughly"),
        (lambda x: 3.0 * x, "badly"),
        (lambda x: x[::-1], "badly"),
        (lambda x: np.full(len(x), x.mean()), "badly"),
    ],
)
def test_the_word_on_waits(wait: Any, word: str) -> None:
    logged = np.arange(100) * 60.0
    frame = pd.DataFrame({"policy": "p", "logged_wait_s": logged, "wait_s": wait(logged)})
    assert reproduced(frame)[0]["reproduces"] == word


def test_without_logged_waits_it_cannot_be_told() -> None:
    frame = pd.DataFrame({"policy": "p", "logged_wait_s": [np.nan] * 90, "wait_s": 1.0})
    [row] = reproduced(frame)
    assert row == {"policy": "p", "jobs_with_waits": 0, "reproduces": "not known"}
    assert "was not validated" in rate_waits(row, "fcfs", "easy")


# The score


@examples(100)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=12),
    st.integers(0, 2**32 - 1),
)
def test_correlations_of_multisets_are_those_of_their_rows(
    pairs: list[tuple[int, int]], seed: int
) -> None:
    """To the bit: ranks are multiples of 1/2, and sums of their products exact."""
    x, y = np.array(pairs, dtype=np.float64).T
    times = np.random.default_rng(seed).integers(0, 3, (20, len(x)))
    times[times.sum(axis=1) == 0] = 1
    expected = [rank_correlation(np.repeat(x, n), np.repeat(y, n)) for n in times]
    np.testing.assert_array_equal(weighted_correlations(x, y, times), expected)


def test_a_weighted_correlation_by_hand() -> None:
    """(1, 2), twice (2, 1), (3, 3): ranks 1, 2.5, 2.5, 4 and 3, 1.5, 1.5, 4; off the mean of 2.5.

    -1.5 * 0.5 + 0 + 0 + 1.5 * 1.5 = 1.5, over the root of 4.5 * (0.25 + 1 + 1 + 2.25).
    """
    found = weighted_correlations(
        np.array([1.0, 2.0, 3.0]), np.array([2.0, 1.0, 3.0]), np.array([[1, 2, 1]])
    )
    assert found == pytest.approx([1.5 / 4.5])


def test_rank_correlation_is_scipys() -> None:
    from scipy.stats import spearmanr

    rng = np.random.default_rng(3)
    x = rng.integers(0, 5, 60)
    y = x + rng.normal(0, 2, 60)
    assert rank_correlation(x, y) == pytest.approx(spearmanr(x, y).statistic)
    assert np.isnan(rank_correlation(np.ones(5), np.arange(5)))
    found = drawn_correlation(x, y, np.arange(60) // 6, np.arange(60), rng)
    assert found.low < found.value < found.high


def constructed(agrees: float) -> pd.DataFrame:
    """40 jobs on twice or half the switches of the reference; times as the score says, or not."""
    rng = np.random.default_rng(1)
    factor = np.where(np.arange(40) % 2, 2.0, 0.5)
    there = rng.integers(2, 6, 40) * 2
    slower = np.where(np.arange(40) < 40 * agrees, factor, 1 / factor)
    return pd.DataFrame(
        {
            "snapshot": np.arange(40) % 8,
            "policy": "other",
            "job_id": np.arange(40),
            "n_nodes": 8,
            "pattern": "all-to-all",
            "duty": 0.5,
            "reference_s": 2.0,
            "reference_alone_s": 2.0,
            "policy_s": 1.0 + slower,
            "policy_alone_s": 1.0 + slower,
            "ratio": slower,
            "reference_switches": there,
            "switches": (there * factor).astype(int),
            "least_switches": 1,
        }
    )


@pytest.mark.parametrize(
    ("agrees", "percent", "correlation", "word"),
    [
        (1.0, 100, 1.0, "a fair guide to which placement is faster and to how much"),
        (0.0, 0, -1.0, "not a significant guide to which placement is faster"),
        (0.5, 50, 0.0, "not a significant guide to which placement is faster"),
    ],
)
def test_the_score_on_a_case_with_a_known_answer(
    agrees: float, percent: float, correlation: float, word: str
) -> None:
    placements = placement_rows(constructed(agrees), "mine")
    assert len(placements) == 80
    rows = score_rows(placements, "mine", np.random.default_rng(0))
    assert [row["pattern"] for row in rows] == ["all", "all-to-all"]
    assert rows[0]["moved"] == 40
    assert rows[0]["agree_percent"] == pytest.approx(percent)
    assert rows[0]["change_correlation"] == pytest.approx(correlation)
    assert describe_score(rows[0]) == word


def test_slowdown_is_communication_over_the_best_alone() -> None:
    """Of 2 s alone one is computing: twice the communication is a slowdown of 2, not 1.5."""
    placements = placement_rows(constructed(1.0), "mine").set_index(["job_id", "policy"])
    assert placements.loc[(1, "other"), "slowdown"] == pytest.approx(2)
    assert placements.loc[(1, "mine"), "slowdown"] == pytest.approx(1)
    # the reference's own placement was not the best one
    assert placements.loc[(0, "mine"), "slowdown"] == pytest.approx(2)
    assert placements.loc[(0, "other"), "slowdown"] == pytest.approx(1)


# What changes


def jobs_frame() -> pd.DataFrame:
    """Three days of four jobs; the other policy halves waits and takes a tenth off run times."""
    base = pd.DataFrame(
        {
            "policy": "mine",
            "job_id": np.arange(12),
            "n_nodes": [1, 4, 20, 200] * 3,
            "pattern": ["one node", "a", "b", "a"] * 3,
            "submit_s": np.arange(12) * DAY_S / 4,
            "wait_s": 500.0,
            "fed_wait_s": np.arange(12) * 1000.0,
            "fed_run_s": 5000.0,
        }
    )
    other = base.assign(policy="other", fed_wait_s=base["fed_wait_s"] / 2, fed_run_s=4500.0)
    return pd.concat([base, other], ignore_index=True)


def test_changes_of_turnaround_by_hand() -> None:
    jobs = jobs_frame()
    changes = changes_of(jobs, "mine")
    assert changes["turnaround_change_s"].tolist() == [-500 * i - 500 for i in range(12)]
    assert changes["gains"].all()
    assert not changes["loses"].any()
    most = most_rows(changes)
    assert [row["job_id"] for row in most] == list(range(11, 1, -1))
    rows = {
        row["policy"]: row for row in queue_rows(jobs, "mine", lambda: np.random.default_rng(1))
    }
    assert rows["other"]["wait_ratio"] == pytest.approx(0.5)
    assert rows["other"]["wait_ratio_low"] == pytest.approx(0.5)
    assert rows["mine"]["turnaround_ratio"] == rows["mine"]["turnaround_ratio_high"] == 1


def test_a_job_gains_or_loses_by_more_than_a_minute_and_a_twentieth() -> None:
    """Turnarounds of 1000, 1000, 2000, 4000 s change by -61, -60, -61 and +201 s.

    61 of 1000 s are more than both limits; 60 s are not more than a minute; 61 of 2000 s are less
    than a twentieth, 201 of 4000 s are just more.
    """
    base = jobs_frame().head(4).assign(fed_run_s=500.0, fed_wait_s=[500.0, 500.0, 1500.0, 3500.0])
    longer_s = np.array([-61.0, -60.0, -61.0, 201.0])
    other = base.assign(policy="other", fed_wait_s=base["fed_wait_s"] + longer_s)
    changes = changes_of(pd.concat([base, other], ignore_index=True), "mine")
    assert changes["gains"].tolist() == [True, False, False, False]
    assert changes["loses"].tolist() == [False, False, False, True]
    rows = {(row["pattern"], row["nodes"]): row for row in gain_rows(changes, rng_of_one)}
    assert len(rows) == 1 + 4 + 3
    total = rows["all", "all"]
    assert (total["jobs"], total["gain_percent"], total["lose_percent"]) == (4, 25.0, 25.0)
    assert total["turnaround_change_s"] == total["wait_change_s"] == (-61 - 60 - 61 + 201) / 4
    assert (rows["a", "all"]["jobs"], rows["a", "all"]["lose_percent"]) == (2, 50.0)
    # most and least, each from its end
    most = [(row["side"], row["job_id"]) for row in most_rows(changes)]
    assert most == [("gains", 0), ("gains", 2), ("gains", 1), ("loses", 3)]


def rng_of_one() -> np.random.Generator:
    return np.random.default_rng(1)


def test_jobs_of_a_day_are_drawn_together_of_a_short_log_those_of_a_tenth() -> None:
    """Days begin with the first job."""
    assert blocks(pd.Series([5.0, DAY_S + 4, DAY_S + 5, 11 * DAY_S])).tolist() == [0, 0, 1, 10]
    assert blocks(pd.Series([5.0, 14.0, 16.0, 105.0])).tolist() == [0, 0, 1, 10]
    assert blocks(pd.Series([5.0, 5.0])).tolist() == [0, 0]


def test_waits_of_a_reference_that_has_none_have_no_ratio() -> None:
    jobs = jobs_frame()
    jobs["fed_wait_s"] = np.where(jobs["policy"] == "mine", 0.0, 100.0)
    rows = {row["policy"]: row for row in queue_rows(jobs, "mine", rng_of_one)}
    assert rows["other"]["wait_ratio"] is None
    assert rows["other"]["turnaround_ratio"] == pytest.approx(4600 / 5000)
    assert rows["other"]["mean_turnaround_s"] == 4600.0


def test_jobs_that_do_not_communicate_keep_their_run_times(tmp_path: Path) -> None:
    config = tmp_path / "silent.toml"
    config.write_text(
        '[[communication.mix]]\npattern = "all-to-all"\nnode_bytes = "16 KB"\n'
        "communication_fraction = 0.0\n"
    )
    log = a_log(tmp_path, "slurm-tree", 60)
    out = judged(tmp_path, log, "--config", str(config), policies="slurm-tree,random")
    jobs = table(out, "jobs")
    np.testing.assert_allclose(jobs["fed_run_s"], jobs["run_s"])
    assert (table(out, "gains")["turnaround_change_s"].abs() < 1e-6).all()
    assert not (out / "tables" / "communication.csv").exists()
    assert "no communication was measured" in (out / "report.html").read_text()


# The answer


def ratio(name: str, *ends: float | None) -> dict[str, float | None]:
    return dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True))


@pytest.mark.parametrize(
    ("wait", "mean_s", "clause", "way"),
    [
        # half of the wait: 1 - 0.6 to 1 - 0.45
        (
            (0.5, 0.45, 0.6),
            50,
            "shortens mean wait by 50 % (40 to 55), from 1.7 min to 50 s",
            "shorter",
        ),
        (
            (1.2, 1.1, 1.3),
            120,
            "lengthens mean wait by 20 % (10 to 30), from 1.7 min to 2",
            "longer",
        ),
        ((2.0, 1.5, 2.5), 200, "makes mean wait 2.0 times as long (1.5 to 2.5), ", "longer"),
        ((1.9, 1.5, 2.5), 190, "lengthens mean wait by 90 % (50 to 150), from 1.7 min", "longer"),
        (
            (2.0, 1.0, 3.0),
            200,
            "does not change mean wait significantly (+100 %, 0 to +200)",
            "not significantly different",
        ),
        (
            (0.9, None, None),
            90,
            "changes mean wait by -10 % (no interval",
            "not significantly different",
        ),
        ((None, None, None), 0, "leaves mean wait unchanged", "unchanged"),
        ((None, None, None), 7, "has mean wait of 7 s", "longer"),
    ],
)
def test_a_change_of_waits_in_words(
    wait: tuple[float | None, ...], mean_s: float, clause: str, way: str
) -> None:
    tables = judged_tables("well", (1.0, 0.5, 1.5))
    tables["queue"][1] = {"policy": "b", "mean_wait_s": float(mean_s)} | ratio("wait_ratio", *wait)
    [line] = details(tables)
    assert line.startswith(f"b reduces node-hours by 1.0 % (0.5 to 1.5) compared with a; {clause}")
    tables["reproduced"][0]["reproduces"] = "roughly"
    assert details(tables)[1] == f"Compared with a, the simulated mean wait is {way} under b."


def test_communication_of_all_jobs_is_in_a_policys_sentence() -> None:
    """0.8 of the reference's (0.7 to 0.85): 15 to 30 % shorter. Parts of the jobs are left out."""
    tables = judged_tables("badly", (-1.0, -1.5, -0.5))
    part = {"policy": "b", "pattern": "all", "nodes": "1"} | ratio("communication_ratio", 9, 8, 10)
    tables["communication"] = [
        part,
        part | {"nodes": "all"} | ratio("communication_ratio", 0.8, 0.7, 0.85),
        part | {"nodes": "all", "policy": "a"},
    ]
    assert details(tables) == [
        "b increases node-hours by 1.0 % (0.5 to 1.5) compared with a; shortens communication "
        "time by 20 % (15 to 30)."
    ]
    tables["machine_and_jobs"][0]["counts"] = "GPU"
    assert details(tables)[0].startswith("b increases GPU-hours by 1.0 % (0.5 to 1.5)")


def test_tables_of_the_page_have_changes_in_percent() -> None:
    """0.8 (0.7 to 0.85) of the reference's is -20 % (-30 to -15); 1.25 is +25 %."""
    rows = pd.DataFrame(
        [
            {"policy": "b", **ratio("communication_ratio", 0.8, 0.7, 0.85)},
            {"policy": "c", **ratio("communication_ratio", 1.25, None, None)},
        ]
    ).assign(own_placement_ratio=[0.5, 1.0])
    shown = shown_texts(_in_percent(rows, "a"))
    assert shown[0] == ["policy", "communication time, change from a (%)", "own placement (%)"]
    assert [[cell.translate(PLAIN) for cell in row] for row in shown[1:]] == [
        ["b", "-20.0 (-30.0 to -15.0)", "-50"],
        ["c", "25", "0"],
    ]


def test_several_policies_of_one_direction_are_named_together() -> None:
    tables = judged_tables("roughly", (1.0, 0.5, 1.5))
    longer = tables["queue"][1]
    for name, ends in (("c", (0.5, 0.4, 0.6)), ("d", (1.2, 1.1, 1.3)), ("e", (1.0, 0.5, 1.5))):
        tables["queue"].append(longer | {"policy": name} | ratio("wait_ratio", *ends))
    assert details(tables)[-1] == (
        "Compared with a, the simulated mean wait is longer under b, d; shorter under c; "
        "not significantly different under e."
    )


def test_of_policies_that_save_the_one_that_saves_most_is_recommended() -> None:
    """Not "d", which may save nothing. A log's own placement is kept by another name."""
    tables = judged_tables("badly", (6.0, 5.0, 7.0))
    for name, ends in (("c", (8.0, 1.0, 15.0)), ("d", (9.0, -1.0, 19.0)), ("e", (1, None, None))):
        tables["queue"].append(tables["queue"][1] | {"policy": name})
        tables["paired"].append({"policy": name} | ratio("taken_off_percent", *ends))
    found = recommend(tables, "", 60.0, assumed=False)
    assert found.sentence == "Use c: it reduces node-hours by 8.0 % (1.0 to 15) compared with a."
    assert found.interval == "20 snapshots. Intervals at 95 %."
    tables["paired"] = tables["paired"][2:3]
    tables["queue"][0]["policy"] = "replay"
    keep = "Keep the present placement: no other policy changes node-hours significantly."
    assert recommend(tables, "", 60.0, assumed=False).sentence == keep
    tables["paired"] = []
    found = recommend(tables, "", 60.0, assumed=True)
    assert found.sentence == "No policy can be compared with replay yet."
    assert found.next_step.startswith("An interval needs 5 snapshots and jobs")


def judged_tables(word: str, saved: tuple[float, float, float]) -> dict[str, Any]:
    """Policy "b" saves node-hours so, and lengthens a mean wait of 100 s by a fifth."""
    keys = ("taken_off_percent", "taken_off_percent_low", "taken_off_percent_high")
    wait = {"wait_ratio": 1.2, "wait_ratio_low": 1.1, "wait_ratio_high": 1.3}
    about = {"counts": "node", "snapshots": 20, "blocks": 10, "jobs_of_several_nodes": 99}
    return {
        "queue": [
            {"policy": "a", "mean_wait_s": 100.0} | dict.fromkeys(wait, 1.0),
            {"policy": "b", "mean_wait_s": 120.0} | wait,
        ],
        "paired": [{"policy": "b"} | dict(zip(keys, saved, strict=True))],
        "communication": [],
        "reproduced": [{"policy": "a", "reproduces": word}],
        "machine_and_jobs": [about],
    }


@pytest.mark.parametrize("word", ["exactly", "well", "roughly", "badly", "not known"])
def test_what_is_rated_unreliable_is_not_above_its_rating(word: str) -> None:
    """It printed "lengthens the mean wait by 20 %" above "reproduced badly"."""
    tables = judged_tables(word, (6.0, 5.0, 7.0))
    found = recommend(tables, "RATING", 60.0, assumed=True)
    lines = [*found.lines(), *details(tables)]
    above, below = (
        lines[: lines.index("  Rating: RATING")],
        lines[lines.index("  Rating: RATING") + 1 :],
    )
    trusted = word in ("exactly", "well")
    saves = "b reduces node-hours by 6.0 % (5.0 to 7.0) compared with a; lengthens mean wait "
    assert lines[0].startswith(saves if trusted else "Use b: it reduces node-hours by 6.0 %")
    assert any("wait" in line for line in above) == trusted
    assert any("by 20 % (10 to 30)" in line for line in below) == trusted
    direction = "Compared with a, the simulated mean wait is longer under b."
    assert (direction in below) == (word in ("roughly", "not known"))


@pytest.mark.parametrize(
    ("saved", "first", "step"),
    [
        (
            # 4 half-widths from 0 at 20 snapshots: 20 * (2 / 0.9)^2 = 98.8 would exclude it
            (1.0, -1.0, 3.0),
            "Keep a: no other policy changes node-hours significantly.",
            "79 more snapshots would decide, about 5 min, on node-hours under b: --snapshots 99.",
        ),
        (
            (0.2, -1.0, 1.4),
            "Keep a: no other policy changes node-hours significantly.",
            "More snapshots would hardly decide: any difference is below 1.4 %.",
        ),
        (
            (-3.0, -5.0, -1.0),
            "Keep a: no other policy reduces node-hours. b increases node-hours by 3.0 % "
            "(1.0 to 5.0) compared with a.",
            "Set what your jobs send, [[communication.mix]] in judge.toml; judge again, "
            "about 1 min.",
        ),
    ],
)
def test_the_first_line_recommends_what_is_significant(
    saved: tuple[float, float, float], first: str, step: str
) -> None:
    found = recommend(judged_tables("well", saved), "RATING", 60.0, assumed=False)
    assert (found.sentence, found.next_step) == (first, step)


def test_first_jobs_are_jobs_of_the_log_and_few_have_no_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = a_log(tmp_path, "random", 60)
    out = judged(tmp_path, log, "--first-jobs", "3", "--snapshots", "8", policies="random,ta")
    assert len(table(out, "jobs")) == 2 * 3
    ends = ["communication_ratio_low", "communication_ratio_high"]
    assert table(out, "communication")[ends].isna().all(axis=None)
    assert table(out, "queue")[["wait_ratio_low", "turnaround_ratio_low"]].isna().all(axis=None)
    told = capsys.readouterr().out
    assert re.search(r"no interval: [1-4] snapshot", told)
    assert not re.search(r"\([-+\d.]+ to [-+\d.]+\)", told)


@pytest.mark.full
def test_tables_do_not_depend_on_the_number_of_processes(small: Path, tmp_path: Path) -> None:
    log = a_log(tmp_path, "slurm-tree")
    again = judged(tmp_path, log, "--jobs", "2")
    names = sorted(path.name for path in (small / "tables").glob("*.csv"))
    assert names == sorted(path.name for path in (again / "tables").glob("*.csv"))
    for name in names:
        found, expected = (f / "tables" / name for f in (again, small))
        if name != "machine_and_jobs.csv":  # it names the log's file
            assert found.read_bytes() == expected.read_bytes()
    with Store(again / "results.db", "write") as store:
        assert store.drop_tasks() == 0


@pytest.mark.full
def test_a_judge_that_goes_on_sends_no_packet_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = Flags(
        str(a_log(tmp_path, "random", 60)), str(tmp_path / "machine.toml"), ("random", "ta"),
        snapshots=5, fractions=(0.6,),
    )  # fmt: skip
    config = load_judge_config(flags, None).config
    requests = [{FRACTION: None}, {FRACTION: 0.6}]

    def compute() -> list[Any]:
        with Store(tmp_path / "r.db", "write") as store:
            trial = JudgeTrial(config, StoredTasks(store, "run", Workers(1)))
            return [trial.compute(request) for request in requests]

    first = compute()
    monkeypatch.setattr(
        "netsim.packet.engine.simulate_packets", lambda *_, **__: pytest.fail("sent again")
    )
    run, again = compute()
    assert encode_tables(run) == encode_tables(first[0])
    assert encode_tables(again) == encode_tables(first[1])
    assert len(run["pairs"]) > 0
    assert len(again["fraction"]) == 1


def test_the_same_command_computes_nothing_again(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(*_: object) -> Any:
        raise AssertionError("computed again")

    monkeypatch.setattr(JudgeTrial, "run", never)
    monkeypatch.setattr(JudgeTrial, "at", never)
    before = {path.name: path.read_bytes() for path in (small / "tables").glob("*.csv")}
    assert main(["judge", "--config", str(small / "judge.toml"), "--out", str(small)]) == 0
    assert before == {path.name: path.read_bytes() for path in (small / "tables").glob("*.csv")}
    assert "reproduced exactly" in capsys.readouterr().out


# What is asked


def test_the_written_config_asks_the_same(tmp_path: Path) -> None:
    log = a_log(tmp_path, "slurm-tree", 60)
    flags = Flags(
        str(log),
        str(tmp_path / "machine.toml"),
        ("slurm-tree", "random"),
        bandwidth="100 Gbit/s",
        first_jobs=50,
        seed=4,
        fractions=(0.2, 0.9),
    )
    asked = load_judge_config(flags, None)
    path = tmp_path / "sub" / "judge.toml"
    path.parent.mkdir()
    path.write_text(asked.text)
    again = load_judge_config(Flags(), path)
    assert again.config == asked.config
    assert again.section == asked.section
    assert again.text == asked.text
    assert asked.config.machine.parameters["bandwidth_Bps"] == 12_500_000_000


@pytest.mark.full
def test_a_plug_in_is_asked_for_again(tmp_path: Path) -> None:
    plugin = tmp_path / "mine.py"
    plugin.write_text(
        "from alloc.first_free import Baseline\n\n\nclass Mine(Baseline):\n"
        '    """Mine."""\n\n    name = "mine"\n    description = "as baseline"\n\n\n'
        "PLUGIN = [Mine]\n"
    )
    config = tmp_path / "c.toml"
    config.write_text('plugins = ["mine.py"]\n')
    log = a_log(tmp_path, "slurm-tree", 40)
    more = ("--config", str(config), "--fractions", "0.6")
    out = judged(tmp_path, log, *more, policies="baseline,mine")
    assert (table(out, "gains")["turnaround_change_s"] == 0).all()
    again = load_judge_config(Flags(), out / "judge.toml")
    assert again.config.queue.policies == ("baseline", "mine")
    assert [one["file"] for one in again.config.plugins] == [str(plugin)]


# What a log says itself


def test_what_the_log_says_of_a_job_counts_instead_of_a_draw() -> None:
    jobs = laas_workload(200, 6, np.random.default_rng(1))
    shares = (PatternShare("all-to-all", 1.0, 0.2, 0.4), PatternShare("halo2d", 1.0, 0.2, 0.4, 3))
    mix = CommunicationMix(shares)
    words = ["halo2d", None, "lammps"] * 66 + [None, "all-to-all"]
    told = np.where(np.arange(200) % 5 == 0, 0.9, np.nan)
    details = JobDetails(pattern=Labels.of(words), communication_fraction=told)
    rng = np.random.default_rng
    drawn, fraction = mix.draw(jobs, rng(5))
    which, mine = mix.draw(replace(jobs, details=details), rng(5))
    np.testing.assert_array_equal(mine, np.where(np.isnan(told), fraction, 0.9))
    fits = jobs.n_nodes >= 3
    for i, word in enumerate(words):
        if word == "all-to-all" or (word == "halo2d" and fits[i]):
            assert shares[which[i]].pattern == word
        else:
            # others, and jobs too small for the entry of that name, are drawn as ever
            assert which[i] == drawn[i]
    notes = mix.noted(replace(jobs, details=details)).notes
    small = int(np.sum(~fits[:198:3]))
    assert notes[-3:] == (
        f"the log has the pattern of {67 - small} jobs",
        f"patterns of {66 + small} jobs are drawn, as no entry of communication.mix that is for "
        f"them is called {'halo2d, ' if small else ''}lammps",
        "the log has the communication share of 40 jobs; that of 160 is drawn",
    )
    assert mix.noted(jobs) is jobs


def test_files_of_the_config_are_found_from_anywhere(tmp_path: Path) -> None:
    log = a_log(tmp_path, "slurm-tree", 40)
    (tmp_path / "m.csv").write_text("0,1000\n1000,0\n")
    (tmp_path / "c.toml").write_text(
        '[workload]\nlog = "log.csv"\n[[communication.mix]]\npattern = "halo3d"\n'
        'node_bytes = "64 KB"\n[[communication.mix]]\npattern = "matrix"\nfile = "m.csv"\n'
        'node_bytes = "64 KB"\n'
    )
    flags = Flags(machine=str(tmp_path / "machine.toml"), policies=("slurm-tree", "random"))
    content = tomllib.loads(load_judge_config(flags, tmp_path / "c.toml").text)
    assert content["workload"]["log"] == str(log)
    assert content["communication"]["mix"][1]["file"] == str(tmp_path / "m.csv")


def test_gpus_are_assumed_to_train_and_their_ranks_are_in_order(tmp_path: Path) -> None:
    """Random ranks would scatter the GPUs of a server; packets of 4 KiB would take long."""
    (tmp_path / "topology.conf").write_text(
        "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\nSwitchName=s Switches=a,b\n"
    )
    (tmp_path / "jobs.csv").write_text("job,nodes,arrival_s,run_s\n1,8,0,60\n2,16,1,60\n")
    flags = Flags(
        log=str(tmp_path / "jobs.csv"),
        machine=str(tmp_path / "topology.conf"),
        policies=("slurm-tree", "random"),
        bandwidth="400 Gbit/s",
        gpus_per_node=8,
    )
    config = load_judge_config(flags, None).config
    assert config.communication.task_mapping == "in-order"
    assert {entry.pattern for entry in config.communication.mix} == {"collective"}
    assert all(e.parameters["gpus_per_node"] == 8 for e in config.communication.mix)
    topology = build_machine(config.machine).topology
    assert topology.n_nodes == 32
    inside = topology.link_bandwidth_Bps[topology.kind_mask("scale-up-injection")]
    assert set(inside) == {450 * 10**9}
    (tmp_path / "kalos.csv").write_text(
        "job_id,arrival_s,duration_s,nodes,gpus\n0,0.0,104,2,16\n1,313.0,78,1,4\n"
    )
    logged = load_judge_config(replace(flags, log=str(tmp_path / "kalos.csv")), None).config
    jobs = logged.workload.source().jobs(32, np.random.default_rng(0))
    assert jobs.n_nodes.tolist() == [16, 4]
    plain = load_judge_config(replace(flags, gpus_per_node=None), None).config
    assert "collective" not in {entry.pattern for entry in plain.communication.mix}
