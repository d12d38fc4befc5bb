"""The arrays of each domain: most are shared, each row written by only one domain."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netsim.packet import kernels_outbox as out
from netsim.packet import tables as t
from netsim.packet.crossbar.tables import Crossbar
from netsim.packet.domains import Domains
from netsim.packet.kernels_outbox import Border
from netsim.packet.kernels_wheel import NONE
from netsim.packet.tables import Arrays, Events, aligned_zeros, grown
from netsim.topology import Topology
from netsim.traffic import Traffic

MOST_COPIES_BYTES = 2 * 10**9
"""Of all copies of the messages for domains; with more, all share one."""


def _copied(array: NDArray[np.int32], pool: Executor) -> NDArray[np.int32]:
    copy: NDArray[np.int32] = aligned_zeros(array.shape, np.int32)
    half = len(array) // 2
    rest = pool.submit(np.copyto, copy[half:], array[half:])
    copy[:half] = array[:half]
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
    parts = []
    for d in range(domains.n):
        timers = arrays.timers[of_stream[arrays.timers[:, 1]] == d]
        own = arrays if d == 0 else _own(arrays, own_messages, pool)
        own.sc[t.N_TIMERS] = len(timers)
        # kernels look at no row of no timers, but want one
        parts.append(own._replace(timers=timers if len(timers) else np.zeros((1, 2), np.int64)))
    return parts


def _own(arrays: Arrays, own_messages: bool, pool: Executor) -> Arrays:
    """Return the arrays of a further domain."""
    events = arrays.events
    return arrays._replace(
        sc=arrays.sc.copy(),
        messages=_copied(arrays.messages, pool) if own_messages else arrays.messages,
        steps=_copied(arrays.steps, pool),
        packets=aligned_zeros(arrays.packets.shape, np.int64),
        credits=aligned_zeros(arrays.credits.shape, np.int64),
        events=Events(
            wheel=events.wheel.copy(),
            occupied=events.occupied.copy(),
            later=events.later.copy(),
            later_occupied=events.later_occupied.copy(),
            starts=events.starts.copy(),
            opened=events.opened.copy(),
            # of an empty network: memory that is not touched costs no time
            chain=aligned_zeros(events.chain.shape, np.int32),
            tries=aligned_zeros(events.tries.shape, np.int32),
            far=np.zeros_like(events.far),
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


@dataclass(frozen=True, eq=False)
class Mail:
    """The outboxes of all domains."""

    capacity: int
    spare: int
    words: NDArray[np.int64]
    mail: NDArray[np.int64]
    back: NDArray[np.int64]

    def borders(self, domains: Domains) -> list[Border]:
        """Return each domain's view of them."""
        return [
            Border(
                me=d,
                n=domains.n,
                capacity=self.capacity,
                spare=self.spare,
                link_from=domains.link_from,
                link_to=domains.link_to,
                words=self.words,
                mail=self.mail.reshape(-1),
                back=self.back.reshape(-1),
            )
            for d in range(domains.n)
        ]


def empty_mail(domains: Domains) -> Mail:
    """Build empty outboxes, each for twice the mail that a tick can bring."""
    n = domains.n
    # in a tick a packet starts on each link, and one for each that arrives, and gives back space
    ends = np.concatenate([domains.link_from, domains.link_to])
    spare = int(np.bincount(ends, minlength=n).max())
    width = out.words_of(n)
    words = aligned_zeros((n, width), np.int64)
    size = out.LISTS + 2 * n
    for parity in (0, 1):
        box = words[:, out.COUNTS + parity * size : out.COUNTS + (parity + 1) * size]
        box[:, out.EARLIEST] = NONE
        box[:, out.LISTS :] = -1
    capacity = 2 * spare + 64
    return Mail(capacity, spare, words.reshape(-1), *_rows(n, capacity))


def _rows(n: int, capacity: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return (
        np.empty((n, 2, capacity, out.MAIL_WIDTH), dtype=np.int64),
        np.empty((n, 2, capacity, out.BACK_WIDTH), dtype=np.int64),
    )


def grown_mail(old: Mail) -> Mail:
    """Return the same mail in outboxes of twice the size."""
    mail, back = _rows(len(old.mail), 2 * old.capacity)
    mail[:, :, : old.capacity] = old.mail
    back[:, :, : old.capacity] = old.back
    return Mail(2 * old.capacity, old.spare, old.words, mail, back)


def with_room(parts: list[Arrays], mail: Mail, crossbars: bool) -> Mail:
    """Enlarge the pools (in place) or double the outboxes of stopped domains."""
    n = len(parts)
    words = mail.words.reshape(n, -1)
    for d in np.flatnonzero(words[:, out.UNFINISHED]).tolist():
        box = out.COUNTS + int(words[d, out.PARITY]) * (out.LISTS + 2 * n)
        sent = max(words[d, box + out.N_MAIL], words[d, box + out.N_BACK])
        most = int(parts[d].sc[t.N_PK]) if crossbars else 0
        if sent + max(mail.spare, most) > mail.capacity:
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
    latency = arrays.links[border, t.LATENCY].min(initial=NONE)
    held = arrays.ser if crossbar is None else crossbar.cross
    after = [arrays.sc[t.ROUTER_LATENCY], held.min()]
    if np.any(topology.link_dst[border] < topology.n_ports):
        after.append(0 if arrays.sc[t.HEAD_COUNTS] else arrays.ser.min())
    return int(latency + min(after))


def joined_arrays(parts: list[Arrays], domains: Domains) -> Arrays:
    """Join the arrays of all domains of a finished run, in which no mail is left.

    Steps are merged only where a rank is at them, packets only where some wait.
    """
    steps = parts[0].steps
    stand = parts[0].ranks[parts[0].ranks[:, t.FINISH] < 0, t.STEP]
    steps[stand] = np.maximum.reduce([part.steps[stand] for part in parts])  # ARRIVED, of one
    sc = parts[0].sc.copy()
    sc[t.END] = max(int(part.sc[t.END]) for part in parts)
    if not np.any(parts[0].channels[:, t.FIFO_HEAD] >= 0):
        return parts[0]._replace(sc=sc, steps=steps)
    vshift = int(parts[0].sc[t.VSHIFT])
    owner = np.repeat(domains.link_from, 1 << vshift)
    channels = parts[0].channels.copy()
    packets: list[NDArray[np.int64]] = []
    chains: list[NDArray[np.int32]] = []
    begin = 0
    for d, part in enumerate(parts):
        used = int(part.sc[t.PK_USED])
        chain = part.events.chain[:used].copy()
        chain[chain[:, t.NEXT] >= 0, t.NEXT] += begin
        waiting = (owner == d) & (channels[:, t.FIFO_HEAD] >= 0)
        channels[waiting, t.FIFO_HEAD] += begin
        begin += used
        packets.append(part.packets[:used])
        chains.append(chain)
    return parts[0]._replace(
        sc=sc,
        channels=channels,
        steps=steps,
        packets=np.concatenate(packets),
        events=parts[0].events._replace(chain=np.concatenate(chains)),
    )
