"""Minimal, Valiant, UGAL and progressive adaptive routing on dragonflies.

Between two groups a packet takes one global link (minimal) or two, through an intermediate group
drawn uniformly from all but the source's and the destination's (Valiant; Kim et al., ISCA 2008).
Where several links join two groups, one is drawn, near or far; the whole path is fixed at the
source router. With ``minimal_global_link = "nearest"``, "minimal" draws among those with the
shortest path. Packets within a group, and all packets of a machine of two groups, go minimally.

- **UGAL** decides once, at the source router, between the drawn minimal path and one drawn
  Valiant path; see `netsim.routing.dragonfly_reference.Ugal`. It compares each path's first
  link ("ugal-l"), or at the global link with which the path leaves the source group, wherever it
  sits ("ugal-g").
  In a group whose routers are not all joined, or whose links are slower than a node's, it also
  decides for packets that stay within the group, between the minimal path and one through another
  router of the group, by the first links of both.
- **PAR** (Jiang, Kim and Dally, ISCA 2009) decides as UGAL-L, and a packet that goes minimally
  decides again at every router of the source group, against another drawn Valiant path.
- **valiant-local** and **adaptive-local** also detour inside a group: through a router of the
  group drawn from all but the packet's own and the destination's.
- **adaptive-local** is near that of SST's merlin. The source router looks at the space of channel 0
  of the next links (``room``, at least 0) and takes the detour if it has more than twice that of
  the direct path. Where several links join two groups it compares two, the drawn copy and the one
  after it, and takes that with more room; so does the first router of the intermediate group.
- **merlin-valiant**, **merlin-adaptive-local** and **merlin-ugal** follow merlin's rules as they
  are. The first two differ from valiant-local and adaptive-local in this: the router that is drawn
  inside a group may be the destination's, and the packet then goes directly; merlin-valiant is
  minimal among fewer than three groups; and the space is that of the output buffer of channel 0
  (``queue_free``), also in the intermediate group. `netsim.routing.dragonfly_merlin` has the
  third. Where several links join two groups, merlin goes by the number of the source; here the copy
  is drawn.
- **valiant_intermediate = "node"** draws a node in place of a group, as BookSim2 does
  (`netsim.routing.dragonfly_node`).

Virtual channel = number of global links taken so far; channels of one number within a
group are acyclic (an aries group goes along the chassis, then along the slot), so the
order local 0, global 0, local 1, global 1, local 2 admits no cycle. A detour inside a group takes
local 0, then local 1, in that order too. PAR: local 0 while the packet may still turn, local 1 on
the path to a Valiant path's global link; local 0, local 1, global 0, local 2, global 1, local 3:
four channels.

State: ``plan * 4 + taken``: global links taken, and ``1 + (group * B + first) * B + second``:
the group to go to first (the intermediate or the destination's), which of the K links
leads there, and which of the K links leads from there to the destination's group; B is the
least power of two that is at least K. Plan 0 is "not decided yet"; taken 3 is 1 with ``second``
not yet chosen (adaptive-local). In the group of its destination a packet that has taken no global
link has plan ``1 + r``: local router r is next (where a routing detours inside a group).

Kernel tables: params = bias (in time units of the caller; 0th, as for all routings), a, g, K,
local links a group, first local link, first global link, routers, global links, log2 B, what is
compared, weight (0: numbers of links), margin, whether minimal paths take the nearest link,
whether UGAL decides within a group, then femtoseconds a byte of each speed.
table_a: (a, a) place of the next local link within the group's, then (a, a) hops within a
group. table_b: (routers, g, K) next link toward the global link to a group, then (g, g, K)
global links. table_c: group of each router, then the sending and then the receiving
router of each global link, then which speed each link between routers has.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.limits import need_memory
from netsim.parameters import OneOf
from netsim.routing import kernels_dragonfly as kernels
from netsim.routing.base import Routing, RoutingEntry
from netsim.routing.dragonfly_merlin import MARGIN_BYTES, MerlinUgal
from netsim.routing.dragonfly_node import ByNode
from netsim.routing.dragonfly_plus import dragonfly_plus_routing
from netsim.routing.dragonfly_reference import (
    COMPARES,
    BiasS,
    DragonflyReference,
    ThresholdBytes,
    Ugal,
    UgalKeys,
    copy_bits,
    fs_per_byte,
)
from netsim.routing.kernels_dragonfly_node import UGAL_NODE, VALIANT_NODE
from netsim.routing.make_tables import make_tables
from netsim.routing.tables import RouteTables
from netsim.topologies.dragonfly import DragonflyShape
from netsim.topologies.dragonfly_plus import DragonflyPlusShape
from netsim.topology import Topology

CODES = {
    "minimal": kernels.MINIMAL,
    "valiant": kernels.VALIANT,
    "ugal-l": kernels.UGAL_L,
    "ugal-g": kernels.UGAL_G,
    "par": kernels.PAR,
    "valiant-local": kernels.VALIANT_LOCAL,
    "adaptive-local": kernels.ADAPTIVE_LOCAL,
    "merlin-valiant": kernels.MERLIN_VALIANT,
    "merlin-adaptive-local": kernels.MERLIN_ADAPTIVE,
    "merlin-ugal": kernels.MERLIN_UGAL,
    "valiant by node": VALIANT_NODE,
    "ugal-l by node": UGAL_NODE,
}
"""Kernel of each rule: a routing's name, or one of `BY_NODE`."""
BY_NODE = {"valiant": "valiant by node", "ugal-l": "ugal-l by node"}
INTERMEDIATES = ("group", "node")
GLOBAL_LINKS = ("any", "nearest")

