"""Chakra traces of all ranks: nodes, groups, sizes, the times of a step, and its messages."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection import examples

import netcosim as nc
from netsim.errors import NetcosimError
from netsim.inputs import file_digest
from patterns.recorded import chakra as chakra_traces
from patterns.recorded import chakra_steps
from patterns.recorded.chakra import read_trace
from patterns.recorded.chakra_steps import Roofline, chakra_graph, roofline_of
from patterns.recorded.graph import Node, StepGraph
from patterns.registry import PATTERNS, make_pattern

pytest.importorskip("google.protobuf")
RNG = np.random.default_rng(1)
MIB = 1 << 20
Value = int | bool | str | Sequence[bool] | Sequence[int]


def varint(n: int) -> bytes:
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)


def field(number: int, value: int | bytes) -> bytes:
    """A field of protobuf: a number, or a length and bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


VALUES: dict[type, int] = {int: 9, bool: 27, str: 29}
"""Fields of an attribute's value: int64_val, bool_val, string_val; a list has the next number."""


def node(
    number: int,
    kind: int,
    *needs: int,
    us: int = 0,
    after: tuple[int, ...] = (),
    values: dict[type, int] = VALUES,
    inputs: str = "",
    **attributes: Value,
) -> bytes:
    """A node of a Chakra trace, with its dependencies by data and by control (``after``)."""
    raw = field(1, number) + field(2, f"n{number}".encode()) + field(3, kind)
    raw += b"".join(field(4, other) for other in after)
    raw += b"".join(field(5, other) for other in needs) + field(7, us)
    if inputs:
        raw += field(8, field(1, inputs.encode()))
    for name, value in attributes.items():
        if isinstance(value, Sequence) and not isinstance(value, str):
            listed = b"".join(field(1, one) for one in value)
            coded = field(values[type(value[0])] + 1, listed)
        else:
            coded = field(values[type(value)], value.encode() if isinstance(value, str) else value)
        raw += field(10, field(1, name.encode()) + coded)
    return raw


def chakra(*nodes: bytes) -> bytes:
    return b"".join(varint(len(raw)) + raw for raw in (field(1, b"0.0.4"), *nodes))


def write(folder: Path, *ranks: bytes, members: Mapping[str, Sequence[int]] | None = None) -> str:
    """Write a trace of each rank, and the members of groups; return the first one's path."""
    for rank, raw in enumerate(ranks):
        (folder / f"step.{rank}.et").write_bytes(raw)
    if members is not None:
        (folder / "step.json").write_text(json.dumps(members))
    return str(folder / "step.0.et")


def sent_bytes(path: str, n_ranks: int, **parameters: object) -> int:
    made = make_pattern("training-file", n_ranks, 1, 1, RNG, {"file": path, **parameters})
    made.validate()
    return made.total_bytes


def packets_s(path: str, n_ranks: int, **parameters: object) -> float:
    """Seconds of a step by packets on links of 1 GB/s."""
    machine = {"radix": 16, "levels": 2, "bandwidth_Bps": 1_000_000_000}
    routing = nc.make_routing(nc.make_topology("fattree", machine))
    work = nc.Communication("training-file", parameters={"file": path, **parameters})
    network = nc.SharedNetwork(routing, task_mapping="in-order")
    job = nc.PlacedJob(1, work, np.arange(n_ranks))
    return float(nc.Ensemble(network, [job]).packets().time_s[0])


def test_nodes_are_read_in_the_order_of_their_dependencies(tmp_path: Path) -> None:
    """Written field by field, apart from the library that reads it."""
    path = write(
        tmp_path,
        chakra(
            node(1, 7, 5, comm_type=0, comm_size=MIB, pg_name="0"),
            node(2, 4, us=1000),
            node(3, 7, comm_type=9),
            node(5, 4, 2, us=500),
            node(7, 7, 1, comm_type=7, comm_size=4096, pg_name="0"),
            node(8, 2, us=77),
        ),
    )
    found = [(one.number, one.kind, one.n_bytes, one.seconds) for one in read_trace(path).nodes]
    assert found == [
        (2, "compute", 0, 1e-3),
        (3, "none", 0, 0.0),
        (5, "compute", 0, 5e-4),
        (1, "all-reduce", MIB, 0.0),
        (7, "reduce-scatter", 4096, 0.0),
        (8, "none", 0, 0.0),
    ]
    for p in (4, 8):
        assert sent_bytes(path, p) == 2 * (p - 1) * MIB + (p - 1) * 4096


def test_what_a_gpu_does_takes_time_and_nothing_else(tmp_path: Path) -> None:
    """Computing of the processor, memory and metadata do not, whatever their duration."""
    path = write(
        tmp_path,
        chakra(
            node(1, 4, us=1000, is_cpu_op=True),
            node(2, 4, us=500, is_cpu_op=False),
            *(node(number, kind, us=77) for number, kind in ((3, 1), (4, 2), (5, 3))),
            # a collective has the mark of the processor that calls it
            node(6, 7, comm_type=5, comm_size=64, is_cpu_op=True),
        ),
    )
    found = [(one.kind, one.seconds) for one in read_trace(path).nodes if one.kind != "none"]
    assert found == [("compute", pytest.approx(5e-4)), ("broadcast", 0.0)]


