"""The arrays of each domain: most are shared, each row written by only one domain."""

from __future__ import annotations

from concurrent.futures import Executor

import numpy as np

from netsim.packet import kernels_outbox as out
from netsim.packet import tables as t
from netsim.packet.crossbar.tables import Crossbar
from netsim.packet.domains import Domains
from netsim.packet.kernels_outbox import Border
from netsim.packet.kernels_wheel import NONE
from netsim.packet.tables import Arrays, Events, Table, aligned_zeros, grown, make_table
from netsim.topology import Topology
from netsim.traffic import Traffic

MOST_COPIES_BYTES = 2 * 10**9
"""Of all copies of the messages for domains; with more, all share one."""


def _copied(rows: Table, pool: Executor) -> Table:
    copy = aligned_zeros(len(rows), rows.dtype)
    half = len(rows) // 2
    rest = pool.submit(np.copyto, copy[half:], rows[half:])
    copy[:half] = rows[:half]
    rest.result()
    return copy


def domain_arrays(
    arrays: Arrays, domains: Domains, topology: Topology, traffic: Traffic, pool: Executor
) -> list[Arrays]:
    """Return the arrays of each domain: the common rows, and its own scalars, pools and events.

    The first takes the arrays as they are, the others copies: a message has two sides, and neither
    looks at what the other changes; neighbouring steps belong to ranks of any domain. On one copy
    of either, cores would pass lines to and fro.
    """
    own_messages = (domains.n - 1) * arrays.messages.nbytes <= MOST_COPIES_BYTES
    node = np.asarray(traffic.rank_node)[traffic.program.stream_rank()]
    of_stream = domains.router[topology.node_router[node]]
    starts = arrays.timers[: len(of_stream)]
    parts = []
    for d in range(domains.n):
        own_starts = starts[of_stream[starts.key] == d]
        own = arrays if d == 0 else _own(arrays, own_messages, pool)
        own.sc[0].n_timers = len(own_starts)
        # kernels look at no row of no timers, but want one
        spare = aligned_zeros(1 + len(arrays.timers) - len(of_stream), t.TIMED)
        timers = np.concatenate([own_starts, spare]).view(np.recarray)
        parts.append(own._replace(timers=timers))
    return parts


def _own(arrays: Arrays, own_messages: bool, pool: Executor) -> Arrays:
    """Return the arrays of a further domain."""
    events = arrays.events
    return arrays._replace(
        sc=arrays.sc.copy(),
        messages=_copied(arrays.messages, pool) if own_messages else arrays.messages,
        steps=_copied(arrays.steps, pool),
        packets=aligned_zeros(len(arrays.packets), t.PACKET),
        credits=aligned_zeros(len(arrays.credits), t.CREDIT),
        events=Events(
            wheel=events.wheel.copy(),
            occupied=events.occupied.copy(),
            later=events.later.copy(),
            later_occupied=events.later_occupied.copy(),
            starts=events.starts.copy(),
            opened=events.opened.copy(),
            # of an empty network: memory that is not touched costs no time
            chain=aligned_zeros(len(events.chain), t.CHAINED),
            tries=aligned_zeros(len(events.tries), t.CHAINED),
            far=aligned_zeros(len(events.far), t.TIMED),
        ),
        order=arrays.order.copy(),
        chosen=arrays.chosen.copy(),
        arriving=arrays.arriving.copy(),
        marked=arrays.marked.copy(),
    )


def domain_crossbars(crossbar: Crossbar | None, n: int) -> list[Crossbar | None]:
    """Return the crossbar arrays of each domain: the common rows, and its own lists."""
    if crossbar is None:
        return [None] * n
    return [
        crossbar._replace(look=crossbar.look.copy(), scratch=crossbar.scratch.copy())
        for _ in range(n)
    ]


