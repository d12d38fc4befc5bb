"""Recorded MPI runs as GOAL schedules."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from goal_programs import parse_goal, read_goal

from netcosim.cli import main
from netsim.errors import NetcosimError
from patterns.importers.collectives import EXPANDED, steps_of
from patterns.importers.mpi_goal import MpiEvent, mpi_goal

PING_PONG = [2**k for k in range(14, 22)]


def inside(begin: float, end: float, *events: MpiEvent) -> list[MpiEvent]:
    return [MpiEvent("enter", begin), *events, MpiEvent("leave", end)]


def collectives(n: int, name: str, sent: int, received: int, **root: int) -> list[list[MpiEvent]]:
    return [
        inside(0, 10, MpiEvent("collective", 9, n_bytes=sent, received=received, name=name, **root))
        for _ in range(n)
    ]


def test_a_run_of_two_ranks_word_for_word() -> None:
    """100 ns of work, a message, 250 ns of work, its answer; MPI's own time is none."""
    ranks = [
        inside(0, 5)
        + inside(105, 110, MpiEvent("send", 107, peer=1, n_bytes=8, tag=3))
        + inside(360, 900, MpiEvent("recv", 890, peer=1, n_bytes=4, tag=5))
        + inside(930, 940),
        inside(0, 50)
        + inside(50, 300, MpiEvent("recv", 290, peer=0, n_bytes=8, tag=3))
        + inside(300, 310, MpiEvent("send", 305, peer=0, n_bytes=4, tag=5)),
    ]
    made = mpi_goal(ranks, {0: (0, 1)})
    assert made.text.splitlines() == [
        "num_ranks 2",
        *("rank 0 {", "l1: calc 100", "l2: send 8b to 1 tag 3", "l2 requires l1"),
        *("l3: calc 250", "l3 requires l2", "l4: recv 4b from 1 tag 5", "l4 requires l3"),
        *("l5: calc 30", "l5 requires l3", "l5 requires l4", "}"),
        *("rank 1 {", "l1: recv 8b from 0 tag 3", "l2: send 4b to 0 tag 5", "l2 requires l1", "}"),
    ]
    assert (made.n_messages, made.n_bytes, made.compute_ns) == (2, 12, 380)
    assert not made.left_out
    assert mpi_goal(ranks, {0: (0, 1)}, compute_scale=2.0).compute_ns == 760
    assert "calc" not in mpi_goal(ranks, {0: (0, 1)}, compute_scale=0.0).text


def test_what_does_not_block_is_waited_for_where_its_request_is() -> None:
    """Rank 1 posts A and B, waits for B, works, then for A: the work needs B alone."""
    ranks = [
        [
            *inside(0, 1, MpiEvent("isend", 0, peer=1, n_bytes=10, tag=1, request=1)),
            *inside(1, 2, MpiEvent("isend", 1, peer=1, n_bytes=20, tag=2, request=2)),
            *inside(52, 60, MpiEvent("isend-done", 59, request=1)),
            *inside(70, 80, MpiEvent("send", 75, peer=1, n_bytes=30, tag=3)),
        ],
        [
            *inside(0, 1, MpiEvent("irecv-posted", 0, request=7)),
            *inside(1, 2, MpiEvent("irecv-posted", 1, request=8)),
            *inside(2, 9, MpiEvent("irecv", 8, peer=0, n_bytes=20, tag=2, request=8)),
            *inside(109, 120, MpiEvent("irecv", 119, peer=0, n_bytes=10, tag=1, request=7)),
            *inside(120, 130, MpiEvent("recv", 129, peer=0, n_bytes=30, tag=3)),
        ],
    ]
    made = mpi_goal(ranks, {0: (0, 1)})
    program = parse_goal(made.text)
    program.validate()
    needs = program.recv_need[program.step_ptr[1] :].tolist()
    assert needs == [1, 2]  # B; then, after the work, A and the last
    assert program.compute_s[program.step_ptr[1] :] == pytest.approx([0, 100e-9])
    lines = made.text.split("rank 1")[0].splitlines()
    assert "l2 irequires l1" in lines  # started, its request not complete
    assert "l3: calc 60" in lines
    assert "l4 requires l1" not in lines
    assert "l4 requires l3" in lines