@pytest.mark.parametrize("number", [7, 9, 11, 13])
def test_numbers_may_be_of_any_width_and_kinds_are_those_of_the_schema(number, tmp_path):
    """int32, int64, uint32 and uint64; of ready nodes the smallest number is next."""
    kinds = {2: "all-gather", 0: "all-reduce", 6: "all-to-all", 5: "broadcast", 7: "reduce-scatter"}
    nodes = [
        node(10 + i, 7, values={int: number}, comm_type=kind, comm_size=1)
        for i, kind in enumerate(kinds)
    ]
    # 1 waits for 14 by control; 15 and 2 for nothing
    more = [node(15, 4, us=1), node(1, 4, after=(14,), us=2), node(2, 4, us=3)]
    found = read_trace(write(tmp_path, chakra(*nodes[::-1], *more))).nodes
    assert [one.number for one in found] == [2, 10, 11, 12, 13, 14, 1, 15]
    assert [one.kind for one in found[1:6]] == [*kinds.values()]


@pytest.mark.parametrize(
    ("kind", "times"),
    [
        # each of p ranks gathers comm_size; of the others it is the buffer of a rank
        (2, 8 * 7),
        (0, 2 * 7),
        (7, 7),
        (6, 7),
        (5, 7),
    ],
)
def test_sizes_are_those_of_astra_sim(kind: int, times: int, tmp_path: Path) -> None:
    path = write(tmp_path, chakra(node(1, 7, comm_type=kind, comm_size=MIB)))
    assert sent_bytes(path, 8) == times * MIB


