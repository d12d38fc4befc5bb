"""What must hold for any run, on random programs: no closed form is known for these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packet_cases import ENGINES
from routing_machines import all_routings
from selection import examples

from experiments.validation.cases import random_config, random_traffic
from netsim.packet.model import PacketConfig, PacketResult
from netsim.routing.base import Routing
from netsim.traffic import Traffic

ROUTINGS = all_routings()

Case = tuple[Routing, Traffic, PacketConfig]


def random_case(seed: int) -> Case:
    """A routing of any family, traffic and configuration."""
    rng = np.random.default_rng(seed)
    routing = ROUTINGS[rng.integers(len(ROUTINGS))]
    # a group that loops is cut where the others end; ranks that wait for sends to each other by
    # rendezvous wait for ever
    jobs = random_traffic(rng, routing.topology.n_nodes)
    program = replace(jobs.program, step_waits_sends=None)
    jobs = replace(jobs, program=program, group_loops=None)
    return routing, jobs, random_config(rng)


def run(engine: str, case: Case, until_s: float | None = None) -> PacketResult:
    """One run with a fixed seed."""
    return ENGINES[engine](*case, np.random.default_rng(5), until_s=until_s)


def wire(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """(n_nodes,) wire bytes that leave and that reach each node.

    A message above the eager limit has a request ahead of it, and a clear-to-send against it.
    """
    routing, jobs, config = case
    p = jobs.program
    packets = -(-p.send_bytes // config.packet_bytes)
    size = p.send_bytes + packets * config.header_bytes
    src, dst = jobs.rank_node[p.send_src()], jobs.rank_node[p.send_dst]
    remote = src != dst
    n = routing.topology.n_nodes
    ends = [(src, dst, remote, size)]
    if config.eager_limit_bytes is not None:
        asks = remote & (p.send_bytes > config.eager_limit_bytes)
        control = np.full(len(size), config.control_bytes + config.header_bytes)
        ends += [(src, dst, asks, control), (dst, src, asks, control)]
    out, into = np.zeros((2, n), dtype=np.int64)
    for source, sink, which, sent in ends:
        np.add.at(out, source[which], sent[which])
        np.add.at(into, sink[which], sent[which])
    return out, into


@pytest.mark.parametrize("engine", list(ENGINES))
@examples(60)
@given(seed=st.integers(0, 2**32))
def test_everything_arrives_and_is_counted_once(engine: str, seed: int) -> None:
    """Each node's links carry exactly its messages; no message beats light; ranks end."""
    case = random_case(seed)
    routing, jobs, config = case
    t, p = routing.topology, jobs.program
    got = run(engine, case)
    out, into = wire(case)
    of_ports = got.link_bytes[: t.first_router_link].reshape(2, t.n_nodes, t.rails)
    assert of_ports.sum(axis=2).tolist() == [out.tolist(), into.tolist()]
    assert (got.rank_finish_ps >= 0).all()
    assert (got.message_post_ps >= 0).all()
    src, dst = jobs.rank_node[p.send_src()], jobs.rank_node[p.send_dst]
    took = got.message_finish_ps - got.message_post_ps
    assert (took[src == dst] == 0).all()
    bandwidth = t.link_bandwidth_Bps[src * t.rails] * t.rails
    own = config.router_latency_s * 1e12
    if not config.head_counts:
        own = own + p.send_bytes * 1e12 / bandwidth
        assert (got.link_busy_ps + got.link_stall_ps <= got.end_ps).all()
    assert (took + 1 >= own)[src != dst].all()
    for group in range(jobs.n_groups):
        assert got.group_finish_ps[group] == got.rank_finish_ps[jobs.rank_group == group].max()


@pytest.mark.parametrize("engine", list(ENGINES))
@examples(30)
@given(seed=st.integers(0, 2**32), shift_ns=st.integers(1, 10**6))
def test_a_later_start_shifts_every_time(engine: str, seed: int, shift_ns: int) -> None:
    """All groups later by d: every time is later by d, no count or duration changes."""
    routing, jobs, config = random_case(seed)
    jobs = replace(jobs, start_s=np.zeros(jobs.n_groups))
    early = run(engine, (routing, jobs, config))
    start_s = np.full(jobs.n_groups, shift_ns * 1e-9)
    late = run(engine, (routing, replace(jobs, start_s=start_s), config))
    for what in ("message_post_ps", "message_finish_ps", "rank_finish_ps", "group_finish_ps"):
        shifted = getattr(early, what) + shift_ns * 1000
        assert getattr(late, what).tolist() == shifted.tolist(), what
    for what in ("link_packets", "link_bytes", "link_busy_ps", "link_stalls", "link_stall_ps"):
        assert getattr(late, what).tolist() == getattr(early, what).tolist(), what


@pytest.mark.parametrize("engine", list(ENGINES))
@examples(30)
@given(seed=st.integers(0, 2**32), part=st.floats(0, 1))
def test_a_cut_run_is_the_beginning_of_the_whole(engine: str, seed: int, part: float) -> None:
    """Up to `until_s` all times are those of the whole run, and later ones are -1."""
    case = random_case(seed)
    whole = run(engine, case)
    until_ps = int(part * whole.end_ps)
    cut = run(engine, case, until_s=until_ps * 1e-12)
    assert cut.end_ps == until_ps
    for what in ("message_post_ps", "message_finish_ps", "rank_finish_ps", "group_finish_ps"):
        times = getattr(whole, what)
        assert getattr(cut, what).tolist() == np.where(times <= until_ps, times, -1).tolist()
    for what in ("link_packets", "link_bytes", "link_busy_ps", "link_stalls", "link_stall_ps"):
        assert (getattr(cut, what) <= getattr(whole, what)).all(), what
