"""A sweep's design found again in its results: places of the factors, and a response at each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cosim.isolation.design import Confounded, Design, most_confounded
from netsim.errors import NetcosimError

if TYPE_CHECKING:
    import pandas as pd

    from netcosim.config.config import Config


@dataclass(frozen=True, eq=False)
class DesignResults:
    """A design and its response."""

    design: Design
    places: NDArray[np.float64]
    """(n, k) float64."""
    response: NDArray[np.float64]
    """(n,) float64. The mean over a row's points, if lists and ranges give it several; nan where
    none is stored, or one failed."""
    points: Sequence[Config] = ()
    """Of the sweep."""

    @property
    def known(self) -> NDArray[np.bool_]:
        """(n,) bool: rows with a response."""
        return np.isfinite(self.response)

    @property
    def confounded(self) -> Confounded | None:
        """Two factors that the known rows cannot separate; none of trajectories (`morris`)."""
        if self.design.method == "morris":
            return None
        strata = self.design.strata(self.places)
        return most_confounded({name: column[self.known] for name, column in strata.items()})


def design_results(
    store: str | Path, table: str, column: str, where: Mapping[str, str]
) -> DesignResults:
    """Return the response of a sweep with ``[sweep.design]``: a table's column at each row.

    Parameters
    ----------
    store : path
        Results file of ``netcosim sweep``.
    where : mapping of str to str
        Columns and their values in the rows that count.

    Raises
    ------
    NetcosimError
        A store that cannot be used, no design, no such table or column, values that are no
        numbers, several rows a point.
    """
    from netcosim.config.design import design_of
    from netcosim.config.load import numbered_points, parse_toml
    from netcosim.config.unread import as_read
    from netcosim.runs.points import point_key
    from netcosim.runs.store import Store

    with Store(store, "read") as opened:
        meta = opened.meta()
        text, path = str(meta.get("config_text", "")), Path(str(meta.get("config_file", "")))
        raw = parse_toml(text, path)
        found = design_of(raw)
        if found is None:
            raise NetcosimError(f"{store}: its config has no [sweep.design]")
        places = found.design.places()
        values: list[list[float]] = [[] for _ in places]
        done = {key for key, status in opened.statuses().items() if status == "done"}
        points = numbered_points(raw, path.parent)
        for row, config in points:
            key = point_key(as_read(config).resolved())
            if key in done:
                values[row].append(_response(opened.rows(key, table), column, where, table))
            else:
                values[row].append(float("nan"))
    response = np.array([float(np.mean(each)) if each else float("nan") for each in values])
    if not np.isfinite(response).any():
        raise NetcosimError(f"{store}: no row of its design has all its points")
    return DesignResults(found.design, places, response, [config for _, config in points])


def _response(
    rows: Sequence[Mapping[str, object]], column: str, where: Mapping[str, str], table: str
) -> float:
    """Return the one value of a point."""
    source = f"table {table}"
    if rows and (missing := [name for name in (column, *where) if name not in rows[0]]):
        raise NetcosimError(f"{source} has no column {missing[0]!r}; it has {', '.join(rows[0])}")
    mine = [row for row in rows if all(str(row[k]) == v for k, v in where.items())]
    if len(mine) != 1:
        words = ", ".join(k for k, v in (rows[0] if rows else {}).items() if isinstance(v, str))
        raise NetcosimError(
            f"{source} has {len(mine)} such rows a point; it must be one: select it by "
            f"--where COLUMN=VALUE ({words})"
        )
    value = mine[0][column]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise NetcosimError(f"{source}: {column} = {value!r}; it must be a number")
    return float(value)


def analysed(results: DesignResults, degree: int, seed: int) -> pd.DataFrame:
    """Return a row a factor: effects of a design ``morris``, else Sobol indices of a surface.

    Raises
    ------
    NetcosimError
        Too few points.
    """
    import pandas as pd

    from cosim.isolation.surface import drawn_surfaces, fit_surface, index_rows, screened

    factors, known = results.design.factors, results.known
    if results.design.method == "morris":
        effects = screened(factors, results.places, results.response, seed)
        return pd.DataFrame([vars(effect) for effect in effects])
    places, response = results.places[known], results.response[known]
    surface = fit_surface(factors, places, response, degree, seed)
    drawn = drawn_surfaces(surface, places, response, seed)
    return pd.DataFrame(index_rows(surface, drawn, places, response))
