"""Patterns read from files: binary GOAL, traces on jobs, traffic matrices, and mixes of them."""

from __future__ import annotations

import struct
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from goal_binary_writer import to_binary
from goal_programs import parse_goal, read_goal
from hypothesis import given
from hypothesis import strategies as st
from selection import examples
from test_patterns_goal import MADE, story, to_goal

from cosim.network.communication import Communication
from netcosim.config.load import config_from, load_config
from netcosim.runs.cosim import run_cosim
from netcosim.runs.points import point_key
from netcosim.runs.run_context import run_context
from netsim.errors import NetcosimError
from patterns.goal import read_trace
from patterns.goal_binary import operations_in
from patterns.goal_steps import Places, trace_of
from patterns.matrix import read_matrix
from patterns.registry import make_pattern

RNG = np.random.default_rng(1)
PING = "num_ranks 2\nrank 0 {\nc: calc 1000\ns: send 8b to 1\ns requires c\n}\n"
PING += "rank 1 {\nr: recv 8b from 0\nd: calc 5\nd requires r\n}\n"


def binary(raw: bytes, overlap: str = "streams"):
    places = Places("b", "operation")
    trace = trace_of(operations_in(raw, "b"), places, overlap)
    return trace.program(trace.n_ranks)


@examples(30)
@given(st.sampled_from(MADE), st.integers(2, 9), st.integers(1, 2))
def test_binary_says_what_the_text_says(name: str, n: int, iterations: int) -> None:
    params = {"adversarial": {"group_size": 1}, "fft3d": {"cells": 20}}.get(name, {})
    n = 7 if name == "strassen-winograd" else n
    program = make_pattern(name, n, 100, iterations, np.random.default_rng(n), params)
    text = to_goal(program)
    found, wanted = binary(to_binary(text)), parse_goal(text)
    assert found.step_ptr.tolist() == wanted.step_ptr.tolist()
    assert found.compute_s.tolist() == wanted.compute_s.tolist()
    assert found.send_step.tolist() == wanted.send_step.tolist()
    assert story(found) == story(wanted)


def test_a_binary_irequires_waits_for_the_start_alone() -> None:
    """Each rank sends once its receive is posted: in its first step, not after the message."""
    own = "{{\nr: recv 8b from {0}\ns: send 8b to {0}\ns {1} r\n}}\n"
    for word, steps in (("irequires", 1), ("requires", 2)):
        text = f"num_ranks 2\nrank 0 {own.format(1, word)}rank 1 {own.format(0, word)}"
        assert np.diff(binary(to_binary(text)).step_ptr).tolist() == [steps] * 2


def test_a_binary_file_is_known_by_its_mark(tmp_path: Path, shared_dir: Path) -> None:
    text = (shared_dir / "inputs" / "binary_tree_32.goal").read_text()
    (tmp_path / "t.bin").write_bytes(to_binary(text))
    found, wanted = read_goal(tmp_path / "t.bin"), parse_goal(text)
    assert (found.n_ranks, found.n_messages) == (32, 31)
    assert story(found) == story(wanted)


RAW = to_binary(PING)


def spoilt(at: int, form: str, value: int) -> bytes:
    raw = bytearray(RAW)
    struct.pack_into(form, raw, at, value)
    return bytes(raw)


