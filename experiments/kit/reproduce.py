"""Computes a figure's points, analyses and draws it, and writes tables and drawing."""

from __future__ import annotations

import math
import shlex
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from experiments.kit.papers import (
    Analysis,
    Options,
    Paper,
    PaperFigure,
    Reproduction,
    load_paper,
)
from experiments.kit.readings import side_by_side, which_fits
from experiments.kit.results import read_tables, write_tables
from netcosim.report.figures.drawing import Drawing, Panel
from netcosim.report.figures.style import INK, SOFT, colour, literal, save_figure
from netcosim.report.page import FEW_ROWS, Section, long_table, render_page, write_page
from netcosim.report.recommendation import Recommendation
from netcosim.runs.frames import frames_of
from netcosim.runs.sweep import run_points
from netsim.errors import NetcosimError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MOST_CLAIMS = 40
CLAIMS = (
    "Paper: what the paper prints, up to paper high where it prints a range; a dash: it prints no "
    "number. Expected: from theory, another program or another run. Simulated: with its 95 % "
    "bootstrap interval, where there is one. Rule: when a claim counts as holding."
)


def reproduce(
    paper: str,
    figure: str,
    *,
    out_dir: str | Path,
    jobs: int = 1,
    executor: str = "",
    options: Options | None = None,
    progress: bool = True,
    form: str = "png",
) -> Reproduction | None:
    """Reproduce a figure of a paper; MPI ranks other than 0 get None.

    Results go into ``out_dir/<paper>.sqlite``, where points stay: what is stored is not
    computed again. The other files are ``<figure>-<table>.csv``,
    ``<figure>.<form>`` and ``<figure>.html``; settings other than the defaults are in their names.
    """
    published = load_paper(paper)
    chosen = published.figure(figure)
    options = options or Options()
    published.check(options)
    points = chosen.points(options)
    folder = Path(out_dir)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{paper}.sqlite"
    compute = partial(
        run_points,
        store=path,
        jobs=jobs,
        executor=executor,
        progress=progress,
        retry_failed=True,
        meta={"paper": paper, "title": published.title},
    )
    summaries = [compute(chosen.function, points)]
    if chosen.then is not None:
        # MPI ranks other than 0 only lend a hand
        more = []
        if summaries[0] is not None:
            more = chosen.then.points(frames_of(read_tables(path, points)), options)
        summaries.append(compute(chosen.then.function, more))
        points = [*points, *more]
    done = [summary for summary in summaries if summary is not None]
    if not done:
        return None
    failed = tuple(pair for summary in done for pair in summary.failed)
    frames = frames_of(read_tables(path, points))
    if not frames:
        first = failed[0][1] if failed else "no points"
        raise NetcosimError(f"{paper} {figure}: no point could be computed: {first}")
    analysis = chosen.analyse(frames, options)
    return Reproduction(
        figure=chosen,
        analysis=analysis,
        files=write_files(folder, published, chosen, analysis, options, form),
        failed=failed,
        seconds=sum(summary.seconds for summary in done),
        computed=sum(summary.computed for summary in done),
    )


def _settings_in_name(options: Options) -> list[str]:
    """Return the settings that identify results; the folder of logs is not one of them."""
    return [f"{key}={value}" for key, value in options.settings.items() if key != "logs"]


def _command(paper: str, figure: str, options: Options) -> str:
    """Return the command that reproduces a figure with these options."""
    words = ["netcosim", "reproduce", paper, figure]
    for name in ("scale", "measure", "seed"):
        value = getattr(options, name)
        words += [] if value == getattr(Options(), name) else [f"--{name}", str(value)]
    words += [word for name in options.routings for word in ("--routing", name)]
    for key, value in options.settings.items():
        words += ["--logs", value] if key == "logs" else ["--set", f"{key}={value}"]
    return shlex.join(words)


