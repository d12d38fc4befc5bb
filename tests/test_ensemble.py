"""Jobs on a network: the same messages in any company, closed forms, loops, and who draws what."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from alloc.policy import Placement, Request
from alloc.registry import make_policy
from cosim.network.communication import Communication, with_compute
from cosim.network.ensemble import Ensemble, PlacedJob, SharedNetwork
from cosim.network.loops import complete_iterations, least_iteration_s
from netsim.errors import NetcosimError
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PacketConfig
from netsim.plugins import load_plugin, using
from netsim.routing.registry import make_routing
from netsim.topologies.dragonfly import dragonfly
from netsim.topologies.fattree import fat_tree
from netsim.traffic import combine
from patterns.build import build_program, make_messages, repeated
from queuesim.draws import job_streams, substitute_id

TREE = fat_tree(8)
STATIC = make_routing(TREE, "d-mod-k")
SHARED = SharedNetwork(STATIC, seed=3)
IN_ORDER = replace(SHARED, task_mapping="in-order")
PATTERNS = ("pairs", "all-to-all", "unstructured-mesh", "halo3d")
SWAP = Communication("pairs", 100_000, parameters={"randomize": False})


def times(jobs, network=SHARED):
    return Ensemble(network, jobs).packets().time_ps


def job(job_id, said, first, n, **more):
    return PlacedJob(job_id, said, np.arange(first, first + n), **more)


def across(**more):
    """Two pairs on one up-link: D-mod-k sends 0 -> 4 and 1 -> 8 to port 0 (mod 4) of leaf 0."""
    return [PlacedJob(k, SWAP, np.array(n), **more) for k, n in enumerate(([0, 4], [1, 8]))]


# who draws what


def test_company_does_not_change_what_a_job_sends():
    """Jobs of one leaf each share no link: with others or alone, the same picoseconds, though
    patterns and mapping are random. One generator for all jobs would fail this."""
    said = Communication("uniform-random", 3000, 5)
    jobs = [job(10 + i, said, 4 * i, 4) for i in range(6)]
    together = times(jobs)
    alone = [int(times([one])[0]) for one in jobs]
    assert len(set(alone)) > 2
    assert together.tolist() == alone
    assert times(jobs[::-1]).tolist() == alone[::-1]


def test_jobs_draw_by_their_id_and_the_seed():
    """On the same 32 nodes, alone: six jobs with random partners take several times, and a job
    takes the same time again."""
    said = Communication("pairs", 50_000)
    found = [int(times([job(i, said, 0, 32)])[0]) for i in (0, 1, 2, 3, 4, 5, 0)]
    assert len(set(found)) >= 3
    assert found[-1] == found[0]
    assert times([job(0, said, 0, 32)], replace(SHARED, seed=4))[0] != found[0]


def test_equal_jobs_share_a_program_that_stays_here():
    """One of a job's id for another one that sends as it; a pickle has none of them."""
    said = Communication("pairs", 1000)
    before = pickle.dumps(said)
    first, other = (SHARED.program(job(k, said, 0, 16), 3) for k in (1, 2))
    again = SHARED.program(job(5, said, 40, 16, sends_as=1), 3)
    assert again is first
    assert not np.array_equal(first.send_dst, other.send_dst)
    assert pickle.dumps(said) == before
    assert pickle.loads(before) == said


TURN = """
import numpy as np
from patterns.build import build_program, make_messages
from patterns.entry import Pattern

def turn(n_ranks, message_bytes, iterations=1):
    rank, to = np.arange(n_ranks), np.arange(1, iterations + 1)[:, None]
    messages = make_messages(rank, to - 1, (rank + to) % n_ranks, to - 1, message_bytes)
    return build_program(n_ranks, iterations, messages)

PLUGIN = [Pattern("turn", "to the next rank, then to the one after it, ...", turn)]
"""


def test_iterations_of_a_plug_ins_pattern_may_differ(tmp_path):
    """Rank r sends to r + 1, then to r + 2: the program has both."""
    (tmp_path / "turn.py").write_text(TURN)
    with using([load_plugin(str(tmp_path / "turn.py"))]):
        program = SHARED.program(job(1, Communication("turn"), 0, 3), 2)
    assert program.send_dst.tolist() == [1, 2, 2, 0, 0, 1]


