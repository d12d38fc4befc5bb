"""``netcosim match``: outputs of benchmarks, their tests simulated, and fits of end points."""

from __future__ import annotations

import gzip
import html
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.machines.match.fit import (
    PARAMETERS,
    Fitted,
    _determining,
    explaining,
    fit,
    match_all,
)
from experiments.machines.match.machine import MatchMachine, load_match, match_from
from experiments.machines.match.outputs import read_output
from experiments.machines.match.report import details, frame_of, judged, recommend
from experiments.machines.match.rows import Row
from experiments.machines.match.tests import Matched, _send, match, mpich_choice
from netcosim.cli import main
from netsim.errors import ModelWarning, NetcosimError
from patterns.registry import make_pattern

pytestmark = pytest.mark.usefixtures("undrawn")

OSU = """# OSU MPI {} Test v7.4
# Datatype: MPI_CHAR.
# Size {}
"""
BW = OSU.format("Bandwidth", "Bandwidth (MB/s)") + "1  2.32\n4194304  27161.33\n"
MBW = """srun: job 7 queued
# OSU MPI Multiple Bandwidth / Message Rate Test v7.4
# [ pairs: 4 ] [ window size: 64 ]
# Size                  MB/s        Messages/s
1                       2.36        2356892.44
"""
A2A = (
    OSU.format("All-to-All Personalized Exchange Latency", "Avg Latency(us) Min Max Iterations")
    + "# nodes: 4\n# ranks: 16\n1  7.61  6.38  8.84  1000\n"
)
GPCNET = """NetworkLoad Tests v1.3
  Test with 2048 MPI ranks (64 nodes)
  13 nodes running Network Tests
  51 nodes running Congestion Tests (min 12 nodes per congestor)

|                            Isolated Network Tests                            |
|                            Name |          Avg |          99% |        Units |
|          RR Two-sided Lat (8 B) |          2.9 |          4.3 |         usec |
|                   Network Tests running with Congestion Tests                |
|                            Name |          Avg |          99% |        Units |
| RR Two-sided BW+Sync (131072 B) |       4057.7 |       2820.6 |   MiB/s/rank |
|          Network Tests running with Congestion Tests - Key Results           |
|                            Name |                  Avg |                 99% |
|          RR Two-sided Lat (8 B) |                 1.5X |                2.0X |
"""
MPIGRAPH = (
    "START mpiGraph v1.5\nMsgSize\t1048576\nTimes\t100\nWindow\t50\nProcs\t2\n\n"
    "Send\ta:0\tb:1\t\na:0 to\t0.000\t10.000\t\nb:1 to\t40.000\t0.000\t\n"
)


def write(folder: Path, text: str, name: str = "out.txt") -> Path:
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BW, [("osu_bw", 1, 2, 2, "mean", 2.32, "MB/s"),
              ("osu_bw", 4194304, 2, 2, "mean", 27161.33, "MB/s")]),
        (BW.replace("MPI ", "MPI_Get "), [("osu_get_bw", 1, 2, 2, "mean", 2.32, "MB/s"),
              ("osu_get_bw", 4194304, 2, 2, "mean", 27161.33, "MB/s")]),
        (BW.replace("MPI ", "MPI-CUDA "), [("osu_bw", 1, 2, 2, "mean", 2.32, "MB/s"),
              ("osu_bw", 4194304, 2, 2, "mean", 27161.33, "MB/s")]),
        (MBW, [("osu_mbw_mr", 1, 8, 8, "mean", 2.36, "MB/s")]),
        (A2A, [("osu_alltoall", 1, 4, 16, "mean", 7.61, "us")]),
        (GPCNET, [
            ("gpcnet isolated RR Two-sided Lat", 8, 13, 416, "mean", 2.9, "us"),
            ("gpcnet isolated RR Two-sided Lat", 8, 13, 416, "p99", 4.3, "us"),
            ("gpcnet congested RR Two-sided BW+Sync", 131072, 13, 416, "mean", 4057.7,
             "MiB/s/rank"),
            ("gpcnet congested RR Two-sided BW+Sync", 131072, 13, 416, "p99", 2820.6,
             "MiB/s/rank"),
            ("gpcnet impact RR Two-sided Lat", 8, 13, 416, "mean", 1.5, "factor"),
            ("gpcnet impact RR Two-sided Lat", 8, 13, 416, "p99", 2.0, "factor"),
        ]),
        # the mean is of times: 2 / (1/10 + 1/40)
        (MPIGRAPH, [("mpigraph", 1048576, 2, 2, "mean", 16.0, "MiB/s"),
                    ("mpigraph", 1048576, 2, 2, "min", 10.0, "MiB/s")]),
        ("collective,algorithm,elements_int32,nodes,tasks_per_node,median_us\n"
         "ALLREDUCE,ring_ompi,8,2x2x2,4,13.5\n",
         [("ALLREDUCE", 32, 8, 32, "median", 13.5, "us")]),
    ],
)  # fmt: skip
def test_outputs_become_rows(tmp_path: Path, text: str, expected: list[tuple[Any, ...]]) -> None:
    rows = read_output(write(tmp_path, text))
    found = [(r.test, r.bytes, r.nodes, r.ranks, r.statistic, r.value, r.unit) for r in rows]
    assert found == expected
    table = frame_of([Matched(one, one.algorithm, 1.0) for one in rows]).to_csv(index=False)
    again = read_output(write(tmp_path, table, "table.csv"))
    assert [(r.test, r.algorithm, r.bytes, r.ranks, r.value) for r in again] == [
        (r.test, r.algorithm, r.bytes, r.ranks, r.value) for r in rows
    ]


