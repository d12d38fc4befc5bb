"""Every name that a config can choose does something of its own, and nothing falls through."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alloc.registry import POLICIES, policies_for
from cosim.registry import RUNTIME_MODELS
from netcosim.config.content import checked_config
from netcosim.config.unread import as_read
from netcosim.runs.cosim import run_cosim
from netcosim.runs.cosim_result import CosimResult
from netsim.errors import NetcosimError
from netsim.routing.base import RoutingEntry
from netsim.routing.dragonfly import dragonfly_routing
from netsim.routing.registry import ROUTINGS, routings_for
from netsim.topologies.registry import FAMILIES
from patterns import mapping
from patterns.registry import PATTERNS
from queuesim.registry import BACKFILLS, ORDERS, SCENARIOS
from queuesim.runtime import FixedRunTimes, RunTimeModel

LARGER: dict[str, dict[str, Any]] = {
    "dragonfly": {"p": 2, "a": 4, "g": 5},
    "dragonfly-plus": {"p": 2, "leaves": 3, "spines": 2, "g": 5},
    "fattree": {"radix": 6},
    "torus": {"dims": [4, 4, 2]},
    "hypercube": {"dimension": 5},
    "hyperx": {"dims": [6, 6]},
    "slimfly": {"q": 5},
    "gpu-cluster": {"nodes": 8, "gpus_per_node": 4, "nodes_per_leaf": 4},
}
"""Of some families; the others have the first small machine that they declare."""
MACHINES: dict[str, dict[str, Any]] = {
    name: {"family": name, **LARGER.get(name, family.small[0])}
    for name, family in FAMILIES.items()
    if family.small
}
MENU = {"preset": "intrepid-midplanes"}
ON_A_MENU = {"menu", "menu-proposed", "contention-aware"} | {n for n in POLICIES if "cobalt" in n}


OWN_SIZES = {name for name, pattern in PATTERNS.items() if pattern.recorded_ranks is not None}


def run(
    machine: dict[str, Any] | None = None,
    entry: dict[str, Any] | None = None,
    snapshots: int = 1,
    communication: dict[str, Any] | None = None,
    log: Path | None = None,
    **queue: Any,
) -> CosimResult:
    content = {
        "machine": machine or MACHINES["dragonfly"],
        "workload": {
            "synthetic": {"n_jobs": 25, "mean_nodes": 6, "load": 3.0},
            "larger_jobs": "drop",
        }
        if log is None
        else {"log": str(log)},
        "queue": {"policies": ["baseline"], "run_time_model": "as-logged"} | queue,
        "communication": {
            "mix": [
                {"pattern": "all-to-all", "communication_fraction": 0.6}
                | ({} if (entry or {}).get("pattern") in OWN_SIZES else {"message_bytes": 2000})
                | (entry or {})
            ],
            **(communication or {}),
        },
        "run": {"snapshots": snapshots},
    }
    # a queue alone need not know what jobs send
    return run_cosim(as_read(checked_config(content)))


def ran(result: CosimResult, policy: str = "baseline") -> np.ndarray:
    schedule = result.schedules[policy]
    return np.asarray((schedule.end_s - schedule.start_s) / result.workload.run_time_s)


HALF = {"message_scale": 0.5}


@pytest.mark.parametrize("name", sorted(RUNTIME_MODELS))
def test_every_run_time_model_runs_under_its_own_name(name: str) -> None:
    """As logged alone leaves all run times; the others change some, each in its own way."""
    if name == "partition-bisection":
        bisections = {"bound_jobs": 1.0, "communication": 0.5}
        result = run(
            {"preset": "mira-midplanes"},
            policies=["menu", "cuboid-worst"],
            run_time_model=name,
            **{name: bisections},
        )
        assert result.schedules["menu"].run_time_model == name
        assert np.allclose(ran(result, "menu"), 1)
        assert ran(result, "cuboid-worst").max() > 1
        return
    result = run(
        {"family": "fattree", "radix": 6},
        policies=["random", "jigsaw"],
        run_time_model=name,
        **{"assumed": {name: {"scenario": "20%"}}, "coupled-packets": {name: HALF}}.get(name, {}),
    )
    assert result.schedules["random"].run_time_model.split()[0] == name
    changed = {policy: not np.allclose(ran(result, policy), 1) for policy in ("random", "jigsaw")}
    expected = {
        "as-logged": {"random": False, "jigsaw": False},
        "assumed": {"random": False, "jigsaw": True},
        "measured": {"random": False, "jigsaw": True},
        # isolated jobs have other nodes than under the reference
        "coupled-flow": {"random": True, "jigsaw": True},
        "coupled-packets": {"random": True, "jigsaw": True},
    }
    if name in expected:
        assert changed == expected[name]
    else:
        assert any(changed.values()), f"{name} leaves all run times as they were logged"


@dataclass(frozen=True)
class Halved(RunTimeModel):
    """A model that is not ours: everything takes half as long."""

    name = "halved"
    description = "half of the logged run times"

    def prepare(self, workload, policy, rng):
        return FixedRunTimes(workload.run_time_s / 2)


def test_a_model_that_is_not_ours_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name in the registry is enough; it used to run as logged under its own name."""
    monkeypatch.setitem(RUNTIME_MODELS, "halved", Halved)
    result = run(run_time_model="halved")
    np.testing.assert_allclose(ran(result), 0.5)
    assert result.schedules["baseline"].run_time_model == "halved"


