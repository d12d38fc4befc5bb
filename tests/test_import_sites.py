"""sacct --json, LSF, Grid Engine, GPUs of shared servers, gang-suspended jobs, by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from log_lines import line

from experiments.judge.config import Flags, load_judge_config
from netcosim.config.load import config_from
from netcosim.report.about import about_rows
from netcosim.report.sweep_page import sweep_page
from netcosim.runs.cosim import run_cosim
from netcosim.runs.store import Store
from netcosim.runs.sweep import run_points
from netsim.errors import NetcosimError
from workloads.formats import format_of
from workloads.importers.registry import import_log
from workloads.job import Workload

ROOT = Path(__file__).resolve().parents[1]
T = 1_709_632_800
"""2024-03-05T10:00:00 UTC."""


def number(value: int | None, *, infinite: bool = False) -> dict[str, Any]:
    """A number as Slurm's JSON has it."""
    return {"set": value is not None, "infinite": infinite, "number": value or 0}


def slurm_job(job_id: int, start: int, end: int, **keys: Any) -> dict[str, Any]:
    """A job of 2 nodes and 8 GPUs, submitted at `T`, as data_parser v0.0.41 writes it."""
    return {
        "account": "physics",
        "association": {"account": "physics", "cluster": "c", "id": 3},
        "allocation_nodes": 2,
        "array": {"job_id": 0, "task_id": number(None), "task": ""},
        "het": {"job_id": 0, "job_offset": number(None)},
        "job_id": job_id,
        "name": "a|b",
        "nodes": "n[1-2]",
        "partition": "gpu",
        "priority": number(7),
        "qos": "normal",
        "state": {"current": ["COMPLETED"], "reason": "None"},
        "steps": [{"step": {"id": f"{job_id}.0"}, "time": {"start": number(5)}}],
        "submit_line": "sbatch -d afterok:1 x.sh",
        "time": {
            "elapsed": end - start,
            "submission": T,
            "eligible": T,
            "start": T + start if start else 0,
            "end": T + end if end else 0,
            "suspended": 0,
            "limit": number(90),
        },
        "tres": {
            "allocated": [
                {"type": "cpu", "name": "", "id": 1, "count": 64},
                {"type": "node", "name": "", "id": 4, "count": 2},
                {"type": "gres", "name": "gpu", "id": 1001, "count": 8},
                {"type": "gres", "name": "gpu:a100", "id": 1002, "count": 8},
            ],
            "requested": [],
        },
        "user": "ann",
    } | keys


def read(tmp_path: Path, kind: str, text: str, **parameters: Any) -> Workload:
    path = tmp_path / f"{kind}.log"
    path.write_text(text)
    assert format_of(path).name == kind
    return import_log(kind, path, parameters)


JOBS = [
    slurm_job(1, 60, 3660, submit_line="sbatch x.sh"),
    slurm_job(2, 4000, 5000, array={"job_id": 2, "task_id": number(4), "task": ""}, steps=[]),
    slurm_job(3, 0, 0, state={"current": ["PENDING"], "reason": "Priority"}, nodes="None assigned"),
    slurm_job(5, 5000, 5600, state={"current": ["CANCELLED"], "reason": "None"})
    | {"time": slurm_job(5, 5000, 5600)["time"] | {"limit": number(60, infinite=True)}},
    slurm_job(6, 6000, 6060, submit_line="sbatch -d afterok:2_4 x.sh")
    | {"time": slurm_job(6, 6000, 6060)["time"] | {"limit": number(None)}},
]


