"""A paper's points: configs that differ in some keys, and what is observed of each.

A point is ``{"experiment", "config", "labels"}``: a resolved config, whose ``run.observables``
name the tables, and columns that join every row of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.kit.papers import Point
from netcosim.config.content import checked_config
from netcosim.config.expand import expand
from netcosim.config.unread import as_read
from netcosim.runs.cosim import BETWEEN_POINTS, run_cosim
from netcosim.runs.cosim_tables import result_tables
from netcosim.runs.points import replaced
from netcosim.runs.store import Rows
from queuesim.observables.registry import observed

OBSERVE = "experiments.kit.points:observe"
"""The point function of `config_points`."""
MEASURED = "experiments.kit.points:measured"
"""The point function of configs whose snapshots are measured."""


def config_points(
    experiment: str,
    base: Mapping[str, Any],
    changes: Mapping[str, Sequence[object]],
    labels: Mapping[str, object],
) -> list[Point]:
    """Return a point for every combination of values, the last key's running fastest.

    Changes are by dotted keys, such as ``{"queue.policies": [["ta"], ["jigsaw"]]}``. A key with
    single values joins the rows as a column of its last name; policies do anyway. A point is
    without the keys of the base that others read and it does not.
    """
    points: list[Point] = []
    for chosen in expand({key: list(values) for key, values in changes.items()}):
        config = as_read(checked_config(replaced(base, chosen))).resolved()
        columns = {k.split(".")[-1]: v for k, v in chosen.items() if not isinstance(v, list)}
        points.append({"experiment": experiment, "config": config, "labels": {**labels, **columns}})
    return points


def observe(point: Mapping[str, Any]) -> dict[str, Rows]:
    """Run a point's config; the tables that it requests, with the point's labels."""
    config = checked_config(point["config"])
    tables = observed(run_cosim(config).schedules, config.run.observables)
    return {name: [{**point["labels"], **row} for row in rows] for name, rows in tables.items()}


def measured(point: Mapping[str, Any]) -> dict[str, Rows]:
    """Run a point's config with its packets; all its tables, with the point's labels."""
    result = run_cosim(checked_config(point["config"]), runner=BETWEEN_POINTS)
    tables = result_tables(result)
    return {name: [{**point["labels"], **row} for row in rows] for name, rows in tables.items()}
