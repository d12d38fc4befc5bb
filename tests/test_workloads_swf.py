"""Reading and writing job logs."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from log_lines import line, written
from selection import examples

from netsim.errors import NetcosimError
from workloads.csv_jobs import read_csv, write_csv
from workloads.job import Workload
from workloads.registry import LOGS, describe, read_known_log
from workloads.swf import read_swf, read_swf_header, write_swf
from workloads.swf_parse import parse_header, parse_rows, parse_rows_slowly


@pytest.mark.parametrize("name", ["log.swf", "log.swf.gz"])
def test_a_job_is_read_field_by_field(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, "; MaxNodes: 10", "", line(f1=7, f2=30, f5=9, f8=17), name=name)
    job = read_swf(path, processors_per_node=4)
    assert job.job_id.tolist() == [7]
    assert job.submit_s.tolist() == [30]
    assert job.wait_s.tolist() == [5]
    assert job.run_time_s.tolist() == [100]
    assert job.n_nodes.tolist() == [3]  # 9 / 4 rounded up
    assert job.requested_s.tolist() == [200]
    assert (job.user.tolist(), job.project.tolist()) == ([3], [4])
    assert read_swf(path, processors_per_node=4, node_field="requested").n_nodes.tolist() == [5]


def test_jobs_that_follow_others(tmp_path: Path) -> None:
    """Fields 17 and 18: job 2 follows 1 after 30 s, 3 follows 2 at once, 4 one that comes later."""
    path = tmp_path / "log.swf"
    line = "{} {} -1 50 4 -1 -1 4 100 -1 1 1 1 1 1 1 {} {}"
    rows = [(1, 0, -1, -1), (2, 0, 1, 30), (3, 1, 2, -1), (4, 2, 5, 9), (5, 3, -1, 7)]
    path.write_text("; MaxNodes: 8\n" + "\n".join(line.format(*row) for row in rows) + "\n")
    jobs = read_swf(path, processors_per_node=1)
    assert jobs.details.dependency is not None
    assert jobs.details.think_s is not None
    lists = [jobs.details.dependency[k] for k in range(5)]
    assert lists == [[], [("afterany", 1)], [("afterany", 2)], [], []]
    assert jobs.details.think_s[1] == 30
    assert np.isnan(jobs.details.think_s[[0, 2, 3, 4]]).all()
    assert "2 jobs follow others (fields 17 and 18)" in jobs.notes
    assert any(note.startswith("1 jobs follow one that is not used") for note in jobs.notes)
    again = tmp_path / "again.swf"
    write_swf(jobs, again)
    back = read_swf(again, processors_per_node=1)
    assert [back.details.dependency[k] for k in range(5)] == lists  # type: ignore[index]
    assert np.array_equal(back.details.think_s, jobs.details.think_s, equal_nan=True)  # type: ignore[arg-type]


def test_jobs_are_sorted_by_submit_time_and_ties_stay(tmp_path: Path) -> None:
    rows = [line(f1=k, f2=t) for k, t in enumerate([9, 3, 9, 0, 3])]
    assert read_swf(written(tmp_path, *rows)).job_id.tolist() == [3, 1, 4, 0, 2]


def test_unusable_jobs_are_counted_by_their_first_reason(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        line(f1=1),
        line(f1=2, f11=5),
        line(f1=3, f11=5, f4=-1),
        line(f1=4, f5=-1, f8=-1),
        line(f1=5, f5=0, f8=0),
        line(f1=6, f4=0),
        line(f1=7, f4=-1),
        line(f1=8, f5=99),
        line(f1=9, f4=3),
        line(f1=10, f2=-1),
        line(f1=11, f11=0),
    )
    log = read_swf(path, statuses=(0, 1), max_nodes=50, min_run_time_s=10)
    assert log.job_id.tolist() == [1, 11]
    assert log.dropped == {
        "status 5 is not selected": 2,
        "no submit time": 1,
        "no size in field 5 or 8": 2,
        "run time missing or 0": 2,
        "more than 50 nodes": 1,
        "run time below 10 s": 1,
    }


def test_a_job_number_of_an_earlier_line_is_counted_and_the_first_line_stays(tmp_path):
    """Job 7 is listed in full and in two parts; its first line has no run time. -1 is no number."""
    path = written(
        tmp_path,
        line(f1=7, f4=0),
        line(f1=7, f4=100),
        line(f1=8, f4=30),
        line(f1=7, f2=9, f4=60, f11=2),
        line(f1=7, f4=40, f11=3),
        line(f1=-1, f4=5),
        line(f1=-1, f4=6),
    )
    log = read_swf(path)
    assert log.run_time_s.tolist() == [100, 30, 5, 6]
    assert log.dropped == {"run time missing or 0": 1, "job number of an earlier line": 2}


def test_missing_request_and_wait(tmp_path: Path) -> None:
    rows = [line(f1=k, f9=asked, f3=-1) for k, asked in enumerate([-1, 50, 400, 0])]
    log = read_swf(written(tmp_path, *rows))
    assert log.requested_s.tolist() == [np.inf, 50, 400, np.inf]  # 50 < run time is kept
    assert np.isnan(log.wait_s).all()
    assert log.notes[1] == "no walltime is requested for 2 of 4 jobs (50 %)"
    assert "wait time missing for all jobs" in log.notes[2]
    write_swf(log, tmp_path / "again.swf")
    again = read_swf(tmp_path / "again.swf", processors_per_node=1)
    assert again.requested_s.tolist() == log.requested_s.tolist()


BROKEN = [
    (line(f4="abc"), r"log.swf:3: field 4 \(run time\) is 'abc'; a number is needed"),
    (line(f4="nan"), r"log.swf:3: field 4 \(run time\) is 'nan'; a number is needed"),
    (line(f6="inf"), r"log.swf:3: field 6 \(average CPU time\) is 'inf'; a number is needed"),
    (line(f2="1_0"), r"log.swf:3: field 2 \(submit time\) is '1_0'; a number is needed"),
    (line(f5="2.5"), r"log.swf:3: field 5 \(allocated processors\) is '2.5'; a whole number"),
    (line(f18='"'), r"log.swf:3: field 18 \(think time\) is '\"'; a number is needed"),
    (line() + " 1", r"log.swf:3: 19 fields; a job line has 18"),
    (line() + " 1 2", r"log.swf:3: 20 fields; a job line has 18"),
    (line().rsplit(" ", 1)[0], r"log.swf:3: 17 fields; a job line has 18"),
    ("5", r"log.swf:3: 1 fields; a job line has 18"),
]


@pytest.mark.parametrize(("bad", "message"), BROKEN)
def test_a_broken_line_is_named(tmp_path: Path, bad: str, message: str) -> None:
    path = written(tmp_path, "; a comment", line(), bad, line())
    with pytest.raises(NetcosimError, match=message) as caught:
        read_swf(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(NetcosimError, match=message.replace("swf:3", "swf:1")):
        read_swf(written(tmp_path, bad))


# without the time of day, which would give each worker's tests other names
PACKED = gzip.compress(b"1 2 3 " * 1000, mtime=0)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.swf", None, "cannot be read: No such file"),
        ("a.swf.gz", b"1 2 3", "not a gzip file"),
        ("b.swf.gz", PACKED[:-20], "the gzip file is truncated"),
        ("c.swf.gz", PACKED[:12] + b"\xff" * 40, "the gzip file is"),
        ("d.swf", b"; only a header\n", "no job can be used .the log has no job lines"),
        ("e.swf", line(f4=-1).encode(), "no job can be used .1 with run time missing or 0"),
    ],
)
def test_files_that_cannot_be_used(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(NetcosimError, match=f"{name}: {message}") as caught:
        read_swf(path)
    assert "\n" not in str(caught.value)


def test_bad_options(tmp_path: Path) -> None:
    path = written(tmp_path, line())
    with pytest.raises(NetcosimError, match="unknown node field 'size'; valid: allocated, req"):
        read_swf(path, node_field="size")
    with pytest.raises(NetcosimError, match="processors_per_node = 0"):
        read_swf(path, processors_per_node=0)
    with pytest.raises(NetcosimError, match="cannot be read"):
        read_swf(tmp_path)


def test_header() -> None:
    lines = ["; Computer: A: B", ";MaxNodes: 10 (of 12)", "", ";  UnixStartTime: 5"]
    lines += ["; MaxProcs: many", line(), "; MaxProcs: 3"]
    header, again = parse_header(lines)
    assert list(again) == lines
    assert header.computer == "A: B"
    assert (header.max_nodes, header.max_procs, header.unix_start_time) == (10, None, 5)
    assert len(header.lines) == 4


NUMBERS = st.one_of(
    st.integers(-1, 10**9), st.floats(-1, 1e12, allow_nan=False, allow_infinity=False)
)


@examples(40)
@given(st.data())
def test_fast_and_slow_parsers_agree(data: st.DataObject) -> None:
    out = []
    for _ in range(data.draw(st.integers(1, 6))):
        values = [
            data.draw(st.integers(-1, 10**9) if f in (1, 5, 8, 11, 12, 13) else NUMBERS)
            for f in range(1, 19)
        ]
        gap = data.draw(st.sampled_from([" ", "  ", "\t"]))
        out.append(data.draw(st.sampled_from(["", " "])) + gap.join(map(repr, values)))
        out.append(data.draw(st.sampled_from(["", "; 1 2", "  ; x", "  "])))
    end = data.draw(st.sampled_from(["", "\r"]))
    lines = [text + end for text in out]
    assert np.array_equal(parse_rows(lines, "x"), parse_rows_slowly(lines, "x"))


TIMES = st.one_of(st.integers(0, 10**7).map(float), st.floats(0, 1e9, allow_subnormal=False))


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    n = draw(st.integers(1, 8))

    def column(values: st.SearchStrategy[float]) -> np.ndarray:
        return np.array(draw(st.lists(values, min_size=n, max_size=n)))

    run = column(TIMES) + 1
    return Workload(
        name="drawn",
        job_id=np.array(draw(st.permutations(range(1, n + 1))), dtype=np.int64),
        submit_s=np.sort(column(TIMES)),
        run_time_s=run,
        n_nodes=column(st.integers(1, 10**6)).astype(np.int32),
        requested_s=run * column(st.sampled_from([0.5, 1.0, 1.7])),
        user=column(st.integers(-1, 99)).astype(np.int32),
        project=column(st.integers(-1, 99)).astype(np.int32),
        wait_s=column(st.one_of(TIMES, st.just(np.nan))),
    )


@settings(examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(workloads(), st.sampled_from([1, 4]), st.sampled_from(["t.swf", "t.swf.gz"]))
def test_what_is_written_reads_back(tmp_path, log, per_node, name):
    write_swf(log, tmp_path / name, processors_per_node=per_node)
    back = read_swf(tmp_path / name, processors_per_node=per_node)
    for column in ("job_id", "submit_s", "run_time_s", "n_nodes", "requested_s", "user"):
        assert np.array_equal(getattr(back, column), getattr(log, column)), column
    assert np.array_equal(back.project, log.project)
    assert np.array_equal(back.wait_s, log.wait_s, equal_nan=True)
    assert back.n_nodes.dtype == np.int32
    assert read_swf_header(tmp_path / name).max_nodes == log.n_nodes.max()


def test_csv_without_a_request_or_a_wait(tmp_path: Path) -> None:
    """A requested time of 0 or below is none, a wait below 0 is none; a wait of 0 is one."""
    path = tmp_path / "jobs.csv"
    header = "job,nodes,arrival_s,run_s,requested_s,wait_s\n"
    path.write_text(
        header + "1,1,0,7,0,0\n2,1,0,8,-1,-1\n3,1,0,9,5,4.5\n4,1,0,9,inf,1\n5,1,0,9,,1\n"
    )
    jobs = read_csv(path)
    assert jobs.requested_s.tolist() == [np.inf, np.inf, 5, np.inf, np.inf]
    np.testing.assert_array_equal(jobs.wait_s, [0, np.nan, 4.5, 1, 1])
    assert jobs.notes == ("no walltime is requested for 4 of 5 jobs (80 %)",)
    write_csv(jobs, path)
    again = read_csv(path)
    assert again.requested_s.tolist() == jobs.requested_s.tolist()
    assert again.notes == jobs.notes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("job,nodes,run_s\n", "jobs.csv:1: the columns are job, nodes, run_s; job, nodes, arr"),
        ("job,nodes,arrival_s,run_s,size\n", "jobs.csv:1: the columns are"),
        ("job,nodes,arrival_s,run_s\n1,2,3\n", "jobs.csv:2: 3 fields; the header has 4"),
        ("job,nodes,arrival_s,run_s\n1,2,x,3\n", r"jobs.csv:2: field 3 \(arrival_s\) is 'x'; a n"),
        ("job,nodes,arrival_s,run_s\n1,2.5,0,3\n", r"field 2 \(nodes\) is '2.5'; a whole"),
        ("job,nodes,arrival_s,run_s\n1,3e9,0,3\n", r"field 2 \(nodes\) is '3e9'; a whole"),
        ("job,nodes,arrival_s,run_s\n1,0,0,3\n", r"field 2 \(nodes\) is '0'; it must be above 0"),
        ("job,nodes,arrival_s,run_s\n1,2,0,0\n", r"field 4 \(run_s\) is '0'; it must be above 0"),
        ("job,nodes,arrival_s,run_s\n1,2,-1,3\n", r"\(arrival_s\) is '-1'; it must be at least 0"),
        ("job,nodes,arrival_s,run_s\n", "jobs.csv: the table has no jobs"),
    ],
)
def test_csv_mistakes_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(text)
    with pytest.raises(NetcosimError, match=message):
        read_csv(path)


def test_describe_known_logs() -> None:
    for name in LOGS:
        assert f"{LOGS[name].machine_nodes} nodes" in describe(name)
    with pytest.raises(NetcosimError, match="unknown job log 'sun'; valid: atlas, cab"):
        describe("sun")


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "jobs", "nodes", "longest_s", "lines"),
    [("thunder", 105_764, 965, 172_362, 121_039), ("atlas", 29_700, 1024, 342_754, 43_778)],
)
def test_jigsaws_subsets(shared_dir, name, jobs, nodes, longest_s, lines):
    """Table 1 of the Jigsaw paper."""
    log = read_known_log(name, shared_dir / "traces" / LOGS[name].file_name)
    assert (len(log), log.n_nodes.max()) == (jobs, nodes)
    assert (log.run_time_s.min(), log.run_time_s.max()) == (1, longest_s)
    assert len(log) + sum(log.dropped.values()) == lines


@pytest.mark.shared
def test_mira_has_waits_requests_users_and_projects(shared_dir: Path) -> None:
    log = read_known_log("mira", shared_dir / "traces" / "ALCF-Mira-2018.swf.gz")
    header = read_swf_header(shared_dir / "traces" / "ALCF-Mira-2018.swf.gz")
    assert len(log) == 22_508
    assert (header.max_nodes, header.max_procs, header.unix_start_time) == (
        49152,
        49152,
        1535348017,
    )
    assert log.notes == ("1 processor a node, from the known log",)
    assert log.wait_s[0] == 102_306
    assert (log.requested_s[0], log.user[5], log.project[9]) == (18_000, 5, 6)
