"""The message model: against a plain second implementation, closed forms and the packet engine."""

from __future__ import annotations

import tracemalloc

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mean_value_analysis import mean_value_analysis
from message_reference import PlainJob
from selection import examples, first_only

from netsim.errors import NetcosimError
from netsim.flow.job_load import job_link_load
from netsim.flow.job_messages import MAX_RANKS, MAX_STEPS, job_messages
from netsim.flow.job_routes import JobRoutes, load_cost
from netsim.flow.message_load import MessageLoad, message_load
from netsim.flow.message_network import MessageNetwork, difference
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PacketConfig
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing, routings_for
from netsim.topologies.dragonfly import dragonfly
from netsim.topologies.fattree import fat_tree
from netsim.topologies.graph import graph
from netsim.topologies.torus import torus
from netsim.traffic import combine
from patterns.registry import make_pattern

CONFIG = PacketConfig()
MACHINES = [
    (lambda: fat_tree(4), "d-mod-k"),
    (lambda: fat_tree(4), "adaptive"),
    (lambda: dragonfly(2, 2, 5), "minimal"),
    (lambda: dragonfly(2, 2, 5), "ugal-l"),
    (lambda: dragonfly(2, 2, 5), "par"),
    (lambda: dragonfly(2, 2, 5), "valiant"),
    (lambda: dragonfly(2, 3, 4), "valiant-local"),
    (lambda: torus((3, 3), concentration=2), "minimal-adaptive"),
]
PATTERNS = ("all-to-all", "halo2d", "pairs", "allreduce-ring", "sub-a2a")


def load_of(
    routing: Routing,
    pattern: str,
    nodes,
    n_bytes: int,
    config=CONFIG,
    ranks_per_node: int = 1,
    background_s=None,
) -> MessageLoad:
    nodes = np.asarray(nodes, np.int32)
    n_ranks = len(nodes) * ranks_per_node
    program = make_pattern(pattern, n_ranks, n_bytes, 1, np.random.default_rng(1))
    job = job_messages(program, ranks_per_node, config)
    return message_load(JobRoutes(routing), job, nodes, config, seed=5, background_s=background_s)


def placed(
    routing: Routing,
    pattern: str,
    nodes,
    n_bytes: int,
    config: PacketConfig,
    ranks_per_node: int,
    background_s,
    fraction: float,
    key: int,
) -> tuple[MessageLoad, PlainJob]:
    """A job for the network and for the plain model."""
    load = load_of(routing, pattern, nodes, n_bytes, config, ranks_per_node, background_s)
    rank_node = np.repeat(np.asarray(nodes, np.int32), ranks_per_node)
    program = make_pattern(pattern, len(rank_node), n_bytes, 1, np.random.default_rng(1))
    return load, PlainJob(routing, program, rank_node, config, 5, background_s, fraction, key)


@pytest.mark.parametrize(("make", "routing"), MACHINES)
@given(seed=st.integers(0, 2**32 - 1))
@examples(4)
def test_any_history_equals_the_plain_model(make, routing: str, seed: int) -> None:
    topology, rng = make(), np.random.default_rng(seed)
    config = PacketConfig(packet_bytes=1000, header_bytes=40)
    router = make_routing(topology, routing)
    free, there, plain = rng.permutation(topology.n_nodes).tolist(), {}, {}
    n_started = 0
    net: MessageNetwork[int] = MessageNetwork(topology.n_links, tolerance=1e-4)
    for number in range(5):
        gone = [j for j in there if rng.random() < 0.3]
        for job in gone:
            free += there.pop(job)
            del plain[job]
        coming, shares = [], []
        for k in range(2):
            size = int(rng.integers(2, 5))
            if len(free) < size:
                continue
            job, nodes = 10 * number + k, [free.pop() for _ in range(size)]
            pattern = PATTERNS[int(rng.integers(len(PATTERNS)))]
            share = float(rng.uniform(0.05, 1))
            n_bytes = int(rng.integers(1, 30_000))
            load, other = placed(
                router, pattern, nodes, n_bytes, config, 1 + k, None, share, n_started
            )
            n_started += 1
            coming.append((job, load))
            shares.append(share)
            there[job], plain[job] = nodes, other
        net.change(coming, gone, fractions=shares)
    for job, other in plain.items():
        assert net.alone_s(job) == pytest.approx(other.alone_s, rel=1e-9)
        other.stretch = net.stretch(job)
    # a fixed point of the plain model, as far as there is one; there may be others
    look_around(list(plain.values()))
    for job, other in plain.items():
        others = [o for o in plain.values() if o is not other]
        assert net.stretch(job) == pytest.approx(other.goal(others), rel=5e-3)


