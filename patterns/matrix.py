"""A traffic matrix: how many bytes each rank sends to each other, from a file."""

from __future__ import annotations

import io
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import numpy as np
from annotated_types import Gt
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.files import check_file, read_bytes, read_text
from netsim.limits import need_memory, shown
from netsim.parameters import NamesFile
from netsim.text_numbers import number_of
from netsim.traffic import Program
from patterns.build import build_program, make_messages, need_messages
from patterns.entry import Pattern

FloatArray = NDArray[np.float64]
_NPY = b"\x93NUMPY"
_MOST = 1e18
"""Bytes of one message; more do not fit into 64 bits."""


def matrix(
    n_ranks: int,
    message_bytes: int,
    iterations: int,
    file: Annotated[str, "bytes from each rank (row) to each (column): CSV or .npy", NamesFile],
    scale: Annotated[float, "messages are so many times as long as in the file", Gt(0)] = 1.0,
) -> Program:
    """Build one message from each rank to every rank that its row has bytes for, then a wait.

    Rank r sends to r + 1, r + 2, ... around the end. Bytes are rounded, and at least 1, in place of
    ``message_bytes``. The job's ranks beyond the matrix's do nothing.
    """
    table = read_matrix(file)
    n = len(table)
    src, dst = np.nonzero(table)
    need_messages(len(src) * iterations, n_ranks * iterations, f"iterations = {shown(iterations)}")
    if table.max() * scale > _MOST:
        raise NetcosimError(f"{file}: a message of {table.max() * scale:g} bytes; too large")
    order = np.lexsort(((dst - src) % n, src))
    src, dst = src[order], dst[order]
    n_bytes = np.maximum(1, np.rint(table[src, dst] * scale)).astype(np.int64)
    return build_program(n_ranks, 1, make_messages(src, 0, dst, 0, n_bytes), iterations)


PATTERN = Pattern(
    "matrix",
    "bytes of a traffic matrix (file) from rank to rank, not M",
    matrix,
    lambda file, scale=1.0: len(read_matrix(file)),
)


def read_matrix(path: str | Path) -> FloatArray:
    """Return a traffic matrix from a CSV file (a row a line, no head) or NumPy's ``.npy``, (n, n).

    The last few that were read are kept, and not to be written to; a file that has changed is read
    again.
    """
    check_file(path)
    found = Path(path).stat()
    return _read(str(path), found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=8)
def _read(path: str, mtime_ns: int, size: int) -> FloatArray:
    with open(path, "rb") as file:
        numpy = file.read(len(_NPY)) == _NPY
    table = _from_npy(path) if numpy else _from_csv(path)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not table.size:
        shape = " x ".join(map(str, table.shape))
        raise NetcosimError(
            f"{path}: a table of {shape}; a traffic matrix has a row and a column for each rank"
        )
    for problem, wrong in (("not finite", ~np.isfinite(table)), ("negative", table < 0)):
        if wrong.any():
            row, column = np.argwhere(wrong)[0].tolist()
            raise NetcosimError(
                f"{path}: {table[row, column]:g} bytes from rank {row} to rank {column}: {problem}"
            )
    if not table.any():
        raise NetcosimError(f"{path}: a matrix in which no rank sends")
    table.flags.writeable = False
    return table


def _from_npy(path: str) -> FloatArray:
    raw = io.BytesIO(read_bytes(path))
    try:
        version = np.lib.format.read_magic(raw)
        head = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else (np.lib.format.read_array_header_2_0)
        )
        shape, _, kind = head(raw)
        if kind.kind not in "iuf":
            raise NetcosimError(f"{path}: an array of {kind}; numbers are needed")
        need_memory(f"{path}: a table of {shape}", 24 * int(np.prod(shape, dtype=object)))
        raw.seek(0)
        return np.array(np.load(raw, allow_pickle=False), dtype=np.float64)
    except (ValueError, EOFError, OverflowError, TypeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise NetcosimError(f"{path}: not a NumPy file: {reason}") from None


def _from_csv(path: str) -> FloatArray:
    rows: list[list[float]] = []
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        cells = line.split(",")
        if rows and len(cells) != len(rows[0]):
            raise NetcosimError(
                f"{path}:{number}: {len(cells)} numbers; the line before it has {len(rows[0])}"
            )
        values = [value for value in map(number_of, cells) if value is not None]
        if len(values) < len(cells):
            wrong = next(cell for cell in cells if number_of(cell) is None)
            raise NetcosimError(f"{path}:{number}: {wrong.strip()[:40]!r}; it must be a number")
        rows.append(values)
    return np.array(rows, dtype=np.float64)
