"""The routers' page says what the stored tables hold."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from experiments.kit.routers import OUTPUT_QUEUED, ROUTERS
from experiments.routers.paper import PAPER
from queuesim.statistics import LEAST_SAMPLES

STUDY = Path(__file__).resolve().parents[1]
TABLES = STUDY / "tables"
PAGE = (STUDY / "README.md").read_text(encoding="utf-8")


def stored(figure: str) -> pd.DataFrame:
    table = pd.read_csv(TABLES / f"{figure}.csv")
    return table.set_index(["conclusion", "routing", "router"])


def cell(row: pd.Series, column: str = "simulated") -> str:
    """A number with its interval, speed-ups with one digit more; changes with their sign."""
    digits = 2 if row["neutral"] == 1 else 1
    sign = "+" if column == "change" else ""
    names = ("low", "high") if column == "simulated" else ("change_low", "change_high")
    low, high = (f"{row[name]:{sign}.{digits}f}" for name in names)
    ends = "" if row["n"] < LEAST_SAMPLES else f" ({low} .. {high})"
    return f"{row[column]:{sign}.{digits}f}{ends}"


@pytest.mark.parametrize("figure", PAPER.figures)
def test_the_tables(figure: str) -> None:
    """Every conclusion of the stored table stands on the page, under every router."""
    told = [[c.strip() for c in line.strip("|").split("|")] for line in PAGE.splitlines()]
    table = stored(figure)
    for conclusion, routing in dict.fromkeys(index[:2] for index in table.index):
        [row] = [r for r in told if r[:2] == [conclusion, routing]]
        assert row[2:] == [cell(table.loc[(conclusion, routing, router)]) for router in ROUTERS]


@pytest.mark.parametrize("figure", PAPER.figures)
def test_which_conclusions_hang_on_the_router(figure: str) -> None:
    """Those that the page marks are those whose interval changes sides."""
    table = stored(figure).reset_index().dropna(subset=["neutral", "low"])
    for (conclusion, routing), part in table.groupby(["conclusion", "routing"]):
        sides = set((part["low"] > part["neutral"]).astype(int) - (part["high"] < part["neutral"]))
        marked = f"- {conclusion}, {routing}:" in PAGE
        assert marked == (len(sides) > 1), (conclusion, routing)


def test_the_stored_tables_are_whole() -> None:
    for figure in PAPER.figures:
        table = stored(figure)
        assert (table["n"] >= 3).all()
        for end in ("low", "high", "change_low", "change_high"):
            assert (table[end].notna() == (table["n"] >= LEAST_SAMPLES)).all()
        assert (table.xs(OUTPUT_QUEUED, level="router")["change"] == 0).all()
        assert f"tables/{figure}.csv" in PAGE
        assert f"images/routers-{figure}.png" in PAGE


def test_level_spreads_claims_by_used_credits() -> None:
    """What the page on Level-Spread says of the default UGAL-L."""
    table = pd.read_csv(TABLES / "level-spread-used-credits.csv")
    simulated = table.set_index(["figure", "claim"])

    def at(figure: str, begins: str, column: str = "simulated") -> str:
        [value] = [
            v for (f, c), v in simulated[column].items() if f == figure and c.startswith(begins)
        ]
        return f"{value:.1f}"

    better, worse, gain = ("Level-Spread strictly better (", "a baseline", "mean reduction")
    low, high = (at("fig10", better, column) for column in ("low", "high"))
    told = f"Fig. 10 {at('fig10', better)} ({low} .. {high}) / {at('fig10', worse)} / "
    told += f"{at('fig10', gain)}; Fig. 2, 4 x 68 nodes, {at('fig2', '4 x 68-node jobs: RDN')};"
    small, large = "16-node jobs, grouping", "64-node jobs, alpha 1, Level-Spread"
    ends = ("against spreading: least", "against spreading: largest")
    told += f" Fig. 4(a) {at('fig4', f'{small} and Level-Spread {ends[0]}')} .. "
    told += f"{at('fig4', f'{small} and Level-Spread {ends[1]}')}, Fig. 4(b) "
    told += f"{at('fig4', f'{large} against Simple: least')} .. "
    told += at("fig4", f"{large} against Simple: largest")
    page = (STUDY.parent / "level_spread" / "README.md").read_text(encoding="utf-8")
    assert told in " ".join(page.split())
    theirs = pd.read_csv(TABLES / "level-spread-fig10-rank0-cut.csv")
    by_theirs = [
        float(value)
        for what in (better.removesuffix(" ("), worse, gain)
        for value in theirs["simulated"][theirs["claim"].str.startswith(what)][:1]
    ]
    told = "{:.1f} / {:.1f} / {:.1f} by used credits".format(*by_theirs)
    assert told in " ".join(page.split())
    ends = theirs[theirs["claim"].str.startswith(gain)][["simulated", "low", "high"]]
    authors = "{:.1f} ({:.1f} .. {:.1f})".format(*ends.to_numpy()[0])
    low, high = (at("fig10", gain, column) for column in ("low", "high"))
    assert f"| {at('fig10', gain)} ({low} .. {high}) | {authors} |" in page
