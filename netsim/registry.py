"""A registry: names to entries, netsim's own and those of the plug-ins that are in use.

Built-in entries are listed by where they are, ``"module:OBJECT"``, and imported when they are
looked up. What is needed before that (`Facts`) is in the package's file ``entries.json``, which
``make pages`` generates; an entry that is not in it yet is imported to look at it.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, cached_property
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from netsim.parameters import Parameter

T = TypeVar("T")
TABLE = "entries.json"
ROOT = Path(__file__).resolve().parents[1]


class Entries(Protocol):
    """Interface of a plug-in to a registry."""

    @property
    def source(self) -> str:
        """The file or module, as messages name it."""

    @property
    def entries(self) -> Mapping[str, Mapping[str, Any]]:
        """Entries by registry and name."""


IN_USE: ContextVar[tuple[Entries, ...]] = ContextVar("plug-ins in use", default=())
"""Set only by `netsim.plugins.using`. Each thread and each `with` has its own."""


@dataclass(frozen=True)
class Facts:
    """What is known of an entry without importing it."""

    description: str
    families: tuple[str, ...] = ()
    """The topology families that it serves; empty: all."""
    declared_in: str = ""
    """``"module:CLASS"`` that declares its parameters, where that is not the entry itself."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Its parameters, with "list" or "file" for what their values are; else empty."""

    def of_kind(self, kind: str) -> list[str]:
        """Return the parameters whose values are of this kind."""
        return [name for name, its_kind in self.keys.items() if its_kind == kind]


def declared_by(entry: Any) -> Mapping[str, Parameter]:
    """Return the parameters of an imported entry."""
    from netsim.parameters import parameters_of  # a list of names does without

    if hasattr(entry, "declares"):
        found: Mapping[str, Parameter] = entry.declares()
        return found
    declared = getattr(entry, "parameters", None) or {}
    return parameters_of(declared) if isinstance(declared, type) else declared


def facts_of(entry: Any) -> Facts:
    """Return the facts of an imported entry."""
    factory, keys = getattr(entry, "parameters", None), declared_by(entry)
    return Facts(
        entry.description,
        tuple(getattr(entry, "families", ())),
        f"{factory.__module__}:{factory.__qualname__}" if isinstance(factory, type) else "",
        {n: "file" if p.names_file else "list" if p.is_list else "" for n, p in keys.items()},
    )


def object_at(place: str) -> Any:
    """Import the object at ``"module:NAME"``."""
    module, _, name = place.partition(":")
    return attrgetter(name)(importlib.import_module(module))


def entries_at(place: str, home: str) -> dict[str, Any]:
    """Import the entries of a registry at a place, which has one, or several in a tuple or list."""
    found = object_at(place)
    among = found if isinstance(found, (tuple, list)) else (found,)
    return {one.name: one for one in among if getattr(one, "registered_in", home) == home}


@cache
def _tables(package: str) -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    with suppress(FileNotFoundError):  # before it is generated for the first time
        found: dict[str, Any] = json.loads((ROOT / package / TABLE).read_text(encoding="utf-8"))
        return found
    return {}


def _is_there(place: str) -> bool:
    """Return whether a module's file is there: some folders can be deleted."""
    module = ROOT.joinpath(*place.partition(":")[0].split("."))
    return module.with_suffix(".py").exists() or module.is_dir()


def listed_in(home: str) -> dict[str, dict[str, Facts]]:
    """Return the facts in the generated table of a registry, by place and name."""
    rows = _tables(home.partition(".")[0]).get(home, {})
    return {
        place: {
            name: Facts(**{**facts, "families": tuple(facts.get("families", ()))})
            for name, facts in entries.items()
        }
        for place, entries in rows.items()
        if _is_there(place)
    }


class Registry(MutableMapping[str, T], Generic[T]):
    """Entries by name; those of plug-ins follow the built-in ones while they are in use.

    Parameters
    ----------
    home : str
        ``"module:NAME"`` of the registry itself, which its entries' class names too, as
        ``registered_in``: so a plug-in's entry finds its registry.
    what : str
        What an entry is, in a message: "allocation policy".
    base : str
        ``"module:CLASS"`` that entries are instances or, if they are classes, subclasses of.
    places : iterable of str
        ``"module:OBJECT"`` of each entry, or of several: a tuple or list. An entry has a ``name``
        and a ``description``.
    classes : bool
        Whether the entries are classes.
    optional : iterable of str
        Modules of folders that can be deleted. Each lists its entries as a plug-in does, in
        ``PLUGIN``; those of other registries are left to them.
    """

    def __init__(
        self,
        home: str,
        what: str,
        base: str,
        places: Iterable[str],
        *,
        classes: bool = False,
        optional: Iterable[str] = (),
    ) -> None:
        self.home, self.what, self.classes, self._base = home, what, classes, base
        self.places = [*places, *(f"{m}:PLUGIN" for m in optional if _is_there(m))]
        self._place: dict[str, str] = {}
        self._loaded: dict[str, T] = {}

    @cached_property
    def _facts(self) -> dict[str, Facts]:
        found: dict[str, Facts] = {}
        table = listed_in(self.home)
        for place in self.places:
            facts = table.get(place)
            if facts is None:
                facts = {n: facts_of(entry) for n, entry in entries_at(place, self.home).items()}
            found |= facts
            self._place |= dict.fromkeys(facts, place)
        return found

    @property
    def base(self) -> type:
        """The class that entries are instances or subclasses of."""
        found: type = object_at(self._base)
        return found

    @property
    def own(self) -> Collection[str]:
        """The names of the entries that come without a plug-in."""
        return self._facts.keys()

    @property
    def added(self) -> dict[str, T]:
        """The entries of the plug-ins in use."""
        plugins = IN_USE.get()
        return {n: e for p in plugins for n, e in p.entries.get(self.home, {}).items()}

    def facts(self, name: str) -> Facts:
        """Return what is known of an entry without importing it."""
        return self._facts[name] if name in self._facts else facts_of(self.added[name])

    def parameters(self, name: str) -> Mapping[str, Parameter]:
        """Return the parameters that an entry declares, importing their class alone if they have
        one."""
        facts = self.facts(name)
        if not facts.keys:
            return {}
        if not facts.declared_in:
            return declared_by(self[name])
        from netsim.parameters import parameters_of

        return parameters_of(object_at(facts.declared_in))

    def serving(self, family: str) -> list[str]:
        """Return the names of the entries that serve a topology family."""
        return [n for n in self if family in (self.facts(n).families or (family,))]

    def __getitem__(self, name: str) -> T:
        if name not in self._facts:
            return self.added[name]
        if name not in self._loaded:
            self._loaded |= entries_at(self._place[name], self.home)
        return self._loaded[name]

    def __setitem__(self, name: str, entry: T) -> None:
        self._loaded[name], self._facts[name] = entry, facts_of(entry)

    def __delitem__(self, name: str) -> None:
        del self._facts[name]
        self._loaded.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        yield from self._facts
        yield from self.added

    def __len__(self) -> int:
        return len(self._facts) + len(self.added)

    def __contains__(self, name: object) -> bool:
        return name in self._facts or name in self.added