def test_the_files_of_all_ranks_and_their_groups(tmp_path: Path) -> None:
    """Ranks 0, 1 and 2, 3 reduce 8 MiB; then 0, 2 and 1, 3 gather 1 MiB each."""
    ranks = [
        chakra(
            node(1, 7, comm_type=0, comm_size=8 * MIB, pg_name=str(1 + r // 2)),
            node(2, 7, 1, comm_type=2, comm_size=MIB, comm_group=3 + r % 2),
        )
        for r in range(4)
    ]
    members = {"1": [0, 1], "2": [2, 3], "3": [0, 2], "4": [1, 3]}
    path = write(tmp_path, *ranks, members=members)
    assert PATTERNS["training-file"].least_ranks({"file": path}) == 4
    assert sent_bytes(path, 4) == sent_bytes(path, 6) == 4 * 8 * MIB + 4 * MIB
    graph = chakra_graph(path, 4)
    assert graph.bytes_sent() == {("groups of 2", 2): 8 * MIB, ("groups of 2, every 2", 2): MIB}
    assert graph.schedule(1e9).seconds == pytest.approx(9 * MIB / 1e9)
    assert packets_s(path, 4) == pytest.approx(9 * MIB / 1e9, rel=0.01)
    with pytest.raises(NetcosimError, match="it has 4 ranks; a job of 3 is too small"):
        sent_bytes(path, 3)


def test_groups_may_be_noted_by_pytorch_or_in_a_file_of_any_number(tmp_path: Path) -> None:
    noted = '[\'[{"pg_name": "7", "ranks": [1, 2]}]\']', '[{"pg_name": "8", "ranks": []}]'
    sent = [
        [
            *([node(2, 7, 1, comm_type=0, comm_size=64, pg_name="7")] if r else []),
            node(3, 7, 1, comm_type=0, comm_size=96, pg_name="8"),
        ]
        for r in range(3)
    ]
    ranks = [
        chakra(
            node(1, 1, inputs=noted[0]),
            node(4, 1, inputs=noted[1]),
            # only nodes of metadata note groups
            node(5, 4, us=1, inputs='[{"pg_name": "7", "ranks": [0]}]'),
            *of_rank,
        )
        for of_rank in sent
    ]
    path = write(tmp_path, *ranks)
    assert sent_bytes(path, 3) == 2 * 64 + 4 * 96
    # the file that ends as the prefix does, of several
    for rank, of_rank in enumerate(sent):
        (tmp_path / f"work_2.{rank}.et").write_bytes(chakra(node(1, 1), *of_rank))
    (tmp_path / "comm_group_1.json").write_text('{"7": [0, 1]}')
    (tmp_path / "comm_group_2.json").write_text('{"7": [1, 2], "8": [0, 1, 2]}')
    assert sent_bytes(str(tmp_path / "work_2.0.et"), 3) == 2 * 64 + 4 * 96


def test_the_digest_of_a_rank_file_is_that_of_all(tmp_path: Path) -> None:
    one = chakra(node(1, 4, us=5))
    path = write(tmp_path, one)
    alone = file_digest(path)
    write(tmp_path, one, one)
    both = file_digest(path)
    write(tmp_path, one, chakra(node(1, 4, us=6)))
    other = file_digest(path)
    write(tmp_path, one, chakra(node(1, 4, us=6)), members={"1": [0]})
    assert len({alone, both, other, file_digest(path)}) == 4
    assert file_digest(path) == file_digest(tmp_path / "step.1.et")


def test_files_with_other_numbers_have_digests_of_their_own(tmp_path: Path) -> None:
    for year in (2024, 2026):
        (tmp_path / f"jobs.{year}.json").write_text("{}")
    alone = file_digest(tmp_path / "jobs.2024.json")
    (tmp_path / "jobs.2026.json").write_text("[]")
    assert file_digest(tmp_path / "jobs.2024.json") == alone


def test_a_missing_rank_is_named(tmp_path: Path) -> None:
    one = chakra(node(1, 4, us=5))
    path = write(tmp_path, one, one, one)
    (tmp_path / "step.1.et").unlink()
    with pytest.raises(NetcosimError, match="2 ranks' files are beside it, without that of rank 1"):
        sent_bytes(path, 3)


def test_what_does_not_depend_runs_side_by_side(tmp_path: Path) -> None:
    """On 4 GPUs at 1 GB/s: 3 ms of computing in two nodes, beside 2 x 3/4 x 4 MB = 6 ms."""
    reduce = node(1, 7, comm_type=0, comm_size=4_000_000)
    computing = node(2, 4, us=1000), node(3, 4, us=2000)
    path = write(tmp_path, chakra(reduce, *computing))
    graph = chakra_graph(path, 4)
    assert graph.schedule(1e9).seconds == pytest.approx(6e-3)
    assert graph.exposed_s(graph.schedule(1e9)) == {"groups of 4": pytest.approx(3e-3)}
    assert packets_s(path, 4) == pytest.approx(6e-3, rel=0.01)
    # then 1 ms that needs both: 7 ms, of which 3 are waited for
    path = write(tmp_path, chakra(reduce, *computing, node(4, 4, 1, after=(3,), us=1000)))
    graph = chakra_graph(path, 4)
    assert graph.schedule(1e9).seconds == pytest.approx(7e-3)
    assert graph.exposed_s(graph.schedule(1e9)) == {"groups of 4": pytest.approx(3e-3)}
    assert packets_s(path, 4) == pytest.approx(7e-3, rel=0.01)
    # a chain is the sum, also through a node that takes no time
    chain = [node(2, 4, us=3000), node(4, 1, 2)]
    chain.append(node(1, 7, 4, comm_type=0, comm_size=4_000_000))
    path = write(tmp_path, chakra(*chain, node(3, 4, 1, us=1000)))
    assert chakra_graph(path, 4).schedule(1e9).seconds == pytest.approx(10e-3)
    assert packets_s(path, 4) == pytest.approx(10e-3, rel=0.01)


@pytest.mark.parametrize(
    ("n_bytes", "us", "needs"), [(4_000_000, 1000, ()), (2_000_000, 3000, (1,))]
)
def test_iterations_follow_each_other(n_bytes, us, needs, tmp_path) -> None:
    """2 x 6 ms: a collective that nothing needs ends before the next iteration begins; one of 3 ms
    waits for the 3 ms of computing that follow on that of the iteration before."""
    collective = node(1, 7, comm_type=0, comm_size=n_bytes)
    path = write(tmp_path, chakra(collective, node(2, 4, *needs, us=us)))
    made = make_pattern("training-file", 4, 1, 2, RNG, {"file": path})
    machine = {"radix": 16, "levels": 2, "bandwidth_Bps": 1_000_000_000}
    routing = nc.make_routing(nc.make_topology("fattree", machine))
    traffic = nc.combine([made], [np.arange(4)])
    result = nc.simulate_packets(routing, traffic, nc.PacketConfig(), RNG)
    assert result.group_finish_ps[0] == pytest.approx(12e9, rel=0.01)


def pipeline(folder: Path) -> str:
    """Two stages of two micro-batches: forward 1 ms, backward 2 ms, messages of 2 MB."""
    first = [node(1, 4, us=1000), node(2, 5, 1, comm_dst=1, comm_size=2_000_000, comm_tag=1)]
    first += [node(3, 4, 1, us=1000), node(4, 5, 3, comm_dst=1, comm_size=2_000_000, comm_tag=2)]
    first += [node(5, 6, comm_src=1, comm_size=2_000_000, comm_tag=1), node(6, 4, 5, 3, us=2000)]
    first += [node(7, 6, comm_src=1, comm_size=2_000_000, comm_tag=2), node(8, 4, 7, 6, us=2000)]
    last: list[bytes] = []
    for k in range(2):
        at = 10 * k
        last += [node(at + 1, 6, comm_src=0, comm_size=2_000_000, comm_tag=k + 1)]
        last += [node(at + 2, 4, at + 1, us=1000), node(at + 3, 4, at + 2, us=2000)]
        last += [node(at + 4, 5, at + 3, comm_dst=0, comm_size=2_000_000, comm_tag=k + 1)]
    return write(folder, chakra(*first), chakra(*last))


def test_sends_and_receives_of_a_pipeline(tmp_path: Path) -> None:
    """The last stage has 2 ms of waiting, 2 x 3 ms of work; then 2 ms of message, 2 of backward."""
    path = pipeline(tmp_path)
    graph = chakra_graph(path, 2)
    schedule = graph.schedule(1e9)
    assert schedule.seconds == pytest.approx(13e-3)
    assert sent_bytes(path, 2) == 4 * 2_000_000
    # stage 0 waits from 2 to 8 and 10 to 11, stage 1 from 0 to 3, and at its end for nothing
    assert graph.exposed_s(schedule) == {"messages": pytest.approx((6 + 1 + 3) / 2 * 1e-3)}
    assert packets_s(path, 2) == pytest.approx(13e-3, rel=0.01)


def test_messages_that_do_not_fit_are_named(tmp_path: Path) -> None:
    send = node(1, 5, comm_dst=1, comm_size=8, comm_tag=3)
    path = write(tmp_path, chakra(send), chakra(node(1, 4, us=1)))
    what = "messages of GPU 0 to GPU 1 with tag 3: "
    with pytest.raises(NetcosimError, match=f"{what}1 are sent, 0 received"):
        sent_bytes(path, 2)
    write(tmp_path, chakra(send), chakra(node(1, 6, comm_src=0, comm_size=9, comm_tag=3)))
    with pytest.raises(NetcosimError, match=f"{what}8 bytes are sent, 9 received"):
        sent_bytes(path, 2)
    write(tmp_path, chakra(send), chakra(node(1, 6, comm_src=2, comm_size=8)))
    with pytest.raises(NetcosimError, match="receive of rank 1 with rank 2; the trace has ranks 0"):
        sent_bytes(path, 2)
    for peer in (0, 2, 3):
        write(tmp_path, chakra(node(1, 5, comm_dst=peer, comm_size=8)), chakra(node(1, 4, us=1)))
        with pytest.raises(NetcosimError, match=f"send of rank 0 with rank {peer}; the trace has"):
            sent_bytes(path, 2)


def test_ranks_that_wait_for_each_other_are_refused(tmp_path: Path) -> None:
    """Each sends what the other one waits for only after it has received."""
    ranks = [
        chakra(
            node(1, 6, comm_src=1 - r, comm_size=8),
            node(2, 5, 1, comm_dst=1 - r, comm_size=8),
        )
        for r in range(2)
    ]
    with pytest.raises(NetcosimError, match=r"node 1: GPUs wait for each other .* \(4 nodes\)"):
        sent_bytes(write(tmp_path, *ranks), 2)


def test_members_that_disagree_are_refused(tmp_path: Path) -> None:
    one = node(1, 7, comm_type=0, comm_size=64)
    path = write(tmp_path, chakra(one), chakra(one, node(2, 7, comm_type=0, comm_size=64)))
    with pytest.raises(NetcosimError, match="GPU 1 has 2 collectives, GPU 0 has 1"):
        sent_bytes(path, 2)
    write(tmp_path, chakra(one), chakra(node(1, 7, comm_type=0, comm_size=65)))
    with pytest.raises(NetcosimError, match="all-reduce of 64 bytes and all-reduce of 65 at once"):
        sent_bytes(path, 2)


@pytest.mark.parametrize(
    ("involved", "total"),
    [
        # two rings of 4: 2 x 2 x 3 of 1 MiB; four of 2: 4 x 2 x 1; one of 8: 2 x 7
        ([True, False], 12),
        ([1, 0], 12),
        ([False, True], 8),
        ([True, True], 14),
        ([True, True, True, True], 14),
        # of more dimensions than there are, the first ones count
        ([True, False, True], 12),
        (True, 14),
    ],
)
def test_dimensions_that_take_part(involved: Value, total: int, tmp_path: Path) -> None:
    """On 4 x 2 GPUs, the first dimension fastest."""
    path = write(tmp_path, chakra(node(1, 7, comm_type=0, comm_size=MIB, involved_dim=involved)))
    assert sent_bytes(path, 8, dims=[4, 2]) == sent_bytes(path, 9, dims=[4, 2]) == total * MIB
    if total < 14:
        with pytest.raises(NetcosimError, match=r"involved_dim = \[.*\]; set parameters.dims"):
            sent_bytes(path, 8)


def test_a_group_has_its_members_whatever_dimensions_take_part(tmp_path: Path) -> None:
    """As in ASTRA-sim, which reads the dimensions only of collectives of all ranks."""
    one = chakra(
        node(1, 7, comm_type=0, comm_size=64, involved_dim=[True, False], pg_name="1"),
        node(2, 7, comm_type=0, comm_size=64, involved_dim=[False, True], pg_name="0"),
    )
    path = write(tmp_path, *[one] * 4, members={"1": [0, 1, 2, 3]})
    assert sent_bytes(path, 4, dims=[2, 2]) == 2 * 3 * 64 + 2 * 2 * 64


def test_a_roofline(tmp_path: Path) -> None:
    """At 100 TFLOP/s and 1 TB/s: 2e12 operations 20 ms, 5e9 bytes 5 ms, no bytes no time."""
    roofline = Roofline(100e12, 1e12)
    assert roofline.seconds(2e12, 5e9) == pytest.approx(0.02)
    assert roofline.seconds(1e9, 5e9) == pytest.approx(0.005)
    assert roofline.seconds(1e9, 0) == 0.0
    path = write(
        tmp_path,
        chakra(
            node(1, 4, num_ops=2 * 10**12, tensor_size=5 * 10**9),
            node(2, 4, num_ops=10**9, tensor_size=5 * 10**9, us=77),
            node(3, 4, us=1000),
        ),
    )
    known = {"peak_TFLOPS": 100.0, "memory_GBps": 1000.0}
    made = make_pattern("training-file", 1, 1, 1, RNG, {"file": path, **known})
    assert made.compute_s.sum() == pytest.approx(0.026)
    assert roofline_of("h100", 0.0, 0.0) == Roofline(989e12, 3350e9)
    assert roofline_of("h100", 400.0, 0.0) == Roofline(400e12, 3350e9)
    assert roofline_of("none", 0.0, 0.0) is None
    with pytest.raises(NetcosimError, match="needs memory_GBps"):
        roofline_of("none", 100.0, 0.0)
    with pytest.raises(NetcosimError, match="needs peak_TFLOPS"):
        roofline_of("none", 0.0, 1000.0)
    # a recorded time is taken without a roofline
    timed = write(tmp_path, chakra(node(1, 4, num_ops=10**9, us=1000)))
    assert make_pattern("training-file", 1, 1, 1, RNG, {"file": timed}).compute_s.sum() == 1e-3
    write(tmp_path, chakra(node(1, 4, num_ops=2 * 10**12), node(2, 4, us=5)))
    with pytest.raises(NetcosimError, match=r"node 1: computing with num_ops and no duration; set"):
        sent_bytes(path, 1)
    assert sent_bytes(path, 1, compute=False) == 0


def test_computing_without_any_time_is_refused(tmp_path: Path) -> None:
    """A duration below a microsecond is 0 among others, but not if there is no other one."""
    path = write(tmp_path, chakra(node(1, 4), node(2, 4, us=5)))
    assert sent_bytes(path, 1) == 0
    write(tmp_path, chakra(node(1, 4)))
    with pytest.raises(NetcosimError, match="no duration and no num_ops"):
        sent_bytes(path, 1)


def test_json_of_three_writers_is_the_same_step(tmp_path: Path) -> None:
    """A node of computing, then an all-gather of 1 MiB of 4 ranks."""
    expected = read_trace(
        write(tmp_path, chakra(node(1, 4, us=7), node(2, 7, 1, comm_type=2, comm_size=MIB)))
    ).nodes
    texts = {
        "jsonizer": '{"version": "0.0.4"}{"id": "1", "type": "COMP_NODE", "durationMicros": "7"}\n'
        '{"id": "2", "name": "g", "type": "COMM_COLL_NODE", "dataDeps": ["1"], "attr": ['
        '{"name": "comm_type", "int64Val": "2"}, {"name": "comm_size", "uint64Val": "1048576"}, '
        '{"name": "involved_dim", "boolList": {"values": [true, true]}}]}',
        "feeder": json.dumps(
            {
                "workload_graph": [
                    {"Id": 1, "Name": "c", "NodeType": 4, "ctrlDeps": [99], "runtime": 7},
                    {"Id": 2, "NodeType": 7, "data_deps": [1], "comm_type": 2, "comm_size": MIB},
                ]
            }
        ),
        "stg": json.dumps(
            {
                "nodes": [
                    {"id": 1, "node_type": "comp_node", "runtime": 7},
                    {
                        "id": 2,
                        "node_type": "coll_comm_node",
                        "data_deps": [1],
                        "comm_type": "ALL_GATHER",
                        "comm_size": MIB,
                        "comm_group": 0,
                    },
                ]
            }
        ),
    }
    for name, text in texts.items():
        path = tmp_path / f"{name}.0.json"
        path.write_text(text)
        assert read_trace(str(path)).nodes == expected
        assert sent_bytes(str(path), 4) == 4 * 3 * MIB
        # the format is that of the content, whatever the name
        other = path.with_name(f"{name}-too.0.et")
        other.write_text(text)
        assert read_trace(str(other)).nodes == expected
    # of the jsonizer, which leaves zeros out: node 0, of no type
    path = tmp_path / "zero.0.json"
    path.write_text(
        '{"version": "4"}{"name": "n"}{"id": "1", "dataDeps": ["0"], "type": "COMP_NODE"}'
    )
    found = read_trace(str(path)).nodes
    assert [(one.number, one.kind, one.needs) for one in found] == [
        (0, "none", ()),
        (1, "compute", (0,)),
    ]
    # white space between objects and at the end; a value of a fraction; groups that are noted
    path.write_text(
        '{"version": "4"}  \n{"id": "1", "type": "COMP_NODE", "attr": [{"name": "x", '
        '"floatVal": 0.5}]}{"id": "2", "type": "METADATA_NODE", "inputs": {"values": '
        '"[{\\"pg_name\\": \\"7\\", \\"ranks\\": [1, 2]}]"}} \n '
    )
    assert read_trace(str(path)).groups == {"7": (1, 2)}
    path = tmp_path / "protobuf.0.json"
    path.write_bytes((tmp_path / "step.0.et").read_bytes())
    assert read_trace(str(path)).nodes == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "no object"),
        ('{"nodes": [', "character 0"),
        ('{"nodes": [1]}', "not a Chakra trace in JSON ("),
        ('{"nodes": []}', "a Chakra trace without nodes"),
        ('{"nodes": [{"id": 1, "node_type": 4, "runtime": -5}]}', "a duration of -5 us"),
        ('{"nodes": [{"id": 1, "node_type": "loop"}]}', "node 1 (): type -1, comm_type -1; known"),
    ],
)
def test_json_that_is_no_trace(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "w.0.json"
    path.write_text(text)
    with pytest.raises(NetcosimError) as caught:
        read_trace(str(path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_published_traces_are_one_collective_of_one_mebibyte(shared_dir: Path) -> None:
    files = sorted((shared_dir / "inputs/ai/astra-sim/chakra").glob("*/*.et"))
    if not files:
        pytest.skip("the traces of ASTRA-sim are not part of the project")
    assert len(files) == 24
    for path in files:
        gpus = 4 if "4npus" in path.parent.name else 8
        # each GPU sends 2 (p - 1)/p or (p - 1)/p of 1 MiB
        times = 2 if "all_reduce" in path.name else 1
        assert sent_bytes(str(path), gpus) == times * (gpus - 1) * MIB


def stg(shared_dir: Path, name: str) -> str:
    path = shared_dir / "inputs/cases" / name / "w.0.et"
    if not path.exists():
        pytest.skip("the traces of symbolic tensor graph are not part of the project")
    return str(path)


def test_stg_data_parallelism(shared_dir: Path) -> None:
    """Hidden size 2,048, inner 8,192, 32,000 words: gradients of 4 layers and two embeddings.

    The generator sizes a layer's gradients as 4 h^2 + 2 h f. They are reduced as soon as a layer's
    backward pass is done, the last layer's first, the embeddings' after them.
    """
    path = stg(shared_dir, "stg-dp4")
    graph = chakra_graph(path, 4, roofline_of("h100", 0.0, 0.0))
    layer, embedding = 4 * 2048**2 + 2 * 2048 * 8192, 32_000 * 2048
    each = 2 * 3 / 4 * (4 * layer + 2 * embedding)
    assert graph.bytes_sent() == {("groups of 4", 4): each}
    assert sent_bytes(path, 4, gpu="h100") == 4 * each
    schedule = graph.schedule(1e15)
    reduced = [graph.tasks[t].node for t in schedule.order if graph.tasks[t].node.members]
    assert [one.n_bytes for one in reduced if one.n_bytes == layer] == [layer] * 4
    assert [one.number for one in reduced if one.n_bytes == layer] == [298, 222, 146, 70]
    check_times(graph, path)


def test_stg_three_parallelisms(shared_dir: Path) -> None:
    """Groups 1 to 4 are data parallel, 5 to 8 tensor parallel, and messages are between stages."""
    path = stg(shared_dir, "stg-dp2tp2pp2")
    graph = chakra_graph(path, 8, roofline_of("h100", 0.0, 0.0))
    for own in graph.nodes:
        by_group = Counter((n.kind, n.members[1] - n.members[0]) for n in own if n.members)
        sizes = {n.n_bytes for n in own if n.kind in ("all-gather", "reduce-scatter")}
        # a gather of shards of 16.8 MB has what a scatter of 33.6 MB begins with
        assert sizes == {33_554_432}
        assert by_group == {
            ("all-gather", 2): 12,
            ("reduce-scatter", 2): 8,
            ("all-reduce", 1): 3,
            ("all-reduce", 2): 1,
        }
        # an activation over tp forwards, its gradient backwards
        sent = [n for n in own if n.kind in ("send", "receive")]
        assert {n.n_bytes for n in sent} == {16_777_216}
    assert graph.bytes_sent()["messages", 2] == 16_777_216
    check_times(graph, path)


def check_times(graph: StepGraph, path: str) -> None:
    """The step has no less than its computing; packets take as long; laws of its schedule."""
    seconds = packets_s(path, graph.gpus, gpu="h100", scale=1e-2)
    assert seconds == pytest.approx(1e-2 * graph.schedule(1e9).seconds, rel=0.01)
    schedule = graph.schedule(50e9)
    assert max(graph.computing_s()) <= schedule.seconds
    for t, task in enumerate(graph.tasks):
        for gpu, i in task.nodes:
            for j in graph.nodes[gpu][i].needs:
                before = graph.task_of[gpu, j]
                assert schedule.end_s[before] <= schedule.begin_s[t]
    # computing and waiting are the time until a GPU's last task that is no send
    ends = np.zeros(graph.gpus)
    for t, task in enumerate(graph.tasks):
        for gpu, _ in task.nodes:
            ends[gpu] = max(ends[gpu], schedule.end_s[t] if task.node.kind != "send" else 0)
    waited = sum(graph.exposed_s(schedule).values())
    assert sum(graph.computing_s()) / graph.gpus + waited == pytest.approx(ends.mean())


def test_traces_of_too_many_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chakra_traces, "MAX_NODES", 1)
    path = write(tmp_path, chakra(node(1, 4, us=5)))
    assert len(read_trace(path).nodes) == 1
    for raw in (chakra(b"\xff", b"\xff"), b'{"nodes": [{"id": 1}, {"id": 2}]}'):
        write(tmp_path, raw)
        with pytest.raises(NetcosimError, match="2 nodes; at most 1 are read"):
            read_trace(path)


def test_memory_of_a_step_is_that_of_all_ranks(tmp_path, monkeypatch):
    """Two nodes for each of 4 ranks; 1 and 2 nodes of 2 ranks."""
    monkeypatch.setattr(chakra_steps, "NODE_BYTES", 10**15)
    one, two = chakra(node(1, 4, us=5)), chakra(node(1, 4, us=5), node(2, 4, us=5))
    with pytest.raises(NetcosimError, match="8 nodes of 4 ranks"):
        chakra_graph(write(tmp_path, two), 4)
    with pytest.raises(NetcosimError, match="3 nodes of 2 ranks"):
        chakra_graph(write(tmp_path, one, two), 2)


def test_lengths_are_varints(tmp_path: Path) -> None:
    """A node of 16,384 bytes, of which the first two of three bytes of its length are 0."""
    raw = node(1, 4, us=5, pad="x" * 16_362)
    assert varint(len(raw)) == b"\x80\x80\x01"
    assert read_trace(write(tmp_path, chakra(raw))).nodes[0].seconds == pytest.approx(5e-6)


def test_a_trace_alone_and_groups_of_one(tmp_path: Path) -> None:
    """A group that nothing names is all ranks of a trace alone; a group of one sends nothing."""
    one = chakra(node(1, 7, comm_type=0, comm_size=8, pg_name="5"))
    assert sent_bytes(write(tmp_path, one), 4) == 2 * 3 * 8
    path = write(tmp_path, one, one.replace(b"5", b"6"), members={"5": [0], "6": [1]})
    assert [own[0].kind for own in chakra_graph(path, 2).nodes] == ["none", "none"]


def test_protobuf_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    with pytest.raises(NetcosimError, match="Chakra needs the protobuf library"):
        read_trace(write(tmp_path, chakra(node(1, 4))))


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (chakra(), "a Chakra trace without nodes"),
        (b"hello, world", "no Chakra trace"),
        (b"\x80", "no Chakra trace (byte 1)"),
        (b"\x80" * 9, "no Chakra trace (byte 6)"),
        (chakra(b"\xff"), "no Chakra trace (not a node)"),
        (chakra(node(1, 4), node(1, 4)), "node 1: a number twice, or of no node"),
        (chakra(node(1, 4, us=10**16 + 1)), "a duration of 10000000000000001 us"),
        (chakra(node(1, 7, comm_type=[0], comm_size=8)), "type 7, comm_type -1; known are"),
        (chakra(node(1, 8, comm_type=9)), "type 8, comm_type 9 (BARRIER); known are"),
        (chakra(node(1, 9, comm_type=0)), "type 9, comm_type 0 (ALL_REDUCE); known are"),
        (
            chakra(node(1, 5, comm_dst=1, comm_size=8)),
            "a send, in the trace of one rank; the files",
        ),
        (chakra(node(1, 5, comm_size=8)), "comm_dst = missing; it must be a number from 0"),
        (chakra(node(1, 7, comm_type=3)), "comm_type 3 (GATHER); known are computing, sends"),
        (chakra(node(1, 7)), "comm_type -1; known are"),
        (chakra(node(1, 7, comm_type=10)), "comm_type 10; known are"),
        (chakra(node(1, 7, comm_type="all")), "comm_type all; known are"),
        (chakra(node(1, 7, comm_type=0)), "comm_size = missing; it must be a number from 1"),
        (chakra(node(1, 7, comm_type=0, comm_size=0)), "comm_size = 0; it must be a number from 1"),
        (chakra(node(1, 4, 2), node(2, 4, 1)), "2 nodes depend on each other"),
        (chakra(node(1, 4, 9)), "node 1: a number twice, or of no node"),
        (chakra(node(1, 4))[:-1], "cut off"),
        (
            chakra(node(1, 7, comm_type=0, comm_size=8, involved_dim=[2, 0])),
            "involved_dim = [2, 0]; each must be true or false",
        ),
        (
            chakra(node(1, 7, comm_type=0, comm_size=8, involved_dim=[False])),
            "involved_dim = [False]; at least one must be true",
        ),
    ],
)
def test_traces_that_are_not_read(raw: bytes, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, raw)
    with pytest.raises(NetcosimError) as caught:
        sent_bytes(path, 2)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (None, "process group '5'; its members are not in a trace. Write them to PREFIX.json"),
        ({"6": [0, 1]}, "process group '5'; its members are not in a trace"),
        ({"5": [0, 2]}, "process group '5' of ranks [0, 2]; the trace has 2"),
        ({"5": [0, 0]}, "process group '5' of ranks [0, 0]; the trace has 2, each once"),
        ({"5": [0]}, "process group '5' is without rank 1"),
        ({"5": [0, True]}, "not the members of process groups"),
        ({"5": []}, "process group '5' of ranks []; the trace has 2"),
        ({"5": 3}, "not the members of process groups"),
        ({"5": [-1]}, "not the members of process groups"),
    ],
)
def test_groups_that_are_refused(members, message, tmp_path):
    one = chakra(node(1, 7, comm_type=0, comm_size=8, pg_name="5"))
    path = write(tmp_path, one, one, members=members)
    with pytest.raises(NetcosimError) as caught:
        sent_bytes(path, 2)
    assert message in str(caught.value)