LATENCY = """# OSU MPI Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations        Validation
8                       1.12              1.05              9.80       10000              Pass
"""
BARRIER = "# OSU MPI Barrier Latency Test v7.4\n# Avg Latency(us)\n             4.21\n"
NOISE = "srun: job 7 queued\nWARNING: 3 device(s) ignored\n\n"


@pytest.mark.parametrize(
    "text",
    [
        NOISE + LATENCY + "slurmstepd: error: *** STEP 7.0 CANCELLED ***\n",
        LATENCY.replace("\n", "\r\n"),
        "\ufeff" + LATENCY,
        "".join(f"[1,0]<stdout>:{line}\n" for line in LATENCY.splitlines()),
        "".join(f"[1,0]<stdout>: {line}\n" for line in LATENCY.splitlines()),
        "".join(f"0: {line}\n" for line in LATENCY.splitlines()),
    ],
)
def test_what_launchers_add_is_not_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "out.txt").write_bytes(gzip.compress(text.encode()))
    [row] = read_output(tmp_path / "out.txt")
    assert (row.test, row.bytes, row.value, row.unit) == ("osu_latency", 8, 1.12, "us")


def test_one_log_has_several_tests(tmp_path: Path) -> None:
    """Pairs are those of their test; a test that is not simulated is named and left out."""
    gather = A2A.replace("# nodes: 4\n# ranks: 16\n", "")
    path = write(tmp_path, LATENCY + BARRIER + MBW + gather)
    with pytest.warns(ModelWarning, match=r"out.txt:5: OSU's 'Barrier Latency' .* left out"):
        rows = read_output(path, nodes=4, ranks=16)
    assert [(row.test, row.nodes, row.ranks) for row in rows] == [
        ("osu_latency", 2, 2), ("osu_mbw_mr", 4, 8), ("osu_alltoall", 4, 16),
    ]  # fmt: skip


def test_nccl_logs_become_rows(tmp_path: Path) -> None:
    cells = "8192 2048 float sum -1 34.06 0.24 0.45 0 33.00 0.25 0.47 0"
    text = f"# nThread 1 all_reduce_perf\n#  Rank  0 Group 0\n#  Rank  1 Group 0\n{cells}\n"
    [row] = read_output(write(tmp_path, text))
    assert (row.test, row.bytes, row.ranks, row.unit) == ("nccl all-reduce", 8192, 2, "us")
    assert row.value == pytest.approx(34.06)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"out.txt: empty"),
        (LATENCY.replace("Pass", "Fail"), r"out.txt:4: osu_latency failed its validation"),
        (BARRIER, r"out.txt:1: OSU's 'Barrier Latency' is not simulated; osu_get_latency"),
        (LATENCY.replace("MPI", "NCCL"), r"OSU's 'NCCL Latency' is not simulated"),
        ("  8192 2048 float sum -1 34 1 2 0 33 1 2 0\n", r"add its command \(all_reduce_perf"),
        ("hello\n", r"out.txt:1: not recognised; outputs of OSU"),
        (BW.replace("2.32", "fast"), r"out.txt:4: '1  fast'; a size and a value above 0"),
        (BW.replace("2.32", "0"), r"out.txt:4: .* above 0"),
        (BW.replace("Bandwidth Test", "Ialltoall Latency Test"), r"out.txt:1: OSU's 'Ialltoall"),
        (BW.replace("MPI ", "MPI_Accumulate "), r"OSU's 'Accumulate Bandwidth' is not simulated"),
        (A2A.replace("# nodes: 4\n# ranks: 16\n", ""), r"out.txt:4: osu_alltoall does not print"),
        (GPCNET.replace("usec", "hours"), r"out.txt:8: unit 'hours'"),
        (MPIGRAPH.replace("40.000\t0.000", "40.000"), r"out.txt:9: 1 values; 2 are needed"),
        (OSU.format("Latency", "Latency (us)"), r"out.txt: no row with a measured value"),
        ("test,bytes,nodes,value,unit\nosu_bw,x,2,3,MB/s\n", r"out.txt:2: bytes = 'x'"),
    ],
)
def test_bad_outputs_are_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(NetcosimError, match=message) as error:
        read_output(write(tmp_path, text))
    assert "\n" not in str(error.value)


