"""What ``netcosim curve`` leaves: two tables, a figure, and lines on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from experiments.curve.point import ALONE, STEADY
from netcosim.report.figures.lines import plain_numbers
from netcosim.report.figures.panels import boxes, panels
from netcosim.report.figures.style import SOFT, colour, grid, marker, new_figure

if TYPE_CHECKING:
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


def draw(rows: pd.DataFrame, title: str, ceiling: float | None) -> Figure:
    """Draw latency on the left, accepted load on the right, a line a routing and traffic.

    Hollow marks: not all that is offered is accepted, or the window's halves differ.
    """
    figure, [left, right] = new_figure(10.0, 4.4, 1, 2)
    largest = float(rows["load"].max())
    many_traffics = rows["traffic"].nunique() > 1
    for i, ((routing, traffic), curve) in enumerate(rows.groupby(CURVE, sort=False)):
        look: dict[str, Any] = {"color": colour(i), "lw": 1.4}
        mark: dict[str, Any] = {"marker": marker(i), "ms": 5, "ls": "", "color": colour(i)}
        label = f"{routing}, {traffic}" if many_traffics else str(routing)
        curve = curve.sort_values("load")
        loaded = curve[curve["state"] != ALONE]
        steady = loaded["state"] == STEADY
        settled = pd.concat([curve[curve["state"] == ALONE], loaded[steady.cummin()]])
        left.plot(settled["load"], 1e6 * settled["latency_mean_s"], label=label, **mark, lw=1.4)
        left.lines[-1].set_linestyle("-")
        left.plot(settled["load"], 1e6 * settled["latency_p99_s"], ":", **look)
        right.plot(loaded["load"], loaded["accepted"], label=label, **look)
        for chosen, face in ((steady, colour(i)), (~steady, "white")):
            right.plot(loaded["load"][chosen], loaded["accepted"][chosen], mfc=face, **mark)
    right.plot([0, largest], [0, largest], color=SOFT, lw=0.8, zorder=0)
    if ceiling is not None and ceiling < largest:
        right.axhline(ceiling, color=SOFT, ls="--", lw=1.0, label=f"bisection {ceiling:.3g}")
    left.set(yscale="log", ylabel="mean latency (µs), dotted: 99th percentile")
    right.set(ylabel="accepted load (of injection bandwidth)", ylim=(0, None))
    for axis in (left, right):
        axis.set(xlim=(0, 1.04 * largest), xlabel="offered load (of injection bandwidth)")
        grid(axis, "both")
    plain_numbers(left.yaxis)
    left.set_title(title)
    right.legend(loc="upper left", fontsize=8, frameon=False)
    return figure


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
