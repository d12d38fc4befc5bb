"""coupled.md on whole schedules: its tables are the stored ones."""

from __future__ import annotations

from pathlib import Path

from experiments.calibration.whole_schedules import (
    CASES,
    COMPARED,
    METRICS,
    MODELS,
    STUDY,
    by_job,
    effects,
    errors,
    stored_tables,
)

CALIBRATION = Path(__file__).resolve().parents[1]


def test_stored_schedules_repeat() -> None:
    """The first job of a log starts at its submission under every policy and model."""
    tables = stored_tables()
    schedules, jobs = tables["schedules"], tables["jobs"]
    n_jobs = STUDY["scales"]["full"]["n_jobs"]
    for _, schedule in schedules.groupby(["case", "log", "policy", "run_time_model"]):
        assert schedule["job"].tolist() == list(range(1, n_jobs + 1))
    both = schedules.merge(jobs)
    assert (both["start_us"] >= both["submit_us"]).all()
    assert (both.loc[both["job"] == 1, "start_us"] == both.loc[both["job"] == 1, "submit_us"]).all()


def table_lines() -> list[str]:
    """The page's tables: effects on run time by model, and errors of effects and of jobs."""
    tables = stored_tables()
    found = effects(tables["schedules"], tables["jobs"])
    lines = []
    for (case, policy), part in found.groupby(["case", "policy"], sort=False):
        cells = " | ".join(f"{part['run_time', model].mean():+.1f}" for model in MODELS)
        lines.append(f"| {case} | {policy} over {CASES[case]['policies'][0]} | {cells} |")
    off, jobs = errors(found), by_job(tables["schedules"])
    for model in COMPARED:
        mean = off[off["run_time_model"] == model][list(METRICS)].mean()
        p50, p90 = jobs[jobs["run_time_model"] == model][["error_p50", "error_p90"]].mean()
        cells = " | ".join(
            f"{mean[metric]:.1f}" for metric in ("run_time", "turnaround", "makespan")
        )
        lines.append(f"| `{model}` | {cells} | {p50:.1f}, {p90:.1f} |")
    return lines


def test_the_page_has_the_stored_numbers() -> None:
    page = (CALIBRATION / "coupled.md").read_text(encoding="utf-8")
    for line in table_lines():
        assert line in page
