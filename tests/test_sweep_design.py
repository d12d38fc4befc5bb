"""A sweep by a design, schedules that its points share, and what ``netcosim surface`` says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netcosim as nc
from cosim.isolation.design import Design, Factor
from cosim.measuring.parts import SerialExecutor
from netcosim.cli import main
from netcosim.config.load import load_sweep, points_of
from netcosim.design_results import DesignResults, design_results
from netcosim.runs.cosim import cosim_point, run_cosim
from netcosim.runs.cosim_tables import result_tables
from netcosim.runs.points import replaced
from netcosim.runs.run_context import run_context
from netsim.errors import NetcosimError
from queuesim.assumed import Assumed
from queuesim.runtime import AsLogged

TEXT = """
[machine]
family = "dragonfly"
p = 2
a = 2
g = 5
[workload]
larger_jobs = "drop"
[workload.synthetic]
n_jobs = 20
mean_nodes = 4
load = 1.0
[queue]
policies = ["rdn", "simple"]
run_time_model = "as-logged"
[[communication.mix]]
pattern = "all-to-all"
message_bytes = "2 KB"
[run]
snapshots = 0
[sweep.design]
method = "METHOD"
samples = 16
[[sweep.design.factors]]
key = "machine.global_bandwidth"
low = "0.5 GB/s"
high = "8 GB/s"
log = true
[[sweep.design.factors]]
key = "workload.synthetic.mean_nodes"
low = 2
high = 8
integer = true
[[sweep.design.factors]]
name = "router"
keys = ["machine.packet.router", "machine.routing"]
levels = [["output-queued", "minimal"], ["input-queued", "ugal-l"]]
[[sweep.design.factors]]
key = "communication.mix.0.communication_fraction"
low = 0.1
high = 0.5
"""


def file(folder: Path, method: str, *changes: tuple[str, str]) -> Path:
    text = TEXT.replace("METHOD", method)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "d.toml"
    path.write_text(text)
    return path


def test_points_of_a_design_are_the_places_of_its_factors(tmp_path: Path) -> None:
    sweep = load_sweep(file(tmp_path, "latin-hypercube"))
    assert len(sweep.points) == 16
    bandwidths = sorted(p.machine.parameters["global_bandwidth_Bps"] for p in sweep.points)
    # a part of 16 of the range each, at equal ratios
    edges = 0.5e9 * 16.0 ** (np.arange(17) / 16)
    assert all(low <= b <= high for b, low, high in zip(bandwidths, edges, edges[1:], strict=False))
    sizes = [p.workload.synthetic.mean_nodes for p in sweep.points]
    assert set(sizes) == {2, 3, 4, 5, 6, 7, 8}
    routers = {(p.machine.packet.router, p.machine.routing) for p in sweep.points}
    assert routers == {("output-queued", "minimal"), ("input-queued", "ugal-l")}
    fractions = [p.communication.mix[0].communication_fraction for p in sweep.points]
    assert all(low == high and 0.1 <= low <= 0.5 for low, high in fractions)


def test_lists_beside_a_design_give_each_row_several_points(tmp_path: Path) -> None:
    path = file(tmp_path, "sobol-sequence", ("snapshots = 0", "snapshots = 0\nseed = [1, 2]"))
    assert len(load_sweep(path).points) == 32


def test_a_sweep_and_what_its_surface_says(tmp_path: Path, monkeypatch, capsys) -> None:
    """Waits hang on the sizes of jobs; on links they cannot, for no job is slowed down."""
    monkeypatch.chdir(tmp_path)
    path = file(tmp_path, "sobol-sequence", ("n_jobs = 20", "n_jobs = 60"))
    assert main(["sweep", str(path), "--quiet"]) == 0
    asked = ["surface", "d.db", "--of", "policies.mean_wait_s", "--out", "s.csv"]
    assert main([*asked, "--where", "policy=simple"]) == 0
    assert "16 of 16 rows of the design" in capsys.readouterr().out
    import pandas as pd

    table = pd.read_csv("s.csv").set_index("factor")
    assert table["first"].idxmax() == "workload.synthetic.mean_nodes"
    assert table.loc["workload.synthetic.mean_nodes", "total"] > 0.9
    # the response is the stored number of the row's own point
    results = design_results("d.db", "policies", "mean_wait_s", {"policy": "simple"})
    config = load_sweep(path).points[5]
    rows = result_tables(run_cosim(config))["policies"]
    wait = next(row["mean_wait_s"] for row in rows if row["policy"] == "simple")
    assert results.response[5] == wait


def test_morris_of_a_sweep(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    path = file(tmp_path, "morris", ("samples = 16", "samples = 3"))
    assert len(load_sweep(path).points) == 3 * 5
    assert main(["sweep", str(path), "--quiet"]) == 0
    asked = ["surface", "d.db", "--of", "policies.mean_wait_s", "--where", "policy=rdn"]
    assert main([*asked, "--out", "m.csv"]) == 0
    import pandas as pd

    table = pd.read_csv("m.csv").set_index("factor")
    assert table.loc["workload.synthetic.mean_nodes", "mu_star"] > 0
    assert (table.drop("workload.synthetic.mean_nodes")["mu_star"] == 0).all()
    capsys.readouterr()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"METHOD"', '"grid"', "key sweep.design: method: unknown design 'grid'"),
        ("samples = 16", "samples = 0", "key sweep.design: samples: 0; "),
        ("samples = 16", "samples = 16\nsample = 1", "sample: unknown key"),
        ('low = "0.5 GB/s"', 'low = "9 GB/s"', "low must be below high"),
        ('high = "8 GB/s"', 'high = "8 s"', "all bounds need like units"),
        ('"0.5 GB/s"', '"0 GB/s"', "log needs low above 0"),
        ("integer = true", "levels = [2, 4]", "needs low and high, or levels"),
        ("integer = true", "whole = true", "it is called 'integer' since version 0.2"),
        ('["output-queued", "minimal"],', '["output-queued"],', "a value for every key"),
        ("mix.0.comm", "mix.3.comm", "key communication.mix.3.communication_fraction: '3' is no"),
        ("machine.global_bandwidth", "machine.globl", "machine.globl: unknown"),
    ],
)
def test_mistakes_in_a_design_are_one_line(tmp_path: Path, old: str, new: str, told: str) -> None:
    with pytest.raises(NetcosimError, match=r"d\.toml: ") as error:
        load_sweep(
            file(tmp_path, "latin-hypercube", (old.replace("METHOD", "latin-hypercube"), new))
        )
    assert told in str(error.value)


def test_salib_that_is_missing_is_one_line(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "SALib", None)
    with pytest.raises(NetcosimError, match=r"needs SALib, which is not installed: pip install"):
        load_sweep(file(tmp_path, "morris"))


def test_results_that_confound_two_factors_warn_in_one_line(monkeypatch, capsys) -> None:
    """Rows without a result are left out; here all where two factors differ."""
    factors = [Factor("a"), Factor("b", levels=("p", "q")), Factor("c", levels=("r", "s"))]
    design = Design("latin-hypercube", 200, 1, factors)
    places = design.places()
    whole = DesignResults(design, places, places.sum(axis=1))
    assert whole.confounded is None
    agree = (places[:, 1] < 0.5) == (places[:, 2] < 0.5)
    holed = DesignResults(design, places, np.where(agree, whole.response, np.nan))
    monkeypatch.setattr("netcosim.design_results.design_results", lambda *_: holed)
    assert main(["surface", "d.db", "--of", "policies.mean_wait_s"]) == 0
    shown = capsys.readouterr().err
    assert shown.startswith("netcosim: warning: factors b and c are confounded: Cramer's V 1.00; ")
    assert shown.count("\n") == 1
    # trajectories change one factor at a time
    morris = Design("morris", 30, 1, factors)
    places = morris.places()
    assert DesignResults(morris, places, places.sum(axis=1)).confounded is None


def test_a_confounded_design_is_refused_before_it_is_computed(tmp_path: Path) -> None:
    many = "".join(
        f'[[sweep.design.factors]]\nname = "x{i}"\nkey = "run.seed"\n'
        + ("levels = [1, 2, 3, 4, 5]\n" if i % 2 else "low = 1\nhigh = 9\ninteger = true\n")
        for i in range(20)
    )
    path = file(tmp_path, "sobol-sequence", ("samples = 16", "samples = 64"))
    path.write_text(path.read_text() + many)
    with pytest.raises(NetcosimError, match=r"are confounded: .* set method = \"latin-hypercube\""):
        load_sweep(path)


def test_a_number_must_be_one_row_and_a_design_must_be_there(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    path = file(tmp_path, "sobol-sequence", ("samples = 16", "samples = 2"))
    assert main(["sweep", str(path), "--quiet"]) == 0
    for of, more, told in (
        ("policies.mean_wait_s", [], "2 such rows a point; it must be one"),
        ("policies.wait", ["--where", "policy=rdn"], "has no column 'wait'"),
        ("nothing.wait", [], "no table 'nothing'"),
        ("wait", [], "must be TABLE.COLUMN"),
        ("policies.policy", ["--where", "policy=rdn"], "it must be a number"),
        ("policies.mean_wait_s", ["--where", "policy=rdn"], "2 points of 4 factors"),
    ):
        assert main(["surface", "d.db", "--of", of, *more]) == 2
        assert told in capsys.readouterr().err
    plain = tmp_path / "p.toml"
    plain.write_text(TEXT.partition("[sweep.design]")[0])
    assert main(["sweep", str(plain), "--quiet"]) == 0
    assert main(["surface", "p.db", "--of", "policies.mean_wait_s"]) == 2
    assert "has no [sweep.design]" in capsys.readouterr().err


# Schedules that points share

FATTREE: dict[str, Any] = {
    "machine": {"family": "fattree", "m1": 3, "m2": 3, "m3": 4},
    "workload": {"synthetic": {"n_jobs": 30, "mean_nodes": 4}, "all_at_zero": True},
    "queue": {"policies": ["random", "jigsaw"], "run_time_model": "as-logged"},
    "communication": {
        "mix": [{"pattern": "halo3d", "node_bytes": 4096, "communication_fraction": 0.4}]
    },
    "run": {"snapshots": 1, "measure": "paired", "keep": "tables"},
}
WALL = ("wall", "scheduling")


def tables(content: dict[str, Any], parts: Any) -> dict[str, Any]:
    found = result_tables(run_cosim(nc.config_from(content), parts=parts))
    return {
        name: [{k: v for k, v in row.items() if not any(w in k for w in WALL)} for row in rows]
        for name, rows in found.items()
    }


class Counting(SerialExecutor):
    """Says what was really computed."""

    def each(self, parts, progress=None):
        self.begun = [part.name for part in parts if part.digest not in self._cache]
        self.queues = [*getattr(self, "queues", []), *(n for n in self.begun if "queue" in n)]
        return super().each(parts, progress)


def test_points_that_share_schedules_have_the_numbers_that_they_have_alone() -> None:
    kept = Counting(keep=24)
    changed: list[dict[str, object]] = [
        {},
        {"machine.node_bandwidth_Bps": 5 * 10**8},
        {"machine.routing": "adaptive"},
        {"communication.ranks_per_node": 2},
        {"queue.policies": ["slurm-tree", "jigsaw"]},
    ]
    for changes in changed:
        content = replaced(FATTREE, changes)
        assert tables(content, kept) == tables(content, SerialExecutor()), changes
    assert [name.split(", ")[-1] for name in kept.queues] == ["random", "jigsaw", "slurm-tree"]


@pytest.mark.parametrize(
    "changes",
    [
        {"machine.m2": 4},
        {"workload.synthetic.n_jobs": 31},
        {"run.seed": 2},
        {"run.repetition": 1},
        {"queue.window": 1},
        {"queue.order": "shortest"},
        {"queue.backfill": "none"},
    ],
)
def test_what_a_schedule_depends_on_is_never_shared(changes: dict[str, object]) -> None:
    kept = Counting(keep=24)
    tables(FATTREE, kept)
    kept.queues.clear()
    content = replaced(FATTREE, changes)
    assert tables(content, kept) == tables(content, SerialExecutor())
    assert len(kept.queues) == 2


def test_bandwidth_counts_for_a_policy_that_places_by_it() -> None:
    needs = {"queue.policies": ["baseline", "lc-s"], "queue.bandwidth_need_Bps": [2 * 10**8]}

    def digests(changes: dict[str, object]) -> list[str]:
        queues = run_context(nc.config_from(replaced(FATTREE, needs | changes))).queues
        return [queues.digest(name, AsLogged()) for name in ("baseline", "lc-s")]

    one, links = digests({}), digests({"machine.level1_bandwidth_Bps": 7 * 10**8})
    more = digests({"queue.bandwidth_need_Bps": [3 * 10**8]})
    assert [a == b for a, b in zip(one, links, strict=True)] == [True, False]
    assert [a == b for a, b in zip(one, more, strict=True)] == [True, False]


def test_a_model_or_policy_that_is_not_known_has_no_digest() -> None:
    queues = run_context(nc.config_from(FATTREE)).queues
    assert queues.digest("random", AsLogged())
    assert queues.digest("random", Assumed("10%")) == ""


def test_only_so_many_are_kept_and_the_oldest_goes_first() -> None:
    from cosim.measuring.parts import Part

    computed = []

    def part(name: str) -> Part:
        def compute(tell: Any) -> dict[str, Any]:
            computed.append(name)
            return {"x": np.array([len(name)])}

        return Part(name, compute, digest=name)

    kept = SerialExecutor(keep=2)
    for name in ("a", "b", "a", "c", "a", "b"):
        kept.each([part(name)])
    assert computed == ["a", "b", "c", "b"]


def test_a_sweeps_points_share_them(tmp_path: Path) -> None:
    one = nc.config_from(FATTREE).resolved()
    again = cosim_point(one), cosim_point(one)
    assert again[0].tables["steady" if "steady" in again[0].tables else "policies"]
    rows = [point.tables["policies"] for point in again]
    assert rows[0] == rows[1]  # wall clocks too: the schedule is the same one
    assert points_of({**FATTREE})[0].resolved() == one
