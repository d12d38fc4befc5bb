"""PBS, Cobalt, Flux and tables of any kind: small files with what real ones have."""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from netsim.errors import NetcosimError
from workloads.formats import format_of
from workloads.importers.pbs import hosts_of
from workloads.importers.registry import IMPORTERS, import_log
from workloads.job import Workload


def written(tmp_path: Path, text: str, name: str = "log.txt") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def nodes_of(jobs: Workload, job: int) -> list[str]:
    lists = jobs.details.node_list
    return [] if lists is None else [lists.names[i] for i in lists[job]]


def refused(kind: str, path: Path, **parameters: object) -> str:
    with pytest.raises(NetcosimError) as caught:
        import_log(kind, path, parameters)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def record(id: str = "12.server", kind: str = "E", **pairs: object) -> str:
    """An accounting record; times are seconds from 1,700,000,000."""
    given = {"user": "ann", "queue": "workq", "ctime": 0, "start": 60, "end": 660} | pairs
    for key in ("ctime", "start", "end"):
        given[key] = 1_700_000_000 + int(str(given[key]))
    text = " ".join(f"{key.replace('__', '.')}={value}" for key, value in given.items())
    return f"11/14/2023 22:13:20;{kind};{id};{text}\n"


FULL = {
    "project": '"Dark Matter"',
    "exec_host": "n1/0*8+n2/0*8",
    "exec_vnode": "(n1:ncpus=8:mem=4gb)+(n2:ncpus=4+n2:ncpus=4)",
    "Resource_List__nodect": 2,
    "Resource_List__select": "2:ncpus=8",
    "Resource_List__walltime": "01:00:00",
    "Exit_status": 0,
}


def test_pbs_records(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        record(kind="Q")
        + record(kind="S")
        + record(**FULL)
        + record("13[4].server", ctime=10, exec_host="n3/0-7", Exit_status=1)
        + record("13[].server", ctime=10)
        + record("14.server", kind="S")
        + record("15.server", kind="Q")
        + record("16.server", kind="R")
        + record("17", ctime=20, Resource_List__select="3:ncpus=2+gpu=1", depend="afterok:12.s:9")
        + record("18", ctime=30, Resource_List__walltime="00:10:00", Exit_status=271)
        + "11/14/2023 22:13:20;L;license;floating license hour:2\n",
    )
    assert format_of(path).name == "pbs"
    jobs = format_of(path).read(_reading(path))
    assert jobs.job_id.tolist() == [12, 1_300_000_004, 17]
    assert jobs.n_nodes.tolist() == [2, 1, 4]
    assert jobs.wait_s.tolist() == [60, 50, 40]
    assert jobs.run_time_s.tolist() == [600] * 3
    assert jobs.requested_s.tolist() == [3600, np.inf, np.inf]
    assert jobs.start_unix_s == 1_700_000_000
    assert [nodes_of(jobs, k) for k in range(3)] == [["n1", "n2"], ["n3"], []]
    details = jobs.details
    assert details.account is not None
    assert details.account[0] == "Dark Matter"
    assert details.status is not None
    assert [details.status[k] for k in range(3)] == ["completed", "failed", None]
    assert details.dependency is not None
    assert details.dependency[2] == [("afterok", 12)]
    assert jobs.dropped == {
        "an earlier run of a requeued job, or the same line again": 1,
        "running when the log was made": 1,
        "never began": 1,
        "no number of nodes": 1,
    }


def _reading(path: Path) -> object:
    from workloads.formats import Reading

    return Reading(log=str(path))


def test_pbs_values_that_stand_in_for_others(tmp_path: Path) -> None:
    """Account before project before group; nodect before select before nodes; qtime for ctime."""
    text = (
        record("1", account="a", project="b", group="c", Resource_List__nodect=4)
        + record("2", ctime=1, project="b", group="c", Resource_List__select="3:ncpus=2")
        + record("3", ctime=2, project="_pbs_project_default", group="c",
                 Resource_List__nodes="2:ppn=8+n7:ppn=8")
        + record("4", ctime=3, unique_node_count=5).replace("ctime", "qtime")
        + record("5", ctime=4, exec_host="n1/0*8+n1/1*8+n2/0", unique_node_count=9)
    )  # fmt: skip
    jobs = import_log("pbs", written(tmp_path, text), {})
    assert jobs.n_nodes.tolist() == [4, 3, 3, 5, 2]
    assert jobs.wait_s.tolist() == [60, 59, 58, 57, 56]
    account = jobs.details.account
    assert account is not None
    assert [account[k] for k in range(5)] == ["a", "b", "c", None, None]


