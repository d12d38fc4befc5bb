"""GPU jobs in published formats: small files made by hand, with what their pages say of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from netsim.errors import NetcosimError
from workloads.csv_jobs import read_csv, write_csv
from workloads.formats import Reading, format_of
from workloads.importers.registry import import_log
from workloads.job import Workload

SEREN = "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration"


def job(number: int, nodes: int, gpus: int, *, start: str = "00:01:00", kind: str = "SFT") -> str:
    day = "2023-03-01"
    begin = f"{day} {start}+08:00" if start else ""
    return (
        f"{number},u{number % 3},{nodes},{gpus},16,{kind},COMPLETED,{day} 00:00:{number:02d}+08:00,"
        f"{begin},{day} 01:00:00+08:00,3540"
    )


LINES = [
    job(1, 4, 32, kind="Pretrain"),
    job(2, 1, 8),
    job(3, 1, 2),
    job(4, 2, 8),
    job(5, 1, 0, kind="Other"),
    job(6, 0, 8),
    job(7, 1, 8, start=""),
]


def trace(folder: Path, lines: list[str], header: str = SEREN) -> Path:
    path = folder / "trace_seren.csv"
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def test_jobs_are_read_and_the_others_counted(tmp_path: Path) -> None:
    jobs = import_log("acme", trace(tmp_path, LINES), {})
    assert jobs.job_id.tolist() == [1, 2, 3, 4]
    assert jobs.n_nodes.tolist() == [4, 1, 1, 2]
    assert jobs.dropped == {"no GPU": 1, "no node": 1, "never began": 1}
    # one o'clock less a minute; submitted in the first seconds of the same day, in UTC+8
    assert jobs.run_time_s.tolist() == [3540.0] * 4
    assert np.array_equal(jobs.wait_s, 60.0 - np.arange(1, 5))
    assert jobs.start_unix_s == 1_677_600_001.0
    assert [jobs.details.partition[k] for k in range(2)] == ["Pretrain", "SFT"]  # type: ignore[index]
    assert any("2 jobs have fewer than 8 GPUs on a node" in note for note in jobs.notes)


def test_sizes_in_gpus(tmp_path: Path) -> None:
    path = trace(tmp_path, LINES)
    jobs = import_log("acme", path, {"size_unit": "gpu"})
    assert jobs.n_nodes.tolist() == [32, 8, 2, 8]
    assert "sizes of jobs are GPUs" in jobs.notes
    assert format_of(path).read(Reading(str(path), size_unit="gpu")).n_nodes.tolist() == [
        *(32, 8, 2, 8)
    ]
    with pytest.raises(NetcosimError, match="size_unit = 'core'; it must be 'node' or 'gpu'"):
        import_log("acme", path, {"size_unit": "core"})


def test_kalos_has_more_columns_and_ids_of_letters(tmp_path: Path) -> None:
    header = SEREN.replace("cpu_num,", "cpu_num,mem_per_pod_GB,shared_mem_per_pod,") + ",fail_time"
    line = job(1, 8, 64).replace(",16,", ",960,1000,100.0,").replace("1,u1", "dlctk69,u1", 1)
    jobs = import_log(
        "acme", trace(tmp_path, [line + ",", line.replace("k69", "k70") + ","], header), {}
    )
    assert jobs.n_nodes.tolist() == [8, 8]
    assert len(set(jobs.job_id.tolist())) == 2


def read(path: Path) -> Workload:
    return format_of(path).read(Reading(str(path)))


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([job(1, 1, 8).replace(",8,", ",many,", 1)], "trace_seren.csv:2: gpu_num is 'many'"),
        ([job(1, 1, 8).replace("2023-03-01 01:00:00+08:00", "late")], "end_time is 'late'; a date"),
        ([job(5, 1, 0)], "no job can be used (1 with no GPU"),
        ([job(1, 1, 8) + ",x"], "12 fields; the header has 11"),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, lines: list[str], told: str) -> None:
    with pytest.raises(NetcosimError) as raised:
        import_log("acme", trace(tmp_path, lines), {})
    assert told in str(raised.value)


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NetcosimError, match=r"unknown column of .*'gpu_num'"):
        import_log("acme", trace(tmp_path, [], SEREN.replace("gpu_num,", "")), {})


# Other tables


HELIOS = (
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
    "7,uA,vcX,1,4,1,COMPLETED,2020-06-01 10:00:00,2020-06-01 10:00:30,2020-06-01 11:00:30,3600,30\n"
    "8,uB,vcY,16,64,2,FAILED,2020-06-01 10:00:10,2020-06-01 10:00:10,2020-06-01 10:10:10,600,0\n"
    "9,uB,vcY,0,64,2,COMPLETED,2020-06-01 10:00:20,2020-06-01 10:00:20,2020-06-01 10:10:10,590,0\n"
)
KALOS = "job_id,arrival_s,duration_s,nodes,gpus\n0,0.0,100,8,64\n1,50.0,20,1,2\n"
LINGJUN = (
    "job_id,job_name,model,gmt_job_running,gmt_job_finished,worker_count,total_gpu\n"
    "5,a,llama,2023/7/27 08:50,2023/7/28 08:50,10,80\n"
    "6,b,unknown,2023/7/27 09:50,2023/8/5 10:36,1,4\n"
)
TIRESIAS = (
    "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"
    "0,1,0,500,vgg19,100,30\n1,8,30,133,vgg11,140,23\n"
)


@pytest.mark.parametrize(
    ("kind", "text", "gpus", "nodes", "run_s", "wait_s"),
    [
        ("helios", HELIOS, [1, 16], [1, 2], [3600, 600], [30, 0]),
        ("kalos", KALOS, [64, 2], [8, 1], [100, 20], None),
        ("lingjun", LINGJUN, [80, 4], [10, 1], [86400, 780360], None),
        ("tiresias", TIRESIAS, [1, 8], [1, 1], [100, 140], None),
    ],
)
def test_tables_are_recognised_and_read(tmp_path, kind, text, gpus, nodes, run_s, wait_s):
    path = tmp_path / "jobs.csv"
    path.write_text(text)
    assert format_of(path).name == kind
    jobs = read(path)
    assert jobs.n_nodes.tolist() == nodes
    assert jobs.run_time_s.tolist() == run_s
    if wait_s is None:
        assert np.isnan(jobs.wait_s).all()
    else:
        assert jobs.wait_s.tolist() == wait_s
    in_gpus = import_log(kind, path, {"size_unit": "gpu"})
    assert in_gpus.n_nodes.tolist() == gpus
    assert import_log(kind, path, {"gpus_per_node": 4}).n_nodes[0] == {"lingjun": 20}.get(
        kind, nodes[0]
    )
    # the table of an import has the same jobs and labels
    write_csv(in_gpus, tmp_path / "out.csv")
    again = read_csv(tmp_path / "out.csv")
    assert again.n_nodes.tolist() == gpus
    assert again.details.carried() == in_gpus.details.carried()


def test_labels_for_patterns_and_quotas(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(HELIOS)
    jobs = read(path)
    assert jobs.dropped == {"no GPU": 1}
    details = jobs.details
    assert details.account is not None and details.status is not None  # noqa: PT018
    assert [details.account[k] for k in range(2)] == ["vcX", "vcY"]
    assert [details.status[k] for k in range(2)] == ["completed", "failed"]
    assert jobs.user.tolist() == [0, 1]
    path.write_text(LINGJUN)
    pattern = read(path).details.pattern
    assert pattern is not None
    assert [pattern[k] for k in range(2)] == ["llama", None]


def attempt(start: str | None, end: str | None, *gpus: int) -> dict[str, object]:
    servers = [{"ip": f"m{k}", "gpus": [f"gpu{g}" for g in range(n)]} for k, n in enumerate(gpus)]
    return {"start_time": start, "end_time": end, "detail": servers}


def philly(number: int, status: str, *attempts: dict[str, object]) -> dict[str, object]:
    return {
        "status": status,
        "vc": f"vc{number % 2}",
        "jobid": f"application_{number}",
        "attempts": list(attempts),
        "submitted_time": "2017-10-07 00:00:00",
        "user": "u1",
    }


def test_philly_runs_from_the_first_attempt_to_the_last(tmp_path: Path) -> None:
    day = "2017-10-07 "
    jobs = [
        philly(1, "Pass", attempt(day + "00:01:00", day + "01:01:00", 8, 4)),
        philly(
            2,
            "Killed",
            attempt(day + "00:02:00", day + "00:03:00", 1),
            attempt(day + "00:10:00", day + "00:12:00", 2),
        ),
        philly(3, "Failed"),
        philly(4, "Failed", attempt(day + "00:02:00", None, 1)),
        philly(5, "Pass", attempt(None, day + "00:02:00", 1)),
        philly(6, "Pass", attempt(day + "00:02:00", "None", 1)),
    ]
    path = tmp_path / "cluster_job_log"
    path.write_text(json.dumps(jobs))
    assert format_of(path).name == "philly"
    found = import_log("philly", path, {"size_unit": "gpu"})
    assert found.n_nodes.tolist() == [12, 1]
    assert read(path).n_nodes.tolist() == [2, 1]
    assert found.run_time_s.tolist() == [3600, 600]
    assert found.wait_s.tolist() == [60, 120]
    assert found.dropped == {
        "never began": 1,
        "running when the log was made": 2,
        "no start in the log": 1,
    }
    assert found.details.status is not None
    assert [found.details.status[k] for k in range(2)] == ["completed", "cancelled"]
    assert any(note.startswith("1 jobs have several attempts") for note in found.notes)
    path.write_text(json.dumps([{"jobid": "x", "attempts": []}]))
    with pytest.raises(NetcosimError, match=r"job 1 of the list: KeyError .*submitted_time"):
        import_log("philly", path, {})


TASKS = """\
a,ps,2.0,Terminated,100.0,700.0,600.0,29.3,,MISC
a,worker,4.0,Terminated,110.0,700.0,600.0,29.3,150.0,V100
a,chief,1.0,Terminated,105.0,690.0,600.0,29.3,100.0,V100
b,worker,2.0,Terminated,200.0,260.0,600.0,29.3,25.0,T4
c,worker,1.0,Running,200.0,,600.0,29.3,100.0,T4
d,worker,1.0,Waiting,,,600.0,29.3,100.0,T4
e,ps,1.0,Terminated,200.0,260.0,600.0,29.3,0.0,T4
"""
TASK_NAMES = (
    "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type"
)
JOB_TABLE = "a,i1,u1,Terminated,90.0,700.0\nb,i2,u2,Failed,150.0,260.0\n"


def test_pai_adds_up_the_instances_of_tasks(tmp_path: Path) -> None:
    path, of_jobs = tmp_path / "pai_task_table.csv", tmp_path / "pai_job_table.csv"
    path.write_text(TASKS)
    of_jobs.write_text(JOB_TABLE)
    jobs = import_log("pai", path, {"size_unit": "gpu", "job_table": str(of_jobs)})
    # 4 instances of 1.5 GPUs get 2 each, one of 1 GPU; two quarters get a GPU each
    assert jobs.n_nodes.tolist() == [9, 2]
    assert jobs.run_time_s.tolist() == [595, 60]
    assert jobs.wait_s.tolist() == [15, 50]
    assert jobs.user.tolist() == [0, 1]
    details = jobs.details
    assert details.partition is not None and details.status is not None  # noqa: PT018
    assert [details.partition[k] for k in range(2)] == ["V100", "T4"]
    assert [details.status[k] for k in range(2)] == ["completed", "failed"]
    assert jobs.dropped == {"running when the log was made": 1, "never began": 1, "no GPU": 1}
    assert "2 tasks have parts of GPUs, and get them entirely" in jobs.notes
    path.write_text(f"{TASK_NAMES}\n{TASKS}")
    bare = read(path)
    assert format_of(path).name == "pai"
    assert (bare.submit_s.tolist(), bare.n_nodes.tolist()) == ([0, 95], [2, 1])
    assert np.isnan(bare.wait_s).all()


def test_any_table_can_have_gpus(tmp_path: Path) -> None:
    path = tmp_path / "jobs.txt"
    path.write_text("id,cards,at,took\n1,12,0,60\n2,0,5,60\n")
    columns = ["job=id", "gpus=cards", "submit=at", "run=took"]
    jobs = import_log("csv", path, {"columns": columns})
    assert (jobs.n_nodes.tolist(), jobs.dropped) == ([2], {"no GPU": 1})
    with pytest.raises(NetcosimError, match="no column for gpus, which size_unit = 'gpu' needs"):
        import_log(
            "csv",
            path,
            {"columns": [*columns[:1], "nodes=cards", *columns[2:]], "size_unit": "gpu"},
        )
    path.write_text("id,cards,at,took\n")
    with pytest.raises(NetcosimError, match="no job can be used"):
        import_log("csv", path, {"columns": columns, "size_unit": "gpu"})
