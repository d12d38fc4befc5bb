"""Equivalent flows, compiled: colour refinement of the flow-link graph.

Links and flows are coloured (capacity; bytes and start), then coloured again by the colours they
touch, until no link class splits. In such an equitable partition all flows of a class get the same
max-min rate: averaging a max-min allocation over the classes keeps every link within its capacity
and does not lower the smallest rates, and the max-min allocation is unique. Flows of a class then
finish together, and the partition stays equitable. (Colour refinement for linear programs: Grohe,
Kersting, Mladenov, Selman, ESA 2014.) Colours are 64-bit hashes of multisets.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import KERNEL
from netsim.routing.kernels_random import mix64

MAX_ROUNDS = 64


@njit(**KERNEL)
def group(colour):  # type: ignore[no-untyped-def]
    """Number equal colours in order of first appearance: (class of each, first of each)."""
    n = len(colour)
    bits = 4
    while (1 << bits) < 2 * n:
        bits += 1
    mask = np.uint64((1 << bits) - 1)
    slot_class = np.full(1 << bits, -1, np.int32)
    classes = np.empty(n, np.int32)
    first = np.empty(n, np.int32)
    count = 0
    for i in range(n):
        slot = colour[i] & mask
        while True:
            known = slot_class[slot]
            if known < 0:
                slot_class[slot] = count
                first[count] = i
                classes[i] = count
                count += 1
                break
            if colour[first[known]] == colour[i]:
                classes[i] = known
                break
            slot = (slot + np.uint64(1)) & mask
    return classes, first[:count].copy()


@njit(**KERNEL)
def refine(ptr, links, weight, flow_colour, link_colour):  # type: ignore[no-untyped-def]
    """Refine both colourings in place until they are equitable; False if it takes too long."""
    n_flows, n_links = len(ptr) - 1, len(link_colour)
    weight_bits = weight.view(np.uint64)
    weighted = len(weight) > 0
    fresh = np.empty(n_links, np.uint64)
    base = flow_colour.copy()
    classes = 0
    for _ in range(MAX_ROUNDS):
        fresh[:] = np.uint64(0)
        for flow in range(n_flows):
            total = base[flow]
            for i in range(ptr[flow], ptr[flow + 1]):
                if weighted:
                    total += mix64(link_colour[links[i]] ^ mix64(weight_bits[i]))
                else:
                    total += link_colour[links[i]]
            total = mix64(total)
            flow_colour[flow] = total
            for i in range(ptr[flow], ptr[flow + 1]):
                if weighted:
                    fresh[links[i]] += mix64(total ^ mix64(weight_bits[i]))
                else:
                    fresh[links[i]] += total
        _, first = group(link_colour)
        if len(first) == classes:
            return True
        classes = len(first)
        for link in range(n_links):
            link_colour[link] = mix64(link_colour[link] + mix64(fresh[link]))
    return False


@njit(**KERNEL)
def quotient(ptr, links, weight, flow_class, flow_first, link_class, link_first):  # type: ignore[no-untyped-def]
    """Return the paths of one flow a class over one link a class, with weights.

    A link of class L carries ``weight`` times the rate of each flow of class F.
    """
    n_classes = len(flow_first)
    weighted = len(weight) > 0
    flows = np.zeros(n_classes, np.int64)
    for c in flow_class:
        flows[c] += 1
    link_count = np.zeros(len(link_first), np.int64)
    for c in link_class:
        link_count[c] += 1
    total = 0
    for flow in flow_first:
        total += ptr[flow + 1] - ptr[flow]
    new_ptr = np.zeros(n_classes + 1, np.int64)
    new_links = np.empty(total, np.int32)
    new_weight = np.empty(total, np.float64)
    seen = np.full(len(link_first), -1, np.int64)
    at = 0
    for c in range(n_classes):
        flow = flow_first[c]
        begin = at
        for i in range(ptr[flow], ptr[flow + 1]):
            link = link_class[links[i]]
            w = weight[i] if weighted else 1.0
            if seen[link] >= begin:
                new_weight[seen[link]] += w
            else:
                seen[link] = at
                new_links[at] = link
                new_weight[at] = w
                at += 1
        for i in range(begin, at):
            new_weight[i] *= flows[c] / link_count[new_links[i]]
        new_ptr[c + 1] = at
    return new_ptr, new_links[:at].copy(), new_weight[:at].copy()
