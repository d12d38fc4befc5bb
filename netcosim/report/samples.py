"""How many more samples would decide a question, and how long they would take."""

from __future__ import annotations

import math
from collections.abc import Iterable

from netsim.units import format_quantity
from queuesim.statistics import MATTERS, Interval

MOST_TIMES = 20
"""More samples than so many times those there are will not be recommended."""


def samples_to_decide(ratio: Interval, samples: int, noise: float = 0.0) -> float:
    """Return about how many samples would decide whether a ratio is above or below 1.

    The half-width of the interval has two parts, one beside the other: ``noise``, which more
    samples do not change, and another that falls as their square root.

    Parameters
    ----------
    samples : int
        Independent samples of the interval.
    noise : float
        Half-width.

    Returns
    -------
    float
        At most ``samples`` where the ratio is decided, infinite where no number would decide,
        nan where an interval or the noise is not known.
    """
    if any(map(math.isnan, (ratio.low, ratio.high, noise))):
        return math.nan
    off = abs(ratio.value - 1) - MATTERS
    if off <= noise:
        return math.inf
    half = ratio.value - ratio.low if ratio.value > 1 else ratio.high - ratio.value
    return samples * max(half**2 - noise**2, 0.0) / (off**2 - noise**2)


def more_to_decide(needs: Iterable[float], samples: int) -> int | None:
    """Return how many more samples would decide the easiest of some questions.

    None where that is not known, or more than `MOST_TIMES` the samples there are.
    """
    need = min((one for one in needs if not math.isnan(one)), default=math.nan)
    if not need <= MOST_TIMES * samples:
        return None
    return max(math.ceil(need) - samples, 1)


def format_more(more: float, what: str, seconds: float, effect: str = "would decide") -> str:
    """Describe more samples: "40 more snapshots would decide, about 6 min"."""
    plural = "" if more == 1 else "s"
    return f"{more:,.0f} more {what}{plural} {effect}, about {format_quantity(seconds, 'time', 1)}"
