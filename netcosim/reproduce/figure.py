"""Computes a figure's points, analyses and draws it, and writes tables and drawing."""

from __future__ import annotations

import shlex
from pathlib import Path

from netcosim.report.figures.style import save_figure
from netcosim.report.page import Section, long_table, render_page, write_page
from netcosim.reproduce.paper import (
    Analysis,
    Options,
    Paper,
    PaperFigure,
    Point,
    Reproduction,
)
from netcosim.reproduce.readings import side_by_side, which_fits
from netcosim.reproduce.registry import load_paper
from netcosim.runs.frames import frames_of
from netcosim.runs.sweep import SweepSummary, run_points
from netcosim.study.results import read_tables, write_tables
from netsim.errors import NetcosimError


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
    """Reproduce a figure of a paper.

    Results go into ``out_dir/<paper>.sqlite``, where points stay: what is stored is not
    computed again. The other files are ``<figure>-<table>.csv``,
    ``<figure>.<form>`` and ``<figure>.html``; settings other than the defaults are in their names.

    Parameters
    ----------
    paper : str
        A name of `netcosim.reproduce.registry.PAPERS`.
    figure : str
        A figure of the paper.
    out_dir : path
        Created if it is missing.
    jobs, executor
        As for `netcosim.runs.sweep.run_points`.
    form : {"png", "svg", "pdf"}
        Options of the drawing.

    Returns
    -------
    Reproduction or None
        None on MPI ranks other than 0.
    """
    found = load_paper(paper)
    chosen = found.figure(figure)
    options = options or Options()
    found.check(options)
    points = chosen.points(options)
    folder = Path(out_dir)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{paper}.sqlite"

    def compute(function: str, wanted: list[Point]) -> SweepSummary | None:
        return run_points(
            function,
            wanted,
            path,
            jobs=jobs,
            executor=executor,
            progress=progress,
            retry_failed=True,
            meta={"paper": paper, "title": found.title},
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
        files=write_files(folder, found, chosen, analysis, options, form),
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
    drawing = None if figure.draw is None else figure.draw(analysis, options)
    if drawing is not None:
        files.append(save_figure(drawing, folder / f"{stem}.{form}", form))
    sections = [
        Section(
            "The paper's claims and the simulated values",
            "Low and high are a 95 % bootstrap interval; an empty cell is not in the paper.",
            analysis.claims,
        )
    ]
    if drawing is not None:
        sections.append(Section("Figure", figure=drawing, caption=figure.description))
    for name, table in analysis.tables.items():
        sections.append(long_table(name, table))
    claims = side_by_side(analysis.claims, figure.readings)
    page = render_page(
        f"{paper.name} {figure.name}",
        f"{which_fits(claims, figure.readings)}.\n\n{paper.title}: {figure.description}.",
        sections,
        command=_command(paper.name, figure.name, options),
        seeds={"seed": options.seed},
    )
    files.append(write_page(folder / f"{stem}.html", page))
    return tuple(files)
