"""MaskablePPO of sb3-contrib on the benchmark: it learns in ``netcosim/CoSchedule-v0``.

Imported only where it is requested. The network is small and on one thread, so that a seed is the
same agent again on the same machine.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO

from experiments.gym.environments import CoSchedule, Observation
from experiments.points import point_rng
from netcosim.bench_rl.cells import NETWORK
from netcosim.bench_rl.per_job import PerJob
from netcosim.bench_rl.play import PPO, BenchmarkCase, rows_of
from queuesim.result import QueueResult, Rows

DEPTH = 16
"""Waiting jobs that it sees."""
HOW: dict[str, Any] = {
    "gamma": 1.0,
    "gae_lambda": 0.98,
    "learning_rate": 3e-3,
    "n_steps": 1024,
    "batch_size": 256,
    "ent_coef": 0.0,
}
"""Of three settings tried on torus-128, steady, the best; what is not named is the library's."""


class Weeks(CoSchedule):
    """Episodes that are whole weeks: one of the training weeks, or ``options={"week": k}``."""

    def __init__(self, benchmark: BenchmarkCase, reward: str) -> None:
        weeks = benchmark.weeks
        super().__init__(
            benchmark.config, contention=NETWORK, reward=reward, depth=DEPTH, n_jobs=len(weeks[0])
        )
        factory = replace(self.factory, part=(0.0, 1.0))
        self._arenas = [replace(factory, context=factory.context.with_jobs(jobs)) for jobs in weeks]
        self._training = benchmark.n_training

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """A new week."""
        if seed is not None or self._np_random is None:
            super(CoSchedule, self).reset(seed=seed)
        given = (options or {}).get("week")
        drawn = int(self.np_random.integers(self._training))
        self.factory = self._arenas[drawn if given is None else given]
        return super().reset(options={"first": 0})


def trained_and_played(benchmark: BenchmarkCase, point: Mapping[str, Any]) -> dict[str, Rows]:
    """Train on the training weeks, play all of them, the likeliest action each time."""
    request = point["bench_rl"]
    seed = int(point_rng(point, "ppo").integers(2**31))
    torch.set_num_threads(1)
    env, began = Weeks(benchmark, request["reward"]), time.process_time()
    shape = (env.factory.domains.n, DEPTH, len(env.rules))
    model = MaskablePPO(PerJob, env, seed=seed, policy_kwargs={"shape": shape}, **HOW)
    model.learn(request["steps"])
    cpu_s = time.process_time() - began

    def play(week: int) -> QueueResult:
        seen, _ = env.reset(seed=week, options={"week": week})
        over = False
        while not over:
            action, _ = model.predict(seen, action_masks=env.action_masks(), deterministic=True)
            seen, _, over, _, _ = env.step(action)
        return env.episode.run.result()

    rows = rows_of(benchmark, point, {PPO: play})

    def mean(part: str) -> float:
        return float(np.mean([row[request["reward"]] for row in rows if row["part"] == part]))

    learned = {
        "machine": request["machine"],
        "workload": request["workload"],
        "player": PPO,
        "generation": request["steps"],
        "plays": model.num_timesteps,
        "training": mean("training"),
        "held_out": mean("held out"),
        "cpu_s": cpu_s,
    }
    return {"weeks": rows, "training": [learned]}
