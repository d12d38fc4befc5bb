"""Plug-ins: a user's entries are known where a config names them, and nowhere else."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import netcosim
from alloc.registry import POLICIES
from cosim.registry import RUNTIME_MODELS
from netcosim.cli import main
from netcosim.config.load import config_from, points_of
from netcosim.runs.cosim import run_cosim
from netcosim.runs.draws import Draws
from netcosim.runs.points import point_key
from netsim.errors import NetcosimError
from netsim.plugins import load_plugin, using
from queuesim.registry import ORDERS

pytestmark = pytest.mark.usefixtures("undrawn")

ROOT = Path(netcosim.__file__).resolve().parents[1]
LAST = '''
import numpy as np
from alloc.nodes import NodePolicy

class Last(NodePolicy):
    """The other end of the machine."""

    name = "last"
    description = "free nodes from the other end"
    counts_only = True

    def _select(self, n_nodes):
        return np.flatnonzero(self._free)[-n_nodes:]

PLUGIN = [Last]
'''
HALF = '''
from dataclasses import dataclass
from typing import Annotated
from queuesim.ordering.orders import Order
from queuesim.runtime import FixedRunTimes, RunTimeModel

@dataclass(frozen=True)
class Scaled(RunTimeModel):
    """Run times times a factor."""

    name = "scaled"
    description = "logged run times times a factor"
    factor: Annotated[float, "what run times are multiplied with"] = 0.5

    @classmethod
    def from_config(cls, context, parameters):
        return parameters

    def prepare(self, workload, policy, rng):
        return FixedRunTimes(workload.run_time_s * self.factor)

PLUGIN = [Scaled, Order("longest", "longest first", static_key=lambda jobs: -jobs.requested_s)]
'''


def content(**queue: Any) -> dict[str, Any]:
    return {
        "machine": {"family": "fattree", "radix": 4},
        "workload": {"larger_jobs": "drop", "synthetic": {"n_jobs": 20, "mean_nodes": 4}},
        "queue": {"policies": ["baseline"], "run_time_model": "as-logged", **queue},
        "run": {"snapshots": 0},
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "last.py").write_text(LAST)
    (tmp_path / "half.py").write_text(HALF)
    return tmp_path


def test_a_policy_of_a_file_places_jobs_and_is_gone_afterwards(folder: Path) -> None:
    raw = content(policies=["baseline", "last"]) | {"plugins": ["last.py"]}
    result = run_cosim(config_from(raw))
    first, last = (result.schedules[name].placements for name in ("baseline", "last"))
    # the mirror image, node by node: 16 nodes counted from the other end
    assert sorted(15 - last.nodes) == sorted(first.nodes)
    assert "last" not in POLICIES
    with pytest.raises(NetcosimError, match="unknown allocation policy 'last'"):
        config_from(content(policies=["last"]))


def test_a_model_of_a_file_has_its_own_table_of_the_config(folder: Path) -> None:
    raw = content(run_time_model="scaled", order="longest", scaled={"factor": 0.25})
    result = run_cosim(config_from(raw | {"plugins": ["half.py"]}))
    ran = result.schedules["baseline"].end_s - result.schedules["baseline"].start_s
    assert (abs(ran - result.workload.run_time_s / 4) < 1e-6).all()
    assert "scaled" not in RUNTIME_MODELS
    assert "longest" not in ORDERS
    with pytest.raises(NetcosimError, match=r"queue\.scaled\.fctor: unknown key; did you mean fac"):
        config_from(content(scaled={"fctor": 1}) | {"plugins": ["half.py"]})
    with pytest.raises(NetcosimError, match=r"queue\.scaled: unknown key"):
        config_from(content(scaled={"factor": 1.0}))


def test_its_bytes_are_in_the_key_and_in_no_draw(folder: Path) -> None:
    """The same jobs with and without it; another file, or the same elsewhere, by what it holds."""
    raw = content()
    bare, plugged = config_from(raw), config_from(raw | {"plugins": ["last.py"]})
    assert "plugins" not in bare.resolved()
    keys = {point_key(c.resolved()) for c in (bare, plugged)}
    draws = [Draws(c.resolved()).rng("workload").integers(2**60) for c in (bare, plugged)]
    assert draws[0] == draws[1]
    (folder / "other").mkdir()
    (folder / "other" / "moved.py").write_text(LAST)
    keys.add(point_key(config_from(raw | {"plugins": ["other/moved.py"]}).resolved()))
    assert len(keys) == 2
    (folder / "last.py").write_text(LAST.replace("[-n_nodes:]", "[:n_nodes]"))
    keys.add(point_key(config_from(raw | {"plugins": ["last.py"]}).resolved()))
    assert len(keys) == 3
    with pytest.raises(NetcosimError, match="the file has changed"):
        config_from(plugged.resolved())


def test_a_changed_file_is_read_again(folder: Path) -> None:
    raw = content(policies=["baseline", "last"]) | {"plugins": ["last.py"]}
    run_cosim(config_from(raw))
    (folder / "last.py").write_text(LAST.replace("[-n_nodes:]", "[:n_nodes]"))
    result = run_cosim(config_from(raw))
    nodes = [result.schedules[name].placements.nodes.tolist() for name in ("baseline", "last")]
    assert nodes[0] == nodes[1]


def test_points_of_a_sweep_may_have_plugins_of_their_own(folder: Path) -> None:
    """Two files with one name each: no point sees the other's."""
    (folder / "same.py").write_text(LAST.replace("[-n_nodes:]", "[:n_nodes]"))
    raw = content(policies=["baseline", "last"]) | {"plugins": [["last.py"], ["same.py"]]}
    mirrored, same = (run_cosim(point).schedules for point in points_of(raw))
    assert same["last"].placements.nodes.tolist() == same["baseline"].placements.nodes.tolist()
    assert mirrored["last"].placements.nodes.max() == 15
    with pytest.raises(NetcosimError, match="'last' is taken by plug-in last"):
        config_from(raw | {"plugins": ["last.py", "same.py"]})


