"""What sacct prints becomes jobs: each odd thing that real files have, and what is said of it."""

from __future__ import annotations

import bz2
import gzip
import lzma
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from netsim.errors import NetcosimError
from workloads.formats import Reading, format_of
from workloads.importers.dates import length_s
from workloads.importers.sacct import read_sacct
from workloads.job import Workload

HEAD = "JobID|State|Submit|Start|End|NNodes|NodeList"
DAY = "2024-03-05T"


def row(
    id: str = "1",
    state: str = "COMPLETED",
    submit: str = "10:00:00",
    start: str = "10:05:00",
    end: str = "11:05:00",
    nodes: object = 1,
    hosts: str = "n1",
    *more: str,
) -> str:
    """A line under `HEAD`; times are of one day."""
    times = (
        t if t[:1].isalpha() or "-" in t or t.isdigit() else DAY + t for t in (submit, start, end)
    )
    return "|".join((id, state, *times, str(nodes), hosts, *more))


def read(tmp_path: Path, *lines: str, head: str = HEAD, **parameters: object) -> Workload:
    """The jobs of a file of these lines."""
    path = tmp_path / "sacct.txt"
    path.write_text("\n".join((head, *lines)) + "\n")
    return read_sacct(path, **parameters)  # type: ignore[arg-type]


def refused(tmp_path: Path, *lines: str, head: str = HEAD, **parameters: object) -> str:
    """What is said of a file that cannot be used."""
    with pytest.raises(NetcosimError) as caught:
        read(tmp_path, *lines, head=head, **parameters)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def nodes_of(jobs: Workload, job: int) -> list[str]:
    """The nodes that a job ran on."""
    assert jobs.details.node_list is not None
    return [jobs.details.node_list.names[i] for i in jobs.details.node_list[job]]


def test_times_count_from_the_first_submit(tmp_path: Path) -> None:
    jobs = read(
        tmp_path,
        row("8", submit="10:01:00", start="10:02:00", end="10:03:00", hosts="n2"),
        row("7"),
    )
    assert jobs.job_id.tolist() == [7, 8]
    assert jobs.submit_s.tolist() == [0, 60]
    assert jobs.wait_s.tolist() == [300, 60]
    assert jobs.run_time_s.tolist() == [3600, 60]
    assert jobs.start_unix_s == datetime.fromisoformat(DAY + "10:00:00+00:00").timestamp()


def test_columns_stand_in_any_order_and_others_are_not_read(tmp_path: Path) -> None:
    cells = dict(zip(HEAD.split("|"), row().split("|"), strict=True))
    cells |= {"Cluster": "big", "MaxRSS": "12K"}
    for names in (sorted(cells), sorted(cells, reverse=True)):
        for separator in "|;\t,":
            head, line = (separator.join(c) for c in (names, [cells[n] for n in names]))
            jobs = read(tmp_path, line + separator, head=head + separator)
            assert (jobs.n_nodes.tolist(), jobs.run_time_s.tolist()) == ([1], [3600])


def test_what_is_no_job_that_ran_is_counted_by_reason(tmp_path: Path) -> None:
    none = "None assigned"
    jobs = read(
        tmp_path,
        row("1"),
        row("1.batch", hosts=""),
        row("1.0", hosts=""),
        row("2", "PENDING", start="Unknown", end="Unknown", hosts=none),
        row("3_[5-9%2]", "PENDING", start="Unknown", end="Unknown", hosts=none),
        row("4", "CANCELLED by 123", start="Unknown", end="10:01:00", hosts=none),
        row("5", "CANCELLED by 123", start="10:01:00", end="10:01:00", hosts=none),
        row("6", "CANCELLED by 123", hosts="n2"),
        row("7", "RUNNING", end="Unknown", hosts="n3"),
        row("8", end="10:05:00", hosts="n4"),
        row("9", nodes=0, hosts=""),
        row("10", "FAILED", start="None", end="10:01:00", hosts=none),
        "",
    )
    assert jobs.job_id.tolist() == [1, 6]
    assert jobs.details.status is not None
    assert [jobs.details.status[k] for k in range(2)] == ["completed", "cancelled"]
    assert jobs.dropped == {
        "step of a job": 2,
        "waiting when the log was made": 2,
        "cancelled before it began": 2,
        "running when the log was made": 1,
        "never began": 1,
        "run time missing or 0": 1,
        "no number of nodes": 1,
    }
    assert len(jobs) + sum(jobs.dropped.values()) == 12


