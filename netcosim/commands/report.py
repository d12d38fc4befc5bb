"""Make an HTML page of a results file, and export what it holds for other programs.

netcosim report RESULTS.db                     writes RESULTS.html: of a run, or of a sweep
netcosim report SWEEP.db --point 3f9a          the page of one point of a sweep, as of a run
netcosim report SWEEP.db --pages               a page of every point too, linked from the sweep's
netcosim report RESULTS.db --format svg        every figure as a file: svg, pdf or png
netcosim report RESULTS.db --export csv        tables and all that was kept, or parquet
netcosim report RESULTS.db --export evalys     jobs of each policy as evalys reads them
netcosim report RESULTS.db --export perfetto   a trace for the Perfetto viewer
"""

from __future__ import annotations

import argparse
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from netcosim.commands import FORMATS
from netsim.atomic_files import need_folder

if TYPE_CHECKING:
    from netcosim.runs.store import Store

from netsim.errors import NetcosimError

HELP = "make an HTML page of a results file; export figures, tables, jobs, traces"
EXPORTS = ("csv", "parquet", "evalys", "perfetto")
OF_ONE_POINT = {"evalys": "evalys", "perfetto": "a trace"}
"""Exports of one point that kept its jobs, as messages call them."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``netcosim report``."""
    parser.add_argument("store", metavar="RESULTS.db")
    parser.add_argument(
        "--out",
        metavar="FILE.html",
        help="the page, by default RESULTS.html; all else goes beside it: FILE-figures, FILE-csv",
    )
    parser.add_argument(
        "--point",
        metavar="KEY",
        help="one point of a sweep, by the first letters of its key (the sweep's page lists them)",
    )
    parser.add_argument(
        "--pages",
        action="store_true",
        help="of a sweep: write the page of every point beside it, FILE-points (seconds each)",
    )
    parser.add_argument(
        "--format", choices=FORMATS, help="write every figure of the page as a file of this format"
    )
    parser.add_argument(
        "--export",
        choices=EXPORTS,
        help="write tables and what was kept (csv, parquet), job tables for evalys, or a trace "
        "for the Perfetto viewer",
    )


def run(args: argparse.Namespace) -> int:
    """Write the page and the requested files; 1 if points of the store have failed."""
    from netcosim.export.files import archived_run, check_file_names
    from netcosim.report.page import write_page
    from netcosim.report.run_page import stored_run_page
    from netcosim.report.sweep_page import sweep_page
    from netcosim.report.which import chosen_point
    from netcosim.runs.store import Store
    from netsim.atomic_files import need_regular

    if args.pages and args.point:
        raise NetcosimError("--pages and --point: one writes all points' pages, the other only one")
    path = Path(args.store)
    with Store(path, "read") as store:
        key = chosen_point(store, args.point)
        html = Path(args.out or _beside(path, args.point and key, ".html"))
        if html.exists() and html.samefile(path):
            raise NetcosimError(f"{html}: the results file itself; it would be lost")
        # before the page, which takes a while to draw
        if args.export in OF_ONE_POINT:
            archived_run(store, key, OF_ONE_POINT[args.export])
        need_regular(html)
        if args.export in ("csv", "parquet"):
            check_file_names(store.table_names())
        page, failed = (
            sweep_page(store, _point_pages(store, html, args.pages))
            if key is None
            else (stored_run_page(store, key), 0)
        )
        written = _files(store, key, html, args)
        # printed when all of it is written
        print("\n".join(map(str, [write_page(html, page), *written])))
    return 1 if failed else 0


def _point_pages(store: Store, html: Path, wanted: bool) -> dict[str, str]:
    """Return the pages of a sweep's points, as links from its page; write them if wanted."""
    from urllib.parse import quote

    from netcosim.report.page import write_page
    from netcosim.report.run_page import stored_run_page
    from netsim.atomic_files import make_folder

    folder = html.with_name(f"{html.stem}-points")
    if wanted:
        make_folder(folder)
    pages = {}
    for key, status in store.statuses().items():
        page = folder / f"{key[:12]}.html"
        if wanted and status == "done":
            write_page(page, stored_run_page(store, key))
        if page.exists():
            pages[key] = quote(f"{folder.name}/{page.name}")
    return pages


def _files(store: Store, key: str | None, page: Path, args: argparse.Namespace) -> list[Path]:
    """Write the requested files, in folders beside the page."""
    written: list[Path] = []
    point = key if args.point else None

    def folder(what: str) -> Path:
        chosen = page.with_name(f"{page.stem}-{what}")
        need_folder(chosen)
        return chosen

    if args.format:
        from netcosim.report.figures.drawing import write_figures
        from netcosim.report.figures.run import run_drawings
        from netcosim.report.sweep_page import stored_drawings

        if key is None:
            drawings = stored_drawings(store)
        else:
            drawings = [
                *chain.from_iterable(run_drawings(store.tables(key), store.kept(key)).values())
            ]
        if not drawings:
            raise NetcosimError(f"{store.path}: its page has no figures")
        named = [(drawing.name, drawing.draw) for drawing in drawings]
        written += write_figures(named, folder("figures"), args.format)
    if args.export in ("csv", "parquet"):
        from netcosim.export.files import export_tables

        written += export_tables(store, folder(args.export), args.export, point)
    elif args.export == "evalys":
        from netcosim.export.evalys import write_evalys

        written += write_evalys(store, key, folder("evalys"))
    elif args.export == "perfetto":
        from netcosim.export.perfetto import write_perfetto

        written += write_perfetto(store, key, folder("perfetto"))
    return written


def _beside(path: Path, key: str | None, ending: str) -> Path:
    """Return a path beside the results file, with the point's key in its name."""
    point = f"-{key[:12]}" if key else ""
    return path.with_name(f"{path.stem}{point}{ending}")
