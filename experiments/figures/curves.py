"""Lines: utilisation over time, latency against load, cumulative shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from experiments.figures.style import INK, SOFT, colour, dash, grid, marker, new_figure
from netsim.errors import NetcosimError

Series = Mapping[str, tuple[ArrayLike, ArrayLike]]
"""Name to (x, y)."""

_TIME_UNITS = ((86400.0, "days", 3 * 86400.0), (3600.0, "hours", 7200.0), (60.0, "minutes", 300.0))


def time_unit(span_s: float) -> tuple[float, str]:
    """Seconds of the unit in which a span of time reads well, and its name."""
    for seconds, name, least in _TIME_UNITS:
        if span_s >= least:
            return seconds, name
    return 1.0, "s"


def _checked(series: Series, what: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    found = {}
    for name, (x, y) in series.items():
        a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        if a.shape != b.shape or a.ndim != 1 or len(a) == 0:
            raise NetcosimError(f"{what}: series {name!r} needs x and y of one length, at least 1")
        found[name] = (a, b)
    if not found:
        raise NetcosimError(f"{what}: there is nothing to draw")
    return found


def utilisation_over_time(
    series: Series,
    *,
    smooth_s: float | None = None,
    title: str = "",
    ylabel: str = "nodes in use (%)",
) -> Figure:
    """Steps of utilisation, one line a policy.

    Parameters
    ----------
    series : mapping of str to (time_s, share)
        Ascending times; the share (0 to 1) holds from its time to the next.
    smooth_s : float, optional
        Width of the running mean, a hundredth of the span by default; 0 draws the steps.
    title, ylabel : str

    Raises
    ------
    NetcosimError
        Nothing to draw, or lengths that differ.
    """
    data = _checked(series, "utilisation")
    start = min(x[0] for x, _ in data.values())
    end = max(x[-1] for x, _ in data.values())
    unit_s, unit = time_unit(end - start)
    width_s = (end - start) / 100 if smooth_s is None else smooth_s
    figure, [axis] = new_figure(8.5, 3.6)
    drawn = {}
    for i, (name, (x, y)) in enumerate(data.items()):
        times, shares = (x, y) if width_s <= 0 else _running_mean(x, y, width_s)
        axis.plot(
            (times - start) / unit_s,
            100 * shares,
            drawstyle="steps-post" if width_s <= 0 else "default",
            color=colour(i),
            linestyle=dash(i),
            linewidth=1.2,
        )
        drawn[name] = ((times - start) / unit_s, 100 * shares)
    axis.set_xlim(0, (end - start) / unit_s)
    axis.set_ylim(0, 102)
    axis.set_xlabel(f"time ({unit})")
    axis.set_ylabel(ylabel)
    grid(axis)
    if title:
        axis.set_title(title, loc="left", fontsize=11)
    figure.legend(
        [axis.lines[i] for i in range(len(drawn))],
        list(drawn),
        loc="outside upper right",
        ncols=min(7, len(drawn)),
        frameon=False,
        fontsize=9,
    )
    return figure


def _running_mean(x: np.ndarray, y: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean of a step function over a window centred at 400 evenly spaced times."""
    area = np.concatenate([[0.0], np.cumsum(np.diff(x) * y[:-1])])
    times = np.linspace(x[0], x[-1], 400)
    low = np.maximum(times - width / 2, x[0])
    high = np.minimum(times + width / 2, x[-1])
    inside = np.interp(high, x, area) - np.interp(low, x, area)
    return times, inside / np.maximum(high - low, 1e-300)


