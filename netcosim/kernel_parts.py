"""The kernels that take long to compile, by part, and the marks of those that are compiled."""

from __future__ import annotations

from pathlib import Path

from netsim.kernel_cache import cache_folder, kernel_sources, sources_hash

PACKETS, CROSSBARS, FLOWS, POLICY_SEARCH = "packets", "crossbars", "flows", "policies"
QUEUES = "queues"
"""Compiled by the first queue that needs it: its jobs decide (`queuesim.compiled.choice`)."""
PACKET_THREADS, CROSSBAR_THREADS = "packet threads", "crossbar threads"
PARTS = (PACKETS, CROSSBARS, PACKET_THREADS, CROSSBAR_THREADS, FLOWS, POLICY_SEARCH, QUEUES)
"""The kernels that take long to compile, in the order in which they are compiled."""

CALLED = {
    PACKETS: "netsim/packet/kernels_engine.py",
    CROSSBARS: "netsim/packet/kernels_crossbar_run.py",
    PACKET_THREADS: "netsim/packet/kernels_threads.py",
    CROSSBAR_THREADS: "netsim/packet/kernels_threads.py",
    FLOWS: "netsim/flow",
    POLICY_SEARCH: "alloc",
    QUEUES: "queuesim/compiled",
}
"""The kernels of each part that Python calls; what they import is compiled with them."""

USUAL_S = {
    PACKETS: 40.0,
    CROSSBARS: 40.0,
    PACKET_THREADS: 30.0,
    CROSSBAR_THREADS: 50.0,
    FLOWS: 60.0,
    POLICY_SEARCH: 25.0,
    QUEUES: 8.0,
}
"""About how long each takes to compile on an idle core, when those before it are compiled.

CPU seconds of `netcosim.warmup.warm_up` with an empty cache, on a core of an AMD EPYC.
"""


def mark_compiled(part: str) -> None:
    """Note that the cache holds all kernels of a part; a cache that cannot be written holds none.

    Numba's files are no indicator: a few are there as soon as a module is imported.
    """
    mark = mark_of(cache_folder(), part)
    try:
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
    except OSError:
        pass


def mark_of(folder: Path, part: str) -> Path:
    """The file in a cache folder that marks a part, as its sources are now, as compiled."""
    return folder / f"compiled-{part}-{sources_hash(kernel_sources(CALLED[part]))}"
