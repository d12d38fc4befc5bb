"""What a command does not load: the modules that take long. No times, which no test can hold."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from alloc.registry import make_policy
from netcosim.announce import compile_kernels, parts_of
from netcosim.config.load import config_from
from netcosim.package_check import PACKAGES, STUDIES, sources_hash
from netsim.kernel_cache import cache_folder
from netsim.topologies.registry import make_topology
from queuesim.queue_setup import QueueSetup
from workloads.synthetic import laas_workload

ROOT = Path(__file__).resolve().parents[1]
HEAVY = {
    *("numpy", "numba", "llvmlite", "scipy", "pandas", "matplotlib", "networkx", "simpy"),
    *("pydantic", "mpi4py", "tqdm"),
}
SCRIPT = """
import json, sys
from netcosim.cli import main
try:
    status = main(sys.argv[1:])
except SystemExit as end:
    status = end.code
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
sys.exit(status)
"""


def loaded_by(*arguments: str, cache: Path, folder: Path | None = None) -> set[str]:
    """The modules that a command leaves loaded."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT), "NETCOSIM_CACHE_DIR": str(cache)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout
    return set(json.loads(done.stderr.splitlines()[-1]))


def own(modules: set[str]) -> set[str]:
    """The project's modules among these, without packages."""
    packages = (*PACKAGES, *STUDIES, "netcosim")
    names = {name for name in modules if name.partition(".")[0] in packages}
    return {name for name in names if not ROOT.joinpath(*name.split(".")).is_dir()}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["run", "--help"]])
def test_help_loads_nothing_heavy(arguments: list[str], cache: Path) -> None:
    assert not HEAVY & loaded_by(*arguments, cache=cache)


def test_a_run_without_packets_loads_a_compiled_queue_and_little_else(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(
        """machine = {preset = "fattree-1024"}
workload.synthetic = {n_jobs = 1000, mean_nodes = 4, load = 0.9}
queue = {policies = ["baseline"], run_time_model = "as-logged"}
run.snapshots = 0
"""
    )
    compile_kernels(["queues"])
    loaded = loaded_by("run", "small.toml", "--quiet", cache=cache_folder(), folder=tmp_path)
    assert "queuesim.compiled.kernels_queue" in loaded
    assert not {"pandas", "scipy.linalg", "scipy.special", "networkx", "mpi4py"} & loaded
    assert not any(name.startswith("netsim.packet.kernels") for name in loaded)


def test_what_is_compiled_is_used_from_the_first_queue_on() -> None:
    rng = np.random.default_rng(1)
    policy = make_policy(make_topology("torus", {"dims": [8]}), "baseline", rng)
    setup = QueueSetup(laas_workload(2, 2.0, rng), policy, rng=rng)
    assert not setup.is_compiled()
    compile_kernels([])
    assert not setup.is_compiled()
    compile_kernels(["queues"])
    assert setup.is_compiled()


JOBS = "workload.synthetic = {n_jobs = 40, mean_nodes = 4, load = 0.9}\n"
MIX = (
    'communication.mix = [{pattern = "halo2d", message_bytes = "10 KB", '
    "communication_fraction = [0.1, 0.5]}]\n"
)
RUNS = {
    "measured": (JOBS + MIX + "run.snapshots = 1\n", 200),
    "coupled-flow": (JOBS + MIX + "run.snapshots = 0\n", 216),
    "as-logged": ('workload.log = "log.swf"\nrun.snapshots = 0\n', 170),
}
"""Config and most modules of the project that a run of it loads, by run-time model.

Half of the project is what this config does not name. A module more is one that every run loads:
rather import it where it is used.
"""


@pytest.mark.parametrize("model", RUNS)
def test_a_warm_run_loads_what_its_config_names(model: str, tmp_path: Path) -> None:
    text, most = RUNS[model]
    (tmp_path / "log.swf").write_text(
        "".join(
            f"{n} {60 * n} 0 600 {1 + n % 7} -1 -1 {1 + n % 7} 900 " + "-1 " * 9 + "\n"
            for n in range(1, 30)
        )
    )
    machine = '{family = "fattree", radix = 8}'
    queue = f'{{policies = ["baseline"], run_time_model = "{model}"}}'
    (tmp_path / "small.toml").write_text(f"machine = {machine}\nqueue = {queue}\n{text}")
    config = config_from(tomllib.loads((tmp_path / "small.toml").read_text()), tmp_path)
    compile_kernels(parts_of(config))
    loaded = own(
        loaded_by(
            *("run", "small.toml", "--quiet", "--resamples", "0"),
            cache=cache_folder(),
            folder=tmp_path,
        )
    )
    assert len(loaded) <= most, f"{len(loaded)} modules: {sorted(loaded)}"
    others = ("alloc.torus", "alloc.dragonfly", "workloads.importers.rare", "patterns.training")
    assert not any(name.startswith(others) for name in loaded)


def test_importing_netcosim_loads_nothing_else(cache: Path) -> None:
    code = "import json, sys, netcosim; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(json.loads(done.stdout))
    assert own(loaded) == set()
    assert not HEAVY & loaded


@pytest.mark.parametrize("arguments", [["list"], ["list", "policies"], ["completion", "bash"]])
def test_lists_of_names_load_no_entries(arguments: list[str], cache: Path) -> None:
    loaded = loaded_by(*arguments, cache=cache)
    assert not HEAVY & loaded
    assert len(own(loaded)) <= 60
    assert not any(name.startswith(("alloc", "queuesim", "cosim", "netsim.rou")) for name in loaded)


def test_describe_loads_the_registries_that_have_the_name(cache: Path) -> None:
    loaded = loaded_by("describe", "halo3d", cache=cache)
    assert "patterns.registry" in loaded
    assert not {"numba", "scipy", "queuesim.registry", "netsim.routing.registry"} & loaded


def test_any_source_changes_the_hash(tmp_path: Path) -> None:
    for package in ("netsim", "netcosim", "experiments"):
        (tmp_path / package / "inner").mkdir(parents=True)
        (tmp_path / package / "inner" / "part.py").write_text("x = 1\n")
    found = [sources_hash(tmp_path)]
    for package in ("netsim", "netcosim", "experiments"):
        (tmp_path / package / "inner" / "part.py").write_text("x = 2\n")
        found.append(sources_hash(tmp_path))
    (tmp_path / "netsim" / "inner" / "part.py").rename(tmp_path / "netsim" / "inner" / "q.py")
    found.append(sources_hash(tmp_path))
    assert len(set(found)) == len(found)
