"""Lines: utilisation over time, cumulative shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from experiments.figures.style import colour, dash, grid, new_figure
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


def utilisation_over_time(series: Series) -> Figure:
    """Utilisation, one line a policy: the running mean over a hundredth of the span.

    Parameters
    ----------
    series : mapping of str to (time_s, share)
        Ascending times; the share (0 to 1) holds from its time to the next.

    Raises
    ------
    NetcosimError
        Nothing to draw, or lengths that differ.
    """
    data = _checked(series, "utilisation")
    start = min(x[0] for x, _ in data.values())
    end = max(x[-1] for x, _ in data.values())
    unit_s, unit = time_unit(end - start)
    figure, [axis] = new_figure(8.5, 3.6)
    for i, (name, (x, y)) in enumerate(data.items()):
        times, shares = _running_mean(x, y, (end - start) / 100)
        axis.plot(
            (times - start) / unit_s,
            100 * shares,
            color=colour(i),
            linestyle=dash(i),
            linewidth=1.2,
            label=name,
        )
    axis.set_xlim(0, (end - start) / unit_s)
    axis.set_ylim(0, 102)
    axis.set_xlabel(f"time ({unit})")
    axis.set_ylabel("nodes in use (%)")
    grid(axis)
    figure.legend(loc="outside upper right", ncols=min(7, len(data)), frameon=False, fontsize=9)
    return figure


def _running_mean(x: np.ndarray, y: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean of a step function over a window centred at 400 evenly spaced times."""
    area = np.concatenate([[0.0], np.cumsum(np.diff(x) * y[:-1])])
    times = np.linspace(x[0], x[-1], 400)
    low = np.maximum(times - width / 2, x[0])
    high = np.minimum(times + width / 2, x[-1])
    inside = np.interp(high, x, area) - np.interp(low, x, area)
    return times, inside / np.maximum(high - low, 1e-300)


def cdf(
    samples: Mapping[str, Sequence[float] | np.ndarray],
    *,
    xlabel: str,
    log: bool = False,
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
    axis.legend(loc="lower right", frameon=False, fontsize=9)
    return figure
