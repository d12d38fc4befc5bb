"""A plain second queue with partitions, dependencies, outages and cuts: sets and an event list.

Nothing is remembered but reservations, every waiting job is tried in every pass, in first come,
first served order within priorities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from queuesim.parameters import Partition
from queuesim.site.outages import Outage

Find = "callable: (set of usable nodes, number wanted) -> list of nodes or None"


@dataclass
class PlainJob:
    submit: float
    run: float
    asked: float
    nodes: int
    partition: int = 0
    account: str = ""
    waits_for: list[tuple[str, int]] = field(default_factory=list)
    think: float = 0.0
    ready: float | None = None
    start: float | None = None
    end: float | None = None
    outcome: str = ""
    eligible: float | None = None
    begun: bool = False


@dataclass
class Reservation:
    head: int
    shadow: float
    end: float
    nodes: set[int]


def numbers(text: str, n: int) -> set[int]:
    if text == "all":
        return set(range(n))
    first, _, last = text.partition("-")
    return set(range(int(first), int(last or first) + 1))


class PlainRules:
    def __init__(
        self,
        jobs: Sequence[PlainJob],
        n: int,
        find,
        partitions: Sequence[Partition] = (),
        outages: Sequence[Outage] = (),
        *,
        backfill: str = "easy",
        requeue: bool = False,
        grace: float | None = None,
    ) -> None:
        self.jobs, self.n, self.find, self.backfill = list(jobs), n, find, backfill
        self.requeue, self.grace = requeue, grace
        self.partitions = partitions or (Partition("all"),)
        self.sets = [numbers(p.nodes, n) for p in self.partitions]
        self.priority = [p.priority for p in self.partitions]
        self.outages = [(o, numbers(o.nodes, n)) for o in outages]
        self.waiting: list[int] = []
        self.running: dict[int, set[int]] = {}
        self.held: dict[int, Reservation] = {}
        self.stale: set[int] = set()
        self.where: list[list[tuple[float, float, set[int]]]] = [[] for _ in jobs]

    # what ends when

    def ends(self, j: int) -> float:
        job = self.jobs[j]
        stop = job.start + job.run
        if self.grace is not None:
            stop = min(stop, job.start + job.asked + self.grace)
        return stop

    def promised(self, j: int) -> float:
        return self.jobs[j].start + self.jobs[j].asked

    def over(self, j: int) -> bool:
        return self.jobs[j].outcome != ""

    def met(self, kind: str, k: int) -> bool | None:
        """True, False for never, None for not yet."""
        other = self.jobs[k]
        if kind == "after":
            return True if other.begun or self.over(k) else None
        if not self.over(k):
            return None
        if kind == "afterany":
            return True
        return (other.outcome == "completed") == (kind == "afterok")

    # the simulation

    def run(self) -> list[PlainJob]:
        now = -1.0
        arrived: set[int] = set()
        while not all(map(self.over, range(len(self.jobs)))):
            times = [j.submit for k, j in enumerate(self.jobs) if k not in arrived]
            times += [self.ends(j) for j in self.running]
            times += [j.ready for j in self.jobs if j.ready is not None and j.eligible is None]
            times += [t for o, _ in self.outages for t in (o.start_s, o.end_s) if t > now]
            now = min(times)
            for j in list(self.running):
                if self.ends(j) == now:
                    cut = now < self.jobs[j].start + self.jobs[j].run
                    self.leave(j, now)
                    self.jobs[j].outcome = "cut" if cut else "completed"
            for outage, nodes in self.outages:
                if outage.kind == "failure" and outage.start_s == now:
                    self.fail(nodes, now)
            arrived |= {k for k, j in enumerate(self.jobs) if j.submit <= now}
            while True:
                self.settle(now, arrived)
                begun = [job.begun for job in self.jobs]
                self.one_pass(now)
                if begun == [job.begun for job in self.jobs]:
                    break
        return self.jobs

    def settle(self, now: float, arrived: set[int]) -> None:
        """Who never runs, and who is eligible."""
        changed = True
        while changed:
            changed = False
            for j, job in enumerate(self.jobs):
                if self.over(j) or job.begun or job.eligible is not None:
                    continue
                answers = [self.met(kind, k) for kind, k in job.waits_for]
                if any(answer is False for answer in answers):
                    job.outcome = "never"
                    changed = True
                elif not answers:
                    job.eligible = job.submit
                elif None not in answers:
                    job.ready = now + job.think if job.ready is None else job.ready
                    if job.ready <= now:
                        job.eligible = max(now, job.submit)
        for j in sorted(arrived):
            free = self.jobs[j].eligible is not None and not self.over(j)
            if free and j not in self.running and j not in self.waiting:
                self.waiting.append(j)

    def leave(self, j: int, now: float) -> None:
        nodes = self.running.pop(j)
        self.jobs[j].end = now
        self.where[j].append((self.jobs[j].start, now, nodes))
        for p, h in list(self.held.items()):
            if nodes & self.sets[p] and (self.promised(j) > now or now > h.shadow):
                self.stale.add(p)

    def fail(self, nodes: set[int], now: float) -> None:
        for p in list(self.held):
            if nodes & self.sets[p]:
                self.stale.add(p)
        for j in list(self.running):
            if self.running[j] & nodes:
                self.leave(j, now)
                if self.requeue:
                    self.jobs[j].start = self.jobs[j].end = None
                else:
                    self.jobs[j].outcome = "failed"

    # where a job may be

    def usable(self, j: int, start: float, end: float, now: float) -> set[int]:
        job = self.jobs[j]
        found = set(self.sets[job.partition])
        for outage, nodes in self.outages:
            if outage.kind == "failure" and outage.start_s > now:
                continue
            name = self.partitions[job.partition].name
            spared = outage.partition == name or (
                outage.account != "" and outage.account == job.account
            )
            if outage.start_s < end and outage.end_s > max(start, now) and not spared:
                found -= nodes
        return found

    def free(self) -> set[int]:
        return set(range(self.n)).difference(*self.running.values())

    def heeded(self, p: int) -> list[tuple[int, Reservation]]:
        return [(q, h) for q, h in self.held.items() if self.priority[q] >= self.priority[p]]

    def place(self, j: int, now: float, barred: set[int]) -> bool:
        job = self.jobs[j]
        usable = self.usable(j, now, now + job.asked, now) & self.free()
        nodes = self.find(usable - barred, job.nodes)
        if nodes is None:
            return False
        self.waiting.remove(j)
        self.running[j] = set(nodes)
        job.start, job.begun = now, True
        for q, h in list(self.held.items()):
            lower = self.priority[q] < self.priority[job.partition]
            if lower and h.shadow < now + job.asked and h.nodes & set(nodes):
                del self.held[q]
                self.stale.discard(q)
        return True

    def one_pass(self, now: float) -> None:
        order = sorted(self.waiting, key=lambda j: (-self.priority[self.jobs[j].partition], j))
        for p, h in list(self.held.items()):
            late = [j for j in self.running if h.shadow < self.promised(j) <= now]
            if any(self.running[j] & self.sets[p] for j in late):
                self.stale.add(p)
        heads: dict[int, int] = {}
        for j in order:
            p, end = self.jobs[j].partition, now + self.jobs[j].asked
            if self.backfill == "none":
                barred = set().union(*(self.sets[q] for q in heads))
                if p not in heads and not self.place(j, now, barred):
                    heads[p] = j
            elif p not in heads:
                others = [h for q, h in self.heeded(p) if q != p and h.shadow < end]
                if self.place(j, now, set().union(*(h.nodes for h in others))):
                    self.held.pop(p, None)
                    self.stale.discard(p)
                else:
                    heads[p] = j
                    if p in self.held and self.held[p].head != j:
                        del self.held[p]
                        self.stale.discard(p)
            elif self.jobs[j].nodes <= len(self.free() & self.sets[p]):
                for q, head in heads.items():
                    if self.sets[q] & self.sets[p] and (q not in self.held or q in self.stale):
                        self.held.pop(q, None)
                        self.stale.discard(q)
                        self.held[q] = self.reserve(head, now)
                others = [h for _, h in self.heeded(p) if h.shadow < end]
                self.place(j, now, set().union(*(h.nodes for h in others)))

    def reserve(self, j: int, now: float) -> Reservation:
        job = self.jobs[j]
        others = [h for _, h in self.heeded(job.partition)]
        times = {now, *(max(now, self.promised(k)) for k in self.running)}
        times |= {h.end for h in others} | {o.end_s for o, _ in self.outages}
        for t in sorted(t for t in times if t >= now):
            end = t + job.asked
            taken = [nodes for k, nodes in self.running.items() if max(now, self.promised(k)) > t]
            taken += [h.nodes for h in others if h.shadow < end and h.end > t]
            usable = self.usable(j, t, end, now).difference(*taken)
            nodes = self.find(usable, job.nodes)
            if nodes is not None:
                return Reservation(j, t, end, set(nodes))
        raise AssertionError("the head never fits")