@pytest.mark.parametrize("indent", [None, 2])
def test_sacct_json_has_the_jobs_of_sacct(tmp_path: Path, indent: int | None) -> None:
    document = {"jobs": JOBS, "meta": {"plugin": {"data_parser": "data_parser/v0.0.41"}}}
    jobs = read(tmp_path, "sacct", json.dumps(document, indent=indent))
    assert jobs.job_id.tolist() == [1, 2, 5, 6]  # of the array task: its own number
    assert jobs.submit_s.tolist() == [0] * 4
    assert jobs.wait_s.tolist() == [60, 4000, 5000, 6000]
    assert jobs.run_time_s.tolist() == [3600, 1000, 600, 60]
    assert jobs.n_nodes.tolist() == [2] * 4
    assert jobs.requested_s.tolist() == [5400, 5400, np.inf, np.inf]
    assert jobs.dropped == {"waiting when the log was made": 1}
    assert jobs.start_unix_s == T
    details = jobs.details
    assert details.status is not None
    assert [details.status[k] for k in range(4)] == ["completed"] * 2 + ["cancelled", "completed"]
    assert details.dependency is not None
    assert [details.dependency[k] for k in (1, 3)] == [[("afterok", 1)], [("afterok", 2)]]
    assert details.node_list is not None
    assert details.node_list.names == ("n1", "n2")
    gpus = read(tmp_path, "sacct", json.dumps(document, indent=indent), size_unit="gpu")
    assert gpus.n_nodes.tolist() == [8] * 4


def test_older_json_has_plain_numbers_and_one_state(tmp_path: Path) -> None:
    job = slurm_job(4, 60, 3660, priority=7, state={"current": "TIMEOUT", "reason": "x"})
    job["time"] |= {"limit": 60}
    jobs = read(tmp_path, "sacct", json.dumps({"meta": {}, "errors": [], "jobs": [job]}))
    assert (jobs.requested_s.tolist(), jobs.run_time_s.tolist()) == ([3600], [3600])
    assert jobs.details.status is not None
    assert jobs.details.status[0] == "timeout"


