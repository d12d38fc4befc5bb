"""The project's own table of jobs: what is written is read again, all of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from selection import examples

from netcosim.cli import main
from netsim.errors import NetcosimError
from workloads.csv_jobs import read_csv, write_csv
from workloads.dependencies import dependency_text, parse_dependency
from workloads.details import DEPENDENCY_KINDS, Dependencies, JobDetails, Labels, NodeLists
from workloads.formats import format_of
from workloads.job import Workload
from workloads.synthetic import laas_workload

HEAD = "job,nodes,arrival_s,run_s"
NAMES = st.sampled_from(["batch", 'a "b", c', "überlauf", "x;y", "7"])
TIMES = st.floats(0, 1e9).map(lambda t: round(t, 3))


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """Jobs with any of the optional columns."""
    n = draw(st.integers(1, 6))

    def each(of: st.SearchStrategy[object]) -> list[object]:
        return draw(st.lists(of, min_size=n, max_size=n))

    def words() -> Labels | None:
        found = each(st.none() | NAMES)
        return draw(st.sampled_from([None, Labels.of(found)]))  # type: ignore[arg-type]

    def numbers(of: st.SearchStrategy[float]) -> np.ndarray | None:
        found = np.array(each(st.just(np.nan) | of), dtype=np.float64)
        return None if draw(st.booleans()) else found

    hosts = st.lists(st.sampled_from([f"n{k:02d}" for k in range(12)] + ["login"]), unique=True)
    pairs = st.tuples(st.sampled_from(DEPENDENCY_KINDS), st.integers(100, 2**53))
    integers = st.integers(-1, 2**31 - 1)
    run_s = np.array(each(TIMES), dtype=np.float64) + 1
    return Workload(
        name="jobs.csv",
        job_id=np.array(draw(st.lists(st.integers(0, 99), min_size=n, max_size=n, unique=True))),
        submit_s=np.sort(np.array(each(TIMES), dtype=np.float64)),
        run_time_s=run_s,
        n_nodes=np.array(each(st.integers(1, 2**31 - 1)), dtype=np.int32),
        requested_s=run_s * 2,
        user=np.array(each(integers), dtype=np.int32),
        project=np.array(each(integers), dtype=np.int32),
        wait_s=np.array(each(st.just(np.nan) | TIMES), dtype=np.float64),
        start_unix_s=draw(st.none() | st.integers(0, 2**31).map(float)),
        details=JobDetails(
            partition=words(),
            account=words(),
            qos=words(),
            node_list=NodeLists.of(each(hosts)) if draw(st.booleans()) else None,  # type: ignore[arg-type]
            priority=numbers(st.floats(-1e6, 1e6)),
            dependency=Dependencies.of(each(st.lists(pairs, max_size=3)))  # type: ignore[arg-type]
            if draw(st.booleans())
            else None,
            pattern=words(),
            communication_fraction=numbers(st.floats(0, 1)),
            bytes_per_node_s=numbers(st.floats(0, 1e12)),
            status=words(),
        ),
    )


def plain(column: object) -> object:
    """An optional column as lists."""
    if isinstance(column, Labels):
        return [column[k] for k in range(len(column))]
    if isinstance(column, NodeLists):
        return [[column.names[i] for i in column[k]] for k in range(len(column))]
    if isinstance(column, Dependencies):
        return [column[k] for k in range(len(column))]
    return np.asarray(column).tolist()


@settings(examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(workloads(), st.sampled_from(["jobs.csv", "jobs.csv.gz"]))
def test_what_is_written_is_read_again(tmp_path: Path, jobs: Workload, name: str) -> None:
    path = tmp_path / name
    write_csv(jobs, path)
    again = read_csv(path)
    for column in ("job_id", "submit_s", "run_time_s", "n_nodes", "requested_s", "user", "project"):
        assert np.array_equal(getattr(again, column), getattr(jobs, column)), column
    assert np.array_equal(again.wait_s, jobs.wait_s, equal_nan=True)
    assert again.start_unix_s == jobs.start_unix_s
    assert set(again.details.columns()) == set(jobs.details.columns())
    for column, found in again.details.columns().items():
        expected = getattr(jobs.details, column)
        if isinstance(expected, np.ndarray):
            assert isinstance(found, np.ndarray)
            assert np.array_equal(found, expected, equal_nan=True)
        else:
            assert plain(found) == plain(expected)


def test_counts_and_notes_travel_with_the_table(tmp_path: Path) -> None:
    """What an importer left out is known to whoever reads the table."""
    jobs = laas_workload(5, 16, np.random.default_rng(1))
    counted = replace(jobs, dropped={"never began": 3}, notes=("2 jobs\nare odd",))
    write_csv(counted, tmp_path / "jobs.csv")
    again = read_csv(tmp_path / "jobs.csv")
    assert (again.dropped, again.notes) == ({"never began": 3}, ("2 jobs are odd",))


def test_jobs_are_sorted_with_their_details(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(
        "# made by hand\n# UnixStartTime: 1700000000\n"
        f"{HEAD},partition,node_list,communication_fraction\n"
        '1,2,50,9,debug,"n[1,3]",0.5\n2,1,10,9,,,\n'
    )
    jobs = read_csv(path)
    assert (jobs.job_id.tolist(), jobs.start_unix_s) == ([2, 1], 1_700_000_000)
    details = jobs.details
    assert plain(details.partition) == [None, "debug"]
    assert plain(details.node_list) == [[], ["n1", "n3"]]
    assert str(plain(details.communication_fraction)) == "[nan, 0.5]"
    assert format_of(path).name == "csv"


def test_dependencies_are_written_as_slurm_writes_them() -> None:
    pairs = [("afterok", 1), ("afterok", 2), ("after", 3), ("afterok", 4)]
    text = dependency_text(pairs)
    assert text == "afterok:1:2,after:3,afterok:4"
    assert [(kind, int(job)) for kind, job in parse_dependency(text)] == pairs


@pytest.mark.parametrize(
    ("column", "cell", "told"),
    [
        ("communication_fraction", "1.5", "field 5 (communication_fraction) is '1.5'; it must be"),
        ("communication_fraction", "half", "is 'half'; a number is needed"),
        ("bytes_per_node_s", "-1", "it must be at least 0"),
        ("priority", "inf", "a number is needed"),
        ("node_list", "n[2-1]", "range '2-1' runs backwards"),
        ("node_list", "n[1-2", "a bracket is not closed"),
        ("dependency", "later:5", "dependency 'later:5'; after, afterok, afterany, afternotok"),
        ("dependency", "afterok", "dependency 'afterok'; after,"),
        ("dependency", "afterok:x", "dependency: job = 'x'; a whole number from 0 to"),
        ("dependency", "afterok:2", "never start: 2 -> 2"),
        ("colour", "red", ":1: the columns are"),
    ],
)
def test_cells_that_are_not_sound(tmp_path: Path, column: str, cell: str, told: str) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(f"{HEAD},{column}\n1,2,0,10,\n2,2,5,10,{cell}\n")
    with pytest.raises(NetcosimError) as caught:
        read_csv(path)
    assert told in str(caught.value)
    assert "never" in told or column == "colour" or ":3: field 5" in str(caught.value)


def test_a_number_that_two_jobs_have_is_refused_where_jobs_wait(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(f"# x\n{HEAD},dependency\n1,2,0,10,\n2,1,0,1,\n1,2,5,10,after:2\n")
    with pytest.raises(NetcosimError, match=r"jobs.csv:5: job 1 is listed twice \(line 3"):
        read_csv(path)


SACCT = """JobID|State|Submit|Start|End|NNodes|NodeList|Partition
7|COMPLETED|2024-03-05T10:00:00|2024-03-05T10:05:00|2024-03-05T11:05:00|2|n[1-2]|batch
7.batch|COMPLETED||2024-03-05T10:05:00|2024-03-05T11:05:00|1||
8|PENDING|2024-03-05T10:00:00|Unknown|Unknown|2|None assigned|batch
"""


def test_a_log_is_imported_and_looked_at(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("sacct.txt").write_text(SACCT)
    assert main(["trace", "import", "sacct", "sacct.txt"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("sacct.csv: 1 jobs written")
    assert "left out: 1 (step of a job)" in told
    assert Path("sacct.csv").read_text().splitlines() == [
        "# UnixStartTime: 1709632800",
        "# LeftOut: 1 step of a job",
        "# LeftOut: 1 waiting when the log was made",
        "# Note: no walltime is requested for 1 of 1 jobs (100 %)",
        "job,nodes,arrival_s,run_s,requested_s,user,project,wait_s,partition,node_list,status",
        "7,2,0,3600,inf,-1,-1,300,batch,n[1-2],completed",
    ]
    for log in ("sacct.csv", "sacct.txt"):
        assert main(["trace", "info", log]) == 0
        told = capsys.readouterr().out
        assert "first job: 2024-03-05 10:00:00 UTC" in told
        assert "node_list: all jobs, 2 nodes" in told
        assert "partition: all jobs: batch" in told
    assert (
        main(["trace", "import", "sacct", "sacct.txt", "--out", "b.csv", "--timezone", "CET"]) == 0
    )
    assert "UnixStartTime: 1709629200" in Path("b.csv").read_text()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("slurm", "sacct.txt"), "unknown importer 'slurm'; valid: acme, cobalt, csv"),
        (("sacct", "sacct.txt", "--out", "sacct.txt"), "must end in .csv"),
        (("sacct", "sacct.txt", "--zone", "CET"), "unrecognized arguments: --zone CET"),
        (("sacct", "sacct.txt", "--timezone", "Mars"), "timezone = 'Mars'"),
        (("sacct", "sacct.txt", "--shared-nodes", "maybe"), "must be 'refuse', 'drop' or 'whole'"),
        (("sacct", "sacct.txt", "--cores-per-node", "none"), "it must be a whole number"),
        (("sacct", "none.txt"), "none.txt: cannot be read"),
        (("pbs", "sacct.txt"), "sacct.txt:1: 'JobID|State"),
        (("sacct",), "the following arguments are required: FILE"),
    ],
)
def test_mistakes_of_an_import_write_nothing(tmp_path, capsys, monkeypatch, arguments, told):
    monkeypatch.chdir(tmp_path)
    Path("sacct.txt").write_text(SACCT)
    assert main(["trace", "import", *arguments]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["sacct.txt"]
