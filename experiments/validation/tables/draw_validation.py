"""Write the tables of ``validation.md``.

    python experiments/validation/tables/draw_validation.py FOLDER...

Each folder is one that ``netcosim validate --out FOLDER`` has written; their rows together become
``validation.csv`` beside this file. The page summarises them and shows those that need not be
exact, between its marks. A test compares page and file, and the file's rows with those that are
measured.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from experiments.validation.row import shown

TABLE = Path(__file__).resolve().with_name("validation.csv")
PAGE = TABLE.parents[3] / "docs" / "validation.md"
MARKS = re.compile(r"<!-- (rows|groups|jobs|networks)(?: (\S+))? -->\n.*?<!-- end -->", re.S)
JOB = re.compile(r", ([\w-]+): mean job time$")

Record = Mapping[str, str]


def off_percent(row: Record) -> float:
    """Return by how many per cent a row's value is above the expected one."""
    return 100 * (float(row["simulated"]) / float(row["expected"]) - 1)


def rows(records: Sequence[Record], group: str) -> list[str]:
    """Return a Markdown table of a group's rows that may differ from the expected value."""
    lines = ["| what | expected | netcosim | allowed |", "|---|---|---|---|"]
    for row in records:
        if row["group"] == group and row["allowed"] != "0":
            unit = f" {row['unit']}" if row["unit"] else ""
            values = (shown(float(row[name])) + unit for name in ("expected", "simulated"))
            lines.append(f"| {row['what']} | {' | '.join(values)} | {row['allowed']} |")
    return lines


def groups(records: Sequence[Record], _: str) -> list[str]:
    """Return a Markdown table: the rows of each group, and how many are exact or fail."""
    lines = ["| group | rows | exactly equal | within a range | fail |", "|---|---|---|---|---|"]
    for group in dict.fromkeys(row["group"] for row in records):
        own = [row for row in records if row["group"] == group]
        fail = sum(row["verdict"] != "holds" for row in own)
        exact = sum(row["verdict"] == "holds" and row["allowed"] == "0" for row in own)
        lines.append(f"| `{group}` | {len(own)} | {exact} | {len(own) - exact - fail} | {fail} |")
    return lines


def jobs(records: Sequence[Record], _: str) -> list[str]:
    """Return a Markdown table of merlin's mean job times by routing: differences in per cent."""
    lines = ["| routing | cases | mean difference | least | largest |", "|---|---|---|---|---|"]
    by_routing: dict[str, list[float]] = {}
    for row in records:
        if found := JOB.search(row["what"]):
            by_routing.setdefault(found[1], []).append(off_percent(row))
    for routing, differences in by_routing.items():
        values = (sum(differences) / len(differences), min(differences), max(differences))
        cells = " | ".join(f"{value:+.1f} %" for value in values)
        lines.append(f"| {routing} | {len(differences)} | {cells} |")
    return lines


def networks(records: Sequence[Record], group: str) -> list[str]:
    """Return a Markdown table of a group's networks: differences in per cent by allowed range."""
    lines = ["| network | value | allowed | rows | least | largest |", "|---|---|---|---|---|---|"]
    by_kind: dict[tuple[str, str, str], list[float]] = {}
    for row in records:
        if row["group"] != group:
            continue
        bound = re.match("at (?:least|most)", row["allowed"])
        kind = row["what"].split(",")[0], row["what"].split(": ")[-1], bound[0] if bound else "4 %"
        by_kind.setdefault(kind, []).append(off_percent(row))
    for kind, values in sorted(by_kind.items()):
        cells = " | ".join((*kind, str(len(values))))
        lines.append(f"| {cells} | {min(values):+.1f} % | {max(values):+.1f} % |")
    return lines


TABLES: Mapping[str, Callable[[Sequence[Record], str], list[str]]] = {
    "rows": rows,
    "groups": groups,
    "jobs": jobs,
    "networks": networks,
}


def with_tables(page: str, records: Sequence[Record]) -> str:
    """Return the page with fresh tables between its marks."""

    def fresh(mark: re.Match[str]) -> str:
        first, *_ = mark[0].splitlines()
        return "\n".join([first, *TABLES[mark[1]](records, mark[2] or ""), "<!-- end -->"])

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
