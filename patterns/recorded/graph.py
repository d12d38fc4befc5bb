"""A step as a graph of each GPU's work: its times, and its steps and messages.

A GPU computes one node at a time, and beside that communicates, as far as the dependencies allow.
In a schedule it runs one collective or send at a time, as in ASTRA-sim. In a program a process
group does; groups and messages share the GPU's link.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.traffic import Program
from patterns.build import Messages, build_program, join, make_messages, need_messages
from patterns.training.program import Communicator
from patterns.training.times import wire_share

KINDS = ("collectives", "messages")
"""What is timed of a program."""
NOMINAL_BPS = 50e9
"""Bandwidth of a GPU at which the order of nodes that may run in any order is decided."""


@dataclass(frozen=True, slots=True)
class Node:
    """What a GPU does."""

    kind: str
    """One of "compute", "send", "receive", "none" (takes no time), or a collective of
    `patterns.collectives.library.LIBRARY`."""
    needs: tuple[int, ...] = ()
    """Nodes of the GPU's list, before this one, that must be complete."""
    n_bytes: int = 0
    """As `patterns.training.operations.Operation` counts."""
    seconds: float = 0.0
    members: tuple[int, ...] = ()
    """GPUs of a collective."""
    peer: int = -1
    tag: int = 0
    number: int = 0
    """Of what waits for the same GPU or group, the smallest number runs first."""

    @property
    def lane(self) -> tuple[object, ...]:
        """What runs one node at a time: the GPU, a group, or messages with a GPU one way."""
        if self.kind == "compute":
            return ("compute",)
        return ("group", self.members) if self.members else (self.kind, self.peer)


@dataclass(frozen=True, eq=False)
class Task:
    """A node, or the collective that is a node of each member."""

    node: Node
    nodes: tuple[tuple[int, int], ...]
    """(GPU, number in its list) of each."""

    @cached_property
    def uses(self) -> tuple[tuple[str, int], ...]:
        """What runs one task at a time: computing or sending of each GPU; a receive needs none."""
        if self.node.kind == "receive":
            return ()
        what = "computes" if self.node.kind == "compute" else "sends"
        return tuple((what, gpu) for gpu, _ in self.nodes)

    def seconds(self, bandwidth_Bps: float) -> float:
        """Return how long it takes at a bus bandwidth."""
        if self.node.kind in ("compute", "receive"):
            return self.node.seconds
        share = wire_share(self.node.kind, len(self.nodes))
        return self.node.n_bytes * share / bandwidth_Bps

    @cached_property
    def label(self) -> str:
        """What it is in a table: its group's size and spacing."""
        if not self.node.members:
            return "messages"
        gaps = np.unique(np.diff(np.sort(self.node.members)))
        spacing = f"every {gaps[0]}" if len(gaps) == 1 else "irregular"
        return f"groups of {len(self.node.members)}{'' if gaps.max() == 1 else f', {spacing}'}"


@dataclass(frozen=True, eq=False)
class OperationSchedule:
    """Times of a step, in seconds from its begin."""

    begin_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    """begin_s, end_s: (n_tasks,) float64."""
    order: tuple[int, ...]
    """Tasks as they begin."""

    @property
    def seconds(self) -> float:
        """Until all is done."""
        return float(self.end_s.max(initial=0.0))


