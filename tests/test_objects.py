"""Objects leave the house: pickles, process pools, user-defined types, networkx graphs."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import netcosim as nc
from experiments.kit.small_machines import n_small, small_machine
from netcosim.config.load import config_from
from netsim.routing.registry import routings_for
from netsim.topologies.registry import FAMILIES
from netsim.topology import Topology

ROOT = Path(__file__).resolve().parents[1]
SMALL = {
    "machine": {"family": "dragonfly", "p": 2, "a": 2, "g": 5},
    "workload": {"synthetic": {"n_jobs": 12, "mean_nodes": 4}},
}


def small(model: str, snapshots: int = 1, **more: Any) -> nc.Config:
    queue = {"policies": ["rdn", "simple"], "run_time_model": model}
    return config_from({**SMALL, "queue": queue, "run": {"snapshots": snapshots}, **more})


def again(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def same(one: Topology, other: Topology) -> bool:
    """Return whether all arrays and names of two networks are equal."""
    return all(
        np.array_equal(value, vars(other)[key])
        for key, value in vars(one).items()
        if key not in ("shape", "family", "kinds", "link_kind")
    )


@pytest.mark.parametrize(
    ("model", "snapshots"),
    [("as-logged", 1), ("measured", 1), ("coupled-flow", 0), ("coupled-packets", 0)],
)
def test_a_run_round_trips(model: str, snapshots: int) -> None:
    result = nc.run(small(model, snapshots), progress=False)
    copied = again(result)
    assert isinstance(copied, nc.Run)
    assert copied.config == result.config
    assert copied.config.resolved() == result.config.resolved()
    assert all(copied.tables[name].equals(table) for name, table in result.tables.items())
    assert copied.figures == result.figures
    # it is a run, not only its tables: the queue starts again where its policies are
    rerun = copied.queues.under("rdn")
    assert np.array_equal(rerun.start_s, result.queues.under("rdn").start_s)


@pytest.mark.parametrize(
    "more",
    [
        {"policies": {"rdn": {}}},
        {"reference": {"policy": "rdr"}},
        {"reference": {"policy": "rdn", "machine.routing": "valiant"}},
    ],
)
def test_a_config_round_trips(more: dict[str, Any]) -> None:
    config = small("as-logged", **({} if "policies" in more else more))
    copied = again(config)
    assert type(copied) is type(config)
    assert copied == config
    assert copied.relative_to == config.relative_to


def test_tables_of_policies_and_plugins_round_trip(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from dataclasses import dataclass\n"
        "from typing import Annotated\n"
        "import numpy as np\n"
        "from alloc.dragonfly.base import DragonflyPolicy\n"
        "@dataclass(frozen=True)\n"
        "class Keys:\n"
        "    step: Annotated[int, 'nodes between two of a job'] = 1\n"
        "class Mine(DragonflyPolicy):\n"
        "    name = 'mine'\n"
        "    description = 'every so manyth node'\n"
        "    parameters = Keys\n"
        "    def __init__(self, topology, rng, keys=None):\n"
        "        super().__init__(topology, rng)\n"
        "    def _select(self, n):\n"
        "        return np.flatnonzero(self._free)[:n]\n"
        "PLUGIN = [Mine]\n"
    )
    content = {
        **SMALL,
        "plugins": [str(tmp_path / "mine.py")],
        "queue": {"policies": ["mine"], "run_time_model": "as-logged"},
        "policies": {"mine": {"step": 2}},
        "run": {"snapshots": 0},
    }
    result = nc.run(content, progress=False)
    copied = again(result)
    assert copied.config == result.config
    assert copied.config.policies.mine.step == 2
    # another process knows nothing of the plug-in
    path = tmp_path / "result.pickle"
    path.write_bytes(pickle.dumps(result))
    script = (
        f"import pickle, pathlib; r = pickle.loads(pathlib.Path({str(path)!r}).read_bytes()); "
        "print(r.config.queue.policies, len(r.tables['policies']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "('mine',) 1", done.stderr


def test_errors_of_configs_round_trip() -> None:
    with pytest.raises(nc.NetcosimError) as error:
        small("measurd")
    copied = again(error.value)
    assert (str(copied), copied.key) == (str(error.value), error.value.key)  # type: ignore[attr-defined]


def test_every_topology_and_routing_round_trips() -> None:
    for family in map(FAMILIES.__getitem__, FAMILIES.own):
        for number in range(n_small(family.name)):
            topology = small_machine(family.name, number, {})
            assert same(again(topology), topology)
            if number:
                continue
            for name in routings_for(family.name):
                try:
                    routing = nc.make_routing(topology, name)
                except nc.NetcosimError:
                    continue  # needs parameters of its own
                copied = again(routing)
                for dst in range(topology.n_nodes):
                    hops = routing.choices(0, dst, 0)
                    assert copied.choices(0, dst, 0) == hops, (family.name, name)


def configs() -> list[nc.Config]:
    return [small("as-logged", 0, run={"seed": seed, "snapshots": 0}) for seed in (1, 2)]


def check(results: Iterable[nc.Run]) -> None:
    found = [result.tables["policies"] for result in results]
    expected = [nc.run(config, progress=False).tables["policies"] for config in configs()]
    assert all(a.equals(b) for a, b in zip(found, expected, strict=True))


def test_a_process_pool_runs_configs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        check(pool.map(nc.run, configs()))


def test_dask_runs_configs() -> None:
    dask = pytest.importorskip("dask")
    tasks = [dask.delayed(nc.run)(config) for config in configs()]
    check(dask.compute(*tasks, scheduler="processes", num_workers=1))


USERS = '''
"""A user's script."""

