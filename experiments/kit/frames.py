"""Values of a results table by its keys, and ratios to a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


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
