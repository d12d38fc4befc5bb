"""Options that several studies' commands have."""

from __future__ import annotations

from netsim.errors import NetcosimError
from netsim.text_numbers import number_of


def numbers_in(option: str, text: str | None) -> tuple[float, ...]:
    """Return the numbers that an option was given; none if it was not."""
    numbers = tuple(n for n in map(number_of, (text or "").split(",")) if n is not None)
    if text is not None and len(numbers) <= text.count(","):
        raise NetcosimError(f"{option} {text}; must be numbers, 0.1,0.5")
    return numbers
