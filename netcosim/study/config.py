"""A study's config: a file, completed with what the study assumes where the file is silent."""

from __future__ import annotations

from dataclasses import dataclass

from netcosim.config.config import Config


@dataclass(frozen=True)
class StudyConfig:
    """What a study is to compute."""

    config: Config
    text: str
    """TOML that requests the same again."""
    notes: tuple[str, ...]
    """What was assumed or left out, a line each."""
