"""Reader of Slurm's `topology.conf` and `topology.yaml`: switches or blocks, and their nodes.

The formats are those of Slurm's man pages topology.conf(5) and topology.yaml(5), and of what
`scontrol show topology` prints. A YAML file may also be a cluster model of topograph.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from netsim.errors import NetcosimError
from netsim.files import read_lines, read_text
from netsim.hostlist import count_hosts, expand
from netsim.limits import need_memory, shown

YAML_SUFFIXES = (".yaml", ".yml")
MAX_FILE_BYTES = 1 << 26

MAX_NODES = 2_000_000
"""Of one machine; the largest have some 160,000, and as many as this take a minute to build."""

_NODE_BYTES = 1000
"""Memory of a node while its machine is built; 200,000 on ten leaves took 760 each."""

TREE, BLOCK = "tree", "block"


@dataclass(frozen=True)
class SwitchEntry:
    """A switch or a block."""

    where: str
    """Begins the message of an error: "topology.conf:3"."""
    name: str
    nodes: tuple[str, ...]
    """On it."""
    below: tuple[str, ...] = ()
    """Switches below it."""


@dataclass(frozen=True)
class Declared:
    """The content of a file."""

    kind: str
    """Either "tree" or "block"."""
    parts: tuple[SwitchEntry, ...]
    """In the order of the file."""
    block_sizes: tuple[int, ...] = ()
    """Of blocks and of the groups of blocks above them, as declared."""
    notes: tuple[str, ...] = ()
    """Settings in the file that are not used."""
    domains: tuple[SwitchEntry, ...] = ()
    """Blocks beside a tree of switches."""


def read_slurm(path: Path, topology: str | None = None) -> Declared:
    """Read a `topology.yaml` (by the end of its name) or a `topology.conf`.

    ``topology`` is one of a `topology.yaml`; by default the cluster's, else the first.
    """
    if path.suffix.lower() in YAML_SUFFIXES:
        declared = _read_yaml(path, topology)
    elif topology is not None:
        raise NetcosimError(f"{path}: topology = {topology!r}; only a topology.yaml has several")
    else:
        declared = _read_conf(path)
    _need_unique(path, declared)
    return declared


def _need_unique(path: Path, declared: Declared) -> None:
    if not declared.parts:
        raise NetcosimError(f"{path}: no switch and no block is declared")
    what = "switch" if declared.kind == TREE else "block"
    parts: dict[str, SwitchEntry] = {}
    owner: dict[str, SwitchEntry] = {}
    for part in declared.parts:
        if part.name in parts:
            raise NetcosimError(f"{part.where}: {what} {part.name!r} is declared twice")
        parts[part.name] = part
        for node in part.nodes if declared.kind == BLOCK else ():
            if node in owner:
                raise NetcosimError(
                    f"{part.where}: node {node!r} is on {what} {part.name!r} and on "
                    f"{owner[node].name!r}"
                )
            owner[node] = part
    for part in declared.parts:
        for below in part.below:
            if below not in parts:
                raise NetcosimError(
                    f"{part.where}: {what} {part.name!r} has {below!r} below it, which is "
                    "declared nowhere"
                )


# topology.conf

_PAIR = re.compile(r"\s*(\w+)\s*=\s*(\"[^\"]*\"|[^\s\"]+)")
_KEYS = {
    "switchname": ("level", "nodes", "switches", "linkspeed"),
    "blockname": ("nodes", "blockindex", "blocksize"),
    "aggregatedblock": ("nodes", "blockindex", "blocksize"),
    "blocksizes": (),
}


def _read_conf(path: Path) -> Declared:
    parts: dict[str, list[SwitchEntry]] = {"switchname": [], "blockname": []}
    sizes: tuple[int, ...] = ()
    speeds = n_nodes = 0
    lines = list[tuple[str, str, dict[str, str]]]()
    printed, left_out = set[int](), 0
    for where, line in _joined_lines(path):
        if not lines and not re.match(r"\s*\w+\s*=", line):
            left_out += 1
        else:
            lines.append((where, line, _pairs(where, line)))
    for where, _, pairs in lines:
        n_nodes = _add_nodes(where, pairs.get("nodes", ""), n_nodes)
    for where, line, pairs in lines:
        kind = next(iter(pairs))
        if kind == "ringname":
            raise NetcosimError(f"{where}: a ring; trees and blocks of switches are read")
        if kind not in _KEYS:
            raise NetcosimError(
                f"{where}: {line.strip()[:60]!r}; a line begins with SwitchName=, BlockName= or "
                "BlockSizes="
            )
        for key in list(pairs)[1:]:
            if key not in _KEYS[kind]:
                raise NetcosimError(f"{where}: unknown key {key!r}")
        if kind == "blocksizes":
            sizes = _sizes(where, pairs[kind].split(","))
            continue
        if "blocksize" in pairs:  # as `scontrol show topology` prints it
            printed |= {*_sizes(where, [pairs["blocksize"]])}
        if kind == "aggregatedblock":
            continue
        speeds += "linkspeed" in pairs
        if "level" in pairs and "switches" in pairs:
            # as `scontrol show topology` prints a switch: with all nodes below its switches
            pairs.pop("nodes", None)
        nodes, below = (_hosts(where, pairs.get(key, "")) for key in ("nodes", "switches"))
        parts[kind].append(_part(where, pairs[kind], nodes, below))
    notes = [f"LinkSpeed is not used ({speeds} lines): its units are arbitrary"] if speeds else []
    if left_out:
        notes.append(f"left out: {left_out} lines before the first switch or block")
    sizes = sizes or _sizes(str(path), sorted(printed)) if printed else sizes
    switches, blocks = tuple(parts["switchname"]), tuple(parts["blockname"])
    if switches:
        return Declared(TREE, switches, (), tuple(notes), blocks)
    return Declared(BLOCK, blocks, sizes, tuple(notes))


def _joined_lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield non-empty lines without comments, joining those that end in a backslash."""
    held, start = "", 0
    number = 0
    for number, line in enumerate(read_lines(path, limit_bytes=MAX_FILE_BYTES), 1):
        start = start or number
        text = line.split("#", 1)[0].rstrip()
        if text.endswith("\\"):
            held += text[:-1] + " "
            continue
        if (held + text).strip():
            yield f"{path}:{start}", held + text
        held, start = "", 0
    if held.strip():
        raise NetcosimError(f"{path}:{number}: the last line is continued, but no line follows")