@pytest.mark.parametrize(
    ("code", "walltime", "status"),
    [
        (0, "00:10:00", "completed"),
        (1, "00:10:00", "failed"),
        (-29, "02:00:00", "cancelled"),
        # the job took 600 s: a server stops it a second late at most
        (271, "00:10:01", "timeout"),
        (271, "00:10:02", "cancelled"),
        (265, "00:09:00", "timeout"),
        (272, "00:09:00", "failed"),
    ],
)
def test_pbs_exit_status(tmp_path: Path, code: int, walltime: str, status: str) -> None:
    one = record("1", Exit_status=code, Resource_List__walltime=walltime, Resource_List__nodect=1)
    jobs = import_log("pbs", written(tmp_path, one), {})
    assert jobs.details.status is not None
    assert jobs.details.status[0] == status


def test_pbs_dependencies_and_what_is_counted(tmp_path: Path) -> None:
    """Several of a list, of arrays, with a server; and jobs that were left in the queue."""
    text = (
        record("1.s", Resource_List__nodect=1, Resource_List__walltime=90)
        + record("2[3].s", ctime=1, Resource_List__nodect=1)
        + record("3.s", ctime=2, Resource_List__nodect=1,
                 depend="afterany:1.s@host:2[3].s,before:9,afterok:1")
        + record("4.s", kind="D") + record("5.s", kind="A") + record("6.s", kind="S")
        + record("7.s", kind="Q") + record("7.s", kind="S")
        + record("8[].s", kind="Q") + record("1.s", kind="S")
    )  # fmt: skip
    jobs = import_log("pbs", written(tmp_path, text), {})
    assert jobs.details.dependency is not None
    assert jobs.details.dependency[2] == [
        ("afterany", 1),
        ("afterany", 200_000_003),
        ("afterok", 1),
    ]
    assert jobs.requested_s[0] == 90
    assert jobs.dropped == {"never began": 2, "running when the log was made": 2}
    bad = written(tmp_path, text + record("9.s") + record("10.s").replace("start=1", "start=x"))
    with pytest.raises(
        NetcosimError, match=r"log.txt:12: start is 'x7.*'; a number is needed; bad_lines = .drop."
    ):
        import_log("pbs", bad, {})


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("n1/0*8+n2/0*8", ["n1", "n2"]),
        ("n1/7+n1/6+n2.x.org/0", ["n1", "n2.x.org"]),
        ("(n1:ncpus=8)+(n2:ncpus=8)", ["n1", "n2"]),
        ("(n1[0]:ncpus=16+n1[1]:ncpus=16)+(n2[0]:ncpus=16)", ["n1", "n2"]),
        ("", []),
    ],
)
def test_hosts_of_records(text: str, hosts: list[str]) -> None:
    assert hosts_of(text) == hosts


def test_a_record_may_be_longer_than_a_line_of_a_table(tmp_path: Path) -> None:
    names = [f"x4102c5s2b{k}n0" for k in range(10_000)]
    path = written(tmp_path, record(exec_vnode="+".join(f"({n}:ncpus=208)" for n in names)))
    assert path.stat().st_size > 200_000
    jobs = import_log("pbs", path, {})
    assert nodes_of(jobs, 0) == names


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("hello\n", "log.txt:1: 'hello' is no accounting record"),
        (record() + record("x.server"), "log.txt:2: job 'x.server'; a number is needed"),
        (record(Resource_List__walltime="long"), "log.txt:1: Resource_List.walltime is 'long'"),
        ("", "no job can be used"),
    ],
)
def test_records_that_are_none(tmp_path: Path, text: str, told: str) -> None:
    assert told in refused("pbs", written(tmp_path, text))


COBALT = (
    '"JOB_NAME","COBALT_JOBID","MACHINE_NAME","QUEUED_TIMESTAMP","START_TIMESTAMP",'
    '"END_TIMESTAMP","USERNAME_GENID","PROJECT_NAME_GENID","QUEUE_NAME","WALLTIME_SECONDS",'
    '"NODES_USED","LOCATION","EXIT_STATUS"\n'
    '"a","7","theta","2020-01-01 00:00:05.000000","2020-01-01 00:01:05.000000",'
    '"2020-01-01 00:11:05.000000","21987254143521","8","default","3600.0","4","0-2,7","0"\n'
    '"b","8","mira","2020-01-01 00:00:06.5","2020-01-01 00:01:06","2020-01-01 00:02:06",'
    '"3","8","prod","600","512","MIR-00000-33331-512","143"\n'
)


