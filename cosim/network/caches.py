"""Bounded caches."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


def remember(known: dict[Key, Value], key: Key, value: Value, most: int) -> Value:
    """Insert a value into a dictionary of at most ``most`` entries, removing the oldest one."""
    known[key] = value
    if len(known) > most:
        del known[next(iter(known))]
    return value
