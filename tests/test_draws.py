"""Random histories: each depends on the seed and on the sections that it is declared to need."""

from __future__ import annotations

import hashlib
import json
from itertools import islice
from typing import Any

import numpy as np
import pytest

from netcosim.config.config import Config
from netcosim.config.content import checked_config
from netcosim.runs.cosim import run_cosim
from netcosim.runs.draws import NEVER, PURPOSES, Draws
from netcosim.runs.points import HOW, replaced
from netcosim.runs.run_context import run_context
from queuesim.assumed import Assumed
from queuesim.runtime import AsLogged
from queuesim.site.failures import draw_failures

SENT = ("workload", "communication")
SECTIONS = {
    "workload": ("workload",),
    "bandwidth": ("workload",),
    "policy": ("workload",),
    "jobs": SENT,
    "packets": SENT,
    "failures": (),
    "bootstrap": (),
}
"""Sections of a config that move the draws of a purpose, besides the seed."""
SEEDS = ("run.seed", "run.repetition")
CONTENT: dict[str, Any] = {
    "machine": {"family": "fattree", "radix": 4},
    "workload": {"synthetic": {"n_jobs": 40, "mean_nodes": 3, "load": 0.9}},
    "queue": {"policies": ["baseline"], "run_time_model": "as-logged"},
}


SEED_NOTHING = (
    *("analysis", "reference", "plugins", "policies", "communication.io", "workload.month"),
    *("workload.days", "workload.sizes", "workload.synthetic.sizes", "workload.run_times"),
    *("workload.synthetic.median_run_time_s", "workload.walltimes", "queue.estimates"),
    *(
        "workload.bad_lines",
        "workload.default_limit_s",
        "workload.missing_limits",
        "communication.fraction",
    ),
    *("communication.from", "communication.together", "run.keep", "run.observables"),
    *("run.only_snapshot", "run.measure", "run.paired", "run.steady", "run.placed"),
    "run.redraw_log",
)


def keys() -> list[str]:
    """Keys of all sections, of their tables too."""
    found = []
    for section, table in Config.model_fields.items():
        fields = getattr(table.annotation, "model_fields", {"any": None})
        found += [f"{section}.{name}" for name in fields]
    return found


def bits(draws: Draws, purpose: str) -> list[int]:
    return draws.rng(purpose).integers(0, 2**62, 3).tolist()


def test_a_purpose_has_a_history_for_each_of_its_parts() -> None:
    draws = Draws(checked_config(CONTENT).resolved())
    found = [draws.rng("policy", which).random() for which in ("", "a", "b", "a")]
    assert len(set(found)) == 3
    assert found[1] == found[3]


@pytest.mark.parametrize("purpose", PURPOSES)
def test_keys_of_other_sections_leave_a_history_as_it_is(purpose: str) -> None:
    content = checked_config(CONTENT).resolved()
    before = bits(Draws(content), purpose)
    assert before == bits(Draws(content), purpose)
    moved = set()
    for key in keys():
        if bits(Draws(replaced(content, {key: "another"})), purpose) != before:
            moved.add(key)
    sections = {key.split(".")[0] for key in moved - set(SEEDS)}
    assert sections == set(SECTIONS[purpose])
    assert moved >= set(SEEDS)
    assert moved.isdisjoint(HOW)


@pytest.mark.parametrize("purpose", PURPOSES)
def test_keys_that_seed_nothing_leave_every_history_as_it_is(purpose: str) -> None:
    content = checked_config(CONTENT).resolved()
    before = bits(Draws(content), purpose)
    for key in SEED_NOTHING:
        assert bits(Draws(replaced(content, {key: "another"})), purpose) == before, key
    assert {*SEED_NOTHING} == {*NEVER}


def test_failures_are_seeded_by_the_seed_alone() -> None:
    """The seed is the SHA-256 of this text."""
    text = '{"config":{"run":{"repetition":0,"seed":7}},"purpose":"failures"}'
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")
    expected = np.random.Generator(np.random.PCG64(seed)).integers(0, 2**62, 3).tolist()
    content = checked_config({**CONTENT, "run": {"seed": 7}}).resolved()
    assert bits(Draws(content), "failures") == expected


def windows(content: dict[str, Any]) -> list[tuple[float, list[int]]]:
    """The first failures of a run's queue, which its own generator draws."""
    queues = run_context(checked_config(content)).queues
    failures = queues._setup("baseline", None, "easy")()._failures()
    drawn = draw_failures(queues.rules.failures, queues.topology, queues.draws.rng("failures"))
    found, expected = (
        [(one.start_s, np.flatnonzero(one.nodes).tolist()) for one in islice(each, 5)]
        for each in (failures, drawn)
    )
    assert found == expected
    return found


def mean_wait_s(content: dict[str, Any]) -> float:
    schedule = run_cosim(checked_config(content)).schedules["baseline"]
    return float((schedule.start_s - schedule.workload.submit_s).mean())


def test_a_queue_with_failures_does_not_depend_on_what_is_not_read() -> None:
    fails = replaced(CONTENT, {"queue.failures": {"per_node_day": 5.0}})
    sends = {"pattern": "all-to-all", "message_bytes": 2000}
    changed = replaced(fails, {"communication": {"mix": [sends]}})
    assert windows(fails) == windows(changed)
    assert mean_wait_s(fails) == mean_wait_s(changed)
    assert mean_wait_s(fails) != mean_wait_s(CONTENT)
    assert mean_wait_s(fails) != mean_wait_s(replaced(fails, {"run": {"seed": 2}}))
    # twice the rate: the same parts fail, at half the times
    half = windows(replaced(fails, {"queue.failures.per_node_day": 10.0}))
    assert [nodes for _, nodes in half] == [nodes for _, nodes in windows(fails)]
    assert [2 * s for s, _ in half] == pytest.approx([s for s, _ in windows(fails)])


def test_assumed_run_times_do_not_depend_on_what_jobs_send() -> None:
    changed = replaced(CONTENT, {"communication.mix": [{"pattern": "halo2d", "message_bytes": 9}]})
    queues, others = (run_context(checked_config(one)).queues for one in (CONTENT, changed))
    for model in (None, AsLogged(), Assumed("V1")):
        state = queues.job_rng(model).bit_generator.state
        assert state == others.job_rng(model).bit_generator.state
        # those of a default [communication] are the ones that its jobs draw
        assert state == queues.draws.rng("jobs").bit_generator.state
    assert json.dumps(queues.draws.content) != json.dumps(others.draws.content)
    assert queues.draws.rng("jobs").random() != others.draws.rng("jobs").random()
