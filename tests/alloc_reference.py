"""LaaS and Jigsaw written down plainly: sets, recursion, nothing clever."""

from __future__ import annotations

from itertools import combinations


class State:
    """Free nodes and links as sets: nodes[leaf], up[leaf], spine[pod, position]."""

    def __init__(self, shape, nodes=None, up=None, spine=None):
        s = self.shape = shape
        self.nodes = nodes or [set(range(s.m1)) for _ in range(s.n_leaves)]
        self.up = up or [set(range(s.w2)) for _ in range(s.n_leaves)]
        self.spine = spine or {(p, i): set(range(s.w3)) for p in range(s.m3) for i in range(s.w2)}

    def leaves(self, pod):
        return range(pod * self.shape.m2, (pod + 1) * self.shape.m2)

    def pod_free(self, pod):
        return sum(len(self.nodes[leaf]) for leaf in self.leaves(pod))

    def whole(self, pod):
        s = self.shape
        return [
            leaf
            for leaf in self.leaves(pod)
            if len(self.nodes[leaf]) == s.m1 and len(self.up[leaf]) == s.w2
        ]

    def change(self, nodes, links, take):
        s = self.shape
        for v in nodes:
            (self.nodes[v // s.m1].discard if take else self.nodes[v // s.m1].add)(v % s.m1)
        for k in links:
            if s.first_up1 <= k < s.first_down1:
                leaf, i = divmod(k - s.first_up1, s.w2)
                (self.up[leaf].discard if take else self.up[leaf].add)(i)
            elif s.first_up2 <= k < s.first_down2:
                l2, j = divmod(k - s.first_up2, s.w3)
                where = self.spine[divmod(l2, s.w2)]
                (where.discard if take else where.add)(j)


def low(items, k):
    return set(sorted(items)[:k])


def kept(mask, rest, need, width, coded):
    """The positions (or spines) that equal leaves (or pods) get; as LaaS is coded: too many.

    The program drops what is too much from the top, and a position that was never there
    counts as dropped.
    """
    if not coded or need == 0:
        return rest | low(mask - rest, need - len(rest))
    may_go = [i for i in reversed(range(width)) if i not in rest]
    return mask - set(may_go[: len(mask) - need])


def as_placement(state, leaves, spines):
    """(leaf, count, positions) and (pod, position, spines) as lists of nodes and of links."""
    s = state.shape
    nodes, links = [], set()
    for leaf, count, positions in leaves:
        nodes += [leaf * s.m1 + v for v in sorted(state.nodes[leaf])[:count]]
        for i in positions:
            links |= {s.leaf_up(leaf, i), s.leaf_down(leaf, i)}
    for pod, i, spine_set in spines:
        for j in spine_set:
            links |= {s.l2_up(pod, i, j), s.l2_down(pod, i, j)}
    return nodes, sorted(links)


def two_level(state, N, give_up, coded=False):
    """First choice within a pod; LaaS with give_up, Algorithm 1's FIND_L2 without."""
    s = state.shape
    pods = sorted(range(s.m3), key=lambda p: (state.pod_free(p), p))
    for A in range(min(N, s.m1), 0, -1):
        R, B = divmod(N, A)
        need = A if R > 1 else B
        if R + (B > 0) > s.m2:
            continue
        for pod in pods:
            leaves = list(state.leaves(pod))

            def finish(chosen, ports, A=A, R=R, B=B, need=need, leaves=leaves):
                if B == 0:
                    all_of = kept(ports, set(), need, s.w2, coded)
                    return [(leaf, A, all_of) for leaf in chosen]
                for r in leaves:
                    common = ports & state.up[r]
                    if r not in chosen and len(state.nodes[r]) >= B and len(common) >= B:
                        rest = low(common, B)
                        all_of = kept(ports, rest, need, s.w2, coded)
                        return [*((leaf, A, all_of) for leaf in chosen), (r, B, rest)]
                return None

            def search(start, chosen, ports, A=A, R=R, need=need, leaves=leaves, finish=finish):
                for k in range(start, len(leaves)):
                    leaf = leaves[k]
                    common = ports & state.up[leaf]
                    if len(state.nodes[leaf]) < A or len(common) < need:
                        continue
                    if len(chosen) + 1 == R:
                        found = finish([*chosen, leaf], common)
                        if found or give_up:
                            return found
                    else:
                        found = search(k + 1, [*chosen, leaf], common)
                        if found:
                            return found
                return None

            found = search(0, [], set(range(s.w2)))
            if found:
                return as_placement(state, found, [])
    return None


def spread_spines(state, T, L, trees, common, rest_tree, rest_whole, rest_up, coded):
    """Links to spines when all is chosen; the remainder's are chosen first."""
    spines = []
    if T == 1 and rest_tree is None:
        return spines
    for i in range(state.shape.w2):
        k = len(rest_whole) + (i in rest_up)
        rest = low(common[i] & state.spine[rest_tree, i], k) if rest_tree is not None else set()
        all_of = kept(common[i], rest, L if T > 1 else k, state.shape.w3, coded)
        spines += [(t, i, all_of) for t in trees]
        if rest_tree is not None:
            spines.append((rest_tree, i, rest))
    return spines


def three_level(state, N, give_up, coded=False, every_set=True):
    """Algorithm 1's second half.

    ``every_set``: all sets of whole leaves of the equal pods are spelled out. On larger trees
    the first set of each pod stands for all, as whole leaves have all their links.
    """
    s = state.shape
    sets = combinations if every_set else lambda leaves, k: [leaves[:k]][: len(leaves) >= k]
    every = set(range(s.w2))
    for L in range(min(s.m2, N // s.m1), 0, -1):
        T, rest = divmod(N, L * s.m1)
        Lr, nr = divmod(rest, s.m1)
        need = L if T > 1 else Lr
        if T + (rest > 0) > s.m3:
            continue

        def remainder(trees, common, Lr=Lr, nr=nr):
            for t in range(s.m3):
                if t in trees:
                    continue
                for group in combinations(state.whole(t), Lr):
                    both = {i: common[i] & state.spine[t, i] for i in every}
                    if any(len(both[i]) < Lr for i in every):
                        continue
                    if nr == 0:
                        return t, group, None, set()
                    good = {i for i in every if len(both[i]) > Lr}
                    for leaf in state.leaves(t):
                        ups = state.up[leaf] & good
                        if leaf not in group and len(state.nodes[leaf]) >= nr and len(ups) >= nr:
                            return t, group, leaf, low(ups, nr)
            return None

        def search(start, chosen, common, L=L, T=T, rest=rest, need=need, remainder=remainder):
            for t in range(start, s.m3):
                for group in sets(state.whole(t), L):
                    now = {i: common[i] & state.spine[t, i] for i in every}
                    if any(len(now[i]) < need for i in every):
                        continue
                    more = [*chosen, (t, group)]
                    if len(more) < T:
                        found = search(t + 1, more, now)
                        if found:
                            return found
                        continue
                    trees = [tree for tree, _ in more]
                    last = remainder(trees, now) if rest else (None, (), None, set())
                    if last:
                        return more, now, last
                    if give_up:
                        return None
            return None

        found = search(0, [], {i: set(range(s.w3)) for i in every})
        if found:
            chosen, common, (rest_tree, rest_whole, rest_leaf, rest_up) = found
            lone = T == 1 and rest == 0 and L == 1 and not coded
            leaves = [(x, s.m1, set() if lone else every) for _, group in chosen for x in group]
            leaves += [(x, s.m1, every) for x in rest_whole]
            if rest_leaf is not None:
                leaves.append((rest_leaf, nr, rest_up))
            trees = [tree for tree, _ in chosen]
            spines = spread_spines(
                state, T, L, trees, common, rest_tree, rest_whole, rest_up, coded
            )
            return as_placement(state, leaves, spines)
    return None


def jigsaw(state, N, every_set=True):
    s = state.shape
    found = two_level(state, N, False) if s.m1 * s.m2 >= N else None
    return found or three_level(state, N, False, every_set=every_set)


def laas(state, N, coded=False, every_set=True):
    s = state.shape
    found = two_level(state, N, True, coded) if s.m1 * s.m2 > N else None
    return found or three_level(state, -(-N // s.m1) * s.m1, True, coded, every_set)


def laas_coded(state, N, every_set=True):
    return laas(state, N, True, every_set)


def splits(N, s):
    """All (n_L, L, T, L^r, n^r) of the conditions; one pod is T = 1 without a remainder pod."""
    for n_L in range(1, min(N, s.m1) + 1):
        for L in range(1, min(s.m2, N // n_L) + 1):
            T, rest = divmod(N, n_L * L)
            Lr, nr = divmod(rest, n_L)
            if T + (rest > 0) <= s.m3:
                yield n_L, L, T, Lr, nr


def lc_exists(state, N):
    """Whether any placement keeps the conditions (links of no use left out): all are tried."""
    s = state.shape
    if two_level(state, N, False) and s.m1 * s.m2 >= N:
        return True
    for n_L, L, T, Lr, nr in splits(N, s):
        if T == 1 and Lr == nr == 0:
            continue
        for S in map(set, combinations(range(s.w2), n_L)):
            fit = {
                pod: [
                    x for x in state.leaves(pod) if len(state.nodes[x]) >= n_L and state.up[x] >= S
                ]
                for pod in range(s.m3)
            }
            for trees in combinations([p for p in fit if len(fit[p]) >= L], T):
                common = {i: set.intersection(*(state.spine[t, i] for t in trees)) for i in S}
                if T > 1 and any(len(common[i]) < L for i in S):
                    continue
                if Lr == nr == 0 or any(
                    rest_exists(state, r, fit[r], S, common, Lr, nr)
                    for r in range(s.m3)
                    if r not in trees
                ):
                    return True
    return False


def rest_exists(state, r, fit, S, common, Lr, nr):
    for group in combinations(fit, Lr):
        both = {i: common[i] & state.spine[r, i] for i in S}
        if any(len(both[i]) < Lr for i in S):
            continue
        good = {i for i in S if len(both[i]) > Lr}
        if nr == 0 or any(
            leaf not in group and len(state.nodes[leaf]) >= nr and len(state.up[leaf] & good) >= nr
            for leaf in state.leaves(r)
        ):
            return True
    return False
