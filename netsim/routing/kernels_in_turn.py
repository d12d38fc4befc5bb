"""Destinations dealt out to equal next links in turn, compiled."""

from __future__ import annotations

from numba import njit

from netsim.kernels_options import PLAIN_KERNEL


@njit(**PLAIN_KERNEL)
def deal_links(distance, far, place, lists, dealt, columns, ends, behind, passes, used, table):  # type: ignore[no-untyped-def]
    """Fill in the next links of routers ``far`` hops from a destination, (routers, columns).

    ``ends``: the destinations' routers, in the order in which they are dealt out. ``dealt`` counts
    those of each list. ``used`` marks the routers at which packets to a destination come by, and
    gets those they go on to. Others take the first link and no turn.
    """
    for router in range(len(distance)):
        if not passes[router]:
            continue
        for k in range(len(ends)):
            if distance[router, ends[k]] != far:
                continue
            column, begin = columns[k], place[router, ends[k]]
            turn = 0
            if used[router, column]:
                turn = dealt[begin] % lists[begin]
                dealt[begin] += 1
            link = lists[begin + 1 + turn]
            table[router, column] = link
            if used[router, column]:
                used[behind[link], column] = True
