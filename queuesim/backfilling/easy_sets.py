"""Strict order and EASY where jobs are kept to sets of nodes: a head in each partition.

The first job of a partition that cannot be placed is the partition's *head*. Jobs are looked at
by their partitions' priorities, then in the queue's order.

Under EASY every head has a reservation: the earliest time at which it could be placed if all
running jobs ended as promised and all known windows were kept, and the nodes and links found for it
there, which are its own from then until its walltime is over. A job behind may start if it keeps
clear of the reservations of its own partition's head and of the heads of partitions whose priority
is as high or higher. So no backfilled job delays the head of its partition, and none of lower
priority delays any other. Nodes are held under every policy, also where any nodes would do:
partitions may overlap, and a count does not determine which nodes.

Under strict order a head bars all nodes of its partition to the jobs behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from netsim.errors import NetcosimError
from queuesim.backfilling.backfill import Backfill
from queuesim.machine import NodeReservation
from queuesim.site.node_sets import NodeSetMachine


class SetsBackfill(Backfill):
    """A backfilling on a machine whose jobs are kept to sets of nodes."""

    machine: NodeSetMachine

    def _set_up(self) -> None:
        assert isinstance(self.machine, NodeSetMachine)

    def start_head(self, job: int, now_s: float) -> bool:
        """Start the first job of a partition, if it can be placed."""
        if self.machine.place(job, now_s, self.held_for(job)) is None:
            return False
        self.begin(job, now_s)
        return True


class StrictSets(SetsBackfill):
    """Strict order in every partition; see the module's text."""

    name = "none"
    description = "strict order within each partition"

    def run_pass(self, now_s: float) -> None:
        machine, blocked = self.machine, True
        if not (machine.released or self.queue.changed):
            return
        machine.released = self.queue.changed = False
        access = machine.access
        heads: dict[int, int] = {}
        barred: list[NodeReservation] = []
        while blocked:
            blocked = False
            for job in self.queue.front(now_s):
                mine = access.partition[job]
                if mine in heads:
                    continue
                if machine.place(job, now_s, barred) is not None:
                    self.begin(job, now_s)
                    blocked = self.window is not None
                    if blocked:
                        break  # the window has moved
                else:
                    heads[mine] = job
                    self._note_blocked(now_s)
                    nodes = access.nodes[mine].nonzero()[0].astype("int32")
                    barred.append(NodeReservation(job, now_s, inf, nodes, nodes[:0]))


