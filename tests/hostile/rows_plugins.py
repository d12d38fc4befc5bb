"""Plug-ins that are none, that break, and that give what they must not."""

from __future__ import annotations

import os
from pathlib import Path

from hostile.row import RUN, Row, all_of, config_text, written

HEAD = """
import numpy as np
from dataclasses import dataclass
from alloc.nodes import NodePolicy
from alloc.policy import Placement
from netsim.routing.base import RoutingEntry
from netsim.routing.shortest_path import router_distances
from netsim.routing.weighted import table_routing
from netsim.topologies.family import Family
from netsim.topologies.graph import topology_from_cables
from patterns.build import build_program, make_messages
from patterns.entry import Pattern
from queuesim.estimates import EstimateModel, Estimates
from queuesim.observables.registry import Observable
from queuesim.ordering.orders import Order
from queuesim.runtime import FixedRunTimes, RunTimeModel, RunTimes
"""


def plugin(name: str, text: str | bytes, told: str, changes: dict[str, str] | None = None) -> Row:
    """A run of a config with a plug-in file."""
    data = HEAD + text if isinstance(text, str) else text
    config = 'plugins = ["mine.py"]\n' + config_text(dict(changes or {}))
    make = all_of(written("mine.py", data), written("c.toml", config))
    return Row(f"plug-in: {name}", RUN, told, make)


def entry(name: str, text: str, key: str, told: str = "mine.py") -> Row:
    """A plug-in whose entry "mine" the config uses at ``key``."""
    value = '["mine"]' if key in ("queue.policies", "run.observables") else '"mine"'
    return plugin(name, text, told, {key: value})


def named(name: str, value: str, told: str) -> Row:
    """A value of the key itself."""
    make = written("c.toml", f"plugins = {value}\n" + config_text({}))
    return Row(f"plugins = {name}", RUN, told, make)


def fifo(folder: Path) -> None:
    os.mkfifo(folder / "mine.py")


def directory(folder: Path) -> None:
    (folder / "mine.py").mkdir()


def order(body: str) -> str:
    return f"def key(jobs):\n    {body}\nPLUGIN = [Order('mine', 'x', static_key=key)]\n"


def score(body: str) -> str:
    return f"def key(jobs, which, now):\n    {body}\nPLUGIN = [Order('mine', 'x', score=key)]\n"


def policy(body: str) -> str:
    return (
        "class Mine(NodePolicy):\n    name = 'mine'\n    description = 'x'\n"
        f"    def allocate(self, request):\n        {body}\n"
        "    def _select(self, n):\n        return None\nPLUGIN = [Mine]\n"
    )


def model(body: str) -> str:
    return (
        "@dataclass(frozen=True)\nclass Mine(RunTimeModel):\n"
        "    name = 'mine'\n    description = 'x'\n"
        f"    def prepare(self, workload, policy, rng):\n        {body}\nPLUGIN = [Mine]\n"
    )


def estimate(body: str) -> str:
    return (
        "class Told(Estimates):\n"
        f"    def walltime_s(self, job):\n        {body}\n"
        "@dataclass(frozen=True)\nclass Mine(EstimateModel):\n"
        "    name = 'mine'\n    description = 'x'\n"
        "    def prepare(self, workload):\n        return Told()\nPLUGIN = [Mine]\n"
    )


BY_WALLTIME = (
    "class Placer(NodePolicy):\n    name = 'placer'\n    description = 'x'\n"
    "    walltime_aware = True\n    def _select(self, n):\n        return None\n"
)
"""A policy that reads ``queue.estimates``."""


def pattern(body: str) -> str:
    return (
        f"def mine(n_ranks, message_bytes, iterations=1):\n    {body}\n"
        "PLUGIN = [Pattern('mine', 'x', mine)]\n"
    )


def observable(body: str) -> str:
    return f"def mine(result):\n    {body}\nPLUGIN = [Observable('mine', 'x', mine)]\n"


