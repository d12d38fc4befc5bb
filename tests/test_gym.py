"""The environments: Gymnasium's own checks, and the queue simulator beside them."""

from __future__ import annotations

import hashlib
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest
from gym_helpers import CONFIG

from netcosim.config.load import config_from
from netcosim.runs.schedules import queues_of
from netsim.errors import NetcosimError
from netsim.topologies.registry import make_topology
from queuesim.learning.episode import REWARDS
from queuesim.queue import simulate_queue
from queuesim.result import QueueResult
from workloads.transform import from_zero, select

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed (extra [rl])")
from gymnasium.utils.env_checker import check_env  # noqa: E402

from netcosim.gym import ENVIRONMENTS  # noqa: E402
from netcosim.gym.environments import CoSchedule, Place, Schedule, SchedulingEnv  # noqa: E402

CONTENTION = ("as-logged", "measured", "coupled-flow", "coupled-packets")


def play(
    world: SchedulingEnv, seed: int, *, first: int | None = None
) -> tuple[float, dict[str, Any], str]:
    """An episode of actions at chance: what it gained, the last info, a digest of all that was."""
    rng, digest, gained = np.random.default_rng(seed), hashlib.sha256(), 0.0
    seen, info = world.reset(seed=seed, options=None if first is None else {"first": first})
    over = False
    while not over:
        for value in seen.values():
            digest.update(value.tobytes())
        masks = world.action_masks()
        parts = np.split(masks, [world.depth + 1]) if world.decides_jobs else [masks]
        action = [int(rng.choice(np.flatnonzero(part))) for part in parts if len(part)]
        seen, reward, over, _, info = world.step(action if len(action) > 1 else action[0])
        gained += reward
        digest.update(np.float64(reward).tobytes())
    assert world.observation_space.contains(seen)
    return gained, info, digest.hexdigest()


@pytest.mark.parametrize(
    ("kind", "contention"),
    [*((CoSchedule, name) for name in CONTENTION), (Schedule, "as-logged"), (Place, "as-logged")],
)
def test_gymnasium_finds_nothing_wrong(kind: type[SchedulingEnv], contention: str) -> None:
    world = kind(CONFIG, contention=contention, n_jobs=12, render_mode="rgb_array")
    check_env(world)
    gained, info, _ = play(world, 5)
    assert gained == pytest.approx(-info["metrics"]["mean_bounded_slowdown"], rel=1e-12)


def test_names_are_known_to_gymnasium() -> None:
    for name, kind in ENVIRONMENTS.items():
        made = gymnasium.make(f"netcosim.gym:{name}", config=CONFIG, n_jobs=5).unwrapped
        assert type(made).__name__ == kind


@pytest.mark.parametrize("reward", sorted(REWARDS))
def test_rewards_sum_to_the_metric(reward: str) -> None:
    world = CoSchedule(CONFIG, contention="coupled-flow", n_jobs=30, reward=reward)
    for seed in range(2):
        gained, info, _ = play(world, seed)
        result = world.episode.run.result()
        alone_s = result.workload.run_time_s
        lost = np.sum((result.end_s - result.start_s - alone_s) * result.workload.n_nodes) / 3600
        assert lost > 0
        expected = {
            "bounded-slowdown": -info["metrics"]["mean_bounded_slowdown"],
            "bounded-stretch": -np.maximum(
                (result.end_s - result.workload.submit_s) / np.maximum(alone_s, 10), 1
            ).mean(),
            "turnaround": -info["metrics"]["mean_turnaround_s"] / 3600,
            "communication": -lost,
            "utilisation": info["metrics"]["utilisation"],
        }[reward]
        if reward == "utilisation":
            # the metric counts the work of the schedule, contention included
            busy = np.sum((result.end_s - result.start_s) * result.workload.n_nodes)
            whole = result.end_s.max() - result.start_s.min()
            expected = busy / (whole * result.topology.n_nodes)
        assert gained == pytest.approx(expected, rel=1e-11)


def direct(world: SchedulingEnv, first: int, policy_seed_of: int, **how: Any) -> QueueResult:
    """The same jobs through the queue simulator."""
    config = config_from(CONFIG)
    queues = queues_of(config, make_topology("dragonfly", {"p": 2, "a": 4, "g": 5}))
    jobs = from_zero(select(queues.jobs, np.arange(first, first + world.factory.n_jobs)))
    del policy_seed_of
    from alloc.registry import make_policy

    return simulate_queue(
        jobs,
        make_policy(queues.topology, how.pop("policy"), np.random.default_rng(0)),
        rng=np.random.default_rng(0),
        keep_placements=True,
        **how,
    )


def test_always_the_head_is_strict_order() -> None:
    world = Schedule(CONFIG, n_jobs=80)
    world.reset(seed=1, options={"first": 20})
    over = False
    while not over:
        can_start = world.action_masks()[0]
        over = world.step(0 if can_start else world.depth)[2]
    told, expected = (
        world.episode.run.result(),
        direct(world, 20, 0, policy="simple", backfill="none"),
    )
    assert told.start_s.tolist() == expected.start_s.tolist()
    assert told.placements is not None
    assert expected.placements is not None
    assert told.placements.nodes.tolist() == expected.placements.nodes.tolist()


