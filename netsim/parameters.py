"""Parameters of what has a name in a config: declared once, where they are taken.

A parameter of a config is declared in the signature of the function or frozen dataclass that uses
it, as ``name: Annotated[type, "description", limits...] = default``; an `Example`, `NamesIn` or
`ReadIf` may follow. What is not `Annotated` (ranks, generators, networks) is no parameter of a
config. From the signature come a pydantic model that checks values (`model_of`), the message for a
mistake, and the reference of all keys (`parameters_of`). Values are in SI units, which the end of
a name states (``_Bps``, ``_bytes``, ``_s``); the reader of a file converts quantities to them. A
parameter annotated as a frozen dataclass is a group: its fields are keys beside the others.

pydantic is imported when a value is checked, not before: the engines never need it.

Examples
--------
>>> from annotated_types import Ge
>>> def ring(n: int, cables: Annotated[int, "cables between neighbours", Ge(1)] = 1) -> int:
...     return n * cables
>>> parameters_of(ring)["cables"].help_text
'cables between neighbours: a whole number, at least 1 (default 1)'
>>> checked("ring", ring, {"cables": 2})
{'cables': 2}
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from annotated_types import BaseMetadata, Ge, Gt, Le, Lt

from netsim.errors import NetcosimError, unknown_name

if TYPE_CHECKING:
    from pydantic import BaseModel

Factory = Callable[..., Any]
"""A function or a dataclass with parameters."""
Documented = TypeVar("Documented", bound=Factory)


@dataclass(frozen=True, eq=False)
class OneOf:
    """Annotation: the allowed words of a text."""

    words: Collection[str]


class NamesFile:
    """Annotation: the text names a file, which a config stores with its digest."""


@dataclass(frozen=True)
class ReadIf:
    """Annotation: the key is read only where other keys have certain values."""

    keys: tuple[str, ...]
    """The other keys, by their SI names: of the same table, or dotted, of any table."""
    holds: Callable[..., bool]
    """``holds(value of each)``: whether the key is read."""
    words: str | Callable[[], str]
    """Where it is read, for a message: "machine.rails is above 1"."""

    @property
    def where(self) -> str:
        """Where it is read, for a message."""
        return self.words if isinstance(self.words, str) else self.words()


@dataclass(frozen=True, eq=False)
class Example:
    """Give in an annotation the value that the reference shows.

    Without one the reference shows another word, the other truth value, or twice the default.
    """

    value: object
    """As a config file has it: "10 min", 4, ["leaf", "pod"]."""
    beside: Mapping[str, object] = field(default_factory=dict)
    """Other keys of the same table that the key needs, with their values."""


@dataclass(frozen=True, eq=False)
class NamesIn:
    """Annotate a text, or each of a list, as a name in a registry."""

    registry: Collection[str]

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """Add the names to pydantic's JSON schema."""
        return {**handler(schema), "names": [*self.registry]}


@dataclass(frozen=True)
class Parameter:
    """A parameter as its signature declares it."""

    name: str
    kind: Any
    """Type of the value in a config: int, float, bool, str, a sequence of these, a union of
    them."""
    default: object
    """`inspect.Parameter.empty` where a value is needed."""
    description: str
    limits: tuple[BaseMetadata, ...] = field(default=())
    """Of a number, or of each number of a list (`annotated_types`)."""
    words: tuple[str, ...] = ()
    """The words that a text may be; empty for any."""
    names_file: bool = False
    optional: bool = False
    """Whether None is a value."""
    notes: tuple[ReadIf | Example | NamesIn, ...] = ()
    """What else the annotation holds."""

    @property
    def required(self) -> bool:
        """Whether a value is needed."""
        return self.default is inspect.Parameter.empty

    @property
    def is_list(self) -> bool:
        """Whether a list can be its value."""
        return any(map(_is_list, _either(self.kind)))

    @property
    def allowed(self) -> str:
        """Description of the allowed values."""
        if self.names_file:
            return "a file"
        if self.words:
            return " or ".join(filter(None, (", ".join(self.words[:-1]), self.words[-1])))
        kinds = " or ".join(_kind_in_words(kind) for kind in _either(self.kind))
        limits = " and ".join(map(limit_in_words, self.limits))
        return f"{kinds}, {'each ' if self.is_list else ''}{limits}" if limits else kinds

    @property
    def help_text(self) -> str:
        """Description, allowed values and default on one line."""
        if self.required:
            default = "needed"
        elif self.default is None:
            default = "may be left out"
        else:
            value = self.default
            default = f"default {str(value).lower() if isinstance(value, bool) else value}"
        return f"{self.description}: {self.allowed} ({default})"