def _pairs(where: str, line: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    at = 0
    while line[at:].strip():
        match = _PAIR.match(line, at)
        if match is None:
            raise NetcosimError(f"{where}: {line[at:].strip()[:60]!r} is not KEY=VALUE")
        key = match[1].lower()
        if key in pairs:
            raise NetcosimError(f"{where}: {match[1]} is there twice")
        pairs[key] = match[2].strip('"')
        at = match.end()
    return pairs


def _hosts(where: str, text: str) -> tuple[str, ...]:
    try:
        return tuple(expand(text))
    except NetcosimError as error:
        raise NetcosimError(f"{where}: {error}") from None


def _add_nodes(where: str, text: str, before: int) -> int:
    """Return the number of nodes with those of a list, before any of their names is made."""
    try:
        n_nodes = before + count_hosts(text)
    except NetcosimError as error:
        raise NetcosimError(f"{where}: {error}") from None
    if n_nodes > MAX_NODES:
        raise NetcosimError(f"{where}: {shown(n_nodes)} nodes up to here; at most {MAX_NODES:,}")
    need_memory(f"{where}: {shown(n_nodes)} nodes up to here", n_nodes * _NODE_BYTES)
    return n_nodes


def _part(where: str, name: str, nodes: tuple[str, ...], below: tuple[str, ...]) -> SwitchEntry:
    if bool(nodes) == bool(below):
        children = "both nodes and switches" if nodes else "neither nodes nor switches"
        raise NetcosimError(f"{where}: {name!r} has {children} below it; it must have one of them")
    for names in (nodes, below):
        if len(set(names)) < len(names):
            twice = next(n for n, count in Counter(names).items() if count > 1)
            raise NetcosimError(f"{where}: {name!r} has {twice!r} below it twice")
    return SwitchEntry(where, name, nodes, below)


def _sizes(where: str, texts: Sequence[object]) -> tuple[int, ...]:
    words = [str(text).strip() for text in texts]
    if not words or not all(re.fullmatch(r"0*[1-9][0-9]{0,9}", word) for word in words):
        raise NetcosimError(f"{where}: block sizes {','.join(words)!r}; they must be whole numbers")
    sizes = tuple(int(word) for word in words)
    for one, other in pairwise(sizes):
        times = other // one
        if other % one or times < 2 or times & (times - 1):
            raise NetcosimError(
                f"{where}: block sizes {','.join(words)}; each must be a power of two times the "
                "one before it"
            )
    return sizes


# topology.yaml


def _read_yaml(path: Path, wanted: str | None) -> Declared:
    content = _yaml_content(path)
    if isinstance(content, dict) and {"switches", "blocks"} <= {*content} and wanted is None:
        return _topograph(path, content)
    if not isinstance(content, list) or not all(
        isinstance(entry, dict) and isinstance(entry.get("topology"), str) for entry in content
    ):
        raise NetcosimError(f"{path}: it must be a list of topologies, each '- topology: NAME'")
    names = [entry["topology"] for entry in content]
    if not names:
        raise NetcosimError(f"{path}: no topology is declared")
    if wanted is None:
        chosen = next((e for e in content if e.get("cluster_default") is True), content[0])
    elif wanted in names:
        chosen = content[names.index(wanted)]
    else:
        raise NetcosimError(f"{path}: no topology {wanted!r}; it has {', '.join(names)}")
    where = f"{path}: topology {chosen['topology']!r}"
    declared = _yaml_topology(where, chosen)
    if len(names) == 1:
        return declared
    others = ", ".join(name for name in names if name != chosen["topology"])
    note = f"topology {chosen['topology']!r} is used; the file also has {others}"
    blocks: tuple[SwitchEntry, ...] = ()
    for entry in content if declared.kind == TREE else ():
        if BLOCK in entry and not blocks:
            parts = _yaml_topology(f"{path}: topology {entry['topology']!r}", entry).parts
            own = {node for part in declared.parts for node in part.nodes}
            if own.intersection(*[[node for part in parts for node in part.nodes]]):
                blocks = parts
                note += f"; the blocks of {entry['topology']!r} are domains"
    return replace(declared, notes=(note,), domains=blocks)


def _topograph(path: Path, content: Mapping[str, Any]) -> Declared:
    """Return a cluster model of topograph: switches, nodes on them, and their NVLink domains."""
    switches, rows = content["switches"], content["blocks"]
    nodes: dict[str, list[str]] = {}
    domains: dict[str, list[str]] = {}
    n_nodes = 0
    try:
        for row in rows:
            for text in map(str, row["nodes"]):
                n_nodes = _add_nodes(str(path), text, n_nodes)
                hosts = _hosts(str(path), text)
                nodes.setdefault(str(row["switch"]), []).extend(hosts)
                for key, value in (row.get("annotations") or {}).items():
                    if str(key).endswith("/domain"):
                        domains.setdefault(str(value), []).extend(hosts)
        below = {str(name): entry.get("switches") or [] for name, entry in switches.items()}
        below = {name: [str(one) for one in ones] for name, ones in below.items()}
    except (AttributeError, TypeError, KeyError) as error:
        raise NetcosimError(
            f"{path}: not a cluster model: switches is a table of tables, blocks a list of tables "
            f"with switch and nodes ({error})"
        ) from None
    names = dict.fromkeys([*below, *(one for ones in below.values() for one in ones), *nodes])
    full: set[str] = set(nodes)
    while grown := {n for n in names if n not in full and full.intersection(below.get(n, ()))}:
        full |= grown
    empty = [name for name in names if name not in full]
    parts = tuple(
        _part(
            f"{path}: switch {name}",
            name,
            tuple(nodes.get(name, ())),
            tuple(one for one in below.get(name, ()) if one in full),
        )
        for name in names
        if name in full
    )
    note = f"left out: {len(empty):,} switches without nodes on or behind them"
    blocks = tuple(SwitchEntry(str(path), name, tuple(ones)) for name, ones in domains.items())
    return Declared(TREE, parts, (), (note,) if empty else (), blocks)


def _yaml_content(path: Path) -> Any:
    try:
        import yaml
    except ImportError:
        raise NetcosimError(
            f"{path}: YAML needs PyYAML, which is not installed (pip install netcosim[yaml])"
        ) from None
    try:
        return yaml.safe_load(read_text(path, limit_bytes=MAX_FILE_BYTES))
    # also numbers of thousands of digits and impossible dates, which are no YAMLError
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        at = f":{mark.line + 1}" if mark is not None else ""
        reason = getattr(error, "problem", None) or "it cannot be parsed"
        raise NetcosimError(f"{path}{at}: not YAML: {reason}") from None


def _yaml_topology(where: str, entry: Mapping[str, Any]) -> Declared:
    if entry.get("flat"):
        raise NetcosimError(f"{where} is flat and lists no nodes; a tree or blocks are needed")
    kinds = [key for key in entry if key not in ("topology", "cluster_default", "flat")]
    if len(kinds) != 1 or kinds[0] not in (TREE, BLOCK):
        raise NetcosimError(f"{where} is {', '.join(kinds) or 'nothing'}; it must be tree or block")
    kind = kinds[0]
    section = entry[kind]
    name, lists = ("block", "blocks") if kind == BLOCK else ("switch", "switches")
    rows = section.get(lists) if isinstance(section, dict) else None
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and isinstance(row.get(name), (str, int)) for row in rows
    ):
        raise NetcosimError(f"{where}: {lists} must be a list of '- {name}: NAME'")
    known = {name, "nodes", "children"} if kind == TREE else {name, "nodes"}
    n_nodes = 0
    for row in rows:
        n_nodes = _add_nodes(where, str(row.get("nodes") or ""), n_nodes)
    parts = []
    for row in rows:
        unknown = sorted(str(key) for key in set(row) - known)
        if unknown:
            raise NetcosimError(f"{where}: {name} {row[name]}: unknown key {unknown[0]!r}")
        texts = [row.get(key) for key in ("nodes", "children")]
        nodes, below = (_hosts(where, "" if text is None else str(text)) for text in texts)
        parts.append(_part(where, str(row[name]), nodes, below))
    sizes = section.get("block_sizes") or []
    if not isinstance(sizes, list):
        raise NetcosimError(f"{where}: block_sizes = {sizes!r}; it must be a list")
    return Declared(kind, tuple(parts), _sizes(where, sizes) if sizes else ())
