"""A partition menu of the user's own, by path."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from alloc.policy import Request
from alloc.registry import make_policy
from netsim.errors import NetcosimError
from netsim.topologies.torus import torus

RING = torus((4,), concentration=8)
MENU = "name,midplanes,shape\nA,m0,1\nB,m1,1\nC,m2,1\nD,m3,1\nAB,m0 m1,2\nAD,m3 m0,2\n"


def placed(given: dict[str, object], *sizes: int, name: str = "cobalt") -> list[list[int] | None]:
    """First node of each midplane that jobs of these sizes get, one after the other."""
    policy = make_policy(RING, name, np.random.default_rng(1), given)
    found: list[list[int] | None] = []
    for job, size in enumerate(sizes):
        got = policy.allocate(Request(job_id=job, n_nodes=size, end_s=100.0))
        found.append(None if got is None else sorted({int(n) // 8 for n in got.nodes}))
    return found


@pytest.mark.parametrize("name", ["cobalt", "cobalt-sl", "cobalt-pf", "cobalt-combo"])
def test_jobs_get_what_the_menu_has(name: str, tmp_path: Path) -> None:
    """C is no part of a pair, so it blocks nothing; two midplanes are the pair A and D then."""
    (tmp_path / "menu.csv").write_text(MENU)
    given: dict[str, object] = {"menu": str(tmp_path / "menu.csv")}
    assert placed(given, 8, 16, 16, name=name) == [[2], [0, 1], None]
    # 17 nodes: the menu has nothing so large, the default one has three midplanes
    assert placed(given, 17, name=name) == [None]
    assert placed({}, 17, name=name) == [[0, 1, 2]]


def test_wires_are_had_by_one_partition_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "menu.csv").write_text(MENU)
    names = ["A", "B", "C", "D", "AB", "AD"]
    wires = {name: {"wires": ["w"] if name in ("AB", "C") else []} for name in names}
    (tmp_path / "wires.json.gz").write_bytes(gzip.compress(json.dumps(wires).encode()))
    given: dict[str, object] = {
        "menu": str(tmp_path / "menu.csv"),
        "wires": str(tmp_path / "wires.json.gz"),
    }
    # AB is barred by C's wire and AD is not; C is no more the one that blocks least
    assert placed(given, 16, 16)[0] == [0, 3]


def test_midplanes_are_numbered_as_they_are_named(tmp_path: Path) -> None:
    (tmp_path / "menu.csv").write_text(MENU)
    given = {"menu": str(tmp_path / "menu.csv"), "midplanes": ["m3", "m2", "m1", "m0"]}
    assert placed(given, 8) == [[1]]  # C is m2 is the second router


@pytest.mark.parametrize(
    ("menu", "given", "told"),
    [
        (MENU, {"wires": "menu.csv"}, "wires and midplanes are those of a menu"),
        (MENU.replace("D,m3,1\n", "").replace("AD,m3 m0,2\n", ""), {"menu": "menu.csv"}, "3 mid"),
        (MENU, {"menu": "no.csv"}, "no.csv: cannot be read"),
        (MENU, {"menu": "menu.csv", "midplanes": ["x"]}, "unknown midplane 'm0'"),
        (MENU, {"menu": 3}, "menu = 3"),
        (MENU, {"file": "menu.csv"}, "unknown parameter of policy cobalt 'file'"),
        ("", {"menu": "menu.csv"}, "empty; it needs a head, name,"),
    ],
)
def test_a_bad_menu_is_one_line(menu, given, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("menu.csv").write_text(menu)
    with pytest.raises(NetcosimError) as caught:
        make_policy(RING, "cobalt", np.random.default_rng(1), given)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