def test_tasks_of_arrays_are_jobs_with_numbers_of_their_own(tmp_path: Path) -> None:
    lines = [row(f"123_{k}", hosts=f"n{k}") for k in (4, 5)]
    assert read(tmp_path, *lines).job_id.tolist() == [12_300_000_004, 12_300_000_005]
    raw = [f"{line}|{number}" for line, number in zip(lines, (123, 126), strict=True)]
    assert read(tmp_path, *raw, head=HEAD + "|JobIDRaw").job_id.tolist() == [123, 126]


def test_components_of_a_heterogeneous_job_are_one(tmp_path: Path) -> None:
    jobs = read(tmp_path, row("9+0", nodes=2, hosts="n[1-2]"), row("9+1", hosts="gpu1"))
    assert (jobs.job_id.tolist(), jobs.n_nodes.tolist()) == ([9], [3])
    assert nodes_of(jobs, 0) == ["n1", "n2", "gpu1"]
    assert jobs.notes[0] == "1 heterogeneous jobs, whose 2 components are taken together"


def test_of_a_requeued_job_the_last_run_counts(tmp_path: Path) -> None:
    again = row("5", start="12:00:00", end="12:10:00", hosts="n9")
    for lines in ((row("5", "NODE_FAIL"), again), (again, row("5", "NODE_FAIL"))):
        jobs = read(tmp_path, *lines)
        assert (jobs.run_time_s.tolist(), nodes_of(jobs, 0)) == ([600], ["n9"])
        assert list(jobs.dropped.values()) == [1]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n[001-003,7]", ["n001", "n002", "n003", "n7"]),
        ("gpu1-[1-2],n9", ["gpu1-1", "gpu1-2", "n9"]),
        ("r[1-2]c[0-1]", ["r1c0", "r1c1", "r2c0", "r2c1"]),
    ],
)
def test_node_lists_are_kept(tmp_path: Path, text: str, names: list[str]) -> None:
    assert nodes_of(read(tmp_path, row(nodes=len(names), hosts=text)), 0) == names
    # nodes are counted where no column has their number
    head = "JobID|State|Submit|Start|End|Other|NodeList"
    assert read(tmp_path, row(hosts=text), head=head).n_nodes.tolist() == [len(names)]


def test_a_node_list_of_another_length_is_not_kept_and_counted(tmp_path: Path) -> None:
    jobs = read(tmp_path, row(nodes=3, hosts="n[1-2]"), row("2", hosts="n4"))
    assert (nodes_of(jobs, 0), nodes_of(jobs, 1)) == ([], ["n4"])
    assert jobs.notes[0].startswith("1 jobs have a node list of another length")


@pytest.mark.parametrize(
    ("column", "cell", "nodes"),
    [
        ("AllocNodes", "12", 12),
        ("AllocTRES", "billing=64,cpu=64,node=3", 3),
        ("NNodes", "2K", 2048),
    ],
)
def test_nodes_come_from_what_there_is(tmp_path: Path, column: str, cell: str, nodes: int) -> None:
    line = "|".join([*row().split("|")[:5], cell])
    head = "|".join([*HEAD.split("|")[:5], column])
    assert read(tmp_path, line, head=head).n_nodes.tolist() == [nodes]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1-02:03:04", 93_784.0),
        ("02:03:04", 7384.0),
        ("120:00:00", 432_000.0),
        ("03:04", 184.0),
        ("00:10.500", 10.0),
        ("2-00", 172_800.0),
        ("UNLIMITED", np.nan),
        ("Partition_Limit", np.nan),
        ("INVALID", np.nan),
        ("", np.nan),
    ],
)
def test_lengths_of_time(tmp_path: Path, text: str, seconds: float) -> None:
    assert length_s(text) == pytest.approx(seconds, nan_ok=True)
    jobs = read(tmp_path, row() + f"|{text}", head=HEAD + "|Timelimit")
    assert jobs.requested_s.tolist() == [np.inf if np.isnan(seconds) else seconds]
    assert any("no walltime" in note for note in jobs.notes) == np.isnan(seconds)


def test_a_raw_limit_is_in_minutes(tmp_path: Path) -> None:
    jobs = read(tmp_path, row() + "|90", head=HEAD + "|TimelimitRaw")
    assert jobs.requested_s.tolist() == [5400.0]


