"""What a config asks for and does not get is stated or refused in one line, before the run."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from unread_bases import base, merged, write_files

import netcosim as nc
from netcosim.announce import compile_kernels
from netcosim.catalogue import describe
from netcosim.cli import main
from netcosim.config.content import checked_config
from netcosim.config.errors import ConfigError
from netcosim.config.reference import config_keys
from netcosim.config.unread import unread_keys
from netsim.errors import NetcosimError
from netsim.topologies.gpu_cluster import GpuFabric, gpu_cluster
from queuesim.decide import Choice, Decider, DecisionPoint
from queuesim.queue import simulate_queue
from workloads.job import bare_jobs

pytestmark = pytest.mark.usefixtures("undrawn")

GPUS = {"family": "gpu-cluster", "nodes": 16, "nodes_per_leaf": 8}


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)


def config(**more: Any) -> Any:
    content = base("generated jobs, as logged")
    if "machine" in more:
        del content["machine"]
    return checked_config(merged(content, more))


def unread_of(model: str, **more: Any) -> set[str]:
    """Keys that are set and not read with a run-time model."""
    return {one.key for one in unread_keys([config(queue={"run_time_model": model}, **more)])}


# Run times by iterations


PACKETS = {"router_latency_s": 1e-6, "buffer_bytes": 65_536, "packet_bytes": 1024}
LINKS = {"family": "fattree", "radix": 4, "latency_s": 1e-6, "packet": PACKETS}


def test_iterations_read_packets_only_where_a_pattern_computes() -> None:
    """An all-to-all is bytes over bandwidths; packets time an fft3d, which computes."""
    found = {
        name: unread_of(
            "iterations",
            machine=LINKS,
            communication={"mix": [{"pattern": name, "iterations": 2}], "together": "always"},
        )
        for name in ("all-to-all", "fft3d")
    }
    by_packets = {"machine.packet.router_latency_s", "machine.packet.buffer_bytes"}
    by_packets |= {"machine.parameters.latency_s", "communication.mix.0.iterations"}
    assert found["fft3d"] == {"communication.together"}
    assert found["all-to-all"] == by_packets | {"communication.together"}


def test_an_fft_that_does_not_compute_is_timed_by_bytes() -> None:
    mix = [{"pattern": "fft3d", "parameters": {"compute": False}}]
    found = unread_of("iterations", machine=LINKS, communication={"mix": mix})
    assert "machine.packet.buffer_bytes" in found


# Spines


@pytest.mark.parametrize(
    ("wanted", "spines", "reached"),
    # 8 GPUs of a rail on a leaf, each link as fast as a spine's
    [(1, 8, ""), (2, 4, ""), (4, 2, ""), (3, 3, "2.67"), (7, 2, "4"), (15, 1, "8")],
)
def test_oversubscription_in_whole_spines_is_stated(wanted: int, spines: int, reached: str) -> None:
    topology = gpu_cluster(16, fabric=GpuFabric(nodes_per_leaf=8, oversubscription=wanted))
    assert topology.shape.spines == spines
    words = f"{spines} whole spine{'s' * (spines > 1)}"
    notes = (f"oversubscription = {wanted} is {reached} with {words}",) if reached else ()
    assert topology.shape.notes == notes


def test_cores_too_and_a_run_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    """16 leaves a pod over 6 cores."""
    shape = gpu_cluster(
        16, fabric=GpuFabric(nodes_per_leaf=2, nodes_per_pod=4, core_oversubscription=3)
    ).shape
    assert shape.cores == 6
    assert shape.notes == ("core_oversubscription = 3 is 2.67 with 6 whole cores",)
    Path("c.toml").write_text(
        'machine = { family = "gpu-cluster", nodes = 16, nodes_per_leaf = 8, '
        "oversubscription = 7 }\nworkload.synthetic = { n_jobs = 2, mean_nodes = 4 }\n"
        'queue = { policies = ["random"], run_time_model = "coupled-flow" }\nrun.snapshots = 0\n'
    )
    assert main(["run", "c.toml"]) == 0
    err = capsys.readouterr().err
    assert err.count("oversubscription = 7 is 4 with 2 whole spines") == 1
    assert not any("note" in line for line in describe("dgx-h100") or [])


def test_keys_of_switches_that_a_gpu_cluster_does_not_have_are_not_read() -> None:
    """One pod has no cores; GPUs of one rail-only segment no spines, those of two have some."""
    alone = {"family": "gpu-cluster", "nodes": 4, "gpus_per_node": 4, "fabric": "rail-only"}
    queue = {"run_time_model": "coupled-flow", "policies": ["random"]}

    def unread(**more: Any) -> set[str]:
        machine = {**alone, "core_oversubscription": 2.0, **more}
        found = unread_keys([config(machine=machine, queue=queue)])
        return {one.key.rpartition(".")[2] for one in found}

    assert unread(spines=2) == {"spines", "core_oversubscription"}
    assert unread(oversubscription=2.0) == {"oversubscription", "core_oversubscription"}
    assert unread(spines=2, fabric="rail") == {"core_oversubscription"}
    assert unread(spines=2, nodes_per_leaf=2) == {"core_oversubscription"}
    assert unread(spines=2, nodes_per_leaf=2, nodes_per_pod=2) == set()


def test_spines_beside_oversubscription_are_not_read() -> None:
    both = {**GPUS, "spines": 2, "oversubscription": 3.0}
    queue = {"run_time_model": "coupled-flow", "policies": ["random"]}
    [unread] = unread_keys([config(machine=both, queue=queue)])
    assert unread.key == "machine.parameters.oversubscription"
    assert unread.why == "it is read where machine.spines is not given"
    alone = {**GPUS, "oversubscription": 3.0}
    assert unread_keys([config(machine=alone, queue=queue)]) == []
    # nor is the ratio that these spines give one that was wanted
    assert gpu_cluster(16, fabric=GpuFabric(nodes_per_leaf=8, spines=2)).shape.notes == ()


def test_the_links_of_a_cluster_are_not_read_where_nothing_is_sent() -> None:
    shape = {"spines": 2, "fabric": "leaf", "planes": 2}
    machine = {**GPUS, **shape}
    queue: dict[str, Any] = {"policies": ["random"]}
    found = unread_keys([config(machine=machine, queue=queue)])
    assert {one.key for one in found} >= {f"machine.parameters.{key}" for key in shape}
    assert "machine.parameters.nodes_per_leaf" not in {one.key for one in found}
    # a leaf that fails takes its nodes with it
    queue["failures"] = {"per_node_day": 0.1}
    found = unread_keys([config(machine=machine, queue=queue)])
    assert not {one.key for one in found} & {f"machine.parameters.{key}" for key in shape}


# Runaways


RUNAWAYS: list[tuple[str, dict[str, object], str]] = [
    # 32 layers, an embedding and a head, forwards and backwards
    ("training", {"micro_batches": 10**9}, "micro_batches = 1,000,000,000 makes at least 68,000"),
    ("training", {"zero": 1, "bucket_bytes": 1}, "bucket_bytes = 1 makes at least 13,"),
    ("collective", {"channels": 100_000}, "channels = 100,000 and chunks = 1 are 100,000 parts"),
    ("collective", {"chunks": 10_001}, "are 10,001 parts; at most 10,000"),
]


@pytest.mark.parametrize("key", ["sequence", "micro_batch"])
def test_more_tokens_than_are_numbered_are_refused_where_they_are_described(
    key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for value in (10**20, 2**31):
        assert main(["describe", "training", "--ranks", "8", "--set", f"{key}={value}"]) == 2
        told = f"training: {key} = {value}; it must be at most 2147483647\n"
        assert capsys.readouterr().err.endswith(told)
    assert main(["describe", "training", "--ranks", "8", "--set", f"{key}={2**31 - 1}"]) == 0


def test_a_key_that_is_set_twice_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["describe", "training", "--ranks", "8", "--set", "tp=8"]
    assert main([*given, "--set", "tp=4"]) == 2
    assert capsys.readouterr().err.endswith("--set tp=4: tp is given twice; give it once\n")
    assert main([*given, "--set", "pp=1"]) == 0


@pytest.mark.parametrize(("name", "parameters", "message"), RUNAWAYS)
def test_a_pattern_is_estimated_before_it_is_built(
    name: str, parameters: dict[str, object], message: str
) -> None:
    parameters = {"algorithm": "ring", **parameters}
    with pytest.raises(NetcosimError, match=message):
        nc.make_pattern(name, 16, 1000, 1, np.random.default_rng(1), parameters)


def test_the_most_micro_batches() -> None:
    """2 x 34 x 2,941 = 199,988 of at most 200,000; merged into one block 2 x 100,000.

    Tensor parallel, a layer has two all-reduces and two parts of computing forwards, and again
    backwards, the embedding one of each, and the loss three: 32 x 8 + 4 + 7 = 267.
    """
    rng = np.random.default_rng(1)
    with pytest.raises(NetcosimError, match="2,942 makes at least 200,056 operations; at most 200"):
        nc.make_pattern("training", 1, 1, 1, rng, {"micro_batches": 2942})
    with pytest.raises(NetcosimError, match="100,001 makes at least 200,002 operations"):
        nc.make_pattern("training", 1, 1, 1, rng, {"micro_batches": 100_001, "blocks": 1})
    with pytest.raises(NetcosimError, match="2,900 makes at least 774,300 operations"):
        nc.make_pattern("training", 8, 1, 1, rng, {"micro_batches": 2900, "tp": 8})
    assert nc.make_pattern("training", 1, 1, 1, rng, {"micro_batches": 100, "blocks": 1}).n_ranks


def test_a_time_that_a_clock_cannot_hold_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"restart_s: 1e\+30; must be at most 1e\+12 s"):
        config(queue={"checkpoint": {"restart_s": 1e30}})
    config(queue={"checkpoint": {"restart_s": 1e12}})


class Restless(Decider):
    """Starts each job 10 s after its submission, and wakes after a step until then."""

    name = "restless"
    description = "wakes too often"

    def __init__(self, step_s: float, end_s: float = 10.0) -> None:
        self.step_s, self.end_s = step_s, end_s

    def decide(self, point: DecisionPoint) -> Choice | None:
        self.until_s = point.now_s + self.step_s
        done = not point.running() and point.now_s >= self.end_s
        return Choice(int(point.head() or 0)) if done else None


def started_s(decider: Decider, n_jobs: int = 1) -> list[float]:
    jobs = bare_jobs(
        "jobs",
        submit_s=np.zeros(n_jobs),
        run_time_s=np.full(n_jobs, 1000.0),
        n_nodes=np.ones(n_jobs, dtype=np.int64),
        requested_s=np.full(n_jobs, 1000.0),
    )
    policy = nc.make_policy(nc.preset("dragonfly-272"), "rdn", np.random.default_rng(1))
    found = simulate_queue(jobs, policy, backfill=decider, rng=np.random.default_rng(1))
    return [float(s) for s in found.start_s]


def test_a_decider_that_wakes_for_ever_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queuesim.decide.MOST_WAITS", 50)
    assert started_s(Restless(1.0)) == [10.0]
    with pytest.raises(NetcosimError, match=r"'restless': at 5 s: waited 50 times in a row, 5 s"):
        started_s(Restless(0.1))
    # the second job waits for the first, 1,000 s: 50 waits of less than a second are refused,
    # those of two seconds are not
    assert started_s(Restless(2.0), 2) == [10.0, 1010.0]
    with pytest.raises(NetcosimError, match="waited 50 times in a row, 5e-08 s"):
        started_s(Restless(1e-9, 0.0), 2)


# What was accepted


def test_no_number_and_no_text_of_a_config_can_be_a_truth_value() -> None:
    flags = {"workload.all_at_zero", "queue.partitions.default", "analysis.bounds"}
    flags |= {"machine.packet.control_first", "run.redraw_log"}
    flags |= {"policies.pbs-placement-sets.do_not_span", "policies.tpu-slices.optical"}
    accepted = set()
    for path, key in config_keys().items():
        if path.startswith(("sweep.", "reference")) or len(key.lines) < 2:
            continue
        more = tomllib.loads(f"{key.lines[0]}\n{key.lines[-1]}")
        table: Any = more
        *parts, last = path.split(".")
        for part in parts:
            table = table[part]
            table = table[0] if isinstance(table, list) else table
        table[last] = True
        content = merged(base("generated jobs, as logged"), more)
        if path.startswith("communication.mix."):
            entry = {"pattern": "all-to-all", **more["communication"]["mix"][0]}
            content["communication"]["mix"] = [entry]
        try:
            checked_config(content)
        except NetcosimError:
            continue
        accepted.add(path)
    assert accepted <= flags
    assert accepted


@pytest.mark.parametrize(
    ("section", "key"), [("las", "thresholds"), ("assumed", "speeds_up"), ("las", "thresholds_s")]
)
def test_an_empty_list_is_refused_where_it_says_nothing(section: str, key: str) -> None:
    empty: dict[str, Any] = {key: []}
    with pytest.raises(ConfigError, match=f"{key.removesuffix('_s')}.*must have at least 1 entry"):
        config(queue={section: empty} if section else empty)
    # where it is the default it is one: a resolved config has it
    assert config(queue={"bandwidth_need": []}).queue.bandwidth_need_Bps == ()
    with pytest.raises(NetcosimError, match=r"topology torus: dims = \[\]; it must have at least"):
        nc.make_topology("torus", {"dims": []})


def test_a_pin_to_itself_and_a_pin_twice_are_refused() -> None:
    tree = nc.make_topology("fattree", {"radix": 4})
    for pins, message in (
        ([[3, 3, 0, 0]], r"pins has \[3, 3, 0, 0\], which ends where it begins"),
        (
            [[0, 9, 0, 0], [0, 9, 0, 1]],
            r"pins has \[0, 9, 0, 1\], which pins a flow again",
        ),
    ):
        with pytest.raises(NetcosimError, match=message):
            nc.make_routing(tree, "pinned", {"pins": pins})
    nc.make_routing(tree, "pinned", {"pins": [[0, 9, 0, 0], [9, 0, 0, 0]]})


# Messages


def test_a_number_that_is_too_large_is_named_and_no_other() -> None:
    rng = np.random.default_rng(1)
    for given, shown in (
        ({"gradient_bytes": 10**24}, r"gradient_bytes = about 10\^24"),
        ({"scale": 1e30}, r"scale = 1e\+30"),
    ):
        with pytest.raises(NetcosimError, match=rf"tp = 2, {shown}: too large") as found:
            nc.make_pattern("training", 16, 1000, 1, rng, {"tp": 2, **given})
        assert "message_bytes" not in str(found.value)
        assert "Settings" not in str(found.value)
    # 16 GPUs send 2 x 7/8 of 3.4e9 x 2e8 bytes each: their sum has no 64 bits
    given = {"tp": 2, "gradient_bytes": 2 * 10**8, "compute": False}
    with pytest.raises(NetcosimError, match=r"200,000,000, .*: too large"):
        nc.make_pattern("training", 16, 1000, 1, rng, given)


def test_a_cache_that_cannot_be_written_is_said_to_be(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("netcosim.warmup.warm_up", lambda parts: iter(parts))
    (tmp_path / "file").write_text("")
    for folder, words in (
        (tmp_path / "file" / "x", "in each run: {} cannot be written; set NETCOSIM_CACHE_DIR"),
        (tmp_path / "new", "once; kept in {}"),
    ):
        monkeypatch.setenv("NETCOSIM_CACHE_DIR", str(folder))
        compile_kernels(["flows"])
        assert words.format(folder) in capsys.readouterr().err


# Code that a config runs


def test_a_dry_run_starts_no_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The program of the first config would leave a file; a run does start it."""
    (tmp_path / "p.py").write_text("open('started', 'w').close()\n")
    text = f"""
machine = {{ family = "fattree", radix = 4 }}
workload.synthetic = {{ n_jobs = 5, mean_nodes = 4 }}
queue = {{ policies = ["baseline"], run_time_model = "as-logged" }}
queue.decider.command = ["{sys.executable}", "p.py"]
"""
    text = text.replace(" }\nqueue.decider.command = [", ", decider = { command = [").replace(
        '"p.py"]', '"p.py"] } }'
    )
    (tmp_path / "one.toml").write_text(f"{text}run.snapshots = 0\n")
    (tmp_path / "two.toml").write_text(f"{text}run = {{ snapshots = 0, seed = [1, 2] }}\n")
    assert main(["run", "one.toml", "--dry-run"]) == 0
    assert "the program of queue.decider is not started" in capsys.readouterr().out
    assert main(["sweep", "two.toml", "--dry-run"]) == 0
    assert "estimate: unknown until a point is stored" in capsys.readouterr().out
    assert not (tmp_path / "started").exists()
    assert main(["run", "one.toml"]) == 2
    assert (tmp_path / "started").exists()
