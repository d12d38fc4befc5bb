"""Readings of TA other than ours (`alloc.fattree.ta_readings`), by name."""

from __future__ import annotations

from alloc.fattree.ta import TopologyAware
from alloc.fattree.ta_readings import FullestLeaf, OneTypeALeaf, WholeLeaves, WholeLeavesOverPods

VARIANTS = tuple(p.name for p in (OneTypeALeaf, WholeLeaves, FullestLeaf, WholeLeavesOverPods))


def base_policy(name: str) -> str:
    """The policy that a variant is a reading of; other names as they are."""
    return TopologyAware.name if name in VARIANTS else name
