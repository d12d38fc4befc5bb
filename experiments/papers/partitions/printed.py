"""Tables and numbers as Oltchik and Schwartz print them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

Cell = int | str
BLANK = ""


@dataclass(frozen=True)
class PrintedTable:
    """A table of the paper.

    Attributes
    ----------
    name, caption : str
    columns : tuple of str
    rows : tuple of tuples
        Geometries as "4x1x1x1"; "" where the paper leaves a cell empty.
    """

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def _table(name: str, caption: str, columns: Sequence[str], text: str) -> PrintedTable:
    """A table from lines of words; "-" is an empty cell."""
    rows = []
    for line in text.strip().splitlines():
        cells: list[Cell] = []
        for word in line.split():
            cells.append(BLANK if word == "-" else int(word) if word.isdigit() else word)
        assert len(cells) == len(columns), line
        rows.append(tuple(cells))
    return PrintedTable(name, caption, tuple(columns), tuple(rows))


TABLE_5 = _table(
    "table5",
    "best-case partitions of JUQUEEN, JUQUEEN-54 and JUQUEEN-48",
    ("P", "Midplanes", "JUQUEEN", "J BW", "JUQUEEN-54", "J-54 BW", "JUQUEEN-48", "J-48 BW"),
    """
    512    1 1x1x1x1  256 1x1x1x1  256 1x1x1x1  256
    1024   2 2x1x1x1  256 2x1x1x1  256 2x1x1x1  256
    1536   3 3x1x1x1  256 3x1x1x1  256 3x1x1x1  256
    2048   4 2x2x1x1  512 2x2x1x1  512 2x2x1x1  512
    2560   5 5x1x1x1  256 -        -   -        -
    3072   6 3x2x1x1  512 3x2x1x1  512 3x2x1x1  512
    3584   7 7x1x1x1  256 -        -   -        -
    4096   8 2x2x2x1 1024 2x2x2x1 1024 2x2x2x1 1024
    4608   9 -        -   3x3x1x1  768 3x3x1x1  768
    5120  10 5x2x1x1  512 -        -   -        -
    6144  12 3x2x2x1 1024 3x2x2x1 1024 3x2x2x1 1024
    7168  14 7x2x1x1  512 -        -   -        -
    8192  16 2x2x2x2 2048 2x2x2x2 2048 2x2x2x2 2048
    9216  18 -        -   3x3x2x1 1536 3x3x2x1 1536
    10240 20 5x2x2x1 1024 -        -   -        -
    12288 24 3x2x2x2 2048 3x2x2x2 2048 3x2x2x2 2048
    13824 27 -        -   3x3x3x1 2304 -        -
    14336 28 7x2x2x1 1024 -        -   -        -
    16384 32 4x2x2x2 2048 -        -   4x2x2x2 2048
    18432 36 -        -   3x3x2x2 3072 3x3x2x2 3072
    20480 40 5x2x2x2 2048 -        -   -        -
    24576 48 6x2x2x2 2048 -        -   4x3x2x2 3072
    27648 54 -        -   3x3x3x2 4608 -        -
    28672 56 7x2x2x2 2048 -        -   -        -
    """,
)

TABLE_6 = _table(
    "table6",
    "Mira: all current and proposed partitions",
    ("P", "Midplanes", "Current Geometry", "BW", "New Geometry", "New BW"),
    """
    512    1 1x1x1x1  256 -        -
    1024   2 2x1x1x1  256 -        -
    2048   4 4x1x1x1  256 2x2x1x1  512
    4096   8 4x2x1x1  512 2x2x2x1 1024
    8192  16 4x4x1x1 1024 2x2x2x2 2048
    12288 24 4x3x2x1 1536 3x2x2x2 2048
    16384 32 4x4x2x1 2048 -        -
    24576 48 4x4x3x1 3072 -        -
    32768 64 4x4x2x2 4096 -        -
    49152 96 4x4x3x2 6144 -        -
    """,
)

TABLE_7 = _table(
    "table7",
    "JUQUEEN: best and worst cases of every size",
    ("P", "Midplanes", "Worst-case Geometry", "Worst BW", "Proposed Geometry", "Proposed BW"),
    """
    512    1 1x1x1x1  256 -        -
    1024   2 2x1x1x1  256 -        -
    1536   3 3x1x1x1  256 -        -
    2048   4 4x1x1x1  256 2x2x1x1  512
    2560   5 5x1x1x1  256 -        -
    3072   6 6x1x1x1  256 3x2x1x1  512
    3584   7 7x1x1x1  256 -        -
    4096   8 4x2x1x1  512 2x2x2x1 1024
    5120  10 5x2x1x1  512 -        -
    6144  12 6x2x1x1  512 3x2x2x1 1024
    7168  14 7x2x1x1  512 -        -
    8192  16 4x2x2x1 1024 2x2x2x2 2048
    10240 20 5x2x2x1 1024 -        -
    12288 24 6x2x2x1 1024 3x2x2x2 2048
    14336 28 7x2x2x1 1024 -        -
    16384 32 4x2x2x2 2048 -        -
    20480 40 5x2x2x2 2048 -        -
    24576 48 6x2x2x2 2048 -        -
    28672 56 7x2x2x2 2048 -        -
    """,
)


def _increased(
    name: str, caption: str, columns: Sequence[str], whole: PrintedTable
) -> PrintedTable:
    """A table that prints again the rows of another in which no cell is empty."""
    rows = tuple(row for row in whole.rows if BLANK not in row)
    return PrintedTable(name, caption, (*whole.columns[:2], *columns), rows)


TABLE_1 = _increased(
    "table1",
    "Mira: rows where the bisection is increased",
    ("Current Geometry", "BW", "Proposed Geometry", "Proposed BW"),
    TABLE_6,
)
TABLE_2 = _increased(
    "table2",
    "JUQUEEN: rows where best and worst cases differ",
    ("Worst Geometry", "Worst BW", "Best Geometry", "Best BW"),
    TABLE_7,
)
PRINTED = {t.name: t for t in (TABLE_1, TABLE_2, TABLE_5, TABLE_6, TABLE_7)}

PAIRING = (2.0, 1.92)
"""Section 4.1: the predicted factor; what was measured, "at least a factor of 1.92"."""
PAIRING_MIRA_24 = (1.5, 1.44)
"""The same for 24 midplanes of Mira. Table 1's bandwidths, 1536 and 2048, give 1.333."""
_ON_SAME, _FOLLOWS = "more nodes on the same bisection", "time follows the bisection a node"
GROWTHS = {
    "mira": (
        ("section 4.1", "first", 16, 24, 1.097, "current partitions: time grows by 9.7 %"),
        ("section 4.1", "second", 16, 24, 1.5, f"proposed partitions: {_ON_SAME}"),
    ),
    "juqueen": tuple(
        ("Fig. 4, caption", side, 4, large, factor, f"{name} cases: {_FOLLOWS}")
        for side, name in (("first", "worst"), ("second", "best"))
        for large, factor in ((8, 1.0), (6, 1.5))
    ),
}
"""By machine: where it stands, which of the two choices, from so many to so many midplanes, how
many times as long pairing takes, and why."""
MULTIPLICATION_FACTORS = (1.37, 1.52)
"""Section 4.2: communication costs of proposed against current partitions."""
SCALING_FACTORS = (3.3, 4.4)
"""Section 4.3: communication time on 2 over that on 8 midplanes, current and proposed."""


class Multiplication(NamedTuple):
    """A row of Table 3 or 4."""

    midplanes: int
    ranks: int
    max_cores: int
    matrix_dim: int


TABLE_3 = (
    Multiplication(4, 31213, 16, 32928),
    Multiplication(8, 31213, 8, 32928),
    Multiplication(16, 31213, 4, 32928),
    Multiplication(24, 117649, 16, 21952),
)
TABLE_4 = (
    Multiplication(2, 2401, 4, 9408),
    Multiplication(4, 4802, 4, 9408),
    Multiplication(8, 9604, 4, 9408),
)
