"""Pages and figures: the numbers that are drawn, the text that fits, one file that is whole."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from markupsafe import Markup
from matplotlib.figure import Figure
from page_words import words

from experiments.kit.papers import Analysis, Options, Paper, PaperFigure
from experiments.kit.reproduce import claims_drawing, write_files
from netcosim.archive.extract import machine_of
from netcosim.report.effect import COMMUNICATION, RUN_TIME, WAIT, Effect, Quantity
from netcosim.report.figures.drawing import Drawing, Panel
from netcosim.report.figures.lines import cdf, over_time, running_mean, time_unit
from netcosim.report.figures.machine import gantt, link_heat_map, link_matrix, load_drawings
from netcosim.report.figures.policies import effect_bars, effect_dots, pair_matrix, waits_by_size
from netcosim.report.figures.run import wait_shares
from netcosim.report.figures.shapes import FIVE, boxes
from netcosim.report.figures.style import (
    COLOURS,
    ON_COLOUR,
    colour,
    dash,
    lay_out,
    marker,
    new_figure,
    policy_colours,
    shared_legend,
)
from netcosim.report.glossary import asset, marked, terms_in
from netcosim.report.page import Section, render_page, write_page
from netcosim.report.policies import print_table
from netcosim.report.svg import css_colour, figure_html
from netcosim.report.table import aligned, format_number, table_html
from netcosim.report.templates import part
from netsim.errors import NetcosimError
from netsim.topologies.registry import make_topology
from netsim.units import time_scale, title_and_unit

POLICIES = ["simple", "rdn", "rdg", "level-spread"]
PAINTS = policy_colours(POLICIES)
TWO = policy_colours(["c", "b", "a"])


def texts(figure: Figure) -> list[str]:
    from matplotlib.text import Text

    return [t.get_text() for t in figure.findobj(Text) if isinstance(t, Text) and t.get_text()]


def by_part(quantity: Quantity) -> list[Effect]:
    return [
        Effect(p, quantity, "simple", 10.0 * i, 10 * i - 9, 10 * i + 9, samples=9, part=part)
        for part in ("all-to-all on 2-8 nodes", "halo3d")
        for i, p in enumerate(POLICIES[1:])
    ]


@pytest.mark.parametrize("legend", [False, True])
def test_single_axes_are_where_the_engine_puts_them(legend: bool) -> None:
    """To a point, with half of the work; names that would leave nothing of the axes change none."""

    def drawn(label: str) -> Figure:
        figure, [axis] = new_figure(3.7, 2.5)
        axis.plot([0, 1000], [0, 2e5], label="mean")
        axis.set(xlabel="nodes", ylabel=label, title="waits")
        if legend:
            shared_legend(figure, [axis])
        return figure

    mine, other, full = drawn("wait (s)"), drawn("wait (s)"), drawn("\n".join("waits" * 9))
    lay_out(mine)
    engine: Any = other.get_layout_engine()
    engine.execute(other)
    found, expected = (figure.axes[0].get_window_extent() for figure in (mine, other))
    assert found.extents == pytest.approx(expected.extents, abs=mine.dpi / 72)
    before = full.axes[0].get_position().bounds
    lay_out(full)
    assert full.axes[0].get_position().bounds == before


def drawn_on(draw: Callable[..., None], *args: Any, legend: bool = True, **options: Any) -> Figure:
    panel = Panel(lambda axis: draw(axis, *args, **options))
    return Drawing("a", "A", [panel], size_in=(6.0, 4.0), legend=legend).draw()


def all_figures() -> dict[str, Figure]:
    rng = np.random.default_rng(1)
    topology = make_topology("dragonfly", {"p": 2, "a": 4, "g": 5})
    rows = [
        {"policy": policy, "kind": kind, "mean": 3.0} | dict(zip(FIVE, range(5), strict=True))
        for policy in POLICIES
        for kind in ("local", "global")
    ]
    x = np.linspace(0, 1e5, 50)
    return {
        "boxes": drawn_on(boxes, pd.DataFrame(rows), "kind", "policy"),
        "bars": drawn_on(effect_bars, by_part(COMMUNICATION), PAINTS),
        "runs": drawn_on(effect_bars, by_part(RUN_TIME), PAINTS),
        "heat": drawn_on(link_heat_map, machine_of(topology), rng.random(topology.n_links)),
        "gantt": drawn_on(
            gantt,
            np.array([0.0, 50.0]),
            np.array([100.0, 200.0]),
            np.array([0, 2, 3]),
            np.array([0, 5, 2], dtype=np.int32),
            np.array([2, 1, 2], dtype=np.int32),
            machine_nodes=8,
        ),
        "ratios": drawn_on(
            effect_dots,
            [
                *(Effect(p, WAIT, "a", 25.0 * i) for i, p in enumerate("cb")),
                Effect("b", COMMUNICATION, "a", -10.0, -20.0, 10.0, samples=9),
            ],
            TWO,
        ),
        "pairs": drawn_on(pair_matrix, ["a", "b"], {("a", "b"): ("-3 %", 1)}),
        "waits": drawn_on(
            waits_by_size, [1, 4, 4, 5000], {"a": [0, 60, 120, np.nan], "b": [0, 30, 30, 9]}, TWO
        ),
        "utilisation": drawn_on(
            over_time, dict.fromkeys(POLICIES, (x, x / 1000.0)), "nodes in use (%)", PAINTS
        ),
        "cdf": drawn_on(
            cdf, {p: rng.random(20) for p in POLICIES}, xlabel="time (s)", legend=False
        ),
    }


@pytest.fixture(scope="module")
def drawn() -> dict[str, Figure]:
    return all_figures()


def test_axes_tell_their_units(drawn: dict[str, Figure]) -> None:
    expected = {
        "boxes": ["local", "global", "rdg"],
        "bars": ["communication time, change from simple (%)", "level-spread"],
        "runs": ["run time, change from simple (%)", "all-to-all\n2-8 nodes"],
        "heat": ["sending router", "receiving router", "link busy (%)"],
        "gantt": ["time (s)", "node", "2-16"],
        "utilisation": ["time (hours)", "nodes in use (%)", "rdg"],
        "cdf": ["time (s)", "share of samples (%)"],
        "ratios": ["change from a (%)", "mean wait", "communication time", "b"],
        "waits": ["wait (minutes)", "2-8\n2", "more\n1", "b"],
    }
    for name, labels in expected.items():
        assert set(labels) <= set(texts(drawn[name])), name


def test_no_text_is_cut_off(drawn: dict[str, Figure]) -> None:
    """Every visible text lies inside its figure."""
    from matplotlib.text import Text

    for name, figure in drawn.items():
        figure.canvas.draw()
        renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
        page = figure.bbox
        for text in figure.findobj(Text):
            if not isinstance(text, Text) or not text.get_visible() or not text.get_text().strip():
                continue
            # Number labels of ticks beyond the limits exist but are not drawn.
            if re.fullmatch(r"[\d.,\N{MINUS SIGN}]+", text.get_text()):
                continue
            box = text.get_window_extent(renderer)
            corners = (box.x0 + 1, box.y0 + 1, page.x1 + 1 - box.x1, page.y1 + 1 - box.y1)
            assert min(corners) >= 0, (name, text.get_text())


def test_bars_have_the_given_heights(drawn: dict[str, Figure]) -> None:
    from matplotlib.patches import Rectangle

    heights = sorted(
        round(p.get_height(), 9) for p in drawn["bars"].axes[0].patches if isinstance(p, Rectangle)
    )
    assert heights == [0.0, 0.0, 10.0, 10.0, 20.0, 20.0]


def test_gantt_draws_one_block_a_run_of_nodes(drawn: dict[str, Figure]) -> None:
    from matplotlib.collections import PolyCollection

    [blocks] = drawn["gantt"].axes[0].findobj(PolyCollection)
    spans = [tuple(map(tuple, p.vertices[[0, 2]])) for p in blocks.get_paths()]  # type: ignore[union-attr]
    assert spans == [
        ((0.0, 0.0), (100.0, 2.0)),
        ((0.0, 5.0), (100.0, 6.0)),
        ((50.0, 2.0), (200.0, 4.0)),
    ]


def test_link_matrix_places_every_link() -> None:
    topology = make_topology("dragonfly", {"p": 2, "a": 4, "g": 5})
    values = np.arange(topology.n_links, dtype=float)
    matrix, block = link_matrix(machine_of(topology), values)
    assert (matrix.shape, block) == ((20, 20), 1)
    assert np.isfinite(matrix).sum() == topology.n_links - 2 * topology.n_nodes
    link = 2 * topology.n_nodes + 3
    row, column = topology.link_src[link] - 40, topology.link_dst[link] - 40
    assert matrix[row, column] == link
    small, block = link_matrix(machine_of(topology), values, cells=5)
    assert (small.shape, block) == ((5, 5), 4)
    assert np.nanmax(small) == topology.n_links - 1


def test_loads_of_links_are_maps_and_shares() -> None:
    topology = make_topology("dragonfly", {"p": 2, "a": 4, "g": 5})
    own = topology.n_links - 2 * topology.n_nodes
    # 100 % at nodes' own links, which are left out; 0, 1, ... between routers
    busy = np.concatenate([np.full(2 * topology.n_nodes, 100.0), np.arange(own)])
    load, shares = load_drawings(machine_of(topology), {"minimal": busy})
    assert (load.name, shares.name) == ("load-minimal", "link-loads")
    [line] = shares.draw().axes[0].get_lines()
    x, y = line.get_data()
    assert (min(x), max(x), max(y)) == (0, own - 1, 100)
    assert load_drawings(machine_of(topology), {}) == []


def test_short_waits_are_at_the_left_end() -> None:
    figure = drawn_on(wait_shares, {"a": np.array([0.0, 0.5, 3600.0, 7200.0, np.nan])}, {"a": "k"})
    [axis] = figure.axes
    x, y = axis.get_lines()[0].get_data()
    assert axis.get_xlabel() == "wait (hours; less than 1 s at the left)"
    assert list(x) == pytest.approx([1 / 3600, 1 / 3600, 1 / 3600, 1.0, 2.0])
    assert list(y) == [0, 25, 50, 75, 100]


def test_claims_are_drawn_over_the_papers_values() -> None:
    """12 (9 to 16) of 15, 5 of a range of 2 to 4; what a paper does not print is left out."""
    columns = ("claim", "condition", "paper", "paper_high", "simulated", "low", "high", "verdict")
    rows = [
        ("a", "ugal-l", 15.0, None, 12.0, 9.0, 16.0, "holds"),
        ("b", "", 2.0, 4.0, 5.0, None, None, "differs"),
        ("c", "", None, None, 0.56, None, None, "holds"),
    ]
    [drawing] = claims_drawing(pd.DataFrame(rows, columns=list(columns)))
    [axis] = drawing.draw().axes
    assert [t.get_text() for t in axis.get_yticklabels()] == ["a, ugal-l", "b"]
    dots = [line for line in axis.get_lines() if line.get_marker() == "o"]
    assert [list(dot.get_xdata()) for dot in dots] == [[0.8], [2.5]]
    assert [dot.get_color() for dot in dots] == [colour(0), colour(1)]
    assert claims_drawing(pd.DataFrame(rows[2:], columns=list(columns))) == []


def test_running_mean_keeps_the_area() -> None:
    x = np.array([0.0, 1.0, 3.0, 4.0])
    y = np.array([1.0, 0.0, 1.0, 0.0])
    times, means = running_mean(x, y, 8.0)
    middle = np.argmin(np.abs(times - 2.0))
    assert means[middle] == pytest.approx(0.5)
    assert running_mean(x, np.ones(4), 0.5)[1] == pytest.approx(np.ones(400))


def test_units_of_axes() -> None:
    assert time_unit(10 * 86400) == (86400.0, "days")
    assert time_unit(86400) == (3600.0, "hours")
    assert time_unit(100) == (1.0, "s")
    assert time_scale(3e-5) == (pytest.approx(1e6), "us")
    assert time_scale(0.0) == (1.0, "s")


# The page


class _Balance(HTMLParser):
    """Open and closed tags, and what the page would load."""

    VOID = frozenset({"meta", "img", "br", "link"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        found = dict(attrs)
        if found.get("id"):
            self.ids.append(str(found["id"]))
        self.loads += [str(v) for k, v in attrs if k in ("src", "href")]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


NASTY = "<img src=x onerror=1>"


def page() -> str:
    table = pd.DataFrame({"policy": ["a<b", None, NASTY], "mean_wait_s": [1234.5678, np.nan, 3]})
    figure = drawn_on(cdf, {"a": [1.0, 2.0], NASTY: [3.0]}, xlabel="time (s)")
    sections = [
        Section("Waits", "The waits.\n\nTwo <script>.", table),
        Section("Waits", figure=figure, caption='A "figure"'),
        Section(NASTY, NASTY, folded=True),
    ]
    return render_page("A & B", "Lead.", sections, config="[run]\nseed = 1", seeds={"run": 1})


def test_page_is_whole_and_loads_nothing() -> None:
    text = page()
    reader = _Balance()
    reader.feed(text)
    assert reader.open == []
    assert all(x.startswith(("data:image/", "#")) for x in reader.loads)
    linked = {x[1:] for x in reader.loads if x[0] == "#"}
    assert {"waits", "waits-2", "again", "glossary", "main"} <= linked <= set(reader.ids)
    assert len(reader.ids) == len(set(reader.ids))
    assert "http" not in text.replace("http-equiv", "")
    assert "<script>." not in text
    assert "<img" not in text
    assert "A &amp; B" in text
    assert "Two &lt;script&gt;" in text
    assert "[run]\nseed = 1" in text
    assert "prefers-color-scheme: dark" in text
    assert 'name="viewport"' in text


def test_figures_follow_the_pages_colours(drawn: dict[str, Figure]) -> None:
    """No ink, ground or font of matplotlib's is left, and no colour but a policy's."""
    for name, figure in drawn.items():
        text = figure_html(figure, name, "Title", "Words")
        assert "<title>Title</title><desc>Words</desc>" in text
        assert 'role="img"' in text
        assert "var(--ink)" in text
        assert "DejaVu" not in text
        assert " text-anchor: " in text
        own = {c.lower() for c in (*COLOURS, ON_COLOUR)}
        assert set(re.findall(r"#[0-9a-f]{6}\b", text)) <= own, name
        ids = re.findall(r' id="([^"]+)"', text)
        used = re.findall(r"(?:url\(|href=\")#([^)\"]+)", text)
        assert all(i.startswith(f"{name}-") for i in ids)
        assert set(used) == set(ids)


@pytest.mark.parametrize("colour", ["#0000cd", "#0000ff", "#000080", "#8b0000", "#1a1a1a"])
def test_colours_of_papers_stand_out_in_the_dark(colour: str) -> None:
    told = css_colour(colour)
    light, dark = re.findall(r"#[0-9a-f]{6}", told)
    assert light == colour
    assert 3 <= contrast(dark, "#14181d") < 3.5
    assert told.startswith("light-dark(")
    assert css_colour("#ffcc00") == "#ffcc00"
    assert all(css_colour(own.lower()) == own.lower() for own in COLOURS)


def test_a_figure_is_the_same_twice() -> None:
    twice = [figure_html(all_figures()["utilisation"], "a", "T") for _ in range(2)]
    assert twice[0] == twice[1]


def test_text_and_lines_stand_out_from_the_ground() -> None:
    """Both schemes of the style sheet, and the printed one."""
    sheet = asset("page.css")
    schemes = [
        dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", rules))
        for rules in re.findall(r":root \{([^}]*)\}", sheet)
    ]
    assert len(schemes) == 3
    assert all(scheme.keys() == schemes[0].keys() for scheme in schemes)
    for scheme in schemes:
        for ground in ("page", "stripe", "raised"):
            for ink in ("ink", "soft", "link"):
                assert contrast(scheme[ink], scheme[ground]) >= 4.5, (ink, ground)
        for paint in COLOURS:
            assert contrast(paint, scheme["page"]) >= 3


def test_numbers_stand_right_and_units_in_the_head() -> None:
    html = table_html(pd.DataFrame({"policies": ["a"], "mean_wait_s": [1234.5678], "n_nodes": 7}))
    assert '<th scope="col" class="number"><span><abbr class="term" tabindex="0" data-term' in html
    assert '>mean wait</abbr></span><span class="unit">min</span></th>' in html
    assert re.search(r'<td class="number" data-value="20.576[0-9]*">20.6</td>', html)
    assert '<td class="number">7</td>' in html
    assert "<td>a</td>" in html
    assert title_and_unit("message_bytes") == ("message", "bytes")
    assert title_and_unit("policy") == ("policy", "")


@pytest.mark.parametrize(
    ("seconds", "unit", "text"),
    [(3e-5, "us", "30"), (0.5, "s", "0.500"), (100.0, "s", "100"), (600.0, "min", "10"),
     (36000.0, "h", "10"), (864000.0, "d", "10")],
)  # fmt: skip
def test_times_have_the_unit_in_which_they_read_well(seconds: float, unit: str, text: str) -> None:
    html = table_html(pd.DataFrame({"job": ["a"], "run_s": [seconds]}))
    assert f'<span class="unit">{unit}</span>' in html
    assert re.search(rf"<td[^>]*>{re.escape(text)}(?:\.0)?</td>", html)


def test_an_interval_is_in_the_column_of_its_value() -> None:
    rows = {
        "policy": ["a", "b"],
        "wait_s": [600.0, 1200.0], "wait_low_s": [300.0, None], "wait_high_s": [900.0, None],
        "saved_percent": [1.0, 2.5], "saved_percent_low": [0.5, 2.0],
        "saved_percent_high": [1.5, 3.0],
    }  # fmt: skip
    html = table_html(pd.DataFrame(rows))
    assert re.findall(r"<td[^>]*>([^<]*)</td>", html.replace("\u00a0", " ")) == [
        *("a", "10 (5 to 15)", "1 (0.500 to 1.50)", "b", "20", "2.50 (2 to 3)"),
    ]


def test_the_screen_has_the_table_of_the_page() -> None:
    """14,400 s are 4 h; letters are those of any terminal."""
    rows = [
        {"policy": "a", "wait_s": 14400.0, "change_percent": -2.5},
        {"policy": "longer", "wait_s": None, "change_percent": 0.0},
    ]
    assert print_table(rows).splitlines() == [
        "policy  wait (h)  change (%)",
        "a              4       -2.50",
        "longer         -           0",
    ]
    assert aligned([["", "a", "b"], ["", "cc", "d"]], left=2) == ["a   b", "cc  d"]


def test_of_many_columns_eight_are_shown_and_all_are_folded() -> None:
    columns = {f"c{i}": [i + 1, -i] for i in range(9)}
    wide = pd.DataFrame({"key": ["a", "b"], "same": [7, 7]} | columns)
    shown, folded = table_html(wide).split("<details>")
    heads = re.findall(r"<th [^>]*><span>(\w+)</span>", shown)
    # what is the same in all rows is the first to go
    assert heads == ["key", *(f"c{i}" for i in range(7))]
    assert "All 11 columns" in folded
    assert folded.count("<th ") == 11


def test_a_term_is_explained_where_it_first_stands() -> None:
    html = marked("Waits & mean waits; awaits. bounded slowdown, slowdown.x <b>")
    assert html.count("<abbr") == 2
    assert 'title="From submission to start.">Waits</abbr> &amp; mean waits; awaits.' in html
    assert ">bounded slowdown</abbr>, slowdown.x &lt;b&gt;" in html
    [(first, meaning), _] = terms_in(html)
    assert first == "bounded slowdown"
    assert meaning.startswith("Turnaround over run time")
    assert terms_in("nothing") == []


def test_no_word_stands_for_two_terms() -> None:
    entries = tomllib.loads(asset("glossary.toml")).values()
    words = [word for entry in entries for word in entry["words"]]
    assert len(words) == len(set(words))
    assert all(entry["text"].endswith(".") for entry in entries)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234567, "1,234,567"),
        (0.123456, "0.1235"),
        (12.3456, "12.35"),
        (123456.7, "123,457"),
        (1.5e9 + 0.5, "1.500e+09"),
        (1e-7, "1.000e\N{MINUS SIGN}07"),
        (-2.5, "\N{MINUS SIGN}2.500"),
        (float("nan"), "\N{EN DASH}"),
        (0.0, "0"),
        (100.0, "100"),
    ],
)
def test_numbers_as_readers_want_them(value: float, text: str) -> None:
    assert format_number(value) == text


def test_page_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = write_page(tmp_path / "p.html", page())
    assert path.read_text(encoding="utf-8").endswith("</html>\n")
    with pytest.raises(NetcosimError, match="cannot be written"):
        write_page(tmp_path / "no" / "p.html", "x")
    assert [p.name for p in tmp_path.iterdir()] == ["p.html"]


# Colours


def _luminance(colour: str) -> float:
    """Relative luminance of #rrggbb (WCAG 2.2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(a: str, b: str) -> float:
    """Contrast ratio of two colours (WCAG 2.2): 21 between black and white."""
    high, low = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_every_policy_stands_out_on_both_grounds() -> None:
    names = [f"p{i}" for i in range(12)]
    colours = policy_colours(names)
    assert list(colours) == names
    assert len(set(colours.values())) == 12
    for paint in colours.values():
        assert contrast(paint, "#ffffff") >= 3
        assert contrast(paint, "#14181d") >= 3


