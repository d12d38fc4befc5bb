"""MaskablePPO of sb3-contrib on the benchmark: it learns in ``netcosim/CoSchedule-v0``.

Imported only where it is requested. The network is small and on one thread, so that a seed is the
same agent again on the same machine.

As RLScheduler has it (Zhang, Dai, Bao, Xie: SC 2020, "kernel-based" network): one small network is
laid on each job in turn, so that what is learned of a job in one place holds in all. A network on
the whole table learns each place by itself, and in as many steps nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableMultiInputActorCriticPolicy
from torch import Tensor, nn

from experiments.learning.cells import NETWORK
from experiments.learning.play import PPO, BenchmarkCase, rows_of
from netcosim.gym.environments import CoSchedule, Observation
from netcosim.runs.points import point_rng
from queuesim.learning.episode import DOMAIN_COLUMNS, JOB_COLUMNS, MACHINE_COLUMNS
from queuesim.result import QueueResult, Rows

N_JOB = len(JOB_COLUMNS)
N_DOMAIN = len(DOMAIN_COLUMNS)
N_AROUND = len(MACHINE_COLUMNS) + 2 * N_DOMAIN
"""What is the same for all jobs: the machine, and its domains' means and maxima."""
THERE = JOB_COLUMNS.index("there")
WIDTH = 32


def _layers(*sizes: int) -> nn.Sequential:
    """Build linear layers of these sizes with rectifiers between them."""
    layers: list[nn.Module] = []
    for inside, outside in pairwise(sizes):
        layers += [nn.Linear(inside, outside), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Scores(nn.Module):
    """Scores of the jobs, of waiting and of the rules; what the value is read from.

    Takes the observation's tables flattened one after the other, by name: domains, jobs, machine.
    """

    def __init__(self, n_domains: int, depth: int, n_rules: int) -> None:
        super().__init__()
        self.sizes = (n_domains * N_DOMAIN, depth * N_JOB, len(MACHINE_COLUMNS))
        self.job = _layers(N_JOB + N_AROUND, WIDTH, WIDTH // 2, 1)
        self.wait = _layers(N_JOB + N_AROUND, WIDTH // 2, 1)
        self.rule = _layers(N_JOB + N_AROUND, WIDTH, n_rules)
        self.value = nn.Sequential(_layers(2 * N_JOB + N_AROUND, 2 * WIDTH, WIDTH), nn.ReLU())
        self.latent_dim_pi, self.latent_dim_vf = depth + 1 + n_rules, WIDTH
        for network in (self.job, self.wait, self.rule):
            # all alike in the beginning
            nn.init.normal_(network[-1].weight, std=0.01)
            nn.init.zeros_(network[-1].bias)

    def forward(self, seen: Tensor) -> tuple[Tensor, Tensor]:
        """Return scores of actions, and the input of the value."""
        return self.forward_actor(seen), self.forward_critic(seen)

    def forward_actor(self, seen: Tensor) -> Tensor:
        """Return scores of actions, (n, depth + 1 + n_rules)."""
        jobs, around = self._tables(seen)
        each = torch.cat([jobs, around[:, None].expand(-1, jobs.shape[1], -1)], 2)
        n_there = jobs[:, :, THERE].sum(1, keepdim=True).clamp(min=1)
        of_all = torch.cat([jobs.sum(1) / n_there, around], 1)
        of_first = torch.cat([jobs[:, 0], around], 1)
        return torch.cat([self.job(each)[:, :, 0], self.wait(of_all), self.rule(of_first)], 1)

    def forward_critic(self, seen: Tensor) -> Tensor:
        """Return the input of the value, (n, latent_dim_vf)."""
        jobs, around = self._tables(seen)
        return self.value(torch.cat([jobs.mean(1), jobs.amax(1), around], 1))

    def _tables(self, seen: Tensor) -> tuple[Tensor, Tensor]:
        """Return jobs, (n, depth, N_JOB), and what all of them share, (n, N_AROUND)."""
        domains, jobs, machine = seen.split(self.sizes, 1)
        domains = domains.reshape(len(seen), -1, N_DOMAIN)
        around = torch.cat([machine, domains.mean(1), domains.amax(1)], 1)
        return jobs.reshape(len(seen), -1, N_JOB), around


class PerJob(MaskableMultiInputActorCriticPolicy):
    """The actor and critic of MaskablePPO on `Scores`; its scores are the actions' as they are.

    The shape is domains, waiting jobs that are seen, and rules.
    """

    def __init__(self, *args: Any, shape: tuple[int, int, int], **keys: Any) -> None:
        self._shape = shape
        super().__init__(*args, **keys)

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor = Scores(*self._shape)

    def _build(self, lr_schedule: Any) -> None:
        # the first values are those of `Scores`
        self.ortho_init = False
        super()._build(lr_schedule)
        self.action_net = nn.Identity()
        self.optimizer = self.optimizer_class(
            self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs
        )


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
        """Start a new week."""
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
    env = Weeks(benchmark, request["reward"])
    shape = (env.factory.domains.n, DEPTH, len(env.rules))
    model = MaskablePPO(PerJob, env, seed=seed, policy_kwargs={"shape": shape}, **HOW)
    model.learn(request["steps"])

    def play(week: int) -> QueueResult:
        seen, _ = env.reset(seed=week, options={"week": week})
        over = False
        while not over:
            action, _ = model.predict(seen, action_masks=env.action_masks(), deterministic=True)
            seen, _, over, _, _ = env.step(action)
        return env.episode.run.result()

    return {"weeks": rows_of(benchmark, point, {PPO: play})}
