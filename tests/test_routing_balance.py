"""How evenly routings load the links of a kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
import pytest
from routing_machines import small_machines

from netsim.errors import NetcosimError
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing
from netsim.topologies.dragonfly import dragonfly
from netsim.topologies.dragonfly_plus import dragonfly_plus
from netsim.topologies.hyperx import hypercube, hyperx
from netsim.topologies.slimfly import slimfly
from netsim.topologies.torus import torus
from netsim.topology import Topology

MOST = 1.1
"""Load of the busiest link of a kind over the kind's mean, under uniform traffic, where shortest
paths load them alike; elsewhere as many times what these do with all ties split evenly."""
UNEVEN = {
    "fattree(m1=2, m2=3, m3=2, w2=3, w3=2)": "a leaf's 2 nodes are at 2 of its 3 up ports",
    "blocks.conf": "3 ends for 2 links",
}
"""Machines where whole flows, dealt out by destination, cannot come that near."""


def link_loads(routing: Routing, pairs: Iterable[tuple[int, int]] | None = None) -> np.ndarray:
    """Packets on each link, (n_links,): all pairs of ports of a rail, or these; draws count by
    their chances."""
    t = routing.topology
    if pairs is None:
        ports = range(t.n_ports)
        same_rail = ((s, d) for s in ports for d in ports if (s - d) % t.rails == 0)
        pairs = [(s, d) for s, d in same_rail if s // t.rails != d // t.rails]
    by_end: dict[int, dict[tuple[int, int], float]] = defaultdict(lambda: defaultdict(float))
    for src, dst in pairs:
        by_end[dst][int(t.port_router[src]), 0] += 1.0
    load = np.zeros(t.n_links)
    for dst, packets in by_end.items():
        while packets:
            onward: dict[tuple[int, int], float] = defaultdict(float)
            for (router, state), count in packets.items():
                hops = routing.choices(router, dst, state)
                for hop in hops:
                    load[hop.link] += count / len(hops)
                    if hop.link >= t.first_router_link:
                        after = int(t.link_dst[hop.link]) - t.n_ports
                        onward[after, hop.state] += count / len(hops)
            packets = onward
    return load


def unevenness(routing: Routing) -> float:
    """Load of the busiest link over the mean of its kind, of all kinds."""
    t, load = routing.topology, link_loads(routing)
    kinds = (load[t.link_kind == kind] for kind in range(len(t.kinds)))
    return max(part.max() / part.mean() for part in kinds if part.any())


MACHINES = (
    *small_machines(),
    hyperx([4, 4, 4]),
    hypercube(5),
    torus([8, 8]),
    torus([2, 4], double_links_for_two=True),
    dragonfly(1, 4, 4, 3),
    dragonfly_plus(2, 2, 2, 5, 2),
    slimfly(5),
)


@pytest.mark.parametrize("t", MACHINES, ids=lambda t: t.name)
def test_uniform_traffic_loads_links_of_a_kind_evenly(t: Topology) -> None:
    split_ties = max(1.0, unevenness(make_routing(t, "adaptive-shortest-path")))
    assert (unevenness(make_routing(t)) > MOST * split_ties) == (t.name in UNEVEN)


def test_dimension_order_on_a_hyperx() -> None:
    """On 3 x 4, a link to another row carries what its router sends to the 4 of that row, a link
    within a row what the 3 of its router's column send to its end."""
    t = hyperx([4, 4, 4])
    load = link_loads(make_routing(t))[t.first_router_link :]
    assert set(load) == {16.0}
    t = hyperx([3, 4])
    load = link_loads(make_routing(t))[t.first_router_link :]
    assert sorted(set(load)) == [3.0, 4.0]
    hops = make_routing(t).choices(0, 11, 0)
    assert [int(t.link_dst[hop.link]) - t.n_ports for hop in hops] == [8]  # row 2, column 0
    assert make_routing(t).n_vcs == 1
    with pytest.raises(NetcosimError, match="a hyperx has no rings"):
        make_routing(t, "dimension-order", {"ring_ties": "drawn"})


def test_ties_under_transpose_take_both_directions() -> None:
    """On 8 x 8, of the 7 packets of each row that turn at its diagonal one has a tie: 4 and 3 come
    from the sides, 3.5 from each if every packet draws. Both directions carry the same."""
    t = torus([8, 8])
    pairs = [(8 * x + y, 8 * y + x) for x in range(8) for y in range(8) if x != y]
    for ties, most in (("static", 4.0), ("drawn", 3.5)):
        routing = make_routing(t, "dimension-order", {"ring_ties": ties})
        assert routing.random_visits == (ties == "drawn")
        load = link_loads(routing, pairs)
        assert load[t.first_router_link :].max() == most
        totals = [load[t.kind_mask(kind)].sum() for kind in ("d0+", "d0-", "d1+", "d1-")]
        assert totals == [64.0] * 4


def test_minimal_over_any_global_link_and_over_the_nearest() -> None:
    """4 links a pair of groups, one on each router: of 15 others 3 are 1 link away.

    To the other 12: 3/4 + 1 + 3/4 over any link. Over the nearest, the router's own: 1 + 3/4.
    """
    t = dragonfly(1, 4, 4, 3)
    for choice, links in (("any", 2.2), ("nearest", 1.6)):
        load = link_loads(make_routing(t, "minimal", {"minimal_global_link": choice}))
        assert load[t.first_router_link :].sum() / (16 * 15) == pytest.approx(links)
        assert set(load[t.kind_mask("global")]) == {4.0}
    plus = dragonfly_plus(1, 2, 2, 5, 2)
    with pytest.raises(NetcosimError, match="minimal_global_link = nearest; allowed on a dragonf"):
        make_routing(plus, "minimal", {"minimal_global_link": "nearest"})
