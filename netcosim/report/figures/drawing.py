"""A drawing of one or several panels: on a page each panel for itself, in a file all together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from netcosim.report.figures.style import (
    distinct,
    grid,
    literal,
    new_figure,
    save_figure,
    shared_legend,
)
from netsim.atomic_files import make_folder

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Form = Literal["svg", "pdf", "png"]
_LEGEND_IN = 0.4


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    draw: Callable[[Axes], None]
    title: str = ""
    words: str = ""
    """What it shows, for those who cannot see it."""


@dataclass(frozen=True)
class Drawing:
    """Panels of one kind."""

    name: str
    """Of its file, without an ending."""
    title: str
    """What it shows: a heading, and read to those who cannot see it."""
    panels: Sequence[Panel]
    caption: str = ""
    size_in: tuple[float, float] = (3.7, 2.5)
    """(width, height) of a panel, inches."""
    columns: int = 3
    """Panels side by side in a file."""
    legend: bool = True
    """Whether it has a legend; on a page whose section has one it has none."""
    lines: str = "y"
    """Which lines of the grid are drawn: "x", "y", "both" or none."""
    share: bool = False
    """Whether all panels have the same limits."""

    def figure(self, number: int, *, legend: bool = False) -> Figure:
        """Draw one panel."""
        return self._drawn(self.panels[number : number + 1], legend=legend and self.legend)

    def draw(self) -> Figure:
        """Draw all panels, and the legend."""
        return self._drawn(self.panels, legend=self.legend)

    def _drawn(self, panels: Sequence[Panel], *, legend: bool) -> Figure:
        wide = min(self.columns, len(panels))
        rows = -(-len(panels) // wide)
        figure, axes = new_figure(
            self.size_in[0] * wide,
            self.size_in[1] * rows + _LEGEND_IN * legend,
            rows,
            wide,
            share=self.share,
        )
        for axis in axes[len(panels) :]:
            axis.set_visible(False)
        for axis, panel in zip(axes, panels, strict=False):
            panel.draw(axis)
            # at a height of its own, which is not looked for at each look at the axes
            axis.set_title(literal(panel.title, 60), fontsize=9, y=1.0)
            if self.lines:
                grid(axis, self.lines)
        if legend:
            shared_legend(figure, axes[: len(panels)])
        return figure


def write_figures(
    figures: Iterable[tuple[str, Callable[[], Figure]]], folder: Path, form: Form
) -> list[Path]:
    """Write figures to ``folder/NAME.FORM``, drawn one after the other; return the paths."""
    found = list(figures)
    if found:
        make_folder(folder)
    return [
        save_figure(draw(), folder / f"{name}.{form}", form)
        for name, (_, draw) in zip(safe_names(name for name, _ in found), found, strict=True)
    ]


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
