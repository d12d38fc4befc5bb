"""What ``netcosim curve`` reads: ``[machine]``, ``[curve]``, ``[collective]``, a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator

from experiments.kit.open_loop import DESTINATIONS, PROCESSES
from experiments.kit.study_config import section_of
from netcosim.config.config import Config
from netcosim.config.content import file_keys, plugins_of, validated_sections
from netcosim.config.errors import ConfigError
from netcosim.config.fields import (
    Count,
    Input,
    Number,
    Section,
    SizeBytes,
    Text,
    TimeS,
    Whole,
    all_finite,
    known,
)
from netcosim.config.load import errors_name, read_config
from netcosim.config.machine import MachineSection
from netcosim.config.unread import refuse_unread
from netsim.errors import NetcosimError, need_name, unknown_name
from netsim.plugins import installed_plugins, used_by, using
from netsim.routing.registry import routings_for
from patterns.collectives.library import ALGORITHMS, CHUNK_BYTES
from patterns.collectives.links import LINKS, NONE

MATRIX = "matrix"
TRAFFICS = (*DESTINATIONS, MATRIX)
LOADS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
Load = Annotated[Number, Field(gt=0, le=1)]


class CurveSection(Section):
    """``[curve]``: the traffic, the loads, and how long they are looked at.

    ``traffic`` is one or several; ``matrix`` takes a ``file``. ``loads`` are shares of a node's
    injection bandwidth (under a matrix: of the busiest node's). ``routings`` are compared; the
    machine's own if left out. ``warm_up`` and ``window`` are doubled up to ``doublings`` times
    while latencies of the window's halves are further apart than ``tolerance``.
    """

    traffic: tuple[Annotated[Text, known("traffic", TRAFFICS)], ...] = Field(
        default=("uniform-random",), min_length=1
    )
    loads: tuple[Load, ...] = Field(default=LOADS, min_length=1)
    routings: tuple[Text, ...] = ()
    file: Input | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    process: Annotated[Text, known("process", PROCESSES)] = "poisson"
    message_bytes: SizeBytes | None = None
    warm_up_s: TimeS | None = None
    window_s: TimeS | None = None
    tolerance: Annotated[Number, Field(gt=0, lt=1)] = 0.05
    doublings: Annotated[Whole, Field(ge=0, le=10)] = 3

    @field_validator("traffic", "loads", "routings", mode="before")
    @classmethod
    def _one_or_more(cls, value: Any) -> Any:
        return [value] if isinstance(value, (str, int, float)) else value

    @field_validator("traffic", "loads", "routings")
    @classmethod
    def _each_once(cls, value: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(set(value)) < len(value):
            raise NetcosimError(f"{', '.join(map(str, value))}; one is listed twice")
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> CurveSection:
        if (self.file is not None) != (MATRIX in self.traffic):
            needs = "traffic matrix needs a file" if self.file is None else "file is for a matrix"
            raise NetcosimError(needs)
        taken = {key for name in self.traffic for key in DESTINATIONS.get(name, ())}
        for name, value in self.parameters.items():
            need_name(f"parameter of {', '.join(self.traffic)}", name, taken)
            if not all_finite(value):
                raise NetcosimError(f"parameters.{name}: {value}; must be finite")
        if self.warm_up_s == 0 or self.window_s == 0:
            raise NetcosimError("warm_up and window must be above 0")
        return self


class CollectiveSection(Section):
    """``[collective]``: who takes part in the operation of ``--collective``, and how.

    ``gpus`` are the first ones of the machine, all if left out; ``gpus_per_node`` is that of a GPU
    cluster, else 1. A buffer is sent in chunks of ``chunk_bytes`` a message, at most 32.
    ``links`` is a class of links between nodes with fitted start-up and efficiency.
    ``start`` is added to each operation: its launch, and what else does not depend on the size.
    ``sizes`` are those of measured rows, else 1 KiB to 1 GiB.
    """

    algorithms: tuple[Annotated[Text, known("algorithm", ALGORITHMS)], ...] = Field(
        default=("auto",), min_length=1
    )
    sizes: tuple[SizeBytes, ...] = ()
    gpus: Count | None = None
    gpus_per_node: Count | None = None
    channels: Count | None = None
    chunk_bytes: SizeBytes = CHUNK_BYTES
    links: Annotated[Text, known("links", (NONE, *LINKS))] = NONE
    start_s: TimeS = 0.0


class SeedSection(Section):
    """What of ``[run]`` counts here."""

    seed: Annotated[Whole, Field(ge=0)] = 1


class CurveConfig(Section):
    """What ``netcosim curve`` computes; see `load_curve`."""

    machine: MachineSection
    curve: CurveSection = CurveSection()
    collective: CollectiveSection = CollectiveSection()
    run: SeedSection = SeedSection()
    plugins: tuple[dict[str, str], ...] = ()

    def points(self) -> list[dict[str, Any]]:
        """Return one point a routing, traffic and load; load 0 is messages without contention."""
        content = self.model_dump(mode="json")
        curve, machine = content["curve"], content["machine"]
        routings = curve.pop("routings") or [machine["routing"]]
        traffics, loads = curve.pop("traffic"), curve.pop("loads")
        file, parameters = curve.pop("file"), curve.pop("parameters")
        found = []
        for routing in routings:
            for traffic in traffics:
                own_parameters = {
                    k: v for k, v in parameters.items() if k in DESTINATIONS.get(traffic, ())
                }
                one = curve | {"traffic": traffic, "parameters": own_parameters}
                if traffic == MATRIX:
                    one["file"] = file
                for load in (0.0, *loads):
                    point = {
                        "machine": machine | {"routing": routing},
                        "curve": one | {"load": float(load)},
                        "seed": content["run"]["seed"],
                    }
                    found.append(point | ({"plugins": content["plugins"]} if self.plugins else {}))
        return found


_ELSEWHERE = set(Config.model_fields) - set(CurveConfig.model_fields)


def load_curve(path: Path, loads: Sequence[float] = ()) -> CurveConfig:
    """Read a config for ``netcosim curve``.

    Sections of other commands (``[workload]``, ``[queue]``, ...) may be in the same file; of
    ``[run]`` the seed counts. ``loads`` replace those of the file.
    """
    raw, _ = read_config(path)
    with errors_name(path):
        if loads:
            raw["curve"] = section_of(raw, "curve") | {"loads": list(loads)}
        return curve_from(raw, path.parent)


def curve_from(raw: Mapping[str, Any], folder: Path | None = None) -> CurveConfig:
    """Build a config from the content of a file; see `load_curve`."""
    content = {key: value for key, value in raw.items() if key not in _ELSEWHERE}
    run = content.pop("run", {})
    if isinstance(run, Mapping):
        content["run"] = {"seed": run["seed"]} if "seed" in run else {}
    if "machine" not in content:
        raise ConfigError("machine", None, "missing; a curve is of a machine")
    with using((*installed_plugins(), *plugins_of(content, folder))) as plugins:
        content["plugins"] = [*used_by(content, plugins)]
        config = validated_sections(content, CurveConfig, _files(), folder)
        valid = routings_for(config.machine.family)
        for name in config.curve.routings:
            if name not in valid:
                problem = str(unknown_name(f"routing for {config.machine.family}", name, valid))
                raise ConfigError("curve.routings", None, problem)
    if config.machine.faults:
        raise ConfigError("machine.faults", None, "a curve is of no time; leave it out")
    if config.curve.routings and config.machine.routing is not None:
        problem = "routing is set in [machine] and routings in [curve]; set only one of them"
        raise ConfigError("curve.routings", None, problem)
    refuse_unread(config)
    return config


def _files() -> list[str]:
    return ["curve.file", *(key for key in file_keys() if key.startswith("machine."))]
