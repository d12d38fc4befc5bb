"""The message model of docs/flow-model.md in plain Python: everything again each time."""

from __future__ import annotations

import math
from typing import NamedTuple

from netsim.flow.paths import flow_paths
from netsim.packet.model import PacketConfig
from netsim.routing.base import Routing
from netsim.topologies.fattree import FatTreeShape

# docs/flow-model.md, "Jobs": stated here once more, so that a change over there is seen
SPARE = 0.2
SCATTERED = 0.625
DETOUR = 1.5
MOST_FAIR = 2.0
SETS, WARM_UP, DRAWS, MOST_ROUNDS = 8, 2, 64, 4
NEAR = 0.002
GOLDEN = 0.6180339887498949
WORD = (1 << 64) - 1
UGAL = ("ugal-l", "ugal-g", "par", "adaptive-local")
SCATTERING = ("valiant", "valiant-local", *UGAL, "minimal-adaptive", "random-up")


def mixed(a: int, b: int) -> int:
    """SplitMix64 of two numbers."""
    x = (a * 0x9E3779B97F4A7C15 + b) & WORD
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & WORD
    return x ^ (x >> 31)


def unit(x: int) -> float:
    return (x >> 11) / 2**53


class Message(NamedTuple):
    stream: tuple[int, int]
    """Rank and node that it goes to."""
    needed_by: tuple[int, int] | int | None
    """A rank's step; a rank, for its next iteration; or nobody."""
    packets: int
    floor: float
    latency: float
    path: list[tuple[int, float, float, float]]
    """Links, time of the step's bytes, part of the packets, time of their bytes."""
    first_entry: int


