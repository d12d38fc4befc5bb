"""Run times of jobs that iterate, in the queue: rates of neighbours, routings, schedulers."""

from __future__ import annotations

from dataclasses import replace
from zlib import crc32

import numpy as np
import pytest
from queue_helpers import make_workload

from alloc.policy import Placement
from alloc.registry import make_policy
from cosim.network.communication import Communication
from cosim.network.ensemble import SharedNetwork
from cosim.network.job_iterations import JobIterations
from cosim.network.job_network import JobNetwork
from cosim.network.mix import CommunicationMix, PatternShare
from cosim.network.periodic import PeriodicJob
from cosim.network.situation import Situation
from cosim.network_schedulers.base import Unscheduled
from cosim.registry import NETWORK_SCHEDULERS
from cosim.run_times.iterations import Iterations, ScheduledJobs
from netcosim.config.load import config_from
from netcosim.runs.cosim import run_cosim
from netsim.errors import NetcosimError
from netsim.flow.paths import flow_paths
from netsim.packet.model import PacketConfig
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology

RING = {"operation": "all-reduce", "algorithm": "ring", "channels": 1, "chunks": 1}


def network(
    routing: str = "min-hop",
    spines: int = 1,
    fractions: tuple[float, ...] = (0.5,),
    ranks_per_node: int = 1,
    **parameters,
) -> JobNetwork:
    """Four leaves of four GPUs, each with some up-links of a NIC's bandwidth."""
    machine = {"nodes": 16, "gpus_per_node": 1, "fabric": "leaf", "nodes_per_leaf": 4}
    topology = make_topology("gpu-cluster", machine | {"spines": spines})
    routes = make_routing(topology, routing, parameters)
    shared = SharedNetwork(routes, ranks_per_node=ranks_per_node, task_mapping="in-order")
    ring = Communication("collective", 10**7, parameters=RING | {"gpus_per_node": 1})
    shares = [PatternShare("collective", 1.0, f, f) for f in fractions]
    return JobNetwork(shared, CommunicationMix(shares), [ring] * len(fractions))


def at(*nodes: int, share: int = 0, fraction: float = 0.5) -> Situation:
    return Situation(share, np.array(nodes, dtype=np.int32).tobytes(), fraction)


def test_neighbours_are_timed_again_at_starts_and_ends_and_others_are_not():
    """Two jobs on one up-link, that each send for half of the time; a third one elsewhere."""
    running = ScheduledJobs(network(), NETWORK_SCHEDULERS["none"](), 1)
    running.start(0, at(0, 4))
    assert running.settle() == {}
    running.start(1, at(8, 12))
    assert running.settle() == {}
    running.start(2, at(1, 5))
    together = running.settle()
    assert together.keys() == {0, 2}
    assert together[0] == pytest.approx(together[2])
    # they meet in random phases: in the mean a quarter longer, in no case a half
    assert 1 / 1.5 < together[0] < 0.95
    assert running.counts["groups_simulated"] == 1
    running.end(0)
    assert running.settle() == {2: 1.0}
    # the same again, on the other two leaves, is looked up
    running.start(3, at(9, 13))
    assert running.settle() == pytest.approx({1: together[0], 3: together[2]})
    assert running.counts == {"groups": 2, "groups_simulated": 1, "largest_group": 2}


def test_the_largest_group_is_that_of_all_times():
    """Three jobs on an up-link, then two on another one."""
    running = ScheduledJobs(network(), Unscheduled(), 1)
    for job, nodes in enumerate([(0, 4), (1, 5), (2, 6), (8, 12), (9, 13)]):
        running.start(job, at(*nodes))
        if job in (2, 4):
            running.settle()
    assert (running.counts["groups"], running.counts["largest_group"]) == (2, 3)


