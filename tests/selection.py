"""Which cases `make test` runs, and which it leaves to `make test-all` (the mark ``full``)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from itertools import cycle
from typing import Any

import pytest
from hypothesis import settings


def examples(most: int) -> settings:
    """Return the settings of a property test: its number of examples in `make test-all`.

    `make test` tries the share of them that its profile gives (`conftest.py`), in percent.
    """
    share = min(settings().max_examples, 100)
    return settings(max_examples=max(min(most, 5), most * share // 100))


def first_of_each(cases: Iterable[Any], *keys: Callable[[Any], Hashable]) -> list[Any]:
    """Return the cases as parameters; a case is ``full`` unless one of its keys is new.

    Parameters
    ----------
    cases : iterable
        Values of one parameter, or tuples for several.
    *keys : callable
        What an earlier case may have in common with a case. None is never new.
    """
    seen: list[set[Hashable]] = [{None} for _ in keys]
    parameters = []
    for case in cases:
        found = [key(case) for key in keys]
        new = any(value not in known for value, known in zip(found, seen, strict=True))
        for value, known in zip(found, seen, strict=True):
            known.add(value)
        values = case if isinstance(case, tuple) else (case,)
        parameters.append(pytest.param(*values, marks=() if new else pytest.mark.full))
    return parameters


def in_turn(cases: Iterable[Any], names: Iterable[str], others: Mapping[str, Any]) -> list[Any]:
    """Return pairs of cases and others as parameters; `make test` runs one pair a case.

    `make test-all` runs all pairs of a case, and one of a case that is ``full`` itself.

    Parameters
    ----------
    cases : iterable
        Parameters as `first_of_each` returns them; a ``full`` one has no pair in `make test`.
    names : iterable of str
        Names of the cases.
    others : mapping
        Values by their names; each in turn is the partner of a case.
    """
    turn = cycle(others)
    pairs = []
    for case, name in zip(cases, names, strict=True):
        chosen = next(turn)
        for other in [chosen] if case.marks else others:
            marks = () if other == chosen and not case.marks else pytest.mark.full
            value = others[other]
            pairs.append(pytest.param(*case.values, value, marks=marks, id=f"{name}-{other}"))
    return pairs


def first_only(values: Iterable[Any]) -> list[Any]:
    """Return the values of one parameter, or parameters, all but the first one ``full``."""
    first, *more = values
    return [
        first,
        *(
            pytest.param(*value.values, marks=pytest.mark.full, id=value.id)
            if isinstance(value, ParameterSet)
            else pytest.param(value, marks=pytest.mark.full)
            for value in more
        ),
    ]


ParameterSet = type(pytest.param())