@dataclass(frozen=True, eq=False)
class StepGraph:
    """A step of all GPUs."""

    nodes: tuple[tuple[Node, ...], ...]
    """Of each GPU, each after what it needs."""
    paths: tuple[str, ...] = ("",)
    """Files of the GPUs, or of all, for messages."""

    @property
    def gpus(self) -> int:
        """Number of GPUs."""
        return len(self.nodes)

    def _place(self, task: Task) -> str:
        return f"{self.paths[task.nodes[0][0] % len(self.paths)]}: node {task.node.number}"

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """All work. The k-th collective of a group on one member is the k-th on the others."""
        found: list[Task] = []
        by_group: dict[tuple[int, ...], dict[int, list[int]]] = defaultdict(dict)
        for gpu, own in enumerate(self.nodes):
            for i, node in enumerate(own):
                if node.members:
                    by_group[node.members].setdefault(gpu, []).append(i)
                elif node.kind != "none":
                    found.append(Task(node, ((gpu, i),)))
        for members, lists in by_group.items():
            counts = {gpu: len(lists.get(gpu, ())) for gpu in members}
            most, least = max(counts, key=counts.__getitem__), min(counts, key=counts.__getitem__)
            if counts[most] != counts[least]:
                raise NetcosimError(
                    f"{self.paths[0]}: a group of {len(members)} GPUs: GPU {most} has "
                    f"{counts[most]} collectives, GPU {least} has {counts[least]}"
                )
            for at in zip(*(lists[gpu] for gpu in members), strict=True):
                placed = tuple(zip(members, at, strict=True))
                found.append(Task(self.nodes[members[0]][at[0]], placed))
                same = {(n.kind, n.n_bytes) for n in (self.nodes[g][i] for g, i in placed)}
                if len(same) > 1:
                    (a, n), (b, m) = sorted(same)[:2]
                    raise NetcosimError(
                        f"{self._place(found[-1])}: its group runs {a} of {n:,} bytes and {b} of "
                        f"{m:,} at once"
                    )
        return tuple(found)

    @cached_property
    def task_of(self) -> dict[tuple[int, int], int]:
        """The task of each node."""
        return {place: t for t, task in enumerate(self.tasks) for place in task.nodes}

    @cached_property
    def sent(self) -> dict[int, int]:
        """Of each receive the send that it is for: the k-th of two GPUs with a tag."""
        sends: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        waits: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        for t, task in enumerate(self.tasks):
            gpu, node = task.nodes[0][0], task.node
            if node.kind == "send":
                sends[gpu, node.peer, node.tag].append(t)
            elif node.kind == "receive":
                waits[node.peer, gpu, node.tag].append(t)
        found = {}
        for key in sorted(sends.keys() | waits.keys()):
            a, b = sends[key], waits[key]
            what = f"{self.paths[0]}: messages of GPU {key[0]} to GPU {key[1]} with tag {key[2]}"
            if len(a) != len(b):
                raise NetcosimError(f"{what}: {len(a)} are sent, {len(b)} received")
            for send, receive in zip(a, b, strict=True):
                n, m = self.tasks[send].node.n_bytes, self.tasks[receive].node.n_bytes
                if n != m:
                    raise NetcosimError(f"{what}: {n:,} bytes are sent, {m:,} received")
                found[receive] = send
        return found

    @cached_property
    def needs(self) -> list[list[frozenset[int]]]:
        """Of each node the nodes that it needs, through those of no time."""
        found = []
        for own in self.nodes:
            direct: list[frozenset[int]] = []
            for node in own:
                parts = (direct[j] if own[j].kind == "none" else {j} for j in node.needs)
                direct.append(frozenset().union(*parts))
            found.append(direct)
        return found

    def tasks_before(self, task: Task) -> set[int]:
        """Return the tasks that must be complete before a task."""
        return {self.task_of[gpu, j] for gpu, i in task.nodes for j in self.needs[gpu][i]}

    def schedule(self, bandwidth_Bps: float = NOMINAL_BPS) -> OperationSchedule:
        """Return when each task runs if a GPU computes and communicates one task at a time.

        Of what can begin, the smallest number does. A message takes its sender's time.
        """
        n = len(self.tasks)
        after: list[list[int]] = [[] for _ in range(n)]
        left, begin, end = [0] * n, np.zeros(n), np.zeros(n)
        for t, task in enumerate(self.tasks):
            before = self.tasks_before(task) | ({self.sent[t]} if t in self.sent else set())
            left[t] = len(before)
            for other in before:
                after[other].append(t)
        # what happens: a task is ready (0), or ends and frees its GPUs (1)
        events = [(0.0, 0, t) for t in range(n) if not left[t]]
        busy, order = set[tuple[str, int]](), list[int]()
        computing: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
        others: dict[tuple[str, int], set[tuple[int, int]]] = defaultdict(set)

        def start(t: int, now_s: float) -> None:
            task = self.tasks[t]
            order.append(t)
            begin[t], end[t] = now_s, now_s + task.seconds(bandwidth_Bps)
            busy.update(task.uses)
            heappush(events, (float(end[t]), 1, t))

        while events:
            now_s, touched = events[0][0], set[tuple[str, int]]()
            while events and events[0][0] == now_s:
                _, ended, t = heappop(events)
                task = self.tasks[t]
                touched.update(task.uses)
                if ended:
                    busy.difference_update(task.uses)
                    for other in after[t]:
                        left[other] -= 1
                        if left[other] == 0:
                            heappush(events, (now_s, 0, other))
                elif task.node.kind == "compute":
                    heappush(computing[task.uses[0]], (task.node.number, t))
                elif not task.uses:
                    start(t, now_s)
                else:
                    for one in task.uses:
                        others[one].add((task.node.number, t))
            for one in sorted(touched - busy):
                if computing[one]:
                    start(heappop(computing[one])[1], now_s)
            for number, t in sorted(set().union(*(others[one] for one in touched))):
                if busy.isdisjoint(self.tasks[t].uses):
                    start(t, now_s)
                    for one in self.tasks[t].uses:
                        others[one].discard((number, t))
        if len(order) < n:
            stuck = next(t for t in range(n) if left[t])
            raise NetcosimError(
                f"{self._place(self.tasks[stuck])}: GPUs wait for each other for ever "
                f"({n - len(order):,} nodes)"
            )
        return OperationSchedule(begin, end, tuple(order))

    def computing_s(self) -> list[float]:
        """Return the seconds of computing of each GPU."""
        return [sum(node.seconds for node in own) for own in self.nodes]

    def bytes_sent(self) -> dict[tuple[str, int], float]:
        """Return the bytes that a GPU sends at most, by what (`Task.label`) and GPUs of a group."""
        found: dict[tuple[str, int], dict[int, float]] = defaultdict(lambda: defaultdict(float))
        for task in self.tasks:
            members = task.node.members or (task.nodes[0][0],)
            if task.node.members or task.node.kind == "send":
                share = wire_share(task.node.kind, len(members))
                for gpu in members:
                    sent = found[task.label, max(2, len(members))]
                    sent[gpu] += task.node.n_bytes * share
        return {key: max(found[key].values()) for key in sorted(found, key=lambda key: key[::-1])}

    def exposed_s(self, schedule: OperationSchedule) -> dict[str, float]:
        """Return for how long a GPU waits, by what (`Task.label`), in the mean over GPUs.

        A GPU that does not compute waits for the last of what its next node needs, at the end for
        its last collective or message. It does not wait for what it sends.
        """
        found: dict[str, float] = defaultdict(float)
        free, last = [0.0] * self.gpus, [-1] * self.gpus
        end_s, begin_s = schedule.end_s.tolist(), schedule.begin_s.tolist()
        for t in schedule.order:
            task = self.tasks[t]
            if task.node.kind == "compute":
                ((gpu, _),) = task.nodes
                if begin_s[t] > free[gpu]:
                    other = max(self.tasks_before(task), key=end_s.__getitem__)
                    found[self.tasks[other].label] += begin_s[t] - free[gpu]
                free[gpu] = end_s[t]
            elif task.node.kind != "send":
                for gpu, _ in task.nodes:
                    last[gpu] = max(last[gpu], t, key=lambda one: end_s[one] if one >= 0 else -1.0)
        for own, free_s in zip(last, free, strict=True):
            if own >= 0 and end_s[own] > free_s:
                found[self.tasks[own].label] += end_s[own] - free_s
        return {label: seconds / self.gpus for label, seconds in found.items()}

    def program(
        self,
        n_ranks: int,
        iterations: int = 1,
        *,
        scale: float = 1.0,
        compute: bool = True,
    ) -> Program:
        """Return the program of so many ranks; those beyond the GPUs have nothing to do.

        The parameters are those of `patterns.training.program.program_of`.
        """
        n = iterations * sum(2 * max(1, len(task.node.members)) ** 2 for task in self.tasks)
        need_messages(n, n, f"a step of {self.gpus} GPUs")
        writer = _Writer(self, scale, compute)
        for t in self.schedule().order:
            writer.add(t)
        return writer.program(n_ranks, iterations)


