"""Logs that are no logs, endless or vast: one line that says what and where, soon and in little."""

from __future__ import annotations

import codecs
import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from goal_programs import read_goal
from log_lines import line, written

from netcosim.cli import main
from netcosim.config.config import WorkloadSection
from netcosim.config.errors import validated
from netcosim.config.load import config_from
from netcosim.config.machine import build_machine
from netcosim.runs.schedules import queues_of
from netsim.errors import NetcosimError
from netsim.files import MAX_LINE, MAX_TEXT_BYTES, read_bytes, read_lines, read_text
from netsim.inputs import file_digest
from workloads.csv_jobs import read_csv
from workloads.job import Workload
from workloads.swf import read_swf, read_swf_header
from workloads.synthetic import MAX_JOBS, laas_workload
from workloads.transform import scale_arrivals, scale_sizes

ROOT = Path(__file__).resolve().parents[1]
HEAD = "job,nodes,arrival_s,run_s,requested_s\n"


def bomb(path: Path, block: bytes, blocks: int) -> Path:
    """A gzip file of so many equal members: made at once, whatever it unzips to."""
    path.write_bytes(gzip.compress(block) * blocks)
    return path


@pytest.mark.parametrize("block", [bytes(2**24), (line() + "\n").encode() * 400_000])
def test_a_gzip_bomb_is_refused_before_it_fills_the_memory(tmp_path: Path, block: bytes) -> None:
    """10 GB out of 10 or 40 MB, read by a process that may have 1 GB."""
    path = bomb(tmp_path / "bomb.swf.gz", block, 10 * 2**30 // len(block))
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))\n"
        "from netsim.errors import NetcosimError\n"
        "from netsim.files import read_lines\n"
        "try: next(read_lines(sys.argv[1]))\n"
        "except NetcosimError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, path], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == f"{path}: unzips to more than 200 times its size; no log or table does\n"


