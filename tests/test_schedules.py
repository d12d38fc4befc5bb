"""From a config to schedules: which jobs, what the scheduler knows, and what is told of it all."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from log_lines import line
from page_words import words

from experiments.kit.points import config_points, observe
from netcosim.config.config import Config, WorkloadSection
from netcosim.config.content import checked_config
from netcosim.config.errors import validated
from netcosim.config.load import config_from
from netcosim.config.machine import build_machine
from netcosim.runs.cosim import cosim_point, run_cosim
from netcosim.runs.points import RESULTS_FILE
from netcosim.runs.run_output import run_and_report
from netcosim.runs.schedules import queues_of
from netcosim.runs.store import Store
from netsim.errors import NetcosimError
from queuesim.estimates import Actual, Adjusted, Requested
from queuesim.observables.registry import OBSERVABLES, observed
from queuesim.result import QueueResult
from workloads.job import Workload

pytestmark = pytest.mark.usefixtures("undrawn")

START = datetime(2018, 9, 28, 12, tzinfo=UTC).timestamp()
DAY = 86400
FAT_TREE = {"family": "fattree", "radix": 6}


def log_file(tmp_path: Path, days: list[float], *, header: bool = True) -> str:
    """Job k is submitted at the k-th day, runs for 100 s of the 200 s that it asked for."""
    path = tmp_path / "log.swf"
    head = [f"; UnixStartTime: {int(START)}"] if header else []
    jobs = [
        line(f1=k, f2=round(d * DAY), f3=0, f4=100, f5=4, f9=200) for k, d in enumerate(days, 1)
    ]
    path.write_text("\n".join([*head, *jobs]) + "\n")
    return str(path)


def section(tmp_path: Path, submitted: list[float], **keys: object) -> WorkloadSection:
    return validated(
        WorkloadSection, {"log": log_file(tmp_path, submitted), "processors_per_node": 1, **keys}
    )


def read(found: WorkloadSection, nodes: int = 54) -> Workload:
    return found.source().jobs(nodes, np.random.default_rng(0))


def test_a_calendar_month_is_that_of_a_utc_calendar(tmp_path: Path) -> None:
    """The log starts on 28 September at noon; October is days 2.5 to 33.5 of it."""
    days = [0.0, 2.4, 2.5, 20.0, 33.4, 33.5]
    jobs = read(section(tmp_path, days, month="2018-10"))
    assert jobs.job_id.tolist() == [3, 4, 5]
    assert jobs.submit_s.tolist() == [0.0, 17.5 * DAY, pytest.approx(30.9 * DAY)]
    history = section(tmp_path, days, month="2018-10").source().history()
    assert history is not None
    assert history.job_id.tolist() == [1, 2]
    year_end = [0.0, 94.4, 94.5, 125.4, 125.5]
    january = read(section(tmp_path, year_end, month="2019-01"))
    assert january.job_id.tolist() == [3, 4]


def test_months_that_cannot_be_told_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NetcosimError, match=r"workload.month|month"):
        section(tmp_path, [0.0], month="October")
    with pytest.raises(NetcosimError, match="either month or start and end"):
        section(tmp_path, [0.0], month="2018-10", start_s=5.0)
    with pytest.raises(NetcosimError, match=r"all 1 jobs are left out"):
        read(section(tmp_path, [0.0], month="2018-10"))
    plain = validated(
        WorkloadSection, {"log": log_file(tmp_path, [0.0], header=False), "month": "2018-10"}
    )
    with pytest.raises(NetcosimError, match=r"key workload\.month: .*no UnixStartTime"):
        read(plain)
    with pytest.raises(NetcosimError, match=r"month is for logs"):
        validated(WorkloadSection, {"synthetic": {"n_jobs": 9}, "month": "2018-10"})


def test_days_count_from_the_first_job_that_is_left(tmp_path: Path) -> None:
    days = [3.0, 4.0, 4.5, 9.0]
    assert read(section(tmp_path, days, days=1.5)).job_id.tolist() == [1, 2]
    late = section(tmp_path, days, start_s=4.0 * DAY, days=1.0)
    assert read(late).job_id.tolist() == [2, 3]


def test_history_ends_before_the_window_and_is_two_months_long(tmp_path: Path) -> None:
    """The job that still runs as the window begins has taught nothing; nor has one long gone."""
    begin = 70.0
    days = [1.0, 9.5, begin - 50 / DAY, begin]
    history = section(tmp_path, days, start_s=begin * DAY).source().history()
    assert history is not None
    assert history.job_id.tolist() == [2]
    assert section(tmp_path, days).source().history() is None


def test_jobs_that_are_left_out_have_taught_the_scheduler(tmp_path: Path) -> None:
    """They ran, whatever the user makes of their sizes and run times; what failed did not count."""
    log = tmp_path / "mixed.swf"
    rows = [
        line(f1=1, f2=0, f5=8),
        line(f1=2, f2=5, f5=40),
        line(f1=3, f2=9, f5=8, f11=0),
        line(f1=4, f2=5 * DAY, f5=8),
        line(f1=5, f2=5 * DAY, f5=40),
        line(f1=6, f2=5 * DAY, f5=8, f11=0),
    ]
    log.write_text("\n".join(rows) + "\n")
    keys = {"processors_per_node": 1, "start_s": DAY, "max_nodes": 30, "statuses": [1]}
    source = validated(WorkloadSection, {"log": str(log), **keys}).source()
    assert source.jobs(54, np.random.default_rng(0)).job_id.tolist() == [4]
    history = source.history()
    assert history is not None
    assert history.job_id.tolist() == [1, 2]


def test_a_size_that_is_given_counts_before_that_of_the_known_log(tmp_path: Path) -> None:
    """Atlas is read up to 1024 nodes where nothing is given."""
    log = tmp_path / "atlas.swf"
    log.write_text("\n".join(line(f1=k, f5=n) for k, n in ((1, 900), (2, 1100))) + "\n")
    keys = {"log": str(log), "known_log": "atlas", "processors_per_node": 1}
    assert read(validated(WorkloadSection, keys), 2000).job_id.tolist() == [1]
    larger = validated(WorkloadSection, {**keys, "max_nodes": 2000})
    assert read(larger, 2000).job_id.tolist() == [1, 2]


def test_sizes_are_rounded_up_to_those_of_the_machine(tmp_path: Path) -> None:
    found = section(tmp_path, [0.0], sizes=(2, 8, 16))
    jobs = read(found)
    assert jobs.n_nodes.tolist() == [8]
    wide = read(section(tmp_path, [0.0], size_factor=2.0, sizes=(2, 8)))
    assert wide.n_nodes.tolist() == [8]
    beyond = read(section(tmp_path, [0.0], size_factor=5.0, sizes=(2, 8)))
    assert beyond.n_nodes.tolist() == [20]


def test_run_times_and_walltimes(tmp_path: Path) -> None:
    late = [line(f1=1, f2=0, f4=300, f9=200), line(f1=2, f2=9, f4=50, f9=80)]
    (tmp_path / "late.swf").write_text("\n".join(late) + "\n")

    def times(**keys: object) -> tuple[list[float], list[float]]:
        log = str(tmp_path / "late.swf")
        jobs = read(validated(WorkloadSection, {"log": log, "processors_per_node": 1, **keys}))
        return jobs.run_time_s.tolist(), jobs.requested_s.tolist()

    assert times() == ([300, 50], [200, 80])
    assert times(run_times="to-walltime") == ([200, 50], [200, 80])
    assert times(walltimes="exact") == ([300, 50], [300, 50])
    assert times(run_times="to-walltime", walltimes="exact") == ([200, 50], [200, 50])


def test_jobs_without_a_walltime_have_what_the_config_gives_them(tmp_path: Path) -> None:
    """No end is promised, unless a site's default or the run time is to count."""
    jobs = [line(f1=1, f2=0, f4=300, f9=-1), line(f1=2, f2=9, f4=50, f9=80)]
    (tmp_path / "some.swf").write_text("\n".join(jobs) + "\n")

    def walltimes(**keys: object) -> tuple[list[float], str]:
        log = str(tmp_path / "some.swf")
        jobs = read(validated(WorkloadSection, {"log": log, "processors_per_node": 1, **keys}))
        return jobs.requested_s.tolist(), jobs.notes[1]

    note = "no walltime is requested for 1 of 2 jobs (50 %)"
    never = (
        f"{note}: backfilling never counts on their end (workload.default_limit, or max_walltime "
        "of their partition, sets one)"
    )
    assert walltimes() == ([np.inf, 80], never)
    assert walltimes(default_limit_s=86_400.0) == (
        [86_400, 80],
        f"{note}: it is 1 d (workload.default_limit)",
    )
    assert walltimes(missing_limits="run-time") == (
        [300, 80],
        f"{note}: it is the run time (workload.missing_limits)",
    )
    assert walltimes(walltimes="exact") == ([300, 50], note)
    (tmp_path / "some.swf").write_text(jobs[1] + "\n")
    every = "workload.default_limit sets no walltime: every job requests one"
    assert walltimes(default_limit_s=86_400.0) == ([80], every)


