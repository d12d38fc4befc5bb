"""Reading configs: TOML files and resolved contents, one point or a sweep of them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netcosim.config.config import Config, config_class
from netcosim.config.content import checked_config, plugins_of, too_deeply_nested
from netcosim.config.errors import ConfigError, list_keys
from netcosim.config.machine import list_parameters
from netcosim.config.run import SweepSection
from netcosim.config.unread import refuse_unread
from netsim.errors import NetcosimError
from netsim.files import read_text
from netsim.kinds import need_kinds
from netsim.plugins import installed_plugins, using
from patterns.registry import PATTERNS


@dataclass(frozen=True)
class SweepFile:
    """A config file as a sweep."""

    path: Path
    text: str
    """As written in the file."""
    points: tuple[Config, ...]
    """One a point; all policies of the file are compared in each."""


def load_config(path: str | Path) -> Config:
    """Read a config of one point (with one or more policies to compare).

    Parameters
    ----------
    path : str or path
        A TOML file.

    Raises
    ------
    NetcosimError
        One line with the file, the key, the value and what is allowed.

    Examples
    --------
    >>> import netcosim as nc
    >>> from pathlib import Path
    >>> _ = Path("mine.toml").write_text('''
    ... machine = { preset = "dragonfly-272" }
    ... workload.synthetic = { n_jobs = 200, mean_nodes = 14 }
    ... queue = { policies = ["rdn", "level-spread"] }
    ... ''')
    >>> config = nc.load_config("mine.toml")
    >>> config.queue.policies, config.queue.backfill
    (('rdn', 'level-spread'), 'easy')
    """
    need_kinds("load_config", {"path": (path, (str, Path))})
    return load_config_text(path)[0]


def load_config_text(path: str | Path) -> tuple[Config, str]:
    """Load as `load_config`, and return the text too, because a pipe can be read only once."""
    path = Path(path)
    raw, text = read_config(path)
    with errors_name(path):
        return config_from(raw, path.parent), text


def read_config(path: Path) -> tuple[dict[str, Any], str]:
    """Return the content and the text of a config file of one point."""
    text = _text(path)
    raw = parse_toml(text, path)
    if "sweep" in raw:
        raise NetcosimError(f"{path}: key sweep: belongs to netcosim sweep")
    return raw, text


def load_sweep(path: str | Path) -> SweepFile:
    """Read a config in which any parameter may be a list or a range (`netcosim.config.expand`).

    ``[sweep] zip = [["machine.p", "machine.a"]]`` names keys that run together.
    """
    path = Path(path)
    text = _text(path)
    raw = parse_toml(text, path)
    with errors_name(path):
        points = points_of(raw, path.parent)
    return SweepFile(path, text, points)


def points_of(raw: Mapping[str, Any], folder: Path | None = None) -> tuple[Config, ...]:
    """Return every point of the content of a sweep's file; refuse a key that no point reads."""
    points = any_points_of(raw, folder)
    refuse_unread(*points)
    return points


def any_points_of(raw: Mapping[str, Any], folder: Path | None = None) -> tuple[Config, ...]:
    """Return every point as `points_of` does, with keys that nothing reads."""
    from netcosim.config.expand import expand

    content = {key: value for key, value in raw.items() if key != "sweep"}
    groups = _zip_groups(raw.get("sweep", {}))
    keys: set[str] = set()
    # points may have plug-ins of their own, each with other keys
    for one in expand({"plugins": raw.get("plugins", ())}, list_keys=("plugins",)):
        with using((*installed_plugins(), *plugins_of(one, folder))):
            keys |= _list_keys(content)
    return tuple(
        checked_config(point, folder)
        for point in expand(content, list_keys=keys, zip_groups=groups)
    )


def _list_keys(raw: Mapping[str, Any]) -> set[str]:
    """Return the dotted keys whose values are lists by nature, without numbers of tables."""
    tables = raw.get("policies")
    keys = set(list_keys(config_class(tables if isinstance(tables, Mapping) else ())))
    keys |= list_parameters()
    keys |= {key.replace("machine.", "machine.parameters.") for key in list_parameters()}
    of_patterns = (name for one in PATTERNS for name in PATTERNS.facts(one).of_kind("list"))
    keys |= {f"communication.mix.parameters.{name}" for name in of_patterns}
    return keys | {f"reference.{key}" for key in keys}


def config_from(raw: Mapping[str, Any], folder: Path | None = None) -> Config:
    """Build a config from the content of a file, or from what `Config.resolved` returned.

    Parameters
    ----------
    raw : mapping
    folder : path, optional
        A relative path of a log or graph file is looked up here first.

    Raises
    ------
    ConfigError

    Examples
    --------
    >>> import netcosim as nc
    >>> config = nc.config_from(
    ...     {
    ...         "machine": {"preset": "dragonfly-272", "global_bandwidth": "32 Gbit/s"},
    ...         "workload": {"synthetic": {"n_jobs": 200, "mean_nodes": 14}},
    ...         "queue": {"policies": ["rdn", "level-spread"]},
    ...     }
    ... )
    >>> config.machine.parameters["global_bandwidth_Bps"]
    4000000000
    """
    need_kinds("config_from", {"raw": (raw, Mapping)})
    config = checked_config(raw, folder)
    refuse_unread(config)
    return config


MAX_FILE_BYTES = 1 << 22
"""4 MiB of TOML are no config."""
MAX_DOTS = 200
"""In one dotted key, whose reading costs the square of them."""


def _text(path: Path) -> str:
    return read_text(path, limit_bytes=MAX_FILE_BYTES).replace("\r\n", "\n")


def parse_toml(text: str, path: Path) -> dict[str, Any]:
    """Parse a TOML text."""
    too_deep = NetcosimError(f"{path}: not a config: tables or lists are nested too deeply")
    joined = text.replace(" ", "").replace("\t", "")
    if any(token.count(".") > MAX_DOTS and ".." not in token for token in _TOKEN.split(joined)):
        raise too_deep
    try:
        content = tomllib.loads(text)
    except RecursionError:
        raise too_deep from None
    except ValueError as error:
        # also numbers of thousands of digits, which are no TOMLDecodeError
        raise NetcosimError(f"{path}: not valid TOML: {error}") from None
    if too_deeply_nested(content):
        raise too_deep
    return content


_TOKEN = re.compile(r"[=,\[\]{}\"'#\n]")


def _zip_groups(section: object) -> list[list[str]]:
    if not isinstance(section, Mapping):
        raise ConfigError("sweep", section, "must be a table")
    for key in section:
        if key not in SweepSection.model_fields:
            more = " (set a reference in the section [reference])"
            message = f"unknown key; valid: zip{more if key == 'reference' else ''}"
            raise ConfigError(f"sweep.{key}", None, message)
    groups = section.get("zip", [])
    if not isinstance(groups, list) or not all(
        isinstance(group, list) and group and all(isinstance(key, str) for key in group)
        for group in groups
    ):
        raise ConfigError("sweep.zip", groups, 'must be a list of lists of keys, [["a.b", "c.d"]]')
    return groups


@contextmanager
def errors_name(path: Path | None) -> Iterator[None]:
    """Put the file's name before an error of the block."""
    try:
        yield
    except NetcosimError as error:
        raise (error if path is None else NetcosimError(f"{path}: {error}")) from None
