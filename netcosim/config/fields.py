"""Field types of the config: quantities with units, strict numbers, intervals; dotted keys."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    SerializerFunctionWrapHandler,
    Strict,
    create_model,
    model_serializer,
    model_validator,
)
from pydantic_core import core_schema

from netsim.errors import NetcosimError, need_name
from netsim.inputs import checked_path, input_file
from netsim.parameters import NamesIn, Parameter, checked_kind, model_from, parameters_of
from netsim.text_numbers import whole_number
from netsim.units import Dimension, parse_quantity, quantity_of, short_name


def quantity(value: object, dimension: Dimension, *, positive: bool = False) -> int | float:
    """Return a quantity or a plain number in SI, checked for its sign."""
    parsed = parse_quantity(value, dimension, plain=True)
    positive = positive or dimension == "bandwidth"
    if parsed < 0 or (positive and parsed == 0):
        raise NetcosimError(
            f"{value}; {'must be positive' if positive else 'must not be negative'}"
        )
    if dimension == "time" and parsed > LONGEST_S:
        raise NetcosimError(f"{value}; must be at most {LONGEST_S:g} s")
    return parsed


LONGEST_S = 1e12
"""Seconds, 32,000 years: beyond, a clock would lose milliseconds."""


def in_si(dimension: Dimension, *, positive: bool = False) -> BeforeValidator:
    """Convert a value of a file to a `quantity`."""
    return BeforeValidator(lambda value: quantity(value, dimension, positive=positive))


@dataclass(frozen=True, eq=False)
class Known(NamesIn):
    """Refuse a name, or one of several, that is not in the registry."""

    what: str
    """What the registry holds, for the message."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Validate as the annotated type does, then check the names."""
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def _check(self, value: Any) -> Any:
        for name in [value] if isinstance(value, str) else value or ():
            need_name(self.what, name, self.registry)
        return value


@dataclass(frozen=True)
class OrText:
    """Annotate what a file may also give as a text of some pattern, for the JSON schema."""

    pattern: str = ""

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """Add the text to pydantic's JSON schema."""
        text = {"type": "string"} | ({"pattern": self.pattern} if self.pattern else {})
        return {**handler(schema), "or_text": text}


def known(what: str, registry: Collection[str]) -> Known:
    """Return the annotation of a name, or of several, in a registry of ``what``."""
    return Known(registry, what)


def each_once(what: str) -> AfterValidator:
    """Return the annotation of names, each of which may be listed once."""

    def check(names: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(names)) < len(names):
            raise NetcosimError(f"{', '.join(names)}; {what} is listed twice")
        return names

    return AfterValidator(check)


def _one_or_more(value: Any) -> Any:
    """Convert one value to a list of it."""
    return [value] if isinstance(value, (int, float, str)) else value


def _interval(value: Any) -> Any:
    """Convert one number to an interval of width zero."""
    if isinstance(value, (list, tuple)) and len(value) != 2:
        raise NetcosimError(
            f"{list(value)}; must be one value or [low, high] (to sweep over it: a range, or a "
            "list of such pairs)"
        )
    return [value, value] if isinstance(value, (int, float, str)) else value