def test_a_repeated_program_waits_for_its_sends_in_each_iteration():
    once = build_program(2, [1, 2], make_messages(0, 0, 1, 1, 9))
    once = replace(once, step_waits_sends=np.array([True, False, True]))
    assert repeated(once, 2).step_waits_sends.tolist() == [True] * 2 + [False, True] * 2


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_job_sends_the_same_wherever_it_is(pattern):
    here, there = (job(7, Communication(pattern, 4000, 2), first, 16) for first in (0, 40))
    programs = [SHARED.program(one, one.iterations) for one in (here, there)]
    for name in ("step_ptr", "recv_need", "send_dst", "send_bytes", "send_step"):
        np.testing.assert_array_equal(*(getattr(program, name) for program in programs))
    # ranks sit on the same places of either list of nodes
    np.testing.assert_array_equal(SHARED.rank_node(here) + 40, SHARED.rank_node(there))


def test_purposes_have_streams_of_their_own():
    def drawn(seed, job_id):
        own = job_streams(seed, job_id)
        return [rng.random() for rng in (own.mapping, own.partners, own.start)]

    assert len(set(drawn(3, 7))) == 3
    mapping, partners = np.random.default_rng([3, 7]).spawn(2)
    assert drawn(3, 7) == [
        mapping.random(),
        partners.random(),
        np.random.default_rng([3, 7, 1]).random(),
    ]
    assert not set(drawn(3, 7)) & {*drawn(3, 8), *drawn(4, 7)}


def test_what_stands_in_for_an_id_tells_situations_apart():
    keys = {substitute_id(numbers) for numbers in ([0, 1, 2], [1, 0, 2], [0, 1], [0, 2, 1], [])}
    assert len(keys) == 5
    assert substitute_id(np.array([0, 1, 2], np.int32)) == substitute_id(iter([0, 1, 2])) >= 0


def test_the_routings_draws_belong_to_the_stream():
    """All-to-all on a dragonfly by Valiant's routing: messages stay, detours change."""
    network = SharedNetwork(make_routing(dragonfly(2, 4, 5), "valiant"), seed=1)
    said = Communication("all-to-all", 4000)
    both = Ensemble(network, [job(i, said, 12 * i, 12) for i in (0, 1)])
    found = [both.packets(stream=stream).time_ps.tolist() for stream in (0, 1, 0)]
    assert found[0] == found[2] != found[1]


# alone and together


@pytest.mark.parametrize("routing", ["d-mod-k", "adaptive", "two-choice", "random-up"])
@pytest.mark.parametrize("name", ["ta", "laas", "jigsaw", "lc"])
def test_isolated_jobs_take_the_same_time_alone_and_together(name, routing):
    """To the picosecond, also where packets choose among the job's own up ports.

    Under TA leaves are shared: jobs do not meet under D-mod-k, and do where ways are chosen.
    """
    policy = make_policy(TREE, name, np.random.default_rng(1))
    jobs = []
    for job_id, size in enumerate((5, 3, 11, 2, 17, 6, 4, 9, 20)):
        place = policy.allocate(Request(job_id, size))
        if place is not None:
            said = Communication(PATTERNS[job_id % 4], 5000, 2)
            jobs.append(PlacedJob(job_id, said, place.nodes[:size], partition=place))
    assert len(jobs) >= 5
    ensemble = Ensemble(replace(IN_ORDER, routing=make_routing(TREE, routing)), jobs)
    inside = "partition" if routing == "d-mod-k" else f"partition {routing}"
    assert ensemble.routing.name == (routing if name == "ta" else inside)
    together = ensemble.packets(stream=3).time_ps.tolist()
    alone = [int(ensemble.alone(i).packets(stream=3).time_ps[0]) for i in range(len(jobs))]
    if name != "ta" or routing == "d-mod-k":
        assert together == alone
        assert ensemble.flows().stretch == pytest.approx(np.ones(len(jobs)), abs=1e-12)