MACHINE: dict[str, Any] = {
    "family": "fattree",
    "m1": 4,
    "m2": 4,
    "w2": 4,
    "levels": 2,
    "node_bandwidth_Bps": 10**10,
    "level1_bandwidth_Bps": 10**10,
    "node_latency_s": 500e-9,
    "level1_latency_s": 100e-9,
    "packet": {
        "packet_bytes": 4096,
        "buffer_bytes": 1 << 17,
        "router_latency_s": 100e-9,
        "send_overhead_s": 300e-9,
        "recv_overhead_s": 300e-9,
    },
}


def machine(**changes: Any) -> MatchMachine:
    packet = MACHINE["packet"] | changes.pop("packet", {})
    match_keys = changes.pop("match", {})
    return match_from({"machine": MACHINE | {"packet": packet} | changes, "match": match_keys})


def row(test: str, size: int, ranks: int = 2, unit: str = "us", algorithm: str = "") -> Row:
    return Row(test, algorithm, size, ranks, ranks, "mean", 1.0, unit)


def test_tests_of_a_pair_take_the_time_of_closed_forms() -> None:
    """Overheads, two node links, a router and the bytes; a window adds an answer of 4 bytes."""
    wire = 2 * 500e-9 + 100e-9
    one = match(row("osu_latency", 4096), machine()).simulated
    assert one == pytest.approx(1e6 * (2 * 300e-9 + wire + 4096e-10), rel=1e-6)
    # 64 sends, each 300 ns; the last byte of the last one, its receive, and the answer
    window = 64 * 300e-9 + wire + 300e-9 + (300e-9 + wire + 300e-9)
    rate = match(row("osu_bw", 8, unit="MB/s"), machine()).simulated
    assert rate == pytest.approx(64 * 8 / window / 1e6, rel=0.01)
    large = match(row("osu_bw", 1 << 22, unit="MB/s"), machine()).simulated
    assert large == pytest.approx(1e4, rel=0.001)
    both = match(row("osu_bibw", 1 << 22, unit="MB/s"), machine()).simulated
    assert both == pytest.approx(2e4, rel=0.01)
    pairs = match(row("osu_mbw_mr", 1 << 22, 8, "MB/s"), machine()).simulated
    assert pairs == pytest.approx(4e4, rel=0.01)
    shifts = match(row("mpigraph", 1 << 20, 4, "MiB/s", "window 50"), machine()).simulated
    assert shifts == pytest.approx(1e10 / 2**20, rel=0.01)


@pytest.mark.parametrize("name", ["get", "put"])
def test_one_sided_tests_of_a_pair_take_the_time_of_closed_forms(name: str) -> None:
    """Two overheads of the origin, none of the target: the bytes one way, 8 bytes the other.

    64 operations of 8 bytes: 64 overheads each way, of which the last completion is alone.
    """
    wire = 2 * 500e-9 + 100e-9
    one = match(row(f"osu_{name}_latency", 4096), machine(packet={"eager_limit_bytes": 0}))
    assert one.simulated == pytest.approx(1e6 * (2 * 300e-9 + 2 * wire + 4104e-10), rel=1e-6)
    rate = match(row(f"osu_{name}_bw", 8, unit="MB/s"), machine()).simulated
    assert rate == pytest.approx(64 * 8 / (128 * 300e-9) / 1e6, rel=0.01)
    large = match(row(f"osu_{name}_bw", 1 << 22, unit="MB/s"), machine()).simulated
    assert large == pytest.approx(1e4, rel=0.001)


def test_one_sided_rings_count_what_the_origin_waits_for() -> None:
    """8 bytes on one switch. The second of two requests leaves at 600 ns, its answer is processed
    until 600 + 2 * 1100.8 + 300 ns; half of it counts. 16 puts, and as many answers, of 300 ns."""
    latency, rate = (
        match(Row(f"gpcnet RR {name}", "", 8, 3, 3, "mean", 1.0, unit), machine(m2=1)).simulated
        for name, unit in (("Get Lat", "us"), ("Put BW", "MiB/s"))
    )
    assert latency == pytest.approx(3.1016 / 2)
    assert rate == pytest.approx(16 * 8 / 9.6e-6 / 2**20)