def test_receives_posted_in_another_order_than_completed() -> None:
    """Sizes go by the order of posting; the two requests complete the other way round."""
    send = [inside(0, 1, MpiEvent("send", 0, peer=1, n_bytes=n)) for n in (10, 20)]
    receive = [
        MpiEvent("irecv-posted", 0, request=1),
        MpiEvent("irecv-posted", 1, request=2),
        MpiEvent("irecv", 5, n_bytes=20, request=2),
        MpiEvent("irecv", 6, n_bytes=10, request=1),
    ]
    program = parse_goal(mpi_goal([[*send[0], *send[1]], receive], {0: (0, 1)}).text)
    assert program.send_bytes.tolist() == [10, 20]


@pytest.mark.parametrize("name", sorted(EXPANDED))
@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 8, 13])
def test_collectives_bring_what_they_must(name: str, n: int) -> None:
    """Run by hand: who has heard of whom at the end, and how many bytes moved."""
    steps = steps_of(name, n, 12)
    knows = [{r} for r in range(n)]
    at = [0] * n
    posted = [False] * n
    on_the_way: dict[tuple[int, int], list[set[int]]] = {}
    while any(at[r] < len(steps[r]) for r in range(n)):
        moved = False
        for r in range(n):
            if at[r] == len(steps[r]):
                continue
            sends, receives = steps[r][at[r]]
            if not posted[r]:
                for j, _ in sends:
                    on_the_way.setdefault((r, j), []).append(set(knows[r]))
                posted[r] = moved = True
            if all(on_the_way.get((j, r)) for j, _ in receives):
                for j, _ in receives:
                    knows[r] |= on_the_way[j, r].pop(0)
                at[r], posted[r], moved = at[r] + 1, False, True
        assert moved, "the ranks wait for each other"
    everyone = set(range(n))
    if name == "bcast":
        assert all(0 in known for known in knows)
    elif name == "reduce":
        assert knows[0] == everyone
    else:
        assert knows == [everyone] * n
    moved_bytes = sum(size for rank in steps for sends, _ in rank for _, size in sends)
    k = n.bit_length() - 1
    messages = {
        "barrier": n * (n - 1).bit_length() / 12,
        "bcast": n - 1,
        "reduce": n - 1,
        "allreduce": (k << k) + 2 * (n - (1 << k)),
        "allgather": n * (n - 1),
        "alltoall": n * (n - 1),
    }
    assert moved_bytes == 12 * messages[name]


@pytest.mark.parametrize(
    ("name", "sent", "received", "root", "bytes_"),
    [
        ("allreduce", 4 * 100, 4 * 100, 0, 100),
        ("allreduce", 3 * 101, 3 * 101, 0, 101),  # in place: its own block is not counted
        ("alltoall", 4 * 100, 4 * 100, 0, 100),
        ("allgather", 4 * 100, 4 * 100, 0, 100),
        ("bcast", 0, 100, 2, 100),
        ("reduce", 100, 0, 3, 100),
        ("barrier", 0, 0, 0, 1),
    ],
)
def test_the_bytes_of_a_collective(name, sent, received, root, bytes_):
    made = mpi_goal(collectives(4, name, sent, received, peer=root), {0: range(4)})
    program = parse_goal(made.text)
    assert set(program.send_bytes.tolist()) == {bytes_}
    assert made.collectives == Counter({name: 1})
    assert made.n_messages == program.n_messages
    src, dst = program.send_src().tolist(), program.send_dst.tolist()
    if name == "bcast":
        assert root not in dst
        assert sorted(dst) == [0, 1, 3]
    if name == "reduce":
        assert root not in src
        assert sorted(src) == [0, 1, 2]


def test_communicators_have_their_own_ranks_and_tags() -> None:
    """The same tag between the same ranks on two communicators are two kinds of messages."""
    comms = {0: (0, 1, 2), 1: (2, 0), 2: ()}
    ranks = [
        [
            MpiEvent("recv", 1, comm=1, peer=0, n_bytes=7, tag=4),
            MpiEvent("recv", 1, comm=0, peer=2, n_bytes=9, tag=4),
            MpiEvent("collective", 3, comm=1, name="barrier"),
            MpiEvent("send", 4, comm=2, peer=0, n_bytes=1),
            MpiEvent("recv", 4, comm=2, peer=0, n_bytes=1),
        ],
        [],
        [
            MpiEvent("send", 1, comm=0, peer=0, n_bytes=9, tag=4),
            MpiEvent("send", 1, comm=1, peer=1, n_bytes=7, tag=4),
            MpiEvent("collective", 3, comm=1, name="barrier"),
        ],
    ]
    made = mpi_goal(ranks, comms)
    program = parse_goal(made.text)
    assert sorted(zip(program.send_bytes.tolist(), program.send_dst.tolist(), strict=True)) == [
        *((1, 0), (1, 2), (7, 0), (9, 0)),
    ]
    assert "send 9b to 0 tag 4" in made.text
    assert "send 7b to 0 tag 6" in made.text
    assert made.left_out == {"messages of a rank to itself": 1}


