"""What ``netcosim curve`` leaves: two tables, a figure, and lines on the screen."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from experiments.curve.point import ALONE, STEADY
from experiments.kit.panels import panels
from netcosim.report.figures.drawing import Drawing, Panel
from netcosim.report.figures.lines import plain_numbers
from netcosim.report.figures.shapes import boxes
from netcosim.report.figures.style import SIDE_IN, SOFT, colour, marker

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CURVE = ["routing", "traffic"]
LINKS = (
    "Share of the run in which links between routers send. Boxes: quartiles over the links of a "
    "kind; lines: least and most. Where only the most is near 100 %, few links limit the load."
)


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row a routing and traffic.

    ``steady_to`` is the largest load up to which all points keep up and have settled,
    ``saturates_at`` the first one above (nan: none of those looked at), ``most_accepted`` the
    largest accepted load of all.
    """
    found = []
    for (routing, traffic), curve in rows.groupby(CURVE, sort=False):
        alone = curve[curve["state"] == ALONE]["latency_mean_s"]
        loaded = curve[curve["state"] != ALONE].sort_values("load")
        lasting = loaded["load"][(loaded["state"] == STEADY).cummin()]
        above = loaded["load"][~(loaded["state"] == STEADY).cummin()]
        found.append(
            {
                "routing": routing,
                "traffic": traffic,
                "zero_load_latency_s": float(alone.iloc[0]) if len(alone) else float("nan"),
                "steady_to": float(lasting.max()) if len(lasting) else 0.0,
                "saturates_at": float(above.min()) if len(above) else float("nan"),
                "most_accepted": float(loaded["accepted"].max()),
            }
        )
    return pd.DataFrame(found)


def draw(rows: pd.DataFrame, title: str, ceiling: float | None) -> Drawing:
    """Return latencies and accepted loads, a line a routing and traffic."""
    panels_shown = [
        Panel(partial(_latencies, rows=rows), "Mean latency; dotted: 99th percentile"),
        Panel(partial(_accepted, rows=rows, ceiling=ceiling), "Accepted load"),
    ]
    caption = (
        "Filled marks: all that is offered is accepted, and the halves of the window agree. "
        "Latencies are drawn up to the last of these loads."
    )
    return Drawing("curve", title, panels_shown, caption, SIDE_IN, columns=2, lines="both")


def _latencies(axis: Axes, rows: pd.DataFrame) -> None:
    for label, curve, look, mark in _lines(rows):
        loaded = curve[curve["state"] != ALONE]
        lasting = loaded[(loaded["state"] == STEADY).cummin()]
        shown = pd.concat([curve[curve["state"] == ALONE], lasting])
        axis.plot(shown["load"], 1e6 * shown["latency_mean_s"], label=label, **look, **mark)
        axis.plot(shown["load"], 1e6 * shown["latency_p99_s"], ":", **look)
    axis.set(yscale="log", ylabel="latency (µs)")
    plain_numbers(axis.yaxis)
    _below(axis, rows)


def _accepted(axis: Axes, rows: pd.DataFrame, ceiling: float | None) -> None:
    largest = float(rows["load"].max())
    for label, curve, look, mark in _lines(rows):
        loaded = curve[curve["state"] != ALONE]
        steady = loaded["state"] == STEADY
        axis.plot(loaded["load"], loaded["accepted"], label=label, **look)
        for chosen, face in ((steady, look["color"]), (~steady, "white")):
            points = loaded[chosen]
            axis.plot(points["load"], points["accepted"], ls="", mfc=face, **mark, **look)
    axis.plot([0, largest], [0, largest], color=SOFT, lw=0.8, zorder=0)
    if ceiling is not None and ceiling < largest:
        axis.axhline(ceiling, color=SOFT, ls="--", lw=1.0, label=f"bisection {ceiling:.3g}")
    axis.set(ylabel="accepted load (of injection bandwidth)", ylim=(0, None))
    _below(axis, rows)


def _lines(
    rows: pd.DataFrame,
) -> Iterator[tuple[str, pd.DataFrame, dict[str, Any], dict[str, Any]]]:
    """Return name, rows, line and mark of each routing and traffic."""
    many_traffics = rows["traffic"].nunique() > 1
    for i, ((routing, traffic), curve) in enumerate(rows.groupby(CURVE, sort=False)):
        label = f"{routing}, {traffic}" if many_traffics else str(routing)
        look, mark = {"color": colour(i), "lw": 1.4}, {"marker": marker(i), "ms": 5}
        yield label, curve.sort_values("load"), look, mark


def _below(axis: Axes, rows: pd.DataFrame) -> None:
    largest = float(rows["load"].max())
    axis.set(xlim=(0, 1.04 * largest), xlabel="offered load (of injection bandwidth)")


def draw_links(links: pd.DataFrame) -> Figure:
    """Draw the time share that links between routers are busy, boxes by routing, by kind."""
    keys = ["kind", *(["traffic"] if links["traffic"].nunique() > 1 else [])]
    return panels(
        links.sort_values("load", kind="stable"),
        keys,
        lambda axis, part: boxes(axis, part, "load", "routing", scale=100),
        columns=2,
        size_in=(4.8, 2.5),
        ylabel="time that a link is busy (%)",
        xlabel="offered load (of injection bandwidth)",
        share=True,
    )
