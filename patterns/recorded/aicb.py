"""AICB's operations of a rank, or of a rank of each stage of a pipeline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from netsim.errors import NetcosimError
from netsim.limits import MAX_INDEX
from netsim.text_numbers import csv_cells, need_whole
from patterns.recorded.stages import OperationList, Passes, Recorded
from patterns.training.operations import Operation

_KINDS = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast")
_GROUPS = {"tp": "tp", "dp": "dp", "ep": "ep", "ep_dp": "edp", "cp": "cp"}
_MESSAGES = {"isend": "send", "irecv": "receive", "send": "send", "recv": "receive"}
_WAYS = {"send_next": 1, "recv_next": 1, "send_prev": -1, "recv_prev": -1}
_PIPELINE = "pp"


def heads_of(lines: Sequence[str]) -> list[int]:
    """Return the lines of heads of operations, one a stage; empty for other files."""
    found = [i for i, line in enumerate(lines) if line.startswith("comm_type,")]
    return found if found and found[0] < 2 else []


def read_aicb(lines: Sequence[str], heads: Sequence[int], path: str) -> Recorded:
    """Return the operations of a file; see `patterns.recorded.pattern.read_recorded`."""
    sizes: dict[str, int] = {}
    ends = [*heads[1:], len(lines)]
    found = [
        _iteration(lines[:end], head, path, sizes) for head, end in zip(heads, ends, strict=True)
    ]
    if len(found) == 1 and any(op.group == _PIPELINE for op in found[0]):
        stages = _passes(found[0], path).stages(_stages_of_group(sizes, path), path)
    else:
        stages = tuple(_stage(ops, k, len(found), path) for k, ops in enumerate(found))
    return Recorded(stages, sizes)


def _iteration(
    lines: Sequence[str], head: int, path: str, sizes: dict[str, int]
) -> list[Operation]:
    """Return the operations between the first two marks; messages have their way as a peer."""
    operations: list[Operation] = []
    unsized: list[tuple[str, str]] = []
    marks = 0
    rows = csv_cells(path, lines[head:], head)
    _, columns = next(rows)
    if missing := {"comm_group", "msg_size", "stage"} - set(columns):
        raise NetcosimError(f"{path}:{head + 1}: the head lacks {', '.join(sorted(missing))}")
    for line, cells in rows:
        kind = (cells or [""])[0].removeprefix("CommType.").replace("_", "-")
        # computing has its shapes in several cells, and no time
        if kind in ("", "barrier", "computation") or kind.startswith("["):
            continue
        if kind == "epoch-end":
            marks += 1
            if marks == 2:
                break
            continue
        row = dict.fromkeys(columns, "") | dict(zip(columns, cells, strict=False))
        where = f"{path}:{line}"
        if len(cells) > len(columns):
            raise NetcosimError(f"{where}: {len(cells)} cells; the head has {len(columns)}")
        name = row["comm_group"].removeprefix("CommGroup.").removesuffix("_group")
        message = name == _PIPELINE and kind in _MESSAGES
        known = message or (kind in _KINDS and name in (*_GROUPS, _PIPELINE))
        if marks == 0 and not known:
            continue
        size = _size(row, where)
        if not known or (name == _PIPELINE and marks and not message and size != 1):
            raise NetcosimError(
                f"{where}: {kind} of group {name!r}; known are {', '.join(_KINDS)} of "
                f"{', '.join(_GROUPS)}, and isend and irecv of pp"
            )
        group = _GROUPS.get(name, _PIPELINE)
        if size and not message and sizes.setdefault(group, size) != size and marks:
            raise NetcosimError(f"{where}: {name} of {size} GPUs, before of {sizes[group]}")
        if marks == 0 or (group == _PIPELINE and not message):
            continue
        if size is None and not message and (group != "dp" or "comm_group_size" in columns):
            unsized.append((group, where))
        operations.append(_operation(row, kind, group, message, where))
    if marks < 2 or not operations:
        raise NetcosimError(f"{path}: no operations between two lines of epoch_end; cut off?")
    for group, where in unsized:
        if group not in sizes:
            raise NetcosimError(f"{where}: no comm_group_size of {group}, nor in another line")
    return operations


def _operation(
    row: dict[str, str], kind: str, group: str, is_message: bool, where: str
) -> Operation:
    phase = row["stage"].split(".")[0].removesuffix("_step")
    n_bytes = need_whole(where, "msg_size", row["msg_size"])
    if not is_message:
        beside = group in ("dp", "edp") and phase == "backward" and kind != "all-gather"
        return Operation(kind, group, n_bytes, phase=phase, beside=beside)
    peer = _WAYS.get(row.get("additional", ""))
    if peer is None:
        raise NetcosimError(
            f"{where}: {kind} with additional = {row.get('additional', '')!r}; needed is one of "
            f"{', '.join(_WAYS)}"
        )
    return Operation(_MESSAGES[kind], group, n_bytes, phase=phase, peer=peer)


def _size(row: dict[str, str], where: str) -> int | None:
    text = row.get("comm_group_size", "None")
    return None if text == "None" else need_whole(where, "comm_group_size", text, 1, MAX_INDEX)


def _stage(
    operations: Sequence[Operation], stage: int, pp: int, path: str
) -> tuple[Operation, ...]:
    """Return a stage's operations; of messages beside each other, sends are posted first."""
    found, waits, tags = OperationList(path), list[Operation](), Counter[tuple[bool, int]]()
    for op in operations:
        if op.group != _PIPELINE:
            found.add(*waits, op)
            waits.clear()
            continue
        peer = stage + op.peer
        if not 0 <= peer < pp:
            raise NetcosimError(f"{path}: stage {stage} of {pp} has a {op.kind} with stage {peer}")
        forward = (op.kind == "send") == (op.peer > 0)
        tag = tags[forward, peer] if op.kind == "send" else tags[forward, -1 - peer]
        tags[forward, peer if op.kind == "send" else -1 - peer] += 1
        placed = replace(op, peer=peer, tag=2 * tag + forward)
        if op.kind == "send":
            found.add(placed)
        else:
            waits.append(placed)
    found.add(*waits)
    return found.complete()


