"""Figure ``surface``: reduction by isolation over the space of its factors; when it pays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cosim.isolation.design import Factor, most_confounded
from cosim.isolation.surface import (
    Surface,
    band,
    drawn_surfaces,
    ends_of,
    first_reached,
    fit_surface,
    index_rows,
    screened,
)
from experiments.frames import groups
from experiments.papers.isolation import surface_points as space
from experiments.papers.isolation.scenario_fit import ASSUMED, break_even
from experiments.papers.kit.claims import ClaimBuilder, claims_frame
from experiments.papers.kit.logs import log_notes
from experiments.papers.paper import Analysis, Options
from queuesim.statistics import LEAST_WINDOWS, Interval, t_of_snapshots

FloatArray = NDArray[np.float64]
METRICS = {"makespan": "makespan_s", "turnaround": "mean_turnaround_s"}
DRIVES = ("0.25", "0.5", "1", "2")
ASKED_SHARES = (0.2, 0.3, 0.5)
"""Mean shares of communication of the table of verdicts."""
GRID, CURVE = 45, 10
SMALLER = ", small"
DEGREES = (1, 2)
"""Of the polynomial: the best one in cross-validation."""
PAYS, UNKNOWN = "pays", "cannot be told"
OVER = {"log", "placement", "share", "drive"}
"""Over the ranges of the other factors curves are the middle."""


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Effects, indices, the surface along share and drive, and where it meets the break-even.

    Factors multiply the reduction by isolation, so the polynomial is of asinh(percent): about
    straight below one percent, a logarithm above. Over factors that are not named it is the middle
    (the median, if what is left is symmetric there), not the mean.
    """
    isolated = frames["steady"][frames["steady"]["policy"] == "jigsaw"]
    tables = {"points": _points(isolated)}
    screening = space.design(space.MORRIS, options)
    response = _responses(isolated, space.MORRIS, len(screening.places()))
    # points may have failed or not be computed yet
    whole = np.isfinite(response.reshape(-1, len(screening.factors) + 1)).all(axis=1)
    if whole.sum() >= 2:
        effects = screened(screening.factors, screening.places(), response, options.seed)
        tables["screening"] = pd.DataFrame([vars(effect) for effect in effects])
    filling = [f for f in space.design(space.FILLING, options).factors if f != space.CHANCE]
    known = isolated[np.isfinite(isolated["taken_off_percent"])]
    by_design = {name: known[known["design"] == name] for name in (space.FILLING, space.OWN)}
    if len(by_design[space.OWN]):
        small = by_design[space.FILLING]
        alone = _fit(filling, _places(filling, small), _response(small), options)
        tables["own-size"] = _full_size(alone, by_design[space.OWN])
    factors, rows = _on_machines(filling, by_design)
    places, response = _places(factors, rows), _response(rows)
    surface = _fit(factors, places, response, options)
    drawn = drawn_surfaces(surface, places, response, options.seed)
    tables["indices"] = pd.DataFrame(index_rows(surface, drawn, places, response))
    tables["indices"]["degree"] = surface.degree
    names = next((f.levels for f in factors if f.name == "log"), tuple(rows["log"].unique()))
    tables["usual"] = _usual(surface, drawn, names)
    mean, means = surface.over(OVER), [each.over(OVER) for each in drawn]
    tables["curves"] = _curves(mean, means, names)
    claims = []
    if "runs" in frames:
        needed = tables["break-even"] = _break_even(frames["runs"])
        tables["crossings"] = _crossings(mean, means, needed, frames["runs"])
        tables["verdicts"] = _verdicts(mean, means, needed, places, response)
        claims = _claims(tables["verdicts"])
    notes = () if options.quick else log_notes(space.LOGS, options)
    if pair := most_confounded(_strata([*factors, space.CHANCE], rows)):
        notes = (f"warning: {pair}", *notes)
    return Analysis(claims_frame(claims), tables, notes)


