"""From what an MPI program did, rank by rank, to a GOAL schedule."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from netsim.errors import NetcosimError
from patterns.importers.collectives import EXPANDED, steps_of

HANDLES = frozenset(
    (
        "create_handle",
        "destroy_handle",
        "allocate",
        "deallocate",
        "create_handle_and_allocate",
        "destroy_handle_and_deallocate",
    )
)
"""Collectives that make or free communicators and windows; what they send is not recorded."""
Comms = Mapping[int, Sequence[int]]
"""The ranks of each communicator, in its order; none for one that is each rank's own."""
Channel = tuple[int, int, int, int]
"""Communicator, source, destination, tag."""
_COLLECTIVE = -1
"""Placeholder for the tag of a communicator's collectives."""
_COMMUNICATES = ("send", "isend", "recv", "irecv", "collective")


@dataclass(frozen=True, slots=True)
class MpiEvent:
    """An event of a rank."""

    kind: str
    """Enter, leave: of an MPI call. send, isend; isend-done: its request is complete. irecv-posted;
    irecv: its request is complete; recv. collective: it is at its end."""
    time_ns: float
    """On any clock of the rank."""
    comm: int = 0
    """Which communicator."""
    peer: int = 0
    """The other rank, or the root, counted in the communicator."""
    n_bytes: int = 0
    """Of the message; for a collective all that the rank sent."""
    received: int = 0
    """Bytes that the rank received in a collective."""
    tag: int = 0
    request: int = -1
    """Of what does not block."""
    name: str = ""
    """Of a collective, in small letters without MPI."""


Ranks = Sequence[Sequence[MpiEvent]]
"""The events of each rank, in order of time."""


@dataclass(frozen=True)
class Converted:
    """A schedule, and what is in it and what is not."""

    text: str
    """GOAL."""
    n_ranks: int
    n_messages: int
    n_bytes: int
    """n_ranks, n_messages, n_bytes: Messages with those of the collectives."""
    compute_ns: int
    """Of all ranks."""
    collectives: Counter[str]
    """How many of each were put into messages."""
    left_out: Counter[str]
    """How many, by reason."""


@dataclass
class _MpiRank:
    """The lines of a rank, and what the next operation needs: (label, complete or started).

    Receives are placed where the rank waited for them, in parallel with those before and after
    them; everything else comes after all that is complete by then.
    """

    lines: list[str] = field(default_factory=list)
    base: list[tuple[str, bool]] = field(default_factory=list)
    last: list[tuple[str, bool]] = field(default_factory=list)
    n_ops: int = 0
    n_messages: int = 0
    n_bytes: int = 0
    compute_ns: int = 0

    def _add(self, text: str, needs: list[tuple[str, bool]]) -> str:
        self.n_ops += 1
        label = f"l{self.n_ops}"
        self.lines.append(f"{label}: {text}")
        for other, complete in needs:
            self.lines.append(f"{label} {'requires' if complete else 'irequires'} {other}")
        return label

    def calc(self, ns: int) -> None:
        """Write a computation; none if it is shorter than half a nanosecond."""
        if ns > 0:
            self.compute_ns += ns
            label = self._add(f"calc {ns}", self.last)
            self.base, self.last = [(label, True)], [(label, True)]

    def send(self, n_bytes: int, peer: int, tag: int) -> str:
        """Write a send and return its label, for `sent`."""
        self.n_messages += 1
        self.n_bytes += n_bytes
        label = self._add(f"send {n_bytes}b to {peer} tag {tag}", self.last)
        self.base, self.last = [(label, False)], [(label, False)]
        return label

    def sent(self, label: str) -> None:
        """Make all later operations wait for completion of the send, not only for its start."""
        for needs in (self.base, self.last):
            if (label, False) in needs:
                needs.remove((label, False))
            needs.append((label, True))

    def recv(self, n_bytes: int, peer: int, tag: int) -> None:
        """Write a receive that later operations wait for."""
        text = f"recv {n_bytes}b from {peer} tag {tag}"
        self.last.append((self._add(text, self.base), True))


@dataclass
class _Call:
    """The k-th collective of a communicator: its name, root and what each member counted."""

    name: str
    root: int
    sizes: list[tuple[int, int]]

    @property
    def block_bytes(self) -> int:
        """Bytes of each message."""
        return EXPANDED[self.name][1](self.sizes)


@dataclass(frozen=True)
class _Run:
    """State common to all ranks."""

    comms: Comms
    compute_scale: float
    messages: dict[Channel, list[int]]
    calls: dict[int, list[_Call]]
    tags: dict[tuple[int, int], int]


