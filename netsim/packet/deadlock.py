"""Who waits for whom in a network that has stopped."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from netsim.topology import Topology

Channel = tuple[int, int]


def find_wait_cycle(waits_for: Mapping[Channel, Collection[Channel]]) -> list[Channel]:
    """A cycle in the graph "this (link, vc) waits for space held by packets of that one".

    Parameters
    ----------
    waits_for : mapping (link, vc) -> collection of (link, vc)

    Returns
    -------
    list of (link, vc)
        In waiting order, the first not repeated; empty if there is no cycle.
    """
    done: set[Channel] = set()
    for start in sorted(waits_for):
        if start in done:
            continue
        path: list[Channel] = [start]
        on_path = {start}
        todo = [iter(sorted(waits_for[start]))]
        while todo:
            after = next(todo[-1], None)
            if after is None:
                todo.pop()
                left = path.pop()
                on_path.discard(left)
                done.add(left)
            elif after in on_path:
                return path[path.index(after) :]
            elif after not in done:
                path.append(after)
                on_path.add(after)
                todo.append(iter(sorted(waits_for.get(after, ()))))
    return []


def describe_cycle(topology: Topology, cycle: Sequence[Channel]) -> str:
    """One line that names the cycle."""

    def vertex(v: int) -> str:
        return f"node {v}" if v < topology.n_nodes else f"router {v - topology.n_nodes}"

    def channel(c: Channel) -> str:
        link, vc = c
        src, dst = int(topology.link_src[link]), int(topology.link_dst[link])
        return f"link {link} ({vertex(src)} -> {vertex(dst)}) vc {vc}"

    if not cycle:
        return f"{topology.name}: packets wait and nothing moves, but no cycle was found"
    shown = [channel(c) for c in cycle[:8]] + (["..."] if len(cycle) > 8 else [])
    return f"{topology.name}: deadlock, {len(cycle)} channels wait in a cycle: " + " -> ".join(
        [*shown, channel(cycle[0])]
    )
