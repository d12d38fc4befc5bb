"""Jobs on a network: what each sends, from which nodes, and their communication times.

All randomness follows one rule. A job's random partners, its task mapping and the moment
of its start depend only on (seed, job id) (`job_streams`), so a job sends the same on any nodes,
under any policy, isolated or with others, and its times can be compared one by one. The routing's
draws belong to (seed, stream) and, on machines whose jobs can have links of their own, the job id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosim.network.communication import with_compute
from cosim.network.job_times import FlowTimes, PacketTimes, exposed_times_s
from cosim.network.loops import LEAST_COUNTED, LoopTimes, complete_iterations
from cosim.network.placed_job import PlacedJob as PlacedJob
from cosim.network.placed_job import SharedNetwork as SharedNetwork
from netsim.errors import NetcosimError
from netsim.kinds import need_array, need_kinds, need_real
from netsim.limits import MAX_INDEX
from netsim.packet.model import to_ps
from netsim.routing.base import Routing
from netsim.short_repr import short_repr
from netsim.topologies.checks import need_int
from netsim.topologies.registry import family_of
from netsim.traffic import Program, Traffic, combine
from queuesim.draws import substitute_id

if TYPE_CHECKING:
    from netsim.flow.job_load import JobLoad

FloatArray = NDArray[np.float64]
_DOUBLINGS = 8


@short_repr()
@dataclass(frozen=True, eq=False)
class Ensemble:
    """Jobs that are on a network at the same time.

    Attributes
    ----------
    network : SharedNetwork
    jobs : sequence of PlacedJob
        At least one. Jobs of one id draw the same. Jobs on one node share its links, as a job and
        its input and output do (`cosim.network.gateways`).

    Examples
    --------
    >>> import numpy as np
    >>> import netcosim as nc
    >>> routing = nc.make_routing(nc.make_topology("fattree", {"radix": 4}))
    >>> network = nc.SharedNetwork(routing, task_mapping="in-order")
    >>> halo = nc.Communication("pairs", message_bytes=100_000, parameters={"randomize": False})
    >>> jobs = [nc.PlacedJob(1, halo, np.array([0, 4])), nc.PlacedJob(2, halo, np.array([1, 6]))]
    >>> both = nc.Ensemble(network, jobs)
    >>> both.flows().stretch
    array([2., 2.])
    >>> [round(float(t), 1) for t in both.packets().time_s / both.alone(0).packets().time_s]
    [2.0, 2.0]
    """

    network: SharedNetwork
    jobs: Sequence[PlacedJob]

    def __post_init__(self) -> None:
        need_kinds(
            "Ensemble", {"network": (self.network, SharedNetwork), "jobs": (self.jobs, Sequence)}
        )
        if not self.jobs:
            raise NetcosimError("no jobs to run: give at least 1")
        n_nodes = self.network.routing.topology.n_nodes
        for job in self.jobs:
            need_kinds("Ensemble", {"a job": (job, PlacedJob)})
            if job.nodes.max() >= n_nodes:
                raise NetcosimError(
                    f"Ensemble: job {job.job_id} is on node {job.nodes.max()}; the machine has "
                    f"{n_nodes:,}"
                )

    def alone(self, index: int) -> Ensemble:
        """Return one of the jobs (by its index in ``jobs``) in isolation, on its own links if
        any."""
        need_int("alone", "index", index, -len(self.jobs), len(self.jobs) - 1)
        return replace(self, jobs=(self.jobs[index],))

    @cached_property
    def routing(self) -> Routing:
        """The machine's routing; jobs with links of their own keep to them where the family can.

        A choice among up ports holds inside partitions too: see `netsim.routing.partition`.
        """
        machine = self.network.routing
        parts = [job.partition for job in self.jobs if job.partition is not None]
        linked = [(part.nodes, part.links) for part in parts if len(part.links)]
        if not linked or not self._keeps_jobs_to_links:
            return machine
        from netsim.routing.partition import partition_routing

        return partition_routing(machine.topology, linked, machine.name)

    @property
    def _keeps_jobs_to_links(self) -> bool:
        return family_of(self.network.routing.topology).keeps_jobs_to_links

    def packets(self, *, stream: int = 0) -> PacketTimes:
        """Simulate the communication of all jobs, packet by packet, until the last is done.

        Parameters
        ----------
        stream : int
            The routing's draws belong to the network's seed and this number.

        Raises
        ------
        NetcosimError, NetworkDeadlockError, ProgramStuckError
            See `netsim.packet.engine.simulate_packets`.
        """
        from netsim.packet.engine import simulate_packets  # its kernels take a while to import

        need_int("packets", "stream", stream, 0)
        traffic = self._traffic([job.iterations for job in self.jobs])
        rng = self._routing_rng(stream)
        result = simulate_packets(
            self.routing,
            traffic,
            self.network.packet,
            rng,
            record_messages=False,
            threads=self.network.threads,
        )
        ranks = np.bincount(traffic.rank_group)
        end = np.cumsum(ranks)
        broadcast = [job.communication.pattern == "broadcast" for job in self.jobs]
        shown = np.where(broadcast, end - 1, end - ranks)
        start_ps = self._start_ps()
        finish_ps = result.group_finish_ps - start_ps
        exposed_s = exposed_times_s(traffic, result)
        return PacketTimes(finish_ps, result.rank_finish_ps[shown] - start_ps, result, exposed_s)

    def loops(self, until_s: float, *, stream: int = 0, most: int | None = None) -> LoopTimes:
        """Simulate jobs that repeat their iteration until a moment, and time the complete ones.

        So all are present all the time, and none has the network to itself at the end. An iteration
        is complete when its last message has arrived. ``repeats`` and ``iterations`` do not count.

        Parameters
        ----------
        until_s : float
            When the run is cut.
        stream : int
            As in `packets`.
        most : int, optional
            Iterations after which a job ends.

        Raises
        ------
        NetcosimError
            A job that sends nothing from node to node; see `simulate_packets`.
        """
        from netsim.packet.engine import simulate_packets

        if not need_real("loops", "until_s", until_s, 0):
            raise NetcosimError("loops: until_s = 0; it must be above 0")
        if not self.least_s.all():
            silent = self.jobs[int(np.argmin(self.least_s))]
            raise NetcosimError(
                f"job {silent.job_id}: {silent.communication.pattern} on {len(silent.nodes)} "
                "nodes sends nothing between nodes; it has no iterations to time"
            )
        start_s, pause_s = np.array([(job.start_s, job.compute_s) for job in self.jobs]).T
        times = np.maximum(until_s - start_s, 0) / (self.least_s + pause_s)
        # where an iteration draws anew, another may be shorter than the one bounded
        spare = np.where([job.communication.draws for job in self.jobs], 2, 1)
        most = most or MAX_INDEX
        counts = np.minimum(spare * (np.ceil(times).astype(int) + 1), most)
        while True:
            traffic, rng = self._traffic(counts.tolist()), self._routing_rng(stream)
            result = simulate_packets(
                self.routing,
                traffic,
                self.network.packet,
                rng,
                until_s=until_s,
                threads=self.network.threads,
            )
            ended = (result.group_finish_ps >= 0) & (counts != most)
            if not ended.any():
                return complete_iterations(traffic, counts, result, self._start_ps())
            counts[ended] = np.minimum(2 * counts[ended], most)

    @cached_property
    def least_s(self) -> FloatArray:
        """(n_jobs,) float64: no iteration is faster; 0 for a job that sends nothing."""
        return np.array([self.network.least_s(job) for job in self.jobs])

    def watched(
        self, until_s: float, n_watched: int, *, stream: int = 0, least: int = LEAST_COUNTED
    ) -> LoopTimes:
        """Run `loops` for so long, or longer until each watched job has iterations that count.

        Parameters
        ----------
        n_watched : int
            Number of ``jobs``, from the first, that are timed; the others only load the network.
        least : int
            Iterations that each of them must have done, at least 2.
        stream : int
            As in `packets`.

        Raises
        ------
        NetcosimError
            A job that makes no progress.
        """
        for _ in range(_DOUBLINGS):
            run = self.loops(until_s, stream=stream).first(n_watched)
            if run.iterations.min() >= least:
                return run
            until_s *= 2
        slow = self.jobs[int(np.argmin(run.iterations))]
        Ensemble(self.network, [slow]).packets(stream=stream)  # says which ranks wait for ever
        raise NetcosimError(
            f"job {slow.job_id}: fewer than {least} iterations in {until_s / 2:.3g} s "
            "of a packet simulation"
        )

    def flows(self) -> FlowTimes:
        """Return the stretch of each job when all communicate all the time, at max-min fair rates.

        A job is one bundle: its load on all links grows and shrinks as one. Computing, starts and
        the order of messages do not count. Jobs of different priorities are a NetcosimError.
        """
        from netsim.flow.bundles import bundle_stretches

        if len({job.communication.priority for job in self.jobs}) > 1:
            raise NetcosimError("jobs of different priorities need packets; bundles have none")
        loads = self.loads
        sending = [i for i, load in enumerate(loads) if len(load.links)]
        stretch = np.ones(len(loads))
        stretch[sending] = bundle_stretches(
            self.routing.topology.link_bandwidth_Bps,
            [(loads[i].links, loads[i].link_bytes / loads[i].isolated_bound_s) for i in sending],
        )
        return FlowTimes(np.array([load.isolated_bound_s for load in loads]), stretch)

    def flow_finishes_s(self, unit_s: ArrayLike) -> FloatArray:
        """Return the last finish of each job's messages, all sent at once, at max-min fair rates.

        So that no job ends early and leaves the links to others, its messages are divided by its
        unit and its time multiplied by it. Messages between two nodes are one flow, without steps.

        Parameters
        ----------
        unit_s : (n_jobs,) float
            Above 0; of each job. With ``flows().bound_s`` all isolated runs would end together.

        Returns
        -------
        (n_jobs,) float64
            0 for a job that sends nothing between nodes.
        """
        from netsim.flow.maxmin import flow_finish_times
        from netsim.flow.paths import flow_paths

        n = len(self.jobs)
        units: NDArray[np.float64] = need_array(
            "flow_finishes_s", "unit_s", unit_s, n, high=1e300, real=True
        )
        topology = self.routing.topology
        pairs, amounts = [], []
        for (program, nodes), unit in zip(self._once(), units, strict=True):
            src, dst = nodes[program.send_src()].astype(np.int64), nodes[program.send_dst]
            away = src != dst
            pair = src * topology.n_nodes + dst
            if (rail := self._rail(program, nodes)) is not None:
                pair = pair * topology.rails + rail
            pair, index = np.unique(pair[away], return_inverse=True)
            pairs.append(pair)
            amounts.append(np.bincount(index.ravel(), program.send_bytes[away]) / unit)
        n_flows = [len(p) for p in pairs]
        pair, taken = np.concatenate(pairs), None
        if self._on_one_rail:
            pair, taken = np.divmod(pair, topology.rails)
        src, dst = np.divmod(pair, topology.n_nodes)
        finish_s = flow_finish_times(
            flow_paths(self.routing, src, dst, rail=taken),
            np.concatenate(amounts),
            topology.link_bandwidth_Bps,
            flow_priority=np.repeat([job.communication.priority for job in self.jobs], n_flows),
        )
        last = np.zeros(len(units))
        np.maximum.at(last, np.repeat(np.arange(len(units)), n_flows), finish_s)
        return last * units

    @cached_property
    def loads(self) -> list[JobLoad]:
        """Bytes of an iteration of each job on the links."""
        from netsim.flow.job_load import job_link_load

        return [
            job_link_load(
                self.routing,
                program.send_src(),
                program.send_dst,
                program.send_bytes,
                nodes,
                rail=self._rail(program, nodes),
            )
            for program, nodes in self._once()
        ]

    @property
    def _on_one_rail(self) -> bool:
        """Whether a message keeps to one of several ports of its node."""
        policy = self.network.packet.rail_policy
        return self.routing.topology.n_rails > 1 and policy != "striped"

    def _rail(self, program: Program, nodes: NDArray[np.int32]) -> NDArray[np.int64] | None:
        """Return the rail of each message; None where each takes all."""
        if not self._on_one_rail:
            return None
        from netsim.packet.rails import first_rail

        rails, policy = self.routing.topology.n_rails, self.network.packet.rail_policy
        return first_rail(combine([program], [nodes]), rails, policy)

    def _programs(self, iterations: Sequence[int]) -> list[Program]:
        """Return one per job; equal jobs whose pattern has no random partners share one."""
        made: dict[tuple[int, int, int], Program] = {}
        found = []
        for job, n in zip(self.jobs, iterations, strict=True):
            key = (id(job.communication), len(job.nodes), n)
            program = made.get(key) or self.network.program(job, n)
            if not job.communication.draws:
                made[key] = program
            found.append(program)
        return found

    def _once(self) -> list[tuple[Program, NDArray[np.int32]]]:
        """Return one iteration of each job, and the node of each of its ranks."""
        return list(zip(self._programs([1] * len(self.jobs)), self._nodes, strict=True))

    @cached_property
    def _nodes(self) -> list[NDArray[np.int32]]:
        """The node of each rank of each job."""
        return [self.network.rank_node(job) for job in self.jobs]

    def _traffic(self, iterations: Sequence[int]) -> Traffic:
        """Return the jobs' programs on their nodes; a rank's group is its job's place in
        ``jobs``."""
        programs = [
            with_compute(program, n, self.network.computing_s(job, n)) if job.compute_s else program
            for program, n, job in zip(
                self._programs(iterations), iterations, self.jobs, strict=True
            )
        ]
        # Where jobs can have exclusive links, their routes are also the same isolated and together.
        keys = (
            [substitute_id([job.sent_id]) for job in self.jobs]
            if self._keeps_jobs_to_links
            else None
        )
        priorities = [job.communication.priority for job in self.jobs]
        starts_s = [job.start_s for job in self.jobs]
        return combine(
            programs, self._nodes, starts_s, keys, priorities if any(priorities) else None
        )

    def _routing_rng(self, stream: int) -> np.random.Generator:
        return np.random.default_rng([self.network.seed, stream])

    def _start_ps(self) -> NDArray[np.int64]:
        return np.array([to_ps(job.start_s) for job in self.jobs], dtype=np.int64)
