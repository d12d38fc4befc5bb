"""The memory that a run is estimated to take is about what it takes, and what is there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from selection import first_only

from netsim import limits
from netsim.errors import NetcosimError
from netsim.flow.paths import flow_paths
from netsim.packet import tables
from netsim.packet.engine import simulate_packets
from netsim.packet.footprint import run_bytes
from netsim.packet.model import PacketConfig
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology
from netsim.traffic import Traffic, combine
from patterns.registry import make_pattern

ROOT = Path(__file__).resolve().parents[1]
CLEAR = Path("/proc/self/clear_refs")
needs_proc = pytest.mark.skipif(not CLEAR.exists(), reason="needs /proc to measure memory")

MEASURE = """
import sys
import numpy as np
from netsim.flow.paths import flow_paths, paths_bytes
from netsim.packet.engine import simulate_packets
from netsim.packet.footprint import run_bytes
from netsim.packet.model import PacketConfig
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology
from netsim.traffic import combine
from patterns.registry import make_pattern

def kib(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name))

def packets(family, parameters, routing, n_jobs, job_nodes, **config):
    routing = make_routing(make_topology(family, parameters), routing)
    rng = np.random.default_rng(1)
    program = make_pattern("all-to-all", job_nodes, 1000, 1, rng)
    nodes = rng.permutation(routing.topology.n_nodes)[: n_jobs * job_nodes]
    traffic = combine([program] * n_jobs, list(nodes.reshape(n_jobs, job_nodes)))
    settings = PacketConfig(**config)
    estimate = run_bytes(routing, traffic, settings, True)
    return estimate, lambda: simulate_packets(routing, traffic, settings, rng)

def flows(family, parameters, routing, hosts, pieces):
    routing = make_routing(make_topology(family, parameters), routing)
    src, dst = np.divmod(np.arange(hosts * hosts), hosts)
    several = pieces > 1
    return paths_bytes(len(src), pieces, several), lambda: flow_paths(routing, src, dst)

def run(small, large, make):
    make(*small)[1]()  # whatever is imported and compiled
    estimate, measured = make(*large)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak is that from here on
    before = kib("VmRSS")
    measured()
    print(estimate, (kib("VmHWM") - before) * 1024)

"""

GIVEN_BACK = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
"""What is freed leaves resident memory; else a run grows by less, into what others have left."""


def measured(code: str) -> tuple[int, int]:
    """Estimate and growth of resident memory, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE + code],
        env=os.environ | {"PYTHONPATH": str(ROOT), **GIVEN_BACK},  # with the cache of kernels
        capture_output=True,
        text=True,
        check=True,
    )
    estimate, growth = done.stdout.split()
    return int(estimate), int(growth)


LINKS = {"p": 4, "a": 16, "g": 65}
CASES = {
    "many messages": (
        "tiny = ('dragonfly', {'p': 2, 'a': 2, 'g': 3}, 'ugal-l', 1, 4)\n"
        "run(tiny, ('dragonfly', {'p': 4, 'a': 16, 'g': 65}, 'ugal-l', 8, 256), packets)"
    ),
    "many links": (
        "tiny = ('dragonfly', {'p': 2, 'a': 2, 'g': 3}, None, 1, 4)\n"
        "run(tiny, ('dragonfly', {'p': 8, 'a': 16, 'g': 129}, None, 8, 64), packets)"
    ),
    "input queues": (
        "make = lambda *given: packets(*given, router='input-queued')\n"
        "tiny = ('torus', {'dims': [3, 3]}, None, 1, 4)\n"
        "run(tiny, ('torus', {'dims': [24, 24, 24]}, None, 32, 64), make)"
    ),
    "paths": (
        "tiny = ('fattree', {'radix': 4}, None, 4, 1)\n"
        "run(tiny, ('fattree', {'radix': 16}, None, 700, 1), flows)"
    ),
    "paths in pieces": (
        "tiny = ('dragonfly', {'p': 2, 'a': 2, 'g': 3}, 'ugal-l', 4, 8)\n"
        "run(tiny, ('dragonfly', {'p': 4, 'a': 8, 'g': 33}, 'ugal-l', 300, 8), flows)"
    ),
}


@needs_proc
@pytest.mark.parametrize("case", first_only(CASES))
def test_the_estimate_is_about_what_is_taken(case: str) -> None:
    estimate, growth = measured(CASES[case])
    assert growth > 10e6
    assert 0.7 * growth < estimate < 1.5 * growth


def traffic_of(n: int, **parameters: object) -> Traffic:
    rng = np.random.default_rng(1)
    return combine([make_pattern("all-to-all", n, 1000, 1, rng, parameters)], [np.arange(n)])


def test_parts_of_messages_and_channels_of_priorities_are_counted() -> None:
    """A message above the eager limit is three; a second priority doubles all channels."""
    routing = make_routing(make_topology("torus", {"dims": [4, 4]}))
    program = make_pattern("all-to-all", 8, 1000, 1, np.random.default_rng(1))
    nodes = list(np.arange(16).reshape(2, 8))
    one, two = (combine([program] * 2, nodes, group_priority=each) for each in ([0, 0], [0, 1]))
    plain = run_bytes(routing, one, PacketConfig(), False)
    eager = run_bytes(routing, one, PacketConfig(eager_limit_bytes=1), False)
    assert eager - plain == 2 * 2 * 8 * 7 * tables.MESSAGE.itemsize
    links, channels = routing.topology.n_links, 1 << (routing.n_vcs - 1).bit_length()
    assert run_bytes(routing, two, PacketConfig(), False) - plain == (
        links * channels * tables.CHANNEL.itemsize + 16 * tables.NODE_QUEUE.itemsize
    )


