"""A cluster simulator in SimPy, and the same one with contention from `netcosim.Live`.

`Cluster` knows nothing of networks, as most simulators of clusters. `Contended` replaces one
method, the run of a job on its nodes: its speed changes when jobs beside it start and end.
"""

from collections import namedtuple

import simpy

import netcosim as nc

Job = namedtuple("Job", "number submit_s n_nodes run_s pattern fraction")


class Cluster:
    """First come, first served, on the nodes that have been free for longest."""

    def __init__(self, env, n_nodes):
        self.env = env
        self.free = list(range(n_nodes))
        self.nodes = simpy.Container(env, n_nodes, init=n_nodes)
        self.turn = simpy.Resource(env)  # the first waiting job holds it until it starts
        self.ran = {}  # job number: (start, end)

    def submit(self, jobs):
        """Add a process for each job."""
        for job in jobs:
            self.env.process(self.life_of(job))

    def life_of(self, job):
        """A job arrives, waits for its turn and its nodes, runs, and frees them."""
        yield self.env.timeout(job.submit_s)
        with self.turn.request() as turn:
            yield turn
            yield self.nodes.get(job.n_nodes)
        mine, self.free = self.free[: job.n_nodes], self.free[job.n_nodes :]
        start = self.env.now
        yield from self.run(job, mine)
        self.ran[job.number] = start, self.env.now
        self.free += mine
        self.nodes.put(job.n_nodes)

    def run(self, job, nodes):
        """A job takes as long as its run time."""
        yield self.env.timeout(job.run_s)


class Contended(Cluster):
    """The same cluster; jobs slow each other on the links of a machine."""

    def __init__(self, env, live):
        super().__init__(env, live.topology.n_nodes)
        self.live, self.slowdown, self.process = live, {}, {}

    def run(self, job, nodes):
        """A job's remaining time shrinks at a speed that others may change."""
        started = nc.LiveJob(job.number, nodes, job.pattern, communication_fraction=job.fraction)
        self.process[job.number] = self.env.active_process
        self.change([started], [])
        left = job.run_s
        while left > 0:
            began, slowdown = self.env.now, self.slowdown[job.number]
            try:
                yield self.env.timeout(left * slowdown)
                left = 0
            except simpy.Interrupt:
                left -= (self.env.now - began) / slowdown
        del self.process[job.number]
        self.change([], [job.number])

    def change(self, started, ended):
        """Tell the network; interrupt the other jobs whose speed has changed."""
        for number, effect in self.live.change(started, ended).items():
            self.slowdown[number] = effect.slowdown
            if self.process[number] is not self.env.active_process:
                self.process[number].interrupt()


def simulate(cluster, jobs):
    """Return start and end of each job."""
    cluster.submit(jobs)
    cluster.env.run()
    return cluster.ran


def main():
    """The same jobs on both clusters."""
    patterns = ("all-to-all", "halo3d", "allreduce-ring")
    jobs = [Job(k, 20.0 * k, 4 + 7 * k % 40, 300.0, patterns[k % 3], 0.8) for k in range(60)]
    live = nc.Live("dragonfly-272", routing="minimal")
    plain = simulate(Cluster(simpy.Environment(), live.topology.n_nodes), jobs)
    contended = simulate(Contended(simpy.Environment(), live), jobs)
    for name, ran in (("without", plain), ("with", contended)):
        run_s = sum(end - start for start, end in ran.values()) / len(ran)
        last_s = max(end for _, end in ran.values())
        print(f"{name} contention: mean run {run_s:.0f} s, all done after {last_s / 60:.0f} min")


if __name__ == "__main__":
    main()
