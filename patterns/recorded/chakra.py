"""Chakra execution traces, one file a rank: protobuf by its library, and JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from netsim.errors import NetcosimError
from netsim.files import read_bytes
from patterns.build import in_order_of

# Node types and fields by number, as in mlcommons/chakra, schema/protobuf/et_def.proto.
_COMPUTE, _SEND, _RECEIVE, _COLLECTIVE = 4, 5, 6, 7
_METADATA, _NO_TIME = 1, (0, 1, 2, 3)
_TYPES = {
    "METADATA_NODE": 1,
    "MEM_LOAD_NODE": 2,
    "MEM_STORE_NODE": 3,
    "COMP_NODE": 4,
    "COMM_SEND_NODE": 5,
    "COMM_RECV_NODE": 6,
    "COMM_COLL_NODE": 7,
    "COLL_COMM_NODE": 7,
}
"""By name; the last one is the spelling of symbolic tensor graph."""
_NAMES = (
    *("ALL_REDUCE", "REDUCE", "ALL_GATHER", "GATHER", "SCATTER", "BROADCAST", "ALL_TO_ALL"),
    *("REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"),
)
_KINDS = {0: "all-reduce", 2: "all-gather", 5: "broadcast", 6: "all-to-all", 7: "reduce-scatter"}
_BARRIER = 9
_UINT64, _INT32, _STRING, _MESSAGE = 4, 5, 9, 11
_VALUES = {
    name: (3 + 2 * i, kind)
    for i, (name, kind) in enumerate(
        (
            *(("double", 1), ("float", 2), ("int32", 5), ("int64", 3), ("uint32", 13)),
            *(("uint64", 4), ("sint32", 17), ("sint64", 18), ("fixed32", 7), ("fixed64", 6)),
            *(("sfixed32", 15), ("sfixed64", 16), ("bool", 8), ("string", 9), ("bytes", 12)),
        )
    )
}
"""Number and type of an attribute's value; a list of such values has the next number."""
_NODE = {
    "id": (1, _UINT64),
    "name": (2, _STRING),
    "type": (3, _INT32),
    "ctrl_deps": (4, _UINT64),
    "data_deps": (5, _UINT64),
    "duration_micros": (7, _UINT64),
}
MOST = 10**16
"""Bytes or operations of a node."""
MAX_NODES = 500_000
"""Of a trace, those that take no time among them."""
_REPEATED = ("ctrl_deps", "data_deps")
JSON_TRACE = re.compile(r"\.[0-9]+\.json$")


@dataclass(frozen=True)
class ChakraNode:
    """A node of a trace: what is needed of it."""

    number: int
    kind: str
    """One of "compute", "send", "receive", "none" (takes no time), or a collective of
    `patterns.collectives.library.LIBRARY`."""
    needs: tuple[int, ...] = ()
    """Numbers of the nodes that must be complete before."""
    n_bytes: int = 0
    """``comm_size``. An all-gather gathers so many of each rank; other collectives have so many in
    the buffer of a rank (as ASTRA-sim counts)."""
    seconds: float = 0.0
    """Of computing, as recorded."""
    operations: int | None = None
    touched_bytes: int = 0
    """operations, touched_bytes: ``num_ops`` and ``tensor_size`` of computing."""
    group: str = ""
    """Name of its process group; empty for all ranks."""
    involved: tuple[bool, ...] = ()
    """Whether each dimension of the network takes part; empty for all."""
    peer: int = -1
    tag: int = 0
    """peer, tag: Of a send or receive."""


@dataclass(frozen=True)
class ChakraTrace:
    """The nodes of a rank, each after all that it depends on."""

    path: str
    nodes: tuple[ChakraNode, ...]
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Members of process groups by name, as PyTorch notes them in a node of metadata."""


def is_chakra(path: str) -> bool:
    """Return whether a file's name ends as those of Chakra do: ``.et`` or ``.RANK.json``."""
    return path.endswith(".et") or JSON_TRACE.search(path) is not None


def read_trace(path: str) -> ChakraTrace:
    """Read a trace; of nodes that depend on nothing that is left, the smallest number is next.

    Nodes of memory and metadata, invalid ones, computing of the processor (``is_cpu_op``) and
    barriers take no time.
    """
    raw = bytes(read_bytes(path))
    # symbolic tensor graph writes either under both names
    is_json = re.match(rb'\s*[{\[]\s*["{\[0-9]', raw) is not None
    nodes = _json_nodes(raw, path) if is_json else _protobuf_nodes(raw, path)
    if not nodes:
        raise NetcosimError(f"{path}: a Chakra trace without nodes")
    if len(nodes) > MAX_NODES:
        raise NetcosimError(f"{path}: {len(nodes):,} nodes; at most {MAX_NODES:,} are read")
    groups: dict[str, tuple[int, ...]] = {}
    for node in nodes:
        if node.type == _METADATA:
            groups |= _noted_groups(node.inputs)
    return ChakraTrace(path, tuple(_needed(node, path) for node in _ordered(nodes, path)), groups)


@dataclass(frozen=True)
class _Raw:
    """A node as it is written."""

    id: int
    name: str
    type: int
    needs: frozenset[int]
    micros: int
    attributes: Mapping[str, Any]
    inputs: str = ""


