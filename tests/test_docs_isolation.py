"""The pages on isolation say what the stored tables hold: every number with an interval."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = {
    "isolation": "surface-",
    "isolation-dragonfly": "spread",
    "isolation-loop": ("loop-", "cab"),
    "isolation-placement": "placement-",
    "isolation-shares": "shares",
}
"""Pages, and how the names of their tables begin; the main page has those of all."""
NUMBER = r"-?\d+(?:\.\d+)?"
TOLD = re.compile(rf"({NUMBER}) \(({NUMBER}) \.\. ({NUMBER})\)")


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def tables(begins: str | tuple[str, ...]) -> list[pd.DataFrame]:
    found = [
        pd.read_csv(p) for p in (DOCS / "isolation").glob("*.csv") if p.stem.startswith(begins)
    ]
    assert found
    return found


def intervals(table: pd.DataFrame) -> Iterator[tuple[float, float, float]]:
    """Values with their ends: columns ``x``, ``x_low`` and ``x_high``, or any with these alone."""
    for column in table.columns:
        if not column.endswith("low"):
            continue
        high, base = column[:-3] + "high", column[:-3].rstrip("_")
        values = [base] if base in table else [c for c in table if not c.endswith(("low", "high"))]
        for value in values:
            if table[value].dtype.kind in "fi":
                yield from table[[value, column, high]].dropna().itertuples(index=False, name=None)


def known(found: list[pd.DataFrame], digits: int) -> set[tuple[str, ...]]:
    return {
        tuple(f"{v * scale:.{digits}f}" for v in row)
        for table in found
        for row in intervals(table)
        for scale in (1, 100)
    }


@pytest.mark.parametrize("name", PAGES)
def test_every_interval_is_stored(name: str) -> None:
    found = tables(("",) if name == "isolation" else PAGES[name])
    told = TOLD.findall(page(name))
    assert told
    stored = {digits: known(found, digits) for digits in range(4)}
    wrong = [t for t in told if t not in stored[len(t[0].partition(".")[2])]]
    assert wrong == []


def rows_of(text: str, *first: str) -> list[list[str]]:
    """Cells of the lines of tables whose first cells are these."""
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in text.splitlines()]
    return [row for row in cells if tuple(c.strip("`") for c in row[: len(first)]) == first]


def surface(name: str) -> pd.DataFrame:
    table = pd.read_csv(DOCS / "isolation" / f"surface-{name}.csv")
    if "drive" in table:
        table["drive"] = table["drive"].astype(float)
    return table


def one(row: pd.Series, value: str, digits: int, low: str = "low", high: str = "high") -> str:
    return f"{row[value]:.{digits}f} ({row[low]:.{digits}f} .. {row[high]:.{digits}f})"


def test_the_headline_and_its_gains() -> None:
    """By log and placement at a share of 0.3 and drive 1."""
    curves = surface("curves")
    curves = curves[curves["drive"].eq(1) & (curves["share"] - 0.3).abs().lt(1e-6)]
    for log, part in curves.groupby("log"):
        told = [cells for cells in rows_of(page("isolation"), log) if len(cells) == 6]
        assert told == [[log, *(one(row, "taken_off", 1) for _, row in part.iterrows())]]


def test_the_indices() -> None:
    table = surface("indices")
    for _, row in table.iterrows():
        [told] = [r for r in rows_of(page("isolation"), row["factor"]) if "±" in r[-1]]
        assert told[1:3] == [
            one(row, "first", 2, "first_low", "first_high"),
            one(row, "total", 2, "total_low", "total_high"),
        ]
        assert told[3] == f"{row['first_raw']:.2f} ± {row['first_raw_half_width']:.2f}"
    flat = " ".join(page("isolation").split())
    assert f"it tells {100 * row['cross_validated_r2']:.0f} % of the variance" in flat
    assert f"{int(row['points'])} points of a design" in flat


def test_break_evens_scenarios_and_verdicts() -> None:
    needed, crossings, verdicts = (surface(n) for n in ("break-even", "crossings", "verdicts"))
    for _, row in needed.iterrows():
        [told] = [r for r in rows_of(page("isolation"), row["log"], row["metric"]) if len(r) == 9]
        assert told[2] == one(row, "break_even", 1)
        mine = crossings[crossings["log"] == row["log"]].drop_duplicates("target")
        off = mine.set_index("target")["taken_off"]
        assert told[3:] == [f"{off[k]:.1f}" for k in ("5%", "10%", "20%", "V1", "V2", "Random")]
    asked = verdicts[verdicts["drive"] == 1].set_index(["placement", "share", "log", "metric"])
    for placement, share in dict.fromkeys(key[:2] for key in asked.index):
        [told] = rows_of(page("isolation"), placement, f"{share:g}")
        keys = [(placement, share, r["log"], r["metric"]) for _, r in needed.iterrows()]
        assert told[2:-1] == [asked.loc[key, "verdict"] for key in keys]
        agree = dict.fromkeys(key[3] for key in keys if asked.loc[key, "agree"])
        assert told[-1] == (", ".join(agree) or "no")


def test_the_surface_beside_the_other_studies() -> None:
    """Where they measure: it tells less than half against random nodes, and less elsewhere."""
    told = surface("usual").set_index(["log", "placement"])
    folder = DOCS / "isolation"
    gain, rounds = (pd.read_csv(folder / f"{n}.csv") for n in ("placement-gain", "loop-rounds"))
    gain = gain[gain["drive"].eq(1) & gain["io"].eq(0)].set_index("policy")
    rounds = rounds[rounds["round"].eq(1) & rounds["policy"].eq("jigsaw")]
    rounds = rounds[rounds["logged"] == "contended-baseline"].set_index(["log", "reference"])
    off, percent = "taken_off", "taken_off_percent"
    checked = 0
    for log in ("kth-sp2", "thunder"):
        for placement in told.loc[log].index:
            ours = told.loc[(log, placement)]
            measured = [gain.loc[placement]] if log == "kth-sp2" else []
            cells = [one(row, off, 1, f"{off}_low", f"{off}_high") for row in measured] or [""]
            if (log, placement) in rounds.index:
                row = rounds.loc[(log, placement)]
                cells.append(one(row, percent, 1, f"{percent}_low", f"{percent}_high"))
                measured.append(row.rename({percent: off, f"{percent}_low": f"{off}_low"}))
            elif log == "thunder":
                continue
            else:
                cells.append("")
            [line] = [r for r in rows_of(page("isolation"), log, placement) if len(r) == 5]
            assert line[2:] == [one(ours, off, 1), *cells]
            for row in measured:
                assert ours[off] < row[off]
                if placement == "random":
                    assert ours[off] < row[off] / 2
            checked += len(measured)
    assert checked == 5 + 3 + 3


def test_from_which_share() -> None:
    crossings = surface("crossings")
    crossings = crossings[crossings["drive"] == 1]

    def share(value: float) -> str:
        return f"{value:.2f}" if value < 1 else "none"

    for (log, target), part in crossings.groupby(["log", "target"]):
        words = f"it pays ({target.split()[-1]})" if " " in target else f"{target} is true"
        [told] = rows_of(page("isolation"), log, words)
        assert told[2:] == [
            f"{share(row['share'])} ({share(row['low'])} .. {share(row['high'])})"
            for _, row in part.iterrows()
        ]


def test_no_corner_surely_pays() -> None:
    """What the page and the README conclude of both logs."""
    makespan = surface("verdicts")
    makespan = makespan[makespan["metric"].eq("makespan")]
    agree = makespan[makespan["agree"]]
    assert set(agree["verdict"]) == {"does not pay"}
    at_one = makespan[makespan["drive"] == 1].drop_duplicates(["placement", "share"])
    flat = " ".join(page("isolation").split())
    assert f"in {int(at_one['agree'].sum())} of {len(at_one)} rows" in flat
    compact = at_one["placement"].isin(["baseline", "slurm-linear", "slurm-tree"])
    assert at_one.loc[compact & at_one["share"].le(0.3), "agree"].all()
    for others in (at_one["placement"].eq("random"), at_one["share"].eq(0.5)):
        assert not at_one.loc[others, "agree"].any()
    ratio = (at_one["mean"] / at_one["taken_off"])[at_one["share"] >= 0.3]
    assert ratio.between(1.19, 1.26).all(), "a fifth to a quarter higher"
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    needs = surface("break-even").set_index(["log", "metric"])
    for log in ("thunder", "atlas"):
        told = one(needs.loc[(log, "makespan")], "break_even", 1)
        assert f"{told} %" in readme
        assert f"{told} %" in flat
    curves = surface("curves")
    curves = curves[curves["drive"].eq(1) & (curves["share"] - 0.3).abs().lt(1e-6)]
    curves = curves.set_index(["log", "placement"])
    for log in ("thunder", "atlas"):
        for placement in ("baseline", "random"):
            assert one(curves.loc[(log, placement)], "taken_off", 1) in readme
