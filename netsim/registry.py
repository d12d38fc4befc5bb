"""A registry: names to entries, netsim's own and those of the plug-ins that are in use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar

from netsim.optional import optional_module

T = TypeVar("T")


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


class Registry(MutableMapping[str, T], Generic[T]):
    """Entries by name; those of plug-ins follow the built-in ones while they are in use.

    Parameters
    ----------
    home : str
        ``"module:NAME"`` of the registry itself, which its entries' class names too, as
        ``registered_in``: so a plug-in's entry finds its registry.
    what : str
        What an entry is, in a message: "allocation policy".
    base : type
        What an entry is an instance of, or a subclass of if the entries are classes.
    entries : iterable
        Each with a ``name`` and a ``description``.
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
        base: type,
        entries: Iterable[T],
        *,
        classes: bool = False,
        optional: Iterable[str] = (),
    ) -> None:
        self.home, self.what, self.base, self.classes = home, what, base, classes
        listed = [t for name in optional for t in getattr(optional_module(name), "PLUGIN", ())]
        mine = [entry for entry in listed if entry.registered_in == home]
        self._own: dict[str, T] = {getattr(e, "name"): e for e in (*entries, *mine)}  # noqa: B009

    @property
    def own(self) -> Mapping[str, T]:
        """The entries that come without a plug-in."""
        return MappingProxyType(self._own)

    @property
    def added(self) -> dict[str, T]:
        """The entries of the plug-ins in use."""
        plugins = IN_USE.get()
        return {n: e for p in plugins for n, e in p.entries.get(self.home, {}).items()}

    def __getitem__(self, name: str) -> T:
        return self._own[name] if name in self._own else self.added[name]

    def __setitem__(self, name: str, entry: T) -> None:
        self._own[name] = entry

    def __delitem__(self, name: str) -> None:
        del self._own[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from self.added

    def __len__(self) -> int:
        return len(self._own) + len(self.added)

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self.added
