"""Every mistake in a config as one line: the file, the key, the value, what is allowed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin

from netsim.errors import NetcosimError, near
from netsim.parameters import mistake_in_words
from netsim.units import quantity_of, short_name

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError


class ConfigError(NetcosimError):
    """A mistake at a dotted key: ``key KEY: VALUE; what is allowed``.

    The value is None if the message contains it or there is none.
    """

    def __init__(self, key: str, value: object, message: str) -> None:
        self.key, self.value, self.message = key, value, message
        shown = "" if value is None else f"{show(value)}; "
        super().__init__(f"key {key}: {shown}{message}")

    def __reduce__(self) -> tuple[type[ConfigError], tuple[str, object, str]]:
        """Pickle what it was built from: process pools return exceptions."""
        return ConfigError, (self.key, self.value, self.message)


def by_si_name(
    given: Iterable[tuple[str, Any]], short: Mapping[str, str], where: str
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return values by SI name, and the key that each name was written as.

    ``short`` has the SI names by those without units, whose values must have them.
    """
    values: dict[str, Any] = {}
    written: dict[str, str] = {}
    for key, value in given:
        name = short.get(key, key)
        if name in written:
            raise ConfigError(f"{where}{key}", None, f"given twice, also as {written[name]}")
        numbers = value if isinstance(value, list) else [value]
        if name != key and quantity_of(name) and any(not isinstance(n, str) for n in numbers):
            raise ConfigError(f"{where}{key}", value, f"has no unit; give it one, or write {name}")
        values[name], written[name] = value, key
    return values, written


def show(value: object) -> str:
    """Format a value as a config has it, on one line and not too long."""
    text = " ".join(repr(value).split())
    if isinstance(value, (str, bool, list, tuple)):
        text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 60 else f"{text[:57]}..."


SectionT = TypeVar("SectionT", bound="BaseModel")


def validated(section: type[SectionT], content: Mapping[str, Any]) -> SectionT:
    """Validate a section without its config; raise ConfigError for a mistake in it."""
    from pydantic import ValidationError

    try:
        return section.model_validate(dict(content))
    except ValidationError as error:
        raise config_error(error, content, section, {}) from None


def config_error(
    error: ValidationError,
    raw: Mapping[str, Any],
    model: type[BaseModel],
    spelled: Mapping[str, str],
) -> ConfigError:
    """Convert the first of pydantic's errors to a `ConfigError` that counts the others.

    ``spelled`` maps dotted SI keys to the dotted keys that the user wrote.
    """
    # An unknown key is often the cause of a missing one, so it is reported first.
    errors = sorted(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
    # A list whose entry is wrong is also reported as too short without it.
    parents = {e["loc"][:-1] for e in errors}
    errors = [e for e in errors if e["type"] != "too_short" or e["loc"] not in parents]
    first = errors[0]
    more = len(errors) - 1
    tail = "" if not more else f" ({more} more mistake{'s' if more > 1 else ''} in this config)"
    if isinstance(named := first.get("ctx", {}).get("error"), ConfigError):
        return ConfigError(named.key, named.value, named.message + tail)
    loc, value = _located(first["loc"], raw)
    dotted = ".".join(str(part) for part in loc)
    key = spelled.get(dotted, dotted) or "(top level)"
    line = _in_words(first, loc, model)
    if first["type"] == "value_error" and str(value) in line:
        value = None
    if first["type"] in ("missing", "extra_forbidden") or isinstance(value, (Mapping, list)):
        value = None
    return ConfigError(key, value, line + tail)


def _located(loc: Sequence[int | str], raw: Any) -> tuple[tuple[int | str, ...], object]:
    """Return the part of pydantic's location that exists in the input, and the value there.

    It may end with one missing key, and has None then. For unions pydantic adds the names of the
    types that it tried.
    """
    location: list[int | str] = []
    for part in loc:
        if isinstance(raw, Mapping):
            location.append(part)
            if part not in raw:
                return tuple(location), None
            raw = raw[part]
        elif isinstance(raw, (list, tuple)) and isinstance(part, int) and part < len(raw):
            location.append(part)
            raw = raw[part]
        else:
            break
    return tuple(location), raw


MOVED_KEYS = {
    "queue.scenario": "queue.assumed.scenario",
    "queue.speeds_up": "queue.assumed.speeds_up",
    "queue.network_scheduler": "queue.iterations.network_scheduler",
    "queue.fair_share": "queue.fair-share",
    "queue.partition_bisection": "queue.partition-bisection",
    "queue.coupled": "queue.coupled-flow or queue.coupled-packets",
}
"""Keys of version 0.2, and where they are since."""


def _in_words(error: Any, loc: Sequence[int | str], model: type[BaseModel]) -> str:
    if error["type"] != "extra_forbidden":
        return mistake_in_words(error)
    name, dotted = str(loc[-1]), ".".join(map(str, loc))
    if dotted in MOVED_KEYS:
        return (
            f"unknown key; since version 0.3 it is {MOVED_KEYS[dotted]} "
            "(netcosim config upgrade FILE)"
        )
    sections = dict(sections_in(model))
    with_key = (where for where, inner in sections.items() if name in _spellings(inner))
    elsewhere = [f"[{where}]" for where in with_key if where]
    own = sections.get(".".join(part for part in loc[:-1] if isinstance(part, str)))
    keys = [] if own is None else [short_name(key) for key in own.model_fields]
    hint = f" it is a key of {' and '.join(elsewhere)};" if 0 < len(elsewhere) < 4 else ""
    return f"unknown key;{hint}{near(name, keys)}"


def sections_in(model: type[BaseModel], where: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    """Yield a section and those inside of it by dotted names, without numbers of a list's."""
    yield where, model
    for key, field in model.model_fields.items():
        if (inner := model_inside(field.annotation)) is not None:
            yield from sections_in(inner, f"{where}.{key}".lstrip("."))


def _spellings(model: type[BaseModel]) -> set[str]:
    return {*model.model_fields, *map(short_name, model.model_fields)}


@cache
def list_keys(model: type[BaseModel]) -> frozenset[str]:
    """Return the dotted keys of a section whose values are lists by nature, by both names."""
    return frozenset(
        f"{where}.{key}".lstrip(".")
        for where, section in sections_in(model)
        for name, field in section.model_fields.items()
        if _is_list(field.annotation)
        for key in (name, short_name(name))
    )


def _is_list(annotation: Any) -> bool:
    return get_origin(annotation) is tuple or any(map(_is_list, get_args(annotation)))


def model_inside(annotation: Any) -> type[BaseModel] | None:
    """Return the section in a field, also in ``Section | None`` and ``tuple[Section, ...]``."""
    from pydantic import BaseModel

    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in get_args(annotation):
        model = model_inside(inner)
        if model is not None:
            return model
    return None
