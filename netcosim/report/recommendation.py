"""What every page and command of a study begins with: one recommendation, and its limits."""

from __future__ import annotations

from dataclasses import dataclass

from netcosim.report.page import Section
from netcosim.report.templates import part
from netsim.units import format_quantity


@dataclass(frozen=True)
class Recommendation:
    """The answer of a study in plain words."""

    sentence: str
    """What to do, or what came out."""
    interval: str
    """How certain that is."""
    condition: str
    """The assumption that it depends on most."""
    next_step: str
    rating: str = ""
    """How far the study can rely on its own simulation; empty where nothing rates it."""
    reliable: bool = True
    """Whether ``sentence`` may be read without ``rating``; if not, the rating comes first."""

    @property
    def head(self) -> tuple[str, ...]:
        """Return what comes first: the sentence, below the rating unless it is reliable."""
        return (self.sentence,) if self.reliable else (self.rating, self.sentence)

    @property
    def limits(self) -> tuple[tuple[str, str], ...]:
        """Return title and text of what follows."""
        listed = [("Interval", self.interval), ("Condition", self.condition)]
        listed += [("Rating", self.rating)] if self.reliable else []
        return tuple((name, text) for name, text in (*listed, ("Next", self.next_step)) if text)

    def lines(self) -> list[str]:
        """Return the lines of a command's output."""
        return [*self.head, *(f"  {name}: {text}" for name, text in self.limits)]

    def section(self) -> Section:
        """Return the first section of a page."""
        return Section("Recommendation", html=part("recommendation", self.head, self.limits))


def number(value: float) -> str:
    """Format a percentage for a sentence: 12, 3.4, 0.02."""
    size = abs(value)
    text = f"{value:.0f}" if size >= 9.95 else f"{value:.1f}" if size >= 0.095 else f"{value:.2g}"
    return "0" if float(text) == 0 else text


def format_duration(seconds: float) -> str:
    """Format a time for a sentence: 2.2 h."""
    return format_quantity(float(seconds), "time", 2)