def test_a_neighbour_is_timed_again_if_a_job_that_sends_nothing_ends_with_it():
    running = ScheduledJobs(network(), Unscheduled(), 1)
    for job, nodes in enumerate([(0, 4), (1, 5), (2,)]):
        running.start(job, at(*nodes))
    assert running.settle().keys() == {0, 1}
    running.end(0)
    running.end(2)
    assert running.settle() == {1: 1.0}


def test_ranks_of_a_node_send_from_its_port():
    """A ring of 2 ranks of node 0 and 2 of node 4: one flow each way, on 4 ports and 4 links.

    Each rank sends 2 x 3/4 of 10 MB, at 50 GB/s.
    """
    loads = network(ranks_per_node=2).loads
    found = JobIterations(loads).placed(at(0, 4))
    assert found is not None
    assert found.comm_s == pytest.approx(3e-4)
    flows = flow_paths(loads.network.shared.routing, [0, 4], [4, 0])
    assert set(found.links.tolist()) == set(flows.links.tolist())


def test_equal_groups_are_looked_up_whatever_the_numbers_of_their_jobs():
    """The jobs of 0.5 and 0.8 on two leaves, then those of 0.8 and 0.5 on the others."""
    running = ScheduledJobs(network(fractions=(0.5, 0.8)), Unscheduled(), 1)
    fractions = (0.5, 0.8)
    for number, (first, share) in enumerate([(0, 0), (1, 1), (8, 1), (9, 0)]):
        running.start(number, at(first, first + 4, share=share, fraction=fractions[share]))
    rates = running.settle()
    assert (rates[0], rates[1]) == (rates[3], rates[2])
    assert rates[0] != rates[1]
    assert running.counts == {"groups": 2, "groups_simulated": 1, "largest_group": 2}


def test_a_job_that_starts_again_beside_the_same_neighbours_is_timed_again():
    """First one pair each, then three pairs of job 0: 3 c of communication beside c of computing.

    Isolated that is 2 c: a rate of 1/2 at most. Job 1, whose group has the same jobs, stays in it.
    """
    running = ScheduledJobs(network(), NETWORK_SCHEDULERS["none"](), 1)
    running.start(0, at(0, 4))
    running.start(1, at(1, 5))
    before = running.settle()
    running.end(0)
    running.start(0, at(0, 4, 2, 6, 3, 7))
    changed = running.settle()
    assert changed.keys() == {0, 1}
    assert changed[0] <= 1 / 2 + 1e-9
    assert changed[1] < before[1]
    assert running.counts == {"groups": 2, "groups_simulated": 2, "largest_group": 2}
    fresh = ScheduledJobs(network(), NETWORK_SCHEDULERS["none"](), 1)
    fresh.start(1, at(1, 5))
    fresh.start(0, at(0, 4, 2, 6, 3, 7))
    assert fresh.settle() == changed


@pytest.mark.parametrize("name", ["crux", "cassini"])
def test_schedulers_let_a_compatible_pair_run_as_if_isolated(name):
    running = ScheduledJobs(network(), NETWORK_SCHEDULERS[name](), 1)
    running.start(0, at(0, 4))
    running.start(1, at(1, 5))
    changed = running.settle()
    assert [changed.get(job, 1.0) for job in (0, 1)] == pytest.approx([1, 1])


def test_jobs_of_high_intensity_choose_their_paths_first():
    """Two spines; the first choice is the job's that communicates least, the last one joins it."""
    fractions = (0.8, 0.7, 0.2)
    running = ScheduledJobs(network("pinned", 2, fractions), NETWORK_SCHEDULERS["crux"](), 1)
    for number, pair in enumerate([(0, 4), (1, 5), (2, 6)]):
        running.start(number, at(*pair, share=number, fraction=fractions[number]))
    running.settle()
    first_up = 2 * running.iterations.routing.topology.n_ports

    def ups(job: int) -> set[int]:
        return {link for link in running.job(job).links.tolist() if link >= first_up}

    assert ups(0) == ups(2)
    assert ups(1).isdisjoint(ups(2))
    # the others choose anew, and each has a spine
    running.end(2)
    running.settle()
    assert ups(0).isdisjoint(ups(1))