def test_workers_load_it_and_the_page_tells_of_it(folder: Path) -> None:
    toml = """
    plugins = ["last.py"]
    [machine]
    family = "fattree"
    radix = 4
    [workload]
    larger_jobs = "drop"
    [workload.synthetic]
    n_jobs = 20
    mean_nodes = 4
    [queue]
    policies = ["baseline", "last"]
    run_time_model = "as-logged"
    order = ["fcfs", "longest"]
    [run]
    snapshots = 0
    """
    (folder / "c.toml").write_text(toml)
    for plugin, jobs in (("half.py", "2"), ("half.py", "1")):
        store = f"jobs{jobs}.db"
        command = ["sweep", "c.toml", "--plugin", plugin, "--jobs", jobs, "--out", store]
        assert main([*command, "--quiet"]) == 0
    assert main(["report", "jobs2.db", "--out", "page.html"]) == 0
    page = (folder / "page.html").read_text()
    for name in ("last.py", "half.py"):
        assert load_plugin(name).sha256 in page
    rows = [
        sqlite3.connect(store).execute("SELECT point_key, columns FROM results ORDER BY 1, 2")
        for store in ("jobs1.db", "jobs2.db")
    ]
    found = [[(key, json.loads(columns)) for key, columns in part] for part in rows]
    for _, columns in (row for part in found for row in part):
        for name in [name for name in columns if "scheduling" in name or "wall" in name]:
            del columns[name]
    assert found[0] == found[1]
    assert len(found[0]) >= 2


