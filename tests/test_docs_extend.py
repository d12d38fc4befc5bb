"""docs/extend.md: every plug-in is whole, and every config runs and shows what the entry does."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netcosim.cli import main
from netcosim.config.load import load_config
from netcosim.runs.cosim import run_cosim
from netcosim.runs.cosim_result import CosimResult
from netcosim.runs.cosim_tables import result_tables
from netsim.flow.paths import flow_paths
from netsim.routing.deadlock import find_cycle

pytestmark = pytest.mark.usefixtures("undrawn")

PAGE = Path(__file__).resolve().parents[1] / "docs" / "extend.md"
BLOCK = re.compile(r"^```(?:python|toml|text)\n# (\S+)\n(.*?)^```", re.M | re.S)
FILES = {found.group(1): found.group(2) for found in BLOCK.finditer(PAGE.read_text("utf-8"))}


def ran(result: CosimResult, policy: str) -> Any:
    schedule = result.schedules[policy]
    return (schedule.end_s - schedule.start_s) / result.workload.run_time_s


def spread_policies(result: CosimResult) -> None:
    """Spread jobs cross the spines, so they run longer."""
    assert ran(result, "by-turns").mean() > ran(result, "baseline").mean()


def noisy_queue(result: CosimResult) -> None:
    """The factors are log-normal around 1; who asks for least work starts first at time 0."""
    factor = np.log(ran(result, "baseline"))
    assert 0.2 < factor.std() < 0.4
    start, jobs = result.schedules["baseline"].start_s, result.workload
    work = jobs.n_nodes * jobs.requested_s
    assert work[start == 0].max() < np.median(work[start > 0])


def hub_pattern(result: CosimResult) -> None:
    """As many bytes come as go, but for one message of each rank, on its way at the end."""
    packets = result.measured["baseline"].packets[0]
    n = result.machine.topology.n_nodes
    sent, come = packets.link_bytes[:n].sum(), packets.link_bytes[n : 2 * n].sum()
    assert 0 <= sent - come <= n * 16 * 1024 < sent / 2


def wide_table(result: CosimResult) -> None:
    [row] = result_tables(result)["wide-jobs"]
    wide = result.workload.n_nodes > 8
    waits = result.schedules["baseline"].start_s - result.workload.submit_s
    assert row["jobs"] == wide.sum() > 0
    assert row["mean_wait_s"] == pytest.approx(waits[wide].mean())


def own_network(result: CosimResult) -> None:
    """20 nodes, its own routing; rungs carry a quarter where a packet may go either way."""
    machine = result.machine
    assert (machine.topology.family, machine.topology.n_nodes) == ("ladder", 20)
    assert (machine.routing.name, machine.routing.random_visits) == ("spread", 3)
    assert find_cycle(machine.routing) is None
    [hop, other] = machine.routing.choices(0, 2 * 6, 0)
    paths = flow_paths(machine.routing, [0], [12], pieces=4000)
    share = dict(zip(paths.links.tolist(), paths.weights, strict=True))
    rung = next(h.link for h in (hop, other) if machine.topology.link_dst[h.link] - 20 == 5)
    assert share[rung] == pytest.approx(0.25, abs=5 * (0.25 * 0.75 / 4000) ** 0.5)
    assert result.measured["random"].packet_hops > result.measured["baseline"].packet_hops > 0


def own_log(result: CosimResult) -> None:
    """Three of four jobs; the queue is emptier here than there, so the last need not wait."""
    jobs = result.workload
    assert (jobs.job_id.tolist(), jobs.n_nodes.tolist()) == ([1, 2, 4], [4, 8, 8])
    assert jobs.run_time_s.tolist() == [600, 870, 600]
    assert jobs.dropped == {"state lost": 1}
    assert result.schedules["baseline"].start_s.tolist() == [0, 30, 600]


SHOWN: dict[str, Callable[[CosimResult], None]] = {
    "my_policy.toml": spread_policies,
    "my_queue.toml": noisy_queue,
    "my_pattern.toml": hub_pattern,
    "my_table.toml": wide_table,
    "my_network.toml": own_network,
    "my_log.toml": own_log,
}


def test_every_config_of_the_page_is_looked_at() -> None:
    assert set(SHOWN) == {name for name in FILES if name.endswith(".toml")}
    assert set(FILES) == {*SHOWN, *(n.replace(".toml", ".py") for n in SHOWN), "my.log"}


@pytest.mark.parametrize("name", SHOWN)
def test_an_example_runs_and_does_what_it_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for file, text in FILES.items():
        (tmp_path / file).write_text(text)
    config = load_config(name)
    with config.plugged():
        SHOWN[name](run_cosim(config))
    plugin = name.replace(".toml", ".py")
    lines = [line for line in FILES[plugin].splitlines() if line]
    assert 8 <= len(lines) <= 36
    entry = re.search(
        r'(?:name = |Family\(|Order\(|Pattern\(|Observable\(|Importer\()"([a-z-]+)"', FILES[plugin]
    )
    assert entry is not None
    assert main(["describe", entry.group(1), "--plugin", plugin]) == 0
    assert f"from plug-in {plugin}" in capsys.readouterr().out


def test_the_log_is_imported_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wherever ``--plugin`` stands; a line that the reader trips over is told with its place."""
    monkeypatch.chdir(tmp_path)
    for file in ("my.log", "my_log.py"):
        (tmp_path / file).write_text(FILES[file])
    [command] = re.findall(r"`netcosim (trace import .*?)`", PAGE.read_text("utf-8"))
    assert main(command.split()) == 0
    assert "left out: 1 (state lost)" in capsys.readouterr().out
    (tmp_path / "my.log").write_text("1;0;0\n")
    assert main(["trace", "--plugin=my_log.py", *command.split()[1:4]]) == 2
    assert "plug-in my_log.py, line 11: ValueError: not enough" in capsys.readouterr().err