def test_paths_are_chosen_beside_all_jobs_before():
    """Two spines: 0.8 on the first; 0.3 and 0.6 on the second, more than the first has."""
    fractions = (0.8, 0.3, 0.6, 0.5)
    running = ScheduledJobs(network("pinned", 2, fractions), InOrder(), 1)
    for number, fraction in enumerate(fractions):
        running.start(number, at(number, 4 + number, share=number, fraction=fraction))
    running.settle()
    first_up = 2 * running.iterations.routing.topology.n_ports
    ups = [{*running.job(k).links.tolist()} - {*range(first_up)} for k in range(4)]
    assert ups[0] == ups[3]
    assert ups[1] == ups[2]
    assert ups[0].isdisjoint(ups[1])


def test_jobs_that_send_nothing_affect_no_other():
    """An all-reduce of one GPU, beside one of two on pinned paths."""
    running = ScheduledJobs(network("pinned", 2), Unscheduled(), 1)
    running.start(0, at(0))
    assert running.settle() == {}
    assert not running.link_use().any()
    running.start(1, at(1, 5))
    running.start(2, at(2))
    assert running.settle() == {}
    for job in (0, 2):
        running.end(job)
    assert running.link_use().max() == pytest.approx(0.5)


@pytest.mark.parametrize("routing", ["min-hop", "ecmp"])
def test_a_flow_takes_one_path_drawn_from_its_jobs_nodes(routing):
    """Up to a spine of two and down, each way, and the two ports of each GPU."""
    iterations = JobIterations(network(routing, 2).loads)
    found = [iterations.placed(at(k, 4 + k)) for k in range(4)]
    assert [len(one.links) for one in found] == [8] * 4
    for k, one in enumerate(found):
        ends = np.array([[k, 4 + k], [4 + k, k]])
        paths = flow_paths(iterations.routing, *ends, seed=crc32(at(k, 4 + k).nodes))
        assert set(paths.links.tolist()) == set(one.links.tolist())


def test_sprayed_flows_load_all_spines_alike_and_no_scheduler_gains_at_1_to_1():
    """Any pairs at all: what 16 NICs send fits into the up-links of their leaves."""
    sprayed = network("spray", 4)
    iterations = JobIterations(sprayed.loads)
    first_up = 2 * sprayed.shared.routing.topology.n_ports
    one = iterations.placed(at(0, 4))
    assert one is not None
    # 10 MB at 50 GB/s; four ports, and four links up and four down each way
    assert one.comm_s == pytest.approx(2e-4)
    assert len(one.links) == 4 + 16
    between = one.links >= first_up
    assert one.busy_s[between] == pytest.approx(np.full(16, one.comm_s / 4))
    rng = np.random.default_rng(1)
    for _ in range(10):
        nodes = rng.permutation(16)
        for name in NETWORK_SCHEDULERS:
            running = ScheduledJobs(sprayed, NETWORK_SCHEDULERS[name](), 1)
            for job in range(4):
                running.start(job, at(*nodes[4 * job : 4 * job + 4].tolist()))
            assert all(rate > 0.98 for rate in running.settle().values())


def test_a_job_on_few_links_takes_longer_even_in_isolation():
    """Four pairs of one job on one up-link: four times the communication of its isolated time."""
    iterations = JobIterations(network().loads)
    ring = iterations.placed(at(0, 4, 1, 5, 2, 6, 3, 7))
    isolated = iterations.isolated(0, 8, 0.5)
    assert ring is not None
    assert isolated is not None
    assert ring.comm_s == pytest.approx(4 * isolated.comm_s)
    assert ring.lead_s == isolated.lead_s


