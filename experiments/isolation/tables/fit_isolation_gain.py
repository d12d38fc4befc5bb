"""Fit the predictor of `netcosim isolation-gain`.

    python experiments/isolation/tables/fit_isolation_gain.py [RESULTS]

Reads the measured pairs of ``predictor-pairs.csv`` (with a folder of ``netcosim reproduce isolation
predictor``: takes its pairs first), and writes the tables beside it and the coefficients that are
shipped, ``experiments/isolation/gain/predictor.json``.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from experiments.isolation.gain.predictor import SHIPPED, Columns, FitRange, Predictor
from experiments.isolation.gain_errors import best_law, fit, held_out, means_by
from experiments.isolation.predictor import columns_of, tables_of
from experiments.kit.log_study import ROUTINGS

FOLDER = Path(__file__).resolve().parent
PAIRS = FOLDER / "predictor-pairs.csv"


def range_of(rows: Columns, family: str, routing: str) -> FitRange:
    """Return what a law that is fitted on these rows has seen."""

    def seen(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(rows[name].tolist()))

    def ends(name: str) -> tuple[float, float]:
        return float(rows[name].min()), float(rows[name].max())

    return FitRange(
        families=(family,),
        routings=(routing,),
        placements=seen("placement"),
        policies=seen("policy"),
        logs=seen("log"),
        fraction=ends("fraction"),
        n_nodes=ends("n_nodes"),
    )


def predictor_of(law: str, rows: Columns, limits: FitRange) -> Predictor:
    """A law fitted on all rows, with what it is worth on each log when it has not seen it."""
    told = held_out(law, rows, [[name] for name in limits.logs])
    means = means_by(rows, told, rows["log"])
    off = tuple(means[name][0] - means[name][1] for name in limits.logs)
    return Predictor(fit(law, rows), off, limits)


def shipped_text(pairs: pd.DataFrame) -> str:
    """What is shipped, fitted on these pairs."""
    rows = columns_of(pairs)
    limits = range_of(rows, "fattree", ROUTINGS["fattree"])
    predictor = predictor_of(best_law(rows), rows, limits)
    return json.dumps(predictor.content(), indent=1) + "\n"


def main(arguments: Sequence[str]) -> None:
    """Take, fit, write."""
    if arguments:
        shutil.copy(Path(arguments[0]) / "isolation-predictor-pairs.csv", PAIRS)
    pairs = pd.read_csv(PAIRS)
    for name, table in tables_of(pairs).items():
        table.to_csv(FOLDER / f"predictor-{name}.csv", index=False)
    SHIPPED.write_text(shipped_text(pairs), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
