"""Chakra execution traces of one rank, read by the protobuf library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any

from netsim.errors import NetcosimError
from netsim.files import read_bytes

_COMPUTE, _SEND, _RECEIVE, _COLLECTIVE = 4, 5, 6, 7
_MEMORY_AND_METADATA = (1, 2, 3)
_KINDS = {0: "all-reduce", 2: "all-gather", 5: "broadcast", 6: "all-to-all", 7: "reduce-scatter"}
_BARRIER = 9
# The fields that are read, by number, as in mlcommons/chakra, schema/protobuf/et_def.proto.
_INT64, _UINT64, _INT32, _BOOL, _STRING, _MESSAGE, _UINT32 = 3, 4, 5, 8, 9, 11, 13
_VALUES = {
    "int32_val": (7, _INT32),
    "int64_val": (9, _INT64),
    "uint32_val": (11, _UINT32),
    "uint64_val": (13, _UINT64),
    "bool_val": (27, _BOOL),
    "string_val": (29, _STRING),
}
_NODE = {
    "id": (1, _UINT64),
    "name": (2, _STRING),
    "type": (3, _INT32),
    "ctrl_deps": (4, _UINT64),
    "data_deps": (5, _UINT64),
    "duration_micros": (7, _UINT64),
}
MAX_NODES = 500_000
"""Of a trace, those that take no time among them."""
_REPEATED = ("ctrl_deps", "data_deps")


@dataclass(frozen=True)
class ChakraNode:
    """A node of a trace: what is needed of it."""

    kind: str
    """Either "compute", or a collective of `patterns.collectives.library.LIBRARY`."""
    n_bytes: int
    seconds: float
    group: str
    """Name of its process group; empty for all ranks."""


def is_chakra(path: str) -> bool:
    """Return whether a file's name ends as those of Chakra do."""
    return path.endswith(".et")


def read_nodes(path: str) -> list[ChakraNode]:
    """Return the computing and collectives of a trace, each after all that it depends on.

    Of nodes that depend on nothing that is left, the one with the smallest number is next. Nodes of
    memory and metadata, computing of the processor (``is_cpu_op``) and barriers take no time.

    Raises
    ------
    NetcosimError
        The path and: the library is missing, a file that is no trace, sends and receives, a kind
        that is not known, dependencies in a circle.
    """
    kind = _node_type(path)
    # The first message has the version of the format.
    pieces = list(_pieces(bytes(read_bytes(path)), path))[1:]
    if not pieces:
        raise NetcosimError(f"{path}: a Chakra trace without nodes")
    if len(pieces) > MAX_NODES:
        raise NetcosimError(f"{path}: {len(pieces):,} nodes; at most {MAX_NODES:,} are read")
    nodes = [_parsed(kind, piece, path) for piece in pieces]
    return [found for node in _ordered(nodes, path) if (found := _needed(node, path)) is not None]


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
    attribute, node = (file.message_type.add(name=name) for name in ("Attribute", "Node"))
    attribute.field.add(name="name", number=1, type=_STRING, label=1)
    attribute.oneof_decl.add(name="value")
    for name, (number, kind) in _VALUES.items():
        attribute.field.add(name=name, number=number, type=kind, label=1, oneof_index=0)
    for name, (number, kind) in _NODE.items():
        label = 3 if name in _REPEATED else 1
        node.field.add(name=name, number=number, type=kind, label=label)
    node.field.add(name="attr", number=10, type=_MESSAGE, label=3, type_name=".chakra.Attribute")
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


def _parsed(kind: Any, piece: bytes, path: str) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return kind.FromString(piece)
    except DecodeError:
        raise NetcosimError(f"{path}: no Chakra trace (not a node)") from None


def _ordered(nodes: Sequence[Any], path: str) -> list[Any]:
    by_id = {node.id: node for node in nodes}
    needs = {node.id: {*node.ctrl_deps, *node.data_deps} for node in nodes}
    after: dict[int, list[int]] = {}
    for number, before in needs.items():
        if len(by_id) < len(nodes) or not before <= by_id.keys():
            raise NetcosimError(f"{path}: node {number}: a number twice, or of no node")
        for other in before:
            after.setdefault(other, []).append(number)
    left = {number: len(before) for number, before in needs.items()}
    ready = [number for number, n in left.items() if n == 0]
    heapify(ready)
    order = []
    while ready:
        order.append(heappop(ready))
        for number in after.get(order[-1], ()):
            left[number] -= 1
            if left[number] == 0:
                heappush(ready, number)
    if len(order) < len(nodes):
        raise NetcosimError(f"{path}: {len(nodes) - len(order)} nodes depend on each other")
    return [by_id[number] for number in order]


def _needed(node: Any, path: str) -> ChakraNode | None:
    where = f"{path}: node {node.id} ({node.name[:40]})"
    given = {one.name: one.WhichOneof("value") for one in node.attr}
    attributes = {one.name: getattr(one, given[one.name]) for one in node.attr if given[one.name]}
    if node.type in _MEMORY_AND_METADATA:
        return None
    if node.type == _COMPUTE and attributes.get("is_cpu_op"):
        return None
    if node.type == _COMPUTE:
        return ChakraNode("compute", 0, node.duration_micros * 1e-6, "")
    if node.type in (_SEND, _RECEIVE):
        raise NetcosimError(f"{where}: a send or receive; only collectives are read")
    kind, size = (attributes.get(name, -1) for name in ("comm_type", "comm_size"))
    if node.type == _COLLECTIVE and kind == _BARRIER:
        return None
    if node.type != _COLLECTIVE or kind not in _KINDS:
        known = ", ".join(f"{number} {name}" for number, name in _KINDS.items())
        raise NetcosimError(
            f"{where}: type {node.type}, comm_type {kind}; known are computing and collectives: "
            f"{known}"
        )
    if not isinstance(size, int) or size < 1:
        raise NetcosimError(f"{where}: comm_size = {size}; it must be a number of at least 1")
    return ChakraNode(_KINDS[kind], size, 0.0, str(attributes.get("pg_name", "")))
