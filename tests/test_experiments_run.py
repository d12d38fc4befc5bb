"""`netcosim run` and `demo`: the loop closes; mistakes get one line and leave nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cosim.run_times.flow_errors import ALL, FLOW_ERRORS, FlowError, Key
from netcosim.cli import main
from netcosim.config.load import config_from, load_config
from netcosim.demo_config import demo_config_text, read_demo_log
from netcosim.report.about import notes_of
from netcosim.report.run_page import REPORTS
from netcosim.runs import cosim
from netcosim.runs.cosim import run_cosim
from netcosim.runs.cosim_tables import result_tables

CONFIG = """
[machine]
family = "dragonfly"
p = 2
a = 4
g = 5
routing = "ugal-l"
[workload.synthetic]
n_jobs = 60
mean_nodes = 6
load = 0.9
[queue]
policies = ["rdn", "simple"]
[communication]
[[communication.mix]]
pattern = "all-to-all"
message_bytes = "4 KB"
communication_fraction = [0.2, 0.6]
[run]
snapshots = 4
"""


def config_file(tmp_path: Path, text: str = CONFIG) -> Path:
    path = tmp_path / "c.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("load", "window", "most", "lines"),
    [(None, "all", 60, 1), (None, "all", 61, 0), (None, 50, 60, 0), (0.9, "all", 60, 0)],
)
def test_many_jobs_at_once_are_announced(
    monkeypatch: pytest.MonkeyPatch, load: float | None, window: int | str, most: int, lines: int
) -> None:
    """Unless they are fewer, a pass looks at some of those that wait, or they arrive over time."""
    content = {
        "machine": {"family": "torus", "dims": [8, 8]},
        "workload": {"synthetic": {"n_jobs": 60, "mean_nodes": 4, "load": load}},
        "queue": {"policies": ["baseline"], "run_time_model": "as-logged", "window": window},
        "run": {"snapshots": 0},
    }
    notices: list[str] = []
    monkeypatch.setattr(cosim, "MANY_AT_ONCE", most)
    run_cosim(config_from(content), notice=notices.append)
    assert sum("all 60 jobs arrive at time 0" in line for line in notices) == lines


def test_the_loop_closes(tmp_path: Path) -> None:
    """Run times of the second queue run are the logged ones times what the packets said."""
    result = run_cosim(load_config(config_file(tmp_path)))
    jobs = result.workload
    first, other = (result.schedules[name] for name in ("rdn", "simple"))
    ran = first.end_s - first.start_s
    np.testing.assert_allclose(ran, jobs.run_time_s)
    factor = (other.end_s - other.start_s) / jobs.run_time_s
    single = jobs.n_nodes == 1
    np.testing.assert_allclose(factor[single], 1.0)
    assert result.table.of_run_times
    ratios = {(r.min_nodes, r.max_nodes): r.ratio for r in result.table.rows}
    for (low, high), ratio in ratios.items():
        mine = (jobs.n_nodes >= low) & (jobs.n_nodes <= high)
        # ratios are of runs with their computing: the fraction does not count again
        np.testing.assert_allclose(factor[mine], ratio)
    assert any(ratio != 1 for ratio in ratios.values())
    assert all(m.packet_hops > 0 for m in result.measured.values())


def test_the_loop_closes_with_all_at_once(tmp_path: Path) -> None:
    """Ratios of communication alone count for a job's fraction, between 0.2 and 0.6."""
    always = CONFIG.replace("[communication]", '[communication]\ntogether = "always"')
    result = run_cosim(load_config(config_file(tmp_path, always)))
    jobs, other = result.workload, result.schedules["simple"]
    factor = (other.end_s - other.start_s) / jobs.run_time_s
    assert not result.table.of_run_times
    for row in result.table.rows:
        mine = (jobs.n_nodes >= row.min_nodes) & (jobs.n_nodes <= row.max_nodes)
        low, high = sorted([1 + 0.2 * (row.ratio - 1), 1 + 0.6 * (row.ratio - 1)])
        assert np.all((factor[mine] >= low - 1e-9) & (factor[mine] <= high + 1e-9))
        assert len(np.unique(factor[mine].round(9))) > 1


@pytest.mark.usefixtures("undrawn")
def test_policies_do_not_change_each_others_numbers(tmp_path: Path) -> None:
    """A policy's measurements are the same whichever others are compared with it."""
    both = run_cosim(load_config(config_file(tmp_path)))
    raw = both.config.resolved()
    raw["queue"] = raw["queue"] | {"policies": ["rdn"]}
    alone = run_cosim(config_from(raw))
    np.testing.assert_array_equal(both.measured["rdn"].time_s, alone.measured["rdn"].time_s)
    np.testing.assert_array_equal(both.logged["rdn"].start_s, alone.logged["rdn"].start_s)
    again = run_cosim(load_config(config_file(tmp_path)))
    assert result_tables(again) == result_tables(both)


