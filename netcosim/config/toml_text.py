"""Writing TOML: the content of a config as text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from netsim.units import Quantity, format_quantity


def toml_text(content: Mapping[str, Any]) -> str:
    """Return a content of tables as TOML."""
    return "\n".join(_toml_lines(content, ())) + "\n"


def _toml_lines(table: Mapping[str, Any], path: Sequence[str]) -> list[str]:
    plain = {key: value for key, value in table.items() if not _is_table(value)}
    lines = [f"{_key(key)} = {toml_value(value)}" for key, value in plain.items()]
    for key, value in table.items():
        name = ".".join(map(_key, [*path, key]))
        if isinstance(value, Mapping):
            lines += ["", f"[{name}]", *_toml_lines(value, [*path, key])]
        elif _is_table(value):
            for entry in value:
                lines += ["", f"[[{name}]]", *_toml_lines(entry, [*path, key])]
    return lines


def _is_table(value: object) -> bool:
    """Return whether a value is a table, or a list of nothing but tables."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(isinstance(entry, Mapping) for entry in value)
    return isinstance(value, Mapping)


def _key(key: str) -> str:
    bare = key.replace("-", "").replace("_", "").isalnum() and key.isascii()
    return key if bare else _text(key)


def toml_value(value: object, unit: Quantity | None = None) -> str:
    """Return a value as a config spells it, numbers of a quantity with their unit."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(k)} = {toml_value(v)}' for k, v in value.items())} }}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(toml_value(one, unit) for one in value)}]"
    if unit is None or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int) and unit.dimension == "bytes":
        return f'"{value // 1024} KiB"' if value and value % 1024 == 0 else str(value)
    return f'"{format_quantity(value, unit.dimension, 12)}"'


def _text(text: str) -> str:
    # JSON's escapes are TOML's, but for one control character
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
