"""What a notebook shows of results: short texts, tables with units, figures, clear mistakes."""

from __future__ import annotations

from dataclasses import is_dataclass
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import netcosim as nc
from netcosim.runs import progress
from netcosim.runs.run_result import Run
from netsim.flow.maxmin import run_flows
from netsim.short_repr import LONGEST, text_of
from netsim.units import title_and_unit

CONTENT: dict[str, Any] = {
    "machine": {"family": "dragonfly", "p": 2, "a": 2, "g": 5},
    "workload": {"synthetic": {"n_jobs": 300, "mean_nodes": 4}, "larger_jobs": "drop"},
    "queue": {"policies": ["rdn", "simple"], "run_time_model": "measured"},
    "run": {"snapshots": 2, "keep": "all"},
}
MOST = 2000


@pytest.fixture(scope="module")
def done() -> Run:
    return nc.run(CONTENT, progress=False)


@pytest.fixture(scope="module")
def results(done: Run, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One of each public result, large enough to be long if all of it were shown."""
    rng = np.random.default_rng(1)
    topology = nc.preset("dragonfly-272")
    routing = nc.make_routing(topology)
    policy = nc.make_policy(topology, "rdn", rng)
    program = nc.make_pattern("all-to-all", 64, 1000, 1, rng)
    traffic = nc.combine([program], [np.arange(64)])
    network = nc.SharedNetwork(routing)
    placed = nc.PlacedJob(1, nc.Communication("halo3d"), np.arange(200))
    both = nc.Ensemble(
        network, [placed, nc.PlacedJob(2, placed.communication, np.arange(200, 260))]
    )
    path = tmp_path_factory.mktemp("store") / "s.db"
    logged = {"policies": ["rdn"], "run_time_model": "as-logged"}
    point = nc.config_from(CONTENT | {"queue": logged, "run": {"snapshots": 0}}).resolved()
    summary = nc.run_points("netcosim.runs.cosim:cosim_point", [point], path, progress=False)
    live = nc.Live(topology)
    job = nc.LiveJob("a", range(40))
    assert done.measurement is not None
    assert done.study is not None
    return {
        "run": done,
        "run_cosim": nc.run_cosim(done.config),
        "config": done.config,
        "schedule": done.schedules["rdn"],
        "snapshot": done.schedules["rdn"].snapshots([1000.0])[0],
        "placements": done.schedules["rdn"].placements,
        "summary": nc.summarise(done.schedules["rdn"]),
        "measurement": done.measurement,
        "measurements": done.measured["rdn"],
        "ratio": done.ratios["simple"],
        "study": done.study,
        "speedups": done.table,
        "machine": done.machine,
        "queues": done.queues,
        "neighbours": done.neighbours["rdn"],
        "archive": nc.archive_of(done),
        "schedule of the archive": nc.archive_of(done).schedules["rdn"],
        "topology": topology,
        "routing": routing,
        "policy": policy,
        "placement": policy.allocate(nc.Request(1, 200)),
        "request": nc.Request(2, 5000, nodes=np.arange(5000, dtype=np.int32)),
        "hierarchy": nc.hierarchy_of(topology),
        "workload": nc.laas_workload(3000, 20, rng),
        "program": program,
        "traffic": traffic,
        "packets": nc.simulate_packets(routing, traffic, nc.PacketConfig(), rng),
        "packet config": nc.PacketConfig(),
        "flows": run_flows(*_flows(routing)),
        "shared network": network,
        "placed job": placed,
        "ensemble": both,
        "flow times": both.flows(),
        "packet times": both.packets(),
        "live": live,
        "live job": job,
        "effects": live.change([job]),
        "points": summary,
        "store": nc.Store(path, "read"),
        "plot": done.plot("gantt-rdn"),
    }


def test_repr_is_short_and_in_one_line(results: dict[str, Any]) -> None:
    lengths = {name: len(repr(result)) for name, result in results.items()}
    assert {name: n for name, n in lengths.items() if n >= MOST} == {}
    assert [name for name, result in results.items() if "\n" in repr(result)] == []
    assert "topology=Topology dragonfly-272" in repr(results["routing"])
    assert repr(results["workload"]).startswith(
        "Workload(name='synth-20', job_id=<3000 int64, 1 to"
    )


def test_every_class_of_the_front_door_is_among_them(results: dict[str, Any]) -> None:
    made = {type(result).__name__ for result in results.values()}
    classes = {n for n in nc.__all__ if isinstance(getattr(nc, n), type)} - {
        "NetcosimError",
        "ModelWarning",
    }
    assert classes - made == {"Communication"}  # a part of others, five short fields
    assert len(repr(nc.Communication("halo3d"))) < MOST


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        self.cells += tag == "td"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_tables_are_small_and_well_formed(results: dict[str, Any]) -> None:
    shown = {n: r for n, r in results.items() if hasattr(r, "_repr_html_")}
    assert {"run", "schedule", "packets", "workload", "topology", "store", "config"} <= set(shown)
    for result in shown.values():
        html = result._repr_html_()
        tags = _Tags()
        tags.feed(html)
        assert tags.open == []
        assert 1 <= tags.cells <= 40
        assert len(html) < 8000
        assert "object at 0x" not in html


def test_an_html_table_escapes_and_has_units() -> None:
    jobs = nc.laas_workload(3, 2, np.random.default_rng(1))
    renamed = type(jobs)(
        **{f: getattr(jobs, f) for f in jobs.__dataclass_fields__} | {"name": "<b>"}
    )
    html = renamed._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert "run time</th>" in html
    assert " s</td>" in html


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.arange(3), "[0, 1, 2]"),
        (np.arange(100.0), "<100 float64, 0 to 99>"),
        (np.array([[1, 2], [3, 4]]), "<2 x 2 int64, 1 to 4>"),
        (np.full(20, np.nan), "<20 float64>"),
        ({"a": 1, "b": 2}, "{a, b}"),
        (dict.fromkeys(range(20)), "{0, 1, 2, 3, 4, 5, 6, 7, ... 20 keys}"),
        ([1, 2], "[1, 2]"),
        (range(1000), "1000 x int"),
        (1 / 3, "0.333333"),
        ("x" * 200, "'" + "x" * (LONGEST - 4) + "..."),
        (lambda: 0, "function"),
    ],
)
def test_text_of_values(value: object, expected: str) -> None:
    assert text_of(value) == expected


def test_tables_have_the_units_of_their_columns(done: Run, results: dict[str, Any]) -> None:
    assert set(done.tables) == set(nc.result_tables(done))
    for frame in [*done.tables.values(), done.policies, results["store"].frame("policies")]:
        assert isinstance(frame, pd.DataFrame)
        units = frame.attrs["units"]
        assert set(units) <= set(frame.columns)
        for column in frame.columns:
            assert units.get(column, "") == title_and_unit(column)[1]
    assert done.policies.attrs["units"] == {
        "wait_s": "s",
        "turnaround_s": "s",
        "utilisation_percent": "%",
        "makespan_h": "h",
    }


def test_run_takes_content_file_and_config(done: Run, tmp_path: Path) -> None:
    text = 'machine = { family = "dragonfly", p = 2, a = 2, g = 5 }\n'
    text += "workload.synthetic = { n_jobs = 20, mean_nodes = 4 }\n"
    text += 'queue = { policies = ["rdn"], run_time_model = "as-logged" }\nrun.snapshots = 0\n'
    path = tmp_path / "c.toml"
    path.write_text(text)
    ways = [path, str(path), nc.load_config(path), nc.load_config(path).resolved()]
    frames = [nc.run(way, progress=False).policies for way in ways]
    for frame in frames[1:]:
        pd.testing.assert_frame_equal(frame, frames[0])
    assert is_dataclass(done)
    assert done.summaries().keys() == done.schedules.keys()


def test_figures_are_those_of_the_page(done: Run, tmp_path: Path) -> None:
    assert done.figures[0] == "policies"
    assert {"gantt-rdn", "load-simple", "links", "utilisation"} <= set(done.figures)
    plot = done.plot()
    assert plot._repr_png_().startswith(b"\x89PNG")
    assert plot.save(tmp_path / "p.svg").read_text().startswith("<?xml")
    with pytest.raises(nc.NetcosimError, match=r"unknown figure 'gant'; did you mean gantt-rdn"):
        done.plot("gant")
    with pytest.raises(nc.NetcosimError, match="unknown figure format 'gif'"):
        plot.save("p.gif")


def _flows(routing: Any) -> tuple[Any, ...]:
    from netsim.flow.paths import flow_paths

    paths = flow_paths(routing, np.arange(100), np.arange(100, 200))
    return paths, np.full(100, 1e6), routing.topology.link_bandwidth_Bps


def test_a_notebook_has_a_bar_and_a_log_file_has_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's stderr is no terminal; its shell is known by its class, as in tqdm."""
    shell = type("ZMQInteractiveShell", (), {})()
    shown = {}
    for name in ("log", "notebook"):
        if name == "notebook":
            monkeypatch.setattr("builtins.get_ipython", lambda: shell, raising=False)
        stream = StringIO()
        with progress.progress(2, "points", file=stream) as show:
            show.at(1, "half")
            show.at(2, "all")
        shown[name] = stream.getvalue()
    assert shown["log"] == ""
    assert "2/2" in shown["notebook"]
