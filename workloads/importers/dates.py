"""Dates and lengths of time as schedulers write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
from math import isnan, nan
from typing import Annotated
from zoneinfo import ZoneInfo

from netsim.errors import NetcosimError

_NONE = frozenset(("", "unknown", "none", "n/a", "invalid", "-"))
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?")
_SLASHED = re.compile(r"([0-9]{4})/([0-9]{1,2})/([0-9]{1,2}) ([0-9:.]+)")
_UNIX = re.compile(r"[0-9]{1,11}(\.[0-9]+)?")
_LENGTH = re.compile(
    r"(?:([0-9]{1,7})-)?([0-9]{1,7})(?::([0-9]{1,2}))?(?::([0-9]{1,2}))?(?:\.[0-9]+)?"
)
_HOUR_S = 3600.0
_DAY_S = 86400.0

NO_LIMIT = frozenset(("unlimited", "partition_limit", "infinite", "inf", "invalid", "-1"))
"""Lengths without a number: not limited, limited by the partition, or not valid."""

Zone = Annotated[str, "zone of the dates, where they have none themselves"]


class LogClock:
    """Unix times of a zone's dates ("Europe/Berlin"); one of the hour that comes twice has two."""

    def __init__(self, zone: str) -> None:
        self._days: dict[str, float] = {}
        self._offsets: dict[str, tuple[float, float]] = {}
        try:
            self._zone: tzinfo = UTC if zone == "UTC" else ZoneInfo(zone)
        except (OSError, ValueError, KeyError):
            raise NetcosimError(
                f'timezone = {zone!r}; a name of the tz database is needed, as "Europe/Berlin"'
            ) from None

    def both(self, text: str) -> tuple[float, float]:
        """Return a date as it is first and last on the clocks; nan for none, else ValueError.

        A date may be Unix time, and may end in its own offset from UTC.
        """
        text = text.strip()
        if text.lower() in _NONE:
            return nan, nan
        if slashed := _SLASHED.fullmatch(text):
            year, month, day, rest = slashed.groups()
            text = f"{year}-{month:0>2}-{day:0>2} {rest}"
        if _DATE.fullmatch(text):
            day_s = self._days.get(text[:10])
            if day_s is None:
                day = datetime.fromisoformat(text[:10]).replace(tzinfo=UTC)
                day_s = self._days[text[:10]] = day.timestamp()
            hour, minute, second = int(text[11:13]), int(text[14:16]), float(text[17:] or 0)
            if hour > 23 or minute > 59 or second >= 61:
                raise ValueError(text)
            local_s = day_s + _HOUR_S * hour + 60 * minute + second
            if self._zone is UTC:
                return local_s, local_s
            first, last = self._offset_s(text[:16])
            return local_s - first, local_s - last
        if _UNIX.fullmatch(text):
            return float(text), float(text)
        with_offset = datetime.fromisoformat(text)
        if with_offset.tzinfo is None:
            raise ValueError(text)
        return with_offset.timestamp(), with_offset.timestamp()

    def _offset_s(self, minute: str) -> tuple[float, float]:
        """Return the offsets of local time from UTC, before and after a change of the clock."""
        known = self._offsets.get(minute)
        if known is None:
            when = datetime.fromisoformat(minute).replace(tzinfo=self._zone)
            offsets = [when.replace(fold=fold).utcoffset() for fold in (0, 1)]
            first, last = (offset.total_seconds() if offset else 0.0 for offset in offsets)
            known = self._offsets[minute] = first, last
        return known


def in_order(
    submit: tuple[float, float],
    start: tuple[float, float],
    end: tuple[float, float],
    elapsed_s: float,
) -> tuple[float, float, float]:
    """Return submit, start and end where a date may be one of two instants.

    The run time determines which start and which end it was; a job is not submitted after its
    start.
    """
    pairs = [(s, e) for s in start for e in end]
    if not isnan(elapsed_s):
        fits = [pair for pair in pairs if abs(pair[1] - pair[0] - elapsed_s) <= 1]
        pairs = fits or pairs
    ahead = [pair for pair in pairs if pair[0] >= submit[0]]
    start_s, end_s = (ahead or pairs)[0]
    before = [s for s in submit if s <= start_s]
    return (before[0] if before else submit[0]), start_s, end_s


def length_s(text: str) -> float:
    """Convert "1-02:03:04", "02:03:04" or "03:04" to seconds; nan without a limit.

    Another text is a ValueError.

    Examples
    --------
    >>> length_s("1-02:03:04"), length_s("03:04"), length_s("UNLIMITED")
    (93784.0, 184.0, nan)
    """
    text = text.strip()
    if text.lower() in _NONE or text.lower() in NO_LIMIT:
        return nan
    match = _LENGTH.fullmatch(text)
    if match is None:
        raise ValueError(text)
    days, *rest = match.groups()
    numbers = [int(part) for part in rest if part is not None]
    if days is not None:
        # days-hours[:minutes[:seconds]]
        hours, minutes, seconds = (*numbers, 0, 0)[:3]
        return float(days) * _DAY_S + hours * _HOUR_S + minutes * 60 + seconds
    if len(numbers) == 1:
        raise ValueError(text)
    seconds_s = 0.0
    for number in numbers:
        seconds_s = seconds_s * 60 + number
    return seconds_s
