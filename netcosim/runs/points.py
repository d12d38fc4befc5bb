"""A point: its content, the key and random seed that follow from it, and where it is stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from netsim.errors import NetcosimError
from netsim.fingerprint import code_fingerprint
from netsim.inputs import identity, is_input, label
from netsim.text_numbers import whole_number

if TYPE_CHECKING:
    from netcosim.runs.outcome import Outcome
    from netcosim.runs.store import Store

RESULTS_FILE = "results.db"
PAGE_FILE = "report.html"
Point = Mapping[str, object]

MODEL_VERSION = "17"
"""Raise it with any change that changes results; points of another version are not reused."""


HOW = ("run.threads",)
"""Dotted keys that set how a point is computed; they change no result, no key and no draw."""


def plain(value: object, where: str = "config") -> object:
    """Convert to the plain types of JSON: NumPy scalars and arrays unpacked, tuples as lists."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return plain(value.item(), where)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise NetcosimError(f"{where}: key {key!r} is not text")
        return {key: plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, where) for item in value]
    raise NetcosimError(f"{where}: {type(value).__name__} cannot be stored; use numbers or text")


def canonical_json(value: object) -> str:
    """Return one text for one content: sorted keys, no spaces, ASCII, shortest exact floats.

    A float with a whole value is written as a float (``1.0``), so 1 and 1.0 differ.
    """
    try:
        return json.dumps(
            plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
        )
    except ValueError as error:
        if isinstance(error, NetcosimError):
            raise
        raise NetcosimError("a point's config holds a number that is not finite") from None


def point_key(config: Mapping[str, object], model_version: str = MODEL_VERSION) -> str:
    """Return the name of a point: SHA-256 of its content and the model's version, 64 hex digits.

    An input file counts with its content, not its path (`netsim.inputs`).
    """
    content = identity(without(config, HOW))
    text = canonical_json({"config": content, "model_version": model_version})
    return hashlib.sha256(text.encode()).hexdigest()


def without(config: Mapping[str, object], leave_out: Iterable[str]) -> dict[str, object]:
    """Copy a nested mapping without the given dotted keys (absent ones are ignored)."""
    dropped = set(leave_out)

    def copy(level: Mapping[str, object], prefix: str) -> dict[str, object]:
        kept: dict[str, object] = {}
        for key, value in level.items():
            dotted = f"{prefix}{key}"
            if dotted in dropped:
                continue
            kept[key] = copy(value, f"{dotted}.") if isinstance(value, Mapping) else value
        return kept

    return copy(config, "")


def replaced(config: Mapping[str, object], changes: Mapping[str, object]) -> dict[str, object]:
    """Copy a nested mapping with other values at dotted keys; missing tables are created.

    Entries of a list have numbers: ``communication.mix.0.weight``.
    """
    content: Any = dict(config)
    for dotted, value in changes.items():
        content = _with(content, dotted, value, dotted)
    return dict(content)


def _with(level: object, rest: str, value: object, dotted: str) -> object:
    first, _, more = rest.partition(".")
    if isinstance(level, (list, tuple)):
        at = whole_number(first, 0, len(level) - 1)
        if at is None:
            raise NetcosimError(f"key {dotted}: {first!r} is no entry of a list of {len(level)}")
        entries = list(level)
        entries[at] = _with(entries[at], more, value, dotted) if more else value
        return entries
    inner = dict(level) if isinstance(level, Mapping) else {}
    inner[first] = _with(inner.get(first), more, value, dotted) if more else value
    return inner


def point_rng(
    config: Mapping[str, object], purpose: str, leave_out: Sequence[str] = ()
) -> np.random.Generator:
    """Return the generator of one purpose at one point: the same on any process, in any order."""
    return np.random.Generator(np.random.PCG64(seed_from(drawn_by(config, leave_out), purpose)))


def drawn_by(config: Mapping[str, object], leave_out: Sequence[str]) -> str:
    """Return the part of a point's content that draws depend on, as text."""
    return canonical_json(identity(without(config, (*HOW, *leave_out))))


def seed_from(content: str, purpose: str) -> int:
    """Return the seed of one purpose from `drawn_by`."""
    text = f'{{"config":{content},"purpose":{canonical_json(purpose)}}}'
    return int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")


def flatten(config: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Convert a nested mapping to dotted keys; lists stay values, an input file is its label."""
    flat: dict[str, object] = {}
    for key, value in config.items():
        if isinstance(value, Mapping) and is_input(value):
            flat[f"{prefix}{key}"] = label(value)
        elif isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def results_in(out: Path) -> Path:
    """Return the results file of a folder, neither of which need exist."""
    if out.exists() and not out.is_dir():
        raise NetcosimError(f"{out}: a file; a folder was expected")
    return out / RESULTS_FILE


def put_point(
    store: Store, point: Point, outcome: Outcome, *, config_text: str, title: str
) -> None:
    """Store a point and the entries of the file."""
    with store.together():
        store.put_meta({"config_text": config_text, "title": title})
        store.put(point_key(point), point, outcome, code_fingerprint())