def _node_type(path: str) -> Any:
    """Return the class of a node's message, built from the numbers above."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError:
        raise NetcosimError(
            f"{path}: Chakra needs the protobuf library, which is not installed; pip install "
            '"netcosim[chakra]" brings it'
        ) from None
    file = descriptor_pb2.FileDescriptorProto(name="chakra", package="chakra", syntax="proto3")
    attribute, node, io = (
        file.message_type.add(name=name) for name in ("Attribute", "Node", "IOInfo")
    )
    attribute.field.add(name="name", number=1, type=_STRING, label=1)
    attribute.oneof_decl.add(name="value")
    for name, (number, kind) in _VALUES.items():
        attribute.field.add(name=f"{name}_val", number=number, type=kind, label=1, oneof_index=0)
        several = file.message_type.add(name=f"{name}_list")
        several.field.add(name="values", number=1, type=kind, label=3)
        attribute.field.add(
            name=f"{name}_list",
            number=number + 1,
            type=_MESSAGE,
            label=1,
            type_name=f".chakra.{name}_list",
            oneof_index=0,
        )
    for name, (number, kind) in _NODE.items():
        label = 3 if name in _REPEATED else 1
        node.field.add(name=name, number=number, type=kind, label=label)
    io.field.add(name="values", number=1, type=_STRING, label=1)
    node.field.add(name="attr", number=10, type=_MESSAGE, label=3, type_name=".chakra.Attribute")
    node.field.add(name="inputs", number=8, type=_MESSAGE, label=1, type_name=".chakra.IOInfo")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("chakra.Node"))


def _pieces(raw: bytes, path: str) -> Iterator[bytes]:
    """Yield the messages of a file, each of which follows its length (a varint)."""
    at = 0
    while at < len(raw):
        size = shift = 0
        while True:
            if at == len(raw) or shift > 35:
                raise NetcosimError(f"{path}: no Chakra trace (byte {at:,})")
            size |= (raw[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if raw[at - 1] < 128:
                break
        if at + size > len(raw):
            raise NetcosimError(f"{path}: no Chakra trace, or cut off (byte {at:,})")
        yield raw[at : at + size]
        at += size


def _protobuf_nodes(raw: bytes, path: str) -> list[_Raw]:
    from google.protobuf.message import DecodeError

    kind = _node_type(path)
    # The first message has the version of the format.
    pieces = list(_pieces(raw, path))[1:]
    if len(pieces) > MAX_NODES:
        raise NetcosimError(f"{path}: {len(pieces):,} nodes; at most {MAX_NODES:,} are read")
    found = []
    for piece in pieces:
        try:
            node = kind.FromString(piece)
        except DecodeError:
            raise NetcosimError(f"{path}: no Chakra trace (not a node)") from None
        attributes = {}
        for one in node.attr:
            which = one.WhichOneof("value")
            if which:
                value = getattr(one, which)
                attributes[one.name] = list(value.values) if which.endswith("list") else value
        found.append(
            _Raw(
                node.id,
                node.name,
                node.type,
                frozenset((*node.ctrl_deps, *node.data_deps)),
                node.duration_micros,
                attributes,
                node.inputs.values,
            )
        )
    return found


def _json_nodes(raw: bytes, path: str) -> list[_Raw]:
    """Return the nodes of a trace in JSON.

    Written by Chakra's jsonizer (one object a message, the first has the version), by symbolic
    tensor graph (``nodes``), or as Chakra's feeder reads it (``workload_graph``; it has only
    dependencies of data).
    """
    decoder, objects, at = json.JSONDecoder(), list[Any](), 0
    try:
        text = raw.decode("utf-8")
        while at < len(text):
            if text[at].isspace():
                at += 1
                continue
            one, at = decoder.raw_decode(text, at)
            objects.append(one)
    except (ValueError, RecursionError):
        raise NetcosimError(f"{path}: not a Chakra trace in JSON (character {at:,})") from None
    if not isinstance(objects[0], dict):
        raise NetcosimError(f"{path}: not a Chakra trace in JSON (no object)")
    listed = objects[1:]
    deps: tuple[str, ...] = ("dataDeps", "ctrlDeps", "data_deps", "ctrl_deps")
    for key in ("nodes", "workload_graph"):
        if key in objects[0]:
            listed = objects[0][key]
            deps = ("dataDeps", "data_deps") if key == "workload_graph" else deps
    try:
        return [_json_node(one, deps) for one in listed]
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise NetcosimError(f"{path}: not a Chakra trace in JSON ({error!r:.80})") from None


def _json_node(one: Mapping[str, Any], deps: Sequence[str]) -> _Raw:
    """Return a node; 64-bit numbers may be texts, and types and kinds names."""
    attributes = dict(one)
    for given in one.get("attr", ()):
        for key, value in given.items():
            if key.lower().endswith(("val", "list")):
                number = not key.lower().startswith(("string", "bytes", "bool"))
                several = value["values"] if isinstance(value, Mapping) else [value]
                several = [_number(v) if number else v for v in several]
                attributes[given["name"]] = several if key.endswith("List") else several[0]
    kind = one.get("node_type", one.get("NodeType", one.get("type", 0)))
    if isinstance(attributes.get("comm_type"), str) and attributes["comm_type"] in _NAMES:
        attributes["comm_type"] = _NAMES.index(attributes["comm_type"])
    inputs = one.get("inputs")
    return _Raw(
        int(one.get("id", one.get("Id", 0))),  # the jsonizer leaves zeros out
        str(one.get("name", one.get("Name", ""))),
        _TYPES.get(kind.upper(), -1) if isinstance(kind, str) else int(kind),
        frozenset(int(other) for key in deps for other in one.get(key, ())),
        int(one.get("durationMicros", one.get("duration_micros", one.get("runtime", 0)))),
        attributes,
        str(inputs.get("values", "")) if isinstance(inputs, Mapping) else "",
    )


def _number(value: object) -> float | int:
    text = str(value)
    return int(text) if text.removeprefix("-").isdigit() else float(text)


def _noted_groups(values: str) -> dict[str, tuple[int, ...]]:
    """Return the process groups in the inputs of a node of metadata; none if there are none."""
    begin, end = values.find("[{"), values.rfind("}]")
    try:
        listed = json.loads(values[begin : end + 2]) if begin >= 0 else []
        return {str(one["pg_name"]): tuple(map(int, one["ranks"])) for one in listed}
    except (ValueError, TypeError, KeyError, RecursionError):
        return {}


def _ordered(nodes: Sequence[_Raw], path: str) -> list[_Raw]:
    nodes = sorted(nodes, key=lambda node: node.id)
    at = {node.id: i for i, node in enumerate(nodes)}
    for node in nodes:
        if len(at) < len(nodes) or not node.needs <= at.keys():
            raise NetcosimError(f"{path}: node {node.id}: a number twice, or of no node")
    order = in_order_of([[at[other] for other in node.needs] for node in nodes])
    if len(order) < len(nodes):
        raise NetcosimError(f"{path}: {len(nodes) - len(order)} nodes depend on each other")
    return [nodes[i] for i in order]


def _needed(node: _Raw, path: str) -> ChakraNode:
    where, given = f"{path}: node {node.id} ({node.name[:40]})", node.attributes
    needs = tuple(sorted(node.needs))
    if not 0 <= node.micros <= MOST:
        raise NetcosimError(f"{where}: a duration of {node.micros} us")
    if node.type == _COMPUTE and not given.get("is_cpu_op"):
        operations = _whole(where, given, "num_ops", 0) if "num_ops" in given else None
        touched = _whole(where, given, "tensor_size", 0, 0)
        return ChakraNode(
            node.id, "compute", needs, 0, node.micros * 1e-6, operations, touched_bytes=touched
        )
    kind = given.get("comm_type", -1)
    if isinstance(kind, list):
        kind = -1
    barrier = node.type == _COLLECTIVE and kind == _BARRIER
    if node.type in (*_NO_TIME, _COMPUTE) or barrier:
        return ChakraNode(node.id, "none", needs)
    sends = node.type in (_SEND, _RECEIVE)
    if not sends and (node.type != _COLLECTIVE or kind not in _KINDS):
        known = ", ".join(f"{number} {name}" for number, name in _KINDS.items())
        name = f" ({_NAMES[kind]})" if isinstance(kind, int) and 0 <= kind < len(_NAMES) else ""
        raise NetcosimError(
            f"{where}: type {node.type}, comm_type {kind}{name}; known are computing, sends, "
            f"receives and collectives: {known}"
        )
    size = _whole(where, given, "comm_size", 1)
    if not sends:
        group = str(given.get("pg_name", given.get("comm_group", "")))
        involved = _involved(where, given.get("involved_dim", ()))
        # ASTRA-sim takes group 0 for all ranks
        group = "" if group == "0" else group
        return ChakraNode(node.id, _KINDS[kind], needs, size, group=group, involved=involved)
    which, name = ("comm_dst", "send") if node.type == _SEND else ("comm_src", "receive")
    peer, tag = _whole(where, given, which, 0), _whole(where, given, "comm_tag", 0, 0)
    return ChakraNode(node.id, name, needs, size, peer=peer, tag=tag)


def _whole(
    where: str, given: Mapping[str, Any], key: str, least: int, default: int | None = None
) -> int:
    value = given.get(key, -1 if default is None else default)
    if type(value) is not int or not least <= value <= MOST:
        shown = value if key in given else "missing"
        raise NetcosimError(f"{where}: {key} = {shown}; it must be a number from {least} to 1e16")
    return value


def _involved(where: str, given: object) -> tuple[bool, ...]:
    """Return the dimensions that take part; a list of truth values, or of 0 and 1."""
    listed = list(given) if isinstance(given, (list, tuple)) else [given]
    if any(value not in (0, 1) for value in listed):
        raise NetcosimError(f"{where}: involved_dim = {given}; each must be true or false")
    found = tuple(map(bool, listed))
    if found and not any(found):
        raise NetcosimError(f"{where}: involved_dim = {given}; at least one must be true")
    return () if all(found) else found