def test_links_are_busy_for_their_share_of_the_time_that_an_iteration_takes():
    """Four pairs of a job on one up-link, c each beside c of computing: 4 c of 5 c.

    Isolated it takes 2 c: a rate of 0.4. A port is busy for 1 c of 5 c.
    """
    running = ScheduledJobs(network(), NETWORK_SCHEDULERS["none"](), 1)
    running.start(0, at(0, 4, 1, 5, 2, 6, 3, 7))
    for _ in range(2):
        use = running.link_use()
        assert sorted(set(use.round(9).tolist())) == [0.0, 0.2, 0.8]
        assert np.count_nonzero(use > 0.5) == 4
        running.settle()
    assert running._rate == {0: pytest.approx(0.4)}
    # jobs that share a link are busy for less of the time, in the end the link for no more than all
    running = ScheduledJobs(network(), NETWORK_SCHEDULERS["none"](), 1)
    running.start(0, at(0, 4))
    running.start(1, at(1, 5))
    assert running.link_use().max() == pytest.approx(1.0)
    rates = running.settle()
    assert running.link_use().max() == pytest.approx(sum(rates.values()) / 2)


def test_jobs_whose_links_have_room_for_all_of_them_are_no_group():
    """A quarter of a NIC's bandwidth on each of four spines, four times."""
    running = ScheduledJobs(network("spray", 4), NETWORK_SCHEDULERS["none"](), 1)
    for job in range(4):
        running.start(job, at(job, 4 + job))
    assert running.settle() == {}
    assert running.counts["groups"] == 0


class InOrder(Unscheduled):
    """Paths are chosen in the order of starts."""

    def path_order(self, jobs):
        return range(len(jobs))


@pytest.mark.parametrize("scheduler", [Unscheduled, InOrder])
@pytest.mark.parametrize(("fraction", "spines_used"), [(0.3, 2), (0.8, 1)])
def test_flows_weigh_what_others_keep_busy_in_the_time_of_their_iteration(
    scheduler, fraction, spines_used
):
    """Two flows of c each way of a job that takes 2 c, and two spines, one of them in use.

    For 0.3 of the time that is 0.6 c: a flow there is done after 1.6 c, on the spine of the other
    flow after 2 c. For 0.8 it is 1.6 c: both take the free spine, 2 c of an iteration of 3 c.
    """
    running = ScheduledJobs(network("pinned", 2, (fraction, 0.5)), scheduler(), 1)
    running.start(0, at(2, 6, share=0, fraction=fraction))
    running.settle()
    running.start(1, at(0, 4, 1, 5, share=1))
    changed = running.settle()
    first_up = 2 * running.iterations.routing.topology.n_ports
    assert np.count_nonzero(running.job(1).links >= first_up) == 4 * spines_used
    assert running.job(1).iteration_s == pytest.approx(3e-4 * (4 - spines_used))
    if scheduler is InOrder and spines_used == 1:
        assert changed == pytest.approx({1: 2 / 3})
        # the same group, of one job, on other paths
        running.end(0)
        assert running.settle() == {1: 1.0}


def test_a_job_whose_links_are_busy_for_longer_is_timed_again(monkeypatch):
    """Two jobs, each on a spine of its own. When the first ends, the second one chooses anew.

    It then has the same links for three times as long: 1 c + 3 c of an isolated 1 c + 1 c.
    """
    running = ScheduledJobs(network("pinned", 2), InOrder(), 1)
    running.start(0, at(0, 4))
    running.start(1, at(1, 5))
    assert running.settle() == {}
    old = running.job(1)
    longer = replace(old, comm_s=3 * old.comm_s, busy_s=3 * old.busy_s)
    monkeypatch.setattr(running.iterations, "placed", lambda situation, background_s: longer)
    running.end(0)
    assert running.settle() == pytest.approx({1: 0.5})


