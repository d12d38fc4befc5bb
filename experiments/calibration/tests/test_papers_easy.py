"""EASY beside published averages: their very digits, and why one pass an instant differs."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from easy_events_reference import easy_by_events
from queue_helpers import Mask

from experiments.calibration.easy import (
    LOGS,
    analyse,
    points,
    read_study_log,
    run_point,
    study_slowdown,
)
from experiments.calibration.paper import PAPER
from experiments.kit.logs import LOGS_VARIABLE
from experiments.kit.papers import Options
from netsim.errors import NetcosimError
from queuesim.queue import simulate_queue
from workloads.job import Workload

# From the results beside the paper, all digits.
DIGITS = {
    ("KTH-SP2", "exact"): 71.7223851124418,
    ("CTC-SP2", "exact"): 37.1654014851933,
}
KTH_BY_EVENTS = 92.5765397336295


def study_log(name: str, shared_dir: Path) -> tuple[Workload, int]:
    """The study's version of a log, from the logs folder or the shared one; else a skip."""
    stem = LOGS[name]["files"][0]
    folders = [Path(os.environ.get(LOGS_VARIABLE, "")), shared_dir / "traces"]
    for path in [folder / f"{stem}.swf{end}" for folder in folders for end in ("", ".gz")]:
        if path.is_file():
            return read_study_log(str(path))
    pytest.skip(
        f"the log {stem}.swf is not here; give {LOGS_VARIABLE} (Parallel Workloads Archive)"
    )


def cut(jobs: Workload) -> Workload:
    return replace(jobs, run_time_s=np.minimum(jobs.run_time_s, jobs.requested_s))


def mean_slowdown(jobs: Workload, start_s: np.ndarray) -> float:
    turnaround = start_s + jobs.run_time_s - jobs.submit_s
    return float(np.maximum(turnaround / np.maximum(jobs.run_time_s, 10), 1).mean())


@pytest.mark.shared
@pytest.mark.parametrize(("name", "walltimes"), list(DIGITS))
def test_published_to_ten_digits(name: str, walltimes: str, shared_dir: Path) -> None:
    jobs, processors = study_log(name, shared_dir)
    assert len(jobs) == LOGS[name]["jobs"]
    simulated = study_slowdown(jobs, processors, walltimes)
    assert simulated == pytest.approx(DIGITS[name, walltimes], rel=1e-11)


@pytest.mark.shared
def test_a_pass_at_each_event_gives_the_published_average(shared_dir: Path) -> None:
    jobs, processors = study_log("KTH-SP2", shared_dir)
    short = cut(jobs)
    by_events = mean_slowdown(short, easy_by_events(short, processors))
    assert by_events == pytest.approx(KTH_BY_EVENTS, rel=1e-11)
    assert study_slowdown(jobs, processors, "requested") == pytest.approx(92.6876537427)


@pytest.mark.full
@pytest.mark.shared
def test_both_passes_agree_where_walltimes_are_exact(shared_dir: Path) -> None:
    """On the cleaned log: jobs that end at one instant have then promised to."""
    path = shared_dir / "traces" / "KTH-SP2-1996-2.1-cln.swf.gz"
    jobs, processors = read_study_log(str(path))
    assert (len(jobs), processors) == (28_467, 100)
    exact = replace(cut(jobs), requested_s=cut(jobs).run_time_s)
    plain = easy_by_events(exact, processors)
    result = simulate_queue(exact, Mask(processors), rng=np.random.default_rng(0))
    assert np.array_equal(result.start_s, plain)
    simulated = study_slowdown(jobs, processors, "exact")
    assert simulated == pytest.approx(mean_slowdown(exact, plain), rel=1e-12)
    # with the users' walltimes they do not
    short = cut(jobs)
    plain = mean_slowdown(short, easy_by_events(short, processors))
    simulated = study_slowdown(jobs, processors, "requested")
    assert 1e-4 < abs(simulated / plain - 1) < 0.02


SWF = """; MaxProcs: 4
1 0 -1 10 2 -1 -1 4 20 -1 1 1 1 -1 -1 -1 -1 -1
2 0 -1 10 4 -1 -1 -1 5 -1 1 1 1 -1 -1 -1 -1 -1
3 0 -1 0 1 -1 -1 1 5 -1 1 1 1 -1 -1 -1 -1 -1
4 0 -1 5 1 -1 -1 1 -1 -1 1 1 1 -1 -1 -1 -1 -1
5 0 -1 5 8 -1 -1 1 5 -1 1 1 1 -1 -1 -1 -1 -1
6 0 -1 5 -1 -1 -1 -1 5 -1 1 1 1 -1 -1 -1 -1 -1
"""


def test_the_studys_filter_by_hand(tmp_path: Path) -> None:
    # 1: field 8 is its size; 2: has only field 5. 3: no run time. 4: no request. 5: too large in
    # field 5. 6: no size. So 1 runs 0-10, 2 is cut at 5: turnarounds 10 and 15, over 10 each.
    path = tmp_path / "KTH-SP2-1996-2.swf"
    path.write_text(SWF)
    jobs, processors = read_study_log(str(path))
    assert processors == 4
    assert jobs.job_id.tolist() == [1, 2]
    assert jobs.n_nodes.tolist() == [4, 4]
    assert jobs.dropped == {"the study's filter": 4}
    assert study_slowdown(jobs, processors, "requested") == pytest.approx((1 + 1.5) / 2)


def test_a_log_that_is_not_there_is_a_row(
    tmp_path: Path, reproduced: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(LOGS_VARIABLE, raising=False)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "KTH-SP2-1996-2.swf").write_text(SWF)
    options = Options(settings={"logs": str(tmp_path / "logs")})
    done = reproduced("calibration", "easy", options)
    table = done.analysis.tables["easy"].set_index(["log", "walltimes"])
    assert len(table) == 2 * len(LOGS)
    assert table.loc[("KTH-SP2", "requested"), "simulated"] == pytest.approx(1.25)
    assert table.loc[("CTC-SP2", "exact"), "file"] == "not in the logs folder"
    assert table["simulated"].isna().sum() == 2 * (len(LOGS) - 1)
    notes = "\n".join(done.analysis.notes)
    assert "CTC-SP2: not computed; put CTC-SP2-1996-3.1-cln.swf.gz into the logs folder" in notes
    assert "KTH-SP2: 2 jobs in KTH-SP2-1996-2.swf, the study had 28,481" in notes
    assert list(done.analysis.claims["verdict"]) == ["differs", "differs"]


def test_without_any_log_all_rows_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    import pandas as pd

    monkeypatch.delenv(LOGS_VARIABLE, raising=False)
    rows = [row for point in points(Options()) for row in run_point(point)["easy"]]
    found = analyse({"easy": pd.DataFrame(rows)}, Options())
    assert len(found.notes) == 1 + len(LOGS)
    assert len(found.claims) == 0
    assert [p["log"] for p in points(Options(scale="quick"))] == ["KTH-SP2", "KTH-SP2"]


def test_logs_must_be_a_folder() -> None:
    with pytest.raises(NetcosimError, match="no such folder"):
        PAPER.check(Options(settings={"logs": "/no/such/place"}))
