"""Drawings: nothing lies over anything else, no panel is empty, no two cases are one."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from experiments.kit.claims import claims_frame
from experiments.kit.fattree_workloads.cases import CAB, CAB_PART, CAB_SMALL, SIMULATED, quick
from experiments.kit.panels import Heights, curves, grouped_bars, panels
from experiments.kit.papers import Analysis, Options
from experiments.partitions.multiplication import multiplication_bars
from experiments.partitions.paper import PAPER
from netcosim.report.figures.style import new_figure

mpl.use("Agg")


def boxes(figure: Figure) -> dict[str, mpl.transforms.Bbox]:
    """Where title, legend and panels (with their titles and labels) are, in pixels."""
    figure.canvas.draw()
    found = {f"panel {i}": axis.get_tightbbox() for i, axis in enumerate(figure.axes)}
    if figure._suptitle is not None:  # type: ignore[attr-defined]
        found["title"] = figure._suptitle.get_window_extent()  # type: ignore[attr-defined]
    return found | {f"legend {i}": box.get_window_extent() for i, box in enumerate(figure.legends)}


def overlaps(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of parts that share more than a line of pixels."""
    found = boxes(figure)
    names = list(found)
    return [
        (a, b)
        for i, a in enumerate(names)
        for b in names[i + 1 :]
        if (shared := mpl.transforms.Bbox.intersection(found[a], found[b])) is not None
        and shared.width > 1
        and shared.height > 1
    ]


def totals(mappings: tuple[str, ...], firsts: tuple[str, ...]) -> pd.DataFrame:
    rows = [
        {"mapping": m, "first_groups": f, "Midplanes": size, "current_s": 0.2, "proposed_s": 0.1}
        for m in mappings
        for f in firsts
        for size in (4, 8)
    ]
    return pd.DataFrame(rows).assign(factor=2.0)


@pytest.mark.parametrize(
    ("mappings", "firsts"), [(("blocks", "random"), ("far",)), (("blocks",), ("far", "near"))]
)
def test_legend_and_panels_of_the_multiplication_are_apart(mappings, firsts) -> None:
    analysis = Analysis(claims_frame([]), {"totals": totals(mappings, firsts)})
    assert overlaps(multiplication_bars(analysis, Options())) == []


def test_legend_and_panels_of_the_pairing_are_apart() -> None:
    row = {"first_time_s": 2.0, "second_time_s": 1.0, "speedup": 2.0, "Midplanes": 4}
    table = pd.DataFrame([{**row, "engine": engine} for engine in ("flow", "packet")])
    drawn = PAPER.figures["fig3"].draw(Analysis(claims_frame([]), {"pairing": table}), Options())
    assert overlaps(drawn) == []


def test_a_legend_of_long_names_stays_in_the_figure() -> None:
    """As many columns as fit: eight curves over one narrow panel."""
    names = [f"a class of jobs, scheme {i}" for i in range(8)]
    rows = [{"x": x, "y": x, "by": name, "all": "all"} for name in names for x in (0, 1)]
    figure = panels(
        pd.DataFrame(rows), "all", lambda axis, part: curves(axis, part, "x", "y", "by")
    )
    assert overlaps(figure) == []
    [legend] = figure.legends
    assert 0 <= legend.get_window_extent().x0 < legend.get_window_extent().x1 <= figure.bbox.x1


def test_quick_cases_with_other_sizes_are_other_cases() -> None:
    sizes = {case.name: (quick(case).smallest, quick(case).largest) for case in (CAB, CAB_SMALL)}
    assert len(set(sizes.values())) == 2
    assert all(quick(case).largest <= 32 for case in (SIMULATED, CAB, CAB_SMALL, CAB_PART))


def test_bars_of_places_with_several_rows_and_with_none() -> None:
    """Two groups, two kinds: the first of two rows at a place, and no bar where there is no row."""
    columns = ["group", "kind", "height"]
    rows = [("g", "k", 1.5), ("g", "k", 9.0), ("h", "k", 1.25), ("h", "l", 1.0)]
    _, [axis] = new_figure()
    heights = Heights("height", scale=100, zero=1.0)
    grouped_bars(axis, pd.DataFrame(rows, columns=columns), "group", "kind", heights)
    shown = [patch.get_height() for patch in axis.patches]
    np.testing.assert_array_equal(shown, [50.0, 25.0, np.nan, 0.0])