_PLAIN = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def _is_list(kind: Any) -> bool:
    return typing.get_origin(kind) is Sequence


def _either(kind: Any) -> tuple[Any, ...]:
    union = typing.get_origin(kind) in (typing.Union, types.UnionType)
    return typing.get_args(kind) if union else (kind,)


def _kind_in_words(kind: Any) -> str:
    if _is_list(kind):
        inner = _kind_in_words(typing.get_args(kind)[0])
        if inner.startswith("a list"):
            return inner.replace("a list", "a list of lists", 1)
        return f"a list of {inner.removeprefix('a ')}{'' if inner.startswith('true') else 's'}"
    return _PLAIN[kind]


def limit_in_words(limit: BaseMetadata) -> str:
    """Describe a limit for a message; TypeError for an unknown kind of limit."""
    for kind, words in ((Ge, "at least"), (Gt, "above"), (Le, "at most"), (Lt, "below")):
        if isinstance(limit, kind):
            return f"{words} {getattr(limit, kind.__name__.lower()):,}"
    raise TypeError(f"{limit!r}: a limit that cannot be described")


def _annotated(factory: Factory) -> dict[str, tuple[Any, ...]]:
    """Return type and metadata of the annotated parameters, by name, in their own order."""
    hints = typing.get_type_hints(factory, include_extras=True)
    return {
        name: typing.get_args(hints[name])
        for name in inspect.signature(factory).parameters
        if typing.get_origin(hints.get(name)) is Annotated
    }


@cache
def parameters_of(factory: Factory) -> Mapping[str, Parameter]:
    """Return the parameters that a function or dataclass declares, by name, in its own order."""
    signature = inspect.signature(factory).parameters
    declared: dict[str, Parameter] = {}
    for name, (kind, *metadata) in _annotated(factory).items():
        if isinstance(kind, type) and is_dataclass(kind):
            declared.update(parameters_of(kind))
            continue
        kinds = tuple(k for k in _either(kind) if k in _PLAIN or _is_list(k))
        declared[name] = Parameter(
            name=name,
            kind=typing.Union[kinds],  # noqa: UP007 - of a tuple
            default=signature[name].default,
            description=next(m for m in metadata if isinstance(m, str)),
            limits=tuple(m for m in metadata if isinstance(m, BaseMetadata)),
            words=tuple(word for m in metadata if isinstance(m, OneOf) for word in m.words),
            names_file=NamesFile in metadata,
            optional=type(None) in _either(kind),
            notes=tuple(m for m in metadata if isinstance(m, (ReadIf, Example, NamesIn))),
        )
    return types.MappingProxyType(declared)


def call(factory: Factory, values: Mapping[str, Any], *others: object) -> Any:
    """Call a function with parameters by name, those of a group as one value of its dataclass.

    ``others`` are its first arguments, which are no parameters.
    """
    arguments = dict(values)
    for name, (kind, *_) in _annotated(factory).items():
        if isinstance(kind, type) and is_dataclass(kind):
            own = [key for key in parameters_of(kind) if key in arguments]
            arguments[name] = kind(**{key: arguments.pop(key) for key in own})
    return factory(*others, **arguments)


def documented(cls: Documented) -> Documented:
    """Add the section "Attributes" to a class's docstring, from its annotated fields."""
    lines = ["", "", "Attributes", "----------"]
    for parameter in parameters_of(cls).values():
        kind = getattr(parameter.kind, "__name__", str(parameter.kind))
        lines.append(f"{parameter.name} : {kind}{', optional' if parameter.optional else ''}")
        lines.append(f"    {parameter.description[0].upper()}{parameter.description[1:]}.")
    head, examples, rest = inspect.cleandoc(cls.__doc__ or "").partition("\n\nExamples\n")
    cls.__doc__ = head + "\n".join(lines) + examples + rest
    return cls


@cache
def model_of(factory: Factory) -> type[BaseModel]:
    """Return the pydantic model of a function's or dataclass's parameters."""
    return model_from(factory.__name__, parameters_of(factory))


def model_from(
    name: str,
    parameters: Mapping[str, Parameter],
    kind_of: Callable[[Parameter], Any] | None = None,
) -> type[BaseModel]:
    """Return a pydantic model of parameters: frozen, nothing unknown.

    ``kind_of(parameter)`` is the type of a field, for code that reads quantities with units or
    files; by default `checked_kind`.
    """
    from pydantic import ConfigDict, Field, create_model

    fields: dict[str, Any] = {}
    for key, parameter in parameters.items():
        default = ... if parameter.required else parameter.default
        kind = (kind_of or checked_kind)(parameter)
        shown: dict[str, Any] = {}
        for note in parameter.notes:
            if isinstance(note, Example):
                shown["examples"] = [note.value]
                shown["json_schema_extra"] = {"beside": {**note.beside}} if note.beside else None
            else:
                kind = Annotated[kind, note]
        fields[key] = (kind, Field(default, description=parameter.description, **shown))
    return create_model(
        name, __config__=ConfigDict(frozen=True, extra="forbid", defer_build=True), **fields
    )