def test_a_job_on_other_links_for_as_long_is_timed_again(monkeypatch):
    """Job 1 wants 1 and 1/2 of two links. Job 0 wants 4/5 of the first and 3/10 of the second.

    They exceed the first by 4/5. When job 2 ends, job 1 moves one link on: by 3/10 of the second.
    """
    running = ScheduledJobs(network("pinned", 2), InOrder(), 1)
    *links, other = np.flatnonzero(running.iterations.candidate_links(at(0, 4)))[-4:]
    c = 2e-4

    def on(used, *parts):
        return PeriodicJob(c, c, 0.0, np.array(used), c * np.array(parts))

    jobs = {at(0, 4): on(links[:2], 0.8, 0.3), at(1, 5): on(links[:2], 1.0, 0.5)}
    jobs[at(2, 6)] = on([other], 0.5)
    monkeypatch.setattr(running.iterations, "placed", lambda situation, _: jobs[situation])
    for number, pair in ((2, (2, 6)), (0, (0, 4)), (1, (1, 5))):
        running.start(number, at(*pair))
    before = running.settle()
    assert before.keys() == {0, 1}
    jobs[at(1, 5)] = on(links[1:], 1.0, 0.5)
    running.end(2)
    after = running.settle()
    assert after.keys() == {0, 1}
    assert min(after.values()) > min(before.values())


def test_only_the_nodes_that_a_job_wants_of_a_placement_send():
    """A policy may give more: the third node, on the first leaf too, is idle."""
    model = Iterations(network(), Unscheduled())
    topology = model.network.shared.routing.topology
    policy = make_policy(topology, "baseline", np.random.default_rng(0))
    times = model.prepare(make_workload([0], [10], [2]), policy, np.random.default_rng(0))
    times.on_start(0, Placement(1, np.array([0, 4, 1])), 0.0)
    use = times.link_use()
    # the NIC of GPU g is port 2 g + 1
    assert use[[1, 9, 3]].tolist() == pytest.approx([0.5, 0.5, 0.0])


@pytest.mark.parametrize(("fraction", "lead_s"), [(0.25, 6e-4), (0.8, 5e-5), (0.001, 99 * 2e-4)])
def test_what_is_not_communication_is_computing_before_it(fraction, lead_s):
    """An all-reduce of 10 MB of two GPUs: each sends 10 MB at 50 GB/s, 0.2 ms.

    0.2 / 0.25 - 0.2 = 0.6 ms of computing; of a fraction below 0.01 as of that one.
    """
    iterations = JobIterations(network(fractions=(fraction,)).loads)
    found = iterations.placed(at(0, 4, fraction=fraction))
    assert found is not None
    assert found.comm_s == pytest.approx(2e-4)
    assert (found.lead_s, found.hidden_s) == (pytest.approx(lead_s), 0.0)
    assert found.work_s == pytest.approx(2 * lead_s)
    # its two ports and the links between the leaves, each way
    assert len(found.links) == 8


HEAD = "HYBRID model_parallel_NPU_group: 1 ep: 1 pp: 1 all_gpus: 2"


@pytest.mark.parametrize(
    ("rows", "spines_Bps", "lead_ms", "comm_ms", "hidden_ms"),
    [
        # 1 ms, then 100 MB of parameters at 50 GB/s, then 4 ms: 7 ms; with 200 MB 9 ms
        (["grad_norm -1 1000000 ALLGATHER 200000000 4000000 NONE 0 0 NONE 0 0"], 50, 5, 2, 2),
        # links between switches do not count here, but for the job's place on the machine
        (["grad_norm -1 1000000 ALLGATHER 200000000 4000000 NONE 0 0 NONE 0 0"], 25, 5, 4, 2),
        # 1 ms, then 100 MB of gradients, 2 ms, beside 3 ms: 4 ms; with 200 MB 5 ms
        (
            [
                "a -1 0 NONE 0 0 NONE 0 3000000 NONE 0 0",
                "b -1 0 NONE 0 1000000 NONE 0 0 ALLREDUCE 100000000 0",
            ],
            50,
            1,
            2,
            3,
        ),
    ],
)
def test_lead_communication_and_slack_of_a_recorded_iteration(
    tmp_path, rows, spines_Bps, lead_ms, comm_ms, hidden_ms
):
    """Two GPUs of two leaves, each with one up-link."""
    found = recorded_iteration(tmp_path, [HEAD, str(len(rows)), *rows], spines_Bps)
    times_ms = 1e3 * np.array([found.lead_s, found.comm_s, found.hidden_s])
    assert times_ms == pytest.approx([lead_ms, comm_ms, hidden_ms], abs=0.05)