_TABLE_BYTES = 40
"""Peak while the tables are built, for each path from a router to a group."""


def _channels(name: str, g: int, inside: bool) -> int:
    """Return the number of virtual channels that a routing needs among ``g`` groups.

    ``inside``: whether it may detour within a group.
    """
    if name in BY_NODE.values():
        return 4
    if name == "merlin-ugal":
        return 3
    if g == 1:
        return 2 if inside else 1
    if name == "par":
        return 4 if g > 2 else 3
    return 2 if name == "minimal" or g == 2 else 3


def _local_steps(s: DragonflyShape) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the next local link, within a group's, and the hops from each router to each."""
    a = s.a
    neighbours = [{t: i for i, t in enumerate(s.local_neighbours(r))} for r in range(a)]
    link, hops = np.zeros((a, a), dtype=np.int64), np.zeros((a, a), dtype=np.int64)
    for r, t in product(range(a), range(a)):
        if r != t:
            link[r, t] = r * s.local_degree + neighbours[r][s.local_step(r, t)]
            hops[r, t] = s.local_hops(r, t)
    return link, hops


def _tables(
    topology: Topology, name: str, reference: DragonflyReference, n_vcs: int
) -> RouteTables:
    s, ugal = reference.s, reference.ugal
    a, g, k = s.a, s.g, s.global_links_per_pair
    bits = max(copy_bits(k), int(name == "merlin-ugal"))
    places = s.n_routers if name in BY_NODE.values() else g
    if places << (2 * bits + 2) >= 2**31:
        raise NetcosimError(f"{topology.name}: {k} links a pair of groups are too many to route")
    need_memory(
        f"{topology.name}: routing tables of {s.n_routers:,} routers and {g:,} groups",
        s.n_routers * g * max(k, 1) * _TABLE_BYTES,
    )
    link, hops = _local_steps(s)
    pairs = np.full((g, g, max(k, 1)), -1, dtype=np.int64)
    for src, dst, copy in product(range(g), range(g), range(k)):
        if src != dst:
            pairs[src, dst, copy] = s.global_link(src, dst, copy)
    group = np.arange(s.n_routers) // a
    senders = np.zeros_like(pairs)
    known = pairs >= 0
    senders[known] = topology.link_src[pairs[known]] - topology.n_ports
    owner = senders[group] % a
    own = np.arange(s.n_routers)[:, None, None] % a
    local = s.first_local_link + group[:, None, None] * a * s.local_degree + link[own, owner]
    toward = np.where(owner == own, pairs[group], local)
    ends = slice(s.first_global_link, None)
    speeds, speed = np.unique(
        topology.link_bandwidth_Bps[s.first_local_link :], return_inverse=True
    )
    params = (
        ugal.bias_ps,
        a,
        g,
        k,
        a * s.local_degree,
        s.first_local_link,
        s.first_global_link,
        s.n_routers,
        g * s.global_links_per_group,
        bits,
        COMPARES.index(ugal.compares),
        ugal.weight or 0,
        ugal.margin,
        int(ugal.nearest),
        int(reference.judges_inside),
        *(fs_per_byte(int(bandwidth)) for bandwidth in speeds),
    )
    table_c = np.concatenate(
        [
            group,
            topology.link_src[ends] - topology.n_ports,
            topology.link_dst[ends] - topology.n_ports,
            speed.ravel(),
        ]
    )
    table_a = np.concatenate([link.ravel(), hops.ravel()])
    table_b = np.concatenate([toward.ravel(), pairs.ravel()])
    return make_tables(topology, CODES[name], n_vcs, params, table_a, table_b, table_c)