def test_links_of_ones_own_are_used_on_fat_trees_alone():
    """A job whose only reserved up-link is the last one sends over that, not over port 0."""
    shape = TREE.shape
    up = [shape.leaf_up(leaf, 3) for leaf in (0, 1)]
    own = Placement(0, np.array([0, 4], np.int32), np.array(up, np.int32))
    pair = PlacedJob(0, SWAP, own.nodes, partition=own)
    for partition, port in ((own, 3), (None, 0)):
        alone = Ensemble(IN_ORDER, [replace(pair, partition=partition)])
        used = alone.packets().packets.link_bytes
        assert [used[shape.leaf_up(0, k)] for k in range(4)] == [
            100_000 * (k == port) for k in range(4)
        ]
    flat = SharedNetwork(make_routing(dragonfly(2, 4, 5), "minimal"))
    assert Ensemble(flat, [pair]).routing is flat.routing


def test_baseline_jobs_do_disturb_each_other():
    """The counter-proof: scattered jobs on shared up-links."""
    scattered = np.random.default_rng(2).permutation(128).reshape(4, 32)
    said = Communication("pairs", 50_000, 3)
    both = Ensemble(SHARED, [PlacedJob(i, said, mine) for i, mine in enumerate(scattered)])
    alone = [both.alone(i).packets().time_s[0] for i in range(4)]
    assert both.packets().time_s.sum() > 1.1 * sum(alone)
    assert (both.flows().stretch > 1).any()


# closed forms


def test_two_jobs_on_one_link_take_twice_as_long():
    """In packets, as bundles, and message by message at max-min fair rates."""
    both = Ensemble(IN_ORDER, across())
    alone_s = 100_000 / TREE.link_bandwidth_Bps[0]
    assert both.packets().time_s == pytest.approx([2 * alone_s] * 2, rel=0.05)
    assert both.alone(1).packets().time_s == pytest.approx([alone_s], rel=0.05)
    flows = both.flows()
    assert flows.bound_s == pytest.approx([alone_s] * 2)
    assert flows.stretch == pytest.approx([2.0, 2.0])
    assert both.alone(0).flows().stretch == [1.0]
    assert both.flow_finishes_s(flows.bound_s) == pytest.approx([2 * alone_s] * 2)


def test_two_jobs_on_one_node_share_its_link():
    """Each exchanges 100 kB with a node of its own on the leaf: the links of node 0 carry both."""
    both = Ensemble(IN_ORDER, [PlacedJob(k, SWAP, np.array([0, k])) for k in (1, 2)])
    alone_s = 100_000 / TREE.link_bandwidth_Bps[0]
    assert both.packets().time_s == pytest.approx([2 * alone_s] * 2, rel=0.05)
    assert both.flows().stretch == pytest.approx([2.0, 2.0])
    assert both.flow_finishes_s([alone_s] * 2) == pytest.approx([2 * alone_s] * 2)


def test_messages_of_ones_own_length_end_when_their_share_says():
    """Bytes 1 : 3 on one link. As they are: the short ends after 2 of its lengths, then the long
    one has the link, until 4. Each in units of its bound: both take twice as long as alone."""
    short, long = across()
    long = replace(long, communication=replace(SWAP, message_bytes=300_000))
    both = Ensemble(IN_ORDER, [short, long])
    alone_s = both.flows().bound_s
    assert both.flow_finishes_s([1.0, 1.0]) == pytest.approx([2 * alone_s[0], 4 * alone_s[0]])
    assert both.flow_finishes_s(alone_s) == pytest.approx(2 * alone_s)


def test_who_sends_nothing_over_the_network_is_not_stretched():
    """Two ranks on one node; and a tornado of two ranks has nowhere to go."""
    one_node = replace(IN_ORDER, ranks_per_node=2)
    quiet = Ensemble(one_node, [job(0, SWAP, 0, 1), job(1, SWAP, 4, 2)])
    assert quiet.flows().stretch.tolist() == [1.0, 1.0]
    assert quiet.flows().bound_s[0] == 0
    assert quiet.flow_finishes_s([1.0, 1.0])[0] == 0
    silent = Ensemble(IN_ORDER, [job(5, Communication("tornado"), 0, 2)])
    assert silent.packets().time_ps.tolist() == [0]
    with pytest.raises(NetcosimError, match="job 5: tornado on 2 nodes sends nothing"):
        silent.loops(1e-3)


