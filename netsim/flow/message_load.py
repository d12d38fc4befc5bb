"""The load of a placed job for `netsim.flow.message_network`: its messages along their paths."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.flow import kernels_message_load as kernels
from netsim.flow.job_messages import JobMessages
from netsim.flow.job_routes import JobRoutes
from netsim.flow.kernels_message_times import HEAD
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
    """Place a job's messages on a network.

    Parameters
    ----------
    nodes : (n,) int32
        Node at each place of the job.
    config : PacketConfig
        Latency of routers.
    seed : int
        Of routings that draw.
    background_s : (n_links,) float64, optional
        How long others keep each link busy in an iteration, for routings that look at it.
    """
    topology = routes.routing.topology
    rails = topology.rails
    if topology.n_rails > 1 and config.rail_policy != "striped":
        raise NetcosimError(
            f"rail_policy = {config.rail_policy!r} on {topology.n_rails} ports a node needs "
            "packets only; at flow level messages are 'striped'"
        )
    bandwidth, machine = routes.bandwidth_Bps, routes.machine
    where = nodes.astype(np.int64)
    links, link_bytes, paths = routes.of(
        where[job.pair_src],
        where[job.pair_dst],
        job.pair_bytes,
        job.used_pairs,
        seed=seed,
        background_s=background_s,
    )
    sent = kernels.Sent(
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
    # a column for each link that the job uses: between routers, then out of nodes, then into them
    shape = int(job.step.max(initial=-1)) + 1, len(links) + 2 * rails * len(where)
    length = np.diff(paths.ptr)[job.pair]
    n_messages, n_entries = len(job.traced), int(length[job.traced].sum())
    head = _head(job, n_entries)
    ints = np.empty(len(head) + n_messages + 1 + n_entries, dtype=np.int32)
    ints[: len(head)] = head
    n_steps = len(job.order)
    floats = np.empty(HEAD + n_steps + 2 * n_messages + 3 * n_entries)
    floats[:HEAD] = job.scale, routes.most_slow, job.train, job.buffer, machine.felt
    floats[HEAD : HEAD + n_steps] = job.compute_s
    inputs = np.empty(len(links))
    kernels.lay_out(
        machine,
        sent,
        kernels.Traced(job.traced, job.trips),
        links,
        config.router_latency_s,
        _steps(shape, int((length * (length + 1)).sum())),
        inputs,
        ints[len(head) :],
        floats[HEAD + n_steps :],
    )
    packet_s = np.where(routes.waits[links], job.packet_bytes / bandwidth[links], 0.0)
    return MessageLoad(links, link_bytes / bandwidth[links], inputs, packet_s, ints, floats)


def _head(job: JobMessages, n_entries: int) -> NDArray[np.int64]:
    """Return the header of a load's integers."""
    n_ranks, n_steps = len(job.rank_ptr) - 1, len(job.order)
    counts = np.array([n_ranks, n_steps, len(job.traced), n_entries])
    single = job.n_packets <= 1
    pointers = job.rank_ptr, job.step_ptr, job.order
    return np.concatenate([counts, *pointers, job.waiter, job.chain, single])


def _steps(shape: tuple[int, int], most: int) -> kernels.Steps:
    """Return room for so many steps and columns, and for so many feeders."""
    return kernels.Steps(
        load=np.zeros(shape),
        many=np.zeros(shape, dtype=np.int32),
        head=np.full(shape, -1, dtype=np.int32),
        feeder=np.empty(most, dtype=np.int32),
        next=np.empty(most, dtype=np.int32),
    )
