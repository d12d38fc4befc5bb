"""The message model of docs/flow-model.md in plain Python: everything again each time."""

from __future__ import annotations

import math

from netsim.flow.paths import flow_paths
from netsim.packet.model import PacketConfig
from netsim.routing.base import Routing
from netsim.topologies.fattree import FatTreeShape

# docs/flow-model.md, "Jobs": stated here once more, so that a change over there is seen
SPARE = 0.2
SCATTERED = 0.5
DETOUR = 2.0
UGAL = ("ugal-l", "ugal-g", "par", "adaptive-local")
SCATTERING = ("valiant", "valiant-local", *UGAL, "minimal-adaptive", "random-up")


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
                        sent.append((rank, number, ends, wire, packets, wait))
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
        for _, step, ends, wire, _, _ in sent:
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
        self.ranks: dict[int, dict[int, list]] = {}
        for rank, step, ends, _, packets, compute in sent:
            alone, wait, late = {}, {}, compute
            floor = 0.0
            for link, part in way[ends].items():
                time_s = step_bytes[step, link] / bandwidth[link]
                if link < 2 * n:
                    floor = max(floor, time_s)
                    continue
                alone[link] = time_s
                wait[link] = felt * part * (1 + math.log(packets) if part < 1 else 1)
                late += part * (float(topology.link_latency_s[link]) + config.router_latency_s)
            steps = self.ranks.setdefault(rank, {})
            steps.setdefault(step, []).append((floor, alone, wait, late))
        self.slow = dict.fromkeys(self.busy, 1.0)
        self.wait = dict.fromkeys(self.busy, 0.0)
        self.alone_s = self.time()
        self.stretch = 1.0
        self.pause = (1 - fraction) / fraction

    def use(self, link: int) -> float:
        """Share of the time for which it keeps the link busy while it communicates."""
        return self.busy[link] / (self.alone_s * self.stretch)

    def mean_use(self, link: int) -> float:
        return self.use(link) * self.stretch / (self.pause + self.stretch)

    def duty_without(self, rest: float) -> float:
        """Share of time in which it communicates when this part of its slowdown is left."""
        stretch = 1 + (self.stretch - 1) * rest
        return stretch / (self.pause + stretch)

    def time(self) -> float:
        most = max((self.busy[q] * self.slow[q] for q in self.busy), default=0.0)
        served, waited = [], []
        for steps in self.ranks.values():
            total = longer = 0.0
            for messages in steps.values():
                times, both = [], []
                for floor, alone, wait, late in messages:
                    slowed = max([floor, *(t * self.slow[q] for q, t in alone.items())])
                    calm = max([floor, *alone.values()])
                    hold = sum(part * self.wait[q] for q, part in wait.items())
                    times.append(slowed + late)
                    both.append(max(slowed, calm + hold) + late)
                total += max(times)
                longer += max(both) - max(times)
            served.append(total)
            waited.append(longer)
        if not served:
            return most
        mean = sum(waited) / len(waited)
        n_steps = sum(len(steps) for steps in self.ranks.values()) / len(waited)
        last = max(s + w / n_steps for s, w in zip(served, waited, strict=True))
        return max(most, last + mean * (1 - 1 / n_steps))

    def goal(self, others: list[PlainJob]) -> float:
        """Stretch among the others as they are."""
        for link in self.busy:
            self.look(link, [o for o in others if link in o.busy])
        return max(1.0, self.time() / self.alone_s)

    def look(self, link: int, others: list[PlainJob]) -> None:
        self.slow[link], self.wait[link] = 1.0, 0.0
        if not others:
            return
        crowd = 1 - 1 / len(others)
        mine = self.use(link) * self.duty_without(crowd)
        met = {o: o.duty_without(crowd) * o.use(link) for o in others}
        total = sum(met.values())
        # what is left of the link while one of the others communicates, in the mean by what is met
        left = 1 - total - sum(met[o] * (o.use(link) - met[o]) for o in others) / total
        slow = 1 + total / max(left, 1e-12)
        if any(o.use(link) / o.inputs[link] > left / self.inputs[link] for o in (self, *others)):
            # one by one, each without this job's part in what it meets
            slow = 1.0
            for o in others:
                fair = o.inputs[link] / self.inputs[link]
                more = o.use(link) / left if o.use(link) < fair * left else fair
                slow += o.duty_without(max(0, 1 - mine / (total + mine - met[o]))) * more
        self.slow[link] = min(self.most_slow, slow)
        work = sum(o.mean_use(link) * o.packet[link] for o in others)
        spare = max(SPARE, 1 - self.use(link) - sum(o.mean_use(link) for o in others))
        most = sum(o.inputs[link] * o.packet[link] for o in others)
        self.wait[link] = min(most, work / (2 * spare))


def plain_stretches(jobs: list[PlainJob], *, rounds: int = 400) -> list[float]:
    """Stretches of jobs that all run at once, by going round until nothing moves."""
    for job in jobs:
        job.stretch = 1.0
        job.slow = dict.fromkeys(job.busy, 1.0)
    for _ in range(rounds):
        moved = 0.0
        for job in jobs:
            new = 0.5 * (job.stretch + job.goal([o for o in jobs if o is not job]))
            moved = max(moved, abs(new / job.stretch - 1))
            job.stretch = new
        if moved < 1e-9:
            break
    return [job.stretch for job in jobs]