def config(tmp_path: Path, **sections: dict[str, object]) -> Config:
    """40 jobs of four nodes, one every other second, on a fat-tree of 54 nodes."""
    days = [2 * k / DAY for k in range(40)]
    raw: dict[str, dict[str, object]] = {
        "machine": dict(FAT_TREE),
        "workload": {"log": log_file(tmp_path, days), "processors_per_node": 1},
        "queue": {"policies": ["baseline", "jigsaw"], "run_time_model": "as-logged"},
        "run": {"snapshots": 0},
    }
    for name, keys in sections.items():
        raw[name] |= keys
    return checked_config(raw)


def test_the_placement_is_told_what_the_config_says(tmp_path: Path) -> None:
    def told(name: str, **window: object) -> object:
        slow = tmp_path / "slow"
        slow.mkdir(exist_ok=True)
        log = log_file(slow, [k / 100 for k in range(40)])
        made = config(tmp_path, workload={"log": log, **window}, queue={"estimates": name})
        return queues_of(made, build_machine(made.machine).topology).estimates

    assert told("requested") == Requested()
    assert told("actual") == Actual()
    assert told("adjusted") == Adjusted()
    learnt = told("adjusted", start_s=0.2 * DAY)
    assert isinstance(learnt, Adjusted)
    assert learnt.history is not None
    assert len(learnt.history) == 20
    with pytest.raises(NetcosimError, match=r"queue\.estimates: .*'guess'.*adjusted"):
        told("guess")