class PlainJob:
    """A placed job whose steps and ranks are all followed."""

    def __init__(
        self,
        routing: Routing,
        program,
        rank_node,
        config: PacketConfig,
        seed: int,
        background_s=None,
        fraction: float = 1.0,
        key: int = 0,
    ):
        topology = routing.topology
        bandwidth = topology.link_bandwidth_Bps.tolist()
        sent = []
        for rank in range(program.n_ranks):
            for step in range(program.step_ptr[rank], program.step_ptr[rank + 1]):
                for m in range(program.send_ptr[step], program.send_ptr[step + 1]):
                    ends = int(rank_node[rank]), int(rank_node[program.send_dst[m]])
                    if ends[0] != ends[1]:
                        packets = math.ceil(program.send_bytes[m] / config.packet_bytes)
                        wire = float(program.send_bytes[m] + packets * config.header_bytes)
                        number = step - int(program.step_ptr[rank])
                        wait = float(program.compute_s[step])
                        target = int(program.send_dst[m])
                        needed = int(program.send_step[m] - program.step_ptr[target])
                        sent.append((rank, number, ends, wire, packets, wait, target, needed))
        # by place in the node list, as the library has them: routings that draw depend on it
        place = {int(v): k for k, v in reversed(list(enumerate(rank_node.tolist())))}
        pairs = sorted({m[2] for m in sent}, key=lambda ends: (place[ends[0]], place[ends[1]]))
        total = {ends: sum(m[3] for m in sent if m[2] == ends) for ends in pairs}
        src, dst = [list(x) for x in zip(*pairs, strict=True)] if pairs else ([], [])
        paths = flow_paths(
            routing, src, dst, [total[p] for p in pairs], seed=seed, background_s=background_s
        )
        way = {}
        for k, ends in enumerate(pairs):
            entries = range(paths.ptr[k], paths.ptr[k + 1])
            way[ends] = {
                int(paths.links[e]): 1.0 if paths.weights is None else float(paths.weights[e])
                for e in entries
            }
        n = topology.n_nodes
        shape = topology.shape
        up, felt = set(), 1.0
        if routing.name in SCATTERING:
            felt = SCATTERED
        if routing.adaptive and isinstance(shape, FatTreeShape):
            up = {*range(shape.first_up1, shape.first_down1)}
            up |= {*range(shape.first_up2, shape.first_down2)}
        step_bytes: dict[tuple[int, int], float] = {}
        feeds: dict[tuple[int, int], set[int]] = {}
        for _, step, ends, wire, *_ in sent:
            for link, part in way[ends].items():
                step_bytes[step, link] = step_bytes.get((step, link), 0.0) + wire * part
                before = [o for o in way[ends] if topology.link_dst[o] == topology.link_src[link]]
                feeds.setdefault((step, link), set()).update(before)
        self.busy, self.inputs, self.packet = {}, {}, {}
        mean_packet = sum(m[3] for m in sent) / max(1, sum(m[4] for m in sent))
        for link in sorted({k[1] for k in step_bytes if k[1] >= 2 * n}):
            at = [(s, b) for (s, q), b in step_bytes.items() if q == link]
            amount = sum(b for _, b in at)
            self.busy[link] = amount / bandwidth[link]
            self.inputs[link] = sum(len(feeds[s, link]) * b for s, b in at) / amount
            self.packet[link] = 0.0 if link in up else mean_packet / bandwidth[link]
        avoids = routing.name in (*UGAL, "minimal-adaptive")
        self.most_slow = DETOUR if avoids else math.inf
        steps: dict[int, list[int]] = {}
        for rank, step, *_ in sent:
            if step not in steps.setdefault(rank, []):
                steps[rank].append(step)
        self.steps = {rank: sorted(own) for rank, own in steps.items()}
        self.compute = {(m[0], m[1]): m[5] for m in sent}
        self.felt = felt
        self.messages: dict[tuple[int, int], list[Message]] = {}
        n_entries, port_latency = 0, topology.link_latency_s
        for rank, step, ends, wire, packets, _, target, needed in sent:
            src, dst = ends[0], n + ends[1]
            floor = max(step_bytes[step, q] / bandwidth[q] for q in (src, dst))
            late = float(port_latency[src] + port_latency[dst]) + config.router_latency_s
            path = []
            for link, part in way[ends].items():
                if link >= 2 * n:
                    hop = float(port_latency[link]) + config.router_latency_s
                    late += part * hop
                    times = step_bytes[step, link] / bandwidth[link], part
                    path.append((link, *times, wire * part / bandwidth[link]))
            waiter: tuple[int, int] | int | None = None
            if target in self.steps:
                later = [s for s in self.steps[target] if s > needed]
                waiter = (target, later[0]) if later else target
            message = Message((rank, ends[1]), waiter, packets, floor, late, path, n_entries)
            n_entries += len(path)
            self.messages.setdefault((rank, step), []).append(message)
        trains = [m[4] for m in sent]
        self.buffer = max(1, config.buffer_bytes // config.packet_bytes)
        self.train = min(max(sum(trains) / max(1, len(trains)), 1), self.buffer)
        self.key, self.stretch, self.pause = key, 1.0, (1 - fraction) / fraction
        self.calm()
        self.isolate()

    def calm(self) -> None:
        """No contention."""
        self.slow = {q: [1.0] * SETS for q in self.busy}
        self.wait = {q: [0.0] * SETS for q in self.busy}
        self.met = {q: [0.0] * SETS for q in self.busy}

    def isolate(self) -> None:
        """Find how long it computes, so that it communicates for its fraction of the period."""
        once = self.run(0.0, contended=False)[1]
        compute, low, high = once * self.pause, 0.0, math.inf
        for _ in range(16):
            period = self.run(compute, contended=False)[0]
            wanted = (period - compute) * self.pause
            if abs(wanted - compute) <= NEAR * period:
                break
            low, high = (compute, high) if wanted > compute else (low, compute)
            compute = wanted if low < wanted < high else (low + high) / 2
        self.compute_s, self.alone_s = compute, period - compute
        self.span = min(period, once)

    @property
    def period(self) -> float:
        return self.compute_s + self.alone_s * self.stretch

    def mean_use(self, link: int) -> float:
        return self.busy[link] / self.period

    def run(self, pause: float, *, contended: bool) -> tuple[float, float]:
        """Mean period of the iterations that count, and the end of the first."""
        ready, port = dict.fromkeys(self.steps, 0.0), dict.fromkeys(self.steps, 0.0)
        done: dict[tuple[int, int], float] = {}
        n_messages = sum(len(m) for m in self.messages.values())
        count = SETS * min(MOST_ROUNDS, max(1, DRAWS // max(1, n_messages)))
        ends = []
        for k in range(WARM_UP + count):
            posted: dict[tuple[int, int], float] = {}
            arrived: dict[tuple[int, int] | int, float] = {}
            while len(posted) < len(self.messages):
                for rank, step in self.messages:
                    if (rank, step) not in posted and self.can_post(rank, step, posted):
                        before = [s for s in self.steps[rank] if s < step]
                        now = posted[rank, before[-1]] if before else ready[rank]
                        now = max(now, arrived.get((rank, step), 0.0)) + self.compute[rank, step]
                        posted[rank, step] = now
                        begin = max(now, port[rank])
                        times, hold = self.step_times(rank, step, k, contended=contended)
                        port[rank] = begin + hold
                        for message, (took, serve) in zip(
                            self.messages[rank, step], times, strict=True
                        ):
                            queue = done.get(message.stream, 0.0) + serve
                            done[message.stream] = max(begin + took, queue)
                            at = done[message.stream] + message.latency
                            ends.append((k, at))
                            if message.needed_by is not None:
                                known = arrived.get(message.needed_by, 0.0)
                                arrived[message.needed_by] = max(known, at)
            for rank, own in self.steps.items():
                ready[rank] = max(posted[rank, own[-1]], arrived.get(rank, 0.0)) + pause
        last = [max(at for j, at in ends if j <= k) for k in range(WARM_UP + count)]
        return (last[-1] - last[WARM_UP - 1]) / count, last[0]

    def can_post(self, rank: int, step: int, posted) -> bool:
        """Whether what the step waits for has been posted."""
        needed = [
            at for at, own in self.messages.items() for m in own if m.needed_by == (rank, step)
        ]
        before = [(rank, s) for s in self.steps[rank] if s < step]
        return all(at in posted for at in needed + before)

    def step_times(self, rank: int, step: int, k: int, *, contended: bool):
        """Time and service of each message of a step, and for how long the port is busy."""
        q = k % SETS
        times, more, hold = [], 0.0, 0.0
        for message in self.messages[rank, step]:
            single = message.packets <= 1
            calm = max([message.floor, *(alone for _, alone, _, _ in message.path)])
            shared, late, blocked, serve, room, wait = calm, 0.0, 0.0, 0.0, 0.0, 0.0
            for e, (link, alone, part, own) in enumerate(message.path):
                slow = self.slow[link][q]
                room += self.buffer * self.packet[link]
                shared = max(shared, alone * slow)
                serve = max(serve, own if single else own * slow)
                extra = own * max(0.0, slow - 1 / part)
                late = max(late, extra)
                blocked = max(blocked, extra - room)
                mean = self.wait[link][q]
                if not single:
                    wait += self.felt * part * mean
                elif contended and mean > 0:
                    busy = min(1.0, self.met[link][q])
                    u = (unit(mixed(self.key, message.first_entry + e)) + k * GOLDEN) % 1.0
                    if u < busy:
                        wait += self.felt * part * 2 * mean / busy * (u / busy)
            late += more
            more += blocked
            hold = max(hold, calm + more, shared - room)
            times.append((calm + wait if single else max(shared, calm + max(late, wait)), serve))
        return times, hold

    def goal(self, others: list[PlainJob]) -> float:
        """Stretch among the others as they are."""
        self.look(others)
        least = 0.0
        for link, busy in self.busy.items():
            there = [o for o in others if link in o.busy]
            used = sum(o.mean_use(link) for o in there)
            share = self.inputs[link] / (self.inputs[link] + sum(o.inputs[link] for o in there))
            least = max(least, busy / max(1 - used, share))
        period = max(least, self.run(self.compute_s, contended=True)[0])
        return max(1.0, (period - self.compute_s) / self.alone_s)

    def meets(self, others: list[PlainJob]) -> float:
        """The time of an iteration that others' use of its links concerns."""
        return sum(
            busy * sum(o.mean_use(link) for o in others if link in o.busy)
            for link, busy in self.busy.items()
        )

    def seen_by(self, job: PlainJob, everybody: list[PlainJob]):
        """Its presence in each set, its time of communication, and what is left of its stretch."""
        rest = [o for o in everybody if o is not self]
        part = sum(busy * job.mean_use(q) for q, busy in self.busy.items() if q in job.busy)
        left = max(0.0, 1 - part / max(1e-12, self.meets(rest)))
        stretch = 1 + (self.stretch - 1) * left
        period = self.compute_s + self.alone_s * stretch
        span = min(period, self.span * stretch)
        seed = mixed(job.key, self.key)
        turn = list(range(SETS))
        for q in range(SETS - 1, 0, -1):
            at = mixed(seed, q) % (q + 1)
            turn[q], turn[at] = turn[at], turn[q]
        own = job.span * job.stretch

        def until(t: float) -> float:
            return math.floor(t / period) * span + min(t % period, span)

        present = []
        for q in range(SETS):
            begin = (turn[q] + unit(mixed(seed, SETS))) / SETS * period
            present.append((until(begin + own) - until(begin)) / own)
        return present, span, left

    def look(self, others: list[PlainJob]) -> None:
        """Work out the contention on its links among the others as they are."""
        everybody = [self, *others]
        near = [o for o in others if set(o.busy) & set(self.busy)]
        seen = {id(o): o.seen_by(self, everybody) for o in near}
        self.calm()
        for link, busy in self.busy.items():
            there = [o for o in near if link in o.busy]
            held = {}
            for o in there:
                _, span, left = seen[id(o)]
                slower = 1 + (sum(o.slow[link]) / SETS - 1) * left
                held[id(o)] = min(1.0, o.busy[link] * slower / span)
            use = min(1.0, busy / (self.span * self.stretch))
            most = sum(o.inputs[link] * o.packet[link] * o.train for o in there)
            for q in range(SETS):
                now = {id(o): seen[id(o)][0][q] * held[id(o)] for o in there}
                self.met[link][q] = sum(now.values())
                slow, wait = 1.0, 0.0
                for o in there:
                    mine, rest = now[id(o)], self.met[link][q] - now[id(o)]
                    slow += mine * min(MOST_FAIR, o.inputs[link] / self.inputs[link])
                    queued = 1 + (o.train - 1) * min(1.0, rest + use)
                    wait += mine * o.packet[link] / 2 * queued / max(SPARE, 1 - rest)
                self.slow[link][q] = min(self.most_slow, slow)
                self.wait[link][q] = min(most, wait) if self.packet[link] > 0 else 0.0


def plain_stretches(jobs: list[PlainJob], *, rounds: int = 60) -> list[float]:
    """Stretches of jobs that all run at once, by going round until nothing moves."""
    for job in jobs:
        job.stretch = 1.0
        job.calm()
    for _ in range(rounds):
        moved = 0.0
        for job in jobs:
            new = 0.5 * (job.stretch + job.goal([o for o in jobs if o is not job]))
            moved = max(moved, abs(new / job.stretch - 1))
            job.stretch = new
        if moved < 1e-6:
            break
    return [job.stretch for job in jobs]
