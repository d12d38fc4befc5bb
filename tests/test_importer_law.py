"""Each field and state that an importer declares does what it is declared to do: a file a row."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netsim.errors import NetcosimError
from workloads.formats import format_of
from workloads.importers.meanings import MEANINGS
from workloads.importers.registry import IMPORTERS, import_log
from workloads.job import Workload

Fields = Mapping[str, str]


def _sacct(*jobs: Fields) -> str:
    columns = list(dict.fromkeys(name for job in jobs for name in job))
    rows = ["|".join(job.get(name, "") for name in columns) for job in jobs]
    return "\n".join(["|".join(columns), *rows]) + "\n"


def _pbs(*jobs: Fields) -> str:
    lines = []
    for job in jobs:
        pairs = " ".join(f"{k}={v}" for k, v in job.items() if k not in ("id", "type"))
        lines.append(f"11/14/2023 22:13:20;{job.get('type', 'E')};{job['id']};{pairs}")
    return "\n".join(lines) + "\n"


_LSF = """type version eventTime jobId userId options numProcessors submitTime beginTime termTime
startTime userName queue resReq dependCond preExecCmd fromHost cwd inFile outFile errFile jobFile
askedHosts execHosts jStatus hostFactor jobName command usage mailUser projectName exitStatus
maxNumProcessors loginShell timeEvent idx maxRMem maxRSwap inFileSpool commandSpool rsvId sla
exceptMask additionalInfo exitInfo warningAction warningTimePeriod chargedSAAP licenseProject app
postExecCmd runtimeEstimation jobGroupName requeueEvalues options2 resizeNotifyCmd lastResizeTime
rsvId2 jobDescription submitEXT hostRusage options3 runLimit avgMem effectiveResReq"""
LSF = _LSF.split()
_LSF_TEXTS = """type version userName queue resReq dependCond preExecCmd fromHost cwd inFile outFile
errFile jobFile jobName command mailUser projectName loginShell timeEvent inFileSpool commandSpool
rsvId sla additionalInfo warningAction chargedSAAP licenseProject app postExecCmd jobGroupName
requeueEvalues resizeNotifyCmd rsvId2 jobDescription effectiveResReq"""
LSF_TEXTS = _LSF_TEXTS.split()


def _lsf(*jobs: Fields) -> str:
    lines = []
    for job in jobs:
        words = []
        for name in LSF:
            value = job.get(name, "" if name in LSF_TEXTS else "0")
            if name in ("askedHosts", "execHosts"):
                hosts = value.split() if name in job else []
                words += [str(len(hosts)), *(f'"{host}"' for host in hosts)]
            elif name == "usage":
                words += ["-1.0"] * 19
            elif name == "submitEXT":
                words += ["1", "1032", '"0"']
            elif name == "hostRusage":
                words += ["1", '"n1"', "5", "6", "7", "8"]
            else:
                words.append('"' + value.replace('"', '""') + '"' if name in LSF_TEXTS else value)
        lines.append(" ".join(words))
    return "\n".join(lines) + "\n"


_SGE = """qname hostname group owner job_name job_number account priority submission_time start_time
end_time failed exit_status ru_wallclock ru_utime ru_stime ru_maxrss ru_ixrss ru_ismrss ru_idrss
ru_isrss ru_minflt ru_majflt ru_nswap ru_inblock ru_oublock ru_msgsnd ru_msgrcv ru_nsignals ru_nvcsw
ru_nivcsw project department granted_pe slots task_number cpu mem io category iow pe_taskid maxvmem
arid ar_submission_time"""
SGE = _SGE.split()


def _sge(*jobs: Fields) -> str:
    none = {"project": "NONE", "pe_taskid": "NONE", "category": "-l h_rt=3600"}
    rows = (":".join(job.get(name, none.get(name, "0")) for name in SGE) for job in jobs)
    return "# Version: 6.2u5\n" + "\n".join(rows) + "\n"


def _cobalt(*jobs: Fields) -> str:
    columns = list(dict.fromkeys(name for job in jobs for name in job))
    rows = [",".join(f'"{job.get(name, "")}"' for name in columns) for job in jobs]
    return "\n".join([",".join(columns), *rows]) + "\n"


def _flux(*jobs: Fields) -> str:
    """Numbers and lists are written as such."""
    plain = re.compile(r"[0-9.]+|\[.*\]")
    listed = [{k: json.loads(v) if plain.fullmatch(v) else v for k, v in j.items()} for j in jobs]
    return json.dumps({"jobs": listed})


TIMES = {"Submit": "2024-03-05T10:00:00", "Start": "2024-03-05T11:00:00"}
UNIX = ("1700000000", "1700000060", "1700000660")
Format = tuple[Callable[..., str], tuple[Fields, Fields], dict[str, Any]]
FORMATS: dict[str, Format] = {
    "sacct": (
        _sacct,
        (
            {"JobID": "11", "State": "COMPLETED", **TIMES, "End": "2024-03-05T11:30:00"}
            | {"NNodes": "1", "Timelimit": "01:00:00"},
            {"JobID": "12", "State": "COMPLETED", **TIMES, "End": "2024-03-05T12:00:00"}
            | {"NNodes": "2", "Timelimit": "02:00:00"},
        ),
        {},
    ),
    "pbs": (
        _pbs,
        tuple(  # type: ignore[arg-type]
            {"id": f"{n}.server", "user": "ann", "queue": "workq"}
            | dict(zip(("ctime", "start", "end"), UNIX, strict=True))
            | {"Resource_List.nodect": "2", "Resource_List.walltime": "01:00:00"}
            | {"Exit_status": "0"}
            for n in (11, 12)
        ),
        {},
    ),
    "lsf": (
        _lsf,
        tuple(  # type: ignore[arg-type]
            {"type": "JOB_FINISH", "version": "10.1", "jobId": str(n), "userName": "ann"}
            | dict(zip(("submitTime", "startTime", "eventTime"), UNIX, strict=True))
            | {"execHosts": f"h{n} h{n} k{n}", "jStatus": "64", "queue": "normal"}
            | {"projectName": "default", "runLimit": "3600", "command": 'echo "a b"'}
            for n in (11, 12)
        ),
        {},
    ),
    "sge": (
        _sge,
        tuple(  # type: ignore[arg-type]
            {"job_number": str(n), "owner": "ann", "qname": "all.q", "slots": "16"}
            | dict(zip(("submission_time", "start_time", "end_time"), UNIX, strict=True))
            for n in (11, 12)
        ),
        {"cores_per_node": 16},
    ),
    "cobalt": (
        _cobalt,
        tuple(  # type: ignore[arg-type]
            {"COBALT_JOBID": str(n), "QUEUED_TIMESTAMP": "2020-01-01 00:00:05"}
            | {"START_TIMESTAMP": "2020-01-01 00:01:05", "END_TIMESTAMP": "2020-01-01 00:11:05"}
            | {"NODES_USED": "4", "WALLTIME_SECONDS": "3600", "EXIT_STATUS": "0"}
            for n in (11, 12)
        ),
        {},
    ),
    "flux": (
        _flux,
        tuple(  # type: ignore[arg-type]
            {"id": str(n), "nnodes": "2", "nodelist": f"n{n},k{n}", "duration": "3600"}
            | dict(zip(("t_submit", "t_run", "t_cleanup"), UNIX, strict=True))
            | {"result": "COMPLETED"}
            for n in (11, 12)
        ),
        {},
    ),
}
"""How a file is written, two jobs, and the parameters that the format needs."""

WITH: dict[str, dict[str, Any]] = {
    "sacct.Eligible": {"submitted": "eligible"},
    "sacct.AllocTRES": {"size_unit": "gpu"},
    "sacct.ReqTRES": {"size_unit": "gpu"},
    "sacct.AllocCPUS": {"cores_per_node": 32},
    "sacct.NCPUS": {"cores_per_node": 32},
    "pbs.Resource_List.ncpus": {"cores_per_node": 32},
    "lsf.effectiveResReq": {"size_unit": "gpu"},
    "flux.ncores": {"cores_per_node": 32},
}
"""Parameters that make a field count."""
WITHOUT = {
    "sacct.ReqNodes": ("NNodes",),
    "flux.t_inactive": ("t_cleanup",),
    "pbs.qtime": ("ctime",),
    "pbs.unique_node_count": ("Resource_List.nodect",),
    "pbs.Resource_List.select": ("Resource_List.nodect",),
    "pbs.Resource_List.nodes": ("Resource_List.nodect",),
}
"""Fields that go before another one."""
BESIDE = {"lsf.exitInfo": {"jStatus": "32"}}
"""What a field needs beside it."""


def outcome(folder: Path, kind: str, key: str, **more: Any) -> tuple[Workload | None, str]:
    """The jobs of a file whose second job has this field, and the error."""
    render, (first, second), parameters = FORMATS[kind]
    name, equals, value = key.partition("=")
    field = f"{kind}.{name}"
    second = {k: v for k, v in second.items() if k not in WITHOUT.get(field, ())}
    second |= BESIDE.get(field, {})
    if equals:
        second |= {name: value}
    path = folder / f"{kind}.txt"
    path.write_text(render(first, second))
    assert format_of(path).name == kind
    try:
        return import_log(kind, path, parameters | WITH.get(field, {}) | more), ""
    except NetcosimError as error:
        return None, str(error)


def columns(jobs: Workload) -> list[Any]:
    """Everything that a job has."""
    found = [getattr(jobs, name) for name in ("job_id", "submit_s", "run_time_s", "n_nodes")]
    found += [jobs.requested_s, jobs.user, jobs.project, jobs.wait_s]
    for column in jobs.details.columns().values():
        found += [column] if isinstance(column, np.ndarray) else list(vars(column).values())
    return found


def same(one: Workload | None, other: Workload | None) -> bool:
    if one is None or other is None:
        return one is other
    a, b = columns(one), columns(other)
    return len(a) == len(b) and all(
        np.array_equal(x, y, equal_nan=x.dtype.kind == "f") if isinstance(x, np.ndarray) else x == y
        for x, y in zip(a, b, strict=True)
    )


ROWS = [
    (kind, role, key)
    for kind, meanings in MEANINGS.items()
    for role in ("used", "counted", "refused", "unread")
    for key in (meanings.unread.split() if role == "unread" else getattr(meanings, role))
]


@pytest.mark.parametrize(("kind", "role", "key"), ROWS, ids=lambda text: text)
def test_a_field_does_what_is_declared(tmp_path: Path, kind: str, role: str, key: str) -> None:
    if role == "unread":
        plain, _ = outcome(tmp_path, kind, key)
        jobs, error = outcome(tmp_path, kind, f"{key}=7")
        assert error == "", error
        assert jobs is not None
        assert plain is not None
        assert same(jobs, plain)
        assert (jobs.dropped, jobs.notes) == (plain.dropped, plain.notes)
        return
    plain, _ = outcome(tmp_path, kind, key.partition("=")[0])
    jobs, error = outcome(tmp_path, kind, key)
    if role == "used":
        assert not same(jobs, plain), "no effect"
    elif role == "counted":
        assert jobs is not None, error
        assert MEANINGS[kind].counted[key] in " ".join([*jobs.dropped, *jobs.notes])
    else:
        assert MEANINGS[kind].refused[key] in error
        assert "\n" not in error
        jobs, error = outcome(tmp_path, kind, key, bad_lines="drop")
        assert jobs is not None, error
        assert jobs.dropped == {"a line that is not sound": 1}
        assert len(jobs) == 1


def test_the_schedulers_that_sites_have_are_declared() -> None:
    assert set(MEANINGS) == set(FORMATS) <= set(IMPORTERS)


def test_a_column_that_nobody_declared_is_named(tmp_path: Path) -> None:
    jobs, _ = outcome(tmp_path, "sacct", "Colour=red")
    assert jobs is not None
    assert jobs.notes[0] == "columns that are not known and not read: colour"