def empty_mail(domains: Domains) -> Border:
    """Build empty outboxes for twice the mail that a tick can bring, as domain 0 sees them."""
    n = domains.n
    # in a tick a packet starts on each link, and one for each that arrives, and gives back space
    ends = np.concatenate([domains.link_from, domains.link_to])
    spare = int(np.bincount(ends, minlength=n).max())
    capacity = 2 * spare + 64
    width = -(-n // 8) * 8
    first_packet, first_credit = (
        aligned_zeros(2 * n * width, np.dtype(np.int64)).reshape(2 * n, width) for _ in range(2)
    )
    first_packet[:] = first_credit[:] = -1
    return Border(
        0,
        n,
        capacity,
        spare,
        domains.link_from,
        domains.link_to,
        aligned_zeros(n, out.DOMAIN),
        make_table(2 * n, out.OUTBOX, earliest=NONE),
        first_packet,
        first_credit,
        aligned_zeros(2 * n * capacity, out.MAIL),
        aligned_zeros(2 * n * capacity, out.CREDIT_MAIL),
    )


def grown_mail(old: Border) -> Border:
    """Return the same mail in outboxes of twice the size."""

    def doubled(rows: Table) -> Table:
        new = aligned_zeros(2 * len(rows), rows.dtype)
        boxes = new.reshape(-1, 2 * old.capacity)
        boxes[:, : old.capacity] = rows.reshape(-1, old.capacity)
        return new

    mail, back = doubled(old.mail), doubled(old.back)
    return old._replace(capacity=2 * old.capacity, mail=mail, back=back)


def with_room(parts: list[Arrays], mail: Border, crossbars: bool) -> Border:
    """Enlarge the pools (in place) or double the outboxes of stopped domains."""
    for d in np.flatnonzero(mail.domains.unfinished).tolist():
        box = mail.boxes[2 * d + int(mail.domains.parity[d])]
        most = int(parts[d].sc[0].n_packets) if crossbars else 0
        if max(box.n_packets, box.n_credits) + max(mail.spare, most) > mail.capacity:
            return grown_mail(mail)
        parts[d] = grown(parts[d])
    return mail


def lookahead(
    domains: Domains, topology: Topology, arrays: Arrays, crossbar: Crossbar | None
) -> int:
    """Return ticks before which nothing that happens in a domain reaches another.

    A packet is routed a latency and a router's latency after it starts; the space that it held
    is seen free a latency after it has been sent on its next link, or has crossed. It reaches a
    node attached to routers of two domains a latency after its tail, or its head where that counts.
    """
    border = domains.border_links
    latency = arrays.links.latency[border].min(initial=NONE)
    held = arrays.ser if crossbar is None else crossbar.cross
    after = [arrays.sc[0].router_latency, held.min()]
    if np.any(topology.link_dst[border] < topology.n_ports):
        after.append(0 if arrays.sc[0].head_counts else arrays.ser.min())
    return int(latency + min(after))


def joined_arrays(parts: list[Arrays], domains: Domains) -> Arrays:
    """Join the arrays of all domains of a finished run, in which no mail is left.

    Steps are merged only where a rank is at them, packets only where some wait.
    """
    steps = parts[0].steps
    current = parts[0].ranks.step[parts[0].ranks.finish < 0]
    steps.arrived[current] = np.maximum.reduce([part.steps.arrived[current] for part in parts])
    sc = parts[0].sc.copy()
    sc[0].end = max(int(part.sc[0].end) for part in parts)
    if not np.any(parts[0].channels.fifo_head >= 0):
        return parts[0]._replace(sc=sc, steps=steps)
    vshift = int(parts[0].sc[0].vshift)
    owner = np.repeat(domains.link_from, 1 << vshift)
    channels = parts[0].channels.copy()
    packets: list[Table] = []
    chains: list[Table] = []
    begin = 0
    for d, part in enumerate(parts):
        used = int(part.sc[0].used_packets)
        chain = part.events.chain[:used].copy()
        chain.next[chain.next >= 0] += begin
        waiting = (owner == d) & (channels.fifo_head >= 0)
        channels.fifo_head[waiting] += begin
        begin += used
        packets.append(part.packets[:used])
        chains.append(chain)
    return parts[0]._replace(
        sc=sc,
        channels=channels,
        steps=steps,
        packets=np.concatenate(packets).view(np.recarray),
        events=parts[0].events._replace(chain=np.concatenate(chains).view(np.recarray)),
    )
