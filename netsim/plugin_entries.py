"""The entries of a plug-in, each for the registry that its class names."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any, TypeVar

from netsim.errors import NetcosimError
from netsim.registry import IN_USE, Registry, object_at

T = TypeVar("T")
LIST = "PLUGIN"
"""The name of a plug-in's list of entries."""


def entries_of(module: ModuleType, where: str) -> dict[str, dict[str, Any]]:
    """Return the entries of a plug-in's list, by registry and name; ``where`` begins messages."""
    listed = getattr(module, LIST, None)
    if not isinstance(listed, (list, tuple)) or not listed:
        raise NetcosimError(
            f"{where}: has no list {LIST} of entries; such as {LIST} = [MyPolicy, MY_ORDER]"
        )
    found: dict[str, dict[str, Any]] = {}
    # a topology family brings its own routings
    for thing in [t for entry in listed for t in (entry, *_inner(entry))]:
        registry = registry_for(thing, where)
        name = checked_name(thing, registry, where)
        entries = found.setdefault(registry.home, {})
        if name in entries and entries[name] is not thing:
            raise NetcosimError(f"{where}: {registry.what} {name!r} is listed in {LIST} twice")
        entries[name] = thing
    return found


def _inner(entry: object) -> Sequence[object]:
    return getattr(entry, "routings", ()) if not isinstance(entry, type) else ()


def registry_for(thing: object, where: str) -> Registry[Any]:
    """Return the registry of an entry, checking that the entry is complete."""
    at, home = place_of(thing), getattr(thing, "registered_in", None)
    if not isinstance(home, str):
        raise NetcosimError(
            f"{where}{at}: {_shown(thing)} in {LIST} is no entry of any kind; entries are made "
            "from the project's own classes (a subclass of Policy, an Order, a Pattern, ...)"
        )
    registry: Registry[Any] = object_at(home)
    if registry.classes != isinstance(thing, type):
        wanted = "the class itself" if registry.classes else f"a {registry.base.__name__} made"
        raise NetcosimError(
            f"{where}{at}: {_shown(thing)} in {LIST}: an entry of kind {registry.what} is {wanted}"
        )
    missing = sorted(getattr(thing, "__abstractmethods__", ())) if registry.classes else []
    if missing:
        raise NetcosimError(f"{where}{at}: {_shown(thing)} lacks {', '.join(missing)}")
    return registry


def checked_name(thing: object, registry: Registry[Any], where: str) -> str:
    """Return an entry's name."""
    at = place_of(thing)
    for key in ("name", "description"):
        text = getattr(thing, key, None)
        if not isinstance(text, str) or not text.strip() or not text.isprintable():
            raise NetcosimError(
                f"{where}{at}: {_shown(thing)} needs a {key}: one line of text"
                f"{'' if text is None else f', not {text!r}'}"
            )
    name: str = thing.name  # type: ignore[attr-defined]
    if any(letter.isspace() for letter in name):
        raise NetcosimError(f"{where}{at}: name {name!r} has a space; write a-b")
    if name in registry.own:
        raise NetcosimError(
            f"{where}{at}: {registry.what} {name!r} is a built-in name; use another one"
        )
    return name


def label_of(entry: Any) -> str:
    """Return kind and name of an entry, after its plug-in if it is of one."""
    home, name = entry.registered_in, entry.name
    sources = [p.source for p in IN_USE.get() if name in p.entries.get(home, {})]
    return f"{''.join(f'plug-in {s}: ' for s in sources)}{object_at(home).what} {name!r}"


def given_by(entry: Any, value: T, kind: type) -> T:
    """Return what an entry of a registry gave, a value of a kind."""
    if not isinstance(value, kind):
        # imports NumPy, which a list of names does without
        from netsim.short_repr import text_of

        given = f"{text_of(value)}; it must give a {kind.__name__}"
        raise NetcosimError(f"{label_of(entry)} gives {given}")
    return value


def place_of(thing: object) -> str:
    """Return ``, line N`` of a class, or an empty text if its source is unknown."""
    with suppress(OSError, TypeError):
        return f", line {inspect.getsourcelines(thing)[1]}"  # type: ignore[arg-type]
    return ""


def _shown(thing: object) -> str:
    text = thing.__name__ if isinstance(thing, type) else repr(thing)
    return text if len(text) <= 60 else f"{text[:57]}..."