def look_around(jobs: list[PlainJob]) -> None:
    """Work out what jobs of these stretches are to each other on links."""
    for _ in range(30):
        for job in jobs:
            job.look([o for o in jobs if o is not job])


@pytest.mark.parametrize(("make", "routing"), MACHINES[3:])
@given(seed=st.integers(0, 2**32 - 1))
@examples(4)
def test_other_ways_equal_the_plain_model(make, routing: str, seed: int) -> None:
    """Some jobs take other ways; each is still compared with its time on the ways it had alone."""
    topology, rng = make(), np.random.default_rng(seed)
    router = make_routing(topology, routing)
    nodes = rng.permutation(topology.n_nodes)[:9].reshape(3, 3)
    net: MessageNetwork[int] = MessageNetwork(topology.n_links, tolerance=1e-4)
    shares = rng.uniform(0.05, 1, 3).tolist()

    def start(k: int, others_s=None) -> tuple[MessageLoad, PlainJob]:
        return placed(router, PATTERNS[k], nodes[k], 20_000, CONFIG, 1, others_s, shares[k], k)

    both = [start(k) for k in range(3)]
    net.change([(k, load) for k, (load, _) in enumerate(both)], [], fractions=shares)
    plain = [other for _, other in both]
    for k in (0, 1):
        busy_s = net.others_busy_s(k)
        mine = plain[k].alone_s * net.stretch(k)
        expected = np.zeros(topology.n_links)
        for other in (o for j, o in enumerate(plain) if j != k):
            other.stretch = net.stretch(plain.index(other))
            for link in other.busy:
                expected[link] += other.mean_use(link) * mine
        np.testing.assert_allclose(busy_s, expected, rtol=0.02, atol=1e-12)
        load, new = start(k, expected)
        for name in ("alone_s", "compute_s", "span"):
            setattr(new, name, getattr(plain[k], name))
        plain[k] = new
        net.reroute([k], lambda _, busy_s, load=load: load)
        assert net.alone_s(k) == pytest.approx(new.alone_s, rel=1e-9)
    for k, job in enumerate(plain):
        job.stretch = net.stretch(k)
    look_around(plain)
    for k, job in enumerate(plain):
        others = [o for o in plain if o is not job]
        assert net.stretch(k) == pytest.approx(job.goal(others), rel=5e-3)
    # and after all have left, nothing of them is left
    assert net.change([], [0, 1, 2]) == []
    net.change([(7, both[0][0])], [])
    assert net.stretch(7) == 1.0


def one_message(
    entry_s: float,
    latency_s: float,
    busy_s: float,
    *,
    floor_s: float = 0.0,
    packet_s: float = 0.0,
    inputs: float = 1.0,
    most_slow: float = np.inf,
    train: float = 1.0,
    single: bool = False,
) -> MessageLoad:
    """A job of one rank, one step and one message over one link, number 0."""
    return MessageLoad(
        links=np.array([0], np.int32),
        busy_s=np.array([busy_s]),
        inputs=np.array([inputs]),
        packet_s=np.array([packet_s]),
        # ranks, steps, messages, entries; where ranks and steps begin and end; order; the rank's
        # next iteration waits for the message; its chain; single; where its path is; the link
        ints=np.array([1, 1, 1, 1, 0, 1, 0, 1, 0, 1, 0, single, 0, 1, 0], np.int32),
        # scale, most_slow, train, buffer, felt waits; computing; floor, latency; of the entry: its
        # time, weight of its wait, the message's own time
        floats=np.array([1, most_slow, train, 8, 1, 0, floor_s, latency_s, entry_s, 1, entry_s]),
    )


