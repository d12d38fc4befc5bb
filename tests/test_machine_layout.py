"""Where a drawing has a machine's routers: each a place of its own, groups apart, rows in order."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from routing_machines import small_machines
from scipy.optimize import linprog

import netcosim as nc
from netsim.errors import NetcosimError
from netsim.layout import Layout, layout_of
from netsim.topologies.graph import graph
from netsim.topologies.positions import layout, rows_of_levels

MACHINES = {f"{t.family}: {t.name}": t for t in small_machines()}


def closest(drawn: Layout) -> float:
    """Least distance of two routers, in shares of the drawing."""
    at = np.stack([drawn.x, drawn.y], axis=1).astype(np.float64)
    apart = np.linalg.norm(at[:, None] - at[None], axis=2)
    return float(apart[np.triu_indices(len(at), 1)].min(initial=np.inf))


def a_line_parts(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether a straight line has all of one on one side and all of the other on the other."""
    signs = np.concatenate([np.ones(len(one)), -np.ones(len(other))])
    at = np.concatenate([one, other]).astype(np.float64) * 100
    rows = -signs[:, None] * np.column_stack([at, np.ones(len(at))])
    found = linprog(np.zeros(3), rows, -np.ones(len(at)), bounds=(None, None))
    return bool(found.status == 0)


@pytest.mark.parametrize("name", MACHINES)
def test_every_router_has_a_place_of_its_own(name: str) -> None:
    machine = MACHINES[name]
    drawn = layout_of(machine)
    assert drawn.x.shape == drawn.y.shape == drawn.group.shape == (machine.n_routers,)
    assert closest(drawn) > 0.01


@pytest.mark.parametrize("name", MACHINES)
def test_groups_stand_apart(name: str) -> None:
    drawn = layout_of(MACHINES[name])
    at = np.stack([drawn.x, drawn.y], axis=1)
    found = np.unique(drawn.group)
    assert found.tolist() == list(range(len(drawn.group_names)))
    # what stands in the middle of a ring has the others around it
    inside = [i for i, name in enumerate(drawn.group_names) if name == "without nodes"]
    for one, other in combinations([g for g in found if g not in inside], 2):
        assert a_line_parts(at[drawn.group == one], at[drawn.group == other])


@pytest.mark.parametrize("name", ["cab", "theta", "mira", "sequoia"])
def test_large_machines_too(name: str) -> None:
    drawn = layout_of(nc.preset(name))
    places = np.unique(np.stack([drawn.x, drawn.y]), axis=1)
    assert places.shape[1] == len(drawn.x)


def test_the_groups_of_a_dragonfly_stand_on_a_ring_in_order() -> None:
    """Group i at i turns of 1/g clockwise from the top, all as far from the middle."""
    drawn = layout_of(nc.make_topology("dragonfly", {"p": 1, "a": 4, "g": 9}))
    group = np.arange(9)
    x = np.bincount(drawn.group, drawn.x) / 4 - 0.5
    y = 0.5 - np.bincount(drawn.group, drawn.y) / 4
    angle = np.arctan2(x, y) % (2 * np.pi)
    assert angle == pytest.approx(2 * np.pi * group / 9, abs=1e-5)
    assert np.ptp(np.hypot(x, y)) < 1e-6
    assert drawn.group_names[:2] == ("group 0", "group 1")


def test_leaves_of_a_dragonfly_plus_stand_outside_and_its_spines_inside() -> None:
    machine = nc.make_topology("dragonfly-plus", {"p": 1, "leaves": 3, "spines": 2, "g": 5})
    drawn = layout_of(machine)
    far = np.hypot(drawn.x - 0.5, drawn.y - 0.5).reshape(5, 5)
    assert np.all(far[:, :3].min(axis=1) > far[:, 3:].max(axis=1))


def test_pods_of_a_fat_tree_stand_side_by_side_below_the_spines() -> None:
    drawn = layout_of(nc.make_topology("fattree", {"m1": 2, "m2": 3, "m3": 2, "w2": 3, "w3": 2}))
    leaves, l2, spines = slice(0, 6), slice(6, 12), slice(12, 18)
    assert [np.unique(drawn.y[rows]).size for rows in (leaves, l2, spines)] == [1, 1, 1]
    assert drawn.y[0] > drawn.y[6] > drawn.y[12]
    assert drawn.group.tolist() == [0] * 3 + [1] * 3 + [0] * 3 + [1] * 3 + [2] * 6
    assert drawn.x[leaves].tolist() == sorted(drawn.x[leaves])


