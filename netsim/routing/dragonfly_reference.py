"""The hops of dragonfly routings in plain Python, only from the shape's arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Le, Lt

from netsim.errors import NetcosimError
from netsim.parameters import OneOf
from netsim.routing.base import Hop
from netsim.routing.make_tables import ejection
from netsim.topologies.dragonfly import DragonflyShape
from netsim.topologies.dragonfly_plus import DragonflyPlusShape
from netsim.topology import Topology

NOT_CHOSEN = 3

COMPARES = ("output-queue", "output-bytes", "used-credits")
"""What UGAL can compare, in the order of the kernels' numbers."""

_FS_PER_S = 10**15
_ENDLESS_FS = 4 * 10**18
"""More than any bias that matters; twice this fits into 64 bits."""


@dataclass(frozen=True)
class Ugal:
    """Choice of UGAL and PAR between a minimal and a Valiant path.

    Minimal if ``seen_min * H_min <= seen_val * H_val + margin``. What is seen of links is defined
    in docs/packet-model.md, "Link state visible to routings".
    """

    compares: str = "used-credits"
    """One of `COMPARES`: what is seen of each path's link. "output-queue": ``load``;
    "output-bytes": ``queued``; "used-credits": ``used``, as time."""
    weight: int | None = None
    """``H_val`` if ``H_min`` is 1; the numbers of links of the paths if None."""
    bias_ps: int = 0
    """The margin, where times are compared."""
    threshold_bytes: int = 0
    """The margin, where bytes are compared."""
    nearest: bool = False
    """Of "minimal": whether it draws only among the global links with the shortest path."""
    counts_bids: bool = True
    """Whether heads that bid for a link count for it."""

    @property
    def margin(self) -> int:
        """In what is compared, but for "output-queue": bytes, or femtoseconds."""
        if self.compares == "output-bytes":
            return self.threshold_bytes
        return max(-_ENDLESS_FS, min(1000 * self.bias_ps, _ENDLESS_FS))


MAX_BIAS_S = 3_000_000
"""A third of what 64 bits of picoseconds hold: loads are added to it."""
BiasS = Annotated[
    float, "added to the Valiant side of the comparison", Gt(-MAX_BIAS_S), Lt(MAX_BIAS_S)
]
ThresholdBytes = Annotated[
    int, "added to the Valiant side where bytes are compared", Ge(0), Le(2**40)
]


@dataclass(frozen=True)
class UgalKeys:
    """What UGAL and PAR compare, as a config has it."""

    ugal_compares: Annotated[
        str | None,
        "what is compared: time until the router's own output is free, bytes that wait there, or "
        "used credits; used credits if left out, on a dragonfly+ the output queue, all it has",
        OneOf(COMPARES),
    ] = None
    ugal_weight: Annotated[
        int | None,
        "how many times the Valiant path's side counts; the paths' numbers of links if left out",
        Ge(1),
        Le(16),
    ] = None
    ugal_threshold_bytes: ThresholdBytes = 0
    ugal_bias_s: BiasS = 0.0
    ugal_counts_bids: Annotated[
        bool,
        "whether packets count for an output while they bid for the crossbar; of no matter where "
        "the output queue is compared",
    ] = True

    def choice(self, topology: Topology) -> Ugal:
        """Return the choice that they describe on a network."""
        compares, weight, bias_s = self.ugal_compares, self.ugal_weight, self.ugal_bias_s
        threshold_bytes = self.ugal_threshold_bytes
        if isinstance(topology.shape, DragonflyPlusShape):
            if compares not in (None, "output-queue"):
                raise NetcosimError(
                    f"ugal_compares = {compares}: a dragonfly+ has only output-queue"
                )
            if weight is not None:
                raise NetcosimError(f"ugal_weight = {weight}: a dragonfly+ weighs only by links")
            compares = "output-queue"
        compares = "used-credits" if compares is None else compares
        in_bytes = compares == "output-bytes"
        if threshold_bytes and not in_bytes:
            raise NetcosimError(
                f"ugal_threshold_bytes = {threshold_bytes}: {compares} compares times, with "
                "ugal_bias_s"
            )
        if bias_s and in_bytes:
            raise NetcosimError(
                f"ugal_bias_s = {bias_s}: {compares} compares bytes, with ugal_threshold_bytes"
            )
        bias_ps, counts_bids = round(bias_s * 1e12), self.ugal_counts_bids
        return Ugal(compares, weight, bias_ps, threshold_bytes, counts_bids=counts_bids)


