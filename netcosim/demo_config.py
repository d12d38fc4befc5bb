"""The demo's config: a dragonfly that fits the log, and patterns that fit its jobs."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from netsim.errors import NetcosimError
from workloads.formats import Reading, format_of
from workloads.job import Workload
from workloads.registry import LOGS, read_known_log
from workloads.swf import read_swf, read_swf_header

LARGE_JOB = 512
"""From this many nodes on a full all-to-all is no longer what applications do."""

MAX_NODES = 1_000_000
"""Nodes of the largest machine that is built for a log; the largest machines have 160,000."""


@dataclass(frozen=True, eq=False)
class DemoLog:
    """A job log and the machine that it is of."""

    path: Path
    jobs: Workload
    known: str | None
    """Which known log it is by its name."""
    processors_per_node: int | None
    """As the user gave it."""
    nodes: int
    """The machine's; never fewer than the largest job wants."""
    nodes_from: str
    """Where that number is from."""


def read_demo_log(path: Path, processors_per_node: int | None = None) -> DemoLog:
    """Read a log, in SWF or as a table, and find its machine's size."""
    kind = format_of(path)
    known = known_name(path) if kind.counts_processors else None
    if not kind.counts_processors and processors_per_node is not None:
        raise NetcosimError(f"{path}: its jobs have nodes; --processors-per-node is for SWF alone")
    if not kind.counts_processors:
        jobs = kind.read(Reading(log=str(path)))
    elif known is not None:
        jobs = read_known_log(known, path, processors_per_node=processors_per_node)
    else:
        jobs = read_swf(path, processors_per_node=processors_per_node)
    largest = int(jobs.n_nodes.max())
    nodes, nodes_from = largest, "as many as the largest job wants"
    header_nodes = read_swf_header(path).max_nodes if kind.counts_processors else None
    if header_nodes is not None and header_nodes >= largest:
        nodes, nodes_from = header_nodes, "MaxNodes of the log's header"
    elif header_nodes is not None:
        nodes_from += f"; MaxNodes of the log's header is {header_nodes}"
    elif known is not None and LOGS[known].machine_nodes >= largest:
        nodes, nodes_from = LOGS[known].machine_nodes, f"as the known log {known} has"
    if nodes > MAX_NODES:
        raise NetcosimError(
            f"{path}: a machine of {nodes:,} nodes ({nodes_from}); the demo builds up to "
            f"{MAX_NODES:,}"
        )
    return DemoLog(path, jobs, known, processors_per_node, nodes, nodes_from)


def demo_config_text(
    log: DemoLog | None, first: int | None, policies: Sequence[str], seed: int
) -> str:
    """Return the config as TOML text, for the first jobs of a log or for generated ones."""
    if log is None:
        machine = MACHINE_GENERATED
        workload = GENERATED.replace("n_jobs = 600", f"n_jobs = {600 if first is None else first}")
        largest = 64
    else:
        largest = int(log.jobs.n_nodes.max())
        machine = f"# {log.nodes} nodes: {log.nodes_from}.\n"
        machine += 'preset = "theta"' if log.known == "theta" else dragonfly_for(log.nodes)
        workload = log_keys(log, first)
    return config_text(f"{machine}\n{NETWORK}", workload, largest, policies, seed)


def log_keys(log: DemoLog, first: int | None = None) -> str:
    """Return the keys of ``[workload]`` for a log."""
    keys = f"log = {json.dumps(str(log.path.resolve()))}\n"
    keys += f'known_log = "{log.known}"\n' if log.known else ""
    if log.processors_per_node is not None:
        keys += f"processors_per_node = {log.processors_per_node}\n"
    keys += f"first_jobs = {first}\n" if first is not None else ""
    return f'{keys}larger_jobs = "drop"'


def config_text(
    machine: str, workload: str, largest: int, policies: Sequence[str], seed: int
) -> str:
    """Return a commented config with a mix of patterns for jobs of up to ``largest`` nodes."""
    large = largest > LARGE_JOB
    template = files("netcosim").joinpath("demo.toml.in").read_text("utf-8")
    return template.format(
        schema=SCHEMA_LINE,
        machine=machine,
        workload=workload,
        policies=json.dumps(list(policies)),
        exchange="sub-a2a" if large else "all-to-all",
        halo="20 KB" if large else "100 KB",
        seed=seed,
    )


def known_name(log: Path) -> str | None:
    """Return which known log a file is, by a word of its name; None if it is not one.

    ``cab`` is a word of ``cab-2014.swf``, not of ``vocabulary.swf``.
    """
    name = log.name.lower()
    for known, entry in LOGS.items():
        words = [known]
        if entry.file_name:
            words.append(entry.file_name.lower().removesuffix(".gz").removesuffix(".swf"))
        if any(re.search(rf"(?<![a-z0-9]){re.escape(w)}(?![a-z0-9])", name) for w in words):
            return known
    return None


def dragonfly_for(nodes: int) -> str:
    """Return a dragonfly of at least ``nodes`` nodes, p nodes a router and 2p routers a group.

    Balanced dragonflies have about 4 p^4 nodes (Kim et al., ISCA 2008), hence p.
    """
    p = max(2, round((nodes / 4) ** 0.25))
    a = 2 * p
    g = max(2, math.ceil(nodes / (p * a)))
    return f'family = "dragonfly"\np = {p}\na = {a}\ng = {g}'


MACHINE_GENERATED = 'preset = "dragonfly-272"'

NETWORK = """routing = "ugal-l"
packet.packet_bytes = "8 KiB"      # as Omni-Path's; with 4 KiB it takes half as long again"""

GENERATED = """[workload.synthetic]
n_jobs = 600
mean_nodes = 14
load = 0.95
requested_factor = [1.0, 3.0]"""

SCHEMA_FILE = "netcosim.schema.json"
SCHEMA_LINE = f"#:schema ./{SCHEMA_FILE}"
"""First line of written configs: Even Better TOML and Taplo read the schema beside the config."""
