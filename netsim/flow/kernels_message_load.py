"""Messages of a placed job along their paths, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from netsim.kernels_options import HOT_KERNEL, PLAIN_KERNEL


class LinkTables(NamedTuple):
    """Links of a machine, and room for what is looked up while a job is placed.

    ``column``: of each link that the job uses, ``first``: of each node of the job its first place.
    ``scale_up``, ``nic_rail``: of each node, empty where `Topology` has none. ``rails``: ports of a
    node; ``felt``: fraction of the waits on its path that delays a message.
    """

    bandwidth_Bps: NDArray[np.float64]
    latency_s: NDArray[np.float64]
    link_src: NDArray[np.int64]
    link_dst: NDArray[np.int64]
    column: NDArray[np.int32]
    first: NDArray[np.int32]
    scale_up: NDArray[np.int32]
    nic_rail: NDArray[np.int32]
    rails: int
    felt: float


class Sent(NamedTuple):
    """Messages of the followed steps, as in `JobMessages`, and the paths of their pairs.

    ``src``, ``dst``: places of the pairs' nodes. Empty ``weights`` are all 1.
    """

    nodes: NDArray[np.int64]
    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    pair: NDArray[np.int64]
    step: NDArray[np.int64]
    n_bytes: NDArray[np.float64]
    ptr: NDArray[np.int64]
    links: NDArray[np.int32]
    weights: NDArray[np.float64]


class Traced(NamedTuple):
    """The traced messages."""

    message: NDArray[np.int64]
    trips: NDArray[np.float64]


class Steps(NamedTuple):
    """Of each column in each step ``load``, its bytes, and its feeders: ``many``, their number, and
    ``head`` of their list in ``feeder`` and ``next``."""

    load: NDArray[np.float64]
    many: NDArray[np.int32]
    head: NDArray[np.int32]
    feeder: NDArray[np.int32]
    next: NDArray[np.int32]


@njit(**HOT_KERNEL)
def find_columns(m, sent, used):  # type: ignore[no-untyped-def]
    """Assign a column to each link that the job uses; return how many. Its nodes' follow."""
    for i in range(len(used)):
        m.column[used[i]] = i
    for k in range(len(sent.nodes) - 1, -1, -1):
        m.first[sent.nodes[k]] = k
    return len(used)


@njit(**HOT_KERNEL)
def port_columns(m, sent, pair, n):  # type: ignore[no-untyped-def]
    """Return the columns of the first ports out of a pair's source and into its destination."""
    src, dst = sent.nodes[sent.src[pair]], sent.nodes[sent.dst[pair]]
    return n + m.first[src] * m.rails, n + (len(sent.nodes) + m.first[dst]) * m.rails


@njit(**HOT_KERNEL)
def ports_taken(m, sent, pair):  # type: ignore[no-untyped-def]
    """Return the first ports that a pair's messages leave and enter by, and how many they use."""
    if len(m.scale_up) == 0:
        return 0, 0, m.rails
    src, dst = sent.nodes[sent.src[pair]], sent.nodes[sent.dst[pair]]
    if m.scale_up[src] == m.scale_up[dst]:
        return 0, 0, 1
    if len(m.nic_rail) > 0 and m.nic_rail[src] != m.nic_rail[dst]:
        return 1, 0, 1
    return 1, 1, m.rails - 1


@njit(**HOT_KERNEL)
def step_loads(m, sent, n, loads):  # type: ignore[no-untyped-def]
    """Add up the bytes in every step; ``loads``: (n_steps, columns)."""
    unsplit = len(sent.weights) == 0
    for k in range(len(sent.pair)):
        pair, n_bytes, load = sent.pair[k], sent.n_bytes[k], loads[sent.step[k]]
        for e in range(sent.ptr[pair], sent.ptr[pair + 1]):
            load[m.column[sent.links[e]]] += n_bytes if unsplit else n_bytes * sent.weights[e]
        out, into = port_columns(m, sent, pair, n)
        out_port, in_port, ports = ports_taken(m, sent, pair)
        for port in range(ports):
            load[out + out_port + port] += n_bytes / ports
            load[into + in_port + port] += n_bytes / ports


