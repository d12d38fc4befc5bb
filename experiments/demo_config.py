"""The demo's config: a dragonfly that fits the log, and patterns that fit its jobs."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

from workloads.registry import LOGS
from workloads.swf import read_swf, read_swf_header

LARGE_JOB = 512
"""From this many nodes on a full all-to-all is no longer what applications do."""


def demo_config_text(
    log: Path | None, first: int | None, policies: Sequence[str], seed: int
) -> str:
    """The config as TOML text.

    Parameters
    ----------
    log : path or None
        A job log in SWF; None for generated jobs.
    first : int or None
        Use the first so many jobs only.
    policies : sequence of str
    seed : int

    Raises
    ------
    NetcosimError
        A log that cannot be read.
    """
    if log is None:
        machine = MACHINE_GENERATED
        workload = GENERATED.replace("n_jobs = 600", f"n_jobs = {600 if first is None else first}")
        largest = 64
    else:
        known = known_name(log)
        processors = LOGS[known].processors_per_node if known else 1
        jobs = read_swf(log, processors_per_node=processors)
        largest = int(jobs.n_nodes.max())
        nodes = max(largest, machine_nodes(log, processors))
        machine = 'preset = "theta"' if known == "theta" else dragonfly_for(nodes)
        workload = f"log = {json.dumps(str(log.resolve()))}\n"
        workload += f'known_log = "{known}"\n' if known else ""
        workload += f"first_jobs = {first}\n" if first is not None else ""
        workload += 'larger_jobs = "drop"'
    large = largest > LARGE_JOB
    mix = MIX.format(
        exchange="sub-a2a" if large else "all-to-all", halo="20 KB" if large else "100 KB"
    )
    return TEMPLATE.format(
        machine=machine,
        workload=workload,
        policies=json.dumps(list(policies)),
        mix=mix,
        seed=seed,
    )


def known_name(log: Path) -> str | None:
    """Which known log a file is, by its name; None if it is not one."""
    name = log.name.lower()
    for known, entry in LOGS.items():
        if known in name or (entry.file_name and entry.file_name.lower().split(".")[0] in name):
            return known
    return None


def machine_nodes(log: Path, processors_per_node: int) -> int:
    """Nodes of the log's machine by its header; 1 if it does not say."""
    header = read_swf_header(log)
    if header.max_nodes:
        return header.max_nodes
    return max(1, (header.max_procs or 1) // processors_per_node)


def dragonfly_for(nodes: int) -> str:
    """A dragonfly of at least so many nodes, p nodes a router and 2p routers a group.

    Balanced dragonflies have about 4 p^4 nodes (Kim et al., ISCA 2008), hence p.
    """
    p = max(2, round((nodes / 4) ** 0.25))
    a = 2 * p
    g = max(2, math.ceil(nodes / (p * a)))
    return f'family = "dragonfly"\np = {p}\na = {a}\ng = {g}'


MACHINE_GENERATED = 'preset = "dragonfly-272"'

GENERATED = """[workload.synthetic]
n_jobs = 600
mean_nodes = 14
load = 0.95
requested_factor = [1.0, 3.0]"""

MIX = """[[communication.mix]]
pattern = "{exchange}"
message_bytes = "10 KB"
communication_fraction = [0.1, 0.5]

[[communication.mix]]
pattern = "halo3d26"
message_bytes = "{halo}"
communication_fraction = [0.1, 0.5]"""

TEMPLATE = """# The machine: a preset or a family with its parameters (netcosim list topologies).
[machine]
{machine}
routing = "ugal-l"

[workload]
{workload}

[queue]
# The first policy is the reference.
policies = {policies}
order = "fcfs"
backfill = "easy"
run_time_model = "measured"

[communication]
ranks_per_node = 1

# The log does not say what jobs send; this mix is drawn for them, the same for every policy.
{mix}

[run]
seed = {seed}
snapshots = 12
"""
