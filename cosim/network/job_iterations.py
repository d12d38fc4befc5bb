"""Iterations of placed jobs: computing and communication in isolation, and time on each link."""

from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cosim.network.communication import remember
from cosim.network.isolated_loops import LEAST_FRACTION
from cosim.network.job_network import JobLoads
from cosim.network.periodic import FloatArray, PeriodicJob
from cosim.network.situation import Situation
from netsim.flow.job_load import path_link_bytes
from netsim.flow.paths import flow_paths, walk_view
from netsim.packet.model import PS_PER_S
from netsim.routing.kernels_tables import EQUAL_COST
from netsim.routing.pinned import EqualCostPaths, port_flows
from netsim.routing.registry import make_routing
from netsim.traffic import combine

_FASTER = 16
"""Bandwidth of links between switches while a job's isolated iteration is timed, over its own."""

_KEPT = 1 << 12


class JobIterations:
    """Iterations of the jobs of a network; what is independent of placements is kept."""

    def __init__(self, loads: JobLoads) -> None:
        self.loads = loads
        self.routing = loads.network.shared.routing
        self._view = walk_view(self.routing)
        self._bandwidth_Bps = self.routing.topology.link_bandwidth_Bps.astype(np.float64)
        self._isolated: dict[tuple[int, int, float], PeriodicJob | None] = {}
        self._placed: dict[Situation, PeriodicJob | None] = {}
        self._paths = EqualCostPaths(self.routing)
        r = self.routing
        self._sprays = r.tables.code == EQUAL_COST and not r.queue_pairs and r.pin is None

    def isolated(self, share: int, n_nodes: int, fraction: float) -> PeriodicJob | None:
        """Return the isolated iteration of jobs of a communication and size.

        It is on the machine's first nodes and a network without bottlenecks between switches, and
        loads only ports of nodes. None: nothing is sent between nodes.

        A pattern that computes is an entire iteration, which packets time, once as it is and once
        with messages twice as long: what that adds is communication that nothing hides. Of another
        one the bytes on the busiest port are the communication, ``fraction`` of the iteration.
        """
        key = share, n_nodes, fraction
        if key not in self._isolated:
            self._isolated[key] = self._timed(*key)
        return self._isolated[key]

    def _timed(self, share: int, n_nodes: int, fraction: float) -> PeriodicJob | None:
        first = Situation(share, np.arange(n_nodes, dtype=np.int32).tobytes(), 1.0)
        busy_s = self._busy_s(first, None)[: self.routing.topology.first_router_link]
        links = np.flatnonzero(busy_s)
        if not len(links):
            return None
        busy_s = busy_s[links]
        busiest_s = float(busy_s.max())
        from netsim.packet.engine import simulate_packets

        computing_s = self.loads.messages(first).computing_s
        if computing_s == 0.0:
            lead_s = busiest_s * (1 / max(fraction, LEAST_FRACTION) - 1)
            return PeriodicJob(lead_s, busiest_s, 0.0, links, busy_s, n_nodes, lead_s)
        shared = self.loads.network.shared
        job = first.job(self.loads.network.communications[share])
        program = shared.program(job, job.communication.iterations)
        topology = self.routing.topology
        speed = topology.link_bandwidth_Bps.copy()
        speed[topology.first_router_link :] *= _FASTER
        fast = make_routing(replace(topology, link_bandwidth_Bps=speed), "min-hop")
        once_s, twice_s = (
            simulate_packets(
                fast,
                combine(
                    [replace(program, send_bytes=program.send_bytes * times)],
                    [shared.rank_node(job)],
                ),
                shared.packet,
                np.random.default_rng(shared.seed),
                record_messages=False,
                threads=shared.threads,
            ).group_finish_ps[0]
            / PS_PER_S
            for times in (1, 2)
        )
        comm_s = max(busiest_s, twice_s - once_s)
        lead_s = min(max(twice_s - 2 * comm_s, 0.0), once_s)
        hidden_s = once_s - lead_s
        return PeriodicJob(lead_s, comm_s, hidden_s, links, busy_s, n_nodes, computing_s)

    def placed(
        self, situation: Situation, background_s: FloatArray | None = None
    ) -> PeriodicJob | None:
        """Return a placed job; None if it sends nothing between nodes.

        Under the routing "pinned" ``background_s`` (n_links,) is how long others keep each link
        busy in an iteration.
        """
        if background_s is not None:
            return self._on_paths(situation, background_s)
        if situation not in self._placed:
            remember(self._placed, situation, self._on_paths(situation, None), _KEPT)
        return self._placed[situation]

    def _on_paths(
        self, situation: Situation, background_s: FloatArray | None
    ) -> PeriodicJob | None:
        own = self.isolated(situation.share, situation.n_nodes, situation.fraction)
        if own is None:
            return None
        busy_s = self._busy_s(situation, background_s)
        links = np.flatnonzero(busy_s)
        busiest_s = float(busy_s.max())
        comm_s = max(busiest_s, own.comm_s + busiest_s - float(own.busy_s.max()))
        return replace(own, comm_s=comm_s, links=links, busy_s=busy_s[links])

    def candidate_links(self, situation: Situation) -> NDArray[np.bool_]:
        """Return the links on any of the job's shortest paths, (n_links,) bool."""
        return self._even_bytes(*self._flows(situation)) > 0

    def _flows(
        self, situation: Situation
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]:
        """Return source and destination node and iteration bytes of each pair that sends."""
        messages = self.loads.messages(situation)
        step = self.loads.network.shared.ranks_per_node
        nodes = self.loads.rank_node(situation)[::step].astype(np.int64)
        return nodes[messages.pair_src], nodes[messages.pair_dst], messages.pair_bytes

    def _busy_s(self, situation: Situation, background_s: FloatArray | None) -> FloatArray:
        """Return the time for which an iteration keeps each link busy, (n_links,)."""
        src, dst, amount = self._flows(situation)
        if self._sprays:
            return self._even_bytes(src, dst, amount) / self._bandwidth_Bps
        paths = flow_paths(
            self.routing,
            src,
            dst,
            amount,
            seed=zlib.crc32(situation.nodes),
            background_s=background_s,
            view=self._view,
        )
        return path_link_bytes(paths, amount, len(self._bandwidth_Bps)) / self._bandwidth_Bps

    def _even_bytes(
        self, src: NDArray[np.int64], dst: NDArray[np.int64], amount: FloatArray
    ) -> FloatArray:
        """Return the bytes of flows spread evenly over their shortest paths, (n_links,)."""
        topology = self.routing.topology
        _, src, dst, amount = port_flows(topology, src, dst, amount, None)
        load = np.zeros(topology.n_links)
        np.add.at(load, src, amount)
        np.add.at(load, topology.n_ports + dst, amount)
        ends = topology.port_router[np.stack([src, dst])].astype(np.int64)
        pair = ends[0] * topology.n_routers + ends[1]
        _, first, which = np.unique(pair, return_index=True, return_inverse=True)
        found = [self._paths.between(int(src[i]), int(dst[i]))[0] for i in first.tolist()]
        each = np.bincount(which.ravel(), amount) / [len(links) for links in found]
        links = np.concatenate([np.empty(0, np.int64), *(links.ravel() for links in found)])
        np.add.at(load, links, np.repeat(each, [links.size for links in found]))
        return load
