"""No routing can deadlock; the test itself finds a ring where there is one."""

from __future__ import annotations

import dataclasses

import pytest
from routing_machines import on_every_routing

from netsim.errors import NetcosimError
from netsim.routing.base import Hop, Routing
from netsim.routing.deadlock import find_cycle
from netsim.routing.registry import make_routing
from netsim.topologies.dragonfly import GroupLinks, dragonfly
from netsim.topologies.torus import torus


@on_every_routing
def test_channel_dependencies_have_no_cycle(routing: Routing) -> None:
    assert find_cycle(routing) is None


def test_an_aries_group_needs_one_channel() -> None:
    assert find_cycle(make_routing(dragonfly(1, 96, 1, group="aries"), "minimal")) is None


@pytest.mark.parametrize("name", ["ugal-l", "ugal-g", "par"])
@pytest.mark.parametrize("g", [1, 2, 4])
def test_detours_inside_slow_groups_have_no_cycle(name: str, g: int) -> None:
    """In the order of all channels; on one channel they have a cycle."""
    routing = make_routing(
        dragonfly(1, 4, g, links=GroupLinks(local_bandwidth_Bps=5 * 10**8)), name
    )
    assert find_cycle(routing) is None
    assert find_cycle(on_one_channel(routing)) is not None


def on_one_channel(routing: Routing) -> Routing:
    def choices(router: int, dst: int, state: int) -> list[Hop]:
        return [hop._replace(vc=0) for hop in routing.choices(router, dst, state)]

    return dataclasses.replace(routing, n_vcs=1, choices=choices)


def test_a_ring_with_one_channel_has_a_cycle() -> None:
    routing = on_one_channel(make_routing(torus([5]), "dimension-order"))
    cycle = find_cycle(routing)
    t = routing.topology
    assert cycle is not None
    assert len(cycle) == 5
    assert {int(t.link_src[link]) for link, _ in cycle} == set(range(5, 10))


def test_valiant_with_one_channel_has_a_cycle() -> None:
    assert find_cycle(on_one_channel(make_routing(dragonfly(1, 2, 5), "valiant"))) is not None


def test_adaptive_without_escape_is_refused() -> None:
    routing = make_routing(torus([4, 3]), "minimal-adaptive")

    def choices(router: int, dst: int, state: int) -> list[Hop]:
        hops = routing.choices(router, dst, state)
        return hops[1:] if len(hops) > 1 and state else hops

    with pytest.raises(NetcosimError, match="no escape channel"):
        find_cycle(dataclasses.replace(routing, choices=choices))
