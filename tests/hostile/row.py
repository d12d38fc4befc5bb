"""A row of the table of malformed inputs, and how configs are spoilt."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

Make = Callable[[Path], None]
"""Writes the row's files into an empty folder, which is the working folder of its command."""


@dataclass(frozen=True)
class Row:
    """One malformed input: it must end in one line, quickly, in little memory.

    Attributes
    ----------
    name : str
    arguments : tuple of str
        The command line after ``netcosim``.
    told : str
        What the line on stderr must hold.
    make : callable
        Writes the files.
    status : int
        2 for a user's mistake; 0 for what is odd and must be accepted.
    """

    name: str
    arguments: tuple[str, ...]
    told: str
    make: Make
    status: int = 2


BASE: dict[str, dict[str, str]] = {
    "machine": {"family": '"dragonfly"', "p": "2", "a": "2", "g": "5"},
    "machine.packet": {},
    "workload": {"larger_jobs": '"drop"'},
    "workload.synthetic": {"n_jobs": "20", "mean_nodes": "4"},
    "queue": {"policies": '["simple", "rdn"]', "run_time_model": '"as-logged"'},
    "queue.coupled-packets": {},
    "queue.measured": {},
    "communication": {"ranks_per_node": "1"},
    "[communication.mix]": {"pattern": '"all-to-all"', "message_bytes": "1000"},
    "run": {"snapshots": "1"},
}
"""A config that runs in a moment, section by section, values as TOML text."""


def config_text(changes: Mapping[str, str | None], drop: tuple[str, ...] = ()) -> str:
    """The base config with ``section.key`` set to other TOML text (None: without the key)."""
    sections = {name: dict(keys) for name, keys in BASE.items() if name not in drop}
    for dotted, text in changes.items():
        section, _, key = dotted.rpartition(".")
        section = "[communication.mix]" if section == "mix" else section
        keys = sections.setdefault(section, {})
        if text is None:
            keys.pop(key)
        else:
            keys[key] = text
    blocks = [
        "\n".join([f"[{name}]", *(f"{key} = {text}" for key, text in keys.items())])
        for name, keys in sections.items()
        if keys
    ]
    return "\n\n".join(blocks) + "\n"


def bomb(byte: bytes) -> bytes:
    """Return 256 MB of one byte, gzipped in equal members, as compressing them whole takes long."""
    return gzip.compress(byte * (1 << 20), mtime=0) * 256


def written(name: str, content: str | bytes) -> Make:
    """Writes one file."""

    def make(folder: Path) -> None:
        data = content if isinstance(content, bytes) else content.encode()
        (folder / name).write_bytes(data)

    return make


def all_of(*makes: Make) -> Make:
    """Writes several."""

    def make(folder: Path) -> None:
        for one in makes:
            one(folder)

    return make


def nothing(folder: Path) -> None:
    """Writes no file."""


RUN = ("run", "c.toml", "--out", "out")


def config_row(
    name: str,
    changes: Mapping[str, str | None],
    told: str,
    *,
    drop: tuple[str, ...] = (),
    status: int = 2,
) -> Row:
    """A run of the base config with changes and without some sections."""
    return Row(name, RUN, told, written("c.toml", config_text(changes, drop)), status)
