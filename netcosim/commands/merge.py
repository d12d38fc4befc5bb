"""Merge results files, such as those of a sweep's slices, into one.

  netcosim merge SLICE.db ... --out OUT.db

A point that several files hold alike is one point; one that failed in a file and was done in
another counts as done. If two files differ in a point, nothing is merged. The file appears whole or
not at all; where it is there already, its points are kept, so the same command may be repeated.
"""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "merge results files of a sweep's slices"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``netcosim merge``."""
    parser.add_argument("files", metavar="FILE.db", nargs="+")
    parser.add_argument("--out", metavar="OUT.db", required=True, help="the merged results file")


def run(args: argparse.Namespace) -> int:
    """Merge and report."""
    from netcosim.executors.merge import merge

    out = Path(args.out)
    merged = merge(out, [Path(name) for name in args.files])
    print(
        f"{out}: {merged.points:,} points, {merged.failed:,} failed; "
        f"{merged.repeated:,} were in more than one file"
    )
    if merged.codes > 1:
        print(f"note: {merged.codes} versions of the model sources computed them")
    return 0
