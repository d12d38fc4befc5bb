"""Mistakes in calls of the Python interface: each gives one line that names what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netcosim as nc
from cosim.network.periodic import JobGroup, NetworkPlan, PeriodicJob, iteration_times_s
from netcosim.config.content import too_deeply_nested
from netsim.errors import NetcosimError
from netsim.kinds import need_array, need_real
from netsim.traffic import Program
from patterns.build import build_program, make_messages

NAN, INF, HUGE = float("nan"), float("inf"), 10**30
TORUS = nc.make_topology("torus", {"dims": [4, 4]})
TREE = nc.make_topology("fattree", {"radix": 4})
ROUTING = nc.make_routing(TORUS)
ALL = nc.Communication("all-to-all")
PAIR = nc.make_pattern("broadcast", 2, 1000, 1, np.random.default_rng(1))
TRAFFIC = nc.combine([PAIR], [np.array([0, 1])])
JOB = nc.PlacedJob(1, ALL, np.arange(4))
NETWORK = nc.SharedNetwork(ROUTING)
JOBS = nc.laas_workload(10, 1, np.random.default_rng(1))
GROUP = JobGroup.of([PeriodicJob(1.0, 1.0, 0.0, np.array([0]), np.array([1.0]))] * 2)

Case = tuple[str, Callable[[], object], str]


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def each(
    what: Callable[..., object], good: dict[str, Any], wrong: dict[str, list[Any]]
) -> list[Case]:
    """One argument at a time is wrong; the line names it."""
    return [
        (f"{key}={value!r:.40}", lambda k=key, v=value: what(**good | {k: v}), key)
        for key, values in wrong.items()
        for value in values
    ]


def live(**job: Any) -> object:
    return nc.Live(TORUS).change([nc.LiveJob(**job)])


def placed(**request: Any) -> object:
    return nc.make_policy(TREE, "baseline", rng()).allocate(nc.Request(**request))


def queue(workload: Any = JOBS, policy: Any = None, **more: Any) -> object:
    policy = nc.make_policy(TREE, "baseline", rng()) if policy is None else policy
    return nc.simulate_queue(workload, policy, **{"rng": rng()} | more)


def iterated(**more: Any) -> object:
    given = {"group": GROUP, "plan": NetworkPlan.without(2), "rng": rng()}
    return iteration_times_s(**given | more)


def planned(**plan: Any) -> object:
    return iteration_times_s(GROUP, NetworkPlan(**plan), rng())


def sent(**more: Any) -> object:
    return nc.simulate_packets(ROUTING, TRAFFIC, nc.PacketConfig(), rng(), **more)


def combined(start_s: Any = None, group_priority: Any = None, rank_nodes: Any = (0, 1)) -> object:
    more = {"start_s": start_s, "group_priority": group_priority}
    return sent_of(nc.combine([PAIR], [rank_nodes], **more))


def sent_of(traffic: Any) -> object:
    return nc.simulate_packets(ROUTING, traffic, nc.PacketConfig(), rng())


def stored(call: Callable[[nc.Store], object]) -> Callable[[], object]:
    def run() -> object:
        with nc.Store("s.db", "write") as store:
            return call(store)

    return run


def swf(**more: Any) -> object:
    nc.write_swf(JOBS, "jobs.swf")
    return nc.read_swf("jobs.swf", **more)


CONFIG = {
    "machine": {"family": "dragonfly", "p": 2, "a": 2, "g": 5},
    "workload": {"synthetic": {"n_jobs": 2, "mean_nodes": 4}},
    "queue": {"policies": ["rdn"], "run_time_model": "as-logged"},
    "run": {"snapshots": 0},
}
NUMBER = [NAN, -1.0, INF, "1", None, True]
COUNT = [0, 1.5, True, "1", NAN]
CASES = [
    *each(
        nc.Communication,
        {"pattern": "all-to-all"},
        {
            "pattern": [7, "nope", None],
            "message_bytes": [*COUNT, -5, HUGE],
            "iterations": [*COUNT, HUGE],
            "rank_bytes": [-5, 1.5, True],
            "parameters": [[1], 3],
            "priority": [8, -1, 1.0, True],
        },
    ),
    *each(
        nc.PlacedJob,
        {"job_id": 1, "communication": ALL, "nodes": [0, 1]},
        {
            "job_id": [-1, 1.0, True, "a"],
            "communication": ["all-to-all", None],
            "nodes": [
                [0.5],
                [-1],
                [],
                [[0, 1]],
                None,
                "ab",
                [NAN],
                [2**40],
                [True],
                [0, 0],
                [[0], 1],
            ],
            "repeats": COUNT,
            "compute_s": NUMBER,
            "start_s": NUMBER,
            "compute_noise": NUMBER,
            "partition": [3],
        },
    ),
    ("a job's mapping", lambda: nc.PlacedJob(1, ALL, [0], task_mapping="x"), "task mapping 'x'"),
    *each(
        nc.SharedNetwork,
        {"routing": ROUTING},
        {
            "routing": [TORUS, None],
            "packet": [3],
            "ranks_per_node": COUNT,
            "seed": [-1, 1.5, None, True],
            "threads": [0, "many", 1.5, True],
        },
    ),
    ("a mapping", lambda: nc.SharedNetwork(ROUTING, task_mapping="x"), "task mapping 'x'"),
    ("no jobs", lambda: nc.Ensemble(NETWORK, []), "give at least 1"),
    ("a job that is none", lambda: nc.Ensemble(NETWORK, [1]), "it must be PlacedJob"),
    ("a network that is none", lambda: nc.Ensemble(ROUTING, [JOB]), "it must be SharedNetwork"),
    (
        "a node that is none",
        lambda: nc.Ensemble(NETWORK, [nc.PlacedJob(5, ALL, [0, 16])]),
        "job 5 is on node 16; the machine has 16",
    ),
    ("a job too many", lambda: nc.Ensemble(NETWORK, [JOB]).alone(1), "index = 1"),
    *each(nc.Ensemble(NETWORK, [JOB]).loops, {}, {"until_s": NUMBER}),
    *each(nc.Ensemble(NETWORK, [JOB]).packets, {}, {"stream": [-1, "x", 1.5]}),
    *each(
        nc.Live,
        {"machine": TORUS},
        {
            "machine": [3, "nope"],
            "routing": ["nope", 3],
            "packet": [3],
            "level": ["x", 3],
            "ranks_per_node": COUNT,
            "seed": [-1, 1.5],
            "budget": [3],
            "tolerance": NUMBER,
        },
    ),
    ("live mapping", lambda: nc.Live(TORUS, task_mapping="x"), "task mapping 'x'"),
    *each(
        nc.LiveJob,
        {"job_id": 1, "nodes": [0, 1]},
        {
            "job_id": [None, [1]],
            "pattern": ["x", 3],
            "node_bytes": [*COUNT, HUGE],
            "communication_fraction": [1.1, *NUMBER],
            "bytes_per_node_s": [0, NAN, INF, "x"],
            "parameters": [3],
        },
    ),
    *[
        (f"live on {nodes!r}", lambda nodes=nodes: live(job_id=1, nodes=nodes), "node")
        for nodes in ([0.5], [16], [], [0, 0], 3, "ab", [NAN])
    ],
    ("live parameter", lambda: live(job_id=1, nodes=[0, 1], parameters={"x": 1}), "'x'"),
    ("started", lambda: nc.Live(TORUS).change(3), "started = 3"),
    ("a start that is none", lambda: nc.Live(TORUS).change(["a"]), "must be a LiveJob"),
    ("an end that is none", lambda: nc.Live(TORUS).change([], [7]), "job 7 does not run"),
    *each(
        placed,
        {"job_id": 1, "n_nodes": 4},
        {
            "job_id": ["a", 1.5, True],
            "n_nodes": [1.5, NAN, True, "4"],
            "end_s": [NAN, "x"],
            "bandwidth_Bps": [-1.0, NAN, "x", True],
            "wait_s": [NAN, -1.0, None],
            "nodes": [[0.5], "x", [-1], [0, 1, 2], []],
        },
    ),
    ("a node twice", lambda: nc.Request(1, 2, nodes=[0, 0]), "Request: nodes has 0 more than once"),
    (
        "a node that is not there",
        lambda: nc.make_policy(TREE, "replay", rng()).allocate(
            nc.Request(2, 2, nodes=np.array([7, 16]))
        ),
        "replay: job 2 is on node 16; the machine has 16",
    ),
    (
        "loops of no time",
        lambda: nc.Ensemble(NETWORK, [JOB]).loops(0),
        "loops: until_s = 0; it must be above 0",
    ),
    *[
        (f"{family} {given}", lambda f=family, g=given: nc.make_topology(f, g), told)
        for family, given, told in (
            ("nope", {}, "unknown topology"),
            (3, {}, "family = 3"),
            ("torus", {}, "dims is missing"),
            ("torus", {"dims": [2.5]}, "dims"),
            ("torus", {"dims": [10**6, 10**6]}, "dims"),
            ("torus", {"dims": [4], "x": 1}, "'x'"),
            ("torus", {"dims": [4], "link_latency_s": NAN}, "link_latency_s"),
            ("torus", None, "params"),
        )
    ],
    ("preset", lambda: nc.preset("nope"), "unknown machine 'nope'"),
    ("routing", lambda: nc.make_routing(TORUS, "nope"), "nope"),
    ("routing parameters", lambda: nc.make_routing(TORUS, None, 3), "parameters = 3"),
    ("policy", lambda: nc.make_policy(TREE, "nope", rng()), "nope"),
    ("policy rng", lambda: nc.make_policy(TREE, "baseline", 3), "rng = 3"),
    *each(
        nc.make_pattern,
        {"name": "all-to-all", "n_ranks": 4, "message_bytes": 1, "iterations": 1, "rng": rng()},
        {
            "name": [3],
            "n_ranks": COUNT,
            "message_bytes": COUNT,
            "iterations": [*COUNT, HUGE],
            "rng": [3, None],
            "params": [[1], "x"],
        },
    ),
    *each(
        combined,
        {},
        {
            "start_s": [[NAN], [-1.0], [INF], ["x"], [0, 1], 3],
            "group_priority": [[0.5], ["x"], [1, 2], [-1], [8]],
            "rank_nodes": [[0.5, 1.5], [NAN, 1], "ab", [-1, 0], [2**40, 1], np.zeros((2, 2), int)],
        },
    ),
    ("a program", lambda: nc.combine([3], [[0]]), "programs[0] = 3"),
    ("programs", lambda: nc.combine(PAIR, [0, 1]), "programs = "),
    ("two nodes for one rank", lambda: nc.combine([PAIR], [[0]]), "2 ranks but 1 rank nodes"),
    *each(
        nc.PacketConfig,
        {},
        {
            "packet_bytes": [*COUNT, INF, HUGE],
            "header_bytes": [-1, 0.5],
            "buffer_bytes": [1, NAN, INF],
            "router_latency_s": NUMBER,
            "send_overhead_s": [INF, "x"],
            "delivery": ["x", 3],
            "router": ["x"],
        },
    ),
    *each(
        sent,
        {},
        {
            "until_s": [NAN, -1.0, INF, "x"],
            "threads": [0, "x", 1.5],
            "progress": [3],
            "record_messages": ["x"],
        },
    ),
    *each(
        nc.laas_workload,
        {"n_jobs": 9, "mean_nodes": 4, "rng": rng()},
        {"n_jobs": [*COUNT, HUGE], "mean_nodes": [0, *NUMBER], "rng": [1]},
    ),
    *each(
        queue, {}, {"workload": [3], "policy": [3], "order": ["x"], "backfill": ["x"], "rng": [3]}
    ),
    ("summarise", lambda: nc.summarise(3), "result = 3"),
    ("a table", lambda: nc.policy_table({}), "unknown table 'policies'"),
    ("a function", lambda: nc.run_points(None, [{}], "a.db"), "function = None"),
    ("a point", lambda: nc.run_points("netcosim.runs.cosim:cosim_point", [3], "a.db"), "points[0]"),
    ("a mode", lambda: nc.Store("a.db", "append"), "append"),
    ("a key", stored(lambda store: store.rows(3, "t")), "key = 3"),
    ("a table's name", stored(lambda store: store.tables("k", 3)), "name = 3"),
    ("an outcome", stored(lambda store: store.put("k", {}, 3)), "outcome = 3"),
    ("entries", stored(lambda store: store.put_meta(3)), "values = 3"),
    ("kept", stored(lambda store: store.kept(3)), "key = 3"),
    *each(
        planned,
        {"priority": [0, 0], "start_s": [0.0, 0.0], "pace_s": [0.0, 0.0]},
        {
            "priority": [[0.5, 1], [NAN, 1], None, 0],
            "start_s": [[INF, 0], [-1.0, 0], [0.0], ["a", "b"], [1e300, 0], [[0.0], [0.0]]],
            "pace_s": [[NAN, 0], [INF, 0], [-1.0, 0], [0.0, 0.0, 0.0], [1e300, 0]],
        },
    ),
    (
        "a plan of three jobs for two",
        lambda: planned(priority=[0] * 3, start_s=[0.0] * 3, pace_s=[0.0] * 3),
        "priority has 3 values; it must have 2",
    ),
    (
        "a pace of years",
        lambda: planned(priority=[0, 0], start_s=[0.0, 0.0], pace_s=[1e9, 0.0]),
        "3e+10 s with iterations of 2 s; at most 100,000,000",
    ),
    ("a negative number of jobs", lambda: NetworkPlan.without(-1), "n_jobs = -1"),
    ("no jobs in a group", lambda: JobGroup.of([]), "no jobs"),
    ("numbers in a group", lambda: JobGroup.of([1, 2]), "jobs[0] = 1"),
    *each(
        PeriodicJob,
        {"lead_s": 1.0, "comm_s": 1.0, "hidden_s": 0.0, "links": [0], "busy_s": [1.0]},
        {
            "lead_s": NUMBER,
            "comm_s": [0, INF],
            "links": [[0.5], [-1]],
            "busy_s": [[1.0, 1.0], [NAN], [-1.0]],
        },
    ),
    ("a mapping in a list", lambda: nc.PlacedJob(1, ALL, [0], task_mapping=["random"]), "mapping"),
    ("a level in a list", lambda: nc.Live(TORUS, level=["flow"]), "level"),
    ("units as text", lambda: nc.Ensemble(NETWORK, [JOB]).flow_finishes_s("x"), "unit_s"),
    *[
        (f"live on {nodes!r}", lambda nodes=nodes: live(job_id=1, nodes=nodes), "nodes")
        for nodes in ({0, 1}, {0: 1})
    ],
    *each(
        nc.make_policy(TREE, "baseline", rng()).allocate,
        {},
        {"request": [3, None, nc.Request]},
    ),
    *each(nc.make_policy(TREE, "baseline", rng()).release, {}, {"placement": [77, None]}),
    (
        "policy parameters",
        lambda: nc.make_policy(TREE, "baseline", rng(), 3),
        "parameters = 3; it must be Mapping or None",
    ),
    ("2^62 ranks", lambda: nc.make_pattern("all-to-all", 2**62, 1, 1, rng()), "n_ranks"),
    ("rank nodes", lambda: nc.combine([PAIR], None), "rank_nodes = None"),
    ("starts by number", lambda: combined(start_s={0: 1}), "start_s"),
    ("an array of no dimension", lambda: combined(start_s=np.array({0: 1})), "start_s"),
    *each(sent, {}, {"until_s": [1e7, 1e300], "progress": ["x"]}),
    *each(
        nc.PacketConfig,
        {},
        {
            "eager_limit_bytes": [0.5, -1, True],
            "control_bytes": [0.5, "64"],
            "congestion_threshold_bytes": [1.5, 2**31, True],
        },
    ),
    *each(
        nc.laas_workload,
        {"n_jobs": 9, "mean_nodes": 4, "rng": rng(), "load": 0.9, "machine_nodes": 16},
        {
            "sizes": ["4", 4, None, [1.5], [True], [0]],
            "run_time_range_s": [5, (1,), ("1", "2"), (NAN, 1)],
            "median_run_time_s": ["1", True],
            "load": ["0.9", True, NAN],
            "machine_nodes": [1.5, True],
            "requested_factor": [2, ("a", "b"), (1, NAN)],
        },
    ),
    *each(
        queue,
        {},
        {
            "order": [None, 3, ["fcfs"]],
            "backfill": [None, 3],
            "window": [1.5, "all", True, NAN],
            "run_time_model": ["as-logged", 3],
            "bandwidth_Bps": [3, ["x"] * 10, [NAN] * 10, [1.0]],
            "estimates": ["actual", 3],
            "rules": [None, {}],
            "progress": [3],
        },
    ),
    *each(
        swf,
        {},
        {
            "processors_per_node": ["2", 1.5, True, 0],
            "known_processors_per_node": [0, "2"],
            "name": [3],
            "statuses": [1, "1", [True], [1.5]],
            "max_nodes": ["4", 1.5, NAN, 0],
            "min_run_time_s": ["1", NAN, True, -1],
        },
    ),
    *each(
        nc.write_swf,
        {"workload": JOBS, "path": "a.swf"},
        {"processors_per_node": ["2", 0, 1.5, True, 2**62]},
    ),
    *[
        (f"policies of {rows!r}", lambda rows=rows: nc.policy_table({"policies": rows}), "policies")
        for rows in (3, None, [3])
    ],
    *each(nc.describe, {"name": "ta"}, {"among": ["policies", 3]}),
    ("a kind", lambda: nc.describe("ta", ["nope"]), "unknown kind 'nope'"),
    *each(
        nc.run_points,
        {"function": "netcosim.runs.cosim:cosim_point", "points": [{}], "store": "a.db"},
        {"function": [3, "..:x"], "jobs": ["2", 1.5, True], "executor": [3, None]},
    ),
    *each(
        nc.run_cosim,
        {"config": nc.config_from(CONFIG)},
        {"progress": [3], "notice": [3], "jobs": [3, []]},
    ),
    *each(iterated, {}, {"group": [None], "plan": [None], "rng": [None, 1]}),
    ("2^62 jobs in a plan", lambda: NetworkPlan.without(2**62), "n_jobs"),
]


@pytest.mark.parametrize(("call", "told"), [pytest.param(c, t, id=n) for n, c, t in CASES])
def test_a_mistake_is_one_line(
    call: Callable[[], object], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NetcosimError) as caught:
        call()
    text = str(caught.value)
    assert told in text
    assert "\n" not in text


def in_itself(*keys: str) -> dict[str, Any]:
    """A table that contains itself, below some keys."""
    outer: dict[str, Any] = {}
    inner = outer
    for key in keys[:-1]:
        inner = inner.setdefault(key, {})
    inner[keys[-1]] = outer
    return outer


@pytest.mark.parametrize(
    "content",
    [
        {"machine": in_itself("family")},
        {"queue": {"policies": [in_itself("queue", "policies")]}},
        {"plugins": [[in_itself("a")]]},
        {"reference": in_itself("a", "b")},
        in_itself("machine"),
        # twice in itself: a million tables at depth 20
        in_itself("machine") | {"workload": in_itself("a") | {"b": in_itself("a")}},
    ],
)
def test_a_config_that_contains_itself_is_one_line(content: dict[str, Any]) -> None:
    with pytest.raises(NetcosimError, match=r"tables or lists are nested too deeply$"):
        nc.config_from(content)


def test_a_table_may_occur_often_and_nest_50_deep() -> None:
    """One table in two places of each level would be 2^49 tables."""
    table: dict[str, Any] = {}
    for _ in range(49):
        table = {"a": table, "b": table}
    assert not too_deeply_nested(table)
    assert too_deeply_nested([table])


def program_with(**arrays: Any) -> Program:
    """A program of two ranks, one of which sends 8 bytes, with some arrays changed."""
    made = build_program(2, 1, make_messages([0], 0, [1], 0, 8))
    return Program(**{name: getattr(made, name) for name in made.__dataclass_fields__} | arrays)


@pytest.mark.parametrize(
    ("arrays", "told"),
    [
        ({"compute_s": np.array([NAN, 0.0])}, "compute_s needs one finite value"),
        ({"compute_s": np.array([INF, 0.0])}, "compute_s needs one finite value"),
        ({"compute_s": np.array([-1.0, 0.0])}, "compute_s needs one finite value"),
        ({"send_ptr": np.array([0, 2, 1])}, "send_ptr must start at 0 and not fall"),
        ({"send_ptr": np.array([1, 1, 1])}, "send_ptr must start at 0 and not fall"),
        ({"step_ptr": np.array([0, 3, 2])}, "step_ptr must start at 0 and not fall"),
        ({"send_step": np.array([1, 1])}, "send_dst, send_bytes, send_step differ in length"),
    ],
)
def test_programs_that_would_index_past_their_end(arrays: dict[str, Any], told: str) -> None:
    """As a plug-in's pattern could return them."""
    program_with().validate()
    with pytest.raises(NetcosimError, match=told):
        sent_of(nc.combine([program_with(**arrays)], [np.array([0, 1])]))


