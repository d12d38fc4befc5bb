"""The compiled `route` takes the same hop as the plain reference, whatever the loads."""

from __future__ import annotations

import numpy as np
import pytest
from routing_machines import all_routings

from netsim.routing.base import Hop, Routing
from netsim.routing.kernels import route

ROUTINGS = all_routings()


class ArrayView:
    """The view of a router onto given arrays."""

    def __init__(self, now: int, free_at: np.ndarray, waiting: np.ndarray, room: np.ndarray):
        self.now, self.free_at, self.waiting, self.rooms = now, free_at, waiting, room

    def load(self, link: int) -> int:
        return max(0, int(self.free_at[link]) - self.now) + int(self.waiting[link])

    def room(self, link: int, vc: int) -> int:
        return int(self.rooms[link, vc])


def walk_and_compare(routing: Routing, rng: np.random.Generator, packets: int) -> None:
    t = routing.topology
    for _ in range(packets):
        src, dst = (int(x) for x in rng.integers(0, t.n_nodes, 2))
        router, state = int(t.node_router[src]), 0
        for visit in range(50):
            # Few distinct values, so that ties come up often.
            free_at = rng.integers(0, 4, t.n_links) * 50
            waiting = rng.integers(0, 3, t.n_links) * 100
            room = rng.integers(0, 3, (t.n_links, routing.n_vcs)) * 1000
            key = int(rng.integers(0, 2**64, dtype=np.uint64))
            view = ArrayView(100, free_at, waiting, room)
            hop = routing.choose(view, router, dst, state, key, 1000)
            fast = route(
                routing.tables, router, dst, state, np.uint64(key), 1000, 100,
                free_at, waiting, room.ravel(), routing.n_vcs,
            )  # fmt: skip
            assert Hop(*fast) == hop, (routing.name, t.name, router, dst, state, visit)
            assert all(isinstance(x, int) for x in fast)
            assert hop in routing.choices(router, dst, state)
            if hop.link == t.n_nodes + dst:
                break
            assert int(t.link_src[hop.link]) == t.n_nodes + router
            assert 0 <= hop.vc < routing.n_vcs
            router, state = int(t.link_dst[hop.link]) - t.n_nodes, hop.state
        else:
            pytest.fail(f"{routing.name} on {t.name}: {src} never reached {dst}")


@pytest.mark.parametrize("routing", ROUTINGS, ids=lambda r: f"{r.topology.name}-{r.name}")
@pytest.mark.parametrize("seed", range(3))
def test_kernel_takes_the_hop_of_the_reference(routing: Routing, seed: int) -> None:
    walk_and_compare(routing, np.random.default_rng(seed), 60)
