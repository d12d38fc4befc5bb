"""GPU jobs in the format of AcmeTrace: small files made by hand, with what its page says of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netsim.errors import NetcosimError
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
    assert jobs.dropped == {
        "no GPU: on processors beside others": 1,
        "no node": 1,
        "never began": 1,
    }
    # one o'clock less a minute; submitted in the first seconds of the same day, in UTC+8
    assert jobs.run_time_s.tolist() == [3540.0] * 4
    assert np.array_equal(jobs.wait_s, 60.0 - np.arange(1, 5))
    assert jobs.start_unix_s == 1_677_600_001.0
    assert [jobs.details.partition[k] for k in range(2)] == ["Pretrain", "SFT"]  # type: ignore[index]
    assert any(note.startswith("2 jobs have fewer than 8 GPUs on a node") for note in jobs.notes)


def test_parts_of_nodes_and_jobs_without_gpus_as_asked(tmp_path: Path) -> None:
    path = trace(tmp_path, LINES)
    whole = import_log("acme", path, {"part_nodes": "drop"})
    assert whole.job_id.tolist() == [1, 2]
    assert whole.dropped["part of a node"] == 2
    kept = import_log("acme", path, {"cpu_only": "keep"})
    assert kept.job_id.tolist() == [1, 2, 3, 4, 5]


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


def test_its_header_tells_it(tmp_path: Path) -> None:
    assert read(trace(tmp_path, LINES)).n_nodes.tolist() == [4, 1, 1, 2]


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
    with pytest.raises(NetcosimError, match="no column gpu_num"):
        import_log("acme", trace(tmp_path, [], SEREN.replace("gpu_num,", "")), {})
