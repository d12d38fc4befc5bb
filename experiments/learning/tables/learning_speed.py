"""How fast the environments are: steps a second, written to ``speed.csv``.

    python experiments/learning/tables/learning_speed.py

By CPU time of one process, the best of three turns; the last rows by wall time, with processes of
their own (`gymnasium.make_vec`), so only on a machine that does nothing else.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import netcosim.gym
from netcosim.gym.environments import Schedule

STORED = Path(__file__).with_name("speed.csv")
MACHINES = {
    "dragonfly-272": (14, "simple"),
    "dragonfly-1056": (32, "simple"),
    "fattree-1024": (32, "baseline"),
}
"""Presets, the jobs' mean nodes, and the policy that gives the lowest free nodes."""
RANDOM = "random"
CONTENTIONS = ("as-logged", "coupled-flow")
TURNS, SECONDS, N_ENVS, N_STEPS = 3, 3.0, 2, 1500
ID = f"{netcosim.gym.__name__}:netcosim/Schedule-v0"


def world(machine: str, contention: str, policy: str = RANDOM) -> dict[str, Any]:
    """Half all-to-alls, half halos, where they are sent; 95 % load."""
    jobs = {"n_jobs": 2000, "mean_nodes": MACHINES[machine][0], "load": 0.95}
    send = {"node_bytes": "64 KiB", "communication_fraction": [0.1, 0.5]}
    patterns = ("all-to-all", "halo3d")
    mix = [{"pattern": name, **send} for name in patterns]
    sent = {} if contention == CONTENTIONS[0] else {"communication": {"mix": mix}}
    return {
        **sent,
        "machine": {"preset": machine},
        "workload": {"synthetic": {**jobs, "requested_factor": [1.0, 3.0]}, "larger_jobs": "drop"},
        "queue": {"policies": [policy], "run_time_model": contention},
        "run": {"seed": 3, "snapshots": 0},
    }


def first_that_can(mask: np.ndarray[Any, Any], rng: np.random.Generator) -> int:
    """The first job that may start; waits only where none may."""
    return int(mask.argmax())


def at_chance(mask: np.ndarray[Any, Any], rng: np.random.Generator) -> int:
    """Any possible action."""
    return int(rng.choice(np.flatnonzero(mask)))


Actions = Callable[[np.ndarray[Any, Any], np.random.Generator], int]
ACTIONS: dict[str, Actions] = {"first": first_that_can, "chance": at_chance}


def turn(env: Schedule, act: Actions) -> tuple[float, float]:
    """Steps a CPU-second, and milliseconds of a reset."""
    rng, steps, resets, reset_s = np.random.default_rng(7), 0, 0, 0.0
    begin = time.process_time()
    while time.process_time() < begin + SECONDS:
        at = time.process_time()
        env.reset(seed=1 + resets)
        reset_s, resets, over = reset_s + time.process_time() - at, resets + 1, False
        while not over:
            _, _, over, _, _ = env.step(act(env.action_masks(), rng))
            steps += 1
    return steps / (time.process_time() - begin), 1e3 * reset_s / resets


def rows_of(machine: str, contention: str, policy: str) -> list[dict[str, object]]:
    """A row for each way to act."""
    env, rows = Schedule(world(machine, contention, policy), contention=contention), []
    for name, act in ACTIONS.items():
        turn(env, act)
        found = [turn(env, act) for _ in range(TURNS)]
        rates, resets = zip(*found, strict=True)
        row: dict[str, object] = {"machine": machine, "contention": contention, "policy": policy}
        row["actions"] = name
        rows.append(row | {"steps_per_s": round(max(rates)), "reset_ms": round(min(resets), 1)})
    return rows


def vector_row(contention: str, n_envs: int) -> dict[str, object]:
    """Steps a second of wall time of so many environments, each in a process of its own."""
    envs = gymnasium.make_vec(
        ID,
        num_envs=n_envs,
        vectorization_mode="async",
        config=world("dragonfly-272", contention),
        contention=contention,
    )
    envs.reset(seed=1)
    actions = np.zeros(n_envs, dtype=np.int64)
    for _ in range(100):
        envs.step(actions)
    begin = time.perf_counter()
    for _ in range(N_STEPS):
        envs.step(actions)
    rate = n_envs * N_STEPS / (time.perf_counter() - begin)
    envs.close()
    row: dict[str, object] = {"machine": "dragonfly-272", "contention": contention}
    row["policy"] = RANDOM
    return row | {"actions": f"make_vec of {n_envs}", "steps_per_s": round(rate), "reset_ms": ""}


def main() -> None:
    """Measure and store."""
    rows = [
        row
        for machine, (_, packed) in MACHINES.items()
        for contention in CONTENTIONS
        for policy in (RANDOM, packed)
        for row in rows_of(machine, contention, policy)
    ]
    rows += [vector_row(c, n) for c in CONTENTIONS for n in range(1, N_ENVS + 1)]
    with STORED.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    for row in rows:
        print(*row.values())


if __name__ == "__main__":
    main()
