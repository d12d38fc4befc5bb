"""What all figures share: colours for all eyes, quiet axes, readable units."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from netsim.atomic_files import atomic_write

# Okabe and Ito's blue, vermilion and green, then what lies furthest from those before it for eyes
# of all kinds; each is visible on a white page and on a dark one.
COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#A37AFF", "#666670", "#B83D29"),
    *("#7A8FC2", "#F55C85", "#7A66E0", "#B83D99", "#667A5C", "#668F3D"),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", ":", "-.")
FORMS = {"svg": "Date", "pdf": "CreationDate", "png": "Software"}
"""Formats of files, and what would differ in them from day to day."""
INK, SOFT, GRID = "#1b1f24", "#57606a", "#d8dee4"
ON_COLOUR = "#fefefe"
"""White that stays white where a page is dark."""
SIDE_IN = (4.9, 3.9)
"""Size of figures that are side by side, one a policy."""
_PAD_IN = 0.04167
"""Around everything, as the layout engine has it."""

_RC: dict[Any, Any] = {
    "font.size": 10.0,
    "axes.titlesize": 11.0,
    "axes.labelsize": 10.0,
    "xtick.labelsize": 9.0,
    "ytick.labelsize": 9.0,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.titlelocation": "left",
    "axes.unicode_minus": True,
    "svg.hashsalt": "netcosim",
}


def new_figure(
    width_in: float = 8.0,
    height_in: float = 4.5,
    rows: int = 1,
    columns: int = 1,
    *,
    share: bool = False,
) -> tuple[Figure, list[Axes]]:
    """Create a figure without global state, and return its axes row by row.

    A page shows eight inches at full width.
    """
    import matplotlib as mpl

    with mpl.rc_context(_RC):
        figure = Figure(figsize=(width_in, height_in), layout="constrained")
        FigureCanvasAgg(figure)
        axes: Any = figure.subplots(rows, columns, squeeze=False, sharex=share, sharey=share)
        for axis in axes.flat:
            axis.spines[["top", "right"]].set_visible(False)
            axis.set_axisbelow(True)
            # ticks and their labels reach further, and measuring spines measures those again
            axis.spines[:].set_in_layout(False)
    return figure, list(axes.flat)


def lay_out(figure: Figure) -> None:
    """Lay a figure out once: with an engine each drawing would do it again, and draw twice.

    The engine measures all texts twice. Single axes are moved by the space that theirs, and a
    legend above them, need at first.
    """
    if (engine := figure.get_layout_engine()) is None:
        return
    figure.set_layout_engine(None)
    if len(figure.axes) != 1:
        engine.execute(figure)
        return
    [axis], size, pad = figure.axes, figure.bbox.size, _PAD_IN * figure.dpi
    renderer: Any = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    outer: Any = axis.get_tightbbox(renderer, for_layout_only=True)
    low, high = axis.bbox.min - outer.min + pad, outer.max - axis.bbox.max + pad
    for legend in figure.legends:
        above: Any = legend.get_tightbbox(renderer)
        high[1] += above.height + 2 * pad
    if ((low + high) < size).all():
        axis.set_position((*(low / size), *(1 - (low + high) / size)))


def save_figure(figure: Figure, path: Path, form: str) -> Path:
    """Write a figure on white as one of `FORMS`, whole or not at all; same figure, same bytes."""
    import matplotlib as mpl

    lay_out(figure)
    given: Any = {"format": form, "metadata": {FORMS[form]: None}, "dpi": 160}
    with atomic_write(path) as part, mpl.rc_context({"svg.hashsalt": "netcosim"}):
        figure.savefig(part, facecolor="white", bbox_inches="tight", **given)
    return path


def colour(index: int) -> str:
    """Return the colour of the i-th series."""
    return COLOURS[index % len(COLOURS)]


def policy_colours(names: Sequence[str]) -> dict[str, str]:
    """Return the colour of each policy, in their order, on every figure and page of a config.

    Twelve have distinct colours; further ones share them, and differ in `dash` and `marker`.
    """
    return {name: colour(i) for i, name in enumerate(dict.fromkeys(names))}


def literal(name: object, most: int = 40) -> str:
    """Return a name as plain text of a figure: no formula, visible in legends, not too long."""
    text = str(name).encode(errors="backslashreplace").decode()
    text = text if len(text) <= most else f"{text[: most - 1]}…"
    return re.sub(r"^_", "\u200b_", text.replace("$", r"\$"))


def dash(index: int) -> str:
    """Return the line style of the i-th series; it changes after six series of distinct colours."""
    return DASHES[(2 * index // len(COLOURS)) % len(DASHES)]


def marker(index: int) -> str:
    """Return the marker of the i-th series."""
    return MARKERS[index % len(MARKERS)]


def grid(axis: Axes, which: str = "y") -> None:
    """Draw thin lines behind the marks."""
    axis.grid(axis=which, color=GRID, linewidth=0.7)  # type: ignore[arg-type]


def name_ticks(
    axis: Axes, at: Sequence[float], names: Iterable[str], *, slanted: bool = False
) -> None:
    """Write names at the bottom, slanted if level ones would overlap."""
    turned: dict[str, Any] = {"rotation": 30, "ha": "right"} if slanted else {}
    axis.set_xticks(at, list(names), **turned)


def shared_legend(figure: Figure, axes: Iterable[Axes], n_columns: int = 7) -> None:
    """Draw one legend above all panels, each name once, in as many columns as fit."""
    named = {
        name: handle
        for axis in axes
        for handle, name in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    if not named:
        return
    # At this size a letter takes 0.07 inches, a line with its gaps half an inch.
    fitting = int(figure.get_figwidth() / (0.5 + 0.07 * max(map(len, named))))
    figure.legend(
        list(named.values()),
        list(named),
        loc="outside upper left",
        ncols=max(1, min(len(named), n_columns, fitting)),
        frameon=False,
        fontsize=8,
    )


def distinct(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """Return names, numbered where they come again or are taken."""
    found: list[str] = []
    used = set(taken)
    for base in names:
        name, number = base, 2
        while name in used:
            name, number = f"{base}-{number}", number + 1
        found.append(name)
        used.add(name)
    return found