def test_a_policys_colour_follows_its_place_in_the_config() -> None:
    assert policy_colours(["b", "a"])["b"] == policy_colours(["b"])["b"] == COLOURS[0]
    looks = [(colour(i), marker(i)) for i in range(40)]
    lines = [(colour(i), dash(i)) for i in range(24)]
    assert len(set(looks)) == 40
    assert len(set(lines)) == 24


def test_a_fragment_and_what_it_needs_go_in_as_they_are() -> None:
    text = render_page(
        "A",
        "",
        [Section("S", html=Markup("<canvas></canvas>"))],
        scripts=["let a = 1 < 2;"],
        styles=["i{}"],
    )
    assert "<canvas></canvas></section>" in text
    assert "<script>\nlet a = 1 < 2;\n</script></body>" in text
    assert "i{}</style>" in text


def test_no_template_takes_text_as_html() -> None:
    """Text is escaped wherever it comes from; `Markup` alone is not, and no template makes any."""
    source = asset("../templates/parts.html")
    assert not re.search(r"\|\s*safe|autoescape", source)
    assert part("what_next", NASTY, NASTY).count("&lt;img src=x onerror=1&gt;") == 5
    assert NASTY not in part("section", "a", NASTY, Markup("<p>") + NASTY, False)


def test_a_reproduced_figure_begins_with_its_verdict_and_ends_with_its_command(
    tmp_path: Path,
) -> None:
    claims = pd.DataFrame(
        {"claim": ["a", "b"], "where": "", "condition": "", "verdict": ["holds", "differs"]}
    )
    analysis = Analysis(claims, {})
    figure = PaperFigure("fig5", "waits", "m:f", lambda options: [], lambda *_: analysis)
    paper = Paper("p", "A paper", {"fig5": figure}, lambda options: None)
    options = Options("quick", ("minimal",), settings={"logs": "my logs", "nodes": "8"})
    files = write_files(tmp_path, paper, figure, analysis, options)
    page = words(files[-1].read_text(encoding="utf-8"))
    assert page.index("1 of 2 claims hold at a smaller scale than the paper's.") < page.index(
        "A paper: waits."
    )
    command = (
        "netcosim reproduce p fig5 --scale quick --routing minimal --logs 'my logs' --set nodes=8"
    )
    assert command in page.partition("Reproduce")[2]
