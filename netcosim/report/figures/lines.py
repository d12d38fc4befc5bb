"""Lines, one a policy: a quantity over time, cumulative shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import LogFormatter
from numpy.typing import ArrayLike

from netcosim.report.figures.style import dash, literal, policy_colours
from netsim.errors import NetcosimError

Series = Mapping[str, tuple[ArrayLike, ArrayLike]]
"""Name to (x, y)."""

_MOST_STEPS = 1000
_TIME_UNITS = ((86400.0, "days", 3 * 86400.0), (3600.0, "hours", 7200.0), (60.0, "minutes", 300.0))


def time_unit(span_s: float) -> tuple[float, str]:
    """Return the seconds of the unit that suits a span of time, and its name."""
    for seconds, name, least in _TIME_UNITS:
        if span_s >= least:
            return seconds, name
    return 1.0, "s"


def over_time(
    axis: Axes,
    series: Series,
    ylabel: str,
    colours: Mapping[str, str],
    *,
    top: float | None = None,
) -> None:
    """Draw a quantity over time, one line a policy: the running mean over a hundredth of the span.

    A series has ascending times, in seconds; a value holds from its time to the next.
    """
    data = {name: (np.asarray(x), np.asarray(y)) for name, (x, y) in series.items()}
    start = min(x[0] for x, _ in data.values())
    end = max(x[-1] for x, _ in data.values())
    unit_s, unit = time_unit(end - start)
    for name, (x, y) in data.items():
        times, means = running_mean(x, y, (end - start) / 100)
        axis.plot(
            (times - start) / unit_s,
            means,
            color=colours[name],
            linestyle=dash(list(colours).index(name)),
            linewidth=1.2,
            label=literal(name),
        )
    axis.set(
        xlim=(0, max((end - start) / unit_s, 1e-12)),
        ylim=(0, top),
        xlabel=f"time ({unit})",
        ylabel=ylabel,
    )


class _PlainLog(LogFormatter):
    """The numbers that a logarithmic axis names, as 0.1 and 3000."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return f"{x:,.6g}" if super().__call__(x, pos) else ""


def plain_numbers(axis: Axis) -> None:
    """Write a logarithmic axis without powers: Matplotlib's own formulas take longest of all."""
    axis.set_major_formatter(_PlainLog())
    axis.set_minor_formatter(_PlainLog(labelOnlyBase=False))


def running_mean(x: np.ndarray, y: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of a step function over a window centred at 400 evenly spaced times."""
    area = np.concatenate([[0.0], np.cumsum(np.diff(x) * y[:-1])])
    times = np.linspace(x[0], x[-1], 400)
    low = np.maximum(times - width / 2, x[0])
    high = np.minimum(times + width / 2, x[-1])
    inside = np.interp(high, x, area) - np.interp(low, x, area)
    return times, inside / np.maximum(high - low, 1e-300)


def cdf(
    axis: Axes,
    samples: Mapping[str, Sequence[float] | np.ndarray],
    *,
    xlabel: str,
    of: str = "samples",
    log: bool = False,
    least: float = 0.0,
    colours: Mapping[str, str] | None = None,
) -> None:
    """Draw the cumulative share of samples, one line each; nan are left out.

    With ``log``, samples of 0 and less are at the left end. Those below ``least`` are drawn there.
    """
    arrays = {name: np.asarray(values, dtype=float) for name, values in samples.items()}
    data = {name: np.sort(x[~np.isnan(x)]) for name, x in arrays.items() if not np.isnan(x).all()}
    if not data:
        raise NetcosimError("cdf: there is nothing to draw")
    paints = colours or policy_colours(list(data))
    for name, x in data.items():
        # more steps than this cannot be seen
        some = np.unique(np.linspace(0, len(x) - 1, _MOST_STEPS).astype(int))
        axis.step(
            np.maximum(np.concatenate([x[:1], x[some]]), least),
            100 * np.concatenate([[0.0], (some + 1) / len(x)]),
            where="post",
            color=paints[name],
            linestyle=dash(list(paints).index(name)),
            linewidth=1.4,
            label=f"{literal(name)} (median {np.median(x):.3g})",
        )
    if log:
        axis.set_xscale("log")
        plain_numbers(axis.xaxis)
    else:
        axis.set_xlim(min(0.0, *(float(x[0]) for x in data.values())), None)
    axis.set(ylim=(0, 101), xlabel=xlabel, ylabel=f"share of {of} (%)")
    axis.legend(loc="best", frameon=False, fontsize=9)
