"""What has a name for configs is in its registry."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

from netsim.plugins import registry_at

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("netsim", "patterns", "workloads", "alloc", "queuesim", "cosim")
NO_CONFIG_NAMES_THEM = {
    "AnyRule",  # chooses among other policies, for a decider
    "LearnedAgent",  # needs weights: queue.decider = "FILE.py:CLASS"
    "RuleModel",  # stands for the rules of a site
    "EasySets",  # of Backfill "easy" for policies that place by more than free nodes
    "StrictSets",
}


def unregistered() -> Iterator[str]:
    for path in (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for name, thing in vars(importlib.import_module(module)).items():
            home = getattr(thing, "registered_in", None)
            if inspect.isclass(thing):
                named = thing.__module__ == module and "name" in vars(thing)
            else:
                named = isinstance(getattr(thing, "name", None), str)
            if not isinstance(home, str) or not named or name in NO_CONFIG_NAMES_THEM:
                continue
            if not any(entry is thing for entry in registry_at(home).values()):
                file, _, registry = home.partition(":")
                yield f"{file.replace('.', '/')}.py: add {name} (from {module}) to {registry}"


def test_every_name_is_registered() -> None:
    missing = list(unregistered())
    assert not missing, "\n".join(missing)
