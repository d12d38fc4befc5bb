"""Tables of results as data frames."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from netcosim.runs.points import flatten
from netsim.units import format_quantity, title_and_unit

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

    Each point is given by its key, its config and the table as lists by column. Columns without any
    value become columns of missing numbers.
    """
    import pandas as pd

    parameters = parameters_that_vary([config for _, config, _ in points])
    frames = []
    for (key, _, columns), own in zip(points, parameters, strict=True):
        length = len(next(iter(columns.values()), []))
        lead = {name: [value] * length for name, value in own.items()}
        cells = {name: [cell(v) for v in values] for name, values in columns.items()}
        frames.append(pd.DataFrame({"point": [key] * length, **lead, **cells}))
    filled = [frame for frame in frames if len(frame)]
    joined = pd.concat(filled, ignore_index=True) if filled else frames[0]
    missing = [name for name in joined.columns if joined[name].isna().all()]
    return with_units(joined.astype(dict.fromkeys(missing, float)))


def parameters_that_vary(configs: Sequence[Mapping[str, object]]) -> list[dict[str, object]]:
    """Return the parameters of each config that vary over all of them, by dotted keys.

    Mixes of the same patterns have a cell for each key that varies
    (``communication.mix.0.message_bytes``), others one that describes each.
    """
    flat = [flatten(config) for config in configs]
    found = [dict[str, object]() for _ in flat]
    for name in dict.fromkeys(name for config in flat for name in config):
        values = [config.get(name) for config in flat]
        if len({json.dumps(value) for value in values}) == 1:
            continue
        entries = [entry for value in values if isinstance(value, list) for entry in value]
        # a command has a table, its program, among texts
        of_tables = bool(entries) and all(isinstance(entry, Mapping) for entry in entries)
        columns = _mix_columns(name, values) if of_tables else {name: values}
        for title, column in columns.items():
            for own, value in zip(found, column, strict=True):
                own[title] = cell(value)
    return found


def _mix_columns(name: str, values: Sequence[object]) -> dict[str, list[object]]:
    """Return the columns of one parameter that is a list of tables."""
    mixes = [value if isinstance(value, list) else None for value in values]
    rows = [
        {
            f"{name}.{i}.{inner}": shown
            for i, entry in enumerate(mix or ())
            for inner, shown in _entry_cells(entry).items()
        }
        for mix in mixes
    ]
    titles = dict.fromkeys(title for row in rows for title in row)
    varying = [title for title in titles if len({repr(row.get(title)) for row in rows}) > 1]
    patterns = {tuple(entry.get("pattern") for entry in mix) for mix in mixes if mix is not None}
    if len(patterns) > 1 or not varying:
        return {name: [None if mix is None else mix_label(mix) for mix in mixes]}
    return {title: [row.get(title) for row in rows] for title in varying}


def mix_label(mix: Sequence[Mapping[str, object]]) -> str:
    """Describe a mix: each pattern with what is not at its default."""
    return " + ".join(map(_entry_label, mix))


def _entry_label(entry: Mapping[str, object]) -> str:
    from netcosim.config.communication import PatternSection

    parts = []
    for key, value in _entry_cells(entry).items():
        field = PatternSection.model_fields.get(key)
        if key == "pattern" or (field is not None and value == cell(_fraction(key, field.default))):
            continue
        if key == "message_bytes" and isinstance(value, (int, float)):
            parts.append(format_quantity(value, "bytes"))
        else:
            shown = f"{value:g}" if isinstance(value, float) else value
            parts.append(f"{key.removeprefix('parameters.')} {shown}")
    name = str(entry.get("pattern", "table"))
    return f"{name} ({', '.join(parts)})" if parts else name


def _entry_cells(entry: Mapping[str, object]) -> dict[str, object]:
    """Return cells by the dotted keys of an entry."""
    return {key: cell(_fraction(key, value)) for key, value in flatten(entry).items()}


def _fraction(key: str, value: object) -> object:
    """Format an interval, or its one number."""
    if key == "communication_fraction" and isinstance(value, (list, tuple)) and len(value) == 2:
        return value[0] if value[0] == value[1] else f"{value[0]} to {value[1]}"
    return value


def cell(value: object) -> object:
    """Format a list in one table cell: its only entry, or its entries joined; a table as JSON."""
    if isinstance(value, dict):
        return json.dumps(value, sort_keys=True)
    if not isinstance(value, (list, tuple)):
        return value
    return cell(value[0]) if len(value) == 1 else ", ".join(str(cell(entry)) for entry in value)
