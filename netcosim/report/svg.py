"""Figures as SVG within the page: text stays text, ink and ground follow the page's colours."""

from __future__ import annotations

import colorsys
import io
import re
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from netcosim.report.figures.style import GRID, INK, SOFT, lay_out
from netcosim.report.templates import part

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VARIABLES = {INK: "ink", SOFT: "soft", GRID: "grid", "#ffffff": "page", "#000000": "ink"}
"""Colours of a figure that are the page's, and the style sheet's names of them."""

DARKEST = 0.128
"""Luminance with a contrast of 3 to the dark page; every policy has more."""

_RASTER_DPI = 144
_TAG = re.compile(r"<[^<>]+>")
# older versions of matplotlib have size and family in one
_FAMILY = re.compile(r"font-family: [^;\"]*;? ?|font: (?:\w+ )*(?=[\d.]+px)|(?<=px) '[^;\"]*")


def figure_html(
    figure: Figure, name: str, title: str, words: str = "", caption: str = ""
) -> Markup:
    """Return a figure with its caption below it as HTML.

    ``name`` is the prefix of all ids: another one for each figure of a page. Title and words, by
    default the caption, are read to those who cannot see it.
    """
    import matplotlib as mpl

    lay_out(figure)
    buffer = io.StringIO()
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "netcosim"}
    with mpl.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # the reader has other fonts
        metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(buffer, format="svg", dpi=_RASTER_DPI, transparent=True, metadata=metadata)
    drawn = buffer.getvalue()
    wide, high = (72 * float(inches) for inches in figure.get_size_inches())
    inside = re.sub(r"<(metadata|style)\b.*?</\1>", "", drawn[drawn.index("<svg") :], flags=re.S)
    inside = inside[inside.index(">") + 1 :]
    used = set(re.findall(r"(?:url\(|href=\")#([^)\"]+)", inside))
    drawing = _TAG.sub(lambda tag: _prefixed(tag[0], name, used), inside).strip()
    box = f"0 0 {wide:g} {high:g}"
    return part(
        "figure", f"{wide / 0.75:.0f}", box, title, words or caption, caption, Markup(drawing)
    )


def _prefixed(tag: str, name: str, used: set[str]) -> str:
    """Return a tag of matplotlib's with the page's font, colours and names, and short numbers."""
    tag = re.sub(
        r' id="([^"]*)"', lambda m: f' id="{name}-{m[1]}"' if m[1] in used else "", tag
    ).replace("xlink:href", "href")
    if "data:image" in tag:
        return tag
    tag = re.sub(r"(url\(|href=\")#", rf"\1#{name}-", tag)
    tag = re.sub(r"(\.\d\d)\d+", r"\1", tag)
    tag = _FAMILY.sub(lambda m: "font-size: " if m[0].startswith("font: ") else "", tag)
    return " ".join(re.sub(r"(?<=: )#[0-9a-f]{6}\b", lambda m: css_colour(m[0]), tag).split())


@cache
def css_colour(colour: str) -> str:
    """Return a colour's form on a page: the page's own, or lighter in dark mode if too dark."""
    if colour in VARIABLES:
        return f"var(--{VARIABLES[colour]})"
    hue, light, strong = colorsys.rgb_to_hls(*(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)))
    lighter = colour
    while _luminance(lighter) < DARKEST and light < 1:
        light += 0.02
        red, green, blue = colorsys.hls_to_rgb(hue, min(light, 1.0), strong)
        lighter = "#" + "".join(f"{round(255 * part):02x}" for part in (red, green, blue))
    return colour if lighter == colour else f"light-dark({colour}, {lighter})"


def _luminance(colour: str) -> float:
    """Return the relative luminance of #rrggbb (WCAG 2.2)."""
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