def test_what_is_just_allowed() -> None:
    assert need_real("f", "x", 2, 2, 2) == 2.0
    assert need_real("f", "x", np.float32(0.5)) == 0.5
    with np.errstate(over="raise"):  # 1e300 is infinite as a float32
        assert need_real("f", "x", np.float32(2.0), 0) == 2.0
    with pytest.raises(NetcosimError, match="must be at least 0 and finite"):
        need_real("f", "x", np.float32(np.inf), 0)
    assert need_array("f", "x", (0, 7), 2, high=7).tolist() == [0, 7]
    assert need_array("f", "x", []).dtype == np.int64
    assert need_array("f", "x", [], real=True).dtype == np.float64
    assert np.isnan(need_array("f", "x", [NAN, 1], real=True, nan=True)[0])
    assert nc.Communication("all-to-all", rank_bytes=1, priority=7).priority == 7
    assert nc.PlacedJob(np.int64(0), ALL, range(3)).nodes.dtype == np.int32
    assert nc.Request(1, np.int32(4), end_s=INF, bandwidth_Bps=3).n_nodes == 4
    assert nc.Request(1, 4, end_s=-2.5).end_s == -2.5  # the clock of a log may begin before 0
    assert nc.LiveJob("a", range(2)).nodes.tolist() == [0, 1]
    plan = NetworkPlan([1, 0], [NAN, 0], [0, 0])
    # the first is served first, and the second waits for each of its messages at most once
    assert iteration_times_s(GROUP, plan, rng()).tolist() == pytest.approx([2.0, 2.0], abs=1.0)
