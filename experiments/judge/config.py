"""The judge's config: flags and a file become one config that can be run again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import field_validator

from experiments.judge.machine_keys import need_servers, with_bandwidth
from experiments.kit.study_config import StudyConfig, section_of
from netcosim.config.config import Config
from netcosim.config.content import file_keys
from netcosim.config.decider import placed_decider
from netcosim.config.errors import ConfigError, validated
from netcosim.config.fields import Section, Share
from netcosim.config.load import config_from, errors_name, read_config
from netcosim.config.machine import build_machine
from netcosim.config.toml_text import toml_text
from netcosim.demo_config import SCHEMA_LINE, known_name
from netcosim.machine_file import machine_of
from netsim.errors import NetcosimError
from netsim.inputs import place_files
from workloads.formats import format_of

LARGE_MACHINE = 1024
"""From here on the assumed all-to-all goes along the rows of a grid, as large codes have it."""
SNAPSHOTS = 20
REPLAYED = {"policy": "replay", "queue.backfill": "as-logged"}
"""``[reference]`` where the log has node lists: jobs start there, at their logged times."""


class JudgeSection(Section):
    """``[judge]``: what the judge does beside the run.

    ``fractions`` are communication fractions at which everything is measured again.
    """

    fractions: tuple[Share, ...] = (0.1, 0.5)

    @field_validator("fractions")
    @classmethod
    def _above_zero_and_once(cls, fractions: tuple[float, ...]) -> tuple[float, ...]:
        if 0.0 in fractions:
            raise NetcosimError("0; a job that never communicates has nothing to measure")
        return tuple(dict.fromkeys(fractions))


class _OwnSections(Section):
    """The sections of a judge's config that a run's does not have."""

    judge: JudgeSection


@dataclass(frozen=True)
class JudgeConfig(StudyConfig):
    """What the judge is to look at.

    The first policy is what the others are compared with, unless ``config`` has a reference: the
    log's own schedule.
    """

    section: JudgeSection
    assumed: bool
    """Whether what jobs send is the judge's assumption, as no config sets it."""


@dataclass(frozen=True)
class Flags:
    """The command line; None where nothing was given."""

    log: str | None = None
    machine: str | None = None
    policies: tuple[str, ...] = ()
    bandwidth: str | None = None
    gpus_per_node: int | None = None
    first_jobs: int | None = None
    days: float | None = None
    taper: float | None = None
    month: str | None = None
    bad_lines: str | None = None
    seed: int | None = None
    snapshots: int | None = None
    order: str | None = None
    backfill: str | None = None
    fractions: tuple[float, ...] = ()


FLAGS_OF_SECTION = {
    "machine": ("gpus_per_node", "taper"),
    "workload": ("first_jobs", "days", "month", "bad_lines"),
    "queue": ("order", "backfill"),
    "run": ("seed", "snapshots"),
}
"""Flags that are keys of the config by the same name."""


def load_judge_config(flags: Flags, path: Path | None) -> JudgeConfig:
    """Combine flags and a config file, which may have ``[judge]``; flags win."""
    raw: dict[str, Any] = {}
    if path is not None:
        raw, _ = read_config(path)
        if raw.get("reference", REPLAYED) != REPLAYED:
            raise NetcosimError(
                f"{path}: key reference: the judge compares with the first policy, or with replay; "
                "leave the section out"
            )
    where = Path.cwd() if path is None else path.parent
    with errors_name(path):
        return _completed(flags, raw, where)


def _completed(flags: Flags, raw: dict[str, Any], folder: Path) -> JudgeConfig:
    own = section_of(raw, "judge")
    raw.pop("judge", None)
    if flags.fractions:
        own["fractions"] = list(flags.fractions)
    section = validated(_OwnSections, {"judge": own}).judge
    given = section_of(raw, "communication")
    assumed, drawn = "mix" not in given, bool({"from", "fraction"} & {*given})
    content = _filled(flags, raw, folder)
    if assumed:
        content["communication"]["mix"] = _assumed_mix(False, drawn)
    config = config_from(content, folder)
    with config.plugged():
        topology = build_machine(config.machine).topology
        notes = _with_replay(content, config, topology.n_nodes)
    log = content["workload"].get("log")
    if topology.scale_up is not None and log is not None and format_of(log).counts_gpus:
        content["workload"].setdefault("size_unit", "gpu")
    if assumed and topology.scale_up is not None:
        _assume_training(content, int(np.bincount(topology.scale_up).max()), drawn)
    elif assumed:
        content["communication"]["mix"] = _assumed_mix(topology.n_nodes > LARGE_MACHINE, drawn)
    if config.plugins:
        content["plugins"] = [one.get("module", one["file"]) for one in config.plugins]
    config = config_from(content, folder)
    _can_be_judged(config)
    text = HEAD + toml_text(content | {"judge": {"fractions": list(section.fractions)}})
    return JudgeConfig(config, text, notes, section, assumed)


def _can_be_judged(config: Config) -> None:
    if config.run.snapshots == 0:
        raise ConfigError("run.snapshots", 0, "the judge measures; at least 1 is needed")
    if config.run.measure != "paired":
        raise ConfigError("run.measure", config.run.measure, 'the judge needs "paired"')
    if config.run.only_snapshot is not None:
        raise ConfigError("run.only_snapshot", None, "the judge needs all snapshots")
    if len(config.queue.policies) < 2 and not config.reference:
        raise ConfigError("queue.policies", None, "give two policies or more to compare")


