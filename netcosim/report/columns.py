"""Columns in a page: whole numbers as small as they go, gzipped, as base64 text.

A part is the length of its head (4 bytes, little-endian), the head as JSON, then the columns one
after the other. ``assets/data.js`` reads it.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.integer] | NDArray[np.floating] | NDArray[np.bool_]

WHOLE = (np.uint8, np.int8, np.uint16, np.int16, np.int32)
"""Kinds that whole numbers are kept in, the smallest first."""

LEVEL = 6
"""Of gzip: 9 takes five times as long for a few per cent."""


def packed(facts: Mapping[str, object], columns: Mapping[str, Column]) -> str:
    """Base64 text of facts and columns.

    Parameters
    ----------
    facts : mapping
        Names and numbers, as JSON has them.
    columns : mapping
        Of any length each. Floats are kept to 7 digits, whole numbers exactly up to 2^53.
    """
    table, parts = [], []
    for name, column in columns.items():
        kept, steps = _smallest(column.ravel())
        table.append([name, kept.dtype.str[1:], len(kept), steps])
        parts.append(kept.astype(kept.dtype.newbyteorder("<")).tobytes())
    head = json.dumps({**facts, "columns": table}, ensure_ascii=True, allow_nan=False).encode()
    body = b"".join([len(head).to_bytes(4, "little"), head, *parts])
    return base64.b64encode(gzip.compress(body, LEVEL, mtime=0)).decode("ascii")


def _smallest(column: Column) -> tuple[NDArray[np.number], bool]:
    """The column in the smallest kind that holds it, and whether it has steps, not values."""
    if column.dtype.kind == "f":
        return column.astype(np.float32), False
    whole = column.astype(np.int64)
    steps = np.diff(whole, prepend=0)
    # what never falls is small as steps, and packs far better
    if len(whole) and whole[0] >= 0 and steps.min() >= 0:
        return _fitting(steps), True
    return _fitting(whole), False


def _fitting(whole: NDArray[np.int64]) -> NDArray[np.number]:
    low, high = int(whole.min(initial=0)), int(whole.max(initial=0))
    for kind in WHOLE:
        limits = np.iinfo(kind)
        if limits.min <= low and high <= limits.max:
            return whole.astype(kind)
    return whole.astype(np.float64)