def _places(factors: Sequence[Factor], rows: pd.DataFrame) -> FloatArray:
    """(n, k) places of rows that have a column a factor."""
    return np.array(
        [
            [f.level_place(str(row[f.name])) if f.levels else f.place(row[f.name]) for f in factors]
            for row in rows.to_dict("records")
        ]
    )


def _strata(factors: Sequence[Factor], rows: pd.DataFrame) -> dict[str, NDArray[np.int64]]:
    """Each factor's levels or strata in rows that have a column a factor."""
    places = _places(factors, rows)
    return {f.name: f.strata(places[:, i]) for i, f in enumerate(factors)}


def _response(rows: pd.DataFrame) -> FloatArray:
    return np.asarray(np.arcsinh(rows["taken_off_percent"].to_numpy()))


def _fit(
    factors: Sequence[Factor], places: FloatArray, response: FloatArray, options: Options
) -> Surface:
    """The polynomial through points, of the degree that is best in cross-validation."""
    fits = [fit_surface(factors, places, response, degree, options.seed) for degree in DEGREES]
    return max(fits, key=lambda fit: fit.r2)


def _on_machines(
    factors: Sequence[Factor], by_design: Mapping[str, pd.DataFrame]
) -> tuple[list[Factor], pd.DataFrame]:
    """All rows, a log on its own machine and on a small one being two levels of the log."""
    filling, own = by_design[space.FILLING], by_design[space.OWN]
    scaled = filling["log"].isin(list(space.SCALED))
    filling = filling.assign(log=filling["log"].where(~scaled, filling["log"] + SMALLER))
    rows = pd.concat([filling, own])
    levels = tuple(rows["log"].unique())
    return [Factor("log", levels=levels) if f.name == "log" else f for f in factors], rows


def _predict(surface: Surface, places: FloatArray) -> FloatArray:
    """(n,) percent off; the surface is of its inverse hyperbolic sine (`analyse`)."""
    return np.asarray(np.sinh(surface.at(places)))


def _points(isolated: pd.DataFrame) -> pd.DataFrame:
    """One row a point: its factors, jobs and percent off."""
    names = [f.name for f in space.FACTORS]
    columns = ["design", "row", "log", "chance", *names, "jobs", "taken_off_percent"]
    return isolated[columns].reset_index(drop=True)


def _responses(isolated: pd.DataFrame, design: str, n: int) -> FloatArray:
    """(n,) percent off by row of a design; nan where a point is not there."""
    mine = isolated[isolated["design"] == design]
    found = np.full(n, np.nan)
    found[mine["row"].to_numpy(dtype=int)] = mine["taken_off_percent"]
    return found


def _full_size(surface: Surface, own: pd.DataFrame) -> pd.DataFrame:
    """Of logs on machines of their real size: how well the surface predicts the measurements.

    ``ratio``: measured over predicted, the middle of the points (from 1 % up; below it is more
    of a difference); ``factor``: the mean error of a point, as a factor; ``r2``: squared
    correlation of both.
    """
    table = own.assign(told=_predict(surface, _places(surface.factors, own)))
    rows = []
    for (log,), mine in groups(table, "log"):
        n = len(mine)
        ends = np.arcsinh(mine[["told", "taken_off_percent"]].to_numpy())
        more = np.diff(ends, axis=1)[:, 0]
        over = t_of_snapshots(more, np.ones(n), np.arange(n))
        row = {"log": log, "points": n, "r2": float(np.corrcoef(ends.T)[0, 1] ** 2)}
        row |= zip(("ratio", "ratio_low", "ratio_high"), np.exp(list(over)), strict=True)
        rows.append(row | {"factor": float(np.exp(np.sqrt((more**2).mean())))})
    return pd.DataFrame(rows)


def _shares(surface: Surface) -> FloatArray:
    factor = next(f for f in surface.factors if f.name == "share")
    return np.linspace(factor.low, factor.high, GRID)


