"""Small configs that cover run-time models, measures, orders, backfilling and families."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LOG = "; MaxNodes: 16\n; MaxProcs: 16\n; UnixStartTime: 1538352000\n" + "".join(
    # some run past their requests; users, groups, queues and dependencies differ
    f"{i} {7 * i} {3 + i % 4} {40 + 37 * i % 150} {1 + i * i % 9} -1 -1 {1 + i * i % 9} "
    f"{60 + 20 * (i % 5)} -1 {1 + i % 2} {1 + i % 3} {1 + i % 2} 1 {1 + i % 2} 1 "
    f"{i - 2 if i % 5 == 0 else -1} {0 if i % 5 == 0 else -1}\n"
    for i in range(1, 25)
)
FILES = {
    "log.swf": LOG,
    "app.goal": "num_ranks 2\nrank 0 {\na: send 1000b to 1\n}\nrank 1 {\na: recv 1000b from 0\n}\n",
    "my_policy.py": "from queuesim.ordering.orders import Order\nPLUGIN = "
    "[Order('youngest', 'latest first', static_key=lambda jobs: -jobs.submit_s)]\n",
    "agent.py": "from queuesim.decide import Strict\nclass Agent(Strict):\n"
    "    def __init__(self, *files):\n        pass\n",
    "weights.json": "{}",
    "speedups.csv": "reference_policy,pattern,min_nodes,max_nodes,policy,ratio,"
    "ratio_low,ratio_high\n"
    "baseline,all-to-all,1,16,slurm-tree,0.9,0.8,0.95\n",
    "menu.csv": "name,midplanes,shape\nA,m0,1\n",
    "wires.json": "{}",
    "outages.csv": 'start_s,end_s,nodes,kind\n40,200,"0-3",failure\n',
    # leaves smaller than many of the jobs, which so meet on the links between switches
    "tree.conf": "SwitchName=a Nodes=n[1-4]\nSwitchName=b Nodes=n[5-8]\n"
    "SwitchName=c Nodes=n[9-12]\nSwitchName=d Nodes=n[13-16]\nSwitchName=e Switches=a,b,c,d\n",
}
"""What the configs name."""

_MADE = """
machine = { family = "fattree", radix = 4 }
workload.synthetic = { n_jobs = 16, mean_nodes = 4, run_time_range = ["20 s", "90 s"] }
queue.policies = ["baseline", "slurm-tree"]
communication.mix = [{ pattern = "all-to-all", message_bytes = 20000 }]
run = { snapshots = 0 }
"""
_LOGGED = _MADE.replace(
    'workload.synthetic = { n_jobs = 16, mean_nodes = 4, run_time_range = ["20 s", "90 s"] }',
    'workload.log = "log.swf"',
)
_NODE_BYTES = """
communication.mix = [
  { pattern = "all-to-all", node_bytes = "64 KiB" },
  { pattern = "halo3d", node_bytes = "128 KiB", communication_fraction = [0.2, 0.6] },
]
"""
BASES = {
    "generated jobs, as logged": 'queue.run_time_model = "as-logged"',
    "as logged": 'queue.run_time_model = "as-logged"',
    "no backfilling": 'queue = { run_time_model = "as-logged", backfill = "none" }',
    "conservative, cut": 'queue = { run_time_model = "as-logged", backfill = "conservative", '
    'overrun = "cut", window = 2 }',
    "fair-share": 'queue = { run_time_model = "as-logged", order = "fair-share" }',
    "multifactor": 'queue = { run_time_model = "as-logged", order = "multifactor", multifactor = '
    '{ partition_weight = 5, fair_share_weight = 50 }, partitions = [{ name = "all", nodes = '
    '"all", default = true }, { name = "2", nodes = "0-7", factor = 0.5 }] }',
    "one partition, outages": 'queue = { run_time_model = "as-logged", partitions = [{ nodes = '
    '"0-11" }], outages = { file = "outages.csv" } }',
    "a decider": 'queue = { run_time_model = "as-logged", decider = "strict", policies = '
    '["baseline"] }',
    "assumed": 'queue = { run_time_model = "assumed", assumed.scenario = "20%", policies = '
    '["baseline", "jigsaw"] }',
    "measured": "run.snapshots = 2",
    "measured, all at once": 'run.snapshots = 2\ncommunication.together = "always"',
    "measured elsewhere": 'queue.measured.table = "speedups.csv"\n'
    'communication.mix = [{ pattern = "all-to-all" }]',
    "paired": _NODE_BYTES + 'run = { snapshots = 2, measure = "paired" }',
    "steady": _NODE_BYTES + 'queue.run_time_model = "as-logged"\n'
    'run = { snapshots = 1, measure = "steady" }',
    "coupled at flow level": 'queue.run_time_model = "coupled-flow"',
    "coupled at packet level": 'queue.run_time_model = "coupled-packets"',
    "iterations": 'queue.run_time_model = "iterations"',
    "iterations that compute": 'queue.run_time_model = "iterations"\ncommunication.mix = '
    '[{ pattern = "fft3d" }]',
    "two rails": 'queue.run_time_model = "as-logged"\nrun.snapshots = 1\nmachine = { family = '
    '"dragonfly", p = 2, a = 4, g = 3, rails = 2 }',
    "partitions of a torus": 'machine = { preset = "mira-midplanes" }\n'
    'queue = { policies = ["menu", "menu-proposed"], run_time_model = "partition-bisection" }',
    "topology.conf": 'machine = { family = "topology.conf", file = "tree.conf", taper = 0.5 }\n'
    'queue.run_time_model = "coupled-flow"',
}


SILENT = ("as-logged", "assumed", "partition-bisection")
"""Run-time models that send nothing."""


def merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """The second over the first, table by table; another machine replaces the first's."""
    both = {
        key: merged(first[key], value)
        for key, value in second.items()
        if isinstance(value, Mapping) and isinstance(first.get(key), Mapping)
    }
    return {**first, **second, **both}


def base(name: str) -> dict[str, Any]:
    """The content of a config."""
    own = tomllib.loads(BASES[name])
    start = tomllib.loads(_MADE if name.startswith("generated") else _LOGGED)
    if "machine" in own:
        del start["machine"]
    found = merged(start, own)
    sends = found["run"]["snapshots"] or found["queue"].get("run_time_model") not in SILENT
    if not sends:
        del found["communication"]
    return found


def write_files(folder: Path) -> None:
    """Put the files that the configs name into a folder."""
    for name, text in FILES.items():
        (folder / name).write_text(text)
