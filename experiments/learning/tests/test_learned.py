"""The learned agent: hand rules are some of its weights, and the environment plays it alike."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from queue_helpers import same_schedule

from alloc.any_rule import AnyRule
from alloc.registry import make_policy
from experiments.learning.learned import JOB_FEATURES, PLACE_FEATURES, LearnedAgent, n_weights
from experiments.learning.points import evolve, rank_weights
from netsim.errors import NetcosimError
from netsim.topologies.registry import make_topology
from queuesim.decide import DecisionPoint
from queuesim.queue import simulate_queue
from queuesim.result import QueueResult
from workloads.details import JobDetails, Labels
from workloads.job import Workload
from workloads.synthetic import laas_workload

RULES = ("rdg", "level-spread", "rdn")
TOPOLOGY = make_topology("dragonfly", {"p": 2, "a": 4, "g": 5})


def jobs(seed: int, n: int = 300) -> Workload:
    return laas_workload(
        n,
        6,
        np.random.default_rng(seed),
        load=1.3,
        machine_nodes=40,
        requested_factor=(1.0, 3.0),
        run_time_range_s=(20, 3000),
    )


def machine(seed: int = 5) -> AnyRule:
    return AnyRule(
        {name: make_policy(TOPOLOGY, name, np.random.default_rng(seed)) for name in RULES}
    )


def order_weights(**by_feature: float) -> np.ndarray:
    weights = np.zeros(n_weights(len(RULES)))
    for name, value in by_feature.items():
        weights[JOB_FEATURES.index(name.replace("_", " "))] = value
    return weights


def played(workload: Workload, weights: Any) -> QueueResult:
    agent = LearnedAgent(weights, RULES)
    return simulate_queue(
        workload, machine(), backfill=agent, rng=np.random.default_rng(0), keep_placements=True
    )


@pytest.mark.parametrize(
    ("order", "weights"),
    [
        ("fcfs", {}),
        ("shortest", {"log_walltime": -1.0}),
        ("smallest", {"nodes": -1.0}),
        ("smallest", {"log_nodes": -1.0}),
        ("largest", {"nodes": 1.0}),
    ],
)
def test_one_weight_is_a_hand_rule_with_easy_backfilling(
    order: str, weights: dict[str, float]
) -> None:
    """To the second and to the node."""
    workload = jobs(3)
    told = played(workload, order_weights(**weights))
    expected = simulate_queue(
        workload,
        make_policy(TOPOLOGY, RULES[0], np.random.default_rng(5)),
        order=order,
        backfill="easy",
        rng=np.random.default_rng(0),
        keep_placements=True,
    )
    assert same_schedule(told, expected)
    others = [played(workload, order_weights()), played(workload, order_weights(nodes=-1.0))]
    assert any(other.start_s.tolist() != expected.start_s.tolist() for other in others)


def test_the_rule_goes_by_what_is_known_of_the_job() -> None:
    """Weights on size, and on one pattern, send those jobs to another rule, and no others."""
    workload = jobs(4, 120)
    pattern = np.arange(len(workload)) % 2
    weights = np.zeros(n_weights(len(RULES), 2))
    place = weights[len(JOB_FEATURES) :].reshape(2, -1)
    place[0, len(PLACE_FEATURES) + 1] = 1.0  # level-spread for the second pattern
    place[1, PLACE_FEATURES.index("log nodes")] = 3.0  # rdn for large ones
    place[1, 0] = -2.0

    class Watched(AnyRule):
        def allocate_by(self, rule: str, request: Any) -> Any:
            asked.append((request.job_id, request.n_nodes, rule))
            return super().allocate_by(rule, request)

    asked: list[tuple[int, int, str]] = []
    rules = {name: make_policy(TOPOLOGY, name, np.random.default_rng(5)) for name in RULES}
    labels = Labels(pattern.astype(np.int32), ("halo3d", "pairs"))
    workload = replace(workload, details=JobDetails(pattern=labels))
    agent = LearnedAgent(weights, RULES, ("halo3d", "pairs"))
    simulate_queue(workload, Watched(rules), backfill=agent, rng=np.random.default_rng(0))
    of_id = dict(zip(workload.job_id.tolist(), pattern.tolist(), strict=True))
    seen = set()
    for job_id, n_nodes, rule in asked:
        scores = [0.0, float(of_id[job_id] == 1), 3 * np.log2(n_nodes) / np.log2(40) - 2]
        assert rule == RULES[int(np.argmax(scores))]
        seen.add(rule)
    assert seen == set(RULES)


def test_what_is_seen_of_the_machine() -> None:
    """Free share, whether a group holds the job, and who communicates, counted by hand."""
    workload = jobs(5, 60)
    fraction = np.linspace(0, 1, len(workload))
    workload = replace(workload, details=JobDetails(communication_fraction=fraction))
    checked = 0

    class Looking(LearnedAgent):
        def place_features(self, point: DecisionPoint, job: int) -> Any:
            nonlocal checked
            found = super().place_features(point, job)
            placed = point.machine.placements
            free = np.ones(40, dtype=bool)
            busy = 0.0
            for other, place in placed.items():
                free[place.nodes] = False
                busy += len(place.nodes) * fraction[other]
            fits = free.reshape(5, 8).sum(axis=1).max() >= workload.n_nodes[job]
            expected = [free.mean(), float(fits), busy / 40]
            np.testing.assert_allclose(found[3:6], expected, atol=1e-12)
            checked += 1
            return found

    agent = Looking(np.ones(n_weights(3)), RULES)
    simulate_queue(workload, machine(), backfill=agent, rng=np.random.default_rng(0))
    assert checked == len(workload)


def test_wrong_weights_and_policies_that_know_more_are_refused() -> None:
    with pytest.raises(NetcosimError, match="3 weights; 3 rules and 0 patterns need 20"):
        LearnedAgent([1, 2, 3], RULES)
    tree = make_topology("fattree", {"radix": 4})
    jigsaw = make_policy(tree, "jigsaw", np.random.default_rng(0))
    workload = laas_workload(5, 2, np.random.default_rng(0))
    with pytest.raises(NetcosimError, match="'jigsaw': the learned agent needs policies"):
        simulate_queue(
            workload,
            jigsaw,
            backfill=LearnedAgent(np.zeros(8)),
            rng=np.random.default_rng(0),
        )


def test_evolution_finds_the_least_of_a_bowl() -> None:
    aim = np.array([3.0, -2.0, 0.5, 1.0])
    steps = list(
        evolve(
            lambda x, _: float(((x - aim) ** 2).sum()),
            np.zeros(4),
            np.random.default_rng(1),
            generations=200,
            pairs=8,
            sigma=0.2,
        )
    )
    assert len(steps) == 200
    assert np.abs(np.mean(steps[100:], axis=0) - aim).max() < 0.1


def test_evolution_looks_at_ranks_alone_and_at_mirrored_pairs() -> None:
    """A monotone change of the score changes nothing; samples come as mean plus and minus."""

    def run(curve: Any) -> tuple[list[Any], list[Any]]:
        asked = []

        def score(x: np.ndarray, generation: int) -> float:
            asked.append((generation, x.copy()))
            return float(curve(x[0] + 2 * x[1]))

        found = list(evolve(score, np.ones(2), np.random.default_rng(2), generations=3, pairs=4))
        return found, asked

    found, asked = run(lambda x: x)
    other, _ = run(lambda x: np.exp(3 * x))
    np.testing.assert_array_equal(found, other)
    assert [k for k, _ in asked] == [0] * 8 + [1] * 8 + [2] * 8
    first = [x for k, x in asked if k == 0]
    for plus, minus in zip(first[:4], first[4:], strict=True):
        np.testing.assert_allclose(plus + minus, [2.0, 2.0])


def test_rank_weights_are_hansens() -> None:
    """For ten samples, of which five count: as the tutorial's formula has it by hand."""
    raw = [np.log(5.5) - np.log(i) for i in range(1, 6)]
    np.testing.assert_allclose(rank_weights(10)[:5], np.array(raw) / sum(raw))
    assert rank_weights(10)[5:].tolist() == [0.0] * 5