def stretch_of_two(load: MessageLoad, fraction: float = 1.0) -> float:
    net: MessageNetwork[int] = MessageNetwork(1, tolerance=1e-7)
    net.change([(0, load), (1, load)], [], fractions=[fraction, fraction])
    assert net.stretch(0) == pytest.approx(net.stretch(1), rel=0.02)
    return net.stretch(0)


@pytest.mark.parametrize(
    ("idle", "fraction"), [(0.3, 1), (0.8, 1), (2, 1), (6, 1), (1, 0.2), (1, 0.6), (3, 0.6)]
)
def test_two_jobs_that_meet_by_chance(idle: float, fraction: float) -> None:
    """Both send for 1 s and then idle: the other is there with its isolated fraction.

    It is then on the link for 1 / (1 + idle) of the time, so sending takes 1 + f / (1 + idle).
    Where jobs pause, that is met in the mean of eight phases, nearly.
    """
    slow = 1 + fraction / (1 + idle)
    assert stretch_of_two(one_message(1.0, idle, 1.0), fraction) == pytest.approx(
        (slow + idle) / (1 + idle), rel=1e-6 if fraction == 1 else 3e-3
    )


@pytest.mark.parametrize(
    "fractions",
    [(0.1, 0.1), (0.3, 0.3), (0.8, 0.8), (0.2, 0.5), (0.1, 0.8), (0.3, 0.3, 0.3), (0.1, 0.4, 0.8)]
    + [(f,) * 4 for f in (0.1, 0.2, 0.25, 0.4, 0.8)]
    + [(0.1, 0.3, 0.5, 0.7)],
)
def test_jobs_on_one_cable_meet_mean_value_analysis(fractions: tuple[float, ...]) -> None:
    """The extra time: of two jobs within 4 %, of three and four within 6 %.

    There what a job is without another is taken in the first order only.
    """
    net: MessageNetwork[int] = MessageNetwork(1, tolerance=1e-7)
    load = one_message(1.0, 0.0, 1.0)
    net.change([(k, load) for k in range(len(fractions))], [], fractions=fractions)
    exact = mean_value_analysis([(1 - f) / f for f in fractions])
    if len(fractions) == 2:
        assert exact == pytest.approx([1 + fractions[1], 1 + fractions[0]])
    extra = [net.stretch(k) - 1 for k in range(len(fractions))]
    expected = [s - 1 for s in exact]
    assert extra == pytest.approx(expected, rel=0.04 if len(fractions) == 2 else 0.06)


def test_who_takes_little_while_it_communicates_is_felt_little() -> None:
    """Half of a link for a third of the time: 1 + 1/3 * 0.5; a tenth: 1 + 1/3 * 0.1.

    The other is not slowed, for it could have the link for as long as it likes (most_slow = 1).
    """
    for part in (0.5, 0.1):
        net: MessageNetwork[str] = MessageNetwork(1, tolerance=1e-9)
        other = one_message(part, 1 - part, part, most_slow=1.0)
        jobs = [("job", one_message(1.0, 0.0, 1.0)), ("other", other)]
        net.change(jobs, [], fractions=[0.5, 1 / 3])
        assert net.stretch("job") == pytest.approx(1 + part / 3, rel=2e-3)
        assert net.stretch("other") == 1.0