def test_dates_may_be_unix_times_or_have_an_offset(tmp_path: Path) -> None:
    unix = [
        datetime.fromisoformat(f"{DAY}{t}+00:00").timestamp() for t in ("10:00", "10:05", "11:05")
    ]
    seconds = read(tmp_path, row("1", "COMPLETED", *(str(int(u)) for u in unix)))
    offset = read(
        tmp_path,
        row("1", "COMPLETED", *(f"{DAY}1{h}:0{m}:00+01:00" for h, m in ((1, 0), (1, 5), (2, 5)))),
    )
    for jobs in (seconds, offset):
        assert jobs.start_unix_s == unix[0]
        assert (jobs.wait_s.tolist(), jobs.run_time_s.tolist()) == ([300], [3600])


def test_dates_without_their_zone_keep_their_run_times(tmp_path: Path) -> None:
    """Clocks were set back while the job ran: 01:30 to 02:30, two hours."""
    line = row(
        "1", "COMPLETED", "2024-10-27T01:00:00", "2024-10-27T01:30:00", "2024-10-27T02:30:00"
    )
    head = HEAD + "|Elapsed"
    plain = read(tmp_path, line + "|02:00:00", head=head)
    assert plain.run_time_s.tolist() == [7200]
    assert plain.notes[0].startswith("1 jobs ran while the clocks were changed")
    berlin = read(tmp_path, line + "|02:00:00", head=head, timezone="Europe/Berlin")
    assert (berlin.run_time_s.tolist(), berlin.wait_s.tolist()) == ([7200], [1800])
    assert berlin.notes[0].startswith("no walltime")
    # a suspended job held its nodes all the time
    assert read(tmp_path, row() + "|00:10:00", head=head).run_time_s.tolist() == [3600]


def test_jobs_may_come_when_they_were_eligible(tmp_path: Path) -> None:
    line, head = row() + f"|{DAY}10:04:00", HEAD + "|Eligible"
    assert read(tmp_path, line, head=head).wait_s.tolist() == [300]
    late = read(tmp_path, line, head=head, submitted="eligible")
    assert late.wait_s.tolist() == [60]
    assert late.notes[0].startswith("1 jobs come when they were eligible")


def test_words_and_numbers_are_kept(tmp_path: Path) -> None:
    head = HEAD + "|Partition|Account|QOS|User|Priority|pattern|communication_fraction"
    jobs = read(
        tmp_path,
        row("1") + "|batch|physics|high|ann|1200|all-to-all|0.4",
        row("2", hosts="n2") + "|debug||normal|bob|||",
        row("3", hosts="n3") + "|batch|chem|normal|ann|7|halo3d|",
        head=head,
    )
    details = jobs.details
    assert details.partition is not None
    assert details.account is not None
    assert [details.partition[k] for k in range(3)] == ["batch", "debug", "batch"]
    assert [details.account[k] for k in range(3)] == ["physics", None, "chem"]
    assert jobs.user.tolist() == [0, 1, 0]
    assert jobs.project.tolist() == [0, -1, 1]
    assert details.carried() == {
        "partition": 3,
        "account": 2,
        "qos": 3,
        "node_list": 3,
        "priority": 2,
        "pattern": 2,
        "communication_fraction": 1,
        "status": 3,
    }


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("afterok:1", [("afterok", 1)]),
        ("afterok:1:2,after:1+5", [("afterok", 1), ("afterok", 2), ("after", 1)]),
        ("afterany:3_*(unfulfilled)", [("afterany", 300_000_004), ("afterany", 300_000_005)]),
        ("afternotok:3_5", [("afternotok", 300_000_005)]),
        ("1", [("afterany", 1)]),
        ("singleton", []),
        ("afterok:1?afterok:2", []),
        ("afterok:999", []),
        ("(null)", []),
    ],
)
def test_dependencies(tmp_path: Path, text: str, found: list[tuple[str, int]]) -> None:
    others = [row(id, hosts=f"x{k}") for k, id in enumerate(("1", "2", "3_4", "3_5"))]
    kept = read(
        tmp_path,
        *(line + "|" for line in others),
        row("9", submit="10:03:00") + f"|{text}",
        head=HEAD + "|Dependency",
    )
    command = f"sbatch -N 1 --dependency={text} job.sh" if text != "(null)" else "sbatch job.sh"
    asked = read(
        tmp_path,
        *(line + "|sbatch -d singleton job.sh" for line in others),
        row("9", submit="10:03:00") + f"|{command}",
        head=HEAD + "|SubmitLine",
    )
    for jobs in (kept, asked):
        dependency = jobs.details.dependency
        assert ([] if dependency is None else dependency[4]) == found
    dropped = "of other kinds" if text in ("singleton", "afterok:1?afterok:2") else "are left out"
    told = any(dropped in note for note in kept.notes)
    assert told == (not found and text != "(null)")


