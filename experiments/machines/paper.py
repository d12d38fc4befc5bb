"""Machines of today: described from public facts, fitted on few rows, judged by the others."""

from __future__ import annotations

from typing import Any

from experiments.kit.data import paper_figures, read_data
from experiments.kit.papers import Options, Paper, check_known
from experiments.machines import controls, day, rows, scatter
from netsim.errors import NetcosimError


def check(options: Options) -> None:
    """Raise NetcosimError for what the study does not have, or without the measured rows."""
    if options.routings:
        raise NetcosimError("--routing: each machine has its own")
    check_known(options, "machines", (), ("shared",))
    rows.measured_folder(options)


PARTS: dict[str, tuple[Any, ...]] = {
    "rows": (rows.FUNCTION, rows.points, rows.analyse),
    "controls": (controls.FUNCTION, controls.points, controls.analyse),
    "day": (day.FUNCTION, day.points, day.analyse),
    "scatter": (scatter.FUNCTION, scatter.points, scatter.analyse),
}
PAPER = Paper(
    name="machines",
    title=read_data("machines")["title"],
    figures=paper_figures("machines", PARTS),
    check=check,
    default="rows",
)
