"""``netcosim curve --collective``: closed forms, logs of nccl-tests, published measurements."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.curve.bandwidth import matching
from experiments.curve.collective import collective_point, points
from experiments.curve.config import CollectiveSection, curve_from
from experiments.kit.measured import COLUMNS, read_measured
from experiments.kit.packets import packets_for
from netcosim.cli import main
from netcosim.config.machine import build_machine
from netsim.errors import NetcosimError
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PacketConfig
from netsim.traffic import combine
from netsim.units import short_name
from patterns.build import build_program
from patterns.collectives.library import Collective

ROOT = Path(__file__).resolve().parents[3]
PACKET = {"packet_bytes": 4096, "buffer_bytes": 1 << 18, "router_latency_s": 0.0}
FLAT = {"scale_up_latency_s": 0.0, "nic_latency_s": 0.0, "fabric_latency_s": 0.0}
CLUSTER: dict[str, Any] = {"family": "gpu-cluster", "nodes": 2, "gpus_per_node": 4, **FLAT}
CLUSTER["fabric"] = "leaf"


def rows(machine: dict[str, Any], operation: str, **section: Any) -> pd.DataFrame:
    config = curve_from({"machine": machine, "collective": section})
    topology = build_machine(config.machine).topology
    found = [collective_point(p)["collective"][0] for p in points(config, topology, operation)]
    return pd.DataFrame(found)


@pytest.mark.parametrize(
    ("operation", "algorithm", "gpus", "seconds_a_byte", "share"),
    [
        # four rings; each sends 7/8 of its quarter over one NIC of each node
        ("all-gather", "ring", 8, 7 / 8 / 4 / 50e9, 7 / 8),
        ("reduce-scatter", "ring", 8, 7 / 8 / 4 / 50e9, 7 / 8),
        ("all-reduce", "ring", 8, 2 * 7 / 8 / 4 / 50e9, 14 / 8),
        # 3/4 in the node, then 1/4 over the NIC, then 3/4 in the node
        ("all-reduce", "hierarchical", 8, 2 * 3 / 4 / 450e9 + 1 / 4 / 50e9, 14 / 8),
        ("all-to-all", "direct", 4, 3 / 4 / 450e9, 3 / 4),
        ("broadcast", "direct", 4, 3 / 450e9, 1.0),
        # rank 3 of the first node sends to rank 0 of the second one
        ("send-recv", "direct", 8, 1 / 50e9, 1.0),
    ],
)
def test_bandwidths_are_those_of_closed_forms(
    operation: str, algorithm: str, gpus: int, seconds_a_byte: float, share: float
) -> None:
    """Bus bandwidth is the algorithm bandwidth times nccl-tests' factor of the operation."""
    size = 64 << 20
    [row] = rows(
        CLUSTER | {"packet": PACKET},
        operation,
        sizes=[size],
        algorithms=[algorithm],
        gpus=gpus,
        chunk_bytes=1 << 30,
        start_s=1e-3,
    ).to_dict("records")
    assert row["time_s"] == pytest.approx(1e-3 + size * seconds_a_byte, rel=0.03)
    assert row["algbw_Bps"] == pytest.approx(size / row["time_s"])
    assert row["busbw_Bps"] == pytest.approx(share * row["algbw_Bps"])


def test_a_curve_has_a_row_an_algorithm_and_size() -> None:
    found = rows(CLUSTER, "all-reduce", sizes=[1 << 12, 1 << 14], algorithms=["ring", "tree"])
    assert list(zip(found["algorithm"], found["bytes"], strict=True)) == [
        *(("ring", 4096), ("ring", 16384)),
        *(("tree", 4096), ("tree", 16384)),
    ]
    assert set(found["gpus"]) == {8}
    four = rows(CLUSTER, "all-reduce", sizes=[1 << 12], algorithms=["ring"], gpus=4)
    # on one node: three hops less each way, and no NIC
    assert four["time_s"][0] < found["time_s"][0] / 2