def test_jobs_that_wait_for_each_other_are_named(tmp_path: Path) -> None:
    told = refused(
        tmp_path,
        row("1") + "|afterok:3",
        row("2", hosts="n2") + "|afterok:1",
        row("3", hosts="n3") + "|afterok:2",
        row("4", hosts="n4") + "|afterok:3",
        head=HEAD + "|Dependency",
    )
    circle = told.partition("never start: ")[2].split(" -> ")
    assert circle[0] == circle[-1]
    # each waits for the next
    waits = {"1": "3", "2": "1", "3": "2"}
    assert [waits[job] for job in circle[:-1]] == circle[1:]


def test_jobs_that_share_nodes(tmp_path: Path) -> None:
    lines = (
        row("1", nodes=2, hosts="n[1-2]"),
        row("2", start="11:00:00", end="12:00:00", hosts="n2"),
        row("3", start="12:00:00", end="13:00:00", hosts="n2"),
    )
    told = refused(tmp_path, *lines)
    assert "2 of 3 jobs share nodes with others (jobs 1 and 2 on n2)" in told
    assert "--shared-nodes drop" in told
    left = read(tmp_path, *lines, shared_nodes="drop")
    assert left.job_id.tolist() == [3]
    assert left.dropped == {"shares nodes with other jobs": 2}
    assert nodes_of(left, 0) == ["n2"]
    whole = read(tmp_path, *lines, shared_nodes="whole")
    assert whole.job_id.tolist() == [1, 2, 3]
    assert whole.notes[-2].startswith("2 jobs share nodes with others")
    cores = (row("5", hosts="") + "|64", row("6", hosts="") + "|8")
    few = read(tmp_path, *cores, head=HEAD + "|AllocCPUS", cores_per_node=64, shared_nodes="drop")
    assert few.job_id.tolist() == [5]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (row() + "|extra|more", ":2: 9 fields; the header has 7"),
        (row("12a"), ":2: JobID is '12a'; a number is needed"),
        (row(submit="2024-13-01T00:00:00"), ":2: submit is '2024-13-01T00:00:00'; a date"),
        (row(start="25:00:00"), ":2: start is '2024-03-05T25:00:00'; a date is needed"),
        (row(end="tomorrow"), ":2: end is 'tomorrow'; a date is needed"),
        (row(nodes="many"), ":2: nnodes is 'many'; a whole number is needed"),
        (row(hosts="n[1-"), ":2: host list 'n[1-': a bracket is not closed"),
        (row(hosts="n[1-99999999999]"), ":2: host list"),
        (row(nodes=2**31), ":2: 2147483648 nodes; at most 2147483647"),
        ("hello", ":2: 1 fields; the header has 7"),
    ],
)
def test_lines_that_are_not_sound(tmp_path: Path, line: str, told: str) -> None:
    assert told in refused(tmp_path, line)
    if "fields" in told or "is needed" in told:
        left = read(tmp_path, line, row("5"), bad_lines="drop")
        assert left.job_id.tolist() == [5]
        assert left.dropped == {"a line that is not sound": 1}


def test_a_bad_node_list_is_left_out_and_counted(tmp_path: Path) -> None:
    lines = row(hosts="n[01-03"), row("2", hosts="n[5-6]", nodes=2)
    assert 'bad_lines = "drop" leaves such lines out' in refused(tmp_path, *lines)
    jobs = read(tmp_path, *lines, bad_lines="drop")
    assert (jobs.job_id.tolist(), jobs.dropped) == ([2], {"a line that is not sound": 1})
    assert "1 with a bad node list" in refused(tmp_path, lines[0], bad_lines="drop")