@njit(**HOT_KERNEL)
def find_feeders(m, sent, f):  # type: ignore[no-untyped-def]
    """Find the link before each link of all messages, or the node where it is the first."""
    n = 0
    for k in range(len(sent.pair)):
        pair, step = sent.pair[k], sent.step[k]
        begin, end = sent.ptr[pair], sent.ptr[pair + 1]
        for e in range(begin, end):
            link = sent.links[e]
            column, first = m.column[link], True
            for other in range(begin, end + 1):
                if other < end:
                    feeder = np.int64(sent.links[other])
                    if m.link_dst[feeder] != m.link_src[link]:
                        continue
                    first = False
                elif first:
                    feeder = sent.nodes[sent.src[pair]]
                else:
                    continue
                at = f.head[step, column]
                while at >= 0 and f.feeder[at] != feeder:
                    at = f.next[at]
                if at < 0:
                    f.feeder[n], f.next[n], f.head[step, column] = feeder, f.head[step, column], n
                    f.many[step, column] += 1
                    n += 1


@njit(**HOT_KERNEL)
def mean_inputs(loads, many, inputs):  # type: ignore[no-untyped-def]
    """Compute how many links feed each column at once, averaged over its bytes; at least 1."""
    for column in range(len(inputs)):
        total = fed = 0.0
        for step in range(len(loads)):
            total += loads[step, column]
            fed += many[step, column] * loads[step, column]
        inputs[column] = fed / total if fed > 0.0 else 1.0


@njit(**HOT_KERNEL)
def trace(m, sent, traced, n, router_latency_s, loads, ints, floats):  # type: ignore[no-untyped-def]
    """Write the paths of the traced messages as in `MessageLoad`, from the messages' own on."""
    n_messages = len(traced.message)
    n_entries = (len(floats) - 2 * n_messages) // 3
    columns = ints[n_messages + 1 :]
    latency, alone_s = floats[n_messages:], floats[2 * n_messages :]
    weights = alone_s[n_entries:]
    own_s = weights[n_entries:]
    unsplit = len(sent.weights) == 0
    at = ints[0] = 0
    for k in range(n_messages):
        pair, load = sent.pair[traced.message[k]], loads[sent.step[traced.message[k]]]
        n_bytes = sent.n_bytes[traced.message[k]]
        out, into = port_columns(m, sent, pair, n)
        from_port = sent.nodes[sent.src[pair]] * m.rails
        to_port = (len(m.first) + sent.nodes[sent.dst[pair]]) * m.rails
        out_port, in_port, _ = ports_taken(m, sent, pair)
        floor_s = load[out + out_port] / m.bandwidth_Bps[from_port + out_port]
        floats[k] = max(floor_s, load[into + in_port] / m.bandwidth_Bps[to_port + in_port])
        # from the node to its router and from the last router to the node
        one_way_s = m.latency_s[from_port + out_port] + m.latency_s[to_port + in_port]
        one_way_s += router_latency_s
        for e in range(sent.ptr[pair], sent.ptr[pair + 1]):
            link = sent.links[e]
            columns[at] = m.column[link]
            hop_s = m.latency_s[link] + router_latency_s
            part = 1.0 if unsplit else sent.weights[e]
            one_way_s += hop_s * part
            alone_s[at] = load[m.column[link]] / m.bandwidth_Bps[link]
            own_s[at] = n_bytes * part / m.bandwidth_Bps[link]
            weights[at] = part * m.felt
            at += 1
        latency[k] = traced.trips[k] * one_way_s
        ints[k + 1] = at


@njit(**PLAIN_KERNEL)
def lay_out(m, sent, traced, used, router_latency_s, steps, inputs, ints, floats):  # type: ignore[no-untyped-def]
    """Compute the load of a job's steps, what feeds the links, and traced messages' paths.

    ``steps.load`` and ``steps.many`` are 0 before; ``steps.head`` is -1.
    """
    n = find_columns(m, sent, used)
    step_loads(m, sent, n, steps.load)
    find_feeders(m, sent, steps)
    mean_inputs(steps.load, steps.many, inputs)
    trace(m, sent, traced, n, router_latency_s, steps.load, ints, floats)
