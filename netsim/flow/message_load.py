"""The load of a placed job for `netsim.flow.message_network`: its messages along their paths."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.flow import kernels_message_load as kernels
from netsim.flow.job_messages import JobMessages
from netsim.flow.job_routes import JobRoutes
from netsim.flow.paths import FlowPaths
from netsim.packet.model import PacketConfig

FloatArray = NDArray[np.float64]


class MessageLoad(NamedTuple):
    """A placed job."""

    links: NDArray[np.int32]
    """(k,) int32. Router-to-router links that it uses, ascending."""
    busy_s: FloatArray
    """(k,) float64. Time for which an iteration keeps each link busy."""
    inputs: FloatArray
    """(k,) float64. Links over which the job's bytes come to the link at once."""
    packet_s: FloatArray
    """(k,) float64. Time of one packet on the link; 0 where no packet waits."""
    ints: NDArray[np.int32]
    floats: FloatArray
    """ints, floats: int32, float64. Ranks, steps, messages and entries as the kernels have them."""


def message_load(
    routes: JobRoutes,
    job: JobMessages,
    nodes: NDArray[np.int32],
    config: PacketConfig,
    *,
    seed: int = 0,
    background_s: FloatArray | None = None,
) -> MessageLoad:
    """Place a job's messages on a network, at its nodes in their order.

    Others keep each link busy for ``background_s`` (n_links,) in an iteration, for routings that
    look at it; the seed is of those that draw.
    """
    topology, machine = routes.routing.topology, routes.machine
    if topology.n_rails > 1 and config.rail_policy != "striped":
        raise NetcosimError(
            f"rail_policy = {config.rail_policy!r} on {topology.n_rails} ports a node needs "
            "packets only; at flow level messages are 'striped'"
        )
    where = nodes.astype(np.int64)
    ends = where[job.pair_src], where[job.pair_dst]
    links, link_bytes, paths = routes.of(
        *ends, job.pair_bytes, job.used_pairs, seed=seed, background_s=background_s
    )
    # a column for each link that the job uses: between routers, then out of nodes, then into them
    shape = int(job.step.max(initial=-1)) + 1, len(links) + 2 * topology.rails * len(where)
    length = np.diff(paths.ptr)[job.pair]
    n_messages, n_entries = len(job.traced), int(length[job.traced].sum())
    ints, int_rows = _room(_head(job, n_entries), n_messages + 1 + n_entries, np.int32)
    numbers = job.scale, routes.most_slow, job.train, job.buffer, machine.felt
    floats, float_rows = _room(
        np.append(numbers, job.compute_s), 2 * n_messages + 3 * n_entries, np.float64
    )
    inputs = np.empty(len(links))
    kernels.lay_out(
        machine,
        _sent(job, where, paths),
        kernels.Traced(job.traced, job.trips),
        links,
        config.router_latency_s,
        _steps(shape, int((length * (length + 1)).sum())),
        inputs,
        int_rows,
        float_rows,
    )
    bandwidth_Bps = routes.bandwidth_Bps[links]
    packet_s = np.where(routes.waits[links], job.packet_bytes / bandwidth_Bps, 0.0)
    return MessageLoad(links, link_bytes / bandwidth_Bps, inputs, packet_s, ints, floats)


def _sent(job: JobMessages, where: NDArray[np.int64], paths: FlowPaths) -> kernels.Sent:
    """Return the messages of the followed steps for the kernels."""
    return kernels.Sent(
        nodes=where,
        src=job.pair_src[job.used_pairs],
        dst=job.pair_dst[job.used_pairs],
        pair=job.pair,
        step=job.step,
        n_bytes=job.n_bytes,
        ptr=paths.ptr,
        links=paths.links,
        weights=np.empty(0) if paths.weights is None else paths.weights,
    )


def _room(head: NDArray[Any], n_more: int, kind: type) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return an array that begins with ``head``, and its part after that."""
    entire: NDArray[Any] = np.empty(len(head) + n_more, dtype=kind)
    entire[: len(head)] = head
    return entire, entire[len(head) :]


def _head(job: JobMessages, n_entries: int) -> NDArray[np.int64]:
    """Return the header of a load's integers."""
    counts = np.array([len(job.rank_ptr) - 1, len(job.order), len(job.traced), n_entries])
    pointers = job.rank_ptr, job.step_ptr, job.order
    return np.concatenate([counts, *pointers, job.waiter, job.chain, job.n_packets <= 1])


def _steps(shape: tuple[int, int], most: int) -> kernels.Steps:
    """Return room for so many steps and columns, and for so many feeders."""
    return kernels.Steps(
        load=np.zeros(shape),
        many=np.zeros(shape, dtype=np.int32),
        head=np.full(shape, -1, dtype=np.int32),
        feeder=np.empty(most, dtype=np.int32),
        next=np.empty(most, dtype=np.int32),
    )
