"""An agent in a config decides as it did in an environment: the same schedule, to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.learning.cells import MACHINES, PATTERNS
from experiments.learning.learned import n_weights
from experiments.learning.output import agent_file
from netcosim.config.content import checked_config
from netcosim.config.unread import unread_keys
from netcosim.runs.cosim import run_cosim
from queuesim.decide import DecisionPoint
from queuesim.result import QueueResult

pytest.importorskip("gymnasium", reason="gymnasium is not installed (extra [rl])")
from netcosim.gym.environments import CoSchedule

RULES = ("rdg", "simple", "level-spread", "rdn")
DEPTH = 6
AGENT = f'''
import numpy as np
from queuesim.decide import Choice, Decider
from queuesim.learning.episode import JOB_COLUMNS, Domains, View

RULES, DEPTH, FITS = {RULES!r}, {DEPTH}, JOB_COLUMNS.index("fits")
WEIGHTS = np.random.default_rng(3).standard_normal((11, len(JOB_COLUMNS)))


def action(seen, may_wait):
    """The most valued job that fits, or to wait on a busy network; and a rule."""
    can = np.append(seen["jobs"][:, FITS] > 0, may_wait)
    values = np.append(seen["jobs"] @ WEIGHTS[0], 8 * seen["domains"][:, 1:].mean() - 0.4)
    job = int(np.where(can, values, -np.inf).argmax())
    first = seen["jobs"][min(job, DEPTH - 1)] - 0.5
    return job, int((WEIGHTS[1:5] @ first + WEIGHTS[5:9, :4] @ (seen["machine"] - 0.5)).argmax())


class Observer(Decider):
    name = "observer"
    description = "chooses by what the environment shows"

    def begin(self, workload, topology, rng):
        self.view = View(Domains(topology, 1), workload, DEPTH)
        self.last_s = workload.submit_s[-1]

    def decide(self, point):
        seen = self.view.observe(point)
        if not seen["jobs"][:, FITS].any():
            return None
        job, rule = action(seen, bool(point.running()) or point.now_s < self.last_s)
        return None if job == DEPTH else Choice(self.view.waiting(point)[job], RULES[rule])
'''


def content(**queue: Any) -> dict[str, Any]:
    mix = [{**one, "communication_fraction": [0.2, 0.8]} for one in PATTERNS]
    synthetic = {"n_jobs": 70, "mean_nodes": 30, "load": 1.4, "requested_factor": [1.0, 2.0]}
    # environments have no pilot run of the reference policy
    queue = {"coupled-flow": {"baseline": "own-nodes"}, **queue}
    return {
        "machine": {"preset": "dragonfly-272"},
        "workload": {"synthetic": synthetic, "larger_jobs": "drop"},
        "queue": {"policies": list(RULES), "run_time_model": "coupled-flow", **queue},
        "communication": {"mix": mix},
        "run": {"snapshots": 0, "seed": 4},
    }


def run_with(decider: str) -> QueueResult:
    """``netcosim run`` of the config with a decider."""
    queue = {"policies": [RULES[0]], "placement_rules": list(RULES[1:]), "decider": decider}
    config = checked_config(content(**queue))
    with config.plugged():
        return run_cosim(config).schedules[RULES[0]]


def equal(one: QueueResult, other: QueueResult) -> bool:
    assert one.placements is not None
    assert other.placements is not None
    return (
        one.start_s.tolist() == other.start_s.tolist()
        and one.end_s.tolist() == other.end_s.tolist()
        and one.placements.nodes.tolist() == other.placements.nodes.tolist()
    )


def test_an_agent_observes_in_a_config_what_it_saw_in_training(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    names: dict[str, Any] = {}
    exec(AGENT, names)
    world, over = CoSchedule(content(), depth=DEPTH), False
    seen, _ = world.reset(seed=1, options={"as_run": True})
    chosen, patterns, use = [], set(), 0.0
    while not over:
        patterns |= set(seen["jobs"][:, 3].tolist())
        use = max(use, float(seen["domains"][:, 1:].max()))
        chosen.append(names["action"](seen, world.episode.may_wait))
        seen, _, over, _, info = world.step(chosen[-1])
    assert info["invalid_actions"] == 0
    # it saw three patterns and busy links, waited of its own accord, and used each rule
    assert len(patterns) == 4
    assert use > 0.1
    jobs, rules = zip(*chosen, strict=True)
    assert {DEPTH, 0, 1} <= set(jobs)
    assert len(set(rules)) > 2
    found = run_with(f"{tmp_path}/agent.py:Observer")
    assert equal(found, world.episode.run.result())


def test_the_benchmarks_agent_runs_in_a_config_as_in_the_environment(tmp_path: Path) -> None:
    """What jobs send included: with the weights of communication at 0 it decides otherwise."""
    weights = np.random.default_rng(3).normal(size=n_weights(len(RULES), len(PATTERNS)))
    assert tuple(MACHINES["dragonfly-272"].rules) == RULES
    file = tmp_path / "learned.py"
    file.write_text(agent_file("dragonfly-272", "", weights.tolist()))
    names: dict[str, Any] = {"__name__": "agent"}
    exec(file.read_text(), names)
    agent, world, over = names["Agent"](), CoSchedule(content(), depth=70), False
    world.reset(seed=1, options={"as_run": True})
    run = world.episode.run
    agent.begin(run.workload, run.machine.policy.topology, np.random.default_rng(0))
    while not over:
        point = world.episode.point
        assert isinstance(point, DecisionPoint)
        choice = agent.decide(point)
        action = [world.depth, 0]
        if choice is not None:
            action = [world.episode.waiting.index(choice.job), RULES.index(choice.rule)]
        over = world.step(action)[2]
    assert equal(run_with(f"{file}:Agent"), run.result())
    deaf = [0.0 if k in (6, 7) else float(w) for k, w in enumerate(weights)]
    file.write_text(agent_file("dragonfly-272", "", deaf))
    assert not equal(run_with(f"{file}:Agent"), run.result())


def test_what_jobs_send_counts_where_a_decider_observes_it(tmp_path: Path) -> None:
    """Also with run times as logged: no warning that patterns and fractions are not read."""
    (tmp_path / "agent.py").write_text(AGENT)
    queue = {"policies": [RULES[0]], "placement_rules": list(RULES[1:])}
    queue |= {"run_time_model": "as-logged"}
    for decider, unread in ((f"{tmp_path}/agent.py:Observer", False), ("easy", True)):
        config = checked_config(content(**{**queue, "decider": decider}))
        keys = [entry.key for entry in unread_keys([config])]
        assert any(key.endswith(("pattern", "communication_fraction")) for key in keys) == unread
        # with run times as logged, no byte is sent
        assert any(key.endswith("node_bytes") for key in keys)