def test_a_logs_clock_begins_with_its_first_job(tmp_path: Path) -> None:
    days = [100.0 + k / 100 for k in range(9)]
    made = config(tmp_path, workload={"log": log_file(tmp_path, days)})
    [baseline, _] = run_cosim(made).schedules.values()
    assert baseline.workload.submit_s[0] == 0.0
    assert baseline.start_s[0] == 0.0


def rows_of(result: QueueResult, name: str) -> list[dict[str, object]]:
    return list(OBSERVABLES[name].rows(result))


def test_every_observable_of_a_run_and_of_a_store(tmp_path: Path) -> None:
    """JudgeConfig for in a config, they are among the run's tables, a policy each."""
    made = config(tmp_path, run={"observables": list(OBSERVABLES)})
    tables = cosim_point(made.resolved()).tables
    result = run_cosim(made)
    for name in OBSERVABLES:
        policies = list(dict.fromkeys(row["policy"] for row in tables[name]))
        # no job of this queue is interrupted
        assert policies == ([] if name == "interrupted" else ["baseline", "jigsaw"])
    for row in tables["runs"]:
        assert row["mean_wait_s"] == result.summaries()[str(row["policy"])].mean_wait_s
        assert row["jobs"] == 40
    plain = cosim_point(config(tmp_path).resolved()).tables
    assert not set(plain) & set(OBSERVABLES)
    assert repr(plain["policies"]) == repr(tables["policies"])
    with pytest.raises(NetcosimError, match=r"run\.observables: .*'walls'.*minutes"):
        config(tmp_path, run={"observables": ["walls"]})