@pytest.mark.parametrize("rule", ["simple", "level-spread"])
@pytest.mark.parametrize("backfill", ["easy", "none"])
def test_always_one_rule_is_that_policy_in_the_configs_queue(rule: str, backfill: str) -> None:
    queue = {**CONFIG["queue"], "backfill": backfill}
    world = Place({**CONFIG, "queue": queue}, n_jobs=80)
    world.reset(seed=1, options={"first": 30})
    over = False
    while not over:
        over = world.step(world.rules.index(rule))[2]
    told, expected = (
        world.episode.run.result(),
        direct(world, 30, 0, policy=rule, backfill=backfill),
    )
    assert told.start_s.tolist() == expected.start_s.tolist()
    assert told.placements is not None
    assert expected.placements is not None
    assert told.placements.nodes.tolist() == expected.placements.nodes.tolist()


def _digest(seed: int) -> str:
    return play(CoSchedule(CONFIG, contention="coupled-flow", n_jobs=15), seed)[2]


def test_same_seed_same_episode_on_one_process_and_on_two() -> None:
    here = [_digest(seed) for seed in range(2)]
    with ProcessPoolExecutor(2) as pool:
        assert list(pool.map(_digest, range(2))) == here
    assert len(set(here)) == 2


def test_what_is_seen_is_what_is_there() -> None:
    world = CoSchedule(CONFIG, contention="coupled-flow", n_jobs=60, depth=4)
    seen, _ = world.reset(seed=2)
    rng = np.random.default_rng(0)
    used = 0.0
    for _ in range(50):
        episode = world.episode
        assert episode.point is not None
        machine = episode.run.machine
        taken = np.zeros(40, dtype=bool)
        for placement in machine.placements.values():
            taken[placement.nodes] = True
        free = 1 - taken.reshape(5, 8).mean(axis=1)
        np.testing.assert_allclose(seen["domains"][:, 0], free, rtol=1e-6)
        assert seen["machine"][0] == np.float32((~taken).mean())
        waiting = episode.point.waiting()[:4]
        sizes = [machine.n_nodes[job] / 40 for job in waiting]
        np.testing.assert_allclose(seen["jobs"][: len(waiting), 0], sizes, rtol=1e-6)
        assert seen["jobs"][:, 6].sum() == len(waiting)
        fits = [machine.n_nodes[job] <= (~taken).sum() for job in waiting]
        assert seen["jobs"][: len(waiting), 5].astype(bool).tolist() == fits
        used = max(used, float(seen["domains"][:, 2].max()))
        parts = np.split(world.action_masks(), [5])
        seen, _, over, _, _ = world.step([int(rng.choice(np.flatnonzero(p))) for p in parts])
        if over:
            break
    assert used > 0


def test_a_masked_action_is_counted_and_waits_or_is_refused() -> None:
    world = Schedule(CONFIG, n_jobs=30)
    world.reset(seed=1)
    assert not world.action_masks()[7]
    _, _, _, _, info = world.step(7)
    assert info["invalid_actions"] == 1
    strict = Schedule(CONFIG, n_jobs=30, invalid="error")
    strict.reset(seed=1)
    with pytest.raises(NetcosimError, match="action 7 is masked"):
        strict.step(7)
    with pytest.raises(NetcosimError, match="must be one of Discrete"):
        strict.step(99)


def test_nobody_waits_for_ever() -> None:
    """With nothing that runs and nobody to come, waiting is masked, and starts the first job."""
    world = Schedule(CONFIG | {"workload": CONFIG["workload"] | {"all_at_zero": True}}, n_jobs=3)
    world.reset(seed=1)
    assert not world.action_masks()[world.depth]
    over, steps = False, 0
    while not over:
        over, steps = world.step(world.depth)[2], steps + 1
    assert steps < 10


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"reward": "fame"}, "unknown reward 'fame'"),
        ({"contention": "magic"}, "unknown run-time model 'magic'"),
        ({"depth": 0}, "depth = 0"),
        ({"n_jobs": 0}, "n_jobs = 0"),
        ({"part": (0.8, 0.2)}, "part = "),
        ({"invalid": "ignore"}, "unknown invalid 'ignore'"),
        ({"rules": ("jigsaw",)}, "jigsaw"),
    ],
)
def test_bad_values_are_one_line(given: dict[str, Any], told: str) -> None:
    with pytest.raises(NetcosimError, match=told):
        CoSchedule(CONFIG, **given).reset(seed=0)


def test_a_job_that_finds_no_place_is_not_asked_for_again() -> None:
    """Jigsaw refuses jobs that would fit by count."""
    tree = {
        **CONFIG,
        "machine": {"family": "fattree", "radix": 6},
        "queue": {"policies": ["jigsaw"], "run_time_model": "as-logged"},
    }
    world = Schedule(tree, n_jobs=100)
    gained, info, _ = play(world, 3)
    assert info["metrics"]["n_jobs"] == len(world.episode.run.workload)
    assert gained == pytest.approx(-info["metrics"]["mean_bounded_slowdown"], rel=1e-12)
