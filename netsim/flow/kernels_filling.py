"""Progressive filling, compiled: the transposed incidence, the link heap, one filling.

A flow ``f`` at rate ``x`` takes ``w * x`` of each of its links. All flows rise together
until a link is full; its flows stop there, the others rise on (Bertsekas and Gallager,
Data Networks, section 6.5.2). The share that a link can offer, what is left of it over
the weights that still rise, never falls while others stop below it, so a heap of shares
may hold old values: a link is checked again at the top.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from netsim.kernels_options import INNER_ALLOCATING_KERNEL, INNER_KERNEL, KERNEL

TIE = 1e-11  # shares this close, relative, are one: what a link has left for its last few
# flows is a small difference of large numbers


class Incidence(NamedTuple):
    """Flows by links and links by flows; ``weight`` and ``link_weight`` empty mean all 1."""

    ptr: NDArray[np.int64]
    links: NDArray[np.int32]
    weight: NDArray[np.float64]
    link_ptr: NDArray[np.int64]
    link_end: NDArray[np.int64]
    link_flow: NDArray[np.int32]
    link_weight: NDArray[np.float64]
    capacity: NDArray[np.float64]


class FillState(NamedTuple):
    """Working arrays of a filling. A flow's ``bottleneck`` is the link that stopped it."""

    rate: NDArray[np.float64]
    bottleneck: NDArray[np.int32]
    rising: NDArray[np.bool_]
    left: NDArray[np.float64]
    rising_weight: NDArray[np.float64]
    rising_count: NDArray[np.int32]
    heap_key: NDArray[np.float64]
    heap_link: NDArray[np.int32]


@njit(**KERNEL)
def transpose(ptr, links, weight, capacity):  # type: ignore[no-untyped-def]
    """Return the `Incidence` of flow paths: links get their flows in flow order."""
    n_links, n_flows = len(capacity), len(ptr) - 1
    link_ptr = np.zeros(n_links + 1, np.int64)
    for i in range(len(links)):
        link_ptr[links[i] + 1] += 1
    for link in range(n_links):
        link_ptr[link + 1] += link_ptr[link]
    link_end = link_ptr[:-1].copy()
    link_flow = np.empty(len(links), np.int32)
    link_weight = np.empty(len(weight), np.float64)
    weighted = len(weight) > 0
    for flow in range(n_flows):
        for i in range(ptr[flow], ptr[flow + 1]):
            at = link_end[links[i]]
            link_flow[at] = flow
            if weighted:
                link_weight[at] = weight[i]
            link_end[links[i]] = at + 1
    return Incidence(ptr, links, weight, link_ptr, link_end, link_flow, link_weight, capacity)


@njit(**INNER_ALLOCATING_KERNEL)
def fill_state(n_flows, n_links):  # type: ignore[no-untyped-def]
    """Return fresh working arrays."""
    return FillState(
        np.zeros(n_flows, np.float64),
        np.full(n_flows, -1, np.int32),
        np.zeros(n_flows, np.bool_),
        np.zeros(n_links, np.float64),
        np.zeros(n_links, np.float64),
        np.zeros(n_links, np.int32),
        np.empty(n_links, np.float64),
        np.empty(n_links, np.int32),
    )


@njit(**INNER_KERNEL)
def heap_push(heap_key, heap_link, size, key, link):  # type: ignore[no-untyped-def]
    """Push (key, link); ties go to the lower link, so the order is deterministic."""
    at = size
    while at > 0:
        up = (at - 1) >> 1
        if heap_key[up] < key or (heap_key[up] == key and heap_link[up] < link):
            break
        heap_key[at] = heap_key[up]
        heap_link[at] = heap_link[up]
        at = up
    heap_key[at] = key
    heap_link[at] = link


@njit(**INNER_KERNEL)
def heap_pop(heap_key, heap_link, size):  # type: ignore[no-untyped-def]
    """Remove the top of a heap of ``size`` entries; the caller has read it."""
    size -= 1
    key, link = heap_key[size], heap_link[size]
    at = 0
    while True:
        down = 2 * at + 1
        if down >= size:
            break
        right = down + 1
        if right < size and (
            heap_key[right] < heap_key[down]
            or (heap_key[right] == heap_key[down] and heap_link[right] < heap_link[down])
        ):
            down = right
        if key < heap_key[down] or (key == heap_key[down] and link < heap_link[down]):
            break
        heap_key[at] = heap_key[down]
        heap_link[at] = heap_link[down]
        at = down
    heap_key[at] = key
    heap_link[at] = link


@njit(**INNER_KERNEL)
def fill(inc, st):  # type: ignore[no-untyped-def]
    """Raise the rates of the flows marked ``rising`` until each is stopped.

    The caller has set, for each link, ``left`` (capacity less the flows that do not rise),
    ``rising_weight`` and ``rising_count``.
    """
    weighted = len(inc.weight) > 0
    heap_key, heap_link = st.heap_key, st.heap_link
    size = np.int64(0)
    level = 0.0
    for k in range(len(inc.capacity)):
        if st.rising_count[k] > 0:
            share = max(st.left[k], 0.0) / st.rising_weight[k]
            heap_push(heap_key, heap_link, size, share, np.int64(k))
            size += 1
    while size > 0:
        link = np.int64(heap_link[0])
        heap_pop(heap_key, heap_link, size)
        size -= 1
        if st.rising_count[link] == 0:
            continue
        share = max(st.left[link], 0.0) / st.rising_weight[link]
        if size > 0 and share > heap_key[0]:
            heap_push(heap_key, heap_link, size, share, link)
            size += 1
            continue
        # the running sums have lost digits by now, most of all where weights differ in size
        used = rising = 0.0
        for i in range(inc.link_ptr[link], inc.link_end[link]):
            flow = inc.link_flow[i]
            w = inc.link_weight[i] if weighted else 1.0
            if st.rising[flow]:
                rising += w
            else:
                used += w * st.rate[flow]
        share = max(inc.capacity[link] - used, 0.0) / rising
        if share <= level * (1.0 + TIE):
            share = level
        level = share
        for i in range(inc.link_ptr[link], inc.link_end[link]):
            flow = inc.link_flow[i]
            if not st.rising[flow]:
                continue
            st.rising[flow] = False
            st.rate[flow] = share
            st.bottleneck[flow] = link
            for j in range(inc.ptr[flow], inc.ptr[flow + 1]):
                other = inc.links[j]
                w = inc.weight[j] if weighted else 1.0
                st.left[other] -= w * share
                st.rising_weight[other] -= w
                st.rising_count[other] -= 1


@njit(**KERNEL)
def max_min(ptr, links, weight, capacity):  # type: ignore[no-untyped-def]
    """Return the rates of all flows at once; a flow without links gets inf."""
    n_flows, n_links = len(ptr) - 1, len(capacity)
    inc = transpose(ptr, links, weight, capacity)
    st = fill_state(n_flows, n_links)
    for flow in range(n_flows):
        if ptr[flow + 1] > ptr[flow]:
            st.rising[flow] = True
        else:
            st.rate[flow] = np.inf
    for link in range(n_links):
        begin, end = inc.link_ptr[link], inc.link_end[link]
        st.left[link] = capacity[link]
        st.rising_count[link] = end - begin
        st.rising_weight[link] = end - begin
        if len(weight) > 0:
            st.rising_weight[link] = inc.link_weight[begin:end].sum()
    fill(inc, st)
    return st.rate