def _with_replay(content: dict[str, Any], config: Config, n_nodes: int) -> tuple[str, ...]:
    """Make a replaying policy what the others are compared with, or leave it out with a note.

    In a simulated queue a job would wait for exactly the nodes of the log, and one that comes a
    second late would hold up all others; so it is the log's own schedule that is replayed.
    """
    replay = str(REPLAYED["policy"])
    others = [name for name in config.queue.policies if name != replay]
    if len(others) == len(config.queue.policies) and not config.reference:
        return ()
    # what is read is kept; a synthetic workload has no node lists, however it is drawn
    jobs = config.workload.source().jobs(n_nodes, np.random.default_rng(0))
    lists = jobs.details.node_list
    content["queue"]["policies"] = others
    if lists is not None and lists.known.any() and others:
        content["reference"] = dict(REPLAYED)
        return ()
    content.pop("reference", None)
    note = f"{replay} is left out: {jobs.name} has no node lists"
    if len(others) < 2:
        raise NetcosimError(f"{note}; give two other policies or more")
    return (note,)


def _filled(flags: Flags, raw: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the content with flags put in, and the judge's defaults for keys that are not set."""
    content = dict(raw)
    names = ("machine", "workload", "queue", "communication", "run")
    machine, workload, queue, communication, run = (section_of(raw, name) for name in names)
    if flags.machine is not None:
        kept = {key: machine[key] for key in ("routing", "packet") if key in machine}
        machine = machine_of(flags.machine) | kept
    if not machine:
        raise NetcosimError("no machine: give --machine (a file or a preset), or [machine]")
    if flags.bandwidth is not None:
        machine = with_bandwidth(machine, flags.bandwidth)
    if flags.log is not None:
        for key in ("known_log", "synthetic"):
            workload.pop(key, None)
        workload["log"] = str(Path(flags.log).absolute())
        known = known_name(Path(flags.log))
        if known is not None and format_of(flags.log).counts_processors:
            workload["known_log"] = known
    if "log" not in workload and "synthetic" not in workload:
        raise NetcosimError("no jobs: give --log FILE, or workload.log in a config")
    if flags.policies:
        queue["policies"] = list(flags.policies)
    if "policies" not in queue:
        raise NetcosimError("no policies: give --policies A,B,..., or queue.policies in a config")
    sections = (machine, workload, queue, communication, run)
    content |= dict(zip(names, sections, strict=True))
    if flags.gpus_per_node is not None:
        need_servers(machine)
    for section, keys in FLAGS_OF_SECTION.items():
        given = {key: getattr(flags, key) for key in keys}
        content[section] |= {key: value for key, value in given.items() if value is not None}
    workload.setdefault("larger_jobs", "drop")
    queue.setdefault("run_time_model", "measured")
    content["run"] = {"snapshots": SNAPSHOTS, "measure": "paired", **run}
    _files_from_anywhere(content, folder)
    return content


def _files_from_anywhere(content: dict[str, Any], folder: Path) -> None:
    """Make paths absolute, so that the written config works in any folder."""
    keys = [key.replace("machine.parameters.", "machine.") for key in file_keys()]
    for where in (folder.absolute(), Path.cwd()):
        place_files(content, keys, where)
        if "decider" in content["queue"]:
            content["queue"]["decider"] = placed_decider(content["queue"]["decider"], where)


def _assumed_mix(large: bool, drawn: bool) -> list[dict[str, Any]]:
    """Return the default mix if no config sets it: three patterns, equally likely.

    ``drawn``: the config sets how much of their time it takes.
    """
    exchange = "sub-a2a" if large else "all-to-all"
    fraction = {} if drawn else {"communication_fraction": 0.3}
    return [
        {"pattern": pattern, "node_bytes": "64 KB", **fraction}
        for pattern in (exchange, "halo3d", "allreduce-recursive-doubling")
    ]


def _assume_training(content: dict[str, Any], gpus: int, drawn: bool) -> None:
    """Assume collectives of training where nodes are GPUs, and ranks in the order of the GPUs.

    Three of four jobs reduce gradients, the fourth exchanges tokens of experts on 64 GPUs.
    Published shares of an iteration are 0.2 to 26 %. Packets are large because messages are: small
    messages would measure latency.
    """
    fraction = {} if drawn else {"communication_fraction": 0.2}
    content["communication"].setdefault("task_mapping", "in-order")
    content["machine"].setdefault("packet", {"packet_bytes": "64 KiB", "buffer_bytes": "1 MiB"})
    content["communication"]["mix"] = [
        {
            "pattern": "collective",
            "weight": weight,
            "node_bytes": "16 MB",
            "parameters": {"operation": operation, "gpus_per_node": gpus, **more},
            **fraction,
        }
        for weight, operation, more in (
            (3.0, "all-reduce", {"algorithm": "hierarchical", "chunks": 1}),
            (1.0, "all-to-all", {"algorithm": "hierarchical", "group": 64}),
        )
    ]


HEAD = f"""{SCHEMA_LINE}
# Written by netcosim judge; netcosim judge --config FILE runs it again.
# The first policy is what the others are compared with.

"""