def _stages_of_group(sizes: dict[str, int], path: str) -> int:
    if sizes.get(_PIPELINE, 1) < 2:
        raise NetcosimError(
            f"{path}: isend and irecv of one stage; the stages' number is not in the file (an "
            "all_reduce of pp_group before the first epoch_end)"
        )
    return sizes[_PIPELINE]


def _passes(operations: Sequence[Operation], path: str) -> Passes:
    """Return the passes of a stage whose micro-batches are alike; the others have the same."""
    messages = [op for op in operations if op.group == _PIPELINE]
    sizes = {op.n_bytes for op in messages}
    ways = Counter((op.kind, op.peer) for op in messages)
    m = max(ways.values())
    if len(sizes) > 1 or set(ways.values()) != {m}:
        raise NetcosimError(
            f"{path}: messages of one stage of {sorted(sizes)} bytes, {sorted(ways.values())} of "
            "them by way; as many of one size each way are read"
        )
    parts: dict[str, list[Operation]] = {"forward": [], "backward": [], "": []}
    for op in operations:
        if op.group != _PIPELINE:
            parts[op.phase if op.phase in parts else ""].append(op)
    found = {}
    for phase in ("forward", "backward"):
        each, rest = divmod(len(parts[phase]), m)
        listed = [parts[phase][k * each : (k + 1) * each] for k in range(m)]
        if rest or any(one != listed[0] for one in listed):
            raise NetcosimError(
                f"{path}: {len(parts[phase])} operations of {phase} passes of {m} micro-batches; "
                "micro-batches that are not alike are not read"
            )
        found[phase] = [[one] for one in listed]
    return Passes(found["forward"], found["backward"], sizes.pop(), (), parts[""])