@dataclass
class _Lane:
    """Steps of a stream of a GPU. The last one is open: what comes next may wait in it."""

    stream: int
    compute_s: list[float] = field(default_factory=lambda: [0.0])
    kinds: list[int] = field(default_factory=lambda: [0])
    seen: dict[tuple[object, ...], int] = field(default_factory=dict)
    """Of other lanes, the last step whose signal it has waited for."""

    def step(self, seconds: float = 0.0, kind: int = 0, n: int = 1) -> int:
        """Add steps and return the number of the last one."""
        self.compute_s += [seconds] * n
        self.kinds += [kind] * n
        return len(self.kinds) - 1


class _Writer:
    """Steps and messages of all GPUs; tasks are added as they begin.

    Invariant: a stream waits only for tasks that were added before, so no order of streams can
    make GPUs wait for each other for ever.
    """

    def __init__(self, graph: StepGraph, scale: float, compute: bool) -> None:
        self.graph, self.scale, self.compute = graph, scale, compute
        self.lanes: list[dict[tuple[object, ...], _Lane]] = []
        number = 0
        for own in graph.nodes:
            keys = dict.fromkeys(n.lane for n in own if n.kind not in ("compute", "none"))
            lanes = {key: _Lane(number + k) for k, key in enumerate([("compute",), *keys])}
            self.lanes.append(lanes)
            number += len(lanes)
        self.signals: list[tuple[int, int, int, int, int]] = []
        """Columns of messages: signals, then sends, by their place in the streams."""
        self.parts: list[Messages] = []
        self.done: dict[tuple[int, int], tuple[tuple[object, ...], int]] = {}
        """Of each node the lane and the step that begins when it is complete."""
        self.posted: dict[int, tuple[int, int]] = {}
        self.made: dict[tuple[str, int, int], tuple[Messages, int]] = {}
        for lanes in self.lanes:
            first, *others = lanes.values()
            self.signals += [(first.stream, 0, lane.stream, 0, 0) for lane in others]

    def add(self, t: int) -> None:
        """Write a task."""
        task = self.graph.tasks[t]
        for gpu, i in task.nodes:
            self._wait(gpu, i)
        if task.node.members:
            self._collective(task)
            return
        ((gpu, i),) = task.nodes
        lane = self.lanes[gpu][task.node.lane]
        if task.node.kind == "compute":
            self.done[gpu, i] = task.node.lane, lane.step(task.node.seconds * self.scale)
        elif task.node.kind == "send":
            self.posted[t] = lane.stream, lane.step()
            self.done[gpu, i] = task.node.lane, self.posted[t][1]
        else:
            stream, step = self.posted[self.graph.sent[t]]
            n_bytes = max(1, round(task.node.n_bytes * self.scale))
            self.signals.append((stream, step, lane.stream, len(lane.kinds) - 1, n_bytes))
            self.done[gpu, i] = task.node.lane, lane.step()

    def _wait(self, gpu: int, i: int) -> None:
        """Make the open step of a node's lane wait for what the node needs in other lanes."""
        key = self.graph.nodes[gpu][i].lane
        lane = self.lanes[gpu][key]
        needed: dict[tuple[object, ...], int] = {}
        for j in self.graph.needs[gpu][i]:
            other, step = self.done[gpu, j]
            if other != key and step > lane.seen.get(other, -1):
                needed[other] = max(step, needed.get(other, -1))
        if not needed:
            return
        step = len(lane.kinds) - 1
        if key == ("compute",):
            step = lane.step(kind=min(map(_kind_of, needed)))
        for other, its_step in needed.items():
            lane.seen[other] = its_step
            stream = self.lanes[gpu][other].stream
            self.signals.append((stream, its_step, lane.stream, step, 0))

    def _collective(self, task: Task) -> None:
        """Write the messages of a collective from the open step of each member on."""
        members = task.node.members
        lanes = [self.lanes[gpu][task.node.lane] for gpu in members]
        n_bytes = max(1, round(task.node.n_bytes * self.scale))
        key = task.node.kind, len(members), n_bytes
        if key not in self.made:
            ranks = np.arange(len(members))[None, :]
            collective = Communicator().collective(task.node.kind, ranks)
            self.made[key] = collective.messages(ranks, n_bytes)
        messages, n_steps = self.made[key]
        stream = np.array([lane.stream for lane in lanes])
        first = np.array([len(lane.kinds) for lane in lanes])
        self.parts.append(
            make_messages(
                stream[messages.src],
                first[messages.src] + messages.src_step,
                stream[messages.dst],
                first[messages.dst] + messages.dst_step,
                messages.n_bytes,
            )
        )
        for lane, (gpu, i) in zip(lanes, task.nodes, strict=True):
            lane.step(kind=1, n=n_steps)
            self.done[gpu, i] = task.node.lane, lane.step()

    def program(self, n_ranks: int, iterations: int) -> Program:
        """Return the program; the first stream of a GPU ends when all others have."""
        for lanes in self.lanes:
            first, *others = lanes.values()
            if others:
                step = first.step(kind=min(map(_kind_of, [*lanes][1:])))
                self.signals += [
                    (lane.stream, len(lane.kinds) - 1, first.stream, step, 0) for lane in others
                ]
        idle = n_ranks - self.graph.gpus
        streams = [lane for lanes in self.lanes for lane in lanes.values()]
        of_rank = [*map(len, self.lanes), *[1] * idle]
        columns = np.array(self.signals, dtype=np.int64).reshape(-1, 5).T
        compute_s = np.concatenate([*(lane.compute_s for lane in streams), np.zeros(idle)])
        return build_program(
            n_ranks,
            np.array([*(len(lane.kinds) for lane in streams), *[1] * idle], dtype=np.int64),
            join([*self.parts, make_messages(*columns)]),
            iterations,
            compute_s if self.compute else 0.0,
            stream_ptr=np.concatenate([[0], np.cumsum(of_rank)]),
            kinds=KINDS,
            step_kind=np.concatenate([*(lane.kinds for lane in streams), [0] * idle]),
        )


def _kind_of(lane: tuple[object, ...]) -> int:
    return 1 if lane[0] == "group" else 2