def fs_per_byte(bandwidth_Bps: int) -> int:
    """Return the femtoseconds that a link takes for a byte (docs/packet-model.md)."""
    return (_FS_PER_S + bandwidth_Bps // 2) // bandwidth_Bps


def copy_bits(copies: int) -> int:
    """Return the number of bits of a number in 0..copies-1."""
    return max(copies - 1, 0).bit_length()


def judges_inside(topology: Topology, shape: DragonflyShape, name: str) -> bool:
    """Return whether UGAL or PAR decides within a group, too: where one minimal path cannot carry
    what a node sends, or routers of a group are not all joined."""
    local = topology.link_bandwidth_Bps[shape.first_local_link : shape.first_global_link]
    port_Bps = topology.link_bandwidth_Bps[: topology.n_ports].max()
    narrow = shape.group != "all-to-all" or bool(np.any(local < port_Bps))
    return name in ("ugal-l", "ugal-g", "par") and narrow


class DragonflyReference:
    """`choices` of one dragonfly routing."""

    inside_too = True
    """Whether UGAL decides within a group, too (`judges_inside`)."""

    def __init__(self, topology: Topology, shape: DragonflyShape, name: str, ugal: Ugal) -> None:
        self.topology, self.s, self.name, self.ugal = topology, shape, name, ugal
        self.bits = copy_bits(shape.global_links_per_pair)
        self.merlin = name.startswith("merlin-")
        self.detours_always = name in ("valiant", "valiant-local", "merlin-valiant")
        self.adapts = name in ("adaptive-local", "merlin-adaptive-local")
        self.judges_inside = self.inside_too and judges_inside(topology, shape, name)
        self.detours_inside = (
            self.adapts or self.judges_inside or name in ("valiant-local", "merlin-valiant")
        )

    # Positions

    def router_of(self, node: int) -> int:
        return int(self.topology.port_router[node])

    def ends(self, link: int) -> tuple[int, int]:
        n = self.topology.n_ports
        return int(self.topology.link_src[link]) - n, int(self.topology.link_dst[link]) - n

    def link_toward(self, router: int, target: int) -> int:
        """Return the next link to another router of the group."""
        group, r = divmod(router, self.s.a)
        return self.s.local_link(group, r, self.s.local_step(r, target % self.s.a))

    def local_hops(self, r: int, t: int) -> int:
        return self.s.local_hops(r % self.s.a, t % self.s.a)

    def plan(self, group: int, first: int, second: int) -> int:
        size = 1 << self.bits
        return 1 + (group * size + first) * size + second

    def parts(self, plan: int) -> tuple[int, int, int]:
        """Return the group, the first and the second copy of a plan."""
        size = 1 << self.bits
        rest, second = divmod(plan - 1, size)
        return *divmod(rest, size), second

    def middles(self, own_group: int, target: int) -> list[int]:
        return [m for m in range(self.s.g) if m not in (own_group, target)]

    def copies(self, router: int, dst_router: int) -> list[int]:
        """Return the copies of the links to the destination's group that minimal paths may take."""
        copies = range(self.s.global_links_per_pair)
        hops = [self.minimal_hops(router, dst_router, copy) for copy in copies]
        return [copy for copy in copies if not self.ugal.nearest or hops[copy] == min(hops)]

    def minimal_hops(self, router: int, dst_router: int, copy: int) -> int:
        """Return the links of the minimal path over a copy of the links between two groups."""
        link = self.s.global_link(router // self.s.a, dst_router // self.s.a, copy)
        sender, receiver = self.ends(link)
        return self.local_hops(router, sender) + 1 + self.local_hops(receiver, dst_router)

    def vias(self, router: int, dst_router: int) -> list[int]:
        """Return the routers of the group that are drawn for a packet within the group.

        merlin draws the destination's own too: that packet goes directly.
        """
        base = router - router % self.s.a
        never = (router,) if self.merlin else (router, dst_router)
        return [r for r in range(base, base + self.s.a) if r not in never]

    # Hops

    def hop(self, router: int, target: int, taken: int, plan: int) -> Hop:
        """Return the next hop of a plan in a group that is not the destination's."""
        own_group = router // self.s.a
        group, first, second = self.parts(plan)
        link = self.s.global_link(own_group, *((group, first) if taken == 0 else (target, second)))
        owner, _ = self.ends(link)
        if owner == router:
            unsure = self.adapts and taken == 0 and group != target
            return Hop(link, taken, plan * 4 + (NOT_CHOSEN if unsure else taken + 1))
        # PAR leaves channel 0 to packets that may still be sent on a detour on channel 1
        later = self.name == "par" and (taken > 0 or group != target)
        return Hop(self.link_toward(router, owner), taken + later, plan * 4 + taken)

    def inside(self, router: int, via: int) -> Hop:
        """Return the hop toward the router by which a packet within the group goes."""
        return Hop(self.link_toward(router, via), 0, (1 + via % self.s.a) * 4)

    def settled(self, router: int, dst_node: int, state: int) -> Hop | None:
        """Return the hop, where nothing is left to decide."""
        dst_router = self.router_of(dst_node)
        if router == dst_router:
            return ejection(self.topology, dst_node, state)
        own_group, target = router // self.s.a, dst_router // self.s.a
        plan, taken = divmod(state, 4)
        if own_group == target:
            if self.detours_inside and taken == 0:
                if plan == 0:
                    return None
                via = own_group * self.s.a + plan - 1
                if via != router:
                    return self.inside(router, via)
                plan, taken, state = 0, 1, 1
            # after a detour in the group the plan is 0
            vc = taken + 1 if self.name == "par" and taken and plan else taken
            return Hop(self.link_toward(router, dst_router), vc, state)
        may_turn = self.name == "par" and taken == 0 and self.parts(plan)[0] == target
        if plan == 0 or taken == NOT_CHOSEN or may_turn:
            return None
        return self.hop(router, target, taken, plan)

    def choices(self, router: int, dst_node: int, state: int) -> list[Hop]:
        settled = self.settled(router, dst_node, state)
        if settled is not None:
            return [settled]
        dst_router, s = self.router_of(dst_node), self.s
        own_group, target = router // s.a, dst_router // s.a
        if own_group == target:
            vias = self.vias(router, dst_router)
            if self.adapts or self.judges_inside or not vias:
                vias = [dst_router, *vias]
            return [self.inside(router, via) for via in dict.fromkeys(vias)]
        k, plan = s.global_links_per_pair, state // 4
        if state % 4 == NOT_CHOSEN:
            group, first, second = self.parts(plan)
            seconds = {second, (second + 1) % k}
            return [self.hop(router, target, 1, self.plan(group, first, c)) for c in seconds]
        copies, middles, plans = range(k), self.middles(own_group, target), []
        if plan:
            plans.append(plan)
        elif not self.detours_always or not middles:
            plans += [self.plan(target, c, 0) for c in self.copies(router, dst_router)]
        if self.name != "minimal":
            plans += [self.plan(m, c1, c2) for m, c1, c2 in product(middles, copies, copies)]
        return [self.hop(router, target, 0, plan) for plan in plans]
