"""Rank the factors of a design of experiments by their effect on a number.

  netcosim sweep CONFIG.toml                                   with [sweep.design]
  netcosim surface CONFIG.db --of steady.taken_off_percent --where policy=jigsaw

Of a design "morris": mean size (mu*) and spread (sigma) of each factor's effects. Of the others: a
polynomial surface through the points, how well it predicts points left out, and first- and
total-order Sobol indices, with intervals. Points that are not stored yet are left out.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from netcosim.commands import assignments
from netsim.errors import NetcosimError

HELP = "which factors of a design of experiments matter for a number"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``netcosim surface``."""
    parser.add_argument("store", metavar="RESULTS.db", help="results file of netcosim sweep")
    parser.add_argument(
        "--of", required=True, metavar="TABLE.COLUMN", help="the number: a column of a table"
    )
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="COLUMN=VALUE",
        help="which row of the table; may be given several times",
    )
    parser.add_argument(
        "--degree", type=int, default=2, metavar="N", help="of the polynomials (default 2)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the intervals' draws")
    parser.add_argument("--out", metavar="FILE.csv", help="write the table too")


def run(args: argparse.Namespace) -> int:
    """Print a row a factor."""
    from netcosim.announce import report_unread
    from netcosim.design_results import analysed, design_results
    from netsim.atomic_files import atomic_write

    table, dot, column = args.of.partition(".")
    if not (table and dot and column):
        raise NetcosimError(f"--of {args.of}: must be TABLE.COLUMN, such as jobs.wait_s")
    where = assignments("--where", args.where)
    if not 1 <= args.degree <= 8:
        raise NetcosimError(f"--degree {args.degree}: must be 1 to 8")
    if args.seed < 0:
        raise NetcosimError(f"--seed {args.seed}: must be 0 or more")
    results = design_results(args.store, table, column, where)
    report_unread(args.store, results.points)
    found = analysed(results, args.degree, args.seed)
    known, total = int(results.known.sum()), len(results.known)
    if pair := results.confounded:
        print(f"netcosim: warning: {pair} with a result", file=sys.stderr)
    print(f"{args.of}: {results.design.method}, {known} of {total} rows of the design")
    if "cross_validated_r2" in found:
        first = found.iloc[0]
        print(
            f"surface: of points left out it explains {100 * first['cross_validated_r2']:.0f} % of "
            f"the variance, error {first['cross_validated_rmse']:.3g}"
        )
    print(found.to_string(index=False, float_format=lambda x: f"{x:.3g}"))
    if args.out:
        with atomic_write(Path(args.out)) as part:
            found.to_csv(part, index=False)
    return 0