def _random_visits(name: str, s: DragonflyShape) -> int:
    """Return the routers, from the first, at which a packet may draw or compare."""
    inside = 1 + (2 if s.group == "aries" else 1)
    if name == "par":
        return inside
    if name in ("adaptive-local", "merlin-adaptive-local", "merlin-ugal"):
        return inside + 1  # the source group, and the first router of the next
    return int(name != "minimal" or s.global_links_per_pair > 1)


def dragonfly_routing(
    topology: Topology,
    name: str,
    ugal: Ugal | None = None,
    *,
    intermediate: str = INTERMEDIATES[0],
) -> Routing:
    """Build one of `CODES` on a dragonfly, or those that it has on a dragonfly+.

    ``ugal`` is of "ugal-l", "ugal-g" and "par". Its bias is ``params[0]`` of the tables in
    picoseconds; an engine that counts in other ticks divides it there. "valiant" and "ugal-l" draw
    a "group" or a "node".
    """
    shape = topology.shape
    ugal = Ugal("output-queue") if ugal is None else ugal
    if isinstance(shape, DragonflyPlusShape):
        if intermediate != "group":
            raise NetcosimError(
                f"valiant_intermediate = {intermediate}; allowed on a dragonfly+: group"
            )
        if ugal.nearest:
            raise NetcosimError("minimal_global_link = nearest; allowed on a dragonfly+: any")
        return dragonfly_plus_routing(topology, name, bias_ps=ugal.bias_ps)
    assert isinstance(shape, DragonflyShape)
    rule = name
    if intermediate == "node" and shape.g > 1:
        rule = BY_NODE[name]
    elif name == "merlin-valiant" and shape.g <= 2:
        rule = "minimal"
    reference = _reference(topology, shape, rule, ugal)
    n_vcs = _channels(rule, shape.g, reference.detours_inside)
    queues = name in ("merlin-adaptive-local", "merlin-ugal")
    judges = name in ("ugal-l", "par") and ugal.compares == "used-credits"
    return Routing(
        name=name,
        topology=topology,
        n_vcs=n_vcs,
        adaptive=queues or name in ("ugal-l", "ugal-g", "par", "adaptive-local"),
        tables=_tables(topology, rule, reference, n_vcs),
        choices=reference.choices,
        random_visits=_random_visits(rule, shape),
        compares_credits=judges or name == "adaptive-local",
        looks_far=name == "ugal-g",
        counts_bids=ugal.counts_bids and not queues,
        compares_queues=queues,
    )


def _reference(
    topology: Topology, shape: DragonflyShape, rule: str, ugal: Ugal
) -> DragonflyReference:
    """Return the plain form of a rule."""
    if rule == "merlin-ugal":
        return MerlinUgal(topology, shape, ugal)
    for name, by_node in BY_NODE.items():
        if rule == by_node:
            return ByNode(topology, shape, name, ugal)
    return DragonflyReference(topology, shape, rule, ugal)


