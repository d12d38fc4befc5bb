"""The gain of isolation, predicted without packets: laws, and the one that is shipped.

A law gives what isolation takes off a job's run time, in percent, from what is known without
packets (`cosim.isolation.gain_features`). Each is fitted on jobs that were measured packet by
packet on some logs and judged on jobs of logs that it has not seen. One of them is shipped with its
coefficients, its errors on unseen logs and the range of what it was fitted on
(``isolation_gain.json``, made by ``python docs/fit_isolation_gain.py``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError, unknown_name
from queuesim.statistics import LEVEL, Interval, t_of_snapshots, t_quantile

FloatArray = NDArray[np.float64]
Columns = Mapping[str, NDArray[Any]]
"""Rows of jobs as columns: `cosim.isolation.gain_features.FEATURES`, ``n_nodes``, ``snapshot``;
where it was measured too ``gain_percent``, and ``log``."""

VERSION = 1
"""Of the shipped law: higher when features or laws change their meaning."""

SHIPPED = Path(__file__).resolve().parent / "isolation_gain.json"


def gain_percent(fraction: FloatArray, stretch: FloatArray, locality: FloatArray) -> FloatArray:
    """What isolation takes off a run time if communication, a share of it alone, is stretched.

    Parameters
    ----------
    fraction, stretch, locality : (n,) float64
        See `cosim.isolation.gain_features.job_features`.

    Returns
    -------
    (n,) float64
        Percent of the run time among the others.
    """
    there = 1 - fraction + fraction * stretch
    return np.asarray(100 * (1 - (1 - fraction + fraction * locality) / there))


def _interference(rows: Columns, stretch: str = "stretch_phases") -> FloatArray:
    return gain_percent(rows["fraction"], rows[stretch], np.ones(len(rows["fraction"])))


def _locality(rows: Columns) -> FloatArray:
    return np.asarray(100 * rows["fraction"] * (1 - rows["locality"]))


def _product(rows: Columns) -> FloatArray:
    return np.asarray(100 * rows["fraction"] * rows["near"])


def _pressure(rows: Columns) -> FloatArray:
    return np.asarray(100 * rows["fraction"] * rows["pressure"])


@dataclass(frozen=True)
class Law:
    """A way to tell a gain.

    Attributes
    ----------
    description : str
        One line.
    terms : tuple of callable (rows) -> (n,) float64
        Percent; the law is their sum, each times a coefficient.
    fitted : bool
        Whether the coefficients are fitted; 1 otherwise.
    """

    description: str
    terms: tuple[Callable[[Columns], FloatArray], ...]
    fitted: bool = True

    def matrix(self, rows: Columns) -> FloatArray:
        """(n, terms) float64."""
        n = len(rows["fraction"])
        return np.stack([*(term(rows) for term in self.terms), np.zeros(n)], axis=1)[:, :-1]


LAWS: dict[str, Law] = {
    "zero": Law("isolation takes nothing off", (), fitted=False),
    "mean": Law("the mean of what was seen", (lambda rows: np.ones(len(rows["fraction"])),)),
    "square": Law("c f^2", (lambda rows: np.asarray(100 * rows["fraction"] ** 2),)),
    "product": Law("c f times the mean f of its neighbours", (_product,)),
    "pressure": Law("c f times what others ask of its worst link", (_pressure,)),
    "flow": Law(
        "max-min fair rates, all the others communicating all the time",
        (lambda rows: gain_percent(rows["fraction"], rows["stretch_all"], rows["locality"]),),
        fitted=False,
    ),
    "phases": Law(
        "max-min fair rates, each of the others communicating with chance f",
        (lambda rows: gain_percent(rows["fraction"], rows["stretch_phases"], rows["locality"]),),
        fitted=False,
    ),
    "phases-fitted": Law(
        "c times the gain at max-min fair rates with chance f, c' times that of place",
        (_interference, _locality),
    ),
    "product-place": Law("product, and c' times the gain of place", (_product, _locality)),
    "all": Law(
        "phases, product, pressure and place together",
        (_interference, _product, _pressure, _locality),
    ),
}


@dataclass(frozen=True)
class Fitted:
    """A law with its coefficients.

    Attributes
    ----------
    law : str
        A key of `LAWS`.
    coefficients : tuple of float
        One a term.
    """

    law: str
    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        if self.law not in LAWS:
            raise unknown_name("law of the gain", self.law, LAWS)
        if len(self.coefficients) != len(LAWS[self.law].terms):
            raise NetcosimError(
                f"law {self.law}: {len(self.coefficients)} coefficients for "
                f"{len(LAWS[self.law].terms)} terms"
            )

    def percent(self, rows: Columns) -> FloatArray:
        """(n,) float64: what isolation takes off each job's run time, by the law."""
        return np.asarray(LAWS[self.law].matrix(rows) @ np.array(self.coefficients))