def test_ratios_are_of_times() -> None:
    """Twice the time is twice as slow, twice the bandwidth half."""
    assert Matched(row("osu_latency", 8), "", 2.0).ratio == 2.0
    assert Matched(row("osu_bw", 8, unit="MB/s"), "", 2.0).ratio == 0.5


def test_sizes_of_collectives_are_those_of_the_benchmark() -> None:
    """OSU prints bytes for each rank of an all-to-all, other tables those of the buffer."""
    of_rank = match(row("osu_alltoall", 1 << 20, 4, algorithm="pairwise"), machine())
    of_buffer = match(row("ALLTOALL", 4 << 20, 4, algorithm="pairwise_ompi"), machine())
    assert of_rank.simulated == pytest.approx(of_buffer.simulated, rel=1e-6)
    assert of_rank.simulated == pytest.approx(3 * (1 << 20) * 1e-4, rel=0.05)
    assert of_buffer.algorithm == "pairwise"
    unknown = match(row("BCAST", 8, 4, algorithm="knomial_ompi"), machine())
    assert math.isnan(unknown.simulated)
    assert unknown.reason == "knomial_ompi: no broadcast of that name"
    assert match(row("osu_bcast", 8, 99), machine()).reason == "99 nodes; the machine has 16"
    inside = Row("osu_allreduce", "", 8, 1, 4, "mean", 1.0, "us")
    free = machine(packet={"send_overhead_s": 0.0, "recv_overhead_s": 0.0})
    assert match(inside, free).reason.startswith("all messages stay inside a node")
    few = Row("gpcnet congested RR Lat", "", 8, 2, 2, "mean", 1.0, "us")
    assert match(few, machine()).reason == "GPCNeT's load test needs at least 10 nodes"


def test_open_mpi_broadcasts_to_all_children_at_once() -> None:
    """On 8 ranks 3 + 2 + 1 buffers follow each other; MPICH's children wait for 3."""
    times = [
        match(row("BCAST", 1 << 22, 8, algorithm=f"binomial_{library}"), machine(m1=8)).simulated
        for library in ("ompi", "mpich")
    ]
    assert times == pytest.approx([6 * (1 << 22) * 1e-4, 3 * (1 << 22) * 1e-4], rel=0.03)


def test_linear_sync_gathers_from_one_rank_after_the_other() -> None:
    """An empty message and an answer of 1 KiB: 4 overheads, 2 wires of 1100 ns and 102.4 ns."""
    one = match(row("GATHER", 4096, 4, algorithm="linear_sync_ompi"), machine())
    assert one.algorithm == "one-by-one"
    assert one.simulated == pytest.approx(3 * (4 * 0.3 + 2 * 1.1 + 0.1024), rel=0.01)


def test_the_first_part_of_a_message_is_staged() -> None:
    """At 0.1 ns/B: 6.55 us in each of three steps of a ring; of three at once the last third."""
    plain_, slow = machine(), machine(match={"stage_s_per_byte": 1e-10})
    for name, times in (("ring", 3), ("linear", 1 / 3)):
        ring = row("ALLGATHER", 4 << 20, 4, algorithm=name)
        took = [match(ring, one).simulated for one in (plain_, slow)]
        assert took[1] - took[0] == pytest.approx(times * 65536 * 1e-4, rel=0.05)


def test_large_fresh_buffers_cost_time() -> None:
    """A reduce by halving has two of the buffer's size, an all-gather none."""
    free, slow = machine(), machine(match={"allocate_s_per_byte": 1e-10})
    for test, name, size, us in (
        ("REDUCE", "rabenseifner", 32 << 20, 2 * (32 << 20) * 1e-4),
        ("REDUCE", "rabenseifner", 8 << 20, 0),
        ("ALLGATHER", "ring", 32 << 20, 0),
    ):
        took = [match(row(test, size, 4, algorithm=name), one).simulated for one in (free, slow)]
        assert took[1] - took[0] == pytest.approx(us)


def test_exchanges_have_their_own_efficiency() -> None:
    """Both ways between two ranks at half the bandwidth; a ring on four is as fast as before."""
    half = machine(match={"exchange_efficiency": 0.5})
    for name, factor in (("recursive_doubling", 2.0), ("ring", 1.0)):
        gather = row("ALLGATHER", 64 << 20, 4, algorithm=name)
        took = [match(gather, one).simulated for one in (machine(), half)]
        assert took[1] / took[0] == pytest.approx(factor, rel=0.03)


