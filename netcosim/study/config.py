"""A study's config: a file, completed with what the study assumes where the file is silent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.config import Config
from experiments.config_errors import ConfigError
from experiments.config_load import MAX_FILE_BYTES, parse_toml
from netsim.errors import NetcosimError
from netsim.files import read_text


@dataclass(frozen=True)
class StudyConfig:
    """What a study is to compute.

    Attributes
    ----------
    config : Config
    text : str
        TOML that asks for the same again.
    notes : tuple of str
        What was assumed or left out, a line each.
    """

    config: Config
    text: str
    notes: tuple[str, ...]


def read_study_file(path: Path) -> tuple[dict[str, Any], str]:
    """Return the content and the text of a config file of one point.

    Raises
    ------
    NetcosimError
        A file that cannot be read, is no TOML, or belongs to ``netcosim sweep``.
    """
    text = read_text(path, limit_bytes=MAX_FILE_BYTES).replace("\r\n", "\n")
    raw = parse_toml(text, path)
    if "sweep" in raw:
        raise NetcosimError(f"{path}: key sweep: belongs to netcosim sweep")
    return raw, text


def section_of(raw: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a copy of a section of a config file, empty where the file has none."""
    found = raw.get(name, {})
    if not isinstance(found, Mapping):
        raise ConfigError(name, found, "must be a table")
    return dict(found)


@contextmanager
def errors_name(path: Path | None) -> Iterator[None]:
    """Put the file's name before an error in one of its keys."""
    try:
        yield
    except ConfigError as error:
        raise (error if path is None else NetcosimError(f"{path}: {error}")) from None
