"""Field types of the config: quantities with units, strict numbers, intervals."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, Strict

from experiments.units import Dimension, parse_quantity
from netsim.errors import NetcosimError


def quantity(value: object, dimension: Dimension, *, positive: bool) -> int | float:
    """A quantity in SI, plain numbers allowed, checked for its sign.

    Raises
    ------
    NetcosimError
        As `parse_quantity`; a negative value, or zero where it must be positive.
    """
    parsed = parse_quantity(value, dimension, plain=True)
    if parsed < 0 or (positive and parsed == 0):
        raise NetcosimError(
            f"{value}; {'must be positive' if positive else 'must not be negative'}"
        )
    return parsed


def _size(value: Any) -> int | float:
    return quantity(value, "bytes", positive=True)


def _size_or_zero(value: Any) -> int | float:
    return quantity(value, "bytes", positive=False)


def _time(value: Any) -> int | float:
    return quantity(value, "time", positive=False)


def _interval(value: Any) -> Any:
    """One number stands for an interval without width."""
    return [value, value] if isinstance(value, (int, float, str)) else value


Whole = Annotated[int, Strict()]
Number = Annotated[float, Strict(), Field(allow_inf_nan=False)]
Text = Annotated[str, Strict()]
Flag = Annotated[bool, Strict()]
Positive = Annotated[Number, Field(gt=0)]
Share = Annotated[Number, Field(ge=0, le=1)]
Count = Annotated[Whole, Field(ge=1)]

SizeBytes = Annotated[int, BeforeValidator(_size)]
SizeOrZeroBytes = Annotated[int, BeforeValidator(_size_or_zero)]
TimeS = Annotated[float, BeforeValidator(_time)]
TimeRangeS = Annotated[tuple[TimeS, TimeS], BeforeValidator(_interval)]
ShareRange = Annotated[tuple[Share, Share], BeforeValidator(_interval)]
