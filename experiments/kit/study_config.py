"""What a study computes: a file, completed where it is silent, and the time that it may take."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from netcosim.config.config import Config
from netcosim.config.errors import ConfigError


@dataclass(frozen=True)
class StudyConfig:
    """What a study is to compute."""

    config: Config
    text: str
    """TOML that requests the same again."""
    notes: tuple[str, ...]
    """What was assumed or left out, a line each."""


@dataclass(frozen=True)
class TimeBudget:
    """A time budget by the system's clock, so that all processes have the same."""

    began_s: float
    minutes: float
    jobs: int
    """Processes."""
    of_whole: float = 1.0
    """What this budget is of one for several points."""

    def left_s(self, share: float) -> float:
        """Return the time until this share of the budget has passed."""
        return self.began_s + 60 * self.minutes * share - time.time()

    def part(self, share: float) -> TimeBudget:
        """Return the budget that ends when this share of it has passed."""
        return TimeBudget(self.began_s, self.minutes * share, self.jobs, share)

    @property
    def used(self) -> float:
        """The share of the whole budget that has passed, 0 to 1."""
        passed = min(max(1 - self.left_s(1.0) / (60 * self.minutes), 0.0), 1.0)
        return passed * self.of_whole


def section_of(raw: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a copy of a section of a config file, empty where the file has none."""
    section = raw.get(name, {})
    if not isinstance(section, Mapping):
        raise ConfigError(name, section, "must be a table")
    return dict(section)