def test_cobalt(tmp_path: Path) -> None:
    path = written(tmp_path, COBALT, "ANL-ALCF-DJC-THETA_2020.csv")
    assert format_of(path).name == "cobalt"
    jobs = import_log("cobalt", path, {})
    assert jobs.job_id.tolist() == [7, 8]
    assert jobs.submit_s.tolist() == [0, 1.5]
    assert jobs.wait_s.tolist() == [60, 59.5]
    assert (jobs.n_nodes.tolist(), jobs.requested_s.tolist()) == ([4, 512], [3600, 600])
    assert [nodes_of(jobs, k) for k in range(2)] == [["0", "1", "2", "7"], []]
    assert jobs.details.status is not None
    assert [jobs.details.status[k] for k in range(2)] == ["completed", "failed"]
    wrong = written(tmp_path, COBALT.replace('"512"', '"many"'))
    assert "log.txt:3: nodes_used is 'many'; a whole number is needed" in refused("cobalt", wrong)
    assert ":1: no column NODES_USED" in refused(
        "cobalt", written(tmp_path, COBALT.replace("NODES_USED", "N"))
    )


def test_cobalt_places_and_zones(tmp_path: Path) -> None:
    """A place that does not name as many nodes as the job has is none; dates are of the zone."""
    odd = COBALT.replace('"0-2,7"', '"0-2"').replace('"143"', '""').replace('"7"', '"7.0"', 1)
    jobs = import_log("cobalt", written(tmp_path, odd), {"timezone": "America/Chicago"})
    assert jobs.job_id.tolist() == [7, 8]
    assert [nodes_of(jobs, k) for k in range(2)] == [[], []]
    assert jobs.notes == ()
    # midnight in Chicago is six hours later
    assert jobs.start_unix_s == 1_577_836_805 + 6 * 3600
    assert jobs.details.status is not None
    assert [jobs.details.status[k] for k in range(2)] == ["completed", None]
    assert jobs.details.partition is not None
    assert [jobs.details.partition[k] for k in range(2)] == ["default", "prod"]
    assert len(set(jobs.user.tolist())) == 2
    assert len(set(jobs.project.tolist())) == 1
    assert jobs.run_time_s.tolist() == [600, 60]


def flux_job(id: object = 7, **more: object) -> dict[str, object]:
    begin = 1_700_000_000.0
    return {
        "id": id,
        "t_submit": begin,
        "t_run": begin + 5,
        "t_cleanup": begin + 65.5,
        "t_inactive": begin + 66,
        "duration": 3600.0,
        "nnodes": 2,
        "ncores": 8,
        "nodelist": "n[1-2]",
        "queue": "pbatch",
        "bank": "phys",
        "username": "ann",
        "priority": 16,
        "result": "COMPLETED",
    } | more


def test_flux(tmp_path: Path) -> None:
    begin = 1_700_000_000.0
    listed = [
        flux_job(),
        flux_job(8, t_submit=begin + 1, nodelist="n[3-4]", duration=0, result="CANCELED"),
        flux_job(9, t_run=0, t_cleanup=0, result=4),
        flux_job(10, t_run=0, t_cleanup=0, t_inactive=0, result=""),
        flux_job(11, t_cleanup=0, t_inactive=0, result=""),
        flux_job(12, t_submit=begin + 2, nodelist="n5", nnodes=1, dependencies=["after-success:7"]),
    ]
    lines = "".join(json.dumps(job) + "\n" for job in listed)
    for text in (json.dumps({"jobs": listed}, indent=1), json.dumps(listed), lines):
        path = written(tmp_path, text, "flux.json")
        assert format_of(path).name == "flux"
        jobs = import_log("flux", path, {})
        assert jobs.job_id.tolist() == [7, 8, 12]
        assert jobs.wait_s.tolist() == [5, 4, 3]
        assert jobs.run_time_s.tolist() == [60.5] * 3
        assert jobs.requested_s.tolist() == [3600, np.inf, 3600]
        assert nodes_of(jobs, 1) == ["n3", "n4"]
        details = jobs.details
        assert details.status is not None
        assert details.dependency is not None
        assert details.status[1] == "cancelled"
        assert details.dependency[2] == [("afterok", 7)]
        assert jobs.dropped == {
            "cancelled before it began": 1,
            "never began": 1,
            "running when the log was made": 1,
        }