def test_a_trace_of_all_ranks_needs_them_in_its_groups(tmp_path: Path) -> None:
    one = chakra(node(1, 7, comm_type=0, comm_size=8, pg_name="5"))
    for ranks, more in ((1, ", and it is the trace of all ranks"), (2, "")):
        folder = tmp_path / str(ranks)
        folder.mkdir()
        path = write(folder, *[one] * ranks, members={"5": [1]})
        with pytest.raises(NetcosimError, match=f"is without rank 0{more}$"):
            chakra_graph(path, 2)


def test_dims_of_other_ranks_and_tensor_parallelism_are_refused(tmp_path: Path) -> None:
    one = chakra(node(1, 7, comm_type=0, comm_size=8))
    path = write(tmp_path, one, one)
    with pytest.raises(NetcosimError, match="dims = 3 x 2; the trace has 2 ranks"):
        chakra_graph(path, 6, dims=(3, 2))
    with pytest.raises(NetcosimError, match="scale_up_GBps = 450"):
        sent_bytes(path, 2, scale_up_GBps=450.0)


@st.composite
def graphs(draw: st.DrawFn) -> StepGraph:
    """Three GPUs that compute, reduce in pairs and all together, and send in a ring."""
    gpus, lists = 3, [list[Node]() for _ in range(3)]
    for number in range(draw(st.integers(1, 9))):
        what = draw(st.sampled_from(["compute", "all", "pair", "message", "none"]))
        size = draw(st.integers(1, 5)) * 1_000_000
        first = draw(st.integers(0, gpus - 1))
        second = (first + 1) % gpus
        groups = {"all": (0, 1, 2), "pair": (first, second)}

        def needs(gpu: int) -> tuple[int, ...]:
            before = st.integers(0, max(0, len(lists[gpu]) - 1))
            return tuple(draw(st.sets(before, max_size=2))) if lists[gpu] else ()

        if what in groups:
            for gpu in groups[what]:
                one = Node("all-reduce", needs(gpu), size, members=groups[what], number=number)
                lists[gpu].append(one)
        elif what == "message":
            for gpu, kind, peer in ((first, "send", second), (second, "receive", first)):
                lists[gpu].append(Node(kind, needs(gpu), size, peer=peer, number=number))
        else:
            seconds = size * 1e-9 if what == "compute" else 0.0
            lists[first].append(Node(what, needs(first), seconds=seconds, number=number))
    return StepGraph(tuple(map(tuple, lists)))


