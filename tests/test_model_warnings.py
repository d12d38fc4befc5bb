"""Warnings about the model: by the function that knows, once a call, at the line of its caller."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netcosim as nc
from netcosim.cli import main
from netcosim.config.load import config_from
from netcosim.runs.cosim import run_cosim

pytestmark = pytest.mark.usefixtures("undrawn")

SHORT = "buffer_bytes = 16384 is below the credit round trip of injection links"


def star(folder: Path) -> str:
    """Four nodes on a switch, by cables of 400 Gbit/s and 1 us."""
    path = folder / "star.csv"
    lines = [f"n{i},sw,400 Gbit/s,1 us\n" for i in range(4)]
    path.write_text("a,b,bandwidth,latency\n" + "".join(lines))
    return str(path)


def raised(call: Callable[[], Any]) -> list[str]:
    """Return the model warnings of a call, which all name this file."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    own = [w for w in found if issubclass(w.category, nc.ModelWarning)]
    assert all(w.filename == __file__ for w in own)
    return [str(w.message) for w in own]


@pytest.fixture
def routing(tmp_path: Path) -> Any:
    return nc.make_routing(nc.make_topology("cables", {"file": star(tmp_path)}))


def calls(routing: Any, packet: nc.PacketConfig) -> dict[str, Callable[[], Any]]:
    shift = nc.Communication("shift", 100_000)
    jobs = [nc.PlacedJob(0, shift, np.arange(4))]
    ensemble = nc.Ensemble(nc.SharedNetwork(routing, packet, task_mapping="in-order"), jobs)
    program = nc.make_pattern("shift", 4, 100_000, 1, np.random.default_rng(1))
    traffic = nc.combine([program], [np.arange(4)])
    return {
        "packets": ensemble.packets,
        "loops": lambda: ensemble.loops(1e-4),
        "simulate": lambda: nc.simulate_packets(routing, traffic, packet, np.random.default_rng(1)),
    }


@pytest.mark.parametrize("name", ["packets", "loops", "simulate"])
def test_short_buffers_are_reported(routing: Any, name: str) -> None:
    """By hand: 2,048 wire bytes are 40.96 ns; T = 2 us + 100 ns + 40.96 ns; 8 packets: 15.3 %."""
    call = calls(routing, nc.PacketConfig())[name]
    [message] = raised(call)
    assert message.startswith(SHORT)
    wire = nc.PacketConfig().packet_bytes + nc.PacketConfig().header_bytes
    packets, one_s = 16384 // wire, wire / 50e9
    percent = int(1000 * packets * one_s / (2e-6 + 100e-9 + one_s)) / 10
    assert percent == 15.3
    assert "(15.3 %)" in message
    assert raised(call) == [message]  # each call says what it simulates
    enough = nc.PacketConfig(buffer_bytes=1 << 20)
    assert raised(calls(routing, enough)[name]) == []


def config(folder: Path, model: str, snapshots: int, machine: dict[str, Any]) -> nc.Config:
    return config_from(
        {
            "machine": machine or {"family": "cables", "file": star(folder)},
            "workload": {"synthetic": {"n_jobs": 8, "mean_nodes": 3}, "larger_jobs": "drop"},
            "queue": {"policies": ["baseline", "random"], "run_time_model": model},
            "run": {"snapshots": snapshots},
        }
    )


@pytest.mark.parametrize("run", [run_cosim, lambda c: nc.run(c, progress=False)])
@pytest.mark.parametrize(
    ("model", "snapshots", "expected"),
    [
        ("as-logged", 0, 0),  # sends nothing
        ("as-logged", 2, 1),
        ("measured", 2, 1),
        ("coupled-packets", 0, 1),
    ],
)
def test_a_run_reports_once_what_it_simulates(
    tmp_path: Path, run: Any, model: str, snapshots: int, expected: int
) -> None:
    found = raised(lambda: run(config(tmp_path, model, snapshots, {})))
    assert [m.startswith(SHORT) for m in found] == [True] * expected


def test_defaults_of_gpu_clusters_are_reported(tmp_path: Path) -> None:
    """A ring of GPUs is limited by the buffers of NVLink: the line names the rate of a channel."""
    machine = {"family": "gpu-cluster", "nodes": 2, "gpus_per_node": 4}
    [message] = raised(lambda: run_cosim(config(tmp_path, "measured", 1, machine)))
    assert "round trip of scale-up-injection links" in message
    assert "of 4.5e+11 bytes/s" in message


def test_the_command_line_prints_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(
        f'machine = {{ family = "cables", file = "{star(tmp_path)}" }}\n'
        'workload = { synthetic = { n_jobs = 8, mean_nodes = 3 }, larger_jobs = "drop" }\n'
        'queue = { policies = ["baseline"], run_time_model = "as-logged" }\n'
        "run = { snapshots = 1 }\n"
    )
    for number in (1, 2):  # also a second time in one process
        assert main(["run", "mine.toml", "--out", f"out-{number}"]) == 0
        err = capsys.readouterr().err
        assert err.count("netcosim: warning: buffer_bytes = 16384") == 1
        assert err.count("buffer_bytes") == 1


def test_notices_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="netcosim"):
        nc.run(config(tmp_path, "as-logged", 1, {}), progress=False)
    assert {record.name for record in caplog.records} == {"netcosim"}
    by_level = {r.levelname: r.getMessage() for r in caplog.records}
    assert set(by_level) == {"INFO", "DEBUG"}
    assert any("4 nodes on 1 switches" in r.getMessage() for r in caplog.records)