def test_a_run_that_does_not_fit_is_refused_before_it_begins(monkeypatch):
    routing = make_routing(make_topology("dragonfly", {"p": 4, "a": 8, "g": 33}))
    traffic = traffic_of(256)
    wanted = run_bytes(routing, traffic, PacketConfig(), True)
    monkeypatch.setattr(limits, "_ALWAYS_THERE", 0)
    monkeypatch.setattr(limits, "memory_bytes", lambda: wanted - 1)
    told = r"^packets: 65,280 messages on 5,016 links of dragonfly.*2 channels each: about 0\.0 GB"
    with pytest.raises(NetcosimError, match=told):
        simulate_packets(routing, traffic, PacketConfig(), np.random.default_rng(1))
    monkeypatch.setattr(limits, "memory_bytes", lambda: 10**15)
    monkeypatch.setattr(limits, "free_bytes", lambda: wanted)
    simulate_packets(routing, traffic, PacketConfig(), np.random.default_rng(1))
    monkeypatch.setattr(limits, "free_bytes", lambda: wanted - 1)
    with pytest.raises(
        NetcosimError, match=r"of this machine's 1,000,000 GB only 0\.0 GB are free"
    ):
        simulate_packets(routing, traffic, PacketConfig(), np.random.default_rng(1))


def test_paths_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    routing = make_routing(make_topology("dragonfly", {"p": 2, "a": 2, "g": 3}), "ugal-l")
    monkeypatch.setattr(limits, "memory_bytes", lambda: 2 * 10**9)
    few = np.zeros(1000, dtype=np.int64)
    assert flow_paths(routing, few, few + 1).n_flows == 1000
    many = np.zeros(3_000_000, dtype=np.int64)
    with pytest.raises(NetcosimError, match=r"^flows: paths of 3,000,000 flows on .* 8 pieces"):
        flow_paths(routing, many, many + 1)


# What there is


def files(root: Path, found: Mapping[str, str]) -> None:
    for name, text in found.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A system of 64 GB of which 20 are free, with no control groups yet."""
    page = 4096
    sizes = {"SC_PHYS_PAGES": 64 * 10**9 // page, "SC_PAGE_SIZE": page}
    monkeypatch.setattr(limits.os, "sysconf", sizes.__getitem__)
    monkeypatch.setattr(limits, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(limits, "_CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(
        limits.resource, "getrlimit", lambda which: (limits.resource.RLIM_INFINITY,) * 2
    )
    meminfo = "MemTotal: 62500000 kB\nMemFree: 1 kB\nMemAvailable: 20000000 kB\n"
    files(tmp_path, {"proc/meminfo": meminfo})
    return tmp_path


def test_a_machine_without_groups(system: Path) -> None:
    assert limits.memory_bytes() == 64 * 10**9
    assert limits.free_bytes() == 20_480_000_000
    (system / "proc" / "meminfo").unlink()
    assert limits.free_bytes() == 64 * 10**9


def test_groups_of_version_2(system: Path) -> None:
    """The least of the group and those above it; files that were read can be dropped."""
    files(system, {
        "proc/self/cgroup": "0::/batch/job7\n",
        "cgroup/batch/job7/memory.max": "max\n",
        "cgroup/batch/memory.max": "8000000000\n",
        "cgroup/batch/memory.current": "6000000000\n",
        "cgroup/batch/memory.stat": "anon 1\ninactive_file 1000000000\n",
    })  # fmt: skip
    assert limits.memory_bytes() == 8 * 10**9
    assert limits.free_bytes() == 3 * 10**9
    files(system, {
        "cgroup/batch/job7/memory.max": "2000000000\n",
        "cgroup/batch/job7/memory.current": "500000000\n",
    })  # fmt: skip
    assert (limits.memory_bytes(), limits.free_bytes()) == (2 * 10**9, 1.5 * 10**9)


def test_groups_of_version_1_and_a_tree_that_begins_at_the_group(system: Path) -> None:
    """In a container the path is the host's, and the files stand at the root."""
    files(system, {
        "proc/self/cgroup": "4:memory:/docker/abc\n3:cpuset:/docker/abc\n0::/\n",
        "cgroup/memory/memory.limit_in_bytes": "4000000000\n",
        "cgroup/memory/memory.usage_in_bytes": "1000000000\n",
        "cgroup/memory/memory.stat": "inactive_file 7\ntotal_inactive_file 250000000\n",
    })  # fmt: skip
    assert (limits.memory_bytes(), limits.free_bytes()) == (4 * 10**9, 3.25 * 10**9)


def test_no_limit_is_none(system: Path) -> None:
    files(system, {
        "proc/self/cgroup": "4:cpu,memory:/\n",
        "cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        "cgroup/memory/memory.usage_in_bytes": "1000\n",
    })  # fmt: skip
    assert limits.memory_bytes() == 64 * 10**9
    assert limits.free_bytes() == 20_480_000_000


def test_what_is_needed_is_held_against_both(system: Path) -> None:
    limits.need_memory("key x: 1", 20 * 10**9)
    with pytest.raises(NetcosimError, match=r"^key x: 1: about 21 GB .* 64 GB only 20 GB are free"):
        limits.need_memory("key x: 1", 21 * 10**9)
    with pytest.raises(NetcosimError, match=r"^key x: 1: about 65 GB .*this machine gives 64 GB"):
        limits.need_memory("key x: 1", 65 * 10**9)