def _curves(surface: Surface, drawn: Sequence[Surface], logs: Sequence[str]) -> pd.DataFrame:
    """Percent off along the share, by log, placement and drive, with the band."""
    ends = _shares(surface)[[0, -1]]
    share, rows = np.linspace(ends[0], ends[1], CURVE), []
    for log in logs:
        for placement in space.PLACEMENTS:
            for drive in DRIVES:
                places = surface.places("share", share, log=log, placement=placement, drive=drive)
                low, high = np.sinh(band(drawn, places))
                for each in zip(share, _predict(surface, places), low, high, strict=True):
                    cell = dict(
                        zip(("share", "taken_off", "low", "high"), map(float, each), strict=True)
                    )
                    rows.append({"log": log, "placement": placement, "drive": drive, **cell})
    return pd.DataFrame(rows)


def _usual(surface: Surface, drawn: Sequence[Surface], logs: Sequence[str]) -> pd.DataFrame:
    """Percent off where the other studies measure it, to judge the surface by them."""
    cases = [{"log": log, "placement": name} for log in logs for name in space.PLACEMENTS]
    table = pd.DataFrame([{**case, **space.USUAL} for case in cases])
    places = _places(surface.factors, table)
    low, high = np.sinh(band(drawn, places))
    return pd.DataFrame(cases).assign(taken_off=_predict(surface, places), low=low, high=high)


def _break_even(runs: pd.DataFrame) -> pd.DataFrame:
    """Percent off at which Jigsaw's queue is as Baseline's, of the log and of its quarters.

    The interval is as wide as Student's over the quarters, around the entire log's. A column a
    scenario of the papers: its mean reduction over these jobs.
    """
    rows = []
    for (log,), mine in groups(runs, "log"):
        for metric, column in METRICS.items():
            if metric == "makespan" and log not in space.AT_ZERO:
                continue
            found = {}
            for (part,), each in groups(mine, "part"):
                base = each.loc[each["policy"] == space.REFERENCE, column].iloc[0]
                jigsaw_jobs = each[each["policy"] == "jigsaw"].sort_values("off")
                found[part] = break_even(
                    jigsaw_jobs["off"].tolist(), (jigsaw_jobs[column] / base).tolist()
                )
            whole = found.pop("all")
            parts = np.array(list(found.values()))
            low = high = np.nan
            if len(parts) and np.isfinite([whole, *parts]).all():
                number = np.arange(len(parts))
                over = t_of_snapshots(parts, 1, number, least_samples=LEAST_WINDOWS)
                half = (over.high - over.low) / 2
                low, high = whole - half, whole + half
            cell = {"log": log, "metric": metric, "break_even": whole, "low": low, "high": high}
            all_jobs = mine[mine["part"] == "all"].iloc[0]
            rows.append(cell | found | {name: all_jobs[f"off {name}"] for name in ASSUMED})
    return pd.DataFrame(rows)


