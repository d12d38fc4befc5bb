"""Nodes from a log that counts processors: header, known logs, what the user says, what is missing.

The headers are those of logs of the Parallel Workloads Archive.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from log_lines import line, written

from netcosim.cli import main
from netcosim.config.config import WorkloadSection
from netcosim.config.errors import validated
from netcosim.config.load import load_config
from netcosim.config.machine import build_machine
from netcosim.demo_config import demo_config_text, known_name, read_demo_log
from netcosim.runs import run_output
from netsim.errors import NetcosimError
from workloads.job import Workload
from workloads.node_size import node_size
from workloads.swf import read_swf, write_swf
from workloads.swf_parse import parse_header

pytestmark = pytest.mark.usefixtures("undrawn")

SDSC_BLUE = ("; MaxNodes: 144", "; MaxProcs: 1152")
CEA_CURIE = ("; MaxNodes: 5544", "; MaxProcs: 93312")

HEADERS = [
    (SDSC_BLUE, 8, "8 processors a node, from the header: MaxProcs 1152 / MaxNodes 144"),
    (("; MaxNodes: 1002", "; MaxProcs: 4008"), 4, "4 processors a node, from the header"),
    (("; MaxNodes: 1152", "; MaxProcs: 9216"), 8, "8 processors a node, from the header"),
    (("; MaxNodes: 338", "; MaxProcs: 338"), 1, "1 processor a node, from the header"),
    (("; MaxNodes: 16", "; MaxProcs: 2048"), 128, "128 processors a node, from the header"),
    # 5040 nodes of 16, 360 of 32 and 144 of 8
    (CEA_CURIE, 16, "MaxProcs 93312 / MaxNodes 5544 = 16.83, rounded down; the nodes are not all"),
    (("; MaxNodes: 144 (128 of them batch)", "; MaxProcs: 1152 (8 a node)"), 8, "8 processors"),
    ((";MaxNodes:5,544", ";MaxProcs: 88,704"), 16, "MaxProcs 88704 / MaxNodes 5544"),
    (("; MaxNodes: 144",), 1, "1 processor a node is assumed: the header has no MaxProcs"),
    (("; MaxProcs: 1152",), 1, "1 processor a node is assumed: the header has no MaxNodes"),
    ((), 1, "1 processor a node is assumed: the header has no MaxNodes and no MaxProcs"),
    (("; MaxNodes: 0", "; MaxProcs: 1152"), 1, "the header has no MaxNodes"),
    (("; MaxNodes: -1", "; MaxProcs: many"), 1, "no MaxNodes and no MaxProcs"),
    (("; MaxNodes: 338", "; MaxProcs: 100"), 1, "MaxProcs 100 / MaxNodes 338 is not between 1"),
    (("; MaxNodes: 1", "; MaxProcs: 4096"), 1, "MaxProcs 4096 / MaxNodes 1 is not between 1 and"),
    (("; MaxNodes: 1" + "0" * 5000, "; MaxProcs: 8"), 1, "the header has no MaxNodes"),
]


@pytest.mark.parametrize(("head", "processors", "told"), HEADERS)
def test_a_header_says_how_many_processors_a_node_has(
    tmp_path: Path, head: tuple[str, ...], processors: int, told: str
) -> None:
    log = read_swf(written(tmp_path, *head, line(f5=128), line(f5=129)))
    assert log.n_nodes.tolist() == [-(-128 // processors), -(-129 // processors)]
    assert told in log.notes[0]
    assert sum("a node" in note and "processors_per_node" not in note for note in log.notes) == 1


def test_given_over_known_over_header_over_one() -> None:
    header, _ = parse_header(SDSC_BLUE)
    empty, _ = parse_header(())
    assert node_size(header, given=2, known=4).processors == 2
    assert node_size(header, known=4).processors == 4
    assert node_size(header).processors == 8
    assert node_size(empty).processors == 1
    assert node_size(empty, known=4).note == "4 processors a node, from the known log"


def test_what_contradicts_the_header_is_told() -> None:
    header, _ = parse_header(SDSC_BLUE)
    against = "; the header has 8: MaxProcs 1152 / MaxNodes 144"
    assert node_size(header, given=1).note == "1 processor a node, as given" + against
    told = node_size(header, known=4).note
    assert told == "4 processors a node, from the known log" + against
    assert node_size(header, given=8).note == "8 processors a node, as given"


@pytest.mark.parametrize("given", [0, -3, 10**30, 10**400])
def test_a_number_of_processors_that_is_none(tmp_path: Path, given: int) -> None:
    with pytest.raises(NetcosimError, match=r"processors_per_node = .* at (least 1|most 2)"):
        read_swf(written(tmp_path, line()), processors_per_node=given)


def test_sizes_that_do_not_go_with_the_header_are_told(tmp_path: Path) -> None:
    """A log of small jobs may count nodes; a job of more nodes than MaxNodes cannot be right."""
    few = read_swf(written(tmp_path, *SDSC_BLUE, line(f5=144)))
    assert few.n_nodes.tolist() == [18]
    assert "should this log count nodes, set processors_per_node = 1" in few.notes[1]
    many = read_swf(written(tmp_path, *SDSC_BLUE, line(f5=1160)))
    assert "1160 processors, that is 145 nodes, but the header's MaxNodes is 144" in many.notes[1]
    as_nodes = read_swf(written(tmp_path, *SDSC_BLUE, line(f5=1152)), processors_per_node=1)
    assert "1152 nodes, but the header's MaxNodes is 144" in as_nodes.notes[1]
    sound = read_swf(written(tmp_path, *SDSC_BLUE, line(f5=145)))
    assert len(sound.notes) == 1


def test_a_job_without_one_field_takes_the_other(tmp_path: Path) -> None:
    """Job by job, counted among the jobs that are used; a job with neither is left out."""
    rows = [
        line(f1=1, f5=16, f8=24),
        line(f1=2, f5=-1, f8=24),
        line(f1=3, f5=0, f8=32),
        line(f1=4, f5=16, f8=-1),
        line(f1=5, f5=-1, f8=-1),
        line(f1=6, f5=-1, f8=24, f4=0),
    ]
    path = written(tmp_path, *rows)
    log = read_swf(path, processors_per_node=8)
    assert log.job_id.tolist() == [1, 2, 3, 4]
    assert log.n_nodes.tolist() == [2, 3, 4, 2]
    assert (
        "2 jobs have no allocated processors (field 5); their requested ones (field 8) are taken"
        in log.notes
    )
    assert log.dropped == {"no size in field 5 or 8": 1, "run time missing or 0": 1}
    other = read_swf(path, processors_per_node=8, node_field="requested")
    assert other.n_nodes.tolist() == [3, 3, 4, 2]
    told = "1 jobs have no requested processors (field 8); their allocated ones (field 5) are taken"
    assert told in other.notes


def test_a_log_without_field_8_says_that_all_sizes_are_allocated_ones(tmp_path: Path) -> None:
    """As CTC-SP2 is."""
    path = written(tmp_path, *[line(f1=k, f8=-1) for k in range(1, 4)])
    log = read_swf(path, node_field="requested")
    assert log.n_nodes.tolist() == [8, 8, 8]
    told = "all 3 jobs have no requested processors (field 8); their allocated ones (field 5)"
    assert any(note.startswith(told) for note in log.notes)
    assert not any("field" in note for note in read_swf(path).notes)


def test_what_is_written_says_its_own_processors(tmp_path: Path) -> None:
    log = read_swf(written(tmp_path, *SDSC_BLUE, line(f5=1152), line(f5=8)))
    write_swf(log, tmp_path / "out.swf", processors_per_node=8)
    assert read_swf(tmp_path / "out.swf").n_nodes.tolist() == [144, 1]


def test_a_config_reads_nodes_from_the_header(tmp_path: Path) -> None:
    path = written(tmp_path, *SDSC_BLUE, line(f5=1152))

    def nodes(**keys: object) -> Workload:
        section = validated(WorkloadSection, {"log": str(path), **keys})
        return section.source().jobs(10_000, np.random.default_rng(0))

    assert nodes().n_nodes.tolist() == [144]
    assert nodes(processors_per_node=2).n_nodes.tolist() == [576]
    assert nodes(known_log="thunder").n_nodes.tolist() == [288]
    assert "from the known log; the header has 8" in nodes(known_log="thunder").notes[0]
    assert nodes(known_log="thunder", processors_per_node=16).n_nodes.tolist() == [72]


def test_trace_info_prints_the_headers_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, *SDSC_BLUE, line(f5=1152))
    assert main(["trace", "info", str(path)]) == 0
    out = capsys.readouterr().out
    assert "  header: MaxNodes 144, MaxProcs 1152\n" in out
    assert "note: 8 processors a node, from the header: MaxProcs 1152 / MaxNodes 144\n" in out
    assert "largest 144" in out
    assert main(["trace", "info", str(path), "--processors-per-node", "1"]) == 0
    out = capsys.readouterr().out
    assert "largest 1,152" in out
    assert "1 processor a node, as given; the header has 8" in out
    assert main(["trace", "convert", str(path), "--out", str(tmp_path / "nodes.swf")]) == 0
    assert "8 processors a node, from the header" in capsys.readouterr().out
    assert read_swf(tmp_path / "nodes.swf").n_nodes.tolist() == [144]
    path = written(tmp_path, "; MaxProcs: 1152", line())
    assert main(["trace", "info", str(path)]) == 0
    assert "  header: MaxNodes not given, MaxProcs 1152\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("head", "largest", "given", "nodes"),
    [
        (SDSC_BLUE, 1152, None, 144),
        (SDSC_BLUE, 512, None, 144),
        (CEA_CURIE, 79_808, None, 5544),
        (SDSC_BLUE, 1152, 1, 1152),
        (("; MaxProcs: 1152",), 512, None, 512),
        ((), 40, None, 40),
    ],
)
def test_the_demo_builds_its_machine_from_nodes(
    tmp_path: Path, head: tuple[str, ...], largest: int, given: int | None, nodes: int
) -> None:
    """The node count of the header, and never less than the largest job wants."""
    log = read_demo_log(written(tmp_path, *head, line(f5=largest)), given)
    assert log.nodes == nodes
    path = tmp_path / "demo.toml"
    path.write_text(demo_config_text(log, None, ["rdn"], 1))
    config = load_config(path)
    assert config.workload.processors_per_node == given
    built = build_machine(config.machine).topology.n_nodes
    assert nodes <= built < max(2 * nodes, 40)
    jobs = config.workload.source().jobs(built, np.random.default_rng(0))
    assert np.array_equal(jobs.n_nodes, log.jobs.n_nodes)


@pytest.mark.full
def test_the_demo_says_what_it_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise NetcosimError("far enough")

    monkeypatch.setattr(run_output, "run_and_report", stop)
    out = tmp_path / "out"
    path = written(tmp_path, *SDSC_BLUE, line(f5=1152), name="sdsc-blue.swf")
    assert main(["demo", "--log", str(path), "--out", str(out)]) == 2
    told = capsys.readouterr().out
    assert "sdsc-blue.swf: 144 nodes, MaxNodes of the log's header\n" in told
    assert "note: 8 processors a node, from the header: MaxProcs 1152 / MaxNodes 144\n" in told
    path = written(tmp_path, *SDSC_BLUE, line(f5=1152), name="my-thunder.swf")
    assert main(["demo", "--log", str(path), "--out", str(out)]) == 2
    told = capsys.readouterr().out
    assert (
        "my-thunder.swf, read as the known log thunder: 288 nodes, as many as the largest" in told
    )
    assert "4 processors a node, from the known log; the header has 8" in told
    arguments = ["demo", "--log", str(path), "--out", str(out), "--processors-per-node", "16"]
    assert main(arguments) == 2
    assert "16 processors a node, as given; the header has 8" in capsys.readouterr().out
    assert main(["demo", "--processors-per-node", "8", "--out", str(out)]) == 2
    assert "add --log" in capsys.readouterr().err
    assert main(["demo", "--first-jobs", "0", "--out", str(out)]) == 2
    assert "--first-jobs 0; it must be at least 1" in capsys.readouterr().err
    table = tmp_path / "jobs.csv"
    table.write_text("job,nodes,arrival_s,run_s\n1,40,0,9\n")
    assert main([*arguments[:1], "--log", str(table), "--out", str(out)]) == 2
    told = capsys.readouterr().out
    assert "jobs.csv: 40 nodes, as many as the largest job wants\n" in told
    assert main([*arguments[:1], "--log", str(table), *arguments[-2:]]) == 2
    assert "--processors-per-node is for SWF alone" in capsys.readouterr().err
    path = written(tmp_path, "; MaxNodes: 99999999999", line(), name="vast.swf")
    assert main(["demo", "--log", str(path), "--out", str(out)]) == 2
    assert "99,999,999,999 nodes (MaxNodes of the log's header)" in capsys.readouterr().err
    assert not out.exists()


def test_a_known_log_is_a_word_of_the_files_name() -> None:
    assert known_name(Path("LLNL-Thunder-2007-1.1-cln.swf.gz")) == "thunder"
    assert known_name(Path("ALCF-Theta-2022-cqsim.swf")) == "theta"
    assert known_name(Path("cab_2014.swf")) == "cab"
    for name in ("vocabulary.swf", "admiral.swf", "thunderstorm.swf", "log.swf"):
        assert known_name(Path(name)) is None


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("LLNL-Thunder-2007-1.1-cln.swf.gz", "4 processors a node, from the header"),
        ("LLNL-Atlas-2006-2.1-cln.swf.gz", "8 processors a node, from the header"),
        ("KTH-SP2-1996-2.1-cln.swf.gz", "1 processor a node, from the header"),
        ("ALCF-Mira-2018.swf.gz", "1 processor a node, from the header"),
    ],
)
def test_real_headers_agree_with_the_known_logs(shared_dir: Path, name: str, note: str) -> None:
    log = read_swf(shared_dir / "traces" / name)
    assert log.notes[0].startswith(note)
    assert not any("processors_per_node" in told for told in log.notes)
