"""Chains of reads, each of which waits for the one before."""

from __future__ import annotations

from numba import njit


@njit(cache=True)
def walk(following, places, steps):  # type: ignore[no-untyped-def]
    """Follow each chain for ``steps`` steps; return the sum of where they end."""
    places = places.copy()
    for _ in range(steps):
        for c in range(len(places)):
            places[c] = following[places[c]]
    return places.sum()