def test_list_and_describe_tell_the_source(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list", "policies", "--plugin", "last.py"]) == 0
    told = capsys.readouterr().out.splitlines()
    digest = load_plugin("last.py").sha256[:12]
    assert told[-1].endswith(f"free nodes from the other end (plug-in last.py, SHA-256 {digest})")
    assert main(["describe", "scaled", "--plugin", "half.py", "--plugin", "last.py"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "scaled (runtime-model)"
    assert told[2].startswith("  from plug-in half.py, SHA-256")
    assert "    factor: what run times are multiplied with: a number (default 0.5)" in told
    assert main(["list", "policies"]) == 0
    assert "free nodes from the other end" not in capsys.readouterr().out


@pytest.mark.full
def test_an_installed_package_is_found_and_counts_once_it_is_used(folder: Path) -> None:
    """A package that only lies there changes no key."""
    site = folder / "site"
    (site / "fine_plugins").mkdir(parents=True)
    (site / "fine_plugins" / "__init__.py").write_text("")
    (site / "fine_plugins" / "entries.py").write_text("from fine_plugins.policies import PLUGIN\n")
    (site / "fine_plugins" / "policies.py").write_text(LAST)
    info = site / "fine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[netcosim.plugins]\nfine = fine_plugins.entries\n")
    script = f"""
import json
from netcosim.config.load import config_from
from netcosim.runs.cosim import run_cosim
raw = json.loads({json.dumps(json.dumps(content()))})
assert "plugins" not in config_from(raw).resolved()
raw["queue"]["policies"] = ["last"]
config = config_from(raw)
[plugin] = config.resolved()["plugins"]
assert plugin["module"] == "fine_plugins.entries", plugin
print(len(run_cosim(config).schedules["last"]), plugin["sha256"])
"""
    env = {"PYTHONPATH": f"{ROOT}:{site}", "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    outs = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True
        )
        outs.append(done.stdout.split())
        # what the module imports of its own package counts too
        with (site / "fine_plugins" / "policies.py").open("a") as file:
            file.write("# another\n")
    assert int(outs[0][0]) == int(outs[1][0]) > 10
    assert outs[0][1] != outs[1][1]


MISTAKES = {
    "no Python": ("def f(:\n", "bad.py, line 1: not valid Python"),
    "raises on import": ("x = 1\ny = x / 0\n", "bad.py, line 2: ZeroDivisionError: division"),
    "leaves": ("import sys\nsys.exit(3)\n", "bad.py, line 2: SystemExit: 3"),
    "no list": ("x = 1\n", "bad.py: has no list PLUGIN"),
    "a list of nothing": ("PLUGIN = [3]\n", "bad.py: 3 in PLUGIN is no entry of any kind"),
    "another base": (
        "class Mine:\n    name = 'm'\n    description = 'd'\nPLUGIN = [Mine]\n",
        "bad.py, line 1: Mine in PLUGIN is no entry of any kind",
    ),
    "no description": (
        LAST.replace('    description = "free nodes from the other end"\n', ""),
        "bad.py, line 5: Last needs a description",
    ),
    "a name with a space": (LAST.replace('"last"', '"my last"'), "'my last' has a space"),
    "a name of ours": (LAST.replace('"last"', '"jigsaw"'), "policy 'jigsaw' is a built-in name"),
    "twice": (
        LAST + "class Two(Last): pass\nPLUGIN = [Last, Two]",
        "'last' is listed in PLUGIN twice",
    ),
    "abstract": (LAST.replace("_select", "_chosen"), "bad.py, line 5: Last lacks _select"),
    "made, not the class": (
        "from queuesim.estimates import Requested\nPLUGIN = [Requested()]\n",
        "kind estimate model is the class itself",
    ),
    "raises in allocate": (
        LAST.replace("return np", "raise RuntimeError('no\\nroom')\n        return np"),
        "bad.py, line 13: RuntimeError: no room",
    ),
    "too few nodes": (
        LAST.replace("[-n_nodes:]", "[:1]"),
        "plug-in bad.py: allocation policy 'last': job",
    ),
    "a node twice": (
        LAST.replace("[-n_nodes:]", "[[0] * n_nodes]"),
        "policy 'last': job 1: a node is listed twice",
    ),
    "busy nodes": (
        LAST.replace("np.flatnonzero(self._free)[-n_nodes:]", "np.arange(n_nodes)"),
        "is not free",
    ),
    "no array": (LAST.replace("return np", "return 7 or np"), "bad.py"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_it_is_one_line(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, told = MISTAKES[name]
    (folder / "bad.py").write_text(text)
    (folder / "c.toml").write_text(
        'plugins = ["bad.py"]\n[machine]\nfamily = "fattree"\nradix = 4\n'
        '[workload]\nlarger_jobs = "drop"\n[workload.synthetic]\nn_jobs = 20\nmean_nodes = 4\n'
        '[queue]\npolicies = ["last"]\nrun_time_model = "as-logged"\n[run]\nsnapshots = 0\n'
    )
    before = sorted(folder.iterdir())
    assert main(["run", "c.toml"]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert "bad.py" in error
    assert len(error.splitlines()) == 1
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ("static_key=lambda jobs: jobs.submit_s[:3]", "must give one number for each of"),
        ("static_key=lambda jobs: 0 * jobs.submit_s / 0", "must give one number for each of"),
        ("", "neither static_key nor score"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_an_order_gives_each_job_a_number(keys: str, told: str, folder: Path) -> None:
    head = "from queuesim.ordering.orders import Order\n"
    (folder / "bad.py").write_text(f"{head}PLUGIN = [Order('mine', 'x', {keys})]\n")
    with pytest.raises(NetcosimError, match=told):
        run_cosim(config_from(content(order="mine") | {"plugins": ["bad.py"]}))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (".", "neither a file"),
        ("no_such_module", "no such file, and no module of that name"),
        ("", "neither a file"),
        ("math", "not a module written in Python"),
        ("json", "has no list PLUGIN"),
        ("x\0.py", "plug-in"),
    ],
)
def test_what_is_no_plugin_is_one_line(
    given: str, told: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list", "policies", "--plugin", given]) == 2
    found = capsys.readouterr()
    assert told in found.err
    assert len(found.err.splitlines()) == 1
    assert not found.out


@pytest.mark.parametrize("given", ["last.py", 3, {"file": "last.py"}, [3], [["last.py", 3]]])
def test_plugins_is_a_list_of_files(given: object, folder: Path) -> None:
    with pytest.raises(NetcosimError, match="key plugins: "):
        config_from(content() | {"plugins": given})


def test_names_are_known_inside_of_using_alone(folder: Path) -> None:
    plugin = load_plugin("last.py")
    assert plugin is load_plugin(str(folder / "last.py"))
    with using([plugin]), using([plugin]):
        assert list(POLICIES)[-1] == "last"
        assert len(POLICIES) == len(POLICIES.own) + 1
    assert "last" not in POLICIES