def test_of_two_that_can_begin_the_smaller_number_does() -> None:
    """Wherever it is listed: 2 s of number 1, then 1 s of number 2."""
    both = [Node("compute", (), seconds=3.0 - n, number=n) for n in (2, 1)]
    assert StepGraph((tuple(both),)).schedule().begin_s.tolist() == [2.0, 0.0]


@given(graphs())
@examples(60)
def test_a_schedule_never_idles_and_runs_the_smallest_number_first(graph: StepGraph) -> None:
    """What is ready and has not begun waits for a GPU that is busy, at every moment."""
    schedule, tasks = graph.schedule(1e9), graph.tasks
    begin_s, end_s = schedule.begin_s.tolist(), schedule.end_s.tolist()
    assert sorted(schedule.order) == list(range(len(tasks)))

    def ready_s(gpu: int, i: int) -> float:
        """When what a node needs is complete; of a receive, when its message has been sent."""
        node = graph.nodes[gpu][i]
        found = [0.0]
        for j in node.needs:
            none = graph.nodes[gpu][j].kind == "none"
            found.append(ready_s(gpu, j) if none else end_s[graph.task_of[gpu, j]])
        if node.kind == "receive":
            found.append(end_s[graph.sent[graph.task_of[gpu, i]]])
        return max(found)

    ready = [max(ready_s(*place) for place in task.nodes) for task in tasks]

    def holds(t: int, at_s: float, but: int = -1) -> bool:
        """Whether another task than ``but`` holds what a task uses, at a moment."""
        return any(
            u not in (t, but)
            and begin_s[u] <= at_s < end_s[u]
            and not set(tasks[u].uses).isdisjoint(tasks[t].uses)
            for u in range(len(tasks))
        )

    for t, task in enumerate(tasks):
        n, size = len(task.node.members), task.node.n_bytes / 1e9
        takes = 2 * (n - 1) / n * size if n else task.node.seconds
        takes += size * (task.node.kind == "send")
        assert end_s[t] - begin_s[t] == pytest.approx(takes)
        assert begin_s[t] >= ready[t]
        assert not holds(t, begin_s[t])
        for at_s in {*ready, *begin_s, *end_s}:
            if ready[t] <= at_s < begin_s[t]:
                assert holds(t, at_s)
        for u, other in enumerate(tasks):
            if ready[t] <= begin_s[u] < begin_s[t] and not set(other.uses).isdisjoint(task.uses):
                assert other.node.number <= task.node.number or holds(t, begin_s[u], but=u)


@given(graphs())
@examples(15)
def test_programs_of_graphs_end_with_all_bytes_sent(graph: StepGraph) -> None:
    """In the time that the longest of its tasks takes at least, and all of them at most."""
    made = graph.program(3)
    made.validate()
    sizes = [(len(task.node.members), task.node) for task in graph.tasks]
    sent = sum(
        2 * (n - 1) * node.n_bytes if n else node.n_bytes * (node.kind == "send")
        for n, node in sizes
    )
    assert made.total_bytes == pytest.approx(sent, abs=100)
    machine = {"radix": 16, "levels": 2, "bandwidth_Bps": 1_000_000_000}
    routing = nc.make_routing(nc.make_topology("fattree", machine))
    packets = nc.PacketConfig(packet_bytes=65536, buffer_bytes=1 << 22)
    result = nc.simulate_packets(routing, nc.combine([made], [np.arange(3)]), packets, RNG)
    seconds = float(result.group_finish_ps[0]) * 1e-12
    total = sum(node.seconds for _, node in sizes) + sent / 1e9
    longest = max((task.seconds(1e9) for task in graph.tasks), default=0.0)
    assert 0.99 * longest <= seconds <= 1.05 * total + 1e-3