def routing(body: str) -> str:
    return (
        f"def mine(topology):\n    {body}\n"
        "PLUGIN = [RoutingEntry('mine', 'x', ('dragonfly',), mine)]\n"
    )


ROWS = [
    named("3", "3", "key plugins: 3; must be a list of files and modules"),
    named("[3]", "[3]", "3; must be a file or a module"),
    named("a config", '["c.toml"]', "c.toml"),
    named("empty text", '[""]', "neither a file"),
    named("a long name", f'["{"x" * 5000}.py"]', "plug-in"),
    named(
        "a pin that is a number", '[{ file = "c.toml", sha256 = 3 }]', "must be a file or a module"
    ),
    named("another pin", '[{ file = "c.toml", sha256 = "00" }]', "has changed"),
    Row(
        "plug-in: a pipe",
        RUN,
        "mine.py: cannot be read: a pipe",
        all_of(fifo, written("c.toml", 'plugins = ["mine.py"]\n' + config_text({}))),
    ),
    Row(
        "plug-in: a folder",
        RUN,
        "mine.py",
        all_of(directory, written("c.toml", 'plugins = ["mine.py"]\n' + config_text({}))),
    ),
    plugin("binary", bytes(range(256)) * 50, "mine.py"),
    plugin("UTF-16", "PLUGIN = []".encode("utf-16"), "mine.py"),
    plugin("huge", b"#" * 5_000_000, "at most 4,194,304 are read"),
    plugin("deep", "x = " + "(" * 5000 + ")" * 5000, "mine.py"),
    plugin("recursion", "def f(): return f()\nf()\n", "line 17: RecursionError"),
    plugin("itself", "PLUGIN = []\nPLUGIN.append(PLUGIN)", "is no entry of any kind"),
    entry(
        "order raises", order("raise KeyError('x')"), "queue.order", "mine.py, line 18: KeyError"
    ),
    entry(
        "score of nan",
        score("return np.full(len(which), np.nan)"),
        "queue.order",
        "one number for each",
    ),
    entry(
        "policy of text",
        policy("return 'here'"),
        "queue.policies",
        "'mine' gives 'here'; it must give a Placement",
    ),
    entry(
        "policy of halves",
        policy("return Placement(request.job_id, np.full(request.n_nodes, 0.5))"),
        "queue.policies",
        "array of whole numbers",
    ),
    entry(
        "policy of node -1",
        policy("return Placement(request.job_id, -1 - np.arange(request.n_nodes))"),
        "queue.policies",
        "node -",
    ),
    entry("model raises", model("return 1 / 0"), "queue.run_time_model", "ZeroDivisionError"),
    entry(
        "model of no time",
        model("return FixedRunTimes(workload.run_time_s * 0)"),
        "queue.run_time_model",
        "run time 0.0 s",
    ),
    plugin(
        "estimates raise",
        BY_WALLTIME + estimate("return {}[job]").replace("[Mine]", "[Mine, Placer]"),
        "KeyError",
        {"queue.estimates": '"mine"', "queue.policies": '["placer"]'},
    ),
    entry(
        "pattern to nobody",
        pattern("return build_program(n_ranks, 1, make_messages(0, 0, 99, 0, 10), iterations)"),
        "mix.pattern",
        "",
    ),
    entry("observable raises", observable("return result.nothing"), "run.observables", "line 18"),
    entry("observable of objects", observable("return [{'x': object()}]"), "run.observables", "x"),
    entry("routing of nothing", routing("return None"), "machine.routing", "must give a Routing"),
    entry(
        "routing without ways",
        routing("return table_routing(topology, 'mine', {})"),
        "machine.routing",
        "no path from router",
    ),
    entry(
        "routing round for ever",
        routing(
            "return table_routing(topology, 'mine', {(r, t): [int(l) for l in np.flatnonzero("
            "topology.link_src == r + topology.n_ports) if l >= topology.first_router_link] "
            "for r in range(topology.n_routers) for t in range(topology.n_routers)})"
        ),
        "machine.routing",
        "may cycle forever",
    ),
]
