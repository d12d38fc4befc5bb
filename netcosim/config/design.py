"""``[sweep.design]``: the points of a sweep chosen by a design of experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, model_validator

from cosim.isolation.design import METHODS, Design, Factor
from netcosim.config.errors import ConfigError, validated
from netcosim.config.expand import exact_number, unit_of
from netcosim.config.fields import Count, Flag, Section, Text, Whole, known
from netsim.errors import NetcosimError


class FactorSection(Section):
    """One ``[[sweep.design.factors]]``: a key, and the range or the levels of its values.

    ``keys`` name several that go together; each of their levels is a list, a value a key.
    """

    key: Text = ""
    keys: tuple[Text, ...] = ()
    name: Text = ""
    low: int | float | str | None = None
    high: int | float | str | None = None
    log: Flag = False
    integer: Flag = False
    levels: tuple[Any, ...] = ()

    @model_validator(mode="after")
    def _fits_together(self) -> FactorSection:
        if bool(self.key) == bool(self.keys):
            raise NetcosimError("a factor needs key, or keys that go together")
        ends = [end for end in (self.low, self.high) if end is not None]
        ranged = len(ends) == 2
        if (
            len(ends) == 1
            or ranged == bool(self.levels)
            or (self.levels and (self.log or self.integer))
        ):
            raise NetcosimError(f"factor {self.called} needs low and high, or levels")
        if ranged and self.keys:
            raise NetcosimError(f"factor {self.called}: keys that go together have levels")
        if self.keys and not all(
            isinstance(level, (list, tuple)) and len(level) == len(self.keys)
            for level in self.levels
        ):
            raise NetcosimError(f"factor {self.called}: each level needs a value for every key")
        self.factor()
        return self

    @property
    def called(self) -> str:
        """What tables call it."""
        return self.name or self.key or ", ".join(self.keys)

    def factor(self) -> Factor:
        """Return the factor; its numbers are in the unit of ``low``."""
        if self.levels:
            return Factor(self.called, levels=tuple(_word(level) for level in self.levels))
        where, unit = f"factor {self.called}", unit_of(self.low)
        low, high = (float(exact_number(v, where, unit)) for v in (self.low, self.high))
        return Factor(self.called, low, high, self.log, self.integer)

    def changes(self, place: float) -> dict[str, object]:
        """Return keys and their values at a place of the factor."""
        factor, unit = self.factor(), unit_of(self.low)
        if self.keys:
            return dict(zip(self.keys, self.levels[factor.level(place)], strict=True))
        if self.levels:
            return {self.key: self.levels[factor.level(place)]}
        value = factor.value(place)
        return {self.key: f"{value!r} {unit}" if unit else value}


def _word(level: object) -> str:
    """Format a level; the values of several keys are listed side by side."""
    if isinstance(level, (list, tuple)):
        return " ".join(map(_word, level))
    return str(level).lower() if isinstance(level, bool) else str(level)


class DesignSection(Section):
    """``[sweep.design]``: see `cosim.isolation.design.Design`."""

    method: Annotated[Text, known("design", METHODS)]
    samples: Count
    seed: Annotated[Whole, Field(ge=0)] = 1
    factors: tuple[FactorSection, ...] = Field(min_length=2)

    @model_validator(mode="after")
    def _fits_together(self) -> DesignSection:
        self.design()
        return self

    def design(self) -> Design:
        """Build the design of the section's factors."""
        found = [section.factor() for section in self.factors]
        return Design(self.method, self.samples, self.seed, found)


class SweepSection(Section):
    """``[sweep]``: how the lists and ranges of a file become points."""

    zip: tuple[tuple[Text, ...], ...] = Field(
        default=(),
        description="keys that run together; all other lists and ranges are combined",
        examples=[[["machine.radix", "run.seed"]]],
    )
    design: dict[str, Any] | None = Field(
        default=None,
        description="points chosen by a design of experiments: method, samples, seed and factors "
        "([sweeps](sweeps.md))",
        examples=[
            {
                "method": "latin-hypercube",
                "samples": 4,
                "factors": [
                    {"key": "machine.radix", "levels": [4, 6]},
                    {"key": "run.seed", "low": 1, "high": 99, "integer": True},
                ],
            }
        ],
    )


@dataclass(frozen=True)
class SweepDesign:
    """A design, and what its rows change of a config."""

    design: Design
    changes: Sequence[Mapping[str, object]]


def design_of(raw: Mapping[str, Any]) -> SweepDesign | None:
    """Return the design of a sweep's content; None without one.

    Raises
    ------
    NetcosimError
        A mistake in it; SALib is not installed.
    """
    sweep = raw.get("sweep", {})
    given = sweep.get("design") if isinstance(sweep, Mapping) else None
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise ConfigError("sweep.design", given, "must be a table")
    try:
        section = validated(DesignSection, given)
    except ConfigError as error:
        message = str(error).removeprefix("key ").removeprefix("(top level): ")
        raise NetcosimError(f"key sweep.design: {message}") from None
    design = section.design()
    changes = []
    for row in design.places().tolist():
        parts = [f.changes(place) for f, place in zip(section.factors, row, strict=True)]
        changes.append({key: value for part in parts for key, value in part.items()})
    return SweepDesign(design, changes)