FIRST = 14 + 32 + 8 + 4  # head, table, counts, one root: the first operation of rank 0
SECOND = FIRST + 39


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (RAW[:9], "ends in its head"),
        (RAW[:20], "has no room for 2 ranks"),
        (spoilt(8, "<I", 0), "has no room for 0 ranks"),
        (spoilt(8, "<I", 2**31), "has no room for 2,147,483,648 ranks"),
        (spoilt(22, "<Q", 10**6), r"b, rank 0: bytes 38 to 1000000 of a file"),
        (spoilt(46, "<I", 10**6), r"b, rank 0: \d+ bytes have no room for 1,000,000 operations"),
        (spoilt(FIRST + 4, "<B", 9), "b, rank 0, operation 0: of no known kind"),
        (spoilt(SECOND + 5, "<I", 5), "b, rank 0, operation 1: its rank is not one of 2"),
        (spoilt(SECOND + 5, "<I", 2**32 - 1), "operation 1: receives from any rank"),
        (spoilt(SECOND + 9, "<Q", 2**63), "b, rank 0, operation 1: too large"),
        (spoilt(FIRST + 23, "<I", 50), "b, rank 0, operation 0: more need it than the file has"),
        (spoilt(SECOND + 39, "<I", 7), "b, rank 0, operation 0: operation 7 of 2"),
        (spoilt(SECOND, "<I", 2), "b, rank 0, operation 1: needs 2, found 1"),
        (spoilt(SECOND + 9, "<Q", 9), "b, operation 1: 9 bytes are sent, but operation 0 receives"),
    ],
)
def test_a_broken_binary_file_is_one_line(raw: bytes, told: str) -> None:
    with pytest.raises(NetcosimError, match=told) as caught:
        binary(raw)
    assert "\n" not in str(caught.value)


SIDE_BY_SIDE = (
    "num_ranks 2\nrank 0 {\nsend 1b to 1 tag 1\nsend 1b to 1 tag 2 cpu 1\n}\nrank 1 {\n"
    "a: recv 1b from 0 tag 1\nb: recv 1b from 0 tag 2\nc: calc 5\nd: calc 6\n"
    "c requires a\nd requires b\n}"
)


def test_what_could_run_side_by_side_runs_one_after_the_other_if_asked_for() -> None:
    for read in (parse_goal, lambda t, _, overlap: binary(to_binary(t), overlap)):
        program = read(SIDE_BY_SIDE, "t", "serialise")
        assert program.recv_need.tolist() == [0, 2, 0]  # both, then the calculations
        assert program.compute_s.tolist() == pytest.approx([0.0, 0.0, 11e-9])


def test_serialising_what_needs_to_overlap_is_refused() -> None:
    """Rank 1's second message comes only when its first answer has arrived."""
    text = (
        "num_ranks 2\nrank 0 {\ns1: send 1b to 1 tag 1\nr: recv 1b from 1 tag 3\n"
        "s2: send 1b to 1 tag 2\ns2 requires r\n}\nrank 1 {\na: recv 1b from 0 tag 1\n"
        "b: recv 1b from 0 tag 2\nc: send 1b to 0 tag 3\nd: calc 6\nc requires a\nd requires b\n}"
    )
    with pytest.raises(NetcosimError, match=r"t: overlap = .serialise. makes 2 ranks wait"):
        parse_goal(text, "t", "serialise")


def test_a_trace_on_a_larger_job(tmp_path: Path) -> None:
    (tmp_path / "t.goal").write_text(PING)
    given = {"file": str(tmp_path / "t.goal"), "scale": 10.0}
    program = make_pattern("goal", 4, 1, 3, RNG, given)
    program.validate()
    assert program.n_ranks == 4
    assert program.send_bytes.tolist() == [80] * 3
    assert np.diff(program.step_ptr).tolist() == [3, 6, 3, 3]
    assert program.compute_s.sum() == pytest.approx(3 * 1005e-9)
    quiet = make_pattern("goal", 2, 1, 1, RNG, {**given, "compute": False})
    assert quiet.compute_s.sum() == 0.0
    with pytest.raises(NetcosimError, match=r"t\.goal: it has 2 ranks; a job of 1 is too small"):
        make_pattern("goal", 1, 1, 1, RNG, given)


def test_a_changed_trace_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "t.goal"
    path.write_text(PING)
    assert read_trace(path).n_ranks == 2
    path.write_text(PING.replace("num_ranks 2", "num_ranks 30"))
    assert read_trace(path).n_ranks == 30