def test_observables_stand_on_the_page_and_in_the_results(tmp_path: Path) -> None:
    """Long tables with their first rows and how many there are."""
    made = config(tmp_path, run={"observables": ["bins", "quantiles"]})
    path = run_and_report(made, "", tmp_path / "out", title="t")
    page = words(path.read_text())
    assert "waits and turnarounds by job size" in page
    assert "The first 200 of 404 rows." in page
    with Store(tmp_path / "out" / RESULTS_FILE, "read") as store:
        [point] = store.points()
        assert len(store.rows(point.key, "quantiles")) == 404
        assert [row["bin"] for row in store.rows(point.key, "bins")] == ["2-4", "2-4"]


def test_sums_and_means_of_an_observable_are_those_of_its_jobs(tmp_path: Path) -> None:
    [result, _] = run_cosim(config(tmp_path)).schedules.values()
    waits = result.start_s - result.workload.submit_s
    assert waits.max() > 100
    bins, classes, days = (rows_of(result, name) for name in ("bins", "classes", "days"))
    assert [(row["bin"], row["jobs"]) for row in bins] == [("2-4", 40)]
    assert bins[0]["mean_wait_s"] == pytest.approx(waits.mean())
    assert [(row["class"], row["jobs"]) for row in classes] == [("512", 40)]
    assert classes[0]["mean_wait_min"] == pytest.approx(waits.mean() / 60)
    assert sum(row["wait_min"] for row in days) == pytest.approx(waits.sum() / 60)  # type: ignore[misc]
    assert sum(row["jobs"] for row in days) == 40  # type: ignore[misc]
    quantiles = rows_of(result, "quantiles")
    largest = max(row["value"] for row in quantiles if row["metric"] == "wait_min")  # type: ignore[type-var]
    assert largest == pytest.approx(waits.max() / 60)


def test_hops_are_refused_where_there_are_none(tmp_path: Path) -> None:
    made = config(tmp_path, queue={"policies": ["baseline"]})
    torus = config_from(
        {**made.resolved(), "machine": {"family": "torus", "dims": [4, 4]}, "reference": {}}
    )
    with pytest.raises(NetcosimError, match=r"hops and spread are for fat-trees; torus"):
        observed(run_cosim(torus).schedules, ["hops"])


def test_points_vary_a_config_and_their_keys_join_the_rows(tmp_path: Path) -> None:
    raw = config(tmp_path, run={"observables": ["runs"]}).resolved()
    raw["queue"] |= {"run_time_model": "assumed"}
    changes = {
        "queue.policies": [["baseline"], ["jigsaw"]],
        "queue.assumed.scenario": ["none", "20%"],
        "workload.walltimes": ["exact"],
    }
    points = config_points("test", raw, changes, {"log": "made"})
    rows = [row for point in points for row in observe(point)["runs"]]
    assert [(row["policy"], row["scenario"]) for row in rows] == [
        ("baseline", "none"),
        ("baseline", "20%"),
        ("jigsaw", "none"),
        ("jigsaw", "20%"),
    ]
    assert {(row["log"], row["walltimes"]) for row in rows} == {("made", "exact")}
    base, faster, isolated, both = (row["mean_run_s"] for row in rows)
    assert base == faster == isolated == 100.0
    assert both == 100.0  # jobs of four nodes are never faster
