"""Write the tables of ``validation.md``.

    python experiments/validation/tables/draw_validation.py FOLDER...

Each folder is one that ``netcosim validate --out FOLDER`` has written; their rows together become
``validation.csv`` beside this file, and the tables between the marks of the page. A test holds page
and file together, and the file's rows to those that are measured.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

TABLE = Path(__file__).resolve().with_name("validation.csv")
PAGE = TABLE.parents[3] / "docs" / "validation.md"
MARKS = re.compile(r"<!-- rows (\S+) -->\n.*?<!-- end -->", re.S)

Record = Mapping[str, str]


def number(text: str) -> str:
    """A number with as many digits as it needs."""
    value = float(text)
    if value == int(value) and abs(value) < 1e12:
        return f"{int(value):,}"
    return f"{value:.4g}" if abs(value) < 100 else f"{value:,.1f}"


def table(records: Sequence[Record]) -> str:
    """The rows of one group as a Markdown table."""
    lines = [
        "| what | expected | netcosim | allowed | verdict | from |",
        "|---|---|---|---|---|---|",
    ]
    for row in records:
        unit = f" {row['unit']}" if row["unit"] else ""
        told = row["source"] + (f"; {row['note']}" if row["note"] else "")
        cells = (
            row["what"],
            number(row["expected"]) + unit,
            number(row["simulated"]) + unit,
            row["allowed"],
            row["verdict"],
            told,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def with_tables(page: str, records: Sequence[Record]) -> str:
    """The page with the rows of each group between its marks."""

    def fresh(found: re.Match[str]) -> str:
        rows = [row for row in records if row["group"] == found[1]]
        return f"<!-- rows {found[1]} -->\n{table(rows)}\n<!-- end -->"

    return MARKS.sub(fresh, page)


def main(folders: Sequence[str]) -> None:
    """Read the folders, write table and page."""
    found: dict[str, list[dict[str, str]]] = {}
    for folder in folders:
        with (Path(folder) / TABLE.name).open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                found.setdefault(row["group"], []).append(row)
    records = [row for rows in found.values() for row in rows]
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), records), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