@dataclass(frozen=True)
class Silent(Halved):
    """A model that needs more than a config can say."""

    factor: float


def test_a_model_that_no_config_can_make_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RUNTIME_MODELS, "halved", Silent)
    told = "'halved' cannot be built from a config: Silent needs factor"
    with pytest.raises(NetcosimError, match=told):
        run(run_time_model="halved", snapshots=0)


@dataclass(frozen=True)
class Asking(Halved):
    """A model that asks for everything a run offers."""

    name = "asking"

    @classmethod
    def from_config(cls, context, parameters):
        table = context.measured_speedups()
        pilot = context.pilot(lambda network: Halved())
        assert table.reference_policy == pilot.result.policy == "baseline"
        assert {row.policy for row in table.rows} == {"simple"}
        np.testing.assert_allclose(pilot.fraction, 0.6)
        assert context.network().mix == context.mix
        return cls()


def test_a_model_gets_what_it_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Campaign and pilot come on request, whatever the model is called, and once."""
    monkeypatch.setitem(RUNTIME_MODELS, "asking", Asking)
    result = run(policies=["baseline", "simple"], run_time_model="asking")
    assert set(result.logged) == {"baseline", "simple"}
    assert len(result.measured["simple"].packets) == 1
    np.testing.assert_allclose(ran(result, "simple"), 0.5)


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_every_scenario_shortens_as_it_says(name: str) -> None:
    result = run(
        {"family": "fattree", "radix": 6},
        policies=["jigsaw"],
        run_time_model="assumed",
        assumed={"scenario": name},
        snapshots=0,
    )
    assert result.schedules["jigsaw"].run_time_model == f"assumed {name}"
    # no generated job has more than the 64 nodes from which "Random" counts
    assert np.allclose(ran(result, "jigsaw"), 1) == (name in ("none", "Random"))


def test_orders_and_backfills_each_run_and_differ() -> None:
    """All names run and are told in the result; strict order, FCFS and shortest first differ."""

    def starts(**queue: Any) -> list[float]:
        machine = MENU if queue.get("backfill") == "cobalt" else None
        policies = ["cobalt"] if machine else ["baseline"]
        result = run(machine, policies=policies, snapshots=0, **queue)
        schedule = result.schedules[policies[0]]
        assert {key: getattr(schedule, key) for key in queue} == queue
        return list(schedule.start_s)

    # made jobs have neither users nor priorities: those orders are in tests/test_queue_orders.py
    names = set(ORDERS) - {"fair-share", "las", "priority"}
    by_order = {name: starts(order=name) for name in names}
    assert len({tuple(times) for times in by_order.values()}) == len(names) - 1
    assert by_order["multifactor"] == by_order["fcfs"]  # by age alone
    # the log's own starts need a log that has waits (tests/test_queue_logged.py)
    by_backfill = {name: starts(backfill=name) for name in BACKFILLS if name != "as-logged"}
    assert by_backfill["none"] != by_backfill["easy"]


@pytest.mark.parametrize("name", sorted(set(POLICIES) - {"replay"}))
def test_every_policy_runs_under_its_own_name(name: str) -> None:
    family = next(iter(POLICIES[name].families), "dragonfly")
    machine = MENU if name in ON_A_MENU else MACHINES[family]
    result = run(machine, policies=[name], snapshots=0)
    assert result.schedules[name].policy == name
    kept = result.schedules[name].placements
    assert kept is not None
    assert len(kept.nodes) >= result.workload.n_nodes.sum()


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four jobs of 14 nodes, which suits every pattern (the matrix product wants factors of 7)."""
    line = "{} {} -1 100 14 -1 -1 14 120 -1 1 1 1 1 1 1 -1 -1\n"
    path = tmp_path_factory.mktemp("log") / "log.swf"
    path.write_text("; MaxNodes: 40\n" + "".join(line.format(i, 10 * i) for i in range(4)))
    return path


