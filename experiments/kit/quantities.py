"""Quantities that several studies report."""

from __future__ import annotations

from netcosim.report.effect import Quantity


def node_hours(unit: str = "node") -> Quantity:
    """Return the hours of nodes, or of what jobs count."""
    return Quantity(f"{unit}-hours", "h", "reduces", "increases")
