"""What is asked: a user's config, with what it does not say filled in, and what it cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alloc.registry import POLICIES, policies_for
from experiments.config import Config
from experiments.config_errors import ConfigError
from experiments.config_load import MAX_FILE_BYTES, config_from, parse_toml
from netsim.errors import NetcosimError
from netsim.files import read_text
from workloads.shares.study_mix import study_mix

FAMILY = "fattree"
REFERENCE, ISOLATING = "baseline", "jigsaw"
NODE_BYTES = 64 * 1024
SNAPSHOTS = 64
"""Instants of the reference's schedule that may be looked at; a power of 2."""


@dataclass(frozen=True)
class GainConfig:
    """A case to be judged.

    Attributes
    ----------
    config : Config
    text : str
        Of the file.
    reference : str
    isolating : tuple of str
    notes : tuple of str
        What was assumed or left out, a line each.
    """

    config: Config
    text: str
    reference: str
    isolating: tuple[str, ...]
    notes: tuple[str, ...]


def load_gain_config(path: Path) -> GainConfig:
    """The case of a config file.

    Raises
    ------
    NetcosimError
        A file that is no config, another network than a fat-tree, no policy that isolates, a
        reference that does, a reference elsewhere.
    """
    text = read_text(path, limit_bytes=MAX_FILE_BYTES).replace("\r\n", "\n")
    raw = parse_toml(text, path)
    if "sweep" in raw:
        raise NetcosimError(f"{path}: key sweep: belongs to netcosim sweep")
    try:
        return _asked(raw, text, path.parent)
    except ConfigError as error:
        raise NetcosimError(f"{path}: {error}") from None


def _asked(raw: Mapping[str, Any], text: str, folder: Path) -> GainConfig:
    content, notes = dict(raw), []
    given = content.pop("reference", {})
    if not isinstance(given, Mapping) or set(given) - {"policy"}:
        raise ConfigError("reference", None, "isolation-gain takes reference.policy alone")
    queue, run, said = (_table(raw, name) for name in ("queue", "run", "communication"))
    if "policies" not in queue:
        queue["policies"] = list(dict.fromkeys([given.get("policy", REFERENCE), ISOLATING]))
        notes.append(f"queue.policies is not given: {', '.join(queue['policies'])}")
    if "mix" not in said:
        said |= {"mix": study_mix(node_bytes=NODE_BYTES)}
        said.setdefault("task_mapping", "in-order")
        notes.append(
            "ASSUMED, the config does not say what jobs send: eight patterns, equally likely, "
            "30 % of the time alone (communication.mix)"
        )
    queue["run_time_model"] = "as-logged"
    for key in ("only_snapshot", "observables", "paired"):
        run.pop(key, None)
    run |= {"measure": "steady", "snapshots": SNAPSHOTS, "keep": "tables"}
    content |= {"queue": queue, "run": run, "communication": said}
    config = config_from(content, folder)
    policies = config.queue.policies
    reference = str(given.get("policy", policies[0]))
    with config.plugged():
        _check(config, reference)
        isolating = tuple(p for p in policies if p != reference and POLICIES[p].isolates)
        if not isolating:
            family = policies_for(config.machine.family)
            known = ", ".join(sorted(n for n in family if POLICIES[n].isolates))
            raise ConfigError(
                "queue.policies", ", ".join(policies), f"none isolates; add one of {known}"
            )
    idle = [p for p in policies if p != reference and p not in isolating]
    if idle:
        notes.append(f"left out, as they do not isolate: {', '.join(idle)}")
    content["queue"] = {**queue, "policies": [reference, *isolating]}
    return GainConfig(config_from(content, folder), text, reference, isolating, tuple(notes))


def _check(config: Config, reference: str) -> None:
    family = config.machine.family
    if family != FAMILY:
        raise ConfigError(
            "machine.family", family, "isolation-gain needs a fattree, where policies isolate"
        )
    if reference not in POLICIES:
        raise ConfigError("reference.policy", reference, "no such policy; netcosim list policies")
    if POLICIES[reference].isolates:
        told = "it isolates; the first policy is what the others are compared with"
        raise ConfigError("queue.policies", reference, told)


def _table(raw: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = raw.get(name, {})
    if not isinstance(found, Mapping):
        raise ConfigError(name, found, "must be a table")
    return dict(found)