def test_the_limit_holds_for_what_is_unzipped_and_for_what_is_not(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    text = rng.integers(97, 123, 3 * 2**20).astype(np.uint8).tobytes()
    plain, zipped = tmp_path / "a.csv", tmp_path / "a.csv.gz"
    plain.write_bytes(text)
    zipped.write_bytes(gzip.compress(text, 1))
    for path, when in ((plain, ""), (zipped, " once unzipped")):
        assert read_bytes(path, limit_bytes=len(text)) == text
        with pytest.raises(NetcosimError, match=f"more than 2 MiB{when}; no longer file is read"):
            read_bytes(path, limit_bytes=2 * 2**20)
    sparse = tmp_path / "vast.swf"
    with sparse.open("wb") as file:
        file.truncate(MAX_TEXT_BYTES + 1)
    for reader in (read_swf, file_digest):
        with pytest.raises(NetcosimError, match=r"vast.swf: more than 512 MiB"):
            reader(sparse)


READERS = [file_digest, read_swf, read_swf_header, read_csv, read_text, read_goal]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", ["fifo", "/dev/zero", "/dev/random", "/dev/null", ".", "a\0b"])
def test_what_is_no_regular_file_is_not_opened(tmp_path: Path, name: str, reader: object) -> None:
    """A pipe without a writer would wait for ever, /dev/zero never end."""
    os.mkfifo(tmp_path / "fifo")
    path = Path(name) if name.startswith("/") else tmp_path / name
    if name.startswith("/") and not path.exists():
        pytest.skip(f"no {name} here")
    told = "a pipe or a device|a folder; a file|not a file name"
    with pytest.raises(NetcosimError, match=told) as caught:
        reader(path)  # type: ignore[operator]
    assert "\n" not in str(caught.value)


def test_a_long_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_text(line() + "\n" + "1" * (MAX_LINE + 1))
    for reader in (read_swf, lambda path: list(read_lines(path))):
        with pytest.raises(NetcosimError, match=r"log\.swf:2: a line of 65,537 bytes"):
            reader(path)


@pytest.mark.parametrize("name", ["log.swf", "log.swf.gz"])
def test_a_byte_order_mark_is_no_part_of_a_log(tmp_path: Path, name: str) -> None:
    """Excel and Windows editors write one; before a header and before a job."""
    path = tmp_path / name
    for text in (line(f1=7), "; MaxNodes: 4\n; MaxProcs: 8\n" + line(f1=7)):
        raw = codecs.BOM_UTF8 + text.replace("\n", "\r\n").encode()
        path.write_bytes(gzip.compress(raw) if name.endswith("gz") else raw)
        assert read_swf(path).job_id.tolist() == [7]
    assert read_swf_header(path).max_nodes == 4
    assert read_swf(path).n_nodes.tolist() == [4]
    path.write_bytes(codecs.BOM_UTF16_LE + line().encode("utf-16-le"))
    with pytest.raises(NetcosimError, match=r"UTF-16|not a gzip file"):
        read_swf(path)


def test_a_byte_order_mark_is_no_part_of_a_table(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_bytes(codecs.BOM_UTF8 + (HEAD + "7,2,0,10,20\n").encode())
    assert read_csv(path).job_id.tolist() == [7]
    path.write_bytes(codecs.BOM_UTF8 + b"num_ranks 1\nrank 0 { l1: calc 5 }\n")
    assert read_goal(path).n_ranks == 1


LARGE = [
    ("f2", "1e308", r"field 2 \(submit time\) is '1e308'; times go up to 1e\+12 s"),
    ("f2", "1e400", r"field 2 \(submit time\) is '1e400'; times go up to 1e\+12 s"),
    ("f2", "1000000000001", r"field 2 \(submit time\) is '1000000000001'; times go up"),
    ("f3", "1e300", r"field 3 \(wait time\) is '1e300'; times go up"),
    ("f4", "1e300", r"field 4 \(run time\) is '1e300'; times go up"),
    ("f4", "-1e300", r"field 4 \(run time\) is '-1e300'; times go up"),
    ("f9", "1e13", r"field 9 \(requested time\) is '1e13'; times go up"),
    (
        "f5",
        "1e300",
        r"field 5 \(allocated processors\) is '1e300'; a whole number up to 2147483647",
    ),
    ("f8", "2147483648", r"field 8 \(requested processors\) is '2147483648'; a whole number up to"),
    ("f1", "9223372036854775808", r"field 1 \(job number\) is '9223372036854775808'; a whole nu"),
    ("f1", "9007199254740993", None),
    ("f1", "1e300", r"field 1 \(job number\) is '1e300'; a whole number up to 9007199254740992"),
    ("f12", "2147483648", r"field 12 \(user\) is '2147483648'; a whole number up to"),
    ("f13", "1e10", r"field 13 \(group\) is '1e10'; a whole number up to"),
    ("f6", "1e400", r"field 6 \(average CPU time\) is '1e400'; a finite number is needed"),
    ("f1", "1" * 5000, r"field 1 \(job number\) is '1111111111.*\.\.\.'; a whole number up to"),
]


@pytest.mark.parametrize(("field", "value", "told"), LARGE)
def test_numbers_out_of_bounds_are_named(tmp_path, field, value, told):
    path = written(tmp_path, "; head", line(), line(**{field: value}), line())
    if told is None:  # a float cannot tell it from its neighbour, which is allowed
        assert len(read_swf(path)) == 3
        return
    with pytest.raises(NetcosimError, match=r"log\.swf:3: " + told) as caught:
        read_swf(path)
    assert len(str(caught.value)) < 300


def test_a_mistake_far_down_has_its_line(tmp_path: Path) -> None:
    """Lines are read in blocks; numbers go on from one to the next."""
    path = written(tmp_path, "; head", *[line()] * 70_000, line(f4="ten"))
    with pytest.raises(NetcosimError, match=r"log\.swf:70002: field 4"):
        read_swf(path)
    assert len(read_swf(written(tmp_path, "; head", *[line()] * 70_000))) == 70_000


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1,2,1e308,5,6\n", r"csv:2: field 3 \(arrival_s\) is '1e308'; times go up to 1e\+12 s"),
        ("1,2,0,1e300,6\n", r"csv:2: field 4 \(run_s\) is '1e300'; times go up"),
        ("1,2,0,5,1e300\n", r"csv:2: field 5 \(requested_s\) is '1e300'; times go up"),
        ("1,1e300,0,5,6\n", r"csv:2: field 2 \(nodes\) is '1e300'; a whole number up to"),
        ("1e30,2,0,5,6\n", r"csv:2: field 1 \(job\) is '1e30'; a whole number up to"),
        ("1,2,0,5,nan\n", r"csv:2: field 5 \(requested_s\) is 'nan'; a number is needed"),
        ("1,2,0,1_0,6\n", r"csv:2: field 4 \(run_s\) is '1_0'; a number is needed"),
        ("1," + "2" * 140_000 + ",0,5,6\n", "csv:2: a line of 140,008 bytes; at most 65,536"),
        ('1,"' + ("2" * 60_000 + "\n") * 3, "csv:4: not valid CSV: field larger than field limit"),
        ("1," + "2" * 60_000 + ",0,5,6\n", r"csv:2: field 2 \(nodes\) is '222.*\.\.\.'; a whole"),
    ],
)
def test_tables_with_numbers_out_of_bounds(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(HEAD + text)
    with pytest.raises(NetcosimError, match=told) as caught:
        read_csv(path)
    assert len(str(caught.value)) < 300


def test_a_tables_options_count_and_those_of_swf_alone_are_refused(tmp_path: Path) -> None:
    """They were left aside without a word."""
    path = tmp_path / "jobs.csv"
    path.write_text(HEAD + "1,2,0,10,20\n2,9,0,10,20\n3,2,0,5,20\n")

    def read(**keys: object) -> Workload:
        section = validated(WorkloadSection, {"log": str(path), **keys})
        return section.source().jobs(100, np.random.default_rng(0))

    some = read(max_nodes=8, min_run_time_s=6)
    assert some.job_id.tolist() == [1]
    assert some.dropped == {"more than 8 nodes": 1, "run time below 6 s": 1}
    for key, value in (
        ("processors_per_node", 2),
        ("known_log", "thunder"),
        ("node_field", "requested"),
        ("statuses", [1]),
    ):
        with pytest.raises(NetcosimError, match=f"key workload.{key}: only for logs in SWF"):
            read(**{key: value})
    with pytest.raises(NetcosimError, match=r"all 3 jobs are left out \(more than 1 nodes\)"):
        read(max_nodes=1)


@pytest.mark.parametrize(
    ("choices", "told"),
    [
        (
            {"n_jobs": 10**12},
            r"n_jobs = 1,000,000,000,000 jobs would take 100,000 GB of memory; at",
        ),
        ({"n_jobs": 10**400}, r"n_jobs = about 10\^400 jobs would take about 10\^393 GB"),
        ({"n_jobs": MAX_JOBS + 1}, "at most 10,000,000 are generated"),
        ({"mean_nodes": 1e300}, r"mean_nodes = 1e\+300; it must be 1 to 10000000"),
        ({"mean_nodes": np.nan}, "mean_nodes = nan"),
        ({"mean_nodes": np.inf}, "mean_nodes = inf"),
        ({"run_time_range_s": (1.0, np.inf)}, "run_time_range_s has inf"),
        ({"run_time_range_s": (1.0, 1e300)}, r"run times 1.0 to 1e\+300 s"),
        ({"run_time_range_s": (np.nan, 5.0)}, "run_time_range_s has nan"),
        ({"load": 1e-300, "machine_nodes": 4}, "load = 1e-300: the jobs would come over"),
        ({"load": np.inf, "machine_nodes": 4}, "load = inf"),
        ({"load": np.nan, "machine_nodes": 4}, "load = nan"),
        ({"load": 1.0, "machine_nodes": 10**400}, r"machine_nodes = about 10\^400"),
        ({"requested_factor": (1.0, np.inf)}, r"requested_factor has inf"),
        ({"requested_factor": (1.0, 1e300)}, r"requested_factor has 1e.300"),
    ],
)
def test_generated_jobs_that_cannot_be(choices: dict[str, object], told: str) -> None:
    options = {"n_jobs": 5, "mean_nodes": 4.0} | choices
    with pytest.raises(NetcosimError, match=told) as caught:
        laas_workload(rng=np.random.default_rng(0), **options)  # type: ignore[arg-type]
    assert len(str(caught.value)) < 300


def test_the_key_or_the_option_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    section = {"synthetic": {"n_jobs": 10**12}}
    with pytest.raises(NetcosimError, match=r"synthetic\.n_jobs: .* take 100,000 GB"):
        validated(WorkloadSection, section)
    with pytest.raises(NetcosimError, match=r"key workload.synthetic.n_jobs: .*100,000 GB"):
        config_from(
            {
                "machine": {"preset": "dragonfly-272"},
                "workload": section,
                "queue": {"policies": ["rdn"]},
            }
        )
    out = tmp_path / "a.swf"
    assert main(["trace", "generate", "--out", str(out), "--n-jobs", str(10**12)]) == 2
    assert "error: --n-jobs 1,000,000,000,000 jobs would take 100,000 GB" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.filterwarnings("error")
def test_factors_that_lead_out_of_bounds(tmp_path: Path) -> None:
    log = read_swf(written(tmp_path, line(), line(f2=1000)))
    with pytest.raises(NetcosimError, match=r"arrival_factor = 1e\+300: the last job comes at 1e"):
        scale_arrivals(log, 1e300)
    with pytest.raises(NetcosimError, match=r"size_factor = 1e\+300: a job has 8e\+300 nodes"):
        scale_sizes(log, 1e300)
    with pytest.raises(NetcosimError, match=r"size_factor = 1e\+308: a job has inf nodes"):
        scale_sizes(log, 1e308)


def test_what_to_do_with_larger_jobs_is_said(tmp_path: Path) -> None:
    path = written(tmp_path, line(f5=500), line(f5=4))
    section = validated(WorkloadSection, {"log": str(path)})
    with pytest.raises(
        NetcosimError, match=r'wants 500 nodes, the machine has 12.*larger_jobs = "drop"'
    ):
        section.source().jobs(12, np.random.default_rng(0))


def test_a_log_of_which_nothing_is_left_says_why(tmp_path: Path) -> None:
    path = written(tmp_path, *[line(f1=k, f5=500 + k, f2=k) for k in range(1000)])

    def read(machine_nodes: int = 12, **keys: object) -> Workload:
        section = validated(WorkloadSection, {"log": str(path), "larger_jobs": "drop", **keys})
        return section.source().jobs(machine_nodes, np.random.default_rng(0))

    told = r"all 1,000 jobs are left out \(more than 12 nodes\): they want 500 to 1499 nodes"
    with pytest.raises(NetcosimError, match=told):
        read()
    told = r"left out \(submitted outside 1e\+06 to 2e\+06 s\).* submitted at 0 to 999 s"
    with pytest.raises(NetcosimError, match=told):
        read(2000, start_s=1e6, end_s=2e6)
    jobs = read(2000)
    on_cuboids = config_from(
        {
            "machine": {"family": "torus", "dims": [4]},
            "workload": {"log": str(path), "larger_jobs": "drop"},
            "queue": {"policies": ["first-fit-cuboid"]},
        }
    )
    machine = build_machine(on_cuboids.machine).topology
    with pytest.raises(NetcosimError, match=r"all 1,000 jobs are left out \(never fits under f"):
        queues_of(on_cuboids, machine, jobs)