def test_who_feels_nothing_of_changes_expects_less_of_the_next() -> None:
    """A third of what is possible at its start; a half of that each time; a tenth at least.

    The first job is never slowed: packets of others go elsewhere (most_slow = 1).
    """
    net: MessageNetwork[int] = MessageNetwork(1)
    firm, guest = one_message(1.0, 0.0, 1.0, most_slow=1.0), one_message(1.0, 0.0, 1.0)
    net.change([(0, firm)], [], fractions=[0.5])
    slot = net._find(0)
    expected = [1 / 3, 1 / 6, 0.1, 0.1]
    for k, part in enumerate(expected):
        assert net._jobs.felt[slot] == pytest.approx(part)
        net.change([(1, guest)] * (k % 2 == 0), [1] * (k % 2))
    assert net.stretch(0) == 1.0


def test_a_neighbour_takes_at_most_twice_as_much() -> None:
    """A third of the time there, it takes as much where as many links feed it: 1 + 1 / 3.

    Half of that for half as many, and 1 + 2 / 3 for five times as many.
    """
    for inputs, slow in ((1.0, 4 / 3), (0.5, 7 / 6), (5.0, 5 / 3)):
        net: MessageNetwork[str] = MessageNetwork(1, tolerance=1e-9)
        other = one_message(1.0, 0.0, 1.0, inputs=inputs, most_slow=1.0)
        jobs = [("job", one_message(1.0, 0.0, 1.0)), ("other", other)]
        net.change(jobs, [], fractions=[0.5, 1 / 3])
        assert net.stretch("job") == pytest.approx(slow, rel=0.01)


def test_a_neighbour_does_not_queue_behind_itself() -> None:
    """A ping-pong uses each direction of a cable for half of its communication.

    Beside another one, both at a fraction of 0.5: 1 + 0.5 * 0.5 (packets: 1.26). A job at 0.4 that
    uses one direction only beside two of them: 1 + 2 * 0.5 * 0.5, and a little more as they slow
    each other (1.62; packets: 1.55).
    """
    ping_pong = MessageLoad(
        links=np.array([0, 1], np.int32),
        busy_s=np.ones(2),
        inputs=np.ones(2),
        packet_s=np.zeros(2),
        # as in `one_message`, with two steps: the second waits for the first's message
        ints=np.array([1, 2, 2, 2, 0, 2, 0, 1, 2, 0, 1, 1, 2, 0, 1, 0, 0, 0, 1, 2, 0, 1], np.int32),
        floats=np.array([1, np.inf, 1, 8, 1, *(0,) * 6, *(1,) * 6], np.float64),
    )
    net: MessageNetwork[int] = MessageNetwork(2, tolerance=1e-6)
    net.change([(0, ping_pong), (1, ping_pong)], [], fractions=[0.5, 0.5])
    assert [net.stretch(k) for k in range(2)] == pytest.approx([1.25, 1.25], rel=2e-3)
    net.change([(2, one_message(1.0, 0.0, 1.0))], [], fractions=[0.4])
    assert net.stretch(2) == pytest.approx(1.55, rel=0.06)


@pytest.mark.parametrize(("make", "routing"), [MACHINES[0], MACHINES[3], MACHINES[-1]])
def test_no_result_depends_on_the_size_of_a_buffer(make, routing, monkeypatch):
    """Pools, slots and rows that grow, and others that are large from the start: same bits."""
    topology = make()
    router = make_routing(topology, routing)
    loads = []
    rng = np.random.default_rng(8)
    for k in range(36):
        nodes = rng.permutation(topology.n_nodes)[: int(rng.integers(2, 6))]
        loads.append(load_of(router, PATTERNS[k % len(PATTERNS)], nodes, 20_000))

    def history() -> tuple[list[list[int]], list[float]]:
        net: MessageNetwork[int] = MessageNetwork(topology.n_links)
        told, stretches = [], []
        for k, load in enumerate(loads):
            told.append(net.change([(k, load)], [k - 20] if k >= 20 else []))
            told.append(net.reroute([k - 1], lambda job, _: loads[job]) if k % 5 == 4 else [])
            stretches += [net.stretch(j) for j in range(max(0, k - 19), k + 1)]
        return told, stretches

    monkeypatch.setattr("netsim.flow.message_network._ROOM", (1, 1, 1))
    monkeypatch.setattr("netsim.flow.message_network._SLOTS", 1)
    monkeypatch.setattr("netsim.flow.message_network._WIDTH", 1)
    grown = history()
    monkeypatch.setattr("netsim.flow.message_network._ROOM", (1 << 16, 1 << 18, 1 << 18))
    monkeypatch.setattr("netsim.flow.message_network._SLOTS", 128)
    monkeypatch.setattr("netsim.flow.message_network._WIDTH", 64)
    assert history() == grown
    assert max(grown[1]) > 1.5


