"""The partition paper's tables, computed, beside the printed ones, cell by cell."""

from __future__ import annotations

import pandas as pd

from experiments.papers.kit.claims import Claim, claims_frame
from experiments.papers.paper import Analysis
from experiments.papers.partitions.printed import BLANK, PRINTED, Cell, PrintedTable

Row = tuple[Cell, ...]


def choice_rows(partitions: pd.DataFrame, machine: str, choice: str) -> dict[int, tuple[str, int]]:
    """Geometry and bisection by midplanes, of one machine and choice."""
    of = partitions[(partitions["machine"] == machine) & (partitions["choice"] == choice)]
    return {
        int(size): (str(geometry), int(links))
        for size, geometry, links in zip(
            of["Midplanes"], of["geometry"], of["bisection"], strict=True
        )
    }


def two_choices(
    partitions: pd.DataFrame, machine: str, first: str, second: str, *, only_gains: bool
) -> list[Row]:
    """Rows of Tables 1, 2, 6 and 7: the second choice where it has more links.

    Parameters
    ----------
    only_gains : bool
        Leave out sizes where it has not; else its cells are empty there.
    """
    old, new = (choice_rows(partitions, machine, c) for c in (first, second))
    rows: list[Row] = []
    for size, (geometry, links) in sorted(old.items()):
        gains = new[size][1] > links
        if gains or not only_gains:
            better: tuple[Cell, Cell] = new[size] if gains else (BLANK, BLANK)
            rows.append((512 * size, size, geometry, links, *better))
    return rows


def best_cases(partitions: pd.DataFrame, machines: tuple[str, ...]) -> list[Row]:
    """Rows of Table 5: the best geometry of every size on several machines."""
    columns = [choice_rows(partitions, machine, "best") for machine in machines]
    rows: list[Row] = []
    for size in sorted(set().union(*columns)):
        cells: list[Cell] = [512 * size, size]
        for column in columns:
            cells += column.get(size, (BLANK, BLANK))
        rows.append(tuple(cells))
    return rows


def computed(name: str, partitions: pd.DataFrame) -> list[Row]:
    """Our rows of a table of the paper."""
    if name == "table5":
        return best_cases(partitions, ("juqueen", "juqueen-54", "juqueen-48"))
    machine, first, second = {
        "table1": ("mira", "mira-current", "best"),
        "table6": ("mira", "mira-current", "best"),
        "table2": ("juqueen", "worst", "best"),
        "table7": ("juqueen", "worst", "best"),
    }[name]
    only = name in ("table1", "table2")
    return two_choices(partitions, machine, first, second, only_gains=only)


def frame(columns: tuple[str, ...], rows: list[Row] | tuple[Row, ...]) -> pd.DataFrame:
    """Rows as a table of the paper's columns."""
    return pd.DataFrame([list(row) for row in rows], columns=list(columns), dtype=object)


def compare_cells(printed: PrintedTable, rows: list[Row]) -> pd.DataFrame:
    """One row a cell that either table has: midplanes, column, paper, ours, equal."""
    theirs = {row[1]: row for row in printed.rows}
    ours = {row[1]: row for row in rows}
    cells = []
    for size in sorted({int(k) for k in (*theirs, *ours)}):
        for i, column in enumerate(printed.columns):
            paper = theirs[size][i] if size in theirs else "no row"
            mine = ours[size][i] if size in ours else "no row"
            cells.append((size, column, paper, mine, paper == mine))
    return pd.DataFrame(cells, columns=["Midplanes", "column", "paper", "ours", "equal"])


def analyse_table(name: str, partitions: pd.DataFrame) -> Analysis:
    """A table of the paper: claims by column, our table, the printed one, all cells."""
    printed = PRINTED[name]
    rows = computed(name, partitions)
    cells = compare_cells(printed, rows)
    claims = []
    for column in printed.columns:
        equal = cells.loc[cells["column"] == column, "equal"]
        claims.append(
            Claim(
                claim=f"column {column!r}: cells that are equal",
                where=f"Table {name.removeprefix('table')}",
                condition=printed.caption,
                expected=float(len(equal)),
                ours=float(equal.sum()),
                holds=bool(equal.all()),
                rule="every cell equal",
            )
        )
    return Analysis(
        claims_frame(claims),
        {
            "ours": frame(printed.columns, rows),
            "printed": frame(printed.columns, printed.rows),
            "cells": cells,
        },
    )
