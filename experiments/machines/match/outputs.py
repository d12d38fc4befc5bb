"""What OSU's benchmarks, GPCNeT, nccl-tests and mpiGraph print, as rows of one table."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from experiments.kit.measured import read_measured
from experiments.machines.match.rows import (
    NAMES,
    PAIR_TESTS,
    UNITS,
    Row,
    is_table,
    plain,
    read_table,
)
from netsim.errors import ModelWarning, NetcosimError
from netsim.files import read_text
from netsim.text_numbers import need_whole, number_of, whole_number

_OSU_TITLE = re.compile(r"# OSU (?:MPI(?:_(\w+)|\S*)|(\w+)) (.+?) Test\b")
_RANK = re.compile(r"(?:\[\d+,\d+\](?:<std(?:out|err)>)?: ?|\s*\d+: )")
"""Before a line of mpirun's --tag-output or srun's --label."""
OSU_TESTS: Mapping[str, str] = NAMES["osu"]
_PAIRS = re.compile(r"\[\s*pairs:\s*(\d+)\s*\]")
_SIZE = re.compile(r"^#\s*(nodes|ranks)\s*[:=]\s*(\S+)", re.IGNORECASE)
_GPCNET = re.compile(r"^\s*Network(?:Load)? Tests v")
_GPCNET_RANKS = re.compile(r"Test with (\d+) MPI ranks \((\d+) nodes\)")
_GPCNET_NODES = re.compile(r"(\d+) nodes running Network Tests")
_GPCNET_NAME = re.compile(r"(.+?)\s*\((\d+)\s*B\)$")
_GPCNET_COLUMNS = {"Avg": "mean", "99%": "p99"}


def read_output(
    path: str | Path, nodes: int = 0, ranks: int = 0, where: Mapping[str, str] | None = None
) -> list[Row]:
    """Read one file, whose format is recognised by its text.

    Parameters
    ----------
    nodes, ranks : int
        Of outputs that do not print them (most of OSU's); 0: not known. An output may have lines
        ``# nodes: 16`` and ``# ranks: 64`` instead.
    where : mapping, optional
        See `experiments.machines.match.rows.read_table`.
    """
    path = Path(path)
    lines = read_text(path).splitlines()
    if not any(lines):
        raise NetcosimError(f"{path}: empty")
    lines = [line[found.end() :] if (found := _RANK.match(line)) else line for line in lines]
    if is_table(lines[0]):
        rows = read_table(path, lines, where or {})
    elif where:
        raise NetcosimError(f"{path}: --where is for CSV with columns")
    elif any(_OSU_TITLE.search(line) for line in lines):
        rows = _osu(path, lines, nodes, ranks)
    elif any(_GPCNET.match(line) for line in lines):
        rows = _gpcnet(path, lines)
    elif any(line.startswith("START mpiGraph") for line in lines):
        rows = _mpigraph(path, lines)
    else:
        rows = _nccl(path, nodes)
    if not rows:
        raise NetcosimError(f"{path}: no row with a measured value")
    return rows


def _osu(path: Path, lines: Sequence[str], nodes: int, ranks: int) -> list[Row]:
    rows, left_out, test, pairs = [], [], "", 0
    sizes = {"nodes": nodes, "ranks": ranks}
    for number, line in enumerate(lines, 1):
        at = f"{path}:{number}"
        if title := _OSU_TITLE.search(line):
            name = " ".join(filter(None, title.groups()))
            test, pairs = OSU_TESTS.get(name.lower(), ""), 0
            if not test:
                left_out.append(f"{at}: OSU's {name!r} is not simulated")
        elif given := _SIZE.match(line):
            sizes[given[1].lower()] = need_whole(at, given[1], given[2], 1)
        elif found := _PAIRS.search(line):
            pairs = need_whole(at, "pairs", found[1], 1)
        cells = line.split()
        if not test or not cells or whole_number(cells[0]) is None:
            continue
        if cells[-1] == "Fail":
            raise NetcosimError(f"{at}: {test} failed its validation; measure again")
        value = number_of(cells[1]) if len(cells) > 1 else None
        if value is None or not 0 < value < float("inf"):
            raise NetcosimError(f"{at}: {line[:60]!r}; a size and a value above 0 are needed")
        n_ranks = 2 * pairs or sizes["ranks"] or sizes["nodes"]
        on = (2, 2) if plain(test) in PAIR_TESTS else (sizes["nodes"] or n_ranks, n_ranks)
        if not on[0]:
            raise NetcosimError(
                f"{at}: {test} does not print on how many nodes it ran; give --nodes and --ranks"
            )
        unit = "MB/s" if test in NAMES["osu_bandwidths"] else "us"
        rows.append(Row(test, "", int(cells[0]), *on, "mean", value, unit, at))
    if left_out and not rows:
        raise NetcosimError(f"{left_out[0]}; {', '.join(OSU_TESTS.values())} are")
    for reason in left_out:
        warnings.warn(f"{reason}; left out", ModelWarning, stacklevel=3)
    return rows


def _gpcnet(path: Path, lines: Sequence[str]) -> list[Row]:
    rows, ranks, nodes, testing = [], 0, 0, 0
    phase, columns = "isolated", []
    for number, line in enumerate(lines, 1):
        at = f"{path}:{number}"
        if found := _GPCNET_RANKS.search(line):
            ranks, nodes = int(found[1]), need_whole(at, "nodes", found[2], 1)
        elif found := _GPCNET_NODES.search(line):
            testing = int(found[1])
        elif "Key Results" in line:
            phase = "impact"
        elif "running with Congestion" in line:
            phase = "congested"
        elif "Congestion Tests" in line and "Isolated" in line:
            phase = ""  # the congestors by themselves
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if "Avg" in cells:
            columns = cells
        named = _GPCNET_NAME.match(cells[0])
        if named is None or len(cells) != len(columns) or not phase:
            continue
        if not nodes:
            raise NetcosimError(f"{at}: a result before the line with the ranks and nodes")
        unit = "factor" if phase == "impact" else NAMES["unit_names"].get(cells[-1], cells[-1])
        if unit not in UNITS:
            raise NetcosimError(f"{at}: unit {unit!r}; usec and MiB/s/rank are known")
        size, used = int(named[2]), testing or nodes
        name = f"gpcnet {phase + ' ' if testing else ''}{named[1]}"
        for column, statistic in _GPCNET_COLUMNS.items():
            text = cells[columns.index(column)].removesuffix("X")
            value = number_of(text)
            if value is None or not value > 0:
                raise NetcosimError(f"{at}: {text!r} is no measured value above 0")
            of = used, used * ranks // nodes
            rows.append(Row(name, "", size, *of, statistic, value, unit, at))
    return rows


def _mpigraph(path: Path, lines: Sequence[str]) -> list[Row]:
    """Read the matrix of send bandwidths, in MiB/s."""
    head: dict[str, int] = {}
    sent: list[float] = []
    for number, line in enumerate(lines, 1):
        cells = line.split("\t")
        at = f"{path}:{number}"
        if cells[0] in ("MsgSize", "Window", "Procs") and len(cells) > 1:
            head[cells[0]] = need_whole(at, cells[0], cells[1], 1)
        elif cells[0].endswith(" to"):
            values = [number_of(cell) for cell in cells[1:] if cell.strip()]
            if len(values) != head.get("Procs") or None in values:
                raise NetcosimError(f"{at}: {len(values)} values; {head.get('Procs')} are needed")
            sent += [value for value in values if value]
    if not sent or len(head) < 3:
        raise NetcosimError(f"{path}: mpiGraph's MsgSize, Window, Procs or matrix is missing")
    mean = len(sent) / sum(1 / value for value in sent)
    return [
        Row("mpigraph", f"window {head['Window']}", head["MsgSize"], head["Procs"], head["Procs"],
            statistic, value, "MiB/s", str(path))
        for statistic, value in (("mean", mean), ("min", min(sent)))
    ]  # fmt: skip


def _nccl(path: Path, nodes: int) -> list[Row]:
    try:
        measured = read_measured(path).to_dict("records")
    except NetcosimError as error:
        if f"{path}:" in str(error) and "no row of" not in str(error):
            raise
        raise NetcosimError(
            f"{path}:1: not recognised; outputs of OSU, GPCNeT, nccl-tests and mpiGraph are read, "
            "and CSV with the columns test, bytes, nodes, ranks, statistic, value, unit"
        ) from None
    rows = [
        Row(f"nccl {one['operation']}", "", int(one["bytes"]), nodes or int(one["gpus"]),
            int(one["gpus"]), "mean", 1e6 * float(one["time_s"]), "us", str(path))
        for one in measured if one["bytes"]
    ]  # fmt: skip
    if rows and (not measured[0]["operation"] or not rows[0].ranks):
        raise NetcosimError(
            f"{path}: nccl-tests printed no name or no GPUs; add its command (all_reduce_perf ...) "
            "as a line and keep the lines '# Rank'"
        )
    return [replace(row, nodes=min(row.nodes, row.ranks)) for row in rows]