def waiting(
    busy_s: float, packet_s: float, inputs: float = 1000.0, *, train: float = 1.0, **more: bool
) -> MessageLoad:
    """A job that takes 1 s alone, whatever the link does, and a wait more among others."""
    return one_message(
        *(0.0, 0.0, busy_s),
        floor_s=1.0,
        packet_s=packet_s,
        inputs=inputs,
        most_slow=1.0,
        train=train,
        **more,
    )


@pytest.mark.parametrize("packet_s", [0.02, 0.1])
def test_waits_for_single_packets(packet_s: float) -> None:
    """The other is there for 0.3 of the time, a packet half over: s = 1 + 0.3 p / 2."""
    assert stretch_of_two(waiting(0.3, packet_s)) == pytest.approx(1 + 0.15 * packet_s, rel=1e-6)


@pytest.mark.parametrize("packet_s", [0.02, 0.1])
def test_trains_queue_behind_the_job(packet_s: float) -> None:
    """As the job uses u = 0.3 / s: s = 1 + 0.3 p / 2 (1 + 7 u), so s^2 - s (1 + w) = 2.1 w."""
    w = 0.15 * packet_s
    s = (1 + w + ((1 + w) ** 2 + 8.4 * w) ** 0.5) / 2
    assert stretch_of_two(waiting(0.3, packet_s, train=8.0)) == pytest.approx(s, rel=1e-6)


def test_waits_at_a_crowded_link() -> None:
    """A fifth of the link stays spare: p / 2 (0.85 / (1 - 0.1) + 0.1 / 0.2) beside 0.85 and 0.1."""
    net: MessageNetwork[int] = MessageNetwork(1, tolerance=1e-9)
    net.change([(k, waiting(use, 1e-4)) for k, use in enumerate((0.05, 0.85, 0.1))], [])
    assert (net.stretch(0) - 1) / 1e-4 == pytest.approx(0.85 / 1.8 + 0.25, rel=1e-3)


def test_nobody_waits_for_more_than_a_buffer_of_each_input() -> None:
    """Without the limit it would be 1 + 0.015 (1 + 7 * 0.3)."""
    assert stretch_of_two(waiting(0.3, 0.1, 0.05, train=8.0)) == pytest.approx(1.04, rel=1e-6)


def test_single_packets_draw_their_waits() -> None:
    """None, or with a chance of 0.3 uniform up to a packet: 1 + 0.3 p / 2 in the mean of 32."""
    load = waiting(0.3, 0.1, single=True)
    net: MessageNetwork[int] = MessageNetwork(1, tolerance=1e-7)
    net.change([(0, load), (1, load)], [])
    assert net.stretch(0) == pytest.approx(1.015, abs=2e-3)
    assert net.stretch(0) != pytest.approx(1.015, abs=1e-6)


