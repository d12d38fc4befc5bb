"""What each importer does with every field and state of its format (``meanings.toml``)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files


@dataclass(frozen=True)
class Meanings:
    """The fields and states of a format, as its own documentation lists them.

    A key is "FIELD=VALUE", or "FIELD" for a field whose value does not matter.
    """

    used: tuple[str, ...]
    """They change the jobs."""
    counted: Mapping[str, str] = field(default_factory=dict)
    """Left out and counted, or noted, with these words."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """An error with these words; ``bad_lines = "drop"`` leaves such lines out and counts them."""
    unread: str = ""
    """Names of fields that do not affect when jobs run, on which nodes, or whose they are."""

    @property
    def names(self) -> set[str]:
        """The fields, in lower case."""
        keys = (*self.used, *self.counted, *self.refused, *self.unread.split())
        return {key.partition("=")[0].lower() for key in keys}

    def lines(self) -> list[str]:
        """Describe what is used, left out, refused and not read."""
        rows = {
            "used": sorted({key.partition("=")[0] for key in self.used}),
            "left out and counted": list(self.counted),
            "refused": list(self.refused),
            "not read": self.unread.split(),
        }
        return [f"{what}: {', '.join(names)}" for what, names in rows.items() if names]


_TEXT = files("workloads.importers").joinpath("meanings.toml").read_text("utf-8")
MEANINGS = {name: Meanings(**table) for name, table in tomllib.loads(_TEXT).items()}
"""By importer."""
