"""What a command does not load: the modules that take long. No times, which no test can hold."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from netcosim import cached_names as module
from netcosim.announce import compile_kernels
from netcosim.cached_names import cached_names, sources_hash
from netcosim.catalogue import entries, kinds
from netsim.kernel_cache import cache_folder

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


def test_the_second_list_loads_nothing_heavy(cache: Path) -> None:
    """The first imports the registries, but nothing that they do not need for a name."""
    first = loaded_by("list", cache=cache)
    assert "queuesim.registry" in first
    assert not {"scipy.stats", "networkx", "pandas", "matplotlib", "mpi4py"} & first
    for arguments in (["list"], ["list", "policies"]):
        again = loaded_by(*arguments, cache=cache)
        assert not HEAVY & again
        assert not any(
            name.startswith(("alloc", "queuesim", "cosim", "netsim.routing")) for name in again
        )


def test_describe_loads_the_registries_that_have_the_name(cache: Path) -> None:
    loaded = loaded_by("describe", "halo3d", cache=cache)
    assert "patterns.registry" in loaded
    assert not {"numba", "scipy", "queuesim.registry", "netsim.routing.registry"} & loaded


def test_kept_names_are_those_of_the_registries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {kind: entries(kind) for kind in kinds()}
    assert cached_names(tmp_path) == names
    [kept] = tmp_path.iterdir()
    assert cached_names(tmp_path) == names
    assert list(names) == list(cached_names(tmp_path))
    # read and not made again, until a source is another one
    kept.write_text('{"orders": {"fcfs": "kept"}}')
    assert cached_names(tmp_path) == {"orders": {"fcfs": "kept"}}
    monkeypatch.setattr(module, "sources_hash", lambda: "other")
    assert cached_names(tmp_path) == names
    kept.write_text("damaged")
    monkeypatch.undo()
    assert cached_names(tmp_path) == names


def test_names_that_cannot_be_kept_are_found_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    assert cached_names(tmp_path / "file")["orders"] == entries("orders")


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
