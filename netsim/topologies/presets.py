"""Named machines: a family, its parameters, and their sources (``presets.toml``)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Preset:
    """A named machine: a family and its parameters, and power where it is published."""

    description: str
    family: str
    params: Mapping[str, object]
    power: Mapping[str, float] = field(default_factory=dict)


def _preset(params: Mapping[str, object], **entry: Any) -> Preset:
    lists = {key: tuple(value) for key, value in params.items() if isinstance(value, list)}
    return Preset(params={**params, **lists}, **entry)


_TEXT = files("netsim.topologies").joinpath("presets.toml").read_text("utf-8")
PRESETS = {name: _preset(**entry) for name, entry in tomllib.loads(_TEXT).items()}
