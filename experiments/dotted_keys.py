"""Dotted keys of a config: their values, and how a file spells them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

from experiments.fields import InputFile
from netsim.units import short_name

_MACHINE = re.compile(r"^machine\.(routing_)?parameters\.")


def value_at(config: Any, key: str) -> Any:
    """Return the value of a dotted key.

    Raises
    ------
    KeyError
        A key that the config does not have.
    """
    found = config
    for part in key.split("."):
        if isinstance(found, (dict, tuple, list)):
            try:
                found = found[int(part)] if isinstance(found, (tuple, list)) else found[part]
            except (IndexError, ValueError):
                raise KeyError(key) from None
        elif part in getattr(type(found), "model_fields", ()):
            found = getattr(found, part)
        else:
            raise KeyError(key)
    return found


def matches(key: str, patterns: Iterable[str]) -> bool:
    """Return whether a dotted key is one of some keys, or in one of some tables."""
    return any(fnmatchcase(key, p) or fnmatchcase(key, f"{p}.*") for p in patterns)


def assigned(key: str, value: object) -> str:
    """Format a key and its value as in a config file."""
    shown = shown_key(key)
    if value is None or value == ():
        return f"{shown} is not given"
    return f"{shown} = {value.file if isinstance(value, InputFile) else json.dumps(value)}"


def assigned_one_of(key: str, names: Iterable[str]) -> str:
    """Format as ``KEY = "a", "b" or "c"``."""
    quoted = [f'"{name}"' for name in names]
    return f"{key} = {' or '.join(filter(None, (', '.join(quoted[:-1]), quoted[-1])))}"


def shown_key(key: str) -> str:
    """Return a dotted SI name as a file spells it."""
    short = ".".join(map(short_name, key.split(".")))
    return _MACHINE.sub("machine.", short)