@dataclass(frozen=True)
class Range:
    """What a shipped law was fitted on.

    Attributes
    ----------
    families, routings, placements, policies, logs : tuple of str
    fraction, n_nodes : (float, float)
        The least and the most of a job.
    taper, ranks_per_node : float, int
    """

    families: tuple[str, ...]
    routings: tuple[str, ...]
    placements: tuple[str, ...]
    policies: tuple[str, ...]
    logs: tuple[str, ...]
    fraction: tuple[float, float]
    n_nodes: tuple[float, float]
    taper: float = 1.0
    ranks_per_node: int = 1

    def outside(self, asked: Mapping[str, object], rows: Columns) -> list[str]:
        """What of a case lies outside, in words; nothing where nothing does.

        Parameters
        ----------
        asked : mapping
            ``routing``, ``placement``, ``policies``, ``taper``, ``ranks_per_node``, ``share`` and
            ``phases`` of the case.
        rows : columns
            Its jobs.

        Raises
        ------
        NetcosimError
            Another family of networks: its jobs meet in other ways altogether.
        """
        if asked["family"] not in self.families:
            raise NetcosimError(
                f"the predictor was fitted on {', '.join(self.families)}; it knows nothing of a "
                f"{asked['family']}: without --predict packets are sent"
            )
        said = []
        for key, word, known in (
            ("routing", "routing", self.routings),
            ("placement", "the reference's placement", self.placements),
        ):
            if asked[key] not in known:
                said.append(f"{word} {asked[key]} (fitted on {', '.join(known)})")
        said += [
            f"policy {name} (fitted on {', '.join(self.policies)})"
            for name in _names(asked["policies"])
            if name not in self.policies
        ]
        usual = {"taper": self.taper, "ranks_per_node": self.ranks_per_node}
        usual |= {"share": "alone", "phases": "random"}  # type: ignore[dict-item]
        said += [
            f"{key} = {asked[key]} (fitted on {v})" for key, v in usual.items() if asked[key] != v
        ]
        for column, word in (("fraction", "communication fractions"), ("n_nodes", "job sizes")):
            values, (low, high) = rows[column], getattr(self, column)
            if len(values) and (values.min() < low or values.max() > high):
                seen = f"{values.min():g} to {values.max():g}"
                said.append(f"{word} of {seen} (fitted on {low:g} to {high:g})")
        return said


def _names(given: object) -> list[str]:
    return [str(name) for name in given] if isinstance(given, (list, tuple)) else []


@dataclass(frozen=True)
class Predictor:
    """A fitted law, what it is worth on logs that it has not seen, and where it holds.

    Attributes
    ----------
    fitted : Fitted
    job_p50, job_p90, job_rmse : float
        Error of a job on an unseen log, in points.
    log_errors : tuple of float
        Of the mean over node-hours of each unseen log, in points: told less measured.
    range : Range
    version : int
    """

    fitted: Fitted
    job_p50: float
    job_p90: float
    job_rmse: float
    log_errors: tuple[float, ...]
    range: Range
    version: int = VERSION

    def half_width(self, level: float = LEVEL) -> float:
        """Points around what is told of a new log's mean, from the errors on unseen logs.

        Student's t with one degree of freedom a log, around an error of 0 in the mean.
        """
        n = len(self.log_errors)
        return t_quantile(level, n) * float(np.sqrt(np.mean(np.square(self.log_errors))))

    def mean(self, rows: Columns, level: float = LEVEL) -> Interval:
        """Mean over node-hours of what isolation takes off, in percent, with its interval.

        The snapshots' scatter and the law's error on unseen logs, one beside the other.

        Parameters
        ----------
        rows : columns
            Of one policy's jobs at snapshots; at least one.
        level : float
        """
        told = self.fitted.percent(rows)
        seen = t_of_snapshots(told, rows["n_nodes"], rows["snapshot"], level)
        half = np.hypot(self.half_width(level), (seen.high - seen.low) / 2)
        return Interval(seen.value, seen.value - half, seen.value + half)

    def content(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "version": self.version,
            "law": self.fitted.law,
            "coefficients": [round(c, 6) for c in self.fitted.coefficients],
            "job_error": {
                name: round(getattr(self, f"job_{name}"), 4) for name in ("p50", "p90", "rmse")
            },
            "log_errors": [round(e, 4) for e in self.log_errors],
            "range": {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in vars(self.range).items()
            },
        }


def predictor_from(content: Mapping[str, Any]) -> Predictor:
    """The predictor of `Predictor.content`.

    Raises
    ------
    NetcosimError
        Another version.
    """
    if content.get("version") != VERSION:
        raise NetcosimError(
            f"isolation_gain.json: version {content.get('version')}; must be {VERSION}: "
            "python docs/fit_isolation_gain.py makes it"
        )
    error = content["job_error"]
    known: dict[str, Any] = {
        k: tuple(v) if isinstance(v, list) else v for k, v in content["range"].items()
    }
    return Predictor(
        Fitted(content["law"], tuple(content["coefficients"])),
        error["p50"],
        error["p90"],
        error["rmse"],
        tuple(content["log_errors"]),
        Range(**known),
    )


@cache
def shipped() -> Predictor:
    """The predictor that is shipped."""
    return predictor_from(json.loads(SHIPPED.read_text(encoding="utf-8")))
