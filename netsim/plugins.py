"""Plug-ins: a user's own policies, orders, models, networks, patterns and all that has a name.

A plug-in is a Python file, or a module that can be imported, with a list ``PLUGIN`` of entries. An
entry is what the registry of its kind holds: a subclass of `alloc.policy.Policy`, a
`queuesim.ordering.orders.Order`, a `patterns.entry.Pattern`, and so on. It finds its registry by
its class.

Nothing stays registered: entries exist only inside of `using`, and each config brings its
own plug-ins, so two configs in one process never see each other's. A file is known by what it
holds: its SHA-256 is part of a point's content, and a changed file is another plug-in.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, cast

from netsim.errors import NetcosimError
from netsim.inputs import file_digest, is_input
from netsim.plugin_entries import checked_name, entries_of, place_of, registry_for
from netsim.registry import IN_USE, object_at

GROUP = "netcosim.plugins"
"""The group of entry points by which an installed package brings plug-ins."""
MAX_FILE_BYTES = 1 << 22

Content = dict[str, str]
"""A plug-in in a point's content: ``file`` and ``sha256``, and ``module`` if it is imported."""


@dataclass(frozen=True)
class Plugin:
    """A plug-in that has been read."""

    source: str = field(compare=False)
    """The file or module, as messages name it."""
    content: Content
    """As in a point's content."""
    entries: Mapping[str, Mapping[str, Any]] = field(compare=False)
    """Registry to name to entry."""
    installed: bool = field(default=False, compare=False)
    """Whether an installed package brings it (`GROUP`)."""

    @property
    def sha256(self) -> str:
        """Digest of its content when it was read."""
        return self.content["sha256"]

    @property
    def label(self) -> str:
        """Source and start of the digest, for lists."""
        return f"plug-in {self.source}, SHA-256 {self.sha256[:12]}"

    @property
    def names(self) -> set[str]:
        """All names that it registers."""
        return {name for entries in self.entries.values() for name in entries}


def load_plugin(source: str, folder: Path | None = None) -> Plugin:
    """Read a plug-in: a file (its name ends in ``.py``), first in a folder, or an importable
    module.
    """
    if not source.endswith(".py"):
        return _load_module(source, source)
    path = Path(source)
    try:
        if folder is not None and (folder / path).exists():
            path = folder / path
        digest = file_digest(path)
    except (OSError, ValueError) as error:
        label = error.strerror if isinstance(error, OSError) else error
        named = str(label) if source in str(label) else f"{source}: {label}"
        raise NetcosimError(f"plug-in {named}") from None
    return _load_file(str(path.resolve()), digest)


def pinned_plugin(content: Mapping[str, str]) -> Plugin:
    """Return the plug-in of a point's content, which must still hold what it held."""
    source = content.get("module") or content["file"]
    found = load_plugin(source) if "module" in content else None
    digest = file_digest(source) if found is None else found.sha256
    _refuse_changed(source, digest, content)
    return _load_file(source, digest) if found is None else found


def pinned_class(content: Mapping[str, str], home: str) -> tuple[Plugin, type]:
    """Return a plug-in and its class that a config names, which must still hold what it held.

    The config has ``file``, ``sha256`` and the class's ``name``; ``home`` is the registry whose
    entries it is like. The file registers nothing: inside of `using`, errors of the class name its
    line.
    """
    path, name, registry = content["file"], content["name"], object_at(home)
    digest = file_digest(path)
    _refuse_changed(path, digest, content)
    module, source = _file_module(path, digest)
    found = module.__dict__.get(name)
    if not isinstance(found, type):
        raise NetcosimError(f"plug-in {source}: has no class {name!r}")
    where = f"plug-in {source}"
    if not issubclass(found, registry.base) or found is registry.base:
        base = registry.base
        raise NetcosimError(
            f"{where}{place_of(found)}: {name} is no {registry.what}: it must be a subclass of "
            f"{base.__module__}.{base.__name__}"
        )
    registry_for(found, where)
    checked_name(found, registry, where)
    return Plugin(source, dict(content), {}), found


