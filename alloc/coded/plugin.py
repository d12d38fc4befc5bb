"""The policies of this folder."""

from __future__ import annotations

from alloc.coded.jokanovic import JokanovicCoded
from alloc.coded.laas import LaasCoded
from alloc.coded.slurm_tree import SlurmTreeCoded
from alloc.coded.ta import FullestLeaf, OneTypeALeaf, WholeLeaves, WholeLeavesOverPods

PLUGIN = [
    JokanovicCoded,
    SlurmTreeCoded,
    OneTypeALeaf,
    WholeLeaves,
    FullestLeaf,
    WholeLeavesOverPods,
    LaasCoded,
]