def test_scattered_packets_feel_a_part_of_the_waits() -> None:
    """Along a row of a torus there is one way, with the same links under both routings."""
    topology = torus((6, 2))
    program = make_pattern("pairs", 2, 5000, 1, np.random.default_rng(1))
    job = job_messages(program, 1, CONFIG)
    nodes = np.array([0, 4], np.int32)  # (0, 0) and (2, 0)
    static, scattered = (
        message_load(JobRoutes(make_routing(topology, name)), job, nodes, CONFIG)
        for name in ("dimension-order", "minimal-adaptive")
    )
    assert static.links.tolist() == scattered.links.tolist()
    entries = int(static.ints[3])
    assert entries == 4
    assert (static.floats[1], scattered.floats[1]) == (np.inf, 1.5)  # packets avoid a slow link
    for part in (slice(5, -2 * entries), slice(-entries, None)):
        np.testing.assert_allclose(static.floats[part], scattered.floats[part])
    assert static.floats[-2 * entries : -entries].tolist() == [1.0] * 4
    assert scattered.floats[-2 * entries : -entries].tolist() == [0.625] * 4


def test_new_paths_disturb_by_what_differs() -> None:
    """Links 1 (2 s) and 4 (1 s) against 1 (2 s), 4 (0.25 s) and 6 (0.75 s): nothing on link 1."""
    cable = one_message(1.0, 0.0, 1.0)
    old = cable._replace(links=np.array([1, 4], np.int32), busy_s=np.array([2.0, 1.0]))
    new = cable._replace(links=np.array([1, 4, 6], np.int32), busy_s=np.array([2.0, 0.25, 0.75]))
    links, busy_s = difference(old, new)
    assert links.tolist() == [1, 4, 6]
    assert busy_s.tolist() == [0.0, 0.75, 0.75]


def test_the_same_paths_change_nothing() -> None:
    """Rerouted among others where it is: nobody is solved again."""
    net: MessageNetwork[str] = MessageNetwork(1)
    load = one_message(1.0, 0.0, 1.0)
    net.change([("a", load), ("b", load)], [], fractions=[0.5, 0.25])
    before = net.stretch("a"), net.stretch("b")
    assert net.reroute(["a", "b"], lambda job, others_s: load) == []
    assert (net.stretch("a"), net.stretch("b")) == before


def test_luckier_ways_do_not_make_a_job_faster_than_alone() -> None:
    """The time alone stays 1 s, and a stretch below 1 would be a gain from company."""
    net: MessageNetwork[str] = MessageNetwork(1)
    net.change([("job", one_message(1.0, 0.0, 1.0))], [])
    assert net.reroute(["job"], lambda job, others_s: one_message(0.5, 0.0, 0.5)) == []
    assert (net.stretch("job"), net.alone_s("job")) == (1.0, 1.0)
    assert net.load("job").busy_s.tolist() == [0.5]
    with pytest.raises(NetcosimError, match="'other' is not in the network"):
        net.reroute(["other"], lambda job, others_s: one_message(1.0, 0.0, 1.0))


def one_cable():
    network = nx.Graph()
    network.add_node("a", nodes=3)
    network.add_node("b", nodes=3)
    network.add_edge("a", "b")
    return graph(network)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_jobs_that_fill_a_cable_take_turns(n_jobs: int) -> None:
    """Each fills it alone: n jobs take n times as long, and recover when one ends."""
    topology = one_cable()
    router = make_routing(topology)
    net: MessageNetwork[int] = MessageNetwork(topology.n_links, tolerance=1e-4)
    loads = [load_of(router, "all-to-all", [k, k + 3], 10**8) for k in range(n_jobs)]
    assert sorted(net.change(list(enumerate(loads)), [])) == list(range(n_jobs))
    assert [net.stretch(k) for k in range(n_jobs)] == pytest.approx([n_jobs] * n_jobs, rel=3e-3)
    assert sorted(net.change([], [0])) == list(range(1, n_jobs))
    assert net.stretch(1) == pytest.approx(n_jobs - 1, rel=3e-3)


