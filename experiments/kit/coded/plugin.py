"""The policies of this folder."""

from __future__ import annotations

from experiments.kit.coded.jokanovic import JokanovicCoded
from experiments.kit.coded.laas import LaasCoded
from experiments.kit.coded.ta import FullestLeaf, OneTypeALeaf, WholeLeaves, WholeLeavesOverPods

PLUGIN = [
    JokanovicCoded,
    OneTypeALeaf,
    WholeLeaves,
    FullestLeaf,
    WholeLeavesOverPods,
    LaasCoded,
]
