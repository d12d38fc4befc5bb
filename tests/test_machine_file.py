"""``netcosim describe FILE`` and a run on a machine that a file describes."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import netcosim as nc
from netcosim.commands.describe import lines_of
from netcosim.runs.points import point_key
from netsim.inputs import file_digest
from netsim.topologies.registry import FAMILIES

CONF = "SwitchName=a Nodes=n[01-04]\nSwitchName=b Nodes=n[05-10]\nSwitchName=c Switches=a,b\n"


def test_a_machines_file_is_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my.conf").write_text(CONF)
    lines = lines_of("my.conf")
    assert lines[0] == "my.conf (a machine's file)"
    assert "  levels: leaf 2 of 4 to 6 nodes" in lines
    assert "  nodes: n[01-10]" in lines
    assert '    family = "topology.conf"' in lines
    assert "  note: 10 nodes on 2 leaves of 4 to 6, 2 levels of switches" in lines
    # the family of that name and the file
    Path("topology.conf").write_text(CONF)
    both = lines_of("topology.conf")
    assert both[0] == "topology.conf (topology)"
    assert "topology.conf (a machine's file)" in both


def test_toml_with_a_machine_is_described(tmp_path: Path) -> None:
    """As ``netcosim judge --machine`` takes it; files of it lie beside it."""
    (tmp_path / "my.conf").write_text(CONF)
    own = tmp_path / "own.toml"
    own.write_text('[machine]\nfamily = "topology.conf"\nfile = "my.conf"\n')
    lines = lines_of(str(own))
    assert lines[0] == f"{own} (a machine's file)"
    assert "  nodes: n[01-10]" in lines
    own.write_text('[machine]\nfamily = "torus"\ndim = [4]\n')
    with pytest.raises(nc.NetcosimError, match=r"machine\.dim"):
        lines_of(str(own))


def test_files_find_their_family(tmp_path: Path) -> None:
    for family in map(FAMILIES.__getitem__, FAMILIES.own):
        for small in family.small_files:
            path = tmp_path / small.name
            path.write_text(small.text)
            assert f'    family = "{family.name}"' in lines_of(str(path))
    other = tmp_path / "other.txt"
    other.write_text("hello\n")
    with pytest.raises(
        nc.NetcosimError, match=r"not a machine's file; those of graph, topology\.conf, "
    ):
        lines_of(str(other))


def config(path: Path) -> dict[str, object]:
    return {
        "machine": {"family": "topology.conf", "file": str(path), "link_bandwidth": "16 Gbit/s"},
        "workload": {"synthetic": {"n_jobs": 12, "mean_nodes": 3}, "larger_jobs": "drop"},
        "queue": {"policies": ["baseline"], "run_time_model": "measured"},
        "run": {"snapshots": 1},
    }


def test_a_run_tells_what_it_assumes(tmp_path: Path) -> None:
    path = tmp_path / "topology.conf"
    path.write_text(CONF)
    told: list[str] = []
    nc.run_cosim(nc.config_from(config(path)), notice=told.append)
    # 4 and 6 nodes of 8 Gbit/s make 2 and 3 cables of 16
    assert any("2 to 3 from each leaf up, of 2 GB/s (taper = 1.0)" in line for line in told)


def test_the_file_is_in_a_points_key(tmp_path: Path) -> None:
    """Another content is another point; the same one elsewhere is the same."""
    keys = []
    for folder, text in (("a", CONF), ("b", CONF), ("c", CONF.replace("n[05-10]", "n[05-09]"))):
        path = tmp_path / folder / "topology.conf"
        path.parent.mkdir()
        path.write_text(text)
        made = nc.config_from(config(path))
        assert made.machine.parameters["file"]["sha256"] == file_digest(path)
        keys.append(point_key(made.model_dump()))
    assert keys[0] == keys[1] != keys[2]


def test_the_page_tells_what_describe_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = Path(__file__).parents[1] / "docs"
    block = (docs / "fabrics.md").read_text(encoding="utf-8").split("```console\n")[1]
    monkeypatch.chdir(tmp_path)
    script = docs / "tutorials" / "make_topology_conf.py"
    Path("topology.conf").write_text(runpy.run_path(str(script))["topology_conf"]())
    told = lines_of("topology.conf")
    shown = block.partition("```")[0].splitlines()
    assert len(shown) > 5
    assert all(line in told for line in shown if line != "..." and not line.startswith("$"))