def test_a_job_that_hardly_uses_a_cable_is_hardly_slowed() -> None:
    """Three nodes that exchange on one side and one pair across, beside a job that fills it."""
    topology = one_cable()
    router = make_routing(topology)
    fills = load_of(router, "all-to-all", [0, 3], 10**8)
    idle = load_of(router, "all-to-all", [1, 2], 10**8)
    net: MessageNetwork[str] = MessageNetwork(topology.n_links)
    net.change([("fills", fills), ("idle", idle)], [])
    assert (net.stretch("fills"), net.stretch("idle")) == (1.0, 1.0)


def test_jobs_that_share_no_link_have_stretch_exactly_one() -> None:
    topology = fat_tree(6)
    router = make_routing(topology)
    net: MessageNetwork[int] = MessageNetwork(topology.n_links)
    pods = np.arange(topology.n_nodes).reshape(6, 9)
    loads = [(k, load_of(router, "all-to-all", pod, 5000)) for k, pod in enumerate(pods)]
    assert net.change(loads, []) == []
    assert {net.stretch(k) for k in range(6)} == {1.0}
    assert net.change([], [2, 4]) == []


@pytest.mark.parametrize("n_bytes", first_only([2_000, 20_000]))
@pytest.mark.parametrize("pattern", ["all-to-all", "pairs", "stencil4d", "halo2d"])
def test_time_alone_is_near_the_packet_engine(pattern: str, n_bytes: int) -> None:
    """Consecutive nodes of a full fat-tree: nothing collides, so only shape and latency count."""
    topology = fat_tree(6)
    router = make_routing(topology)
    nodes = np.arange(27, dtype=np.int32)[: 26 if pattern == "pairs" else 27]
    load = load_of(router, pattern, nodes, n_bytes)
    net: MessageNetwork[int] = MessageNetwork(topology.n_links)
    net.change([(0, load)], [])
    program = make_pattern(pattern, len(nodes), n_bytes, 1, np.random.default_rng(1))
    traffic = combine([program], [nodes])
    packets = simulate_packets(router, traffic, CONFIG, np.random.default_rng(1))
    assert net.alone_s(0) == pytest.approx(packets.group_finish_ps[0] / 1e12, rel=0.15)


@pytest.mark.parametrize("nodes", [(0, 1), (0, 3), (0, 15)])
def test_a_pair_alone_is_as_fast_as_by_packets(nodes: tuple[int, int]) -> None:
    """One packet each way, over two, four and six links: node links have their latency too."""
    topology = fat_tree(4)
    router = make_routing(topology)
    load = load_of(router, "pairs", nodes, 1000)
    net: MessageNetwork[int] = MessageNetwork(topology.n_links)
    net.change([(0, load)], [])
    program = make_pattern("pairs", 2, 1000, 1, np.random.default_rng(1))
    traffic = combine([program], [np.array(nodes, np.int32)])
    packets = simulate_packets(router, traffic, CONFIG, np.random.default_rng(1))
    assert net.alone_s(0) == pytest.approx(packets.group_finish_ps[0] / 1e12, rel=1e-6)


@pytest.mark.parametrize("make", [lambda: fat_tree(4), lambda: dragonfly(2, 2, 5)])
def test_table_of_routes_equals_the_walks(make) -> None:
    topology = make()
    rng = np.random.default_rng(1)
    src, dst = np.divmod(rng.permutation(topology.n_nodes**2)[:60], topology.n_nodes)
    order = np.lexsort((dst, src))
    src, dst = src[order], dst[order]
    sizes = rng.uniform(1, 9, 60)
    wanted = np.array([3, 8, 20])
    for name in routings_for(topology.family):
        routing = make_routing(topology, name)
        *fast, paths = JobRoutes(routing).of(src, dst, sizes, wanted, seed=3)
        *walked, same = JobRoutes(routing, max_entries=0).of(src, dst, sizes, wanted, seed=3)
        slow = job_link_load(routing, src, dst, sizes, np.arange(topology.n_nodes), seed=3)
        between = slow.links >= 2 * topology.n_nodes
        for links, link_bytes in (fast, walked):
            assert links.tolist() == slow.links[between].tolist()
            np.testing.assert_allclose(link_bytes, slow.link_bytes[between], rtol=1e-12)
        assert paths.ptr.tolist() == same.ptr.tolist()
        assert paths.links.tolist() == same.links.tolist()


