"""EASY backfilling as an external scheduler of netcosim (protocol version 1)."""

import json
import sys
from bisect import bisect_left, insort


class Easy:
    """First come, first served; later jobs start if they cannot delay the first one."""

    def __init__(self):
        self.waiting = {}  # id: (nodes, walltime), in order of submission
        self.running = []  # (promised end, id, nodes), sorted
        self.promised = {}  # id: (promised end, id, nodes)

    def decide(self, message):
        """Return the jobs to start, in order."""
        now, free = message["now_s"], message["free"]
        for job in message.get("finished", ()):
            del self.running[bisect_left(self.running, self.promised.pop(job["id"]))]
        for job in message.get("submitted", ()):
            self.waiting[job["id"]] = job["nodes"], job["walltime_s"]
        shadow, extra, started = None, 0, []
        for job, (nodes, walltime) in self.waiting.items():
            if free == 0:
                break
            if shadow is None and nodes > free:
                shadow, extra = self.shadow(nodes, now, free)
                continue
            ends_late = shadow is not None and now + walltime > shadow
            if nodes > free or (ends_late and nodes > extra):
                continue
            if ends_late:
                extra -= nodes
            free -= nodes
            started.append(job)
            self.promised[job] = now + walltime, job, nodes
            insort(self.running, self.promised[job])
        for job in started:
            del self.waiting[job]
        return started

    def shadow(self, needed, now, free):
        """Return when the first job can start at the latest, and how many nodes it leaves."""
        shadow = now
        for end, _, nodes in self.running:
            if end > shadow:
                if free >= needed:
                    break
                shadow = end
            free += nodes
        return shadow, free - needed


def main():
    """Answer each line on standard input with one line on standard output."""
    easy = Easy()
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "end":
            break
        if message["type"] == "hello":
            answer = {"protocol": 1}
        else:
            answer = {"start": easy.decide(message)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
