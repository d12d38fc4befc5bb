"""Parameters of named things: one declaration, and what comes of it."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, get_origin, get_type_hints

import numpy as np
import pytest
from annotated_types import Ge, Le

from alloc.registry import POLICIES
from cosim.registry import RUNTIME_MODELS
from netcosim import catalogue
from netcosim.catalogue import KINDS, reference
from netcosim.config.reference import config_keys, config_page
from netsim.errors import NetcosimError
from netsim.parameters import NamesFile, OneOf, call, checked, parameters_of
from netsim.routing.registry import ROUTINGS, routings_for
from netsim.topologies.registry import FAMILIES
from netsim.units import short_name
from patterns.registry import PATTERNS

ROOT = Path(__file__).resolve().parents[1]
NOT_OF_A_CONFIG = {"n_ranks", "message_bytes", "iterations", "rng"}


def mix(
    n_ranks: int,
    n: Annotated[int, "how many", Ge(1)],
    share: Annotated[float, "part of it", Ge(0), Le(1)] = 0.5,
    sides: Annotated[Sequence[int] | None, "lengths", Ge(1)] = None,
    word: Annotated[str, "which", OneOf(("one", "two", "three"))] = "one",
    ring: Annotated[bool | Sequence[bool], "closed"] = True,
    table: Annotated[str | None, "a table", NamesFile] = None,
) -> None:
    """Something with a parameter of each kind."""


def test_a_signature_is_the_declaration() -> None:
    told = {name: parameter.help_text for name, parameter in parameters_of(mix).items()}
    assert told == {
        "n": "how many: a whole number, at least 1 (needed)",
        "share": "part of it: a number, at least 0 and at most 1 (default 0.5)",
        "sides": "lengths: a list of whole numbers, each at least 1 (may be left out)",
        "word": "which: one, two or three (default one)",
        "ring": "closed: true or false or a list of true or false (default true)",
        "table": "a table: a file (may be left out)",
    }


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"n": 0}, "mix: n = 0; it must be at least 1"),
        ({"n": True}, "mix: n = True; it must be a whole number"),
        ({"n": 1.5}, "mix: n = 1.5; it must be a whole number"),
        ({"n": "1"}, "mix: n = '1'; it must be a whole number"),
        ({"n": 1, "share": 2}, "mix: share = 2; it must be at most 1"),
        ({"n": 1, "share": float("nan")}, "mix: share = nan; it must be a finite number"),
        ({"n": 1, "sides": 3}, "sides = 3; it must be a list of whole numbers, each at least 1"),
        ({"n": 1, "sides": [3, 0]}, "sides = [3, 0]; it must be a list of whole numbers, each"),
        ({"n": 1, "word": "four"}, "word = 'four'; it must be 'one', 'two' or 'three'"),
        ({"n": 1, "ring": 1}, "ring = 1; it must be true or false or a list of true or false"),
        ({"n": 1, "bogus": 1}, "unknown parameter of mix 'bogus'; valid: n, ring, share, sides"),
        ({"n": 1, "n_ranks": 1}, "unknown parameter of mix 'n_ranks'"),
        ({}, "mix: parameter n is missing"),
    ],
)
def test_mistakes_are_one_line(given: dict[str, object], told: str) -> None:
    with pytest.raises(NetcosimError) as caught:
        checked("mix", mix, given)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_numbers_of_numpy_are_numbers() -> None:
    given = {"n": np.int64(3), "share": np.float64(0.25), "sides": np.array([2, 3])}
    assert checked("mix", mix, given) == {"n": 3, "share": 0.25, "sides": [2, 3]}


@dataclass(frozen=True)
class Cable:
    """A group of two parameters."""

    length_m: Annotated[int, "metres", Ge(1)] = 2
    price: Annotated[float, "of each", Ge(0)] = 1.5


def network(
    n: Annotated[int, "how many", Ge(1)], *, cable: Annotated[Cable, "alike"] = Cable()
) -> tuple[int, Cable]:
    """Something with a group of parameters."""
    return n, cable


def test_parameters_of_a_group_are_beside_the_others() -> None:
    assert list(parameters_of(network)) == ["n", "length_m", "price"]
    values = checked("network", network, {"length_m": 5, "n": 3})
    assert call(network, values) == (3, Cable(length_m=5, price=1.5))
    assert call(network, values | {"price": 2.0}) == (3, Cable(length_m=5, price=2.0))
    assert call(network, {"n": 1}) == (1, Cable())
    with pytest.raises(NetcosimError, match="network: length_m = 0; it must be at least 1"):
        checked("network", network, {"n": 1, "length_m": 0})
    with pytest.raises(NetcosimError, match="unknown parameter of network 'cable'"):
        checked("network", network, {"n": 1, "cable": 2})


def test_everything_that_a_pattern_takes_is_declared() -> None:
    for pattern in PATTERNS.values():
        taken = set(inspect.signature(pattern.function).parameters) - NOT_OF_A_CONFIG
        if pattern.settings is not None:
            hints = get_type_hints(pattern.settings, include_extras=True)
            assert all(get_origin(hint) is Annotated for hint in hints.values()), pattern.name
            assert taken == {"settings"}
        else:
            assert taken == set(pattern.parameters), pattern.name


def test_names_are_those_of_their_entries() -> None:
    for registry in (FAMILIES, ROUTINGS, PATTERNS, RUNTIME_MODELS):
        assert all(entry.name == name for name, entry in registry.items())
    for family in FAMILIES.values():
        assert family.default_routing in routings_for(family.name)


def test_every_kind_has_a_registry_with_descriptions() -> None:
    for kind in KINDS.values():
        module, _, name = kind.registry.partition(":")
        for entry in getattr(importlib.import_module(module), name).values():
            assert entry.description
            assert "\n" not in entry.description


def test_generated_pages_are_current() -> None:
    stale = [
        f"netcosim describe {option} > docs/{page}"
        for option, page, lines in (
            ("--all", "reference.md", reference()),
            ("--config", "config.md", config_page()),
        )
        if (ROOT / "docs" / page).read_text(encoding="utf-8") != "\n".join(lines) + "\n"
    ]
    assert stale == [], "names or keys have changed; run these commands, or `make pages`"


def test_keys_of_several_entries_are_described_once_by_the_most_frequent_text() -> None:
    entries = {"a": {"x": "one", "y": "two"}, "b": {"x": "one", "y": "three"}, "c": {"x": "four"}}
    entries |= {"d": {"x": "four"}, "e": {"x": "four", "z": ""}, "f": {"z": ""}}
    common = catalogue._common(entries.values())
    assert common == {"x": "four"}
    assert list(catalogue._nested(entries["a"], common)) == ["  - `x`: one", "  - `y`: two"]
    assert list(catalogue._nested(entries["e"], common)) == ["  - `x`, `z`"]


def test_keys_that_the_reference_only_names_are_described_with_the_config() -> None:
    described = set(config_keys())
    for name, policy in POLICIES.items():
        assert {f"policies.{name}.{short_name(key)}" for key in policy.declares()} <= described
    for model in RUNTIME_MODELS.values():
        where = f"queue.{model.name}"
        assert {f"{where}.{short_name(key)}" for key in model.declares()} <= described


def test_an_engine_alone_imports_no_pydantic() -> None:
    """It takes a tenth of a second; a value of a config is what it is for."""
    script = (
        "import sys, numpy, netsim.packet.engine, netsim.routing.registry, patterns.registry\n"
        "from netsim.topologies.torus import torus\n"
        "patterns.registry.make_pattern('halo2d', 4, 8, 1, numpy.random.default_rng(0))\n"
        "netsim.routing.registry.make_routing(torus([3]))\n"
        "print('pydantic' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == "False\n"
