"""A placed job as `netsim.flow.message_network` has it: what its messages meet on their ways."""

from __future__ import annotations

from typing import NamedTuple

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
    """A placed job.

    Attributes
    ----------
    links : (k,) int32
        Router-to-router links that it uses, ascending.
    busy_s : (k,) float64
        Time for which an iteration keeps each link busy.
    inputs : (k,) float64
        Links over which the job's bytes come to the link at once.
    packet_s : (k,) float64
        Time of one packet on the link; 0 where nobody waits.
    ints, floats : int32, float64
        Ranks, steps, messages and entries as the kernels have them.
    """

    links: NDArray[np.int32]
    busy_s: FloatArray
    inputs: FloatArray
    packet_s: FloatArray
    ints: NDArray[np.int32]
    floats: FloatArray


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
    routes : JobRoutes
    job : JobMessages
    nodes : (n,) int32
        Node at each place of the job.
    config : PacketConfig
        Latency of routers.
    seed : int
        Of routings that draw.
    background_s : (n_links,) float64, optional
        How long others keep each link busy in an iteration, for routings that look at it.

    Raises
    ------
    NetcosimError
        Several ports a node and messages that are not striped over them.
    """
    topology = routes.routing.topology
    n_ports, rails = topology.n_ports, topology.rails
    if rails > 1 and config.rail_policy != "striped":
        raise NetcosimError(
            f"rail_policy = {config.rail_policy!r} on {rails} ports a node is told by packets "
            "alone; at flow level messages are 'striped'"
        )
    bandwidth = routes.bandwidth_Bps
    where = nodes.astype(np.int64)
    src, dst = where[job.pair_src], where[job.pair_dst]
    links, link_bytes, paths = routes.of(
        src, dst, job.pair_bytes, job.used_pairs, seed=seed, background_s=background_s
    )
    parts = np.ones(len(paths.links)) if paths.weights is None else paths.weights
    # a column for each link that the job uses: between routers, then out of nodes, then into them
    column = np.searchsorted(links, paths.links)
    ends, place = np.unique(where, return_inverse=True)
    ports = (ends[:, None] * rails + np.arange(rails)).ravel()
    of_column = np.concatenate([links, ports, n_ports + ports])
    src, dst = (end[job.used_pairs][job.pair] for end in (job.pair_src, job.pair_dst))
    first = len(links) + place.ravel() * rails
    src, dst = first[src], len(ports) + first[dst]
    n_steps = int(job.step.max(initial=-1)) + 1
    loads = np.zeros((n_steps, len(of_column)))
    kernels.step_loads(paths.ptr, column, parts, job.pair, job.step, job.n_bytes, loads)
    for rail in range(rails):
        np.add.at(loads, (job.step, src + rail), job.n_bytes / rails)
        np.add.at(loads, (job.step, dst + rail), job.n_bytes / rails)
    pair, step = job.pair[job.traced], job.step[job.traced]
    src, dst = src[job.traced], dst[job.traced]
    begin, count = paths.ptr[pair], np.diff(paths.ptr)[pair]
    message_ptr = np.concatenate([[0], np.cumsum(count)])
    entry = np.repeat(begin - message_ptr[:-1], count) + np.arange(message_ptr[-1])
    owner = np.repeat(np.arange(len(pair)), count)
    entry_link, entry_column = paths.links[entry], column[entry]
    hop_s = topology.link_latency_s[entry_link] + config.router_latency_s
    one_way_s = np.bincount(owner, weights=hop_s * parts[entry], minlength=len(pair))
    latency = job.compute_s + job.trips * one_way_s
    # packets on ways of their own: the last comes after the longest of as many waits
    last = np.where(parts[entry] < 1, 1 + np.log(job.n_packets[owner]), 1.0)
    ints = [
        np.array([len(job.rank_ptr) - 1, len(job.step_ptr) - 1, len(pair), len(entry)]),
        job.rank_ptr,
        job.step_ptr,
        message_ptr,
        entry_column,
    ]
    floats = [
        np.array([job.scale, routes.most_slow]),
        np.maximum(*(loads[step, end] / bandwidth[of_column[end]] for end in (src, dst))),
        latency,
        loads[np.repeat(step, count), entry_column] / bandwidth[entry_link],
        parts[entry] * last * routes.felt_waits,
    ]
    return MessageLoad(
        links,
        link_bytes / bandwidth[links],
        _inputs(routes, job, where, paths, column, loads)[: len(links)],
        np.where(routes.waits[links], job.packet_bytes / bandwidth[links], 0.0),
        np.concatenate(ints).astype(np.int32),
        np.concatenate(floats),
    )


def _inputs(
    routes: JobRoutes,
    job: JobMessages,
    where: NDArray[np.int64],
    paths: FlowPaths,
    column: NDArray[np.int64],
    loads: FloatArray,
) -> FloatArray:
    """Links that feed each column of ``loads`` at once, mean over its bytes; at least 1."""
    n_links = routes.routing.topology.n_links
    count = np.diff(paths.ptr)[job.pair]
    codes = np.empty(int((count * (count + 1)).sum()), dtype=np.int64)
    n = kernels.link_inputs(
        paths.ptr,
        paths.links,
        column,
        loads.shape[1],
        job.pair,
        job.step,
        where[job.pair_src[job.used_pairs]][job.pair],
        routes.link_src,
        routes.link_dst,
        codes,
    )
    into = np.unique(codes[:n]) // n_links
    at_once = np.bincount(into, minlength=loads.size).reshape(loads.shape)
    total = loads.sum(axis=0)
    mean = (at_once * loads).sum(axis=0)
    fed = np.ones(loads.shape[1])
    np.divide(mean, total, out=fed, where=mean > 0)
    return fed