def test_computing_adds_its_time_to_each_iteration():
    """Two nodes that exchange: k iterations of c seconds and one exchange take k (c + t)."""
    said = Communication("pairs", 8000)
    once = times([job(1, said, 0, 2)])[0]
    for repeats, iterations in ((1, 6), (6, 1), (2, 3)):
        mine = job(1, replace(said, iterations=iterations), 0, 2, repeats=repeats, compute_s=3e-6)
        assert times([mine])[0] == 6 * (3_000_000 + once)


def test_time_counts_from_the_start():
    said = Communication("pairs", 8000)
    at_once, later = (
        Ensemble(IN_ORDER, [job(1, said, 0, 2, start_s=start_s)]).packets()
        for start_s in (0.0, 7e-6)
    )
    assert later.time_ps == at_once.time_ps == at_once.packets.end_ps
    assert later.rank0_time_ps == at_once.rank0_time_ps
    assert later.packets.end_ps == at_once.packets.end_ps + 7_000_000


def test_rank0_of_a_broadcast_is_its_last_rank():
    """Rank 0 only sends, at once done; what the measure shows is the last rank's end."""
    jobs = [job(0, Communication("broadcast", 1000), 0, 6), job(1, Communication("pairs"), 8, 2)]
    result = Ensemble(IN_ORDER, jobs).packets()
    ends = result.packets.rank_finish_ps
    assert ends[0] == 0
    assert result.rank0_time_ps.tolist() == [ends[5], ends[6]]
    assert result.rank0_time_s.tolist() == [ends[5] / 1e12, ends[6] / 1e12]
    assert result.time_ps.tolist() == [ends[:6].max(), ends[6:].max()]


def test_computing_needs_equal_iterations():
    program = Communication("pairs", 100, 3).program(2, np.random.default_rng(1))
    assert with_compute(program, 3, 1.0).compute_s.tolist() == [1.0] * 6
    halo = Communication("all-to-all", 100, 2).program(4, np.random.default_rng(1))
    assert with_compute(halo, 2, 1.0).compute_s.reshape(4, 2, 3).sum(axis=2).tolist() == (
        [[1.0, 1.0]] * 4
    )
    with pytest.raises(NetcosimError, match="iterations"):
        with_compute(program, 2, 1.0)


# loops


@pytest.mark.parametrize("compute_s", [0.0, 50e-6])
@pytest.mark.parametrize("start_s", [0.0, 30e-6])
def test_loops_count_whole_iterations(compute_s, start_s):
    """An iteration takes c + t. Until s + 4 (c + t) four are done, a picosecond earlier three;
    before the first is done there is nothing to time."""
    mine = job(1, SWAP, 0, 2, compute_s=compute_s, start_s=start_s)
    alone = Ensemble(IN_ORDER, [mine])
    once_s = alone.packets().time_s[0]
    for until_s, done in ((4 * once_s + 1e-12, 4), (4 * once_s - 1e-9, 3), (0.9 * once_s, 0)):
        found = alone.loops(start_s + until_s)
        assert found.iterations.tolist() == [done]
        assert found.time_s == pytest.approx([once_s if done else np.nan], nan_ok=True, rel=1e-9)
        ended = alone.loops(start_s + until_s, most=2)
        assert ended.ends_ps[0].tolist() == found.ends_ps[0][:2].tolist()