def test_collectives_are_fitted_as_pairs_are() -> None:
    """Many messages at once determine bandwidth and overhead, exchanges the latency."""
    true = machine(node_bandwidth_Bps=7 * 10**9, node_latency_s=900e-9,
                   packet={"send_overhead_s": 500e-9, "recv_overhead_s": 500e-9})  # fmt: skip
    rows = [row("ALLTOALL", size, 8, algorithm="linear") for size in (64, 1024, 64 << 20)]
    rows += [row("ALLGATHER", size, 8, algorithm="ring") for size in (64, 256)]
    rows = [replace(one, value=match(one, true).simulated) for one in rows]
    _, fitted = fit(machine(), rows)
    assert [one.parameter.name for one in fitted] == [
        "NIC bandwidth", "overhead of a message", "NIC latency",
    ]  # fmt: skip
    for one in fitted:
        assert one.after == pytest.approx(true.value(one.path), rel=0.05), one.parameter.name


def test_rows_that_links_bound_determine_no_rate() -> None:
    """A ring of 16 routers, NICs of 8 GB/s, links of 10 GB/s: all-to-alls are bound by links.

    Each node sends m to 15 others over 64 hops in all, so that a link carries 32 m (3.2 ns a byte
    of m) and a NIC 15 m (1.875 ns). In a ring of messages both carry m: 0.1 and 0.125 ns.
    """
    ring = match_from(
        {"machine": {"family": "torus", "dims": [16], "routing": "minimal-adaptive",
                     "node_bandwidth_Bps": 10**10, "link_bandwidth_Bps": 10**10}}
    )  # fmt: skip
    gather = row("ALLGATHER", 256 << 20, 16, algorithm="ring")
    exchanged = row("ALLTOALL", 64 << 20, 16, algorithm="linear")
    path = ("machine", "parameters", "node_bandwidth_Bps")
    true = ring.with_values({path: 8 * 10**9})
    rows = [replace(one, value=match(one, true).simulated) for one in (exchanged, gather)]
    _, fitted = fit(ring, rows)
    [bandwidth] = [one for one in fitted if one.parameter.name == "NIC bandwidth"]
    assert bandwidth.rows == (rows[1],)
    assert bandwidth.after == pytest.approx(8e9, rel=0.01)


def test_reductions_cost_processor_time() -> None:
    """Recursive doubling on 4 ranks adds up the buffer twice."""
    size, one = 1 << 20, "recursive_doubling_ompi"
    free, cost = machine(), machine(match={"reduce_s_per_byte": 1e-10})
    times = [match(row("ALLREDUCE", size, 4, algorithm=one), m).simulated for m in (free, cost)]
    assert times[1] - times[0] == pytest.approx(2 * size * 1e-4, rel=0.01)


@pytest.mark.parametrize(
    ("operation", "p", "size", "name"),
    [
        ("all-reduce", 8, 2048, "recursive-doubling"),
        ("all-reduce", 8, 2049, "recursive-halving"),
        ("all-to-all", 8, 256 * 8, "bruck"),
        ("all-to-all", 8, 257 * 8, "direct"),
        ("all-to-all", 8, 8 * ((32 << 10) + 1), "pairwise"),
        ("all-gather", 6, 1 << 10, "bruck"),
        ("all-gather", 8, 1 << 19, "ring"),
        ("broadcast", 8, 12 << 10, "scatter-doubling"),
    ],
)
def test_mpich_chooses_by_size(operation: str, p: int, size: int, name: str) -> None:
    assert mpich_choice(operation, p, size) == name


def test_a_random_ring_of_gpcnet_stays_in_its_slice() -> None:
    """Two slices on three nodes: 6 ranks, 2 neighbors, a window of 3, 2 draws of 2 exchanges."""
    how = {"ranks_per_node": 2, "window": 3, "draws": 2, "test": "ring-barrier"}
    program = make_pattern("gpcnet", 6, 1000, 2, np.random.default_rng(1), how)
    src, sizes = program.send_src(), program.send_bytes
    assert np.array_equal(src % 2, program.send_dst % 2)
    # a dissemination barrier of 3 ranks has 2 steps
    assert Counter(sizes.tolist()) == {1000: 6 * 2 * 3 * 4, 1: 6 * 2 * 4}
    assert program.n_steps == 6 * 4 * 3
    with pytest.raises(NetcosimError, match="5 ranks in nodes of 2"):
        make_pattern("gpcnet", 5, 1, 1, np.random.default_rng(1), how)


