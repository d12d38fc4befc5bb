"""What becomes of a point: its tables and what else is kept of it, or an error."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from netcosim.runs.points import plain
from netsim.errors import NetcosimError
from queuesim.result import Rows


@dataclass(frozen=True)
class PointResult:
    """What a point function may give instead of tables alone."""

    tables: Mapping[str, Rows]
    kept: Mapping[str, bytes]
    """Archives by name (`netcosim.archive.serialize`)."""


@dataclass(frozen=True)
class Outcome:
    """What became of one point."""

    tables: dict[str, str] | None
    """Encoded tables; None for a point that failed."""
    error: str | None
    """One line."""
    seconds: float
    kept: Mapping[str, bytes] = field(default_factory=dict)
    """As in `PointResult`."""


def encode_tables(tables: Mapping[str, Rows]) -> dict[str, str]:
    """Encode a result's tables as text, column by column, where the point was computed.

    Columns are in the order in which they first appear; a missing value is null. A nan
    stays a nan.
    """
    encoded: dict[str, str] = {}
    if not isinstance(tables, Mapping):
        raise NetcosimError(f"a point's result must be a mapping of tables, got {type(tables)}")
    for name, rows in tables.items():
        columns: dict[str, list[object]] = {}
        for i, row in enumerate(rows):
            if not isinstance(row, Mapping):
                raise NetcosimError(
                    f"table {name!r}: row {i} is a {type(row).__name__}, no mapping"
                )
            for column, value in row.items():
                values = columns.setdefault(column, [])
                values.extend([None] * (i - len(values)))
                values.append(plain(value, f"table {name!r}, column {column!r}"))
        for values in columns.values():
            values.extend([None] * (len(rows) - len(values)))
        encoded[name] = json.dumps(columns, separators=(",", ":"))
    return encoded
