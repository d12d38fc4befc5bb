"""Tables 1, 2, 5, 6 and 7, computed, beside the printed ones, and Figs. 1, 2 and 7 of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.kit.claims import ClaimBuilder, claims_frame
from experiments.kit.data import read_data, read_printed
from experiments.kit.panels import Draw, Heights, curves, grouped_bars, panels
from experiments.kit.papers import Analysis, Options, PaperFigure, Point

printed = read_printed("partitions")["tables"]
BLANK = ""
FigureParts = tuple[Any, ...]
"""Arguments of `PaperFigure` after its description."""
FUNCTION = "experiments.partitions.machines:bisections"
COLUMNS: dict[str, list[list[str]]] = read_data("partitions")["columns"]
"""Machine and choice of each pair of columns, geometry and bisection."""


def choice_rows(partitions: pd.DataFrame, machine: str, choice: str) -> dict[int, tuple[str, int]]:
    """Return geometry and bisection by midplanes, of one machine and choice."""
    of = partitions[(partitions["machine"] == machine) & (partitions["choice"] == choice)]
    cells = zip(of["Midplanes"], of["geometry"], of["bisection"], strict=True)
    return {int(size): (str(geometry), int(links)) for size, geometry, links in cells}


def printed_table(name: str) -> pd.DataFrame:
    """Return a table as it is printed, with `BLANK` for empty cells."""
    table = printed[name]
    source = table.get("full_rows_of", name)
    lines = [line.split() for line in printed[source]["rows"].strip().splitlines()]
    rows = [[int(w) if w.isdigit() else w.replace("-", BLANK) for w in line] for line in lines]
    kept = [row for row in rows if source == name or BLANK not in row]
    return pd.DataFrame(kept, columns=table["columns"], dtype=object)


def computed(name: str, partitions: pd.DataFrame) -> pd.DataFrame:
    """Return a table of the paper from our partitions.

    Of two choices for one machine the second is printed where it has more links; Tables 1 and 2
    leave out the sizes where it has not. Table 5 has every size of any machine.
    """
    columns = [choice_rows(partitions, *which) for which in COLUMNS[name]]
    if name != "table5":
        first, second = columns
        gains = {size: second[size] for size in first if second[size][1] > first[size][1]}
        shown = gains if name in ("table1", "table2") else first
        columns = [{size: first[size] for size in shown}, gains]
    rows = [
        [512 * size, size, *chain.from_iterable(c.get(size, (BLANK, BLANK)) for c in columns)]
        for size in sorted(set().union(*columns))
    ]
    return pd.DataFrame(rows, columns=printed[name]["columns"], dtype=object)


def compare_cells(paper: pd.DataFrame, computed_cells: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each cell of either table: midplanes, column, paper, simulated, equal."""
    tables = [table.set_index("Midplanes", drop=False) for table in (paper, computed_cells)]
    cells = []
    for size in sorted(set(paper["Midplanes"]) | set(computed_cells["Midplanes"])):
        for column in paper.columns:
            both = [t.loc[size, column] if size in t.index else "no row" for t in tables]
            cells.append((size, column, *both, both[0] == both[1]))
    return pd.DataFrame(cells, columns=["Midplanes", "column", "paper", "simulated", "equal"])


def analyse_table(name: str) -> Callable[[Mapping[str, pd.DataFrame], Options], Analysis]:
    """Return the analysis of a table: claims by column, both tables, all cells."""

    def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
        printed_cells, computed_cells = printed_table(name), computed(name, frames["partitions"])
        cells = compare_cells(printed_cells, computed_cells)
        check = ClaimBuilder(f"Table {name.removeprefix('table')}", printed[name]["caption"])
        claims, rule = [], "every cell equal"
        for column, equal in cells.groupby("column", sort=False)["equal"]:
            what, cells_equal = f"column {column!r}: cells that are equal", float(equal.sum())
            expected = float(len(equal))
            claims.append(
                check.holds(what, bool(equal.all()), rule, cells_equal, expected=expected)
            )
        tables = {"computed": computed_cells, "printed": printed_cells, "cells": cells}
        return Analysis(claims_frame(claims), tables | {"partitions": frames["partitions"]})

    return analyse


def _panel(analysis: Analysis, key: str, title: str, draw: Draw) -> Figure:
    return panels(
        analysis.tables["partitions"],
        key,
        draw,
        size_in=(9.0, 3.6),
        xlabel="midplanes",
        ylabel="normalized bisection bandwidth (links)",
        title=lambda _: title,
    )


def current_and_proposed(analysis: Analysis, options: Options) -> Figure:
    """Draw Fig. 1: every size of Mira's menu, as defined and at best."""
    names = {"mira-current": "current", "best": "proposed"}

    def draw(axis: Axes, part: pd.DataFrame) -> None:
        sizes = sorted(part[part["choice"] == "mira-current"]["Midplanes"])
        bars = ("Midplanes", "choice", Heights("bisection"))
        grouped_bars(axis, part, *bars, order=sizes, name=names.__getitem__, numbers="%d")

    return _panel(analysis, "machine", "Mira: current and proposed partitions", draw)


def _lines(by: str, name: Callable[[str], str]) -> Draw:
    def draw(axis: Axes, part: pd.DataFrame) -> None:
        curves(axis, part, "Midplanes", "bisection", by, marked=True, name=name)
        axis.set_ylim(bottom=0)

    return draw


def best_and_worst(analysis: Analysis, options: Options) -> Figure:
    """Draw Fig. 2: bisection over size of JUQUEEN's best and worst partitions."""
    draw = _lines("choice", lambda choice: f"{choice} case")
    return _panel(analysis, "machine", "JUQUEEN: best and worst partitions", draw)


def three_machines(analysis: Analysis, options: Options) -> Figure:
    """Draw Fig. 7: bisection over size, at best, of three machines."""
    title = "Best partitions of JUQUEEN and of two smaller machines"
    return _panel(analysis, "choice", title, _lines("machine", str.upper))


def _parts(table: str, draw: Callable[[Analysis, Options], Figure] | None = None) -> FigureParts:
    """Return a table, or a figure of bisections, judged by the table with its numbers."""

    def points(options: Options) -> list[Point]:
        return [{"what": "bisections", "machine": m, "choice": c} for m, c in COLUMNS[table]]

    return FUNCTION, points, analyse_table(table), draw


TABLES = {name: PaperFigure(name, printed[name]["caption"], *_parts(name)) for name in COLUMNS}
PARTS = {
    "fig1": _parts("table6", current_and_proposed),
    "fig2": _parts("table7", best_and_worst),
    "fig7": _parts("table5", three_machines),
}