def test_only_one_sided_congestors_wait_for_an_answer() -> None:
    """Four nodes of two ranks, three messages each; streams of NICs answer a put and a get."""
    rng = np.random.default_rng(1)
    incast, put, get = (
        make_pattern("gpcnet", 8, 4096, 3, rng, {"test": test, "ranks_per_node": 2})
        for test in ("incast", "put-incast", "get-broadcast")
    )
    assert Counter(incast.send_dst.tolist()) == {0: 9, 1: 9}
    assert incast.step_waits_sends is not None
    assert incast.step_waits_sends.all()
    for program, to_root in ((put, 4096), (get, 8)):
        assert set(program.send_bytes[program.send_dst < 2].tolist()) == {to_root}
        assert Counter(program.send_dst.tolist()) == {0: 9, 1: 9} | dict.fromkeys(range(2, 8), 3)
        assert program.stream_ptr is not None
        assert program.stream_ptr.tolist() == [0, 4, 8, 9, 10, 11, 12, 13, 14]
        assert program.nic_stream is not None
        assert np.flatnonzero(program.nic_stream).tolist() == [1, 2, 3, 5, 6, 7]


@pytest.mark.parametrize(
    ("test", "time_us"), [("incast", 100 * 0.4096 + 1.1), ("put-incast", 100 * 2.6104)]
)
def test_what_an_incast_has_outstanding(test: str, time_us: float) -> None:
    """Packets of 409.6 ns on wires of 500 ns and a router of 100 ns: back to back, or answered.

    A put of 1509.6 ns and its answer of 8 bytes of 1100.8 ns.
    """
    free = machine(packet={"send_overhead_s": 0.0, "recv_overhead_s": 0.0})
    program = make_pattern("gpcnet", 2, 4096, 100, np.random.default_rng(1), {"test": test})
    result = _send(free, [(program, np.arange(2))])
    assert result.group_finish_ps[0] / 1e6 == pytest.approx(time_us, rel=1e-4)


def test_the_first_kind_of_collectives_with_rows_determines_a_parameter() -> None:
    [overhead] = [one for one in PARAMETERS if one.name == "overhead of a message"]
    rows = [
        Row(f"osu_{name}", algorithm, size, 4, 4, "mean", 1.0, "us")
        for name, algorithm, size in (
            ("gather", "linear", 8), ("alltoall", "linear", 8), ("alltoall", "ring", 8),
            ("alltoall", "linear", 4096), ("scatter", "linear", 8),
        )
    ]  # fmt: skip
    assert _determining(overhead, rows, pairs=False) == [rows[1]]
    del rows[1]
    assert _determining(overhead, rows, pairs=False) == [rows[0], rows[-1]]


def gpcnet_row(phase: str, nodes: int = 3, per_node: int = 1, statistic: str = "mean") -> Row:
    name = f"gpcnet {phase} RR Two-sided Lat"
    unit = "factor" if phase == "impact" else "us"
    return Row(name, "", 8, nodes, nodes * per_node, statistic, 1.0, unit)


@pytest.mark.parametrize("statistic", ["mean", "p99"])
def test_the_latency_of_a_ring_is_half_an_exchange(statistic: str) -> None:
    """Two sends, 1100.8 ns, two receives of which the first waits for no other: 2000.8 ns."""
    assert match(gpcnet_row("isolated", statistic=statistic), machine(m2=1)).simulated == (
        pytest.approx(1.0004)
    )


def test_congestion_shows_on_a_tapered_tree_and_not_on_one_switch() -> None:
    """EDR 2:1, 72 nodes of 8 ranks: without control the test fails, with it the impact is small."""
    edr = {
        "m1": 18, "m2": 4, "w2": 9, "routing": "d-mod-k",
        "node_bandwidth_Bps": 12_500_000_000, "level1_bandwidth_Bps": 12_500_000_000,
        "packet": {"buffer_bytes": 1 << 16},
    }  # fmt: skip
    asked = gpcnet_row("impact", 15, 8)
    assert match(asked, machine(**edr)).simulated > 10
    one_switch = edr | {"m1": 72, "m2": 1, "w2": 1}
    assert match(asked, machine(**one_switch)).simulated == 1.0
    paced = edr | {"packet": {"congestion_control": "endpoint-pairs", "buffer_bytes": 1 << 16}}
    assert match(asked, machine(**paced)).simulated <= 1.5
    assert match(replace(asked, statistic="p99"), machine(**paced)).simulated <= 3


SIZES = [1, 8, 64, 1024, 4096, 16384, 65536, 1 << 20, 1 << 22]


def synthetic(true: MatchMachine) -> list[Row]:
    """Rows of one pair, and of 16 nodes, as a machine would print them."""
    rows = [row("osu_latency", size) for size in SIZES]
    rows += [row("osu_bw", size, unit="MB/s") for size in SIZES]
    rows += [
        row(test, size, 16) for test in ("osu_alltoall", "osu_allreduce") for size in SIZES[::2]
    ]
    return [
        Row(r.test, "", r.bytes, r.nodes, r.ranks, "mean", match(r, true).simulated, r.unit)
        for r in rows
    ]


