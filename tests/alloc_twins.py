"""A plain twin of every fat-tree policy, computed anew from what runs and what is held.

No twin keeps a state of its own: `Machine` tells from the running placements and the hold what is
free, so a node or link that a policy forgets to take or to give back shows at once.
"""

from __future__ import annotations

import alloc_reference as plain
import numpy as np

STEPS_A_SHAPE = 2000
"""As `alloc.fattree.lc` says: leaves that the search adds for one shape before it gives up."""
WHOLE_LINK = 0.8


class CutError(Exception):
    """A search has used up its steps."""


class Machine:
    """What runs and what is held; `free` is the rest, as `alloc_reference.State`."""

    def __init__(self, topology):
        self.topology, self.shape = topology, topology.shape
        self.running, self.held = [], []
        self.cut = False  # whether the last search of the twin stopped early

    @property
    def taken(self):
        return [*self.running, *self.held]

    def free(self, shared_need=None):
        """Free nodes and links; with a need in bytes/s, links with that much left count as free."""
        s, state = self.shape, plain.State(self.shape)
        for job in self.taken:
            links = [] if shared_need is not None else job.links.tolist()
            state.change(job.nodes.tolist(), links, True)
        if shared_need is not None:
            most = np.floor(WHOLE_LINK * self.topology.link_bandwidth_Bps)
            left = most.copy()
            for job in self.taken:
                for link in job.links.tolist():
                    left[link] -= min(job.bandwidth_Bps, most[link])
            short = np.flatnonzero(left < np.minimum(most, shared_need))
            up1 = s.n_leaves * s.w2
            for link in short.tolist():  # a cable is closed if either direction is
                if s.first_down1 <= link < s.first_up2:
                    link -= up1
                elif link >= s.first_down2:
                    link -= s.n_l2 * s.w3
                state.change([], [link], True)
        return state

    def n_free(self):
        gone = {int(v) for job in self.taken for v in job.nodes}
        return self.topology.n_nodes - len(gone)


def jigsaw(machine, N, need=None):
    return plain.jigsaw(machine.free(), N, every_set=False)


def laas(machine, N, need=None):
    return plain.laas(machine.free(), N, every_set=False)


def laas_coded(machine, N, need=None):
    return plain.laas_coded(machine.free(), N, every_set=False)