SWF = "; MaxNodes: 8\n1 0 -1 100 4 -1 -1 4 120 -1 1 1 1 1 1 1 -1 -1\n"


def test_larger_jobs_are_dropped_and_counted_on_request(tmp_path: Path) -> None:
    (tmp_path / "log.swf").write_text(SWF + SWF.splitlines()[1].replace(" 4 ", " 400 ") + "\n")
    generated = CONFIG[CONFIG.index("[workload") : CONFIG.index("[queue]")]
    kept = CONFIG.replace(generated, '[workload]\nlog = "log.swf"\nlarger_jobs = "drop"\n').replace(
        '"measured"', '"as-logged"'
    )
    result = run_cosim(load_config(config_file(tmp_path, kept)))
    assert len(result.workload) == 1
    assert sum(result.workload.dropped.values()) == 1


def test_demo_config_fits_the_log(tmp_path: Path) -> None:
    """A dragonfly at least as large as the log's machine, and less than twice as large."""
    from netcosim.config.machine import build_machine

    for nodes in (8, 100, 500, 1024, 4000):
        log = tmp_path / f"log{nodes}.swf"
        log.write_text(SWF.replace("MaxNodes: 8", f"MaxNodes: {nodes}"))
        path = tmp_path / "demo.toml"
        path.write_text(demo_config_text(read_demo_log(log), None, ["rdn"], 1))
        machine = build_machine(load_config(path).machine)
        assert nodes <= machine.topology.n_nodes < max(2 * nodes, 40)


@pytest.mark.full
@pytest.mark.parametrize("model", ["coupled-flow", "coupled-packets"])
@pytest.mark.parametrize("reference", ["isolated", "contended-baseline"])
def test_coupled_models_by_one_word(tmp_path: Path, model: str, reference: str) -> None:
    """Alone no job is faster than logged; against the baseline none of the baseline's is slower.

    (Up to how the pilot's and the final run's neighbours differ.)
    """
    scale = "message_scale = 0.5" if model == "coupled-packets" else ""
    text = CONFIG.replace(
        'policies = ["rdn", "simple"]',
        f'policies = ["rdn", "simple"]\nrun_time_model = "{model}"\n'
        f'[queue.{model}]\nruntime_reference = "{reference}"\nbaseline = "own-nodes"\n{scale}',
    )
    result = run_cosim(load_config(config_file(tmp_path, text)))
    jobs = result.workload
    factor = {
        name: (run.end_s - run.start_s) / jobs.run_time_s for name, run in result.schedules.items()
    }
    np.testing.assert_allclose(factor["rdn"][jobs.n_nodes == 1], 1.0)
    if reference == "isolated":
        assert all(np.all(f >= 1 - 1e-9) for f in factor.values())
        assert factor["rdn"].max() > 1.01
    else:
        assert factor["rdn"].min() < 1
        assert factor["rdn"].mean() == pytest.approx(1.0, abs=0.05)
    assert not result.logged
    tables = result_tables(result)
    assert ("flow_vs_packets" in tables) == (model == "coupled-packets")
    if model == "coupled-packets":
        assert all(row["judged_jobs"] > 0 for row in tables["flow_vs_packets"])
        assert {"flow_vs_packets", "packet_ages"} <= REPORTS.keys()
        assert [row["present"] for row in tables["packet_ages"]] == [1.0, 1.0]
        told = "of job time rest 100 % on packets of the present situation (CPU time "
        lines = [line for line in notes_of(result) if told in line]
        assert [line.split(": ")[0] for line in lines] == ["rdn", "simple"]


@pytest.mark.full
@pytest.mark.parametrize("model", ["coupled-flow", "as-logged"])
def test_a_run_says_how_far_its_flow_level_is_from_packets(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    model: str,
) -> None:
    """On its page always; on the console, in one line, where it is no better than answering 1."""
    text = CONFIG.replace(
        'policies = ["rdn", "simple"]', f'policies = ["rdn", "simple"]\nrun_time_model = "{model}"'
    )
    for k, warns in enumerate((False, True)):
        known = FlowError(100, 0.123, 0.45, 0.6, 0.1, 0.4 if warns else 0.5, 1.0)
        monkeypatch.setitem(FLOW_ERRORS, Key("dragonfly", "ugal-l", ALL, ALL), known)
        folder = tmp_path / str(k)
        folder.mkdir()
        assert main(["run", str(config_file(folder, text)), "--out", str(folder / "out")]) == 0
        said = [line for line in capsys.readouterr().err.splitlines() if "12.3%" in line]
        assert len(said) == (model == "coupled-flow" and warns)
        page = (folder / "out" / "report.html").read_text(encoding="utf-8")
        assert ("12.3% / 45.0%" in page) == (model == "coupled-flow")
