"""Parts and values of a results table by its keys, and ratios to a baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def groups(frame: pd.DataFrame, *keys: str) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield the parts of a frame with equal keys, in order of first appearance."""
    for values, part in frame.groupby(list(keys), sort=False):
        yield (values if isinstance(values, tuple) else (values,)), part


def cells(frame: pd.DataFrame, *keys: str) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield `groups` with the common values of each part's rows by the keys' names."""
    for values, part in groups(frame, *keys):
        yield dict(zip(keys, values, strict=True)), part


def first_seen(frame: pd.DataFrame, column: str) -> list[Any]:
    """Return a column's values in order of first appearance."""
    return list(dict.fromkeys(frame[column]))


def lookup(frame: pd.DataFrame, keys: Sequence[str], value: str) -> dict[Any, float]:
    """Map one key, or a tuple of several, to the values of a column."""
    index: Any = frame[keys[0]] if len(keys) == 1 else zip(*(frame[k] for k in keys), strict=True)
    return dict(zip(index, frame[value].astype(float), strict=True))


def against_baseline(
    runs: pd.DataFrame,
    columns: Sequence[str],
    *,
    baseline: str = "baseline",
    of: Sequence[str] = ("log",),
) -> pd.DataFrame:
    """Return each run's columns over the same log's baseline, as ``<column>_ratio``.

    The baseline has one run for each value of ``of`` (it may have no speed-up scenario); every
    other run is compared with it, and those without one are left out.
    """
    keys = list(of)
    base = runs[runs["policy"] == baseline].set_index(keys)[list(columns)].add_prefix("base_")
    rest = runs[runs["policy"] != baseline].join(base, on=keys, how="inner")
    for column in columns:
        rest[f"{column}_ratio"] = rest[column] / rest.pop(f"base_{column}")
    return rest.reset_index(drop=True)