@pytest.mark.parametrize("listed", [7, {"after": 7}, True])
def test_flux_dependencies_that_are_no_list(tmp_path: Path, listed: object) -> None:
    path = written(tmp_path, json.dumps([flux_job(), flux_job(8, dependencies=listed)]))
    with pytest.raises(NetcosimError, match=r"job 2 of the list: dependencies is .*; a list is"):
        import_log("flux", path, {})
    assert len(import_log("flux", path, {"bad_lines": "drop"})) == 1


def test_a_job_that_starts_as_it_is_submitted_has_waited_0_s(tmp_path: Path) -> None:
    begin = 1_700_000_000.0
    listed = [
        flux_job(1, t_run=begin),
        flux_job(2, t_submit=begin + 10, t_run=begin + 9, nodelist="n[3-4]"),
    ]
    jobs = import_log("flux", written(tmp_path, json.dumps(listed)), {})
    assert jobs.wait_s[0] == 0
    assert np.isnan(jobs.wait_s[1])
    assert jobs.notes == ("1 jobs start before they are submitted; their wait is not known",)


def test_flux_priorities_below_0_are_held_jobs_and_count_as_0(tmp_path: Path) -> None:
    """Flux gives -1 to a job without a priority of its own; one that is not told stays unknown."""
    nodes = ["n1", "n2", "n3", "n4"]
    listed = [
        flux_job(k, nodelist=node, nnodes=1, priority=priority)
        for k, (node, priority) in enumerate(zip(nodes, (16, -1, 0, None), strict=True), start=1)
    ]
    jobs = import_log("flux", written(tmp_path, json.dumps(listed)), {})
    assert jobs.details.priority is not None
    np.testing.assert_array_equal(jobs.details.priority, [16, 0, 0, np.nan])


def test_flux_columns_that_stand_in_for_others(tmp_path: Path) -> None:
    """No t_cleanup: t_inactive; userid for username, project for bank; every kind of dependency."""
    begin = 1_700_000_000.0
    kinds = {
        "after-start": "after",
        "after-success": "afterok",
        "after-finish": "afterany",
        "after-failure": "afternotok",
        "afterok": "afterok",
    }
    bare = {"username": None, "bank": "", "nnodes": 1}
    listed = [
        flux_job(1, t_cleanup=0, nodelist="n1", userid=70, project="astro", **bare),
        flux_job(2, t_submit=begin + 1, nodelist="n2", userid=71, project="bio", **bare),
        flux_job(
            3,
            t_submit=begin + 2,
            nodelist="n3",
            dependencies=[
                *(f"{kind}:1" for kind in kinds),
                "begin-time:5",
                "after:",
                "afterok=1:x=2",
            ],
            **bare,
        ),
    ]
    jobs = import_log("flux", written(tmp_path, json.dumps(listed)), {})
    assert jobs.run_time_s.tolist() == [61, 60.5, 60.5]
    details = jobs.details
    assert details.account is not None
    assert [details.account[k] for k in range(3)] == ["astro", "bio", None]
    assert jobs.user.tolist()[2] == -1
    assert len(set(jobs.user.tolist())) == 3
    assert details.dependency is not None
    expected = [*dict.fromkeys((kind, 1) for kind in kinds.values()), ("afterok", 2)]
    assert details.dependency[2] == expected


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "not valid JSON"),
        ('{"jobs": 5}', 'no list of jobs ("jobs": [...])'),
        ('{"data": {"jobs": []}}', 'no list of jobs ("jobs": [...])'),
        ('{"jobs": []', "not valid JSON"),
        ('{"jobs": [5]}', 'job 1 of the list: it has no "id"'),
        (
            json.dumps([flux_job(nnodes="many")]),
            "job 1 of the list: nnodes is 'many'; a whole number",
        ),
        (json.dumps([flux_job(t_run=float("inf"))]), "t_run is 'inf'; a number is needed"),
        (json.dumps([flux_job(t_run=[5])]), "t_run is '[5]'; a number is needed"),
        (json.dumps([flux_job(nnodes={"a": 1})]), "a whole number is needed"),
        ("[" * 100_000, "JSON|nested"),
    ],
)
def test_flux_files_that_are_none(tmp_path: Path, text: str, told: str) -> None:
    found = refused("flux", written(tmp_path, text))
    assert any(part in found for part in told.split("|"))


