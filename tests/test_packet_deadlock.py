"""The search for a ring of waits, against networkx."""

from __future__ import annotations

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st
from selection import examples

from netsim.packet.deadlock import waiting_cycle

channels = st.tuples(st.integers(0, 5), st.integers(0, 1))


@examples(200)
@given(st.dictionaries(channels, st.frozensets(channels, max_size=3), max_size=10))
def test_a_ring_is_found_exactly_if_there_is_one(waits):
    """Every element waits for the next, once round; none found means the graph has no cycle."""
    graph = nx.DiGraph([(a, b) for a, wanted in waits.items() for b in wanted])
    ring = waiting_cycle(waits)
    assert bool(ring) != nx.is_directed_acyclic_graph(graph)
    assert len(set(ring)) == len(ring)
    for a, b in zip(ring, ring[1:] + ring[:1], strict=True):
        assert b in waits[a]
    assert ring == [] or ring[0] == min(ring)
