"""Dotted keys of a config: their values, and how a file spells them."""

from __future__ import annotations

import json
import re
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


def assigned(key: str, value: object) -> str:
    """Format a key and its value as in a config file."""
    shown = shown_key(key)
    if value is None or value == ():
        return f"{shown} is not given"
    return f"{shown} = {value.file if isinstance(value, InputFile) else json.dumps(value)}"


def shown_key(key: str) -> str:
    """Return a dotted SI name as a file spells it."""
    short = ".".join(map(short_name, key.split(".")))
    return _MACHINE.sub("machine.", short)