TABLE = (
    "JobID;Nodes;Submitted;Begin;Secs;Limit;Where;Kind\n"
    "5;2;2024-01-01T00:00:00;2024-01-01T00:01:00;90;00:05:00;n[1-2];halo3d\n"
    "x;1;2024-01-01T00:00:10;;30;;;\n"
    "6;1;2024-01-01T00:00:20;2024-01-01T00:01:00;30;60;n3;\n"
)
MAP = [
    "job=JobID",
    "submit=Submitted",
    "start=Begin",
    "run=secs",
    "requested=Limit",
    "node_list=Where",
    "pattern=Kind",
]


def test_any_table_with_a_map_of_its_columns(tmp_path: Path) -> None:
    path = written(tmp_path, TABLE)
    jobs = import_log("csv", path, {"columns": MAP})
    assert jobs.job_id.tolist() == [5, 6]
    assert jobs.dropped == {"never began": 1}
    assert (jobs.wait_s.tolist(), jobs.run_time_s.tolist()) == ([60, 40], [90, 30])
    assert jobs.requested_s.tolist() == [300, 60]
    assert nodes_of(jobs, 0) == ["n1", "n2"]
    assert jobs.details.pattern is not None
    assert [jobs.details.pattern[k] for k in range(2)] == ["halo3d", None]


@pytest.mark.parametrize(
    ("columns", "change", "told"),
    [
        (MAP[1:], ("", ""), "no column for job;"),
        ([*MAP, "size=Nodes"], ("", ""), "unknown column 'size'; valid:"),
        ([*MAP, "qos=QOS"], ("", ""), "'QOS'; valid: begin, jobid"),
        ([*MAP, "qos"], ("", ""), "columns = 'qos'; NAME=COLUMN is needed"),
        (MAP, ("5;2;", "5;two;"), "log.txt:2: nodes is 'two'; a whole number is needed"),
        (MAP, ("5;2;", "5;2;2;"), "log.txt:2: 9 fields; the header has 8"),
        (
            MAP,
            ("00:05:00", "soon"),
            "log.txt:2: limit is 'soon'; seconds or hours:minutes:seconds are needed",
        ),
        (MAP, ("\n6;", "\n5;"), "log.txt:4: job 5 is listed twice (line 2 has it)"),
        (MAP, ("Where;Kind", "Where;where"), "log.txt:1: column 'where' occurs twice"),
    ],
)
def test_mistakes_in_tables(tmp_path, columns, change, told):
    text = TABLE.replace(*change) if change[0] else TABLE
    assert told in refused("csv", written(tmp_path, text), columns=columns)


def test_parquet_is_read_as_a_table(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    begin = datetime(2024, 1, 1, tzinfo=UTC)
    table = pyarrow.table(
        {
            "job": [5, 6],
            "nodes": [2, 1],
            "submit": [begin, begin.replace(second=20)],
            "start": [begin.replace(minute=1), begin.replace(minute=1)],
            "run": [90.0, 30.0],
            "Hosts": [["n1", "n2"], None],
        }
    )
    path = tmp_path / "jobs.parquet"
    parquet.write_table(table, path)
    jobs = import_log("parquet", path, {"columns": ["node_list=Hosts"]})
    assert (jobs.job_id.tolist(), jobs.wait_s.tolist()) == ([5, 6], [60, 40])
    assert (nodes_of(jobs, 0), jobs.start_unix_s) == (["n1", "n2"], begin.timestamp())
    path.write_bytes(b"PAR1 but no more")
    assert "not a table in Parquet" in refused("parquet", path)


def test_parquet_without_pyarrow_is_one_line(tmp_path, monkeypatch):
    real: Callable[..., ModuleType] = builtins.__import__

    def without(name: str, *rest: object, **more: object) -> ModuleType:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    told = refused("parquet", written(tmp_path, "x"))
    assert 'pip install "netcosim[parquet]" brings it' in told


@pytest.mark.parametrize("kind", list(IMPORTERS))
def test_every_importer_refuses_what_is_no_log_in_one_line(tmp_path: Path, kind: str) -> None:
    rng = np.random.default_rng(1)
    for raw in (b"", b"\n\n", bytes(5000), rng.bytes(5000), b"\xff\xfe1\x00", b"{" * 5000):
        path = tmp_path / "log.txt"
        path.write_bytes(raw)
        refused(kind, path)
    refused(kind, tmp_path / "missing")
    refused(kind, tmp_path)