def test_a_fit_recovers_known_end_points_and_predicts_other_rows() -> None:
    """The law of fits: parameters within 5 %, rows that were not used within 10 %."""
    true = machine(
        node_bandwidth_Bps=7 * 10**9,
        node_latency_s=730e-9,
        packet={
            "send_overhead_s": 410e-9,
            "recv_overhead_s": 410e-9,
            "copy_s_per_byte": 0.06e-9,
            "eager_limit_bytes": 16384,
        },
    )
    rows = synthetic(true)
    found, fitted = fit(machine(), rows)
    names = [one.parameter.name for one in fitted]
    assert names == [
        "NIC bandwidth", "overhead of a message", "NIC latency", "processor time a byte",
        "message-size switch",
    ]  # fmt: skip
    for one in fitted:
        assert one.after == pytest.approx(true.value(one.path), rel=0.05), one.parameter.name
    others = judged(match_all(rows, found, {}, fitted))
    assert {one.row.test for one in others} == {"osu_bw", "osu_alltoall", "osu_allreduce"}
    assert all(one.ratio == pytest.approx(1, abs=0.1) for one in others)
    # and the description is off, which its latencies show most
    before = match_all(rows, machine(), {})
    assert max(abs(math.log(one.ratio)) for one in judged(before)) > 0.2


def test_jitter_is_fitted_on_the_99_percent_of_a_pair(tmp_path: Path) -> None:
    """A table has the mean of small messages and their 99 %, which one jitter must explain."""
    true = machine(node_latency_s=730e-9, packet={"jitter_s": 300e-9})
    one = row("osu_latency", 8)
    mean, tail = (match(replace(one, statistic=name), true).simulated for name in ("mean", "p99"))
    # of four exponential times, halved: 2 x 300 ns in the mean, 5.02 x 300 ns at the 99 %
    assert mean == pytest.approx(2 * (0.3 + 0.3 + 0.73) + 0.1, rel=0.04)
    assert tail - mean == pytest.approx((10.05 - 4) / 2 * 0.3, rel=0.3)
    table = f"test,bytes,mean_us,p99_us\nosu_latency,8,{mean},{tail}\n"
    _, fitted = fit(machine(), read_output(write(tmp_path, table)))
    assert {one.parameter.name: one.after for one in fitted if one.after} == {
        "NIC latency": pytest.approx(730e-9, rel=0.05),
        "jitter of hosts": pytest.approx(300e-9, rel=0.05),
    }
    # hosts alone do not explain a 99 % that leaves the network no time
    table = f"test,bytes,mean_us,p99_us\nosu_latency,8,{mean},{8 * tail}\n"
    _, fitted = fit(machine(), read_output(write(tmp_path, table)))
    assert [one.parameter.name for one in fitted if one.after] == ["NIC latency"]


def test_the_parameter_that_is_wrong_explains_the_difference() -> None:
    slow = machine(node_bandwidth_Bps=4 * 10**9)
    rows = [one for one in synthetic(slow) if one.bytes >= 65536]
    matched = match_all(rows, machine(), {})
    explained = explaining(machine(), matched, {})
    assert explained is not None
    assert explained[0].parameter.name == "NIC bandwidth"
    assert explained[0].after == pytest.approx(4e9, rel=0.02)
    answer = recommend(matched, [], explained)
    assert answer.sentence.startswith("The machine takes 2.")
    bandwidth = "which NIC bandwidth explains most: 4 GB/s instead of 10 GB/s (median of"
    assert bandwidth in answer.sentence
    assert answer.next_step.startswith("Add --fit: with that value rows are off by a factor of 1.0")
    [worst] = details(matched)
    assert worst.startswith("The row that differs most, osu_")
    far = machine(node_latency_s=3e-6)
    matched = match_all([one for one in synthetic(far) if one.bytes <= 64], machine(), {})
    explained = explaining(machine(), matched, {})
    assert explained is not None
    assert explained[0].parameter.name == "NIC latency"
    assert explained[0].after == pytest.approx(3e-6, rel=0.05)