@pytest.mark.parametrize(("n_pairs", "parts"), [(1000, 8), (2048, 4), (5000, 1), (13_000, 1)])
def test_many_pairs_spread_without_being_cut(n_pairs: int, parts: int) -> None:
    """8192 walks a job at most: 8 pieces a pair up to 1024 pairs, whole ones from 4097 on."""
    topology = torus((11, 11))
    src, dst = np.divmod(np.arange(topology.n_nodes**2), topology.n_nodes)
    src, dst = src[src != dst][:n_pairs], dst[src != dst][:n_pairs]
    routes = JobRoutes(make_routing(topology, "minimal-adaptive"))
    *_, paths = routes.of(src, dst, np.full(n_pairs, 1e4), np.arange(n_pairs))
    assert (paths.weights is None) == (parts == 1)
    if paths.weights is not None:
        assert paths.weights.min() == 1 / parts


def test_followed_messages_stand_for_all() -> None:
    """300 ranks, all to all: 16 of 299 steps and 64 of 300 ranks; bytes are counted in full."""
    program = make_pattern("all-to-all", 300, 3000, 1, np.random.default_rng(1))
    job = job_messages(program, 1, PacketConfig(packet_bytes=2048, header_bytes=10))
    assert job.pair_bytes.sum() == 300 * 299 * 3020
    assert job.packet_bytes == 1510
    assert np.unique(job.step).tolist() == list(range(MAX_STEPS))
    assert job.scale == pytest.approx(299 / 16)
    assert len(job.rank_ptr) - 1 == MAX_RANKS
    assert len(job.traced) == MAX_RANKS * MAX_STEPS
    assert len(job.pair) == 300 * MAX_STEPS


@pytest.mark.parametrize(
    ("make", "name"),
    [(lambda: fat_tree(8), "d-mod-k"), (lambda: torus((8, 16)), "dimension-order")],
)
def test_memory_of_a_job_is_near_its_estimate(make, name: str) -> None:
    """An all-to-all of 128 nodes; what the kernels allocate themselves is not seen here."""
    topology = make()
    routing = make_routing(topology, name)
    nodes = np.arange(128, dtype=np.int32)
    program = make_pattern("all-to-all", 128, 1000, 1, np.random.default_rng(1))
    routes = JobRoutes(routing)
    tracemalloc.start()
    load = message_load(routes, job_messages(program, 1, CONFIG), nodes, CONFIG)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(load.links) > 0
    cost = load_cost(routing, 128 * 127)
    assert 0.25 < peak / cost.memory_bytes < 4
    assert load_cost(routing, 2 * 128 * 127).seconds == pytest.approx(2 * cost.seconds)


def test_bad_input_says_what() -> None:
    topology = fat_tree(4)
    load = load_of(make_routing(topology), "pairs", [0, 8], 1000)
    net: MessageNetwork[str] = MessageNetwork(topology.n_links)
    net.change([("a", load)], [])
    for add, remove, message in (
        ([("a", load)], [], "'a' is in the network already"),
        ([("b", load), ("b", load)], [], "'b' is in the network already"),
        ([], ["b"], "'b' is not in the network"),
        ([], ["a", "a"], "removed twice"),
    ):
        with pytest.raises(NetcosimError, match=message):
            net.change(add, remove)
    for fractions in ([0.0], [1.1], [], [0.5, 0.5]):
        with pytest.raises(NetcosimError, match="above 0 and at most 1 a job added"):
            net.change([("b", load)], ["a"], fractions=fractions)
    assert "a" in net
    assert len(net) == 1
    with pytest.raises(NetcosimError, match="tolerance = 0"):
        MessageNetwork(4, tolerance=0)