def recorded_iteration(tmp_path, lines, spines_GBps):
    """Return the iteration of a workload of SimAI on two GPUs of two leaves."""
    (tmp_path / "w.txt").write_text("\n".join([*lines, ""]))
    machine = {"nodes": 2, "gpus_per_node": 1, "fabric": "leaf", "nodes_per_leaf": 1, "spines": 1}
    machine |= {"fabric_bandwidth_Bps": spines_GBps * 10**9}
    packet = PacketConfig(packet_bytes=65536, buffer_bytes=1 << 22)
    routing = make_routing(make_topology("gpu-cluster", machine), "min-hop")
    shared = SharedNetwork(routing, packet, task_mapping="in-order")
    step = Communication("training-file", parameters={"file": str(tmp_path / "w.txt")})
    mix = CommunicationMix([PatternShare("training-file", 1.0, 1.0, 1.0)])
    iterations = JobIterations(JobNetwork(shared, mix, [step]).loads)
    found = iterations.placed(at(0, 1, fraction=1.0))
    assert found is not None
    return found


def test_messages_one_after_the_other_take_longer_than_any_link_is_busy(tmp_path):
    """A stage sends 50 MB after 1 ms and waits for as many: 1 ms on each port, 2 ms in all.

    8 ms: 1 forwards and 1 of message, 3 of the last stage, 1 of message, 2 backwards; with twice
    the bytes 10. On a link of half the bandwidth each message takes 1 ms more; it counts once.
    """
    layer = "_layer -1 500000 NONE 0 1000000 NONE 0 0 NONE 0 0"
    head = "HYBRID model_parallel_NPU_group: 1 pp: 2 vpp: 1 ga: 1 all_gpus: 2 pp_comm 50000000"
    found = recorded_iteration(tmp_path, [head, "2", f"embedding{layer}", f"attention{layer}"], 25)
    times_ms = 1e3 * np.array([found.lead_s, found.comm_s, found.hidden_s])
    assert times_ms == pytest.approx([6, 3, 2], abs=0.05)


@pytest.mark.parametrize("overlap", ["all", "none"])
def test_a_training_step_is_known_from_two_runs(overlap):
    """Computing and communication of an iteration, found with 1 and 2 times the bytes, give its
    time with 1.5 times the bytes."""
    machine = {"nodes": 4, "gpus_per_node": 2, "nodes_per_leaf": 4}
    topology = make_topology("gpu-cluster", machine)
    packet = PacketConfig(packet_bytes=16384, buffer_bytes=1 << 20)
    shared = SharedNetwork(make_routing(topology, "min-hop"), packet, task_mapping="in-order")
    step = {"model": "llama-7b", "blocks": 2, "overlap": overlap, "micro_batch": 2}
    times = {}
    for factor in (1.0, 1.5):
        # half of the scale and twice the gradients is the same computing and more bytes
        training = Communication(
            "training",
            parameters=step | {"scale": 1e-2 * factor, "mfu": 0.4 * factor},
        )
        shares = [PatternShare("training", 1.0, 1.0, 1.0)]
        iterations = JobIterations(JobNetwork(shared, CommunicationMix(shares), [training]).loads)
        times[factor] = iterations.isolated(0, 8, 1.0)
    one, more = times[1.0], times[1.5]
    assert one.computing_s == pytest.approx(more.computing_s, rel=1e-6)
    predicted_s = one.lead_s + max(1.5 * one.comm_s, one.hidden_s)
    assert predicted_s == pytest.approx(more.iteration_s, rel=0.03)
    assert one.hidden_s > 0


