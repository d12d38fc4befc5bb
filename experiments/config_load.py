"""Reading configs: TOML files and resolved contents, one point or a sweep of them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from experiments.config import Config, MachineSection, WorkloadSection
from experiments.config_errors import ConfigError, config_error, model_inside
from experiments.config_machine import list_parameters, machine_section, short_name
from experiments.expand import expand
from experiments.units import quantity_of
from netsim.errors import NetcosimError

if TYPE_CHECKING:
    from pydantic import BaseModel

_LIST_KEYS = {
    "workload.statuses",
    "workload.synthetic.run_time_range",
    "workload.synthetic.run_time_range_s",
    "workload.synthetic.requested_factor",
    "communication.mix",
    "queue.policies",
    "queue.bandwidth_need",
    "queue.bandwidth_need_Bps",
}


@dataclass(frozen=True)
class SweepFile:
    """A config file as a sweep.

    Attributes
    ----------
    path : Path
    text : str
        As it stood in the file.
    points : tuple of Config
        One a point; all policies of the file are compared in each.
    """

    path: Path
    text: str
    points: tuple[Config, ...]


def load_config(path: str | Path) -> Config:
    """Read a config of one point (with one or more policies to compare).

    Raises
    ------
    NetcosimError
        One line with the file, the key, the value and what is allowed.
    """
    path = Path(path)
    raw = read_toml(path)
    if "sweep" in raw:
        raise NetcosimError(f"{path}: key sweep: belongs to netcosim sweep")
    with _NamedFile(path):
        return config_from(raw, path.parent)


def load_sweep(path: str | Path) -> SweepFile:
    """Read a config in which any parameter may be a list or a range (`experiments.expand`).

    ``[sweep] zip = [["machine.p", "machine.a"]]`` names keys that run together.

    Raises
    ------
    NetcosimError
        As `load_config`; a mistake in any of the points counts.
    """
    path = Path(path)
    raw = read_toml(path)
    with _NamedFile(path):
        groups = _zip_groups(raw.pop("sweep", {}))
        contents = expand(raw, list_keys=_LIST_KEYS | list_parameters(), zip_groups=groups)
        points = tuple(config_from(content, path.parent) for content in contents)
    return SweepFile(path, path.read_text(encoding="utf-8"), points)


def config_from(raw: Mapping[str, Any], folder: Path | None = None) -> Config:
    """A config from the content of a file, or from what `Config.resolved` gave.

    Parameters
    ----------
    raw : mapping
    folder : path, optional
        A relative path of a log or graph file is looked up here first.

    Raises
    ------
    ConfigError
    """
    content = dict(raw)
    machine = content.get("machine")
    if isinstance(machine, Mapping):
        own = set(MachineSection.model_fields) - {"family", "parameters"}
        keys = own | {short_name(name) for name in own}
        content["machine"] = machine_section(machine, keys)
    spelled: dict[str, str] = {}
    content = _in_si(content, Config, "", spelled)
    if folder is not None:
        _place_files(content, folder)
    try:
        return Config.model_validate(content)
    except ValidationError as error:
        raise config_error(error, content, Config, spelled) from None


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file.

    Raises
    ------
    NetcosimError
        A file that cannot be read, or a syntax error, with its line.
    """
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise NetcosimError(f"{path}: cannot be read: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        raise NetcosimError(f"{path}: not valid TOML: {error}") from None
    except UnicodeDecodeError as error:
        raise NetcosimError(
            f"{path}: not valid TOML: no UTF-8 text at byte {error.start}"
        ) from None


def _in_si(
    raw: Mapping[str, Any], model: type[BaseModel], prefix: str, spelled: dict[str, str]
) -> dict[str, Any]:
    """Keys by their SI names; ``spelled`` keeps how the user wrote them."""
    short = {short_name(name): name for name in model.model_fields}
    found: dict[str, Any] = {}
    for key, value in raw.items():
        name = short.get(key, key)
        dotted = f"{prefix}{name}"
        if name in found:
            raise ConfigError(f"{prefix}{key}", None, f"given twice, as {key} and as {name}")
        if name != key:
            spelled[dotted] = f"{prefix}{key}"
            numbers = value if isinstance(value, list) else [value]
            if quantity_of(name) and any(not isinstance(number, str) for number in numbers):
                raise ConfigError(
                    f"{prefix}{key}", value, f"has no unit; give it one, or write {name}"
                )
        field = model.model_fields.get(name)
        inner = None if field is None else model_inside(field.annotation)
        if inner is not None and isinstance(value, Mapping):
            value = _in_si(value, inner, f"{dotted}.", spelled)
        elif inner is not None and isinstance(value, (list, tuple)):
            value = [
                _in_si(entry, inner, f"{dotted}.{i}.", spelled)
                if isinstance(entry, Mapping)
                else entry
                for i, entry in enumerate(value)
            ]
        found[name] = value
    return found


def _place_files(content: dict[str, Any], folder: Path) -> None:
    """Files that a config names, relative to the config or else to the working directory."""
    parameters = content.get("machine", {}).get("parameters", {})
    queue = content.get("queue")
    measured = queue.get("measured") if isinstance(queue, dict) else None
    files = ((content.get("workload"), "log"), (parameters, "file"), (measured, "table"))
    for section, key in files:
        if not isinstance(section, dict):
            continue
        pinned = section.get(key)
        if isinstance(pinned, dict):
            section, key = pinned, "file"
        name = section.get(key)
        if isinstance(name, str) and (folder / name).exists():
            section[key] = str(folder / name)


def _zip_groups(section: object) -> list[list[str]]:
    if not isinstance(section, Mapping):
        raise ConfigError("sweep", section, "must be a table")
    for key in section:
        if key != "zip":
            raise ConfigError(f"sweep.{key}", None, "unknown key; valid: zip")
    groups = section.get("zip", [])
    if not isinstance(groups, list) or not all(
        isinstance(group, list) and group and all(isinstance(key, str) for key in group)
        for group in groups
    ):
        raise ConfigError("sweep.zip", groups, 'must be a list of lists of keys, [["a.b", "c.d"]]')
    return groups


class _NamedFile:
    """Puts the file's name before whatever error comes out of the block."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, value: BaseException | None, trace: object) -> None:
        if isinstance(value, NetcosimError):
            raise NetcosimError(f"{self.path}: {value}") from None


def validated_workload(content: Mapping[str, Any]) -> WorkloadSection:
    """A ``[workload]`` section alone, for commands that take it as options.

    Raises
    ------
    ConfigError
    """
    try:
        return WorkloadSection.model_validate(dict(content))
    except ValidationError as error:
        raise config_error(error, content, WorkloadSection, {}) from None
