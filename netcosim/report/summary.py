"""One page to forward: the recommendation, the main figure and the main table, as PDF or PNG."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netcosim.report.figures.style import INK, SOFT, literal, new_figure, save_figure
from netcosim.report.page import Section, figures_of
from netcosim.report.recommendation import Recommendation
from netcosim.report.table import shown_texts
from netsim.atomic_files import need_regular
from netsim.errors import NetcosimError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_IN, HEIGHT_IN = 8.27, 11.69
MOST_ROWS, MOST_LETTERS = 14, 26
_SUMMARIES = (".pdf", ".png")
_COLUMNS = 108
"""Letters of a line of text."""


def check_summary(path: Path) -> None:
    """Refuse what cannot become a summary, before anything is computed."""
    if path.suffix not in _SUMMARIES:
        raise NetcosimError(f"{path}: the name must end in {' or '.join(_SUMMARIES)}")
    need_regular(path)


def write_summary(
    path: Path, title: str, answer: Recommendation, sections: Sequence[Section]
) -> Path:
    """Write a page of A4 with the first figure and the first table of some sections."""
    drawn = next((one for one in sections if one.figure is not None or one.drawings), None)
    tabled = next((one for one in sections if one.table is not None), None)
    figure, [text, picture, table] = new_figure(WIDTH_IN, HEIGHT_IN, 3, 1)
    figure.set_layout_engine("none")
    for axis in (text, picture, table):
        axis.axis("off")
    bottom = _write_text(text, title, answer)
    if drawn is not None:
        [(_, draw), *_] = figures_of([drawn])
        [caption, *_] = [one.caption or one.title for one in drawn.drawings] or [drawn.caption]
        bottom = _draw(picture, draw(), caption or drawn.title, bottom)
    if tabled is not None and tabled.table is not None:
        _tabulate(table, tabled, bottom)
    return save_figure(figure, path, path.suffix.removeprefix("."))


def _write_text(axis: Axes, title: str, answer: Recommendation) -> float:
    """Write the recommendation from the top; return where it ends, as a share of the height."""
    axis.set_position((0.0, 0.0, 1.0, 1.0))
    lines: list[tuple[str, dict[str, Any]]] = [(title, {"fontsize": 15, "color": SOFT})]
    lines += [(sentence, {"fontsize": 13, "fontweight": "bold"}) for sentence in answer.head]
    lines += [(f"{name}: {text}", {"fontsize": 9.5}) for name, text in answer.limits]
    y = 0.96
    for content, style in lines:
        per_line = round(_COLUMNS * 9.5 / style["fontsize"])
        wrapped = textwrap.wrap(literal(content, 10_000), per_line)
        axis.text(0.07, y, "\n".join(wrapped), va="top", linespacing=1.3, **{"color": INK, **style})
        y -= (len(wrapped) * 1.3 * style["fontsize"] / 72 + 0.12) / HEIGHT_IN
    return y


def _draw(axis: Axes, figure: Figure, caption: str, top: float) -> float:
    """Draw a figure as wide as the page, at most a third of it high; return where it ends."""
    import matplotlib.image as mpl_image

    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=220, facecolor="white", bbox_inches="tight")
    buffer.seek(0)
    pixels = mpl_image.imread(buffer)
    high, wide = map(float, pixels.shape[:2])
    width = min(0.86, 0.36 * HEIGHT_IN * wide / high / WIDTH_IN)
    height = width * WIDTH_IN * high / wide / HEIGHT_IN
    axis.set_position((0.07, top - height, width, height))
    axis.imshow(pixels, aspect="auto", interpolation="antialiased")
    wrapped = "\n".join(textwrap.wrap(literal(caption, 10_000), 110))
    axis.set_title(wrapped, y=-0.02, va="top", fontsize=8, color=SOFT, loc="left")
    return top - height - 0.05


def _tabulate(axis: Axes, section: Section, top: float) -> None:
    """Draw the first columns and rows of a table, down to the end of the page at most."""
    from matplotlib.transforms import Bbox

    assert section.table is not None
    heads, *rows = shown_texts(section.table[:MOST_ROWS])
    height = min(0.021 * (len(rows) + 1.4), top - 0.05)
    axis.set_position((0.07, top - height, 0.86, height))
    drawn = axis.table(
        [[literal(text, MOST_LETTERS) for text in row] for row in rows],
        colLabels=[literal(head, MOST_LETTERS) for head in heads],
        cellLoc="right",
        edges="horizontal",
        bbox=Bbox.unit(),
    )
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(7.5)
    drawn.auto_set_column_width(list(range(len(heads))))
    axis.set_title(section.title, fontsize=10, loc="left", color=INK)
