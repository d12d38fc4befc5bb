"""Environments whose actions are groups, pods or leaves: where jobs are, what is masked."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gym_helpers import CONFIG, MACHINE

from alloc.policy import Placement, Request
from alloc.registry import make_policy
from netsim.errors import NetcosimError
from netsim.hierarchy import hierarchy_of
from netsim.topologies.registry import make_topology
from queuesim.decide import DecisionPoint
from queuesim.queue_setup import QueueSetup
from workloads.synthetic import laas_workload

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed (extra [rl])")
from gymnasium.utils.env_checker import check_env  # noqa: E402

from netcosim.gym.environments import CoSchedule, Place, Schedule, SchedulingEnv  # noqa: E402

FAT_TREE = {"family": "fattree", "radix": 6}


def config(policy: str = "simple", machine: dict[str, Any] = MACHINE) -> dict[str, Any]:
    return CONFIG | {
        "machine": machine,
        "queue": {"policies": [policy, "baseline"], "run_time_model": "as-logged"},
        "communication": {"mix": [{"pattern": "all-to-all", "node_bytes": 65536}]},
    }


def play(world: SchedulingEnv, seed: int) -> list[tuple[int, int, float, list[int]]]:
    """An episode of possible actions at chance; (domain, job, time, nodes) of each start."""
    rng, started, over = np.random.default_rng(seed), [], False
    world.reset(seed=seed)
    while not over:
        free, sizes = free_of(world), world.episode.run.machine.n_nodes
        masks = world.action_masks()
        parts = np.split(masks, [world.depth + 1]) if world.decides_jobs else [masks]
        assert (
            parts[-1].tolist()
            == np.isin(np.arange(world.n_places), world.factory.domains.of[free]).tolist()
        )
        action = [int(rng.choice(np.flatnonzero(part))) for part in parts]
        run, before = world.episode.run, len(world.episode.run.event_s)
        over = world.step(action if len(action) > 1 else action[0])[2]
        if len(run.event_s) == before or not run.event_is_start[before]:
            continue
        job = run.event_job[before]
        assert run.kept is not None
        place = run.kept[job]
        assert place is not None
        assert len(place.nodes) == sizes[job]
        inside = place.nodes[world.factory.domains.of[place.nodes] == action[-1]]
        room = free[world.factory.domains.of[free] == action[-1]]
        # all in the domain, or all that the domain had
        assert len(inside) == min(sizes[job], len(room))
        started.append((action[-1], job, run.event_s[before], place.nodes.tolist()))
    return started


def free_of(world: SchedulingEnv) -> np.ndarray[Any, np.dtype[np.int64]]:
    machine = world.episode.run.machine
    taken = np.zeros(machine.policy.topology.n_nodes, dtype=bool)
    for placement in machine.placements.values():
        taken[placement.nodes] = True
    return np.flatnonzero(~taken)


@pytest.mark.parametrize("kind", [Place, CoSchedule])
def test_gymnasium_finds_nothing_wrong(kind: type[SchedulingEnv]) -> None:
    world = kind(config(), places="domains", n_jobs=12)
    check_env(world, skip_render_check=True)
    spaces = {"Place": [5], "CoSchedule": [17, 5]}
    space = world.action_space
    assert (getattr(space, "nvec", None) is None) == (kind is Place)
    assert [*getattr(space, "nvec", [getattr(space, "n", 0)])] == spaces[kind.__name__]


@pytest.mark.parametrize(
    ("kind", "policy", "machine", "level", "n"),
    [
        (Place, "baseline", MACHINE, 1, 5),
        (CoSchedule, "random", MACHINE, 2, 20),
        (CoSchedule, "baseline", FAT_TREE, 2, 18),
    ],
)
def test_jobs_are_in_the_domain_that_was_said(
    kind: type[SchedulingEnv], policy: str, machine: dict[str, Any], level: int, n: int
) -> None:
    """And the domains that can be said are those with a free node."""
    given = config(policy, machine)
    given["queue"]["policies"] = [policy]
    world = kind(given, places="domains", level=level, n_jobs=80)
    assert world.n_places == n
    started = play(world, 4)
    assert len(started) > 60
    assert len({domain for domain, *_ in started}) > 0.8 * n


def test_the_first_policy_chooses_among_the_domains_nodes() -> None:
    """On a machine with the rest of it taken it gives the same nodes; then the rest likewise."""
    topology = make_topology("dragonfly", {"p": 2, "a": 4, "g": 5})
    domain = hierarchy_of(topology).domain[1] == 2
    rng = np.random.default_rng(0)
    for name in ("simple", "rdn", "level-spread", "slurm-linear"):
        for size in (3, 8, 11, 40):
            work = laas_workload(1, 4.0, np.random.default_rng(0))
            work.n_nodes[:] = size
            placing = make_policy(topology, name, np.random.default_rng(7))
            run = QueueSetup(work, placing, rng=rng, keep_placements=True).by_events()
            point = DecisionPoint(run.scheduler, next(run.passes()))
            found = point.within(0, domain)
            assert found is not None
            assert len(set(found.tolist())) == size
            assert point.n_free == placing.n_free == 40
            inside = min(size, 8)
            assert domain[found[:inside]].all()
            assert not domain[found[inside:]].any()
            alone = make_policy(topology, name, np.random.default_rng(7))
            rest = np.flatnonzero(~domain)
            alone.hold(Placement(-1, rest.astype(np.int32)))
            expected = alone.allocate(Request(0, inside))
            assert expected is not None
            assert found[:inside].tolist() == expected.nodes.tolist()


def _started(seed: int) -> list[tuple[int, int, float, list[int]]]:
    given = config("rdn")
    return play(CoSchedule(given, places="domains", contention="coupled-flow", n_jobs=25), seed)


def test_same_seed_same_episode_on_one_process_and_on_two() -> None:
    here = [_started(seed) for seed in range(2)]
    with ProcessPoolExecutor(2) as pool:
        assert list(pool.map(_started, range(2))) == here
    assert here[0] != here[1]


def test_a_full_domain_is_masked_counted_and_waits() -> None:
    for invalid in ("wait", "error"):
        world = Place(config(), places="domains", n_jobs=60, invalid=invalid)
        world.reset(seed=2)
        over = False
        while world.action_masks().all():
            over = world.step(0)[2]
            assert not over
        full = int(np.flatnonzero(~world.action_masks())[0])
        began = len(world.episode.run.event_s)
        if invalid == "error":
            with pytest.raises(NetcosimError, match=f"action {full} is masked"):
                world.step(full)
            continue
        _, _, _, _, info = world.step(full)
        assert info["invalid_actions"] == 1
        # something ended or arrived, and nothing was started by the masked action
        starts = world.episode.run.event_is_start[began:]
        assert not any(starts)


@pytest.mark.parametrize(
    ("kind", "given", "told"),
    [
        (Place, {"places": "racks"}, "unknown places 'racks'; valid: domains, rules"),
        (Place, {"places": "domains", "rules": ("rdn",)}, "rules conflicts with places"),
        (Schedule, {"places": "domains"}, "places: this environment does not ask"),
    ],
)
def test_bad_values_are_one_line(
    kind: type[SchedulingEnv], given: dict[str, Any], told: str
) -> None:
    with pytest.raises(NetcosimError, match=told):
        kind(config(), **given)


def test_a_policy_of_partitions_is_refused() -> None:
    with pytest.raises(
        NetcosimError, match="places = \"domains\" does not go with policy 'jigsaw'"
    ):
        Place(config("jigsaw", FAT_TREE), places="domains")


def test_the_configs_decider_names_the_next_job(tmp_path: Path) -> None:
    """By a name, and by a class in a file: the same as that in a queue of its own."""
    given = config()
    orders = []
    for decider in ("shortest-that-fits", "largest-that-fits"):
        given["queue"] |= {"decider": decider}
        started = play(Place(given, places="domains", n_jobs=60), 1)
        orders.append([job for _, job, *_ in started])
    assert orders[0] != orders[1]
    (tmp_path / "a.py").write_text(
        "from queuesim.deciders import LargestThatFits\n"
        "class Mine(LargestThatFits):\n    name = 'mine'\n"
    )
    given["queue"] |= {"decider": f"{tmp_path}/a.py:Mine"}
    started = play(Place(given, places="domains", n_jobs=60), 1)
    assert [job for _, job, *_ in started] == orders[1]
