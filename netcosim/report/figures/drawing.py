"""A drawing of one or several panels: on a page each panel for itself, in a file all together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netcosim.report.figures.style import distinct, grid, literal, new_figure, shared_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    draw: Callable[[Axes], None]
    words: str = ""
    """What it shows, for those who cannot see it."""


@dataclass(frozen=True)
class Drawing:
    """Panels of one kind."""

    name: str
    """Of its file, without an ending."""
    title: str
    caption: str
    panels: tuple[Panel, ...]
    size_in: tuple[float, float] = (3.7, 2.5)
    """(width, height) of a panel, inches."""
    columns: int = 3
    """Panels side by side in a file."""
    legend: bool = True
    """Whether a file has a legend; a page has one for all its drawings."""
    lines: str = "y"
    """Which lines of the grid are drawn: "x", "y", "both" or none."""

    def panel(self, number: int) -> Figure:
        """Draw one panel."""
        figure, [axis] = new_figure(*self.size_in)
        self._fill(axis, self.panels[number])
        return figure

    def draw(self) -> Figure:
        """Draw all panels, and the legend."""
        from netcosim.report.figures.panels import panel_grid

        top_in = 0.4 if self.legend else 0.0
        figure, axes = panel_grid(len(self.panels), self.columns, self.size_in, top_in=top_in)
        for axis, panel in zip(axes, self.panels, strict=True):
            self._fill(axis, panel)
        if self.legend:
            shared_legend(figure, axes)
        return figure

    def _fill(self, axis: Axes, panel: Panel) -> None:
        panel.draw(axis)
        axis.set_title(literal(panel.title, 60), fontsize=9)
        if self.lines:
            grid(axis, self.lines)


def safe_name(text: str) -> str:
    """Return a valid file name on any system: letters, digits, "-", "_" and "." inside.

    Examples
    --------
    >>> safe_name("../Turn around (h)"), safe_name("a/b.svg"), safe_name("..")
    ('turn-around-h', 'a-b.svg', 'unnamed')
    """
    name = re.sub(r"\.{2,}", "-", re.sub(r"[^a-z0-9_.]+", "-", text.lower()))
    return re.sub(r"-{2,}", "-", name).strip(".-")[:80].rstrip(".-") or "unnamed"


def safe_names(texts: Iterable[str]) -> list[str]:
    """Return `safe_name` of each, numbered where it comes again."""
    return distinct(map(safe_name, texts))
