"""A user's config for isolation-gain: what it leaves open is assumed, what it cannot be refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from alloc.registry import POLICIES, policies_for
from cosim.registry import RUNTIME_MODELS
from experiments.kit.study_config import StudyConfig, section_of
from experiments.kit.study_mix import study_mix
from netcosim.config.config import Config
from netcosim.config.errors import ConfigError
from netcosim.config.load import config_from, errors_name, read_config

FAMILY = "fattree"
REFERENCE, ISOLATING = "longest-idle", "jigsaw"
"""The first is nearest to the allocations of Leonardo and LUMI (experiments/machines)."""
NODE_BYTES = 64 * 1024
SNAPSHOTS = 64
"""Instants of the reference's schedule that may be looked at; a power of 2."""


def load_gain_config(path: Path) -> StudyConfig:
    """Return the config of a file, its first policy the reference, all others such as isolate."""
    raw, text = read_config(path)
    with errors_name(path):
        return _completed(raw, text, path.parent)


def _completed(raw: Mapping[str, Any], text: str, folder: Path) -> StudyConfig:
    content, notes = dict(raw), []
    given = content.pop("reference", {})
    if not isinstance(given, Mapping) or set(given) - {"policy"}:
        raise ConfigError("reference", None, "isolation-gain takes reference.policy alone")
    queue, run, communication = (
        section_of(raw, name) for name in ("queue", "run", "communication")
    )
    if "policies" not in queue:
        queue["policies"] = list(dict.fromkeys([given.get("policy", REFERENCE), ISOLATING]))
        notes.append(f"queue.policies is not given: {', '.join(queue['policies'])}")
    if "mix" not in communication:
        communication |= {"mix": study_mix(node_bytes=NODE_BYTES)}
        communication.setdefault("task_mapping", "in-order")
        notes.append(
            "ASSUMED, the config does not set what jobs send: eight patterns, equally likely, "
            "30 % of the isolated run time (communication.mix)"
        )
    queue = {key: value for key, value in queue.items() if key not in RUNTIME_MODELS}
    queue["run_time_model"] = "as-logged"
    for key in ("only_snapshot", "observables", "paired"):
        run.pop(key, None)
    run |= {"measure": "steady", "snapshots": SNAPSHOTS, "keep": "tables"}
    content |= {"queue": queue, "run": run, "communication": communication}
    config = config_from(content, folder)
    policies = config.queue.policies
    reference = str(given.get("policy", policies[0]))
    with config.plugged():
        _check(config, reference)
        isolating = tuple(p for p in policies if p != reference and POLICIES[p].isolates)
        if not isolating:
            family = policies_for(config.machine.family)
            known = ", ".join(sorted(n for n in family if POLICIES[n].isolates))
            raise ConfigError("queue.policies", policies, f"none isolates; add one of {known}")
    idle = [p for p in policies if p != reference and p not in isolating]
    if idle:
        notes.append(f"left out, as they do not isolate: {', '.join(idle)}")
    content["queue"] = {**queue, "policies": [reference, *isolating]}
    return StudyConfig(config_from(content, folder), text, tuple(notes))


def _check(config: Config, reference: str) -> None:
    family = config.machine.family
    if family != FAMILY:
        raise ConfigError(
            "machine.family", family, "isolation-gain needs a fattree, where policies isolate"
        )
    if reference not in POLICIES:
        raise ConfigError("reference.policy", reference, "no such policy; netcosim list policies")
    if POLICIES[reference].isolates:
        error = "it isolates; the first policy is what the others are compared with"
        raise ConfigError("queue.policies", reference, error)