def mpi_goal(
    ranks: Ranks,
    comms: Comms,
    compute_scale: float = 1.0,
    leave_out: Collection[str] = (),
) -> Converted:
    """Convert the events of a run to a schedule.

    On each rank the order is that of the events. A blocking send is complete at the end of its
    call, another where its request is; a receive is placed where the rank needed it. Time between a
    rank's MPI calls is a ``calc``, ``compute_scale`` times as long, or none at 0; time inside them
    is not. Tags of the communicator of all ranks stay; those of others, and collectives, get
    further numbers. ``leave_out`` are collectives that are not in `EXPANDED` and may be missing.
    """
    if not any(e.kind in _COMMUNICATES for events in ranks for e in events):
        raise NetcosimError("no MPI messages or collectives in it")
    messages, calls = _messages(ranks, comms), _calls(ranks, comms, leave_out)
    run = _Run(comms, compute_scale, messages, calls, _tags(ranks, comms))
    written = [_write(rank, events, run) for rank, events in enumerate(ranks)]
    lines = [f"num_ranks {len(ranks)}"]
    for rank, own in enumerate(written):
        lines += [f"rank {rank} {{", *own.lines, "}"]
    return Converted(
        "\n".join(lines) + "\n",
        len(ranks),
        sum(own.n_messages for own in written),
        sum(own.n_bytes for own in written),
        sum(own.compute_ns for own in written),
        Counter(call.name for of_comm in run.calls.values() for call in of_comm),
        _without_messages(ranks, comms),
    )


def _write(rank: int, events: Sequence[MpiEvent], run: _Run) -> _MpiRank:
    """Write the operations of a rank."""
    own = _MpiRank()
    depth, outside, idle_ns = 0, None, 0.0
    blocking: list[str] = []
    requests: dict[int, str] = {}
    taken: Counter[Channel] = Counter()
    called: Counter[int] = Counter()
    for e in events:
        communicates = e.kind in _COMMUNICATES
        if outside is not None and depth == 0 and (e.kind == "enter" or communicates):
            idle_ns += max(0.0, e.time_ns - outside)
        depth = max(0, depth + {"enter": 1, "leave": -1}.get(e.kind, 0))
        if depth == 0 and (e.kind == "leave" or communicates):
            outside = e.time_ns
        if communicates:
            own.calc(round(idle_ns * run.compute_scale))
            idle_ns = 0.0
        if e.kind == "collective":
            if e.comm in run.calls and e.name in EXPANDED:
                _write_call(own, rank, run.calls[e.comm][called[e.comm]], e.comm, run)
                called[e.comm] += 1
        elif e.kind == "isend-done" and e.request in requests:
            own.sent(requests.pop(e.request))
        elif communicates and (peer := _peer(e, rank, run.comms)) != rank:
            tag = run.tags[e.comm, e.tag]
            if e.kind == "isend":
                requests[e.request] = own.send(e.n_bytes, peer, tag)
            elif e.kind == "send":
                blocking.append(own.send(e.n_bytes, peer, tag))
            else:
                channel = (e.comm, peer, rank, e.tag)
                own.recv(run.messages[channel][taken[channel]], peer, tag)
                taken[channel] += 1
        if depth == 0:
            for label in blocking:
                own.sent(label)
            blocking = []
    own.calc(round(idle_ns * run.compute_scale))
    return own


def _write_call(own: _MpiRank, rank: int, call: _Call, comm: int, run: _Run) -> None:
    """Write a rank's part of a collective; the pattern's rank 0 is the root."""
    members, tag = run.comms[comm], run.tags[comm, _COLLECTIVE]
    n = len(members)
    place = (members.index(rank) - call.root) % n
    for sends, receives in steps_of(call.name, n, call.block_bytes)[place]:
        sent = [own.send(size, members[(j + call.root) % n], tag) for j, size in sends]
        for j, size in receives:
            own.recv(size, members[(j + call.root) % n], tag)
        for label in sent:
            own.sent(label)


def _peer(event: MpiEvent, rank: int, comms: Comms) -> int:
    """Return the other rank of a message, counted among all."""
    members = comms[event.comm] or (rank,)
    if not 0 <= event.peer < len(members):
        raise NetcosimError(f"rank {rank}: rank {event.peer} of a communicator of {len(members)}")
    return members[event.peer]


