"""Parameters that vary over a results file, as columns that a reader and a program can use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from netcosim.runs.points import flatten
from netcosim.runs.store import Store

if TYPE_CHECKING:
    import pandas as pd

Table = Mapping[str, object]


def table_frame(store: Store, name: str) -> pd.DataFrame:
    """Return a table of all points (`Store.frame`), lists of tables among its parameters as text.

    Mixes of the same patterns become one column for each key that varies
    (``communication.mix.0.message_bytes``), other mixes one column that describes each.
    Columns without any value become columns of missing numbers.
    """
    frame = store.frame(name)
    configs = {point.key: flatten(point.config) for point in store.points()}
    columns: dict[str, object] = {}
    for column in frame.columns:
        values = frame[column]
        if isinstance(column, str) and "." in column:
            found = {key: configs[key].get(column) for key in dict.fromkeys(frame["point"])}
            entries = (one for value in found.values() if isinstance(value, list) for one in value)
            if any(isinstance(entry, Mapping) for entry in entries):
                for title, cells in _in_words(column, found).items():
                    columns[title] = frame["point"].map(cells)
                continue
        columns[str(column)] = values.astype(float) if values.isna().all() else values
    import pandas as pd

    return pd.DataFrame(columns)


def cell(value: object) -> object:
    """Format a value as one cell: lists joined, ends of an interval as "0.1 to 0.5"."""
    if not isinstance(value, (list, tuple)):
        return value
    return ", ".join(str(cell(entry)) for entry in value)


def mix_label(mix: Sequence[Table]) -> str:
    """Describe a mix: each pattern with what is not at its default."""
    return " + ".join(_entry_label(entry) for entry in mix)


def _entry_label(entry: Table) -> str:
    from netcosim.config.communication import PatternSection
    from netsim.units import format_quantity

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


def _entry_cells(entry: Table) -> dict[str, object]:
    """Return cells by the dotted keys of an entry."""
    return {key: cell(_fraction(key, value)) for key, value in flatten(entry).items()}


def _fraction(key: str, value: object) -> object:
    """Format an interval, or its one number."""
    if key == "communication_fraction" and isinstance(value, (list, tuple)) and len(value) == 2:
        return value[0] if value[0] == value[1] else f"{value[0]} to {value[1]}"
    return value


def _in_words(name: str, found: Mapping[str, object]) -> dict[str, dict[str, object]]:
    """Return columns of cells by point, for one parameter that is a list of tables."""
    mixes = {
        key: [entry for entry in value if isinstance(entry, Mapping)]
        for key, value in found.items()
        if isinstance(value, list)
    }
    patterns = {tuple(entry.get("pattern") for entry in mix) for mix in mixes.values()}
    cells = {
        key: {
            f"{name}.{i}.{inner}": value
            for i, entry in enumerate(mix)
            for inner, value in _entry_cells(entry).items()
        }
        for key, mix in mixes.items()
    }
    titles = dict.fromkeys(title for mine in cells.values() for title in mine)
    varying = [
        title for title in titles if len({repr(mine.get(title)) for mine in cells.values()}) > 1
    ]
    if len(patterns) > 1 or not varying:
        return {name: {key: mix_label(mix) for key, mix in mixes.items()}}
    return {title: {key: mine.get(title) for key, mine in cells.items()} for title in varying}