def test_in_loops_nobody_is_left_alone():
    """Bytes 1 : 4 on one link. Sent once, the long job has the link to itself in the end; in
    loops the short one is always there, and both take twice as long as alone."""
    short, long = across()
    long = replace(long, communication=replace(SWAP, message_bytes=400_000))
    network = replace(IN_ORDER, packet=PacketConfig(packet_bytes=16384, buffer_bytes=4 * 16384))
    both = Ensemble(network, [short, long])
    alone_s = [both.alone(i).packets().time_s[0] for i in (0, 1)]
    assert both.packets().time_s[1] < 1.4 * alone_s[1]
    looping = both.loops(40 * alone_s[1])
    assert looping.time_s == pytest.approx(np.multiply(2, alone_s), rel=0.08)
    assert looping.iterations == pytest.approx(40 * alone_s[1] / looping.time_s, abs=1)
    assert looping.packets.end_ps == round(40 * alone_s[1] * 1e12)


def test_loops_last_when_later_iterations_are_shorter():
    """Each iteration draws new targets. Of 100 jobs the one whose first iteration is bounded
    worst makes more iterations than that bound allows, and loops on until the end."""
    said = Communication("uniform-random", 20_000)
    jobs = [job(i, said, 0, 8) for i in range(100)]
    bounds_s = Ensemble(IN_ORDER, jobs).flows().bound_s
    worst = int(np.argmax(bounds_s))
    found = Ensemble(IN_ORDER, [jobs[worst]]).loops(3e-3)
    assert found.iterations[0] > 3e-3 / bounds_s[worst] + 1
    assert found.time_s * found.iterations == pytest.approx([3e-3], rel=0.02)


def test_what_stays_on_a_node_does_not_bound_an_iteration():
    """Two ranks a node: rank 0 sends 100 to its neighbour on the node and 300 to the next node."""
    messages = make_messages([0, 0], [0, 0], [1, 2], [0, 0], [100, 300])
    program = build_program(4, 1, messages)
    tree = fat_tree(4, bandwidth_Bps=10**9)
    nodes = np.array([0, 0, 1, 1], dtype=np.int32)
    assert least_iteration_s(tree, program, nodes) == pytest.approx(300e-9)


def test_iterations_are_complete_up_to_the_first_message_that_is_missing():
    """Three iterations of two messages from 1 ns on, of which one of the last is on its way.

    The second iteration ends with its later message, at 5 ns: 2 ns each. The other job's one
    iteration has taken 9 ns, the third job's first one has no end.
    """
    messages = make_messages([0, 0], [0, 0], [1, 2], [0, 0], [100, 300])
    kinds = {"kinds": ("dp",), "step_kind": np.ones(3, dtype=np.int64)}
    programs = [build_program(3, 1, messages, n, **kinds) for n in (3, 1, 2)]
    nodes = [np.arange(3), np.arange(4, 7), np.arange(8, 11)]
    traffic = combine(programs, nodes, start_s=[1e-9, 0.0, 0.0])
    ran = simulate_packets(STATIC, traffic, PacketConfig(), np.random.default_rng(0))
    # iteration by iteration
    finish_ps = np.array([2000, 3000, 5000, 4000, 7000, -1, 9000, 8000, *[-1] * 4])
    exposed_ps = np.tile([3000], (9, 1))
    cut = replace(ran, message_finish_ps=finish_ps, end_ps=9000, exposed_ps=exposed_ps)
    found = complete_iterations(traffic, np.array([3, 1, 2]), cut, np.array([1000, 0, 0]))
    assert found.iterations.tolist() == [2, 1, 0]
    assert found.time_s[:2].tolist() == pytest.approx([2e-9, 9e-9])
    assert np.isnan(found.time_s[2])
    assert [ends.tolist() for ends in found.ends_ps] == [[3000, 5000], [9000], []]
    # waits of 3 ns in 8 ns of 2 ns an iteration, and in the 9 ns of one
    assert [list(one.values()) for one in found.exposed_s[:2]] == [
        [pytest.approx(0.75e-9)],
        [pytest.approx(3e-9)],
    ]


def test_bad_jobs_are_refused():
    with pytest.raises(NetcosimError, match="no jobs"):
        Ensemble(SHARED, [])
    with pytest.raises(NetcosimError, match="job_id = -1"):
        job(-1, SWAP, 0, 2)
    with pytest.raises(NetcosimError, match="repeats = 0"):
        job(1, SWAP, 0, 2, repeats=0)