def test_separators_in_free_text_and_headers_again(tmp_path: Path) -> None:
    """The dates and the state determine which separators are of a column of free text."""
    head = "JobID|JobName|State|Submit|Start|End|NNodes|NodeList"
    named = [line.replace("|", "|a|b|", 1) for line in (row(), row("2", hosts="n2"))]
    jobs = read(tmp_path, named[0], head, named[1], head=head)
    assert (jobs.job_id.tolist(), jobs.n_nodes.tolist()) == ([1, 2], [1, 1])
    assert jobs.dropped == {"the header again": 1}
    last = read(tmp_path, row() + "|x|y", head=HEAD + "|Comment")
    assert last.job_id.tolist() == [1]
    two = head + "|SubmitLine"
    for name, command in (("a|b", "c"), ("a", "c|d"), ("a|b|", "c|d|e")):
        line = row().replace("|", f"|{name}|", 1) + f"|sbatch -d afterok:9|{command}"
        both = read(tmp_path, line, head=two)
        assert (both.job_id.tolist(), both.n_nodes.tolist()) == ([1], [1])
        assert any(note.startswith("1 dependencies on jobs") for note in both.notes)
    lost = row().replace("2024", "x024").replace("|", "|a|b|", 1)
    assert "10 fields; the header has 9" in refused(tmp_path, lost + "|c", head=two)


def test_a_job_that_changed_its_size_has_its_node_hours(tmp_path: Path) -> None:
    """4 nodes for 30 min and 2 for 30: 3 node-hours in one hour. 3 and 2 are 2.5, rounded up."""
    more = row("4", "RESIZING", end="10:35:00", nodes=4, hosts="n[1-4]")
    less = row("4", start="10:35:00", nodes=2, hosts="n[1-2]")
    jobs = read(tmp_path, more, less, row("5", hosts="n9"))
    assert jobs.n_nodes.tolist() == [3, 1]
    assert (jobs.run_time_s[0], jobs.wait_s[0]) == (3600, 300)
    assert nodes_of(jobs, 0) == []
    assert any("1 jobs changed their number of nodes" in note for note in jobs.notes)
    odd = row("4", "RESIZING", end="10:35:00", nodes=3, hosts="n[1-3]")
    assert read(tmp_path, odd, less).n_nodes.tolist() == [3]
    # what still runs after a change of size has no end
    alone = read(tmp_path, more, row("5", hosts="n9"))
    assert alone.dropped == {"running when the log was made": 1}


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"", ":1: no column jobid, submit, start, end, nnodes"),
        (b"JobID|Submit|Start\n", ":1: no column end, nnodes"),
        (b"JobID|JobID|Submit|Start|End|NNodes\n", ":1: column jobid occurs twice"),
        ((HEAD + "\n").encode(), "no job can be used (there is none in it)"),
        (bytes(range(256)) * 40, ":1: no column"),
        (HEAD.encode("utf-16"), "UTF-16"),
    ],
)
def test_files_that_are_none(tmp_path: Path, raw: bytes, told: str) -> None:
    path = tmp_path / "sacct.txt"
    path.write_bytes(raw)
    with pytest.raises(NetcosimError) as caught:
        read_sacct(path)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_line_ends_marks_and_gzip(tmp_path: Path) -> None:
    text = "\ufeff" + "\r\n".join((HEAD, row(), row("2", hosts="n2"), ""))
    path = tmp_path / "sacct.txt"
    packers = (bytes, gzip.compress, bz2.compress, lzma.compress)
    for raw in (pack(text.encode()) for pack in packers):
        path.write_bytes(raw)
        assert read_sacct(path).job_id.tolist() == [1, 2]
        # a log's kind is told by what it holds, so a config names it like any other
        kind = format_of(path)
        assert (kind.name, kind.counts_processors) == ("sacct", False)
        assert kind.read(Reading(log=str(path))).job_id.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (gzip.compress(HEAD.encode(), mtime=0)[:-9], "the gzip file is truncated"),
        (bz2.compress(HEAD.encode())[:-9], "the bzip2 file is truncated"),
        (lzma.compress(HEAD.encode())[:-9], "the xz file is truncated"),
        (b"BZh9" + bytes(40), "the bzip2 file is broken"),
        (b"\xfd7zXZ\x00" + bytes(40), "the xz file is broken"),
        (b"\x28\xb5\x2f\xfd" + bytes(40), "a Zstandard file; gzip, bzip2 and xz are read"),
    ],
    ids=["gzip cut", "bzip2 cut", "xz cut", "bzip2 broken", "xz broken", "zstd"],
)
def test_compressed_files_that_are_cut_or_damaged(tmp_path: Path, raw: bytes, told: str) -> None:
    path = tmp_path / "sacct.txt"
    path.write_bytes(raw)
    with pytest.raises(NetcosimError, match=told):
        read_sacct(path)