def test_planes_of_a_torus_are_grids_of_one_step() -> None:
    """Within a plane a step of a coordinate is a step to the right, or down, always the same."""
    drawn = layout_of(nc.make_topology("torus", {"dims": [3, 4, 5]}))
    x, y, group = (a.reshape(3, 4, 5) for a in (drawn.x, drawn.y, drawn.group))
    step = float(x[0, 0, 1] - x[0, 0, 0])
    assert np.diff(x, axis=2) == pytest.approx(step, rel=1e-4)
    assert np.diff(y, axis=2) == pytest.approx(0.0)
    assert np.ptp(np.diff(y, axis=1)) < 1e-6
    assert np.diff(x, axis=1) == pytest.approx(0.0)
    assert all((group[plane] == plane).all() for plane in range(3))


def test_planes_stand_beside_the_next_one_where_a_row_ends_as_well() -> None:
    drawn = layout_of(nc.make_topology("torus", {"dims": [4, 4, 4]}))
    x, y = (np.bincount(drawn.group, column) / 16 for column in (drawn.x, drawn.y))
    assert y[0] == pytest.approx(y[2])
    assert y[3] > y[2]
    assert x[3] == pytest.approx(x[2])


def test_a_tree_of_slurm_has_its_leaves_below() -> None:
    machine = MACHINES["topology.conf: tree.conf"]
    drawn, shape = layout_of(machine), machine.shape
    y = dict(zip(shape.switches, drawn.y.tolist(), strict=True))
    assert y["a"] == y["b"] == y["c"] > y["m"] > y["top"]


def test_scale_up_switches_of_several_nodes_stand_below_their_pod() -> None:
    """Two pods of two nodes and one domain each, of 4 leaves and 2 spines; 4 cores a spine."""
    shape = {"nodes": 4, "gpus_per_node": 4, "nodes_per_leaf": 2, "nodes_per_pod": 2}
    drawn = layout_of(nc.make_topology("gpu-cluster", {**shape, "scale_up_domain": 8}))
    domains, leaves, spines = [0, 1], [0] * 4 + [1] * 4, [0] * 2 + [1] * 2
    assert drawn.group.tolist() == [*domains, *leaves, *spines, *[2] * 8]
    assert drawn.y[0] > drawn.y[2] > drawn.y[10] > drawn.y[14]


def test_what_belongs_to_no_band_has_a_row_of_its_own() -> None:
    drawn = rows_of_levels([0, 0, 1, 1, 1], [0, 1, 0, 1, -1], ["a", "b"], ["level 1"])
    assert drawn.y[2] == drawn.y[3]
    assert drawn.y[4] < drawn.y[2] < drawn.y[0]


def test_routers_of_any_graph_stand_clockwise_from_the_top() -> None:
    drawn = layout_of(graph(nx.cycle_graph(8)))
    angle = np.arctan2(drawn.x - 0.5, 0.5 - drawn.y) % (2 * np.pi)
    assert angle.tolist() == sorted(angle.tolist())


def test_routers_without_nodes_stand_inside() -> None:
    star = nx.star_graph(6)
    nx.set_node_attributes(star, {0: 0}, "nodes")
    machine = graph(star)
    drawn = layout_of(machine)
    far = np.hypot(drawn.x - 0.5, drawn.y - 0.5)
    assert far[0] < far[1:].min()


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (([0.1], [0.1, 0.2], [0], ("a",)), "1 x, 2 y and 1 groups"),
        (([1.1], [0.1], [0], ("a",)), "x has a place outside of 0 to 1"),
        (([np.nan], [0.1], [0], ("a",)), "x has a place outside of 0 to 1"),
        (([0.1], [0.1], [1], ("a",)), "groups 1 to 1; 1 have a name"),
    ],
)
def test_layouts_that_do_not_fit_are_refused(columns: tuple, told: str) -> None:
    with pytest.raises(NetcosimError, match=told):
        layout(*columns)