@pytest.mark.parametrize(
    ("ratio", "factors", "sentence", "step"),
    [
        (1.0, None, "The machine is as described: it takes 1.00 times as", "Add osu_latency and"),
        (0.5, (2.0, 1.1), "which NIC latency explains most: 500 ns instead of 100 ns", "Add --fit"),
        (0.5, (2.0, 2.0), "2.00 times as long as simulated, which no parameter", "Check links"),
        (math.nan, None, "No row was left to judge the machine by", "Add outputs of other tests"),
    ],
)
def test_what_to_do_next_depends_on_what_explains_the_difference(
    ratio: float, factors: tuple[float, float] | None, sentence: str, step: str
) -> None:
    [latency] = [one for one in PARAMETERS if one.name == "NIC latency"]
    path = ("machine", "parameters", "node_latency_s")
    fitted = Fitted(latency, path, 100e-9, 500e-9, ())
    rows = [Matched(row("osu_latency", 8), "", ratio)]
    answer = recommend(rows, [], None if factors is None else (fitted, *factors))
    assert sentence in answer.sentence
    assert answer.next_step.startswith(step)
    if ratio == ratio:
        [worst] = details(rows)
        assert worst.endswith(f" takes {1 / ratio:.2f} times as long as simulated.")
        answer = recommend(rows, [fitted], None)
        assert answer.sentence.startswith("After the fit, the machine ")
        assert answer.sentence.endswith(" (median of 1 row that the fit did not use).")
        assert "--output" in answer.next_step


def test_the_command_writes_a_machine_file_and_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    described = write(
        tmp_path,
        '[machine]\nfamily = "fattree"\nm1 = 4\nm2 = 4\nw2 = 4\nlevels = 2\n'
        'node_bandwidth = "80 Gbit/s"\nlevel1_bandwidth = "80 Gbit/s"\n'
        '[machine.packet]\nsend_overhead = "300 ns"\n',
        "m.toml",
    )
    bw = write(tmp_path, BW.replace("27161.33", "5000").replace("2.32", "1.5"), "bw.out")
    a2a = write(tmp_path, A2A, "a2a.out")
    files = [str(bw), str(a2a)]
    assert main(["match", str(described), *files]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("The machine ")
    assert first.endswith(" (median of 3 rows).")
    options = ["--fit", "--output", "fit.toml", "--out", "new"]
    assert main(["match", str(described), *files, *options]) == 0
    assert capsys.readouterr().out.startswith("After the fit, the machine")
    fitted, raw = load_match(tmp_path / "fit.toml")
    assert fitted.value(("machine", "parameters", "node_bandwidth_Bps")) == pytest.approx(
        5e9, rel=0.02
    )
    assert "osu_bw 4194304 B: 5000 MB/s" in raw["match"]["fitted"]["node_bandwidth"]
    page = html.unescape((tmp_path / "new" / "report.html").read_text())
    order = (
        '<p class="sentence">After the fit, the machine', "<dt>Condition</dt>", "<dt>Next</dt>",
        "<h2>Results</h2>", "<h2>Fitted</h2>", "<h2>Ratios</h2>", "<h2>Rows</h2>",
        "<h2>Reproduce</h2>",
        f"<pre>netcosim match {described} {bw} {a2a} --output fit.toml --out new --fit</pre>",
    )  # fmt: skip
    places = [page.index(part) for part in order]
    assert places == sorted(places)
    again = read_output(tmp_path / "new" / "rows.csv")
    assert [r.value for r in again] == [1.5, 5000, 7.61]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--output", "x.toml"], "add --fit"),
        (["--algorithm", "all-to-all=quick"], "--algorithm all-to-all=quick: unknown; there are"),
        (["--where", "system=x"], "--where is for CSV"),
        (["--nodes", "-1"], "--nodes -1"),
        (["--nodes", "0"], "--nodes 0; must be at least 1"),
        (["--ranks", "9"], "--ranks 9: no row reads it; they are of one pair"),
    ],
)
def test_mistakes_of_options_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    described = write(
        tmp_path, '[machine]\nfamily = "fattree"\nm1 = 2\nm2 = 2\nw2 = 2\nlevels=2\n', "m.toml"
    )
    bw = write(tmp_path, BW, "bw.out")
    assert main(["match", str(described), str(bw), *options]) != 0
    assert message in capsys.readouterr().err


@pytest.mark.filterwarnings("error")
def test_rows_that_do_not_fit_are_left_out_with_their_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    described = write(
        tmp_path, '[machine]\nfamily = "fattree"\nm1 = 2\nm2 = 2\nw2 = 2\nlevels=2\n', "m.toml"
    )
    output = write(
        tmp_path,
        "# OSU MPI All-to-All Personalized Exchange Latency Test v7.3\n"
        "# Size  Avg Latency(us)\n64 9\n128 9\n",
    )
    out = ["--out", str(tmp_path / "page")]
    assert main(["match", str(described), str(output), "--nodes", "5", *out]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("No row was left to judge the machine by")
    assert printed[2] == "  Next: Add outputs of other tests, such as collectives."
    assert printed[3] == "Not simulated, 2 rows: 5 nodes; the machine has 4."
