"""The kernels that take long to compile, by part, and the marks of those that are compiled."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from netsim.kernel_cache import cache_folder, kernel_sources, sources_hash


class Part(NamedTuple):
    """Kernels that are compiled together."""

    called: str
    """The kernels that Python calls, a file or a folder; what they import is compiled with them."""

    usual_s: float
    """About how long it takes on an idle core, when those before it in `PARTS` are compiled.

    CPU seconds of `netcosim.warmup.warm_up` with an empty cache, on a core of an AMD EPYC.
    """

    alone_s: float = 0.0
    """The same if no other part of these kernels is compiled, where that takes longer."""


PACKETS = {
    "StaticTables": "packets of static routings",
    "UgalTables": "packets of UGAL",
    "RouteTables": "packets",
}
"""Parts by the class of a routing's tables (`netsim.packet.routing_tables.tables_class`)."""

CROSSBARS = "crossbars"
PACKET_THREADS, CROSSBAR_THREADS = "packet threads", "crossbar threads"
FLOWS, JOB_FLOWS, WALKS = "flows", "flows of jobs", "paths by draws and loads"
QUEUES = {
    (False, False): "queues",
    (True, False): "queues by score",
    (False, True): "conservative queues",
    (True, True): "conservative queues by score",
}
"""Parts by whether scores order the jobs, and whether backfilling is conservative.

Compiled by the first queue that needs it: its jobs decide (`queuesim.compiled.choice`).
"""

PLACED = {
    "TA search": "queues under TA",
    "isolating search": "queues under isolating policies",
    "least-constrained search": "queues under least-constrained policies",
}
"""Parts by the kernels of a policy whose search is in the queue's kernel."""

PARTS = {
    PACKETS["StaticTables"]: Part("netsim/packet/kernels_engine.py", 12),
    PACKETS["UgalTables"]: Part("netsim/packet/kernels_engine.py", 5.5, alone_s=13),
    PACKETS["RouteTables"]: Part("netsim/packet/kernels_engine.py", 12, alone_s=20),
    CROSSBARS: Part("netsim/packet/crossbar", 13),
    PACKET_THREADS: Part("netsim/packet/kernels_threads.py", 12),
    CROSSBAR_THREADS: Part("netsim/packet/kernels_threads.py", 14),
    JOB_FLOWS: Part("netsim/flow", 10),
    WALKS: Part("netsim/flow", 7),
    FLOWS: Part("netsim/flow", 10),
    "TA search": Part("alloc/fattree/kernels_ta.py", 1),
    "isolating search": Part("alloc/fattree/kernels_search.py", 4),
    "least-constrained search": Part("alloc/fattree/kernels_least.py", 4.5),
    "Slurm tree": Part("alloc/hierarchy/kernels_leaves.py", 0.5),
    **{part: Part("queuesim/compiled", 1.5) for part in QUEUES.values()},
    PLACED["TA search"]: Part("queuesim/compiled", 5.5),
    PLACED["isolating search"]: Part("queuesim/compiled", 6.5),
    PLACED["least-constrained search"]: Part("queuesim/compiled", 8),
}
"""The kernels that take long to compile, in the order in which they are compiled.

A policy names its part, `alloc.policy.Policy.kernels`.
"""


def usual_times_s(parts: Sequence[str]) -> list[float]:
    """Return about how long it takes to compile each of these parts, in this order."""
    folder = cache_folder()
    others = [part for part in PARTS if part not in parts and mark_of(folder, part).exists()]
    known = {PARTS[part].called for part in others}
    found = []
    for part in parts:
        called, usual_s, alone_s = PARTS[part]
        found.append(usual_s if called in known else max(usual_s, alone_s))
        known.add(called)
    return found


def mark_compiled(part: str) -> None:
    """Record that the cache holds all kernels of a part; do nothing if it cannot be written.

    Numba's files are no indicator: a few exist as soon as a module is imported.
    """
    mark = mark_of(cache_folder(), part)
    try:
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
    except OSError:
        pass


def mark_of(folder: Path, part: str) -> Path:
    """Return the file in a cache folder that marks a part, with its sources, as compiled."""
    called = kernel_sources(PARTS[part].called)
    return folder / f"compiled-{part.replace(' ', '-')}-{sources_hash(called)}"