WRONG: list[tuple[str, list[list[MpiEvent]], str]] = [
    ("nothing", [inside(0, 1), []], "no MPI messages"),
    ("no send", [[], [MpiEvent("recv", 0, tag=2)]], "rank 0 to rank 1 with tag 2: 0 are sent, 1 r"),
    ("no receive", [[MpiEvent("send", 0, peer=1)], []], "1 are sent, 0 received"),
    (
        "sizes",
        [[MpiEvent("send", 0, peer=1, n_bytes=3)], [MpiEvent("recv", 0, n_bytes=4)]],
        "3 bytes are sent as number 1, 4 received",
    ),
    ("no such rank", [[MpiEvent("send", 0, peer=9)], []], "rank 9 of a communicator of 2"),
    ("unknown", collectives(2, "alltoallv", 8, 8), "alltoallv .2 calls.; --leave-out alltoallv"),
    ("alone", [collectives(1, "barrier", 0, 0)[0], []], "rank 0 has 1 collectives, rank 1 has 0"),
    (
        "two kinds",
        [*collectives(1, "barrier", 0, 0), *collectives(1, "bcast", 0, 8)],
        "collective 1 is barrier .root 0., bcast .root 0. at once",
    ),
    ("root", collectives(2, "bcast", 0, 8, peer=2), "root 2 of a communicator of 2"),
]


