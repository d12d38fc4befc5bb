"""Codes of the routings in the kernels."""

from __future__ import annotations

from enum import IntEnum, unique


@unique
class RoutingCode(IntEnum):
    """Which routing kernel a packet takes; codes of one family follow each other."""

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


def codes_between(first: RoutingCode, last: RoutingCode) -> list[int]:
    """Return the codes from ``first`` to ``last`` as plain integers, for compiled code."""
    return [int(code) for code in RoutingCode if first <= code <= last]