def all_finite(value: object) -> bool:
    """Return whether no number in a value, including lists and tables, is nan or infinite."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Mapping):
        return all(all_finite(inner) for inner in value.values())
    if isinstance(value, (list, tuple)):
        return all(all_finite(inner) for inner in value)
    return True


SectionT = TypeVar("SectionT", bound="DeclaredSection")


class Section(BaseModel):
    """Base of all sections: nothing unknown, nothing changed afterwards."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    added: ClassVar[Collection[str]] = ()
    """Keys that came after the first points were stored: they count in a point's content, and so in
    its draws, once they differ from their defaults."""

    def idle(self) -> Collection[str]:
        """Return the keys that a point's content leaves out."""
        return {k for k in self.added if getattr(self, k) == type(self).model_fields[k].default}

    @model_serializer(mode="wrap")
    def _content(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        idle = self.idle()
        return {key: value for key, value in dump(self).items() if key not in idle}


class DeclaredSection(Section):
    """A section whose keys a dataclass declares, beside its own; see `declared_by`."""

    declared: ClassVar[Callable[..., Any]]

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        self.made()
        return self

    def made(self) -> Any:
        """Return what the keys declare."""
        return type(self).declared(**self.model_dump())


def declared_by(factory: Callable[..., Any]) -> Callable[[type[SectionT]], type[SectionT]]:
    """Add the keys that a dataclass declares to a section."""

    def with_its_keys(section: type[SectionT]) -> type[SectionT]:
        model: type[SectionT] = with_keys(section.__name__, section, parameters_of(factory))
        model.declared = factory
        return model

    return with_its_keys


class InputFile(BaseModel):
    """A file that a config names, with what it held when the config was read.

    See `netsim.inputs`. A file may be pinned in a config: ``{file = "...", sha256 = "..."}``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    file: Annotated[str, Strict()]
    sha256: Annotated[str, Strict(), Field(pattern="^[0-9a-f]{64}$")]

    def checked(self) -> str:
        """Return the file's path (see `netsim.inputs.checked_path` for what is refused)."""
        return checked_path(self.model_dump())


def config_kind(parameter: Parameter) -> Any:
    """Return the type of a declared parameter in a config: files with their digests, units parsed.

    A text is checked against the declared names.
    """
    unit = quantity_of(parameter.name)
    names = next((note for note in parameter.notes if isinstance(note, NamesIn)), None)
    if parameter.names_file:
        kind: Any = Input
    elif unit is not None and parameter.is_list:
        each: Any = Annotated[float, in_si(unit.dimension), *parameter.limits]
        least = 0 if parameter.default == () else 1
        kind = Annotated[tuple[each, ...], BeforeValidator(_one_or_more), Field(min_length=least)]
    elif unit is not None:
        kind = Annotated[parameter.kind, in_si(unit.dimension), *parameter.limits]
    elif names is not None:
        what = parameter.name.replace("_", " ")
        return Annotated[checked_kind(parameter), known(what, names.registry)]
    else:
        return checked_kind(parameter)
    return kind | None if parameter.optional else kind


def with_keys(name: str, section: type[Section], declared: Mapping[str, Parameter]) -> Any:
    """Return a section with more keys, as a function or dataclass declares its parameters."""
    keys = model_from(name, declared, config_kind)
    fields: dict[str, Any] = {key: (f.annotation, f) for key, f in keys.model_fields.items()}
    return create_model(name, __base__=section, __module__=section.__module__, **fields)


Whole = Annotated[int, Strict()]
Number = Annotated[float, Strict(), Field(allow_inf_nan=False)]
Text = Annotated[str, Strict()]
Flag = Annotated[bool, Strict()]
Positive = Annotated[Number, Field(gt=0)]
Share = Annotated[Number, Field(ge=0, le=1)]
Count = Annotated[Whole, Field(ge=1)]
CountRange = Annotated[tuple[Count, Count], BeforeValidator(_interval)]

SizeBytes = Annotated[int, in_si("bytes", positive=True)]
TimeS = Annotated[float, in_si("time")]
TimeRangeS = Annotated[tuple[TimeS, TimeS], BeforeValidator(_interval)]
_PRESENT = BeforeValidator(lambda value: input_file(value) if isinstance(value, str) else value)
"""Convert a path to the file with its present content."""
Input = Annotated[InputFile, _PRESENT, OrText()]
BandwidthBps = Annotated[float, in_si("bandwidth")]
BandwidthsBps = Annotated[tuple[BandwidthBps, ...], BeforeValidator(_one_or_more)]
ShareRange = Annotated[tuple[Share, Share], BeforeValidator(_interval)]

_MACHINE = re.compile(r"^machine\.(routing_)?parameters\.")


def value_at(config: Any, key: str) -> Any:
    """Return the value of a dotted key; raise KeyError for one that the config does not have."""
    value = config
    for part in key.split("."):
        if isinstance(value, (tuple, list)):
            at = whole_number(part, 0, len(value) - 1)
            if at is None:
                raise KeyError(key)
            value = value[at]
        elif isinstance(value, dict):
            value = value[part]
        elif part in getattr(type(value), "model_fields", ()):
            value = getattr(value, part)
        else:
            raise KeyError(key)
    return value


def matches(key: str, patterns: Iterable[str]) -> bool:
    """Return whether a dotted key is one of some keys, or in one of some tables."""
    return any(fnmatchcase(key, p) or fnmatchcase(key, f"{p}.*") for p in patterns)


def assigned_one_of(key: str, names: Iterable[str]) -> str:
    """Format as ``KEY = "a", "b" or "c"``."""
    quoted = [f'"{name}"' for name in names]
    return f"{key} = {' or '.join(filter(None, (', '.join(quoted[:-1]), quoted[-1])))}"


def shown_key(key: str) -> str:
    """Return a dotted SI name as a file spells it."""
    short = ".".join(map(short_name, key.split(".")))
    return _MACHINE.sub("machine.", short)