def test_a_matrix_is_sent_cell_by_cell(tmp_path: Path) -> None:
    table = np.array([[0, 5, 0], [0.2, 0, 7], [8, 9, 1]])
    np.save(tmp_path / "m.npy", table)
    (tmp_path / "m.csv").write_text("0,5,0\n\n 0.2,0,7\n8,9,1\n")
    assert read_matrix(tmp_path / "m.csv").tolist() == table.tolist()
    for name in ("m.npy", "m.csv"):
        given = {"file": str(tmp_path / name), "scale": 10.0}
        program = make_pattern("matrix", 4, 1, 2, RNG, given)
        program.validate()
        sent = Counter(zip(program.send_src().tolist(), program.send_dst.tolist(), strict=True))
        assert set(sent.values()) == {2}
        found = np.zeros((4, 4))
        np.add.at(found, (program.send_src(), program.send_dst), program.send_bytes / 2)
        assert found[:3, :3].tolist() == (10 * table).tolist()
        assert not found[3].any()
        # rank 2 begins with the next rank, around the end, and ends with itself
        mine = program.send_dst[program.send_src() == 2]
        assert mine[:3].tolist() == [2, 0, 1]
        assert program.recv_need.tolist() == [2, 2, 2, 2, 2, 2, 0, 0]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("1,2\n3\n", r"m:2: 1 numbers; the line before it has 2"),
        ("1,x\n3,4\n", r"m:1: 'x'; it must be a number"),
        ("0,-1\n3,0\n", r"m: -1 bytes from rank 0 to rank 1: negative"),
        ("0,1\nnan,0\n", r"m:2: 'nan'; it must be a number"),
        ("0,1\ninf,0\n", r"m:2: 'inf'; it must be a number"),
        ("1,2,3\n4,5,6\n", r"m: a table of 2 x 3; a traffic matrix has"),
        ("", r"m: a table of 0; a traffic matrix has"),
        ("0,0\n0,0\n", r"m: a matrix in which no rank sends"),
        ("0,1e19\n0,0\n", r"m: a message of 1e\+19 bytes; too large"),
        (b"\x93NUMPY\x01\x00", r"m: not a NumPy file"),
        (b"\x93NUMPY\x09\x00" + bytes(99), r"m: not a NumPy file"),
    ],
)
def test_a_bad_matrix_is_one_line(content: str | bytes, told: str, tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(NetcosimError, match=told) as caught:
        make_pattern("matrix", 2, 1, 1, RNG, {"file": str(path)})
    assert "\n" not in str(caught.value)


def test_an_array_of_objects_is_never_unpacked(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", np.array([["a", {}]], dtype=object), allow_pickle=True)
    with pytest.raises(NetcosimError, match="an array of object; numbers are needed"):
        read_matrix(tmp_path / "m.npy")


def test_published_matrices_are_read(shared_dir: Path) -> None:
    inputs = shared_dir / "inputs"
    sums = {"comd_n64_dense": 1733217584, "hpgmg_n64_fv": 5028449856, "cosp2_n128_sparse": 386864}
    for name, total in sums.items():
        path = inputs / f"matrix-{name}.npy"
        if not path.exists():
            pytest.skip("the matrices are not here")
        ranks = len(read_matrix(path))
        program = make_pattern("matrix", ranks, 1, 1, RNG, {"file": str(path)})
        assert program.total_bytes == total


def test_bytes_a_rank_scale_what_is_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("0,100\n300,0\n")
    given = {"file": str(tmp_path / "m.csv")}
    said = Communication("matrix", parameters=given, rank_bytes=4000)
    assert said.program(2, RNG).send_bytes.tolist() == [2000, 6000]
    assert said.program(4, RNG).total_bytes == 16000  # the mean is over all the job's ranks
    assert said.shortened(0.5).program(2, RNG).send_bytes.tolist() == [1000, 3000]
    plain = Communication("matrix", parameters=given, iterations=3)
    assert plain.shortened(0.1).program(2, RNG).send_bytes.tolist() == [10, 30]


def content(*mix: dict[str, object]) -> dict[str, object]:
    return {
        "machine": {"family": "dragonfly", "p": 2, "a": 2, "g": 5},
        "workload": {"synthetic": {"n_jobs": 30, "sizes": [2, 4, 8]}},
        "queue": {"policies": ["simple"], "run_time_model": "as-logged"},
        "communication": {"mix": list(mix), "ranks_per_node": 2, "task_mapping": "in-order"},
        "run": {"snapshots": 3},
    }


def test_a_trace_is_one_job_among_others(tmp_path: Path) -> None:
    """Jobs with fewer ranks than the trace take the other entry; draws of the others stay."""
    (tmp_path / "t.goal").write_text(PING.replace("num_ranks 2", "num_ranks 7"))
    trace = {"pattern": "goal", "file": str(tmp_path / "t.goal"), "weight": 1e9}
    config = config_from(content(trace, {"pattern": "halo2d"}))
    result = run_cosim(config)
    bench = run_context(config)
    share, _ = bench.drawn
    sizes = bench.queues.jobs.n_nodes
    assert set(share[sizes < 4].tolist()) == {1}  # 7 ranks need 4 nodes of 2 ranks
    assert set(share[sizes >= 4].tolist()) == {0}
    assert result.measured["simple"].packet_hops > 0


def test_an_entry_for_some_sizes_leaves_the_others_draws(tmp_path: Path) -> None:
    entries = [{"pattern": "halo2d"}, {"pattern": "all-to-all"}, {"pattern": "pairs", "nodes": 99}]
    with_third = run_context(config_from(content(*entries))).drawn[0]
    assert set(with_third.tolist()) == {0, 1}
    with pytest.raises(NetcosimError, match=r"no entry is for job \d+ of \d nodes \(30 such jobs"):
        _ = run_context(config_from(content(entries[2]))).drawn


def test_a_files_digest_is_in_the_key_and_its_folder_is_not(tmp_path: Path) -> None:
    keys = []
    for folder, text in (("a", PING), ("b", PING), ("b", PING.replace("8b", "9b"))):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "t.goal").write_text(text)
        raw = content({"pattern": "goal", "file": "t.goal"}, {"pattern": "halo2d"})
        keys.append(point_key(config_from(raw, tmp_path / folder).resolved()))
    assert keys[0] == keys[1] != keys[2]
    again = config_from(config_from(raw, tmp_path / "b").resolved()).resolved()
    assert point_key(again) == keys[2]


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"pattern": "goal"}, "communication.mix.0: pattern goal: parameter file is missing"),
        ({"pattern": "halo2d", "file": "t"}, "unknown parameter of pattern halo2d 'file'"),
        ({"pattern": "goal", "file": "t", "message_bytes": 5}, "the file of a goal has the sizes"),
        ({"pattern": "goal", "parameters": {"file": "t"}}, "the file is a key of the entry itself"),
        ({"pattern": "goal", "file": "no"}, "communication.mix.0.file"),
        ({"pattern": "goal", "file": "bad"}, "bad:2: 'rank 0'; 'num_ranks N' must come first"),
        ({"pattern": "halo2d", "nodes": [4, 2]}, "communication.mix.0.nodes"),
        (
            {"pattern": "goal", "file": "t", "node_bytes": "1 MB", "parameters": {"scale": 2.0}},
            "node_bytes determines the message size",
        ),
    ],
)
def test_a_bad_entry_is_one_line(entry: dict[str, object], told: str, tmp_path: Path) -> None:
    (tmp_path / "t").write_text(PING)
    (tmp_path / "bad").write_text("\nrank 0 {\n}\n")
    with pytest.raises(NetcosimError) as caught:
        config_from(content(entry), tmp_path)
    assert told in str(caught.value)


def test_a_file_lies_beside_its_config(tmp_path: Path) -> None:
    (tmp_path / "t.goal").write_text(PING)
    (tmp_path / "c.toml").write_text(
        '[machine]\npreset = "dragonfly-272"\n[workload.synthetic]\n[queue]\n'
        'policies = ["rdn"]\n[[communication.mix]]\npattern = "goal"\nfile = "t.goal"\n'
    )
    entry = load_config(tmp_path / "c.toml").communication.mix[0]
    assert entry.file is not None
    assert entry.file.file == str(tmp_path / "t.goal")