def config(scheduler: str = "none", routing: str = "ecmp", policy: str = "baseline", **machine):
    keys = {"family": "gpu-cluster", "fabric": "leaf", "nodes": 16, "nodes_per_leaf": 4}
    if routing == "ecmp":
        machine = {"queue_pairs": 2, **machine}
    return config_from(
        {
            "machine": keys | {"oversubscription": 2.0, "routing": routing} | machine,
            "workload": {"synthetic": {"n_jobs": 40, "sizes": [8, 16, 32], "load": 0.9}},
            "queue": {
                "policies": [policy],
                "run_time_model": "iterations",
                "iterations": {"network_scheduler": scheduler},
            },
            "communication": {
                "task_mapping": "in-order",
                "mix": [
                    {
                        "pattern": "collective",
                        "message_bytes": "64 MiB",
                        "communication_fraction": 0.4,
                        "parameters": {**RING, "channels": 8, "gpus_per_node": 8},
                    }
                ],
            },
            "run": {"snapshots": 0},
        }
    )


@pytest.mark.parametrize("routing", ["ecmp", "spray", "pinned"])
@pytest.mark.parametrize("scheduler", NETWORK_SCHEDULERS)
def test_a_queue_runs_with_each_scheduler_and_routing(routing, scheduler):
    """Jobs on one server run as logged, others never faster; the same seed gives the same bits."""
    runs = [run_cosim(config(scheduler, routing)).schedules["baseline"] for _ in range(2)]
    assert runs[0].end_s.tolist() == runs[1].end_s.tolist()
    jobs = runs[0].workload
    stretch = (runs[0].end_s - runs[0].start_s) / jobs.run_time_s
    assert stretch[jobs.n_nodes == 8] == pytest.approx(1.0)
    assert stretch.min() > 1 - 1e-9
    # strict priorities may hold up a job for long
    assert stretch.max() < (20 if scheduler == "crux" else 4)
    assert runs[0].reports["network_scheduler"].keys() == {
        *("groups", "groups_simulated", "largest_group")
    }


def test_jobs_with_links_of_their_own_run_as_logged():
    keys = {"family": "fattree", "radix": 8}
    found = config_from(
        {
            "machine": keys,
            "workload": {"synthetic": {"n_jobs": 30, "mean_nodes": 12}, "larger_jobs": "drop"},
            "queue": {"policies": ["random", "jigsaw"], "run_time_model": "iterations"},
            "communication": {"mix": [{"pattern": "all-to-all", "communication_fraction": 0.8}]},
            "run": {"snapshots": 0},
        }
    )
    schedules = run_cosim(found).schedules
    run_s = {name: one.end_s - one.start_s for name, one in schedules.items()}
    assert run_s["jigsaw"] == pytest.approx(schedules["jigsaw"].workload.run_time_s)
    assert run_s["random"].sum() > 1.02 * run_s["jigsaw"].sum()


def test_priorities_of_a_mix_are_refused():
    content = config().resolved()
    content["communication"]["mix"][0]["priority"] = 3
    with pytest.raises(NetcosimError, match="has priorities; iterations takes them from"):
        run_cosim(config_from(content))


def test_machines_and_run_times_that_do_not_fit_are_refused():
    model, rng = Iterations(network(), Unscheduled()), np.random.default_rng(0)
    policy = make_policy(model.network.shared.routing.topology, "baseline", rng)
    for run_s in (0.0, np.inf):
        with pytest.raises(NetcosimError, match="test: a run time is not > 0"):
            model.prepare(make_workload([0, 0], [10, run_s], [2, 2]), policy, rng)
    other = make_policy(make_topology("torus", {"dims": [8]}), "baseline", rng)
    with pytest.raises(NetcosimError, match="'baseline' places on 8 nodes, the routing has 16"):
        model.prepare(make_workload([0], [10], [2]), other, rng)
