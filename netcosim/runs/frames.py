"""Tables of results, and their parts in the order in which they came."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from netcosim.runs.points import flatten
from netsim.units import title_and_unit

if TYPE_CHECKING:
    import pandas as pd

    from netcosim.runs.store import Rows


def with_units(frame: pd.DataFrame) -> pd.DataFrame:
    """Put the unit of each column that has one into ``frame.attrs["units"]``; return the frame."""
    units = {str(column): title_and_unit(str(column))[1] for column in frame.columns}
    frame.attrs["units"] = {column: unit for column, unit in units.items() if unit}
    return frame


def frames_of(tables: Mapping[str, Rows]) -> dict[str, pd.DataFrame]:
    """Return tables as data frames with units."""
    import pandas as pd

    return {name: with_units(pd.DataFrame(rows)) for name, rows in tables.items()}


def join_points(points: Sequence[tuple[str, Mapping[str, Any], Mapping[str, Any]]]) -> pd.DataFrame:
    """Return one table of several points: parameters that vary, then the table's columns.

    Each point is given by its key, its config and the table as lists by column.
    """
    import pandas as pd

    flat = [flatten(config) for _, config, _ in points]
    names = varying(flat)
    frames = []
    for (key, _, columns), parameters in zip(points, flat, strict=True):
        length = len(next(iter(columns.values()), []))
        lead = {name: [cell(parameters.get(name))] * length for name in names}
        cells = {name: [cell(v) for v in values] for name, values in columns.items()}
        frames.append(pd.DataFrame({"point": [key] * length, **lead, **cells}))
    filled = [frame for frame in frames if len(frame)]
    return with_units(pd.concat(filled, ignore_index=True) if filled else frames[0])


def varying(flat: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the dotted keys whose values differ between configs, in order of appearance."""
    names = list(dict.fromkeys(name for config in flat for name in config))
    return [name for name in names if len({json.dumps(config.get(name)) for config in flat}) > 1]


def cell(value: object) -> object:
    """Format a list in one table cell: its only entry, or its entries joined; a table as JSON."""
    if isinstance(value, dict):
        return json.dumps(value, sort_keys=True)
    if not isinstance(value, list):
        return value
    return cell(value[0]) if len(value) == 1 else ", ".join(str(entry) for entry in value)


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
