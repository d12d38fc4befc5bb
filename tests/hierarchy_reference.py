"""Plain second versions of the schedulers' rules: lists, loops and nothing else.

Each gets the domains of the nodes level by level (the machine first) and the free nodes, and gives
the nodes in rank order, or None.
"""

from __future__ import annotations

Rows = list[list[int]]


def _domains(row: list[int], free: set[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {d: [] for d in sorted(set(row))}
    for node in sorted(free):
        found[row[node]].append(node)
    return found


def slurm_tree(rows: Rows, free: set[int], n: int) -> list[int]:
    for row in reversed(rows):
        fits = [(len(nodes), d) for d, nodes in _domains(row, free).items() if len(nodes) >= n]
        if fits:
            inside = set(_domains(row, free)[min(fits)[1]])
            leaves = _domains(rows[-1], inside)
            order = sorted((len(nodes), d) for d, nodes in leaves.items() if nodes)
            return [node for _, d in order for node in leaves[d]][:n]
    raise AssertionError


class Switch:
    def __init__(self, number: int, above: Switch | None, free: int) -> None:
        self.number, self.above, self.free = number, above, free

    def line(self) -> list[Switch]:
        return [self, *(self.above.line() if self.above else [])]


def _distance(a: Switch, b: Switch) -> int:
    steps = 0
    while a is not b:
        assert a.above
        assert b.above
        a, b, steps = a.above, b.above, steps + 2
    return steps


def slurm_tree_coded(rows: Rows, free: set[int], n: int) -> list[int]:
    """The leaf loop of Slurm 26.11's topology/tree for jobs of whole, equal nodes."""
    above: dict[int, Switch] = {}
    for k, row in enumerate(rows):
        parent = {row[v]: rows[k - 1][v] for v in range(len(row))} if k else {}
        here = _domains(row, free)
        above = {
            d: Switch(d, above[parent[d]] if k else None, len(nodes)) for d, nodes in here.items()
        }
    leaves = _domains(rows[-1], free)
    taken: list[Switch] = []
    chosen: list[int] = []
    while len(chosen) < n:
        rest = n - len(chosen)
        best: Switch | None = None
        for leaf in above.values():
            if not leaf.free:
                continue
            if best is None:
                best = leaf
                continue
            mine = sum(_distance(leaf, t) for t in taken)
            its = sum(_distance(best, t) for t in taken)
            which, fits = _compare(leaf, best, rest)
            if (mine < its and fits) or (mine == its and which > 0):
                best = leaf
        assert best is not None
        chosen += leaves[best.number]
        taken.append(best)
        count = best.free
        for switch in best.line():
            switch.free -= count
    return sorted(chosen[:n])


def _compare(i: Switch, j: Switch, rest: int) -> tuple[int, bool]:
    for i, j in zip(i.line(), j.line(), strict=True):  # noqa: B020
        if i.free >= rest and j.free >= rest:
            return (j.free > i.free) - (j.free < i.free), True
        if i.free >= rest:
            return 1, True
        if j.free >= rest:
            return -1, False
        if i.above is j.above:
            break
    return (i.free > j.free) - (i.free < j.free), False


def slurm_block(
    row: list[int], free: set[int], n: int, base: int, enforced: list[int]
) -> list[int] | None:
    """Base block by base block, each the better of all by pairwise comparison."""
    bases = list(_domains(row, free).values())
    doublings = 0
    while (base << doublings) < n:
        doublings += 1
    width = next((1 << e for e in sorted(enforced) if e >= doublings), len(bases))
    part = max((1 << e for e in enforced if e < doublings), default=1)
    most = -(-n // (part * base))
    bound = width != part * most
    best: tuple[int, int] | None = None
    for first in range(0, len(bases), width):
        mine = bases[first : first + width]
        parts = sorted(
            (sum(map(len, mine[i : i + part])) for i in range(0, len(mine), part)), reverse=True
        )
        if sum(parts[:most] if bound else parts) >= n:
            total = sum(parts)
            if best is None or total <= best[0]:
                best = total, first
    if best is None:
        return None
    mine = range(best[1], min(best[1] + width, len(bases)))
    held = {k // part: 0 for k in mine}
    for k in mine:
        held[k // part] += len(bases[k])
    chosen: list[int] = []
    used: list[int] = []
    while len(chosen) < n:
        rest = n - len(chosen)
        pick: int | None = None
        for k in mine:
            if k in used or not bases[k]:
                continue
            if pick is None or _better_base(k, pick, rest, used, bases, held, part, bound):
                pick = k
        assert pick is not None
        used.append(pick)
        chosen += bases[pick]
    assert not bound or len({k // part for k in used}) <= most
    return sorted(chosen[:n])


def _better_base(k, pick, rest, used, bases, held, part, bound) -> bool:
    if bound and k // part != pick // part:
        begun = [any(u // part == x // part for u in used) for x in (k, pick)]
        if begun[0] != begun[1]:
            return begun[0]
        a, b = held[k // part], held[pick // part]
        if (a >= rest) != (b >= rest):
            return a >= rest
        if a != b:
            return a < b if a >= rest else a > b
    a, b = len(bases[k]), len(bases[pick])
    if (a >= rest) != (b >= rest):
        return a >= rest
    return a <= b if a >= rest else a >= b


class Domain:
    def __init__(self, number: int, capacity: int, inside: list[Domain]) -> None:
        self.number, self.capacity, self.inside = number, capacity, inside
        self.given = capacity


def kueue(
    rows: Rows, free: set[int], n: int, kind: str, level: int, profile: str, lowest: int | None
) -> list[int] | None:
    """KEP-2724's two phases for pods that fill a node.

    ``level`` counts as in ``rows``; ``lowest`` None: nodes are the lowest level.
    """
    top = min(1, len(rows) - 1) if lowest is None else min(1, lowest)
    levels = rows[top:] if lowest is None else rows[top : lowest + 1]
    tree = [[Domain(d, len(nodes), []) for d, nodes in _domains(row, free).items()]
            for row in levels]  # fmt: skip
    if lowest is None:
        tree.append([Domain(v, int(v in free), []) for v in range(len(rows[0]))])
    for above, below, row, finer in zip(
        tree, tree[1:], levels, [*levels[1:], list(range(len(rows[0])))], strict=False
    ):
        for v in range(len(row)):
            if below[finer[v]] not in above[row[v]].inside:
                above[row[v]].inside.append(below[finer[v]])
    at = len(tree) - 1 if kind == "unconstrained" else max(level - top, 0)
    found = None
    if kind == "required" and level < top:
        found = (0, None)
    while found is None:
        order = _sorted(tree[at], profile)
        fits = [d for d in order if d.capacity >= n]
        if fits:
            found = at, [min(fits, key=lambda d: (d.capacity, d.number))]
        elif kind == "required":
            return None
        elif kind == "preferred" and at > 0:
            at -= 1
        else:
            found = at, None
    at, chosen = found
    chosen = _consume(_sorted(tree[at], profile) if chosen is None else chosen, n, profile)
    for _ in range(at, len(tree) - 1):
        inside = [d for c in chosen for d in c.inside]
        chosen = _consume(_sorted(inside, profile), n, profile)
    if lowest is None:
        return sorted(d.number for d in chosen if d.given)
    nodes = _domains(rows[lowest], free)
    return sorted(v for d in chosen for v in nodes[d.number][: d.given])


def _sorted(domains: list[Domain], profile: str) -> list[Domain]:
    sign = -1 if profile == "best-fit" else 1
    return sorted(domains, key=lambda d: (sign * d.capacity, d.number))


def _consume(domains: list[Domain], n: int, profile: str) -> list[Domain]:
    result: list[Domain] = []
    for i, domain in enumerate(domains):
        if profile == "best-fit" and domain.capacity >= n:
            fits = [d for d in domains[i:] if d.capacity >= n]
            domain = min(fits, key=lambda d: d.capacity)
        domain.given = min(domain.capacity, n)
        result.append(domain)
        n -= domain.given
        if n == 0:
            return result
    raise AssertionError


def pbs(rows: Rows, free: set[int], n: int, levels: list[int], spans: bool) -> list[int] | None:
    sets = []
    for turn, level in enumerate(levels):
        whole = _domains(rows[level], set(range(len(rows[0]))))
        for d, nodes in _domains(rows[level], free).items():
            sets.append((len(whole[d]), len(nodes), turn, d, nodes))
    for _, have, _, _, nodes in sorted(sets):
        if have >= n:
            return nodes[:n]
    if spans and all(total < n for total, *_ in sets):
        return sorted(free)[:n]
    return None


def flux_locality(free: set[int], n: int) -> list[int]:
    runs: list[list[int]] = []
    for node in sorted(free):
        if runs and runs[-1][-1] == node - 1:
            runs[-1].append(node)
        else:
            runs.append([node])
    runs.sort(key=lambda run: (-len(run), run[0]))
    return sorted([v for run in runs for v in run][:n])


def slurm_linear(free: set[int], n: int) -> list[int]:
    """Set after set of consecutive nodes, as Slurm's own loop over them has it."""
    sets: list[list[int]] = []
    for node in sorted(free):
        if node - 1 in free:
            sets[-1].append(node)
        else:
            sets.append([node])
    chosen: list[int] = []
    while len(chosen) < n:
        missing = n - len(chosen)
        best: list[int] = []
        for one in sets:
            sufficient, before = len(one) >= missing, len(best) >= missing
            if (
                not best
                or (sufficient and not before)
                or (sufficient and len(one) < len(best))
                or (not sufficient and len(one) > len(best))
            ):
                best = one
        chosen += best[:missing]
        sets.remove(best)
    return sorted(chosen)


def group_spread(row: list[int], free: set[int], n: int) -> list[int]:
    groups = _domains(row, free)
    fits = [(len(nodes), d) for d, nodes in groups.items() if len(nodes) >= n]
    if fits:
        return groups[min(fits)[1]][:n]
    before = {d: len(nodes) for d, nodes in groups.items()}
    used = dict.fromkeys(groups, 0)
    chosen = []
    for _ in range(n):
        d = min((used[d], before[d], d) for d in groups if used[d] < before[d])[2]
        chosen.append(groups[d][used[d]])
        used[d] += 1
    return chosen


def _cells(rows: Rows) -> list[dict[int, set[int]]]:
    return [_nodes_of(row) for row in rows]


def _nodes_of(row: list[int]) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for node, domain in enumerate(row):
        found.setdefault(domain, set()).add(node)
    return found


def split_cells(rows: Rows, free: set[int], placed: set[int]) -> int:
    """How many entirely free cells a job takes in part."""
    every = [cell for level in _cells(rows) for cell in level.values()]
    return sum(cell <= free and bool(cell & placed) and not cell <= placed for cell in every)


def fewest_splits(rows: Rows, free: set[int], n: int) -> int | None:
    """The same of the best placement in one buddy cell, by trying all; None if there is none.

    For machines whose cells of a level are equal.
    """
    levels = _cells(rows)
    size = [len(level[0]) for level in levels]
    container = max(k for k, nodes in enumerate(size) if nodes >= n)
    found = [
        split_cells(rows, free, placed)
        for cell in levels[container].values()
        for placed in _placements(levels, container, cell, free, n)
    ]
    return min(found, default=None)


def _placements(levels, level, cell, free, n):
    """All buddy placements in a cell, but for which of equal free cells and nodes are taken."""
    if level == len(levels) - 1:
        if len(cell & free) >= n:
            yield set(sorted(cell & free)[:n])
        return
    inside = [child for child in levels[level + 1].values() if child <= cell]
    whole = [child for child in inside if child <= free]
    entire, rest = divmod(n, len(inside[0]))
    for last in inside if rest else [set()]:
        others = [child for child in whole if child is not last]
        if len(others) >= entire:
            taken = set().union(*others[:entire])
            for more in _placements(levels, level + 1, last, free, rest) if rest else [set()]:
                yield taken | more


def segment(row: list[int], free: set[int], n: int, size: int) -> list[int] | None:
    """Piece by piece into the domain with the fewest free nodes that holds it."""
    left = {d: sorted(nodes & free) for d, nodes in _nodes_of(row).items()}
    size = min(size, n)
    order = [d for _, d in sorted((len(nodes), d) for d, nodes in left.items())]
    found: list[int] = []
    for _ in range(n // size):
        fits = [d for d in order if len(left[d]) >= size]
        if not fits:
            return None
        found += left[fits[0]][:size]
        del left[fits[0]][:size]
    rest = n % size
    if rest:
        fits = sorted((len(left[d]), order.index(d), d) for d in order if len(left[d]) >= rest)
        if not fits:
            return None
        found += left[fits[0][2]][:rest]
    return found


def balanced(row: list[int], free: set[int], n: int) -> int | None:
    """The fewest domains on which n nodes can be divided with a difference of at most one."""
    room = sorted((len(nodes & free) for nodes in _nodes_of(row).values()), reverse=True)
    for k in range(1, min(n, len(room)) + 1):
        parts = [n // k + (i < n % k) for i in range(k)]
        if all(part <= have for part, have in zip(parts, room, strict=False)):
            return k
    return None
