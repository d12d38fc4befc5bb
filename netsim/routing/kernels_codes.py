"""Codes of the routings in the kernels, and the rule that each of them follows."""

from __future__ import annotations

from enum import IntEnum, auto, unique

import numpy as np


@unique
class RoutingCode(IntEnum):
    """Which routing a packet follows."""

    SHORTEST_PATH = 1
    BY_DESTINATION = 2
    LEAST_LOADED = 3
    WEIGHTED = 4
    EQUAL_COST = 5
    MINIMAL = 10
    VALIANT = 11
    UGAL_L = 12
    UGAL_G = 13
    PAR = 14
    VALIANT_LOCAL = 15
    ADAPTIVE_LOCAL = 16
    MERLIN_VALIANT = 17
    MERLIN_ADAPTIVE = 18
    MERLIN_UGAL = 19
    D_MOD_K = 20
    PARTITION = 21
    ADAPTIVE = 22
    RANDOM_UP = 23
    TWO_CHOICE = 24
    DIMENSION_ORDER = 30
    MINIMAL_ADAPTIVE = 31
    PLUS_MINIMAL = 40
    PLUS_VALIANT = 41
    PLUS_UGAL_L = 42
    PLUS_UGAL_G = 43
    VALIANT_NODE = 50
    UGAL_NODE = 51


@unique
class RoutingRule(IntEnum):
    """Which kernel routes a packet: `netsim.routing.kernels.route` has one branch for each."""

    NEXT_LINK = auto()
    TABLES = auto()
    DECIDES_ONCE = auto()
    DECIDES_AGAIN = auto()
    MERLIN = auto()
    BY_NODE = auto()
    FAT_TREE = auto()
    TORUS = auto()
    PLUS = auto()


CODES: dict[RoutingRule, tuple[RoutingCode, ...]] = {
    RoutingRule.NEXT_LINK: (RoutingCode.SHORTEST_PATH,),
    RoutingRule.TABLES: (
        RoutingCode.BY_DESTINATION,
        RoutingCode.LEAST_LOADED,
        RoutingCode.WEIGHTED,
        RoutingCode.EQUAL_COST,
    ),
    RoutingRule.DECIDES_ONCE: (
        RoutingCode.MINIMAL,
        RoutingCode.VALIANT,
        RoutingCode.UGAL_L,
        RoutingCode.UGAL_G,
    ),
    RoutingRule.DECIDES_AGAIN: (
        RoutingCode.PAR,
        RoutingCode.VALIANT_LOCAL,
        RoutingCode.ADAPTIVE_LOCAL,
        RoutingCode.MERLIN_VALIANT,
        RoutingCode.MERLIN_ADAPTIVE,
    ),
    RoutingRule.MERLIN: (RoutingCode.MERLIN_UGAL,),
    RoutingRule.BY_NODE: (RoutingCode.VALIANT_NODE, RoutingCode.UGAL_NODE),
    RoutingRule.FAT_TREE: (
        RoutingCode.D_MOD_K,
        RoutingCode.PARTITION,
        RoutingCode.ADAPTIVE,
        RoutingCode.RANDOM_UP,
        RoutingCode.TWO_CHOICE,
    ),
    RoutingRule.TORUS: (RoutingCode.DIMENSION_ORDER, RoutingCode.MINIMAL_ADAPTIVE),
    RoutingRule.PLUS: (
        RoutingCode.PLUS_MINIMAL,
        RoutingCode.PLUS_VALIANT,
        RoutingCode.PLUS_UGAL_L,
        RoutingCode.PLUS_UGAL_G,
    ),
}
"""Codes by rule. One that is in none is refused where tables are made."""

RULES = {code: rule for rule, codes in CODES.items() for code in codes}
"""Rules by code."""

RULE_OF = np.zeros(max(RoutingCode) + 1, dtype=np.int64)
"""The same for kernels, 0 for none."""
RULE_OF[list(RULES)] = list(RULES.values())


def plain_codes(rule: RoutingRule) -> list[int]:
    """Return the codes of a rule as plain integers, for compiled code."""
    return [int(code) for code in CODES[rule]]