def _refuse_changed(source: str, digest: str, content: Mapping[str, str]) -> None:
    if digest != content["sha256"]:
        raise NetcosimError(
            f"plug-in {source}: the file has changed: SHA-256 {digest[:12]}..., this run was made "
            f"for {content['sha256'][:12]}...; start it again"
        )


def plugin_of(named: object, folder: Path | None = None) -> Plugin:
    """Return the plug-in that an entry of ``plugins`` names, as a text or a point's content."""
    if (
        isinstance(named, Mapping)
        and is_input(named)
        and all(isinstance(value, str) for value in named.values())
    ):
        return pinned_plugin(cast("Content", named))
    if not isinstance(named, str):
        raise NetcosimError(f"{named!r}; must be a file or a module, as text")
    return load_plugin(named, folder)


def used_by(content: object, plugins: Iterable[Plugin]) -> list[Content]:
    """Return the entries of the plug-ins in use for a point's content.

    These are all requested ones, and those from installed packages of which a value of
    the content is a name, so that a package that is only there changes no point.
    """
    words = set(_words(content))
    used = [p.content for p in plugins if not p.installed or words & p.names]
    return sorted(used, key=lambda one: one["sha256"])


def _words(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, Mapping):
        for value in content.values():
            yield from _words(value)
    elif isinstance(content, (list, tuple)):
        for value in content:
            yield from _words(value)


@cache
def installed_plugins() -> tuple[Plugin, ...]:
    """Return the plug-ins of installed packages, sorted by their modules."""
    from importlib.metadata import entry_points  # takes a while

    modules = sorted({entry.module for entry in entry_points(group=GROUP)})
    loaded = [_load_module(module, f"{module} (installed)") for module in modules]
    return tuple(Plugin(p.source, p.content, p.entries, True) for p in loaded)


def plugins_in_use() -> tuple[Plugin, ...]:
    """Return the plug-ins whose entries are known here."""
    return cast("tuple[Plugin, ...]", IN_USE.get())


@contextmanager
def using(plugins: Iterable[Plugin]) -> Iterator[tuple[Plugin, ...]]:
    """Register the entries of some plug-ins within the block, beside those already in use.

    An exception raised by a plug-in's file, or by what its entries return, becomes one
    line that names it.
    """
    together = list(plugins_in_use())
    for plugin in plugins:
        if plugin not in together:
            _refuse_twice(plugin, together)
            together.append(plugin)
    token = IN_USE.set(tuple(together))
    try:
        yield tuple(together)
    except (NetcosimError, KeyboardInterrupt):
        raise
    except BaseException as error:
        # a plug-in may raise what is no Exception: sys.exit, or a class of its own
        label = _blamed(error, together)
        if label is None:
            raise
        raise NetcosimError(label) from error
    finally:
        IN_USE.reset(token)


def source_of(home: str, name: str) -> Plugin | None:
    """Return the plug-in that an entry of a registry comes from; None for a built-in one."""
    having = (p for p in plugins_in_use() if name in p.entries.get(home, {}))
    return next(having, None)


def _refuse_twice(plugin: Plugin, others: Sequence[Plugin]) -> None:
    for other in others:
        for home, entries in plugin.entries.items():
            for name in entries:
                if name in other.entries.get(home, {}):
                    raise NetcosimError(
                        f"plug-in {plugin.source}: {object_at(home).what} {name!r} is taken by "
                        f"plug-in {other.source}; give it another name"
                    )


# Reading


@lru_cache(maxsize=64)
def _load_file(path: str, digest: str) -> Plugin:
    """Return a file's list of entries."""
    module, source = _file_module(path, digest)
    return Plugin(source, {"file": path, "sha256": digest}, entries_of(module, f"plug-in {source}"))


