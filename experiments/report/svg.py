"""Figures as SVG within the page: text stays text, ink and ground follow the page's colours."""

from __future__ import annotations

import html
import io
import re
import warnings
from typing import TYPE_CHECKING, Any

from experiments.figures.style import GRID, INK, SOFT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VARIABLES = {INK: "ink", SOFT: "soft", GRID: "grid", "#ffffff": "page", "#000000": "ink"}
"""Colours of a figure that are the page's, and the style sheet's names of them."""

_TAG = re.compile(r"<[^<>]+>")
# older versions of matplotlib have size and family in one
_FAMILY = re.compile(r"font-family: [^;\"]*;? ?|font: (?:\w+ )*(?=[\d.]+px)|(?<=px) '[^;\"]*")


def figure_html(figure: Figure, name: str, title: str, caption: str = "", dpi: int = 144) -> str:
    """A figure with its caption as HTML.

    Parameters
    ----------
    figure : Figure
    name : str
        Prefix of all ids: another one for each figure of a page.
    title, caption : str
        What those are told who cannot see it; the caption stands below it, too.
    dpi : int
        Of the parts that are rasterised.
    """
    import matplotlib as mpl

    buffer = io.StringIO()
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "netcosim"}
    with mpl.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # the reader's fonts count, not ours
        metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(buffer, format="svg", dpi=dpi, transparent=True, metadata=metadata)
    drawn = buffer.getvalue()
    wide, high = (72 * float(inches) for inches in figure.get_size_inches())
    inside = re.sub(r"<(metadata|style)\b.*?</\1>", "", drawn[drawn.index("<svg") :], flags=re.S)
    inside = inside[inside.index(">") + 1 :]
    used = set(re.findall(r"(?:url\(|href=\")#([^)\"]+)", inside))
    words = f"<title>{html.escape(title)}</title><desc>{html.escape(caption or title)}</desc>"
    shown = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
    return (
        f'<figure><div class="drawing" style="--wide: {wide / 0.75:.0f}px">'
        f'<svg role="img" viewBox="0 0 {wide:g} {high:g}">{words}'
        f"{_TAG.sub(lambda tag: _ours(tag[0], name, used), inside).strip()}</div>{shown}</figure>"
    )


def _ours(tag: str, name: str, used: set[str]) -> str:
    """A tag of matplotlib's with the page's font, colours and names, and short numbers."""
    tag = re.sub(
        r' id="([^"]*)"', lambda m: f' id="{name}-{m[1]}"' if m[1] in used else "", tag
    ).replace("xlink:href", "href")
    if "data:image" in tag:
        return tag
    tag = re.sub(r"(url\(|href=\")#", rf"\1#{name}-", tag)
    tag = re.sub(r"(\.\d\d)\d+", r"\1", tag)
    tag = _FAMILY.sub(lambda m: "font-size: " if m[0].startswith("font: ") else "", tag)
    for colour, variable in VARIABLES.items():
        tag = tag.replace(f": {colour}", f": var(--{variable})")
    return " ".join(tag.split())