def write_files(
    folder: Path,
    paper: Paper,
    figure: PaperFigure,
    analysis: Analysis,
    options: Options,
    form: str = "png",
) -> tuple[Path, ...]:
    """Write the tables as CSV, the drawing and all as one HTML page; their paths."""
    stem = "-".join(
        [paper.name, figure.name, *([] if options.scale == "full" else [options.scale])]
    )
    stem = "-".join([stem, *options.routings, *_settings_in_name(options)])
    stem += f"-{options.measure}" if options.measure else ""
    tables = {"claims": analysis.claims, **analysis.tables}
    files = write_tables(folder, {f"{stem}-{name}": table for name, table in tables.items()})
    sections = page_sections(paper, figure, analysis, options)
    drawn = next((one.figure for one in sections if one.figure is not None), None)
    if drawn is not None:
        files.append(save_figure(drawn, folder / f"{stem}.{form}", form))
    page = render_page(
        f"{paper.name} {figure.name}",
        "",
        sections,
        command=_command(paper.name, figure.name, options),
        seeds={"seed": options.seed},
    )
    files.append(write_page(folder / f"{stem}.html", page))
    return tuple(files)


def page_sections(
    paper: Paper, figure: PaperFigure, analysis: Analysis, options: Options
) -> list[Section]:
    """Return the sections of a figure's page: which claims hold, the drawing, the tables."""
    claims = side_by_side(analysis.claims, figure.readings)
    smaller = " at a smaller scale than the paper's" if options.quick else ""
    answer = Recommendation(
        f"{which_fits(claims, figure.readings)}{smaller}.",
        (),
        f"{paper.title}: {figure.description}.",
        "The same at the paper's size: --scale full." if options.quick else "",
    )
    read = {name for claim in claims for name in claim.rows}
    readings = [f"{r.name}: {r.description}" for r in figure.readings if r.name in read]
    sections = [replace(answer.section(), title="Results")]
    if notes := [*readings, *analysis.notes]:
        sections.append(Section("Setup", sentences=notes))
    if figure.draw is not None:
        drawn = figure.draw(analysis, options)
        sections.append(Section("Figure", figure=drawn, caption=figure.description))
    ends = {"low": "simulated_low", "high": "simulated_high"}
    table = analysis.claims.dropna(axis=1, how="all").rename(columns=ends)
    sections.append(Section("Claims", CLAIMS, table, drawings=claims_drawing(analysis.claims)))
    for name, table in analysis.tables.items():
        title = name.replace("_", " ")
        sections.append(long_table(title, table, folded=len(table) > FEW_ROWS))
    return sections


def claims_drawing(claims: pd.DataFrame) -> list[Drawing]:
    """Return the simulated values over the paper's, a line a claim that has a printed number."""
    numbers = claims.dropna(subset=[c for c in ("paper", "simulated") if c in claims])
    rows = [row for row in numbers.to_dict("records") if row.get("paper")][:MOST_CLAIMS]
    if not rows:
        return []
    title = "Simulated values over the paper's, a line a claim."
    caption = (
        "Black: the paper's value or range. Blue: the claim holds; orange: it differs. Lines: 95 % "
        "bootstrap intervals."
    )
    size = (7.5, 0.8 + 0.3 * len(rows))
    panel = Panel(partial(_draw_claims, rows=rows))
    return [Drawing("claims", title, [panel], caption, size, legend=False, lines="x")]


def _draw_claims(axis: Axes, rows: Sequence[Mapping[Hashable, Any]]) -> None:
    axis.axvline(1.0, color=SOFT, linewidth=0.8)
    for y, row in enumerate(rows):
        paint = colour(0 if row["verdict"] == "holds" else 1)
        value, low, high, top = (
            float(row[name]) / float(row["paper"]) if row[name] else math.nan
            for name in ("simulated", "low", "high", "paper_high")
        )
        axis.hlines(y, 1.0, 1.0 if math.isnan(top) else top, color=INK, linewidth=4)
        axis.plot([1.0], [y], "|", color=INK, markersize=9)
        axis.hlines(y, low, high, color=paint, linewidth=1.6)
        axis.plot([value], [y], "o", color=paint, markersize=5)
    names = [", ".join(filter(None, (row["claim"], row["condition"]))) for row in rows]
    if len({row["claim"] for row in rows}) == 1 and len(rows) > 1:
        names = [str(row["condition"] or row["claim"]) for row in rows]
    axis.set_yticks(range(len(rows)), [fill(literal(n, 120), 60) for n in names], fontsize=8)
    axis.tick_params(axis="y", length=0)
    axis.set(ylim=(len(rows) - 0.4, -0.6), xlabel="simulated over the paper's value")