@lru_cache(maxsize=64)
def _file_module(path: str, digest: str) -> tuple[ModuleType, str]:
    """Import a file as a module named after its content; return it and the path for messages."""
    here = os.getcwd()
    source = os.path.relpath(path) if path.startswith(f"{here}{os.sep}") else path
    where = f"plug-in {source}"
    data = Path(path).read_bytes()
    if len(data) > MAX_FILE_BYTES:
        raise NetcosimError(f"{where}: {len(data):,} bytes; at most {MAX_FILE_BYTES:,} are read")
    if hashlib.sha256(data).hexdigest() != digest:
        raise NetcosimError(f"{where}: it changed while it was read")
    name = f"netcosim_plugin_{re.sub('[^0-9a-zA-Z]', '_', Path(path).stem)}_{digest[:12]}"
    module = ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module  # dataclasses and type hints look there
    try:
        with _refusing(where, path):
            exec(compile(data, path, "exec", dont_inherit=True), module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return module, source


@cache
def _load_module(name: str, source: str) -> Plugin:
    where = f"plug-in {source}"
    if not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", name):
        raise NetcosimError(f"{where}: neither a file (NAME.py) nor the name of a module")
    found = None
    with _refusing(where, ""), suppress(ModuleNotFoundError):
        found = importlib.util.find_spec(name)
    if found is None:
        raise NetcosimError(f"{where}: no such file, and no module of that name can be imported")
    if found.origin is None or not found.origin.endswith(".py"):
        raise NetcosimError(f"{where}: not a module written in Python")
    with _refusing(where, found.origin):
        module = importlib.import_module(name)
    content = {"file": found.origin, "sha256": _package_digest(name, found.origin), "module": name}
    return Plugin(source, content, entries_of(module, where))


def _package_digest(name: str, origin: str) -> str:
    """Return the digest of a module's file, or of all sources of a package."""
    top = importlib.util.find_spec(name.partition(".")[0])
    folders = list(top.submodule_search_locations or []) if top is not None else []
    if not folders:
        return file_digest(origin)
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(Path(folder).rglob("*.py")):
            digest.update(f"{path.relative_to(folder)} {file_digest(path)}\n".encode())
    return digest.hexdigest()


@contextmanager
def _refusing(where: str, path: str) -> Iterator[None]:
    """Convert an exception while reading a plug-in to one line with the line of its file."""
    try:
        yield
    except SyntaxError as error:
        here = error.filename == path
        at = f", line {error.lineno}" if here else f" ({error.filename}, line {error.lineno})"
        raise NetcosimError(f"{where}{at}: not valid Python: {error.msg}") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        line = _line_in(error.__traceback__, {path})
        at = f", line {line[1]}" if line else ""
        raise NetcosimError(f"{where}{at}: {_described(error)}") from error


# What plug-ins raise while they run


def _described(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, NetcosimError) else f"{type(error).__name__}: {text}"


def _line_in(trace: TracebackType | None, files: set[str]) -> tuple[str, int] | None:
    """Return the innermost place of a traceback that lies in one of the files."""
    found = None
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name in files:
            found = (name, trace.tb_lineno)
        trace = trace.tb_next
    return found


def _blamed(error: BaseException, plugins: Sequence[Plugin]) -> str | None:
    """Return one line for an exception that a plug-in raised or led to; None if it did not."""
    by_file = {plugin.content["file"]: plugin for plugin in plugins}
    found = _line_in(error.__traceback__, set(by_file))
    if found is not None:
        return f"plug-in {by_file[found[0]].source}, line {found[1]}: {_described(error)}"
    if not plugins or not isinstance(error, _SLIPS):
        return None
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f" (at {Path(trace.tb_frame.f_code.co_filename).name}:"
    where = f"{where}{trace.tb_lineno})" if trace is not None else ""
    names = ", ".join(plugin.source for plugin in plugins)
    return f"with plug-in {names}, perhaps of a value that it gave: {_described(error)}{where}"


_SLIPS = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, AssertionError)
"""What a value of a wrong kind or shape leads to, far from where it was made."""
