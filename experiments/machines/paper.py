"""Machines of today: described from public facts, fitted on few rows, judged by the others."""

from __future__ import annotations

from typing import Any

from experiments.kit.paper_folder import checker, folder_paper
from experiments.kit.papers import Options
from experiments.machines import controls, day, rows, scatter


def check(options: Options) -> None:
    """Raise NetcosimError for what the study does not have, or without the measured rows."""
    checker("machines", ("shared",), no_routing="each machine has its own")(options)
    rows.measured_folder(options)


PARTS: dict[str, tuple[Any, ...]] = {
    "rows": (rows.FUNCTION, rows.points, rows.analyse),
    "controls": (controls.FUNCTION, controls.points, controls.analyse),
    "day": (day.FUNCTION, day.points, day.analyse),
    "scatter": (scatter.FUNCTION, scatter.points, scatter.analyse),
}
PAPER = folder_paper("machines", PARTS, check, default="rows")