from pathlib import Path

import netcosim as nc


def compare(config: nc.Config, machine: nc.Topology) -> nc.Run:
    result: nc.Run = nc.run(config, progress=False)
    routing = nc.make_routing(machine)
    network: nc.SharedNetwork = nc.SharedNetwork(routing, nc.PacketConfig())
    traffic: nc.Communication = nc.Communication("all-to-all", 1000)
    job: nc.LiveJob = nc.LiveJob("a", range(4))
    request: nc.Request = nc.Request(job_id=1, n_nodes=2)
    print(network, traffic, job, request, result.config.queue.policies, result.machine.topology)
    return result


def ensemble(placed: list[nc.PlacedJob], network: nc.SharedNetwork) -> nc.Ensemble:
    return nc.Ensemble(network, placed)


def error() -> type[nc.NetcosimError]:
    live: nc.Live = nc.Live(nc.preset("dragonfly-272"))
    store: nc.Store = nc.Store(Path("a.sqlite"), "read")
    category: type[nc.ModelWarning] = nc.ModelWarning
    print(live, store, category)
    return nc.NetcosimError
'''


def test_a_users_script_names_public_types(tmp_path: Path) -> None:
    """Types are complete: a strict checker accepts a script that names them all."""
    pytest.importorskip("mypy")
    types = [name for name in nc.__all__ if isinstance(getattr(nc, name), type)]
    assert all(f"nc.{name}" in USERS for name in types)
    path = tmp_path / "users.py"
    path.write_text(USERS)
    # as `make types` does, and from its cache where there is one
    done = subprocess.run(
        [sys.executable, "-m", "mypy", str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


# Graphs


def ring(**attributes: int) -> nx.Graph:
    g = nx.cycle_graph(4)
    nx.set_node_attributes(g, {n: dict(attributes) for n in g})
    return g


@pytest.mark.parametrize("key", ["nodes", "hosts"])
def test_hosts_of_routers_are_read(key: str) -> None:
    """Eight hosts on each of four routers are 32 nodes."""
    for machine in (
        nc.Topology.from_networkx(ring(**{key: 8})),
        nc.make_topology("graph", ring(**{key: 8})),
    ):
        assert (machine.n_nodes, machine.n_routers) == (32, 4)
        assert machine.node_router.tolist() == np.repeat(range(4), 8).tolist()


def test_hosts_that_differ_from_nodes_are_refused() -> None:
    assert nc.make_topology("graph", ring(nodes=2, hosts=2)).n_nodes == 8
    with pytest.raises(nc.NetcosimError, match="has nodes and hosts; give one of them"):
        nc.make_topology("graph", ring(nodes=2, hosts=3))


@pytest.mark.parametrize("key", ["servers", "n_hosts", "endpoints", "p", "Hosts"])
def test_numbers_that_are_not_read_are_reported(key: str) -> None:
    """A graph whose hosts have another name is not a machine of one host a router in silence."""
    with pytest.warns(nc.ModelWarning, match=f"attribute '{key}' of routers is not read") as told:
        assert nc.make_topology("graph", ring(**{key: 8})).n_nodes == 4
    assert len(told) == 1
    assert told[0].filename == __file__


def test_attributes_of_edges_are_read_or_reported() -> None:
    g = nx.Graph([(0, 1)])
    g.edges[0, 1].update(bandwidth="8 Gbit/s", latency="2 us")
    t = nc.make_topology("graph", g)
    assert t.link_bandwidth_Bps[4:].tolist() == [10**9, 10**9]
    assert t.link_latency_s[4:].tolist() == [2e-6, 2e-6]
    g.edges[0, 1]["bandwidth"] = 8
    with pytest.raises(nc.NetcosimError, match="give it a unit, or call it bandwidth_Bps"):
        nc.make_topology("graph", g)
    g.edges[0, 1]["bandwidth"] = "8 apples"
    with pytest.raises(nc.NetcosimError, match="edge 0 to 1: bandwidth: "):
        nc.make_topology("graph", g)
    for key, value in (("capacity", 400), ("speed", "400 Gbit/s")):
        with pytest.warns(nc.ModelWarning, match=f"attribute '{key}' of edges is not read"):
            nc.make_topology("graph", nx.Graph([(0, 1, {key: value})]))


def test_drawings_and_labels_are_not_reported() -> None:
    g = nx.complete_multipartite_graph(2, 2)
    nx.set_node_attributes(g, nx.circular_layout(g), "pos")
    nx.set_node_attributes(g, "rack", "label")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nc.make_topology("graph", g)


def test_graphs_round_trip() -> None:
    g = nx.MultiGraph()
    g.add_node("b", nodes=2)
    g.add_node("a", nodes=0)
    g.add_node("c", nodes=1)
    g.add_edges_from([("c", "b"), ("a", "c"), ("c", "b", {"bandwidth_Bps": 7, "latency_s": 1e-6})])
    t = nc.Topology.from_networkx(g, node_bandwidth_Bps=5, node_latency_s=3e-9, name="mine")
    back = t.to_networkx()
    assert dict(back.nodes(data="nodes")) == {"b": 2, "a": 0, "c": 1}
    assert sorted(d["bandwidth_Bps"] for *_, d in back.edges("b", data=True)) == [7, 10**9]
    copied = nc.Topology.from_networkx(back)
    assert same(copied, t)
    assert copied.shape == t.shape


def test_every_network_of_single_ports_round_trips() -> None:
    """Routers, nodes and cables of all families, whatever their order of links."""
    for family in map(FAMILIES.__getitem__, FAMILIES.own):
        for number in range(n_small(family.name)):
            t = small_machine(family.name, number, {})
            speeds = len(np.unique(t.link_bandwidth_Bps[: 2 * t.n_ports]))
            if t.rails > 1 or speeds > 1:
                with pytest.raises(nc.NetcosimError, match="cannot express several ports"):
                    t.to_networkx()
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                copied = nc.Topology.from_networkx(t.to_networkx())
            assert same(again(copied), copied)
            assert np.array_equal(copied.port_router, t.port_router)
            assert links(copied) == links(t)


def links(t: Topology) -> list[tuple[float, ...]]:
    columns = (t.link_src, t.link_dst, t.link_bandwidth_Bps, t.link_latency_s)
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


def test_files_of_networkx_are_machines(tmp_path: Path) -> None:
    import json

    g = nx.relabel_nodes(ring(hosts=2), str)
    nx.write_graphml(g, tmp_path / "g.graphml")
    nx.write_gml(g, tmp_path / "g.gml")
    for edges in ("edges", "links"):
        content = nx.node_link_data(g, edges=edges)
        (tmp_path / f"{edges}.json").write_text(json.dumps(content))
    for path in sorted(tmp_path.iterdir()):
        assert nc.make_topology("graph", {"file": str(path)}).n_nodes == 8, path
    for name, text in (("g.dot", "graph { a -- b; }"), ("g.txt", "a -- b\nb -- c\n")):
        (tmp_path / name).write_text(text)
        with pytest.raises(nc.NetcosimError, match="DOT is not supported"):
            nc.make_topology("graph", {"file": str(tmp_path / name)})


def test_a_file_does_not_lose_the_links_of_nodes(tmp_path: Path) -> None:
    t = nc.make_topology("torus", {"dims": [4], "node_bandwidth_Bps": 7})
    nx.write_graphml(t.to_networkx(), tmp_path / "g.graphml")
    params = {"file": str(tmp_path / "g.graphml")}
    with pytest.warns(nc.ModelWarning, match="node_bandwidth_Bps = 7 of the graph is not read"):
        nc.make_topology("graph", params)
    same_speed = nc.make_topology("graph", {**params, "node_bandwidth_Bps": 7})
    assert links(same_speed) == links(t)


@pytest.mark.parametrize("value", [nx.DiGraph([(0, 1)]), 17, "graph", [(0, 1)]])
def test_what_is_no_graph_is_refused(value: Any) -> None:
    for build in (nc.Topology.from_networkx, lambda v: nc.make_topology("graph", v)):
        with pytest.raises(nc.NetcosimError) as error:
            build(value)
        assert "\n" not in str(error.value)
