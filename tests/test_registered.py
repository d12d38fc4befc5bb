"""What has a name for configs is in its registry."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

from netcosim.catalogue import entry_tables
from netsim.registry import Registry, object_at
from netsim.routing.base import SWITCHED
from netsim.routing.registry import ROUTINGS
from workloads.formats import TABLE, LogFormat

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("netsim", "patterns", "workloads", "alloc", "queuesim", "cosim")
NO_CONFIG_NAMES_THEM = {
    "AnyRule",  # chooses among other policies, for a decider
    "Islands",  # a policy on each of several fabrics
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
            if not any(entry is thing for entry in object_at(home).values()):
                file, _, registry = home.partition(":")
                yield f"{file.replace('.', '/')}.py: add {name} (from {module}) to {registry}"


def test_every_name_is_registered() -> None:
    missing = list(unregistered())
    assert not missing, "\n".join(missing)


def test_tables_of_entries_are_those_of_the_entries() -> None:
    """What is listed and validated without importing an entry; `make pages` writes the files."""
    for path, text in entry_tables().items():
        assert path.read_text(encoding="utf-8") == text, f"{path}: run make pages"


def test_an_entry_that_is_in_no_table_is_imported() -> None:
    formats: Registry[LogFormat] = Registry(
        "workloads.formats:FORMATS",
        "format",
        "workloads.formats:LogFormat",
        ("workloads.formats:SWF", "workloads.formats:TABLE"),
    )
    assert list(formats) == ["swf", "csv"]
    assert formats["csv"] is TABLE
    assert formats.facts("csv").description == TABLE.description
    assert formats.base is LogFormat


def test_facts_of_entries_by_family() -> None:
    """Against the entries, for one routing of each kind."""
    assert ROUTINGS.facts("ecmp").families == SWITCHED
    torus = ROUTINGS.serving("torus")
    assert torus[:2] == ["dimension-order", "minimal-adaptive"]
    assert "shortest-path" in torus
    assert not {"minimal", "d-mod-k", "ecmp"} & {*torus}
    assert ROUTINGS.facts("ugal-l").keys == dict.fromkeys(ROUTINGS["ugal-l"].parameters, "")