def _messages(ranks: Ranks, comms: Comms) -> dict[Channel, list[int]]:
    """Return the bytes of the messages of each (communicator, source, destination, tag), in order.

    The k-th that is sent meets the k-th receive that was posted, as MPI has it.
    """
    sent: dict[Channel, list[int]] = defaultdict(list)
    received: dict[Channel, list[tuple[int, int]]] = defaultdict(list)
    for rank, events in enumerate(ranks):
        posted: dict[int, int] = {}
        for i, e in enumerate(events):
            if e.kind == "irecv-posted":
                posted[e.request] = i
            elif e.kind in ("send", "isend"):
                sent[e.comm, rank, _peer(e, rank, comms), e.tag].append(e.n_bytes)
            elif e.kind in ("recv", "irecv"):
                when = posted.pop(e.request, i) if e.kind == "irecv" else i
                received[e.comm, _peer(e, rank, comms), rank, e.tag].append((when, e.n_bytes))
    for key in sorted(sent.keys() | received.keys()):
        a, b = sent[key], [size for _, size in sorted(received[key])]
        what = f"messages of rank {key[1]} to rank {key[2]} with tag {key[3]}"
        if len(a) != len(b):
            raise NetcosimError(f"{what}: {len(a)} are sent, {len(b)} received")
        for k, (size, taken) in enumerate(zip(a, b, strict=True), start=1):
            if size != taken:
                raise NetcosimError(
                    f"{what}: {size} bytes are sent as number {k}, {taken} received"
                )
    return sent


def _calls(ranks: Ranks, comms: Comms, leave_out: Collection[str]) -> dict[int, list[_Call]]:
    """Return the collectives of each communicator of two ranks or more, in order."""
    known = EXPANDED.keys() | HANDLES | set(leave_out)
    foreign = Counter(
        e.name for ev in ranks for e in ev if e.kind == "collective" and e.name not in known
    )
    if foreign:
        names = sorted(foreign)
        raise NetcosimError(
            f"collectives that cannot be converted: {', '.join(names)} "
            f"({sum(foreign.values())} calls); --leave-out {','.join(names)} skips them"
        )
    of_member: dict[int, dict[int, list[MpiEvent]]] = {
        c: {rank: [] for rank in members} for c, members in comms.items() if len(members) > 1
    }
    for rank, events in enumerate(ranks):
        for e in events:
            if e.kind != "collective" or e.name not in EXPANDED or e.comm not in of_member:
                continue
            if rank not in of_member[e.comm]:
                raise NetcosimError(f"rank {rank}: {e.name} on a communicator without it")
            of_member[e.comm][rank].append(e)
    found: dict[int, list[_Call]] = {}
    for comm, by_rank in of_member.items():
        counts = {rank: len(events) for rank, events in by_rank.items()}
        most, least = max(counts, key=counts.__getitem__), min(counts, key=counts.__getitem__)
        if counts[most] != counts[least]:
            raise NetcosimError(
                f"a communicator of {len(counts)} ranks: rank {most} has {counts[most]} "
                f"collectives, rank {least} has {counts[least]}"
            )
        found[comm] = []
        for k, events in enumerate(zip(*by_rank.values(), strict=True), start=1):
            rooted = events[0].name in ("bcast", "reduce")
            kinds = {(e.name, e.peer if rooted else 0) for e in events}
            if len(kinds) > 1:
                calls = ", ".join(f"{name} (root {root})" for name, root in sorted(kinds))
                raise NetcosimError(
                    f"a communicator of {len(counts)} ranks: collective {k} is {calls} at once"
                )
            name, root = kinds.pop()
            if not 0 <= root < len(counts):
                raise NetcosimError(f"{name}: root {root} of a communicator of {len(counts)}")
            found[comm].append(_Call(name, root, [(e.n_bytes, e.received) for e in events]))
    return found


def _tags(ranks: Ranks, comms: Comms) -> dict[tuple[int, int], int]:
    """Return the tag in the schedule of each (communicator, tag)."""
    used = {
        (e.comm, _COLLECTIVE if e.kind == "collective" else e.tag)
        for events in ranks
        for e in events
        if e.kind in _COMMUNICATES
    }
    everyone = list(range(len(ranks)))
    comm_world = next((c for c in sorted(comms) if list(comms[c]) == everyone), -1)
    world_tags = {tag for comm, tag in used if comm == comm_world and tag >= 0}
    first = max(world_tags, default=-1) + 1
    others = sorted(pair for pair in used if pair[0] != comm_world or pair[1] < 0)
    return {(comm_world, tag): tag for tag in world_tags} | {
        pair: first + i for i, pair in enumerate(others)
    }


def _without_messages(ranks: Ranks, comms: Comms) -> Counter[str]:
    """Count the calls that became no operation, by reason."""
    found: Counter[str] = Counter()
    for rank, events in enumerate(ranks):
        never = sum((e.kind == "irecv-posted") - (e.kind == "irecv") for e in events)
        if never > 0:
            found["receives that were posted and never complete"] += never
        for e in events:
            if e.kind in ("send", "isend") and _peer(e, rank, comms) == rank:
                found["messages of a rank to itself"] += 1
            if e.kind != "collective":
                continue
            if e.name in HANDLES:
                found["calls that make or free communicators and windows"] += 1
            elif e.name not in EXPANDED:
                found[f"calls of {e.name}"] += 1
            elif len(comms[e.comm]) < 2:
                found["collectives of one rank"] += 1
    return found