def _crossings(
    surface: Surface, drawn: Sequence[Surface], needed: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """The share from which isolation pays, or a paper's scenario is true in the mean.

    Its interval is of the drawn surfaces, and of a break-even drawn from its own interval with
    each; inf: above all shares of the design.
    """
    share, rows = _shares(surface), []
    rng = np.random.default_rng(1)
    for (log,), mine in groups(runs, "log"):
        wanted: dict[str, Interval] = {
            f"break-even {row['metric']}": Interval(row["break_even"], row["low"], row["high"])
            for row in needed[needed["log"] == log].to_dict("records")
        }
        whole = mine[mine["part"] == "all"].iloc[0]
        for name in ASSUMED:
            wanted[name] = Interval(float(whole[f"off {name}"]), np.nan, np.nan)
        for placement in space.PLACEMENTS:
            for drive in DRIVES:
                places = surface.places("share", share, log=log, placement=placement, drive=drive)
                off, each = _predict(surface, places), [_predict(one, places) for one in drawn]
                for target, level in wanted.items():
                    half = (level.high - level.low) / 2
                    levels = np.full(len(each), level.value)
                    if np.isfinite(half):
                        levels = levels + half / 1.96 * rng.standard_normal(len(each))
                    drawn_shares = [
                        first_reached(share, one, at) for one, at in zip(each, levels, strict=True)
                    ]
                    low, high = np.quantile(drawn_shares, [0.025, 0.975], method="nearest")
                    cell: dict[str, Any] = {"log": log, "placement": placement, "drive": drive}
                    cell |= {"target": target, "taken_off": level.value}
                    cell["share"] = first_reached(share, off, level.value)
                    rows.append(cell | {"low": float(low), "high": float(high)})
    return pd.DataFrame(rows)


def _verdicts(
    surface: Surface,
    drawn: Sequence[Surface],
    needed: pd.DataFrame,
    places: FloatArray,
    response: FloatArray,
) -> pd.DataFrame:
    """Would isolation pay? By log, metric, placement, drive and share, and whether logs agree.

    ``taken_off`` is the middle over what is not named, ``mean`` the mean over it: points scatter
    around the surface, and what they scatter is added before the transform is undone (smearing:
    Duan, JASA 78, 1983). ``verdict``: pays if all of both intervals is above all of the
    break-even's, does not pay if below, else not significant; nothing is significant against a
    break-even without an interval. ``agree``: the same of all logs that have the metric; of one
    log alone nothing.
    """
    rest = response - surface.at(places)
    rests = [response - one.at(places) for one in drawn]
    rows = []
    for row in needed.to_dict("records"):
        for placement in space.PLACEMENTS:
            for drive in DRIVES:
                at = np.array(ASKED_SHARES)
                named = {"log": row["log"], "placement": placement, "drive": drive}
                selected = surface.places("share", at, **named)
                middles = [_predict(surface, selected), *np.sinh(band(drawn, selected))]
                smeared = [_smeared(*each, selected) for each in zip(drawn, rests, strict=True)]
                means = [_smeared(surface, rest, selected), *ends_of(np.array(smeared))]
                for share, *ends in zip(at, *middles, *means, strict=True):
                    middle, mean = Interval(*ends[:3]), Interval(*ends[3:])
                    cell = {"metric": row["metric"], "share": share, "taken_off": middle.value}
                    cell |= {"low": middle.low, "high": middle.high, "mean": mean.value}
                    cell |= {"mean_low": mean.low, "mean_high": mean.high}
                    cell["break_even"] = row["break_even"]
                    cell |= {f"break_even_{end}": row[end] for end in ("low", "high")}
                    both = {_paying(each, row["low"], row["high"]) for each in (middle, mean)}
                    verdict = both.pop() if len(both) == 1 else UNKNOWN
                    rows.append({**named, **cell, "verdict": verdict})
    table = pd.DataFrame(rows)
    by = table.groupby(["metric", "placement", "drive", "share"])["verdict"]
    same = by.transform("nunique").eq(1) & by.transform("size").gt(1)
    return table.assign(agree=same & table["verdict"].ne(UNKNOWN))


def _smeared(surface: Surface, rest: FloatArray, places: FloatArray) -> FloatArray:
    """(n,) percent off, the mean over all that makes points scatter around a surface."""
    return np.asarray(np.sinh(surface.at(places)[:, None] + rest).mean(axis=1))


def _paying(gain: Interval, low: float, high: float) -> str:
    if gain.low > high:
        return PAYS
    return "does not pay" if gain.high < low else UNKNOWN


def _claims(verdicts: pd.DataFrame) -> list[Any]:
    """Does Jigsaw's queue break even at a share of 0.3 and nodes that drive their links?"""
    selected = verdicts[verdicts["drive"].eq("1") & verdicts["share"].eq(0.3)]
    claims = []
    for row in selected.to_dict("records"):
        check = ClaimBuilder("Jigsaw 6.3", f"{row['placement']}, f = {row['share']:g}")
        what = f"{row['log']}: Jigsaw takes off what its {row['metric']} needs (%)"
        found = Interval(row["taken_off"], row["low"], row["high"])
        rule = "all of its interval above all of the break-even's"
        pays = row["verdict"] == PAYS
        claims.append(check.holds(what, pays, rule, found, expected=row["break_even"]))
    return claims