def test_messages_above_the_jobs_are_not_read(tmp_path: Path) -> None:
    """What a command wrote to its standard error comes first where both go into one file."""
    above = "sacct: error: slurm_persist_conn_open: failed\n\n"
    text = HEAD + slurm_row(1, "10:00:00", "11:00:00", "01:00:00", 4)
    jobs = read(tmp_path, "sacct", above + text)
    assert (len(jobs), jobs.notes[0]) == (1, "2 lines above the header are not read")
    with pytest.raises(NetcosimError, match=r"sacct.log:4: "):
        read(tmp_path, "sacct", above + text.replace("COMPLETED", "DANCING"))
    document = json.dumps({"meta": {"command": ["sacct"]}, "jobs": JOBS[:2]}, indent=1)
    assert len(read(tmp_path, "sacct", above + document)) == 2


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"time": 5}, "is looked for in 5; an object is needed"),
        ({"allocation_nodes": "two"}, "allocation_nodes is 'two'; a number is needed"),
        ({"tres": {"allocated": {"a": 1}}}, "tres is {'a': 1}; a list is needed"),
        ({"job_id": None}, "JobID is ''; a number is needed"),
        ({"state": {"current": ["DANCING"]}}, "State is 'DANCING'"),
    ],
)
def test_json_that_is_not_sound(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    text = json.dumps({"jobs": [slurm_job(7, 60, 3660), slurm_job(2, 60, 90) | change]})
    with pytest.raises(NetcosimError, match=r"sacct.log: job 2 of the list: .*drop") as caught:
        read(tmp_path, "sacct", text)
    assert told in str(caught.value)
    jobs = read(tmp_path, "sacct", text, bad_lines="drop")
    assert (len(jobs), jobs.dropped) == (1, {"a line that is not sound": 1})


def test_lsf_with_short_host_lists_and_an_array(tmp_path: Path) -> None:
    """Fields by position: hosts and extensions make records of different lengths."""
    usage = " ".join(["-1"] * 19)
    head = '"JOB_FINISH" "10.1" {end} {id} 500 33554438 16 1000000000 0 0 {start} "bob" "long" "" '
    head += '"" "" "login1" "/home/bob" "" "" "" "job" {asked} {hosts} {status} 60.0 "n ""x""" '
    head += f'"run it" {usage} "" "dark" {{code}} 16 "" "" {{idx}} 5 5 "" "" "" "" 0 "" {{info}} '
    head += '"" -1 "/bob" "" "" "" -1 "" "" 5136 "" 0 "" "" 1 1032 "0" {rusage} 0 {limit} 9 '
    head += '"select[x] rusage[ngpus_physical=2.00]" "" -1 "" -1 0\n'
    one = head.format(
        end=1000003660, id=7, start=1000000060, asked='1 "n[1-4]"', hosts='2 "8*n1" "8*n2"',
        status=64, code=0, idx=0, info=0, rusage="0", limit=7200,
    )  # fmt: skip
    two = head.format(
        end=1000005000, id=8, start=1000004000, asked="0", hosts='3 "n3" "n3" "n4"', status=32,
        code=35072, idx=5, info=5, rusage='1 "n3" 4 5 6 7', limit=0,
    )  # fmt: skip
    jobs = read(tmp_path, "lsf", one + two)
    assert jobs.job_id.tolist() == [7, 800_000_005]
    assert (jobs.n_nodes.tolist(), jobs.run_time_s.tolist()) == ([2, 2], [3600, 1000])
    assert jobs.wait_s.tolist() == [60, 4000]
    assert jobs.requested_s.tolist() == [7200, np.inf]
    assert jobs.details.status is not None
    assert [jobs.details.status[k] for k in (0, 1)] == ["completed", "timeout"]
    assert jobs.details.node_list is not None
    assert jobs.details.node_list.names == ("n1", "n2", "n3", "n4")
    # 16 slots on 2 nodes are all of 8 cores each, 3 slots are not; preempted is no limit
    whole = read(tmp_path, "lsf", one + two, cores_per_node=8, shared_nodes="drop")
    assert whole.job_id.tolist() == [7]
    preempted = read(tmp_path, "lsf", two.replace('"" 5 "" -1', '"" 1 "" -1'))
    assert preempted.details.status is not None
    assert preempted.details.status[0] == "failed"
    gpus = read(tmp_path, "lsf", one + two, size_unit="gpu")
    assert gpus.n_nodes.tolist() == [4, 4]
    with pytest.raises(NetcosimError, match=r"lsf.log:2: .* the record is cut"):
        read(tmp_path, "lsf", one + two.split('"n3"')[0] + "\n")


def sge(job: int, slots: int, *, scale: int = 1, start: int = 60, category: str = "NONE") -> str:
    times = ":".join(str(scale * (1_000_000_000 + t)) for t in (0, start, start + 600))
    usage = ":".join(["0"] * 18)
    return (
        f"all.q:n1:staff:bob:job:{job}:sge:0:{times}:0:0:{usage}:NONE:defaultdepartment:mpi:"
        f"{slots}:0:1.5:0.1:0.0:{category}:0.0:NONE:1e6:0:0\n"
    )


def test_grid_engine_counts_slots(tmp_path: Path) -> None:
    text = sge(1, 32, category="-l h_rt=7200 -pe mpi 32") + sge(2, 17, start=700)
    text += sge(3, 16, category="-l h_rt=02:00:00,mem=4G")
    jobs = read(tmp_path, "sge", text, cores_per_node=16, shared_nodes="whole")
    assert jobs.n_nodes.tolist() == [2, 2, 1]
    assert (jobs.run_time_s.tolist(), jobs.wait_s.tolist()) == ([600] * 3, [60, 700, 60])
    assert jobs.requested_s.tolist() == [7200, np.inf, 7200]
    milliseconds = read(tmp_path, "sge", sge(1, 16, scale=1000), cores_per_node=16)
    assert (milliseconds.run_time_s.tolist(), milliseconds.start_unix_s) == ([600], 1e9)
    with pytest.raises(NetcosimError, match=r"jobs have up to 32 slots.*--cores-per-node"):
        read(tmp_path, "sge", text)
    with pytest.raises(NetcosimError, match=r"1 of 3 jobs share nodes"):
        read(tmp_path, "sge", text, cores_per_node=16)


HEAD = "JobID|State|Submit|Start|End|Elapsed|NNodes|NodeList|AllocTRES\n"


def slurm_row(job: int, start: str, end: str, elapsed: str, gpus: int) -> str:
    tres = f"billing=9,cpu=8,gres/gpu={gpus},mem=1G,node=1" if gpus else "cpu=8,node=1"
    times = f"2024-03-05T10:00:00|2024-03-05T{start}|2024-03-05T{end}"
    return f"{job}|COMPLETED|{times}|{elapsed}|1|n1|{tres}\n"


def test_gpus_of_servers_that_jobs_share(tmp_path: Path) -> None:
    """Two jobs on one server are refused as nodes, and are two sizes as GPUs."""
    text = HEAD + slurm_row(1, "10:00:00", "11:00:00", "01:00:00", 4)
    text += slurm_row(2, "10:10:00", "10:40:00", "00:30:00", 2)
    text += slurm_row(3, "12:00:00", "12:10:00", "00:10:00", 0)
    with pytest.raises(NetcosimError, match=r'2 of 3 jobs share nodes.*size_unit = "gpu"'):
        read(tmp_path, "sacct", text)
    jobs = read(tmp_path, "sacct", text, size_unit="gpu")
    assert (jobs.n_nodes.tolist(), jobs.dropped) == ([4, 2], {"no GPU": 1})
    config = config_from(
        {
            "machine": {"family": "fattree", "radix": 4},
            "workload": {"log": str(tmp_path / "sacct.log"), "size_unit": "gpu"},
            "queue": {"policies": ["baseline"]},
        }
    )
    assert config.workload.source().jobs(16, np.random.default_rng(0)).n_nodes.tolist() == [4, 2]


def test_jobs_that_gang_scheduling_suspends_run_in_turns(tmp_path: Path) -> None:
    """Jobs 1 and 2 have n1 in turns, 30 minutes each of an hour; job 3 is suspended alone."""
    text = HEAD + slurm_row(1, "10:00:00", "11:00:00", "00:30:00", 0)
    text += slurm_row(2, "10:00:00", "11:10:00", "00:40:00", 0)
    text += slurm_row(3, "12:00:00", "13:00:00", "00:50:00", 0)
    jobs = read(tmp_path, "sacct", text)
    assert jobs.run_time_s.tolist() == [1800, 2400, 3600]
    assert "3 jobs were suspended for a time; they hold their nodes" in jobs.notes
    assert any(note.startswith("2 of them while others ran") for note in jobs.notes)
    # without suspension they share the node
    other = HEAD + slurm_row(1, "10:00:00", "11:00:00", "01:00:00", 0)
    other += slurm_row(2, "10:00:00", "11:10:00", "01:10:00", 0)
    with pytest.raises(NetcosimError, match=r"2 of 2 jobs share nodes"):
        read(tmp_path, "sacct", other)


def test_a_config_and_the_judge_take_bad_lines(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [slurm_row(k, f"1{k}:00:00", f"1{k}:30:00", "00:30:00", 0) for k in range(1, 5)]
    Path("sacct.txt").write_text(HEAD + "".join(rows) + slurm_row(9, "x", "y", "z", 0))
    source = {"log": "sacct.txt", "bad_lines": "drop"}
    content = {
        "machine": {"family": "fattree", "radix": 4},
        "workload": source,
        "queue": {"policies": ["baseline"]},
    }
    jobs = config_from(content, tmp_path).workload.source().jobs(16, np.random.default_rng(0))
    assert (len(jobs), jobs.dropped) == (4, {"a line that is not sound": 1})
    strict = config_from(content | {"workload": {"log": "sacct.txt"}}, tmp_path).workload.source()
    with pytest.raises(NetcosimError, match=r"start is .*bad_lines = .drop."):
        strict.jobs(16, np.random.default_rng(0))
    flags = Flags("sacct.txt", "cab", ("baseline", "random"), bad_lines="drop")
    assert load_judge_config(flags, None).config.workload.bad_lines == "drop"
    # SWF too: the line of 17 fields
    Path("log.swf").write_text(line(f1=1) + "\n" + line(f1=2).rsplit(" ", 1)[0] + "\n")
    content["workload"] = {"log": "log.swf", "bad_lines": "drop", "processors_per_node": 1}
    jobs = config_from(content, tmp_path).workload.source().jobs(16, np.random.default_rng(0))
    assert (jobs.job_id.tolist(), jobs.dropped) == ([1], {"a line that is not sound": 1})
    Path("log.csv").write_text("job,nodes,arrival_s,run_s\n1,1,0,5\n")
    content["workload"] = {"log": "log.csv", "bad_lines": "drop"}
    with pytest.raises(NetcosimError, match=r"bad_lines.*only for SWF and logs of schedulers"):
        config_from(content, tmp_path).workload.source().jobs(16, np.random.default_rng(0))


def test_counts_of_the_import_are_on_the_pages_of_runs_and_sweeps(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [slurm_row(k, f"1{k}:00:00", f"1{k}:30:00", "00:30:00", 0) for k in range(1, 5)]
    Path("sacct.txt").write_text(HEAD + "".join(rows) + HEAD + slurm_row(9, "x", "y", "z", 0))
    content = {
        "machine": {"family": "fattree", "radix": 4},
        "workload": {"log": "sacct.txt", "bad_lines": "drop"},
        "queue": {"policies": ["baseline"], "run_time_model": "as-logged"},
        "run": {"snapshots": 0},
    }
    told = ("left out: 1 the header again, 1 a line that is not sound", "requested for 4 of 4 jobs")
    result = run_cosim(config_from(content, tmp_path))
    text = " ".join(str(row["text"]) for row in about_rows(result, "run", ""))
    points = [config_from(content | {"run": {"snapshots": 0, "seed": k}}, tmp_path) for k in (1, 2)]
    run_points(
        "netcosim.runs.cosim:cosim_point",
        [point.resolved() for point in points],
        "sweep.db",
        progress=False,
    )
    with Store(Path("sweep.db"), "read") as store:
        page = sweep_page(store)[0]
    for words in told:
        assert words in text
        assert page.count(words) == 1


@pytest.mark.full
def test_a_dirty_dump_has_the_jobs_and_waits_of_the_clean_one(tmp_path: Path) -> None:
    """20,000 jobs, as `docs/tutorials/make_sacct.py` writes them, and as databases have them."""
    found = []
    for name, more in (("clean.txt", ()), ("dirty.txt", ("--dirty",))):
        script = ROOT / "docs" / "tutorials" / "make_sacct.py"
        subprocess.run(
            [sys.executable, script, "--out", tmp_path / name, *more],
            check=True,
            capture_output=True,
            env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        )
        found.append(import_log("sacct", tmp_path / name, {"bad_lines": "drop"}))
    clean, dirty = found
    assert len(dirty) == len(clean) == 20_000
    assert dirty.job_id.tolist() == clean.job_id.tolist()
    assert dirty.wait_s.mean() == pytest.approx(clean.wait_s.mean(), rel=1e-4)
    node_s = [(jobs.n_nodes * jobs.run_time_s).sum() for jobs in found]
    assert node_s[1] == pytest.approx(node_s[0], rel=1e-4)
    assert dirty.dropped["the header again"] == 16
    assert dirty.dropped["a line that is not sound"] == 8
    assert {k: dirty.dropped[k] for k in clean.dropped} == clean.dropped
    notes = " ".join(dirty.notes)
    assert "162 jobs changed their number of nodes" in notes
    assert "170 jobs were suspended for a time" in notes
    assert "no walltime is requested for 358 of 20,000 jobs (1.8 %)" in notes