Intermediate = Annotated[
    str, "what a Valiant path is drawn by: a group, or a node of any group", OneOf(INTERMEDIATES)
]


def ugal_l(
    topology: Topology,
    keys: Annotated[UgalKeys, "see the class"] = UgalKeys(),
    valiant_intermediate: Intermediate = "group",
) -> Routing:
    """Build "ugal-l"; see `dragonfly_routing`."""
    ugal = keys.choice(topology)
    return dragonfly_routing(topology, "ugal-l", ugal, intermediate=valiant_intermediate)


def par(topology: Topology, keys: Annotated[UgalKeys, "see the class"] = UgalKeys()) -> Routing:
    """Build "par"; see `dragonfly_routing`."""
    return dragonfly_routing(topology, "par", keys.choice(topology))


def ugal_g(topology: Topology, ugal_bias_s: BiasS = 0.0) -> Routing:
    """Build "ugal-g"; see `dragonfly_routing`."""
    ugal = UgalKeys("output-queue", ugal_bias_s=ugal_bias_s).choice(topology)
    return dragonfly_routing(topology, "ugal-g", ugal)


GlobalLink = Annotated[
    str, "drawn from all links between two groups, or from the nearest", OneOf(GLOBAL_LINKS)
]


def minimal(topology: Topology, minimal_global_link: GlobalLink = "any") -> Routing:
    """Build "minimal"; see `dragonfly_routing`."""
    ugal = Ugal("output-queue", nearest=minimal_global_link == "nearest")
    return dragonfly_routing(topology, "minimal", ugal)


def valiant(topology: Topology, valiant_intermediate: Intermediate = "group") -> Routing:
    """Build "valiant"; see `dragonfly_routing`."""
    return dragonfly_routing(topology, "valiant", intermediate=valiant_intermediate)


def merlin_ugal(topology: Topology, ugal_threshold_bytes: ThresholdBytes = MARGIN_BYTES) -> Routing:
    """Build "merlin-ugal"; see `netsim.routing.dragonfly_merlin`."""
    ugal = Ugal("output-bytes", threshold_bytes=ugal_threshold_bytes)
    return dragonfly_routing(topology, "merlin-ugal", ugal)


def _plain(name: str) -> Callable[[Topology], Routing]:
    """Return the builder of a routing without parameters."""

    def build(topology: Topology) -> Routing:
        return dragonfly_routing(topology, name)

    return build


_DRAGONFLY, _BOTH = ("dragonfly",), ("dragonfly", "dragonfly-plus")
ROUTINGS = tuple(
    RoutingEntry(name, description, families, build)
    for name, description, families, build in (
        ("minimal", "at most one global link, any that joins the groups, drawn", _BOTH, minimal),
        ("valiant", "through a random intermediate group", _BOTH, valiant),
        (
            "valiant-local",
            "as valiant, and within a group through a random other router",
            _DRAGONFLY,
            _plain("valiant-local"),
        ),
        ("ugal-l", "minimal or Valiant, as the source router's links look to it", _BOTH, ugal_l),
        (
            "ugal-g",
            "minimal or Valiant, by the loads of the source group's global links",
            _BOTH,
            ugal_g,
        ),
        ("par", "as ugal-l, and again at each router until it leaves the group", _DRAGONFLY, par),
        (
            "adaptive-local",
            "minimal or a detour, inside a group too, by free credits",
            _DRAGONFLY,
            _plain("adaptive-local"),
        ),
        (
            "merlin-valiant",
            "Valiant as SST's merlin has it, which draws any other router inside a group",
            _DRAGONFLY,
            _plain("merlin-valiant"),
        ),
        (
            "merlin-adaptive-local",
            "adaptive-local as SST's merlin has it, by free space of output buffers",
            _DRAGONFLY,
            _plain("merlin-adaptive-local"),
        ),
        (
            "merlin-ugal",
            "UGAL as SST's merlin has it, by output queues, inside a group too",
            _DRAGONFLY,
            merlin_ugal,
        ),
    )
)
