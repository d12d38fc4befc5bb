"""Make an HTML page of a results file, and export its tables for other programs.

netcosim report RESULTS.db                  writes RESULTS.html
netcosim report RESULTS.db --export csv     writes a folder RESULTS-csv as well
"""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "make an HTML page of a results file; export its tables"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``netcosim report``."""
    parser.add_argument("store", metavar="RESULTS.db")
    parser.add_argument("--html", metavar="FILE", help="by default RESULTS.html")
    parser.add_argument("--export", choices=("csv", "parquet"), help="write the tables as files")
    parser.add_argument("--folder", metavar="FOLDER", help="where to; by default RESULTS-csv")


def run(args: argparse.Namespace) -> int:
    """Write the page; 1 if points of the store have failed."""
    from experiments.report.page import write_page
    from experiments.store import Store
    from netcosim.export import check_file_names, export_tables
    from netcosim.sweep_page import sweep_page
    from netsim.errors import NetcosimError

    path = Path(args.store)
    with Store(path, "read") as store:
        html = Path(args.html or path.with_suffix(".html"))
        if html.exists() and html.samefile(path):
            raise NetcosimError(f"{html}: the results file itself; it would be lost")
        if args.export:
            check_file_names(store.table_names())
        page, failed = sweep_page(store)
        print(write_page(html, page))
        if args.export:
            folder = Path(args.folder or path.with_name(f"{path.stem}-{args.export}"))
            for written in export_tables(store, folder, args.export):
                print(written)
    return 1 if failed else 0