def test_larger_packets_hardly_change_the_time() -> None:
    """64 packets a message, if they are no larger than a fourth of the buffer."""
    small = PacketConfig(packet_bytes=4096, buffer_bytes=1 << 18)
    assert packets_for(small, 64 * 4096) == small
    assert packets_for(small, 2 << 20) == replace(small, packet_bytes=1 << 15)
    assert packets_for(small, 64 << 20) == replace(small, packet_bytes=1 << 16)
    tight = PacketConfig(packet_bytes=4096, buffer_bytes=4096)
    assert packets_for(tight, 64 << 20) == tight
    # at most 16 packets a message need wider buffers
    wide = replace(small, packet_bytes=1 << 19, buffer_bytes=1 << 21)
    assert packets_for(small, 8 << 20, 16) == wide
    times = []
    for packet_bytes in (4096, 16384):
        packet = PACKET | {"packet_bytes": packet_bytes}
        section = {"sizes": [8 << 20], "algorithms": ["hierarchical"], "chunk_bytes": 1 << 30}
        times.append(rows(CLUSTER | {"packet": packet}, "all-reduce", **section)["time_s"][0])
    assert times[1] == pytest.approx(times[0], rel=0.02)


def test_more_than_32_chunks_take_the_time_of_as_many() -> None:
    """NVLS of 1 GiB on a node: 128 chunks of 512 KiB and 16 trees, all of them sent."""
    machine = {"family": "gpu-cluster", "nodes": 1, "packet": {**PACKET, "packet_bytes": 8192}}
    sizes = [1 << 28, 1 << 30, 1 << 32]
    found = rows(machine, "all-reduce", sizes=sizes, algorithms=["nvls"])
    assert found["busbw_Bps"].max() == pytest.approx(found["busbw_Bps"].min(), rel=0.03)
    built = build_machine(curve_from({"machine": machine}).machine)
    ranks = np.arange(8)
    entire = Collective("all-reduce", "nvls", 8, chunks=128)
    messages, n_steps = entire.messages(ranks[None, :], sizes[1])
    assert len(messages) == 128 * 16 * 14
    traffic = combine([build_program(8, n_steps, messages)], [ranks])
    result = simulate_packets(built.routing, traffic, built.packets, np.random.default_rng(1))
    assert found["time_s"][1] == pytest.approx(result.end_ps * 1e-12, rel=0.03)


LOG = """# nThread 1 nGpus 1 minBytes 8 maxBytes 8388608 step: 2(factor) warmup iters: 5 iters: 20
# Using devices
#  Rank  0 Group  0 Pid    313 on node-0 device  0 [0x18] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid    314 on node-1 device  0 [0x2a] NVIDIA H100 80GB HBM3
#
#                                      out-of-place                       in-place
#  size   count  type  redop  root   time   algbw   busbw #wrong   time   algbw   busbw #wrong
           8        2  float  sum  -1  20.50  0.00  0.00      0  19.00  0.00  0.00      0
     8388608  2097152  float  sum  -1  250.0  33.55  33.55  N/A  240.0  34.95  34.95  N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 16.775
"""