def latency_load(
    series: Series,
    *,
    limits: Mapping[str, float] | None = None,
    latency_unit: str = "us",
    highest: float | None = None,
    title: str = "",
) -> Figure:
    """Latency against offered load, with the loads that closed forms allow at most.

    Parameters
    ----------
    series : mapping of str to (load, latency)
        Load as a fraction of injection bandwidth; latency in ``latency_unit``. nan or inf:
        saturated.
    limits : mapping of str to float, optional
        Upright dashed lines at these loads, with their names.
    latency_unit : str
    highest : float, optional
        Upper end of the latency axis; by default eight times the least latency.
    title : str

    Raises
    ------
    NetcosimError
        Nothing to draw, or lengths that differ.
    """
    data = _checked(series, "latency-load")
    finite = np.concatenate([y[np.isfinite(y)] for _, y in data.values()])
    if len(finite) == 0:
        raise NetcosimError("latency-load: no finite latency to draw")
    top = highest if highest is not None else 8 * float(finite.min())
    figure, [axis] = new_figure(8.0, 4.4)
    for i, (x, y) in enumerate(data.values()):
        axis.plot(
            x,
            np.where(np.isfinite(y), np.minimum(y, 50 * top), np.nan),
            color=colour(i),
            linestyle=dash(i),
            marker=marker(i),
            markersize=4.0,
            linewidth=1.4,
        )
    reach = max(float(x.max()) for x, _ in data.values())
    axis.set_xlim(0, max(1.0, reach))
    axis.set_ylim(0, top)
    for load, names in _merged(limits or {}):
        axis.axvline(load, color=SOFT, linewidth=1.0, linestyle=(0, (4, 3)))
        axis.annotate(
            f"{names}: {load:.3g}",
            (load, 0.985),
            xycoords=("data", "axes fraction"),
            xytext=(-3, 0),
            textcoords="offset points",
            rotation=90,
            ha="right",
            va="top",
            fontsize=8.5,
            color=INK,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.8},
        )
    axis.set_xlabel("offered load (fraction of injection bandwidth)")
    axis.set_ylabel(f"mean packet latency ({latency_unit})")
    grid(axis)
    if title:
        axis.set_title(title, loc="left", fontsize=11)
    figure.legend(axis.lines[: len(data)], list(data), loc="outside right upper", frameon=False)
    return figure


def _merged(limits: Mapping[str, float]) -> list[tuple[float, str]]:
    """Limits at one load share a line."""
    by_load: dict[float, list[str]] = {}
    for name, load in limits.items():
        by_load.setdefault(round(load, 6), []).append(name)
    return [(load, ", ".join(names)) for load, names in sorted(by_load.items())]


def cdf(
    samples: Mapping[str, Sequence[float] | np.ndarray],
    *,
    xlabel: str,
    log: bool = False,
    title: str = "",
) -> Figure:
    """Cumulative share of samples, one line each.

    Parameters
    ----------
    samples : mapping of str to (n,) float
        nan are left out.
    xlabel : str
        With its unit.
    log : bool
        Logarithmic axis; samples of 0 and less then stand at its left end.
    title : str

    Raises
    ------
    NetcosimError
        Nothing to draw.
    """
    data: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for name, values in samples.items():
        kept = np.sort(np.asarray(values, dtype=float))
        kept = kept[~np.isnan(kept)]
        if len(kept):
            data[name] = (kept, np.arange(1, len(kept) + 1) / len(kept))
    if not data:
        raise NetcosimError("cdf: there is nothing to draw")
    figure, [axis] = new_figure(7.0, 4.2)
    for i, (name, (x, y)) in enumerate(data.items()):
        axis.step(
            np.concatenate([x[:1], x]),
            100 * np.concatenate([[0.0], y]),
            where="post",
            color=colour(i),
            linestyle=dash(i),
            linewidth=1.4,
            label=f"{name} (median {np.median(x):.3g})",
        )
    if log:
        axis.set_xscale("log")
    else:
        axis.set_xlim(min(0.0, min(float(x[0]) for x, _ in data.values())), None)
    axis.set_ylim(0, 101)
    axis.set_xlabel(xlabel)
    axis.set_ylabel("share of samples (%)")
    grid(axis, "both")
    if title:
        axis.set_title(title, loc="left", fontsize=11)
    axis.legend(loc="lower right", frameon=False, fontsize=9)
    return figure
