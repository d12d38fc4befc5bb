"""GOAL traces."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from goal_programs import parse_goal, read_goal
from hypothesis import given
from hypothesis import strategies as st
from selection import examples

from netsim.errors import NetcosimError
from netsim.traffic import Program
from patterns.registry import PATTERNS, make_pattern

MADE = sorted(name for name, pattern in PATTERNS.items() if pattern.recorded_ranks is None)


def to_goal(program: Program) -> str:
    """A program as GOAL: everything of a step needs everything of the step before."""
    lines = [f"num_ranks {program.n_ranks}"]
    src = program.send_src()
    for r in range(program.n_ranks):
        lines.append(f"rank {r} {{")
        before: list[str] = []
        for step in range(program.step_ptr[r], program.step_ptr[r + 1]):
            calc = f"s{step}c"
            sends = list(range(program.send_ptr[step], program.send_ptr[step + 1]))
            receives = np.flatnonzero(program.send_step == step).tolist()
            lines.append(f"{calc}: calc {round(program.compute_s[step] * 1e9)}")
            lines += [f"{calc} requires {b}" for b in before]
            before = [calc]
            for m in sends:
                size, dst = program.send_bytes[m], program.send_dst[m]
                lines += [f"m{m}: send {size}b to {dst} tag {m}", f"m{m} requires {calc}"]
                before.append(f"m{m}")
            for m in receives:
                lines.append(f"r{m}: recv {program.send_bytes[m]}b from {src[m]} tag {m} cpu 0")
                lines.append(f"r{m} requires {calc}")
                before.append(f"r{m}")
        lines.append("}")
    return "\n".join(lines)


def story(program: Program) -> Counter[tuple[int, int, int, int, int, int]]:
    """Each message with what its sender has waited for and computed (ns) before, and what its
    receiver waits for up to and with the step that it counts toward."""
    src = program.send_src()
    step = np.repeat(np.arange(program.n_steps), np.diff(program.send_ptr))
    waited = np.concatenate(([0], np.cumsum(program.recv_need)))
    computed = np.concatenate(([0.0], np.cumsum(program.compute_s)))
    first = program.step_ptr
    before = waited[step] - waited[first[src]]
    spent = np.rint((computed[step + 1] - computed[first[src]]) * 1e9).astype(int)
    after = waited[program.send_step + 1] - waited[first[program.send_dst]]
    columns = (src, program.send_dst, program.send_bytes, before, spent, after)
    return Counter(zip(*(c.tolist() for c in columns), strict=True))


@examples(40)
@given(st.sampled_from(MADE), st.integers(2, 9), st.integers(1, 2))
def test_a_pattern_survives_the_way_through_goal(name: str, n: int, iterations: int) -> None:
    # Compute times of whole nanoseconds, since GOAL has no others: 100 ns a phase.
    fft = {"cells": 20, "compute_ns_per_cell": 100 * 6 * n / 20**3}
    extra: dict[str, dict[str, object]] = {"adversarial": {"group_size": 1}, "fft3d": {**fft}}
    params = extra.get(name, {})
    n = 7 if name == "strassen-winograd" else n
    program = make_pattern(name, n, 100, iterations, np.random.default_rng(n), params)
    back = parse_goal(to_goal(program))
    back.validate()
    assert story(back) == story(program)


def test_the_example_on_few_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.goal"
    path.write_text(
        "num_ranks 3 // three\n"
        "rank 0 { l1: calc 100; l2: send 0b to 1 tag 3 cpu 0 nic 0\n l2 requires l1 }\n"
        "/* rank 2\n has nothing */\n"
        "rank 1 {\nl2: calc 50\nl1: recv 0b from 0 tag 3\nl3: calc 7\nl2 requires l1\n}\n"
    )
    program = read_goal(path)
    assert program.step_ptr.tolist() == [0, 1, 3, 4]
    # l3 needs no receive, so rank 1 computes it while it waits.
    assert program.compute_s.tolist() == pytest.approx([100e-9, 7e-9, 50e-9, 0])
    assert program.recv_need.tolist() == [0, 1, 0, 0]
    assert program.send_bytes.tolist() == [1]
    assert program.send_step.tolist() == [1]


def test_a_receive_is_waited_for_as_late_as_it_may() -> None:
    program = parse_goal(
        "num_ranks 2\n"
        "rank 0 {\na: send 1b to 1\nb: send 2b to 1 tag 2\n}\n"
        "rank 1 {\nlate: recv 1b from 0\nx: recv 2b from 0 tag 2\n"
        "c: calc 5\nc requires x\nc irequires late\n}\n"
    )
    assert program.recv_need.tolist() == [0, 1, 1]
    assert program.send_step.tolist() == [2, 1]


def test_what_irequires_a_receive_does_not_wait_for_it() -> None:
    """Each rank sends once its receive is posted: in its first step, or both wait for ever."""
    own = "{{\nr: recv 8b from {0}\ns: send 8b to {0}\ns {1} r\n}}\n"
    for word, steps in (("irequires", 1), ("requires", 2)):
        text = f"num_ranks 2\nrank 0 {own.format(1, word)}rank 1 {own.format(0, word)}"
        program = parse_goal(text)
        assert np.diff(program.step_ptr).tolist() == [steps] * 2
        assert np.flatnonzero(np.diff(program.send_ptr)).tolist() == [steps - 1, 2 * steps - 1]


def test_same_tag_meets_in_order() -> None:
    program = parse_goal(
        "num_ranks 2\nrank 0 {\nsend 1b to 1\nsend 2b to 1\n}\n"
        "rank 1 {\na: recv 1b from 0\nb: recv 2b from 0\nb requires a\n"
        "c: calc 1\nc requires b\n}\n"
    )
    assert program.send_bytes.tolist() == [1, 2]
    assert program.recv_need.sum() == 2


HEAD = "num_ranks 2\nrank 0 {\n"
CROSSED = (
    "num_ranks 2\nrank 0 {{\nx: recv 1b from 1 tag 1\ny: recv 1b from 1 tag 2\na: calc 5\n"
    "b: calc 6 cpu {cpu}\ns: send 1b to 1 tag 3\na requires x\nb requires y\ns requires b\n}}\n"
    "rank 1 {{\nu: send 1b to 0 tag 2\nv: recv 1b from 0 tag 3\nw: send 1b to 0 tag 1\n"
    "w requires v\n}}"
)
"""Calculation a waits for a message that depends on b."""


def finish_s(program: Program) -> list[float]:
    """When the ranks of a program are done if messages take no time, by repeated relaxation."""
    post, end = np.zeros((2, program.n_steps))
    step_of = np.repeat(np.arange(program.n_steps), np.diff(program.send_ptr))
    first = set(program.step_ptr[:-1].tolist())
    while True:
        before = end.copy()
        for s in range(program.n_steps):
            post[s] = (0.0 if s in first else end[s - 1]) + program.compute_s[s]
        end = post.copy()
        np.maximum.at(end, program.send_step, post[step_of])
        if np.array_equal(before, end):
            break
    ptr = program.rank_step_ptr
    return [float(end[a:b].max(initial=0.0)) for a, b in pairwise(ptr.tolist())]


def random_trace(rng: np.random.Generator, n_ops: int) -> tuple[str, list[float]]:
    """A GOAL text of two ranks, a processor a calculation, and when its ranks are done."""
    lines: list[list[str]] = [[], []]
    ends: list[list[tuple[float, float]]] = [[], []]

    def add(rank: int, text: str, seconds: float, arrival: float = 0.0) -> float:
        own, begin = ends[rank], 0.0
        number = len(own)
        lines[rank].append(f"o{number}: {text}")
        for other in rng.permutation(number)[: rng.integers(0, 3)].tolist():
            complete = bool(rng.random() < 0.7)
            word = "requires" if complete else "irequires"
            lines[rank].append(f"o{number} {word} o{other}")
            begin = max(begin, own[other][complete])
        own.append((begin, max(begin + seconds, arrival)))
        return begin

    for k in range(n_ops):
        rank = int(rng.integers(2))
        if rng.random() < 0.4:
            nanoseconds = int(rng.integers(1, 100))
            add(rank, f"calc {nanoseconds} cpu {k + 1}", nanoseconds * 1e-9)
        else:
            sent = add(rank, f"send 1b to {1 - rank} tag {k}", 0.0)
            add(1 - rank, f"recv 1b from {rank} tag {k}", 0.0, sent)
    text = ["num_ranks 2", "rank 0 {", *lines[0], "}", "rank 1 {", *lines[1], "}"]
    return "\n".join(text), [max((end for _, end in own), default=0.0) for own in ends]


@pytest.mark.parametrize("seed", range(60))
def test_operations_start_when_what_they_need_has_ended_or_begun(seed: int) -> None:
    text, expected = random_trace(np.random.default_rng(seed), 4 + seed // 3)
    program = parse_goal(text)
    program.validate()
    assert finish_s(program) == pytest.approx(expected, abs=1e-15)


def test_a_rank_computes_on_two_processors_while_a_message_travels() -> None:
    """Two calculations of 5 and 6 ns side by side, the message sent at the end of the second."""
    program = parse_goal(CROSSED.format(cpu=1))
    assert finish_s(program) == pytest.approx([11e-9, 6e-9])
    both = "num_ranks 1\nrank 0 {\ncalc 5\ncalc 6 cpu 1\ncalc 7\n}"
    assert finish_s(parse_goal(both)) == pytest.approx([12e-9])
    assert finish_s(parse_goal(both, overlap="serialise")) == pytest.approx([18e-9])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"t:1: the text ends, but 'num_ranks N' is missing"),
        ("rank 0 {", r"t:1: 'rank 0'; 'num_ranks N' must come first"),
        (HEAD, r"t:2: the text ends, but rank 0 is not closed"),
        (HEAD + "}\nrank 0 {\n}", r"t:4: rank 0 is given twice"),
        ("num_ranks 2\nrank 2 {\n}", r"t:2: rank 2; num_ranks is 2"),
        (HEAD + "send 5b to 7\n}", r"t:3: rank 7; num_ranks is 2"),
        (HEAD + "sned 5b to 1\n}", r"t:3: 'sned 5b to 1' is not understood"),
        (HEAD + "send 5b from 1\n}", r"t:3: 'send 5b from 1' is not understood"),
        (HEAD + "a: calc 5\na: calc 6\n}", r"t:4: label 'a' is used twice in rank 0"),
        (HEAD + "a: calc 5\na requires b\n}", r"t:4: no operation has the label 'b'"),
        (HEAD + "a: calc 5\nb: calc 5\na requires b\nb requires a\n}", r"t:3: .* in a cycle"),
        (HEAD + "send 5b to 1 tag 4\n}", r"t:3: rank 1 has no receive .* rank 0 with tag 4"),
        (HEAD + "recv 5b from 1\n}", r"t:3: rank 1 has no send .* rank 0 with tag 0"),
        (
            HEAD + "send 5b to 1\n}\nrank 1 {\nrecv 6b from 0\n}",
            r"t:3: 5 bytes are sent, but line 6 receives 6",
        ),
        (
            CROSSED.format(cpu=0),
            r't: overlap = "streams" makes 2 ranks wait .* run in the order of the trace',
        ),
    ],
)
def test_what_does_not_fit_is_named(text: str, message: str) -> None:
    with pytest.raises(NetcosimError, match=message) as caught:
        parse_goal(text, "t")
    assert "\n" not in str(caught.value)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(NetcosimError, match=r"no.goal: cannot be read"):
        read_goal(tmp_path / "no.goal")
    (tmp_path / "b.goal").write_bytes(b"\xff\x00\x00")
    with pytest.raises(NetcosimError, match=r"b.goal: neither binary GOAL nor text"):
        read_goal(tmp_path / "b.goal")