def recorded(name: str, folder: Path) -> dict[str, object]:
    """The file of a pattern that is read from one, or a small size of one with its own sizes."""
    text = {
        "goal": "num_ranks 2\nrank 0 { send 9b to 1 }\nrank 1 { recv 9b from 0 }\n",
        "matrix": "0,5\n7,0\n",
        "training-file": "model_parallel_NPU_group: 1\n1\n"
        "layer -1 100 NONE 0 100 NONE 0 100 ALLREDUCE 100 0\n",
    }
    if PATTERNS[name].recorded_ranks is None:
        return {}
    if name in ("training", "inference"):
        return {"parameters": {"scale": 1e-7} | ({"tp": 1} if name == "inference" else {})}
    (folder / "recorded").write_text(text[name])
    return {"file": str(folder / "recorded")}


def link_bytes(result: CosimResult) -> list[list[int]]:
    return [packets.link_bytes.tolist() for packets in result.measured["baseline"].packets]


@pytest.fixture(scope="module")
def of_all_to_all(log: Path) -> list[list[int]]:
    return link_bytes(run(log=log))


@pytest.mark.parametrize("name", sorted(PATTERNS))
def test_every_pattern_sends_its_own_packets(
    name: str, log: Path, of_all_to_all: list[list[int]]
) -> None:
    entry: dict[str, object] = {"pattern": name} | recorded(name, log.parent)
    if name == "adversarial":
        entry["parameters"] = {"group_size": 2}
    result = run(entry=entry, log=log)
    assert result.measured["baseline"].packet_hops > 0
    assert (link_bytes(result) == of_all_to_all) == (name == "all-to-all")


@pytest.mark.parametrize("name", sorted(mapping.MAPPINGS))
def test_every_task_mapping_runs(name: str) -> None:
    halo = {"pattern": "halo3d"}
    other = "in-order" if name == "random" else "random"
    bytes_of = [
        run(entry=halo, communication={"task_mapping": mapped}).measured["baseline"].packets[0]
        for mapped in (name, other)
    ]
    assert (bytes_of[0].link_bytes != bytes_of[1].link_bytes).any()


def test_a_task_mapping_that_is_not_ours_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turned round: for a halo on a line the same bytes on the links the other way."""
    seen = []

    def turned(nodes, rng, rails):
        seen.append(len(nodes))
        return nodes[::-1]

    monkeypatch.setitem(mapping.MAPPINGS, "turned", mapping.TaskMapping("turned round", turned))
    run(communication={"task_mapping": "turned"})
    assert seen


@pytest.mark.parametrize("family", sorted(MACHINES))
def test_every_routing_of_every_family_runs(family: str) -> None:
    assert policies_for(family)
    seen = {}
    for name in routings_for(family):
        result = run(
            MACHINES[family] | {"routing": name}, {"message_bytes": 20_000}, policies=["random"]
        )
        assert result.machine.routing.name == name
        packets = result.measured["random"].packets[0]
        seen[name] = (tuple(packets.link_bytes), packets.end_ps)
    # between two routers of a Slim Fly there is one shortest path; on a small dragonfly both kinds
    # of UGAL may see the same loads; on a very small machine a family's own routings differ
    own = len(FAMILIES[family].routings)
    # a HyperX with a node a router has one turn for each next link: the lowest dimension first
    known = {"slimfly": 1, "hyperx": 2}
    kinds = known.get(family, 3 if family in LARGER else 1 + own)
    assert len(set(seen.values())) >= min(len(seen), kinds)


def test_a_routing_that_is_not_ours_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    built = []

    def mine(topology):
        built.append(topology.family)
        return dragonfly_routing(topology, "valiant")

    monkeypatch.setitem(
        ROUTINGS, "mine", RoutingEntry("mine", "like Valiant", ("dragonfly",), mine)
    )
    result = run(MACHINES["dragonfly"] | {"routing": "mine"})
    assert built == ["dragonfly"]
    assert result.machine.routing.name == "valiant"
    with pytest.raises(NetcosimError, match="ugal_bias: routing mine does not take it"):
        run(MACHINES["dragonfly"] | {"routing": "mine", "ugal_bias": "1 us"})


TEXTS = [
    (name, parameter.name)
    for name, pattern in PATTERNS.items()
    for parameter in pattern.parameters.values()
    if parameter.kind is str and not parameter.names_file
]


@pytest.mark.parametrize(("pattern", "parameter"), TEXTS)
def test_an_unknown_word_for_a_pattern_is_refused(pattern: str, parameter: str, log: Path) -> None:
    given = {"pattern": pattern, "parameters": {parameter: "bogus"}}
    with pytest.raises(NetcosimError, match="bogus"):
        run(entry=recorded(pattern, log.parent) | given, log=log)
