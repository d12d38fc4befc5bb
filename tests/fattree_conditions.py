"""The conditions under which a fat-tree partition has the bandwidth of the whole tree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from alloc.policy import Placement
from netsim.errors import NetcosimError
from netsim.topology import Topology


class Partition(NamedTuple):
    """A placement, sorted by leaf and pod.

    Attributes
    ----------
    nodes : dict of int to int
        Leaf to the number of its nodes in the placement.
    up : dict of int to set of int
        Leaf to the L2 positions of its cables.
    spines : dict of (pod, position) to set of int
    """

    nodes: dict[int, int]
    up: dict[int, set[int]]
    spines: dict[tuple[int, int], set[int]]


def _partition(topology: Topology, placement: Placement) -> tuple[Partition, list[str]]:
    s, wrong = topology.shape, list[str]()
    leaves, counts = np.unique(s.leaf_of(placement.nodes), return_counts=True)
    part = Partition(dict(zip(leaves.tolist(), counts.tolist(), strict=True)), {}, {})
    links = [int(link) for link in placement.links]
    if len(set(links)) != len(links) or len(np.unique(placement.nodes)) != len(placement.nodes):
        wrong.append("a node or link stands in the placement twice")
    present = set(links)
    for link in links:
        if s.first_up1 <= link < s.first_down1:
            leaf, position = divmod(link - s.first_up1, s.w2)
            part.up.setdefault(leaf, set()).add(position)
            other = s.leaf_down(leaf, position)
        elif s.first_down1 <= link < s.first_up2:
            other = link - s.first_down1 + s.first_up1
        elif s.first_up2 <= link < s.first_down2:
            l2, spine = divmod(link - s.first_up2, s.w3)
            pod, position = divmod(l2, s.w2)
            part.spines.setdefault((pod, position), set()).add(spine)
            other = s.l2_down(pod, position, spine)
        elif s.first_down2 <= link < topology.n_links:
            other = link - s.first_down2 + s.first_up2
        else:
            wrong.append(f"link {link} is no router-to-router link")
            continue
        if other not in present:
            wrong.append(f"link {link} without its other direction {other}")
    return part, wrong


def violated_conditions(topology: Topology, placement: Placement) -> list[str]:
    """What keeps a placement from being a full-bandwidth partition; empty if nothing does.

    The six conditions of Smith and Lowenthal, HPDC 2021, 3.2.2, with one link a node at
    every leaf and L2 switch. One relaxation, which costs no bandwidth: on a single leaf no
    link is needed, and where only one leaf (or pod) is full and the rest is the remainder,
    the full one may have only as many up-links (or spines) as the remainder.

    Parameters
    ----------
    topology : Topology
        A fat-tree.
    placement : Placement

    Returns
    -------
    list of str
        Each begins with the number of the condition, or with "links".

    Raises
    ------
    NetcosimError
        Not a fat-tree.
    """
    if topology.family != "fattree":
        raise NetcosimError(f"the conditions are for a fattree; {topology.name} is none")
    m2 = topology.shape.m2
    part, problems = _partition(topology, placement)
    wrong = [f"links: {text}" for text in problems]
    pods: dict[int, list[int]] = {}
    for leaf in part.nodes:
        pods.setdefault(leaf // m2, []).append(leaf)
    per_pod = {pod: sum(part.nodes[leaf] for leaf in leaves) for pod, leaves in pods.items()}
    n_T, n_L = max(per_pod.values()), max(part.nodes.values())
    rest_pods = [pod for pod, n in per_pod.items() if n < n_T]
    rest_leaves = [leaf for leaf, n in part.nodes.items() if n < n_L]
    if len(rest_pods) > 1:
        wrong.append(f"1: pods {rest_pods} all have fewer than {n_T} nodes")
    if len(rest_leaves) > 1:
        wrong.append(f"2: leaves {rest_leaves} all have fewer than {n_L} nodes")
    elif rest_leaves and len(pods) > 1 and rest_leaves[0] // m2 not in rest_pods:
        wrong.append(f"3: the remainder leaf {rest_leaves[0]} is not in the remainder pod")
    stray = (set(part.up) - set(part.nodes)) | {pod for pod, _ in part.spines if pod not in pods}
    if stray:
        wrong.append(f"links: at leaves or pods {sorted(stray)} where the job has no node")
    if wrong:
        return wrong
    rest_leaf = rest_leaves[0] if rest_leaves else None
    return _check_links(part, pods, n_L, rest_leaf, rest_pods[0] if rest_pods else None)


def _check_links(
    part: Partition, pods: dict[int, list[int]], n_L: int, rest_leaf: int | None, rest: int | None
) -> list[str]:
    """Conditions 4 to 6, on a placement whose nodes are in order."""
    wrong: list[str] = []
    full = [leaf for leaf in part.nodes if leaf != rest_leaf]
    n_Lr = part.nodes[rest_leaf] if rest_leaf is not None else 0
    S = part.up.get(full[0], set())
    for leaf in full[1:]:
        if part.up.get(leaf, set()) != S:
            same = "4" if leaf in pods[next(p for p, v in pods.items() if full[0] in v)] else "5"
            wrong.append(f"{same}: leaves {full[0]} and {leaf} have different L2 positions")
    sizes = {n_L}
    if len(full) == 1:
        sizes.add(n_Lr)  # no other full leaf: 0 on a single leaf
    if len(S) not in sizes:
        wrong.append(f"4: {len(S)} up-links for {n_L} nodes on leaf {full[0]}")
    S_r = part.up.get(rest_leaf, set()) if rest_leaf is not None else set()
    if len(S_r) != n_Lr or not S_r <= S:
        wrong.append(f"4: remainder leaf {rest_leaf}: positions {S_r}, {n_Lr} nodes, S = {S}")
    if len(pods) == 1:
        if part.spines:
            wrong.append("6: spines for a job in one pod")
        return wrong
    full_pods = [pod for pod in pods if pod != rest]
    L = len(pods[full_pods[0]])
    for position in sorted(S | {i for _, i in part.spines}):
        first = part.spines.get((full_pods[0], position), set())
        L_r = 0
        if rest is not None:
            L_r = len([leaf for leaf in pods[rest] if leaf != rest_leaf]) + (position in S_r)
            of_rest = part.spines.get((rest, position), set())
            if len(of_rest) != L_r or not of_rest <= first:
                wrong.append(
                    f"6: L2 {position} of remainder pod {rest}: spines {of_rest}, "
                    f"{L_r} leaves below, the others have {first}"
                )
        for pod in full_pods[1:]:
            if part.spines.get((pod, position), set()) != first:
                wrong.append(f"6: L2 {position} of pods {full_pods[0]} and {pod}: other spines")
        enough = {L} if len(full_pods) > 1 else {L, L_r}
        if position not in S or len(first) not in enough:
            wrong.append(f"6: L2 {position}: {len(first)} spines for {L} leaves, S = {S}")
    return wrong