@pytest.mark.parametrize(("ranks", "told"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_what_does_not_belong_together(ranks: list[list[MpiEvent]], told: str) -> None:
    with pytest.raises(NetcosimError, match=told):
        mpi_goal(ranks, {0: (0, 1)})


def test_what_is_left_out_is_counted() -> None:
    ranks = collectives(2, "alltoallv", 8, 8)
    for events in ranks:
        events += [
            MpiEvent("collective", 20, name="create_handle"),
            MpiEvent("collective", 30, name="barrier"),
            MpiEvent("irecv-posted", 40, request=3),
        ]
    made = mpi_goal(ranks, {0: (0, 1)}, leave_out=("alltoallv",))
    assert made.left_out == {
        "calls of alltoallv": 2,
        "calls that make or free communicators and windows": 2,
        "receives that were posted and never complete": 2,
    }
    assert made.collectives == {"barrier": 1}


def write_archive(folder: Path) -> Path:
    """Four ranks: a ring of messages, an allreduce, a broadcast on the odd ones; ticks of 10 ns."""
    otf2: Any = pytest.importorskip("otf2", reason="the otf2 library is not installed")
    from otf2 import CollectiveOp, GroupType, LocationGroupType, Paradigm, events

    with otf2.writer.open(str(folder), timer_resolution=10**8) as trace:
        d = trace.definitions
        root = d.system_tree_node("machine")
        places = [
            d.location(
                "thread",
                group=d.location_group(
                    f"rank {r}",
                    system_tree_parent=root,
                    location_group_type=LocationGroupType.PROCESS,
                ),
            )
            for r in range(4)
        ]
        d.group("", GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, members=tuple(places))

        def comm(name: str, ranks: list[int]) -> Any:
            members = tuple(places[r] for r in ranks)
            group = d.group(name, GroupType.COMM_GROUP, paradigm=Paradigm.MPI, members=members)
            return d.comm(name, group=group)

        world, odd = comm("world", [0, 1, 2, 3]), comm("odd", [3, 1])
        call = d.region("MPI_Call", paradigm=Paradigm.MPI)
        work = d.region("work", paradigm=Paradigm.USER)
        for r, place in enumerate(places):
            writer = trace.event_writer_from_location(place)

            def at(*times: int, inner: list[Any], region: Any = call, to: Any = writer) -> None:
                to.enter(times[0], region)
                for event in inner:
                    to(event)
                to.leave(times[1], region)

            at(100, 200, inner=[])
            at(200, 210, inner=[], region=work)
            at(210, 230, inner=[events.MpiIsend(215, (r + 1) % 4, world, 7, 1000 + r, 1)])
            before = (r - 1) % 4
            at(235, 300, inner=[events.MpiRecv(290, before, world, 7, 1000 + before)])
            at(300, 310, inner=[events.MpiIsendComplete(305, 1)])
            allreduce = events.MpiCollectiveEnd(
                405, CollectiveOp.ALLREDUCE, world, 2**32 - 1, 64, 64
            )
            at(330, 410, inner=[events.MpiCollectiveBegin(330), allreduce])
            if r % 2:
                sent = 2 * 500 if r == 1 else 0
                bcast = events.MpiCollectiveEnd(505, CollectiveOp.BCAST, odd, 1, sent, 500)
                at(410, 510, inner=[events.MpiCollectiveBegin(410), bcast])
    return folder / "traces.otf2"


def test_an_archive_of_four_ranks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive, out = write_archive(tmp_path / "a"), tmp_path / "a.goal"
    assert main(["trace", "convert", str(archive), "--out", str(out)]) == 0
    told = capsys.readouterr().out
    n_bytes = sum(1000 + r for r in range(4)) + 8 * 16 + 500
    assert f"4 ranks, 13 messages, {n_bytes:,} bytes" in told
    assert "allreduce 1, bcast 1" in told
    assert "left out" not in told
    program = read_goal(out)
    program.validate()
    # 100 ns in work, 50 before the receive, 200 before the allreduce
    per_rank = np.add.reduceat(program.compute_s, program.step_ptr[:-1])
    assert per_rank == pytest.approx([350e-9] * 4)
    messages = Counter(
        zip(
            program.send_src().tolist(),
            program.send_dst.tolist(),
            program.send_bytes.tolist(),
            strict=True,
        )
    )
    ring = [(r, (r + 1) % 4, 1000 + r) for r in range(4)]
    halves = [(r, r ^ s, 16) for r in range(4) for s in (1, 2)]
    assert messages == Counter([*ring, *halves, (1, 3, 500)])

    quick = ["--no-compute"]
    assert main(["trace", "convert", str(archive), "--out", str(out), *quick]) == 0
    assert read_goal(out).compute_s.sum() == 0


def test_the_ping_pong_of_another_project(tmp_path: Path, shared_dir: Path) -> None:
    pytest.importorskip("otf2", reason="the otf2 library is not installed")
    archive = shared_dir / "inputs" / "otf2-ping-pong" / "traces.otf2"
    if not archive.is_file():
        pytest.skip("the archive otf2-ping-pong is not in the reference data")
    out = tmp_path / "p.goal"
    assert main(["trace", "convert", str(archive), "--out", str(out)]) == 0
    program = read_goal(out)
    assert program.n_ranks == 2
    assert program.send_bytes.tolist() == PING_PONG * 2  # there and back, from 16 KiB to 2 MiB
    assert program.send_dst.tolist() == [1] * 8 + [0] * 8
    # Less than what passes from the first call of MPI to the last.
    per_rank = np.add.reduceat(program.compute_s, program.step_ptr[:-1])
    ticks = np.array([131435130 - 117963951, 131540682 - 117965914])
    assert np.all((per_rank > 0) & (per_rank < ticks / 2.095191439e9))


def test_a_cut_archive_is_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    archive = write_archive(tmp_path / "a")
    for event_file in (tmp_path / "a" / "traces").glob("*.evt"):
        event_file.write_bytes(event_file.read_bytes()[:20])
    assert main(["trace", "convert", str(archive), "--out", str(tmp_path / "o.goal")]) == 2
    [line] = capfd.readouterr().err.splitlines()
    assert "cannot read this archive" in line
    assert not (tmp_path / "o.goal").exists()


def test_without_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from patterns.importers.otf2_archive import otf2_goal

    path = tmp_path / "traces.otf2"
    path.write_bytes(b"\x03BOTF2\0\3")
    monkeypatch.setitem(sys.modules, "otf2", None)
    with pytest.raises(NetcosimError, match=r'pip install "netcosim\[otf2\]"'):
        otf2_goal(path)