class EasySets(SetsBackfill):
    """EASY with a reservation in every partition; see the module's text.

    A reservation holds until its partition's head changes, a job of the partition starts as head,
    or a job of a higher priority takes what it holds. It is found anew, in the order of the heads
    and with the other reservations in place, once a job on the partition's nodes has ended before
    its promised end, or nodes have failed, or, the shadow time having passed with the head still
    waiting, a job ends or runs past its promised end.
    """

    name = "easy"
    description = "EASY with a reservation in every partition"

    def _set_up(self) -> None:
        super()._set_up()
        self._held: dict[int, NodeReservation] = {}
        self._stale: set[int] = set()
        # Partitions whose reservations must be recomputed; until then they are kept.
        self._idle: dict[int, int] = {}
        self._fails_from: dict[int, float] = {}
        # By kind: jobs behind a head that would end then or later find no place, until
        # something is released or a reservation is lifted.

    def run_pass(self, now_s: float) -> None:
        machine, queue = self.machine, self.queue
        late = [p for p, h in self._held.items() if machine.surprised(p, h.shadow_s, now_s)]
        self._stale.update(late)
        machine.ended.clear()
        if not (machine.released or queue.changed or late):
            return
        self._idle.clear()
        if machine.released:
            self._fails_from.clear()
        machine.released = queue.changed = False
        heads: dict[int, int] = {}
        seen: set[int] = set()
        moved = True
        while moved:
            moved = False
            for job in queue.front(now_s):
                if job in seen:
                    continue
                seen.add(job)
                mine = machine.access.partition[job]
                if mine in heads:
                    self._try_behind(job, heads, now_s)
                elif self.start_head(job, now_s):
                    moved = self.window is not None
                    if moved:
                        break  # the window begins behind the first that waits
                else:
                    heads[mine] = job
                    self._note_blocked(now_s)
                    if mine in self._held and self._held[mine].job != job:
                        self._lift([mine])

    def held_for(self, job: int) -> Sequence[NodeReservation]:
        mine = self.machine.access.partition[job]
        return [h for p, h in self._heeded(mine) if p != mine]

    def start_head(self, job: int, now_s: float) -> bool:
        if self.machine.place(job, now_s, self.held_for(job)) is None:
            return False
        self._started(job, now_s)
        self._lift([self.machine.access.partition[job]])
        return True

    def _try_behind(self, job: int, heads: dict[int, int], now_s: float) -> None:
        """Start a job behind its partition's head, if it keeps clear of what is held."""
        machine, mine = self.machine, self.machine.access.partition[job]
        if mine not in self._idle:
            self._idle[mine] = machine.n_idle(mine)
        if machine.n_nodes[job] > self._idle[mine]:
            return
        for partition, head in heads.items():
            there = partition in self._held and partition not in self._stale
            if not there and machine.access.meet(partition, mine):
                self._reserve(partition, head, now_s)
        kind, end_s = int(machine.kind[job]), now_s + machine.requested_s[job]
        if kind in self._fails_from and end_s >= self._fails_from[kind]:
            return
        heeded = [h for _, h in self._heeded(mine)]
        if machine.place(job, now_s, heeded) is None:
            if machine.policy.relents_after_s is None:
                self._fails_from[kind] = end_s
        else:
            self._started(job, now_s)

    def _reserve(self, partition: int, head: int, now_s: float) -> None:
        self._lift([partition])
        others = [h for _, h in self._heeded(partition)]
        held = self._held[partition] = self.machine.first_place(head, now_s, others)
        self.promise(head, held.shadow_s)

    def _heeded(self, partition: int) -> list[tuple[int, NodeReservation]]:
        """Return the reservations that jobs of a partition must not use."""
        priority = self.machine.access.priority
        return [(p, h) for p, h in self._held.items() if priority[p] >= priority[partition]]

    def _started(self, job: int, now_s: float) -> None:
        """Lift lower-priority reservations of the nodes or links of a job that was placed."""
        machine = self.machine
        priority, mine = machine.access.priority, machine.access.partition[job]
        lower = [p for p in self._held if priority[p] < priority[mine]]
        if lower:
            place = machine.placements[job]
            nodes, links = set(place.nodes.tolist()), set(place.links.tolist())
            end_s = now_s + machine.requested_s[job]
            self._lift(
                [
                    p
                    for p in lower
                    if self._held[p].shadow_s < end_s
                    and not (
                        nodes.isdisjoint(self._held[p].nodes.tolist())
                        and links.isdisjoint(self._held[p].links.tolist())
                    )
                ]
            )
        self._idle.clear()
        self.begin(job, now_s)

    def _lift(self, partitions: list[int]) -> None:
        self._stale.difference_update(partitions)
        for partition in partitions:
            if self._held.pop(partition, None) is not None:
                self._fails_from.clear()


NODE_SET_METHODS: dict[str, type[SetsBackfill]] = {
    method.name: method for method in (StrictSets, EasySets)
}


def node_set_method(name: str) -> type[SetsBackfill]:
    """Return the backfilling of this name on sets of nodes; `NetcosimError` if there is none."""
    if name not in NODE_SET_METHODS:
        raise NetcosimError(
            f"backfill {name!r} does not support partitions, reservations and failures of nodes; "
            "use "
            f"{' or '.join(NODE_SET_METHODS)}"
        )
    return NODE_SET_METHODS[name]