def checked_kind(parameter: Parameter) -> Any:
    """Return the type of a parameter in a pydantic model: no conversions, within its limits."""
    kinds = [_strict(kind, parameter) for kind in _either(parameter.kind)]
    if parameter.optional:
        kinds.append(type(None))
    return typing.Union[tuple(kinds)]  # noqa: UP007 - of a tuple


def _strict(kind: Any, parameter: Parameter) -> Any:
    """Return a kind without conversions, but for NumPy's numbers and arrays."""
    from pydantic import BeforeValidator, Field, Strict

    if parameter.words:
        return typing.Literal[parameter.words]
    if _is_list(kind):
        # an empty list means something only where it is the default
        least = 0 if parameter.default == () else 1
        inner: Any = _strict(typing.get_args(kind)[0], parameter)
        return Annotated[tuple[inner, ...], BeforeValidator(_plain), Field(min_length=least)]
    limits: tuple[Any, ...] = parameter.limits if kind in (int, float) else ()
    if kind is float:
        limits = (Field(allow_inf_nan=False), *limits)
    return Annotated[kind, Strict(), *limits, BeforeValidator(_plain)]


def _plain(value: object) -> object:
    """Convert NumPy's numbers and arrays to Python's."""
    return value.tolist() if hasattr(value, "tolist") else value


MISTAKES = {
    "missing": "missing; it has no default",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
    **dict.fromkeys(("int_type", "int_from_float", "int_parsing"), "must be a whole number"),
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "string_type": "must be a text in quotes",
    "literal_error": "must be {expected}",
    **dict.fromkeys(("tuple_type", "list_type"), "must be a list"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "must be a table"),
    "too_short": "must have at least {min_length} entries",
    "too_long": "must have at most {max_length} entries",
}
"""What is allowed, for each kind of pydantic's errors; in braces what its context holds."""


def mistake_in_words(error: Mapping[str, Any]) -> str:
    """Describe one of pydantic's errors: what is allowed."""
    kind, context = error["type"], error.get("ctx", {})
    if kind in ("value_error", "assertion_error"):
        return " ".join(str(context.get("error", error["msg"])).split())
    text = MISTAKES[kind].format(**context) if kind in MISTAKES else str(error["msg"])
    return " ".join(text.replace("at least 1 entries", "at least 1 entry").split())


def mistake_in(factory: Factory, given: Mapping[str, object]) -> tuple[str, str] | None:
    """Return the first given parameter that does not fit, and what is allowed; None if all fit.

    All names must be known; missing ones are not looked for.
    """
    from pydantic import ValidationError

    try:
        model_of(factory).model_validate(dict(given))
    except ValidationError as error:
        first = next((e for e in error.errors() if e["type"] != "missing"), None)
        if first is None:
            return None
        parameter = parameters_of(factory)[str(first["loc"][0])]
        # of several kinds, or of a list, all that is allowed; else what is wrong with this value
        simple = len(first["loc"]) == 1 and (not parameter.is_list or first["type"] == "too_short")
        problem = mistake_in_words(first) if simple else f"must be {parameter.allowed}"
        return parameter.name, problem
    return None


def checked(where: str, factory: Factory, given: Mapping[str, object]) -> dict[str, Any]:
    """Return given parameters, checked as ``factory`` declares them, without defaults."""
    known = parameters_of(factory)
    for name in given:
        if name not in known:
            if not known:
                raise NetcosimError(f"{where}: unknown parameter {name!r}; it takes none")
            raise unknown_name(f"parameter of {where}", name, known)
    missing = [n for n, parameter in known.items() if parameter.required and n not in given]
    if missing:
        raise NetcosimError(f"{where}: parameter {missing[0]} is missing")
    wrong = mistake_in(factory, given) if given else None
    if wrong is not None:
        name, problem = wrong
        value = " ".join(repr(given[name]).split())[:200]
        raise NetcosimError(f"{where}: {name} = {value}; it {problem}")
    return {name: _plain(value) for name, value in given.items()}


def check_values(where: str, values: object) -> None:
    """Check the values of a dataclass's parameters against their declarations."""
    factory: Factory = type(values)
    checked(where, factory, {name: getattr(values, name) for name in parameters_of(factory)})
