"""Who decides: the same schedules as the built-in methods give, and choices that are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from queue_helpers import make_workload, same_schedule

from alloc.any_rule import AnyRule
from alloc.policy import Placement, Policy, Request
from alloc.registry import make_policy
from netsim.errors import NetcosimError
from netsim.topologies.gpu_cluster import gpu_cluster
from netsim.topologies.registry import make_topology
from netsim.topology import Topology
from queuesim.decide import Choice, Decider, DecisionPoint, Easy, Strict
from queuesim.queue import simulate_queue
from queuesim.queue_setup import QueueSetup
from queuesim.run import Run
from workloads.details import JobDetails, Labels, NodeLists
from workloads.job import Workload
from workloads.synthetic import laas_workload

DRAGONFLY = make_topology("dragonfly", {"p": 2, "a": 4, "g": 9})
RULES = ("simple", "rdn", "rdg", "level-spread")


def jobs(n: int, seed: int) -> Workload:
    """Jobs that arrive one by one and ask for more time than they take, some for less."""
    rng = np.random.default_rng(seed)
    made = laas_workload(n, 14.0, rng)
    requested_s = made.run_time_s * rng.uniform(0.8, 3.0, n)
    submit_s = np.sort(rng.uniform(0, 250 * n, n)).round(rng.integers(0, 3))
    n_nodes = np.minimum(made.n_nodes, DRAGONFLY.n_nodes)
    return replace(made, requested_s=requested_s, submit_s=submit_s, n_nodes=n_nodes)


@pytest.mark.parametrize(("name", "decider"), [("easy", Easy), ("none", Strict)])
@pytest.mark.parametrize("order", ["fcfs", "wfp", "shortest"])
def test_a_decider_gives_the_schedule_of_the_method_that_it_is(name, decider, order):
    for seed in range(12):
        work = jobs(120, seed)
        window = None if seed % 2 else 7
        runs = [
            simulate_queue(
                work,
                make_policy(DRAGONFLY, RULES[seed % 4], np.random.default_rng(seed)),
                order=order,
                backfill=method,
                window=window,
                overrun="cut" if seed % 3 else "keep",
                rng=np.random.default_rng(0),
                keep_placements=True,
            )
            for method in (name, decider())
        ]
        assert same_schedule(*runs), seed
        assert runs[0].backfill == name
        assert runs[1].backfill == decider().name


def rules(seed: int = 0, names: tuple[str, ...] = RULES) -> AnyRule:
    return AnyRule({name: policy(name, seed) for name in names})


def policy(name: str, seed: int = 0) -> Policy:
    return make_policy(DRAGONFLY, name, np.random.default_rng(seed))


def test_a_job_of_any_rule_that_is_placed_twice_is_released_twice() -> None:
    each = rules()
    placements = [each.allocate(Request(5, 2)) for _ in range(2)]
    for placement in placements:
        assert placement is not None
        each.release(placement)
    assert each.n_free == DRAGONFLY.n_nodes
    with pytest.raises(NetcosimError, match="release of job 5: a node of its placement is not"):
        each.release(placements[0])


class ByRule(Decider):
    """EASY that has jobs placed by a rule of its own."""

    name = "by-rule"
    description = "EASY, placed by a rule"

    def __init__(self, rule: Callable[[int], str]) -> None:
        self.rule = rule

    def decide(self, point: DecisionPoint) -> Choice | None:
        found = Easy().decide(point)
        return None if found is None else Choice(found.job, rule=self.rule(found.job))


@pytest.mark.parametrize("name", RULES)
def test_one_rule_of_many_is_that_policy(name: str) -> None:
    work = jobs(150, 3)
    of_many = simulate_queue(
        work,
        rules(5),
        backfill=ByRule(lambda job: name),
        rng=np.random.default_rng(0),
        keep_placements=True,
    )
    alone = simulate_queue(
        work, policy(name, 5), rng=np.random.default_rng(0), keep_placements=True
    )
    assert same_schedule(of_many, alone)


def test_rules_that_take_turns_see_each_others_jobs() -> None:
    """No node has two jobs at a time, and each job the nodes that its rule alone would give it."""
    rng, placing = np.random.default_rng(1), rules()
    free = np.ones(DRAGONFLY.n_nodes, dtype=bool)
    there: list[Placement] = []
    for job in range(600):
        if there and rng.random() < 0.5:
            left = there.pop(int(rng.integers(len(there))))
            placing.release(left)
            free[left.nodes] = True
        name = ("simple", "level-spread")[job % 2]
        n_nodes = int(rng.integers(1, 20))
        fresh = policy(name)
        fresh.hold(Placement(-1, np.flatnonzero(~free).astype(np.int32)))
        expected = fresh.allocate(Request(job, n_nodes))
        found = placing.allocate_by(name, Request(job, n_nodes))
        assert (found is None) == (expected is None) == (n_nodes > free.sum())
        if found is None or expected is None:
            continue
        assert found.nodes.tolist() == expected.nodes.tolist()
        assert free[found.nodes].all()
        free[found.nodes] = False
        there.append(found)
        assert placing.n_free == free.sum() == placing.clone().n_free


def first_pass(
    placing: Policy, work: Workload
) -> tuple[DecisionPoint, tuple[Run, Iterator[float]]]:
    run = QueueSetup(work, placing, rng=np.random.default_rng(0), keep_placements=True).by_events()
    passes = run.passes()
    return DecisionPoint(run.scheduler, next(passes)), (run, passes)


def at_once(n: int) -> Workload:
    return replace(jobs(n, 1), submit_s=np.zeros(n))


def test_own_nodes_are_taken_in_their_order() -> None:
    work = replace(at_once(3), n_nodes=np.array([9, 4, 20], dtype=np.int32))
    point, (run, passes) = first_pass(policy("simple"), work)
    size = int(work.n_nodes[2])
    nodes = np.arange(70, 70 - size, -1)
    assert point.start(Choice(2, nodes=nodes))
    assert point.waiting() == [0, 1]
    assert point.n_free == DRAGONFLY.n_nodes - size
    for now_s in passes:
        later = DecisionPoint(run.scheduler, now_s)
        for job in later.waiting():
            later.start(Choice(job))
    placed = run.result().placements
    assert placed is not None
    assert placed.nodes[placed.node_ptr[2] : placed.node_ptr[3]].tolist() == nodes.tolist()


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        (Choice(9), "job index 9 does not wait"),
        (Choice(-1), "job index -1 does not wait"),
        (Choice(0, rule="random-walk"), "unknown placement rule 'random-walk'"),
        (Choice(0, nodes=np.array([1])), "1 nodes chosen for a job of"),
        (Choice(0, nodes=np.arange(72)), "72 nodes chosen for a job of"),
    ],
)
def test_choices_that_cannot_be_are_refused(choice: Choice, told: str) -> None:
    point, _ = first_pass(rules(), at_once(3))
    with pytest.raises(NetcosimError, match=told):
        point.start(choice)
    assert point.waiting() == [0, 1, 2]
    assert point.n_free == DRAGONFLY.n_nodes


@pytest.mark.parametrize(
    ("first", "told"),
    [(-1, "each once"), (72, "each once"), (1, "each once"), (71, "node 71 is not free")],
)
def test_nodes_that_cannot_be_are_refused(first: int, told: str) -> None:
    work = replace(at_once(3), n_nodes=np.array([1, 5, 2], dtype=np.int32))
    point, _ = first_pass(policy("simple"), work)
    assert point.start(Choice(0, nodes=np.array([71])))
    with pytest.raises(NetcosimError, match=told):
        point.start(Choice(1, nodes=np.array([first, 1, 2, 3, 4])))
    assert point.n_free == DRAGONFLY.n_nodes - 1


def test_a_policy_that_reserves_links_is_no_rule_and_takes_no_nodes() -> None:
    tree = make_topology("fattree", {"radix": 4})
    for name in ("jigsaw", "ta"):
        own = make_policy(tree, name, np.random.default_rng(0))
        with pytest.raises(NetcosimError, match="cannot be a placement rule"):
            AnyRule({name: own})
        work = replace(at_once(2), n_nodes=np.array([2, 1], dtype=np.int32))
        point, _ = first_pass(own, work)
        with pytest.raises(NetcosimError, match="cannot place a job on given nodes"):
            point.start(Choice(0, nodes=np.array([0, 1])))
        with pytest.raises(NetcosimError, match="the machine has one policy"):
            point.start(Choice(0, rule="ta"))


class Stubborn(Decider):
    name = "stubborn"
    description = "the head, whether there is room or not"

    def decide(self, point: DecisionPoint) -> Choice | None:
        head = point.head()
        return None if head is None else Choice(head)


class Idle(Decider):
    name = "idle"
    description = "nobody ever"

    def decide(self, point: DecisionPoint) -> Choice | None:
        return None


@pytest.mark.parametrize(
    ("decider", "told"),
    [(Stubborn(), "cannot be placed: it requests"), (Idle(), "no waiting job is ever started")],
)
def test_deciders_that_get_nowhere_are_told(decider: Decider, told: str) -> None:
    with pytest.raises(NetcosimError, match=told):
        simulate_queue(
            at_once(30), policy("simple"), backfill=decider, rng=np.random.default_rng(0)
        )


def test_a_decider_on_gpus_names_the_rule_by_servers() -> None:
    machine = gpu_cluster(2)
    gpus = make_policy(machine, "baseline", np.random.default_rng(0))
    three = make_workload([0, 0, 0], [9, 9, 9], [5, 5, 5])
    with pytest.raises(NetcosimError, match="6 are free; a job gets GPUs of one server, or of"):
        simulate_queue(three, gpus, backfill=Stubborn(), rng=np.random.default_rng(0))


def test_a_rule_without_a_place_starts_nothing() -> None:
    """72 nodes, of which 40 are taken: no rule has 40 more."""
    placing, work = rules(), make_workload([0, 0], [9, 9], [40, 40])
    point, _ = first_pass(placing, work)
    assert point.start(Choice(0, "rdn"))
    assert not point.start(Choice(1, "rdn"))
    assert point.n_free == 32
    assert point.n_waiting == 1


def test_only_policies_by_count_are_kept_to_a_part_of_the_machine() -> None:
    torus, rng = make_topology("torus", {"dims": [4]}), np.random.default_rng(0)
    cuboids = make_policy(torus, "first-fit-cuboid", rng)
    point, _ = first_pass(cuboids, make_workload([0], [9], [2]))
    with pytest.raises(NetcosimError, match="cannot be kept to a part of the machine"):
        point.within(0, np.ones(4, dtype=bool))


def test_deciders_know_the_topology_and_what_is_known_at_submit() -> None:
    """Run times, waits, ends and nodes of the log are hindsight; nothing can be written."""

    class Knows(Easy):
        def begin(self, workload: Workload, topology: Topology, rng: np.random.Generator) -> None:
            self.known = workload, topology

    nodes = NodeLists.of([["0"], ["1"], ["2"]])
    details = JobDetails(status=Labels.of(["failed", None, None]), node_list=nodes)
    knows, work = Knows(), replace(at_once(3), details=details)
    simulate_queue(work, policy("simple"), backfill=knows, rng=np.random.default_rng(0))
    jobs, topology = knows.known
    assert topology is DRAGONFLY
    for name in ("job_id", "submit_s", "n_nodes", "requested_s", "user"):
        assert getattr(jobs, name).tolist() == getattr(work, name).tolist()
    assert np.isnan([jobs.run_time_s, jobs.wait_s]).all()
    assert np.isfinite(work.run_time_s).all()
    assert (jobs.details.status, jobs.details.node_list) == (None, None)
    for column in (jobs.requested_s, jobs.n_nodes, jobs.run_time_s):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1