def ta(machine, N, need=None):
    """Algorithm 1 of Pollard et al., type by type."""
    s, state = machine.shape, machine.free()
    a_pod = s.m1 * s.m2
    not_T1 = [job.nodes.tolist() for job in machine.taken if len(job.nodes) > s.m1]
    wired = {v // s.m1 for nodes in not_T1 for v in nodes}
    with_T3 = {v // a_pod for nodes in not_T1 if len(nodes) > a_pod for v in nodes}
    pod_free = [state.pod_free(pod) for pod in range(s.m3)]
    leaf_free = [len(nodes) for nodes in state.nodes]

    def take(leaves):
        nodes = [leaf * s.m1 + v for leaf in leaves for v in sorted(state.nodes[leaf])]
        return (nodes[:N], []) if len(nodes) >= N else None

    fewest_first = sorted(range(s.m3), key=lambda pod: pod_free[pod])
    if s.m1 >= N:
        for pod in fewest_first:
            for leaf in sorted(state.leaves(pod), key=lambda leaf: leaf_free[leaf]):
                if leaf_free[leaf] >= N:
                    return take([leaf])
        return None

    def usable(pod):
        leaves = [leaf for leaf in state.leaves(pod) if leaf not in wired and leaf_free[leaf]]
        return sorted(leaves, key=lambda leaf: -leaf_free[leaf])

    if a_pod >= N:
        return next(filter(None, (take(usable(pod)) for pod in fewest_first)), None)
    pods = [pod for pod in range(s.m3) if pod not in with_T3 and usable(pod)]
    pods.sort(key=lambda pod: -pod_free[pod])
    return take([leaf for pod in pods for leaf in usable(pod)])


def lc(machine, N, need=None):
    return least(machine, machine.free(), N)


def lc_s(machine, N, need):
    return least(machine, machine.free(shared_need=need), N)


def least(machine, state, N):
    """Jigsaw's placement, or the first of the shapes with fewer nodes a leaf."""
    s, machine.cut = state.shape, False
    found = plain.jigsaw(state, N, every_set=False)
    if found:
        return found
    for n_L in range(s.m1 - 1, 0, -1):
        for L in range(min(s.m2, N // n_L), 0, -1):
            T, rest = divmod(N, L * n_L)
            if T + (rest > 0) > s.m3 or (T == 1 and rest == 0):
                continue
            try:
                found = Shape(state, n_L, L, T, *divmod(rest, n_L)).first()
            except CutError:
                machine.cut = True
                continue
            if found:
                return found
    return None


class Shape:
    """T pods of L leaves of n_L nodes, a pod of Lr such leaves and a leaf of nr nodes."""

    def __init__(self, state, n_L, L, T, Lr, nr):
        self.state, self.s = state, state.shape
        self.n_L, self.L, self.T, self.Lr, self.nr = n_L, L, T, Lr, nr
        self.steps = 0
        self.able = [sum(map(self.may_hold, state.leaves(pod))) for pod in range(self.s.m3)]

    def may_hold(self, leaf):
        return len(self.state.nodes[leaf]) >= self.n_L and len(self.state.up[leaf]) >= self.n_L

    def join(self, common, pod):
        """Spines that the pods so far and this one have in common, by position."""
        return {i: common[i] & self.state.spine[pod, i] for i in common}

    def sets(self, pod, k, ports, good):
        """Every k leaves of a pod with n_L positions in common: (leaves, all positions)."""
        last = (pod + 1) * self.s.m2

        def more(start, chosen, ports):
            if len(chosen) == k:
                yield chosen, ports
                return
            for leaf in range(start, last - (k - len(chosen)) + 1):
                common = ports & self.state.up[leaf]
                if len(self.state.nodes[leaf]) >= self.n_L and len(common & good) >= self.n_L:
                    self.steps += 1
                    if self.steps > STEPS_A_SHAPE:
                        raise CutError
                    yield from more(leaf + 1, [*chosen, leaf], common)

        return more(pod * self.s.m2, [], ports)

    def first(self):
        every = set(range(self.s.w2))
        if sum(able >= self.L for able in self.able) < self.T:
            return None
        spines = {i: set(range(self.s.w3)) for i in every}
        return self.equal_pods([], [], every, spines, every)

    def equal_pods(self, pods, leaves, ports, common, good):
        if len(pods) == self.T:
            return self.remainder(pods, leaves, ports, common, good)
        need = self.L if self.T > 1 else self.Lr
        for pod in range(pods[-1] + 1 if pods else 0, self.s.m3):
            if self.able[pod] < self.L:
                continue
            now = self.join(common, pod)
            enough = {i for i in now if len(now[i]) >= need}
            for group, left in self.sets(pod, self.L, ports, enough):
                found = self.equal_pods([*pods, pod], [*leaves, *group], left, now, enough)
                if found:
                    return found
        return None

    def remainder(self, pods, leaves, ports, common, good):
        n_L, Lr, nr = self.n_L, self.Lr, self.nr
        if Lr == nr == 0:
            return self.placement(pods, leaves, common, ports & good, None, [], None, set())
        for pod in range(self.s.m3):
            if pod in pods or (Lr and self.able[pod] < Lr):
                continue
            now = self.join(common, pod)
            enough = good & {i for i in now if len(now[i]) >= Lr}
            for group, left in self.sets(pod, Lr, ports, enough):
                positions = left & enough
                if nr == 0:
                    return self.placement(
                        pods, leaves + group, common, positions, pod, group, None, set()
                    )
                more = {i for i in positions if len(now[i]) > Lr}
                for leaf in self.state.leaves(pod):
                    mine = self.state.up[leaf] & more
                    if leaf not in group and len(self.state.nodes[leaf]) >= nr and len(mine) >= nr:
                        rest_up = plain.low(mine, nr)
                        assert len(positions) >= n_L
                        return self.placement(
                            pods, leaves + group, common, positions, pod, group, leaf, rest_up
                        )
        return None

    def placement(self, pods, leaves, common, positions, rest_pod, group, rest_leaf, rest_up):
        S = plain.kept(positions, rest_up, self.n_L, self.s.w2, False)
        parts = [(leaf, self.n_L, S) for leaf in leaves]
        if rest_leaf is not None:
            parts.append((rest_leaf, self.nr, rest_up))
        spines = []
        for i in S:
            k = len(group) + (i in rest_up)
            rest = set()
            if rest_pod is not None:
                rest = plain.low(common[i] & self.state.spine[rest_pod, i], k)
                spines.append((rest_pod, i, rest))
            every = plain.kept(common[i], rest, self.L if self.T > 1 else k, self.s.w3, False)
            spines += [(pod, i, every) for pod in pods]
        return plain.as_placement(self.state, parts, spines)


TWINS = {
    "ta": ta,
    "laas": laas,
    "laas-coded": laas_coded,
    "jigsaw": jigsaw,
    "lc": lc,
    "lc-s": lc_s,
}