def test_logs_of_nccl_tests_are_read_out_of_place(tmp_path: Path) -> None:
    file = tmp_path / "run-7.log"
    file.write_text("# Collective test starting: all_reduce_perf\n" + LOG)
    found = read_measured(file)
    assert list(found.columns) == COLUMNS
    assert found.iloc[1].tolist()[:4] == ["run-7", "all-reduce", 2, 8388608]
    assert found.iloc[1].tolist()[4:] == pytest.approx([250e-6, 33.55e9])
    # older versions: no root, and an error in place of a count
    old = LOG.replace("  sum  -1", "  sum").replace("      0  ", "  0e+00  ")
    file.write_text(old)
    before = read_measured(file)
    assert before["operation"].tolist() == ["", ""]
    assert before["time_s"].tolist() == found["time_s"].tolist()
    assert len(matching(before, "all-gather", 2)) == 2
    with pytest.raises(NetcosimError, match="no measured row of all-reduce on 16 GPUs; there are"):
        matching(found, "all-reduce", 16)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nothing\n", "no row of nccl-tests, and no CSV"),
        ("bytes,time_us,busbw_GBps\n8,fast,1\n", ":2: '8, fast, 1'; bytes, us and GB/s"),
        ("bytes,time_us,busbw_GBps\n8,0,1\n", ":2: a size, time or bandwidth out of range"),
        ("bytes,time_us,busbw_GBps,nodes\n8,1,1,two\n", ":2: nodes = 'two'; a whole number"),
        ("nodes,bytes,time_us,busbw_GBps\n1,5,8,9,1\n", ":2: 5 cells; the head has 4"),
    ],
)
def test_a_file_without_measured_rows_is_one_line(text: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "m.csv"
    file.write_text(text)
    with pytest.raises(NetcosimError, match=re.escape(problem)):
        read_measured(file)


CONFIG = """
[machine]
family = "gpu-cluster"
nodes = 2
gpus_per_node = 2
[machine.packet]
packet_bytes = "4 KiB"
buffer_bytes = "256 KiB"
[curve]
loads = [0.2]
[collective]
algorithms = ["ring", "hierarchical"]
"""


def test_the_command_compares_with_a_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(CONFIG)
    Path("n.csv").write_text("bytes,time_us,busbw_GBps\n1048576,100,15.7\n4096,20,0.3\n")
    command = ["curve", "c.toml", "--collective", "all-reduce", "--quiet"]
    assert main([*command, "--measured", "n.csv"]) == 0
    first, condition, _, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith("all-reduce with hierarchical has bus bandwidth of ")
    assert condition.startswith("  Condition: Measured bus bandwidths differ by ")
    assert lines[0] == "all-reduce on 4 GPUs"
    assert [line.split()[:2] for line in lines[2:6]] == [
        [size, name] for name in ("ring", "hierarchical") for size in ("4,096", "1,048,576")
    ]
    assert lines[6].startswith("ring against n: bus bandwidth differs by")
    assert "4 points computed, 0 were stored" in lines[8]
    frame = pd.read_csv("curve-c/measured.csv")
    assert (frame["error"] + 1).tolist() == pytest.approx(
        (frame["time_s_measured"] / frame["time_s"]).tolist()
    )
    assert Path("curve-c/collective.png").read_bytes()[:4] == b"\x89PNG"
    assert main([*command, "--measured", "n.csv"]) == 0
    assert "0 points computed, 4 were stored" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "arguments", "problem"),
    [
        ("", "", ["--collective", "reduction"], "unknown operation of a collective 'reduction'"),
        ("", "", ["--collective", "all-gather"], "unknown algorithm of all-gather 'tree'"),
        ("", "", ["--measured", "c.toml"], "add --collective all-reduce"),
        ("[collective]", "[collective]\ngpus = 5", ["--collective", "all-reduce"], "gpus = 5;"),
        ("[collective]", "[collective]\nspeed = 5", ["--collective", "all-reduce"], "speed: unkn"),
        ('"ring"', '"rings"', ["--collective", "all-reduce"], "unknown algorithm 'rings'"),
    ],
)
def test_a_mistake_is_one_line(
    old: str,
    new: str,
    arguments: list[str],
    problem: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(CONFIG.replace('"hierarchical"', '"tree"').replace(old, new, 1))
    assert main(["curve", "c.toml", "--quiet", *arguments]) == 2
    err = capsys.readouterr().err
    assert problem in err
    assert err.count("\n") == 1


def test_a_class_of_links_adds_its_start_and_takes_longer_between_nodes() -> None:
    """Two GH200s: 2^26 bytes each way in a ring of two, at 95 % of 25 GB/s, after 134 us."""
    machine = {"family": "gpu-cluster", "nodes": 2, "gpus_per_node": 1, "packet": PACKET}
    machine |= {"nic_bandwidth": "200 Gbit/s"}
    section: dict[str, Any] = {"sizes": [1 << 26], "links": "gh200-slingshot"}
    [row] = rows(machine, "all-reduce", **section).to_dict("records")
    assert row["time_s"] == pytest.approx(134e-6 + 2**26 / (0.95 * 25e9), rel=0.01)
    # inside a node there are no constants
    machine = CLUSTER | {"packet": PACKET}
    inside = rows(machine, "all-reduce", gpus=4, **section)
    without = rows(machine, "all-reduce", gpus=4, sizes=[1 << 26])
    assert inside["time_s"].tolist() == without["time_s"].tolist()


def test_the_page_has_every_key() -> None:
    page = (ROOT / "docs/collectives.md").read_text(encoding="utf-8")
    table = page.split("| key of `[collective]` | |")[1].split("\n\n")[0]
    named = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    assert named == {short_name(name) for name in CollectiveSection.model_fields}
