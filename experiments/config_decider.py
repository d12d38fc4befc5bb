"""``queue.decider``: selects which job starts next, by name or as a class in a user's file."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from alloc.nodes import NodePolicy
from alloc.policy import Policy
from alloc.registry import POLICIES
from experiments.fields import InputFile, Text
from netsim.errors import NetcosimError, unknown_name
from netsim.inputs import input_file, is_input
from netsim.parameters import NamesIn
from netsim.plugins import Plugin, pinned_class, using
from queuesim.decide import Decider
from queuesim.registry import DECIDERS

_FORMS = 'must be a name (netcosim list deciders) or a class in a file, "FILE.py:CLASS"'


class UserDecider(InputFile):
    """A class in a file of the user's: ``"FILE.py:CLASS"``."""

    name: Text


def _read(value: Any) -> Any:
    if value is None or isinstance(value, UserDecider) or (is_input(value) and "name" in value):
        return value
    if not isinstance(value, str):
        raise NetcosimError(f"{value!r}; {_FORMS}")
    file, colon, name = value.rpartition(":")
    if colon and file.endswith(".py") and name.isidentifier():
        return input_file(file) | {"name": name}
    if colon or value.endswith(".py"):
        raise NetcosimError(f"{value}; {_FORMS}")
    if value not in DECIDERS:
        raise unknown_name("decider", value, DECIDERS)
    return value


def _found(value: str | UserDecider | None) -> str | UserDecider | None:
    if isinstance(value, UserDecider):
        _class_of(value)
    return value


DeciderKey = Annotated[
    Text | UserDecider | None, BeforeValidator(_read), AfterValidator(_found), NamesIn(DECIDERS)
]
"""A name of `queuesim.registry.DECIDERS`, a class in a file, or none."""


def placed_decider(value: object, folder: Path) -> object:
    """Shown with its folder in the error message if it is a file in a folder."""
    file, _, name = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    if file and "\0" not in file and (folder / file).exists():
        return f"{folder / file}:{name}"
    return value


def _class_of(own: UserDecider) -> tuple[Plugin, Any]:
    return pinned_class(own.model_dump(), DECIDERS.home)


def check_decider(
    decider: str | UserDecider | None,
    files: Sequence[InputFile],
    rules: Sequence[str],
    policies: Sequence[str],
    others: Mapping[str, bool],
) -> None:
    """Refuse what a decider cannot be put together with.

    Parameters
    ----------
    decider : str, UserDecider or None
    files : sequence of InputFile
        What it is made with.
    rules : sequence of str
        Placement rules that it can name, beside the policies.
    policies : sequence of str
        That it runs under.
    others : mapping of str to bool
        Other settings that would decide or limit, and whether each is set.

    Raises
    ------
    NetcosimError
    """
    if decider is None:
        for key, given in (("decider_files", files), ("placement_rules", rules)):
            if given:
                raise NetcosimError(f"{key} needs a decider")
        return
    for what in (what for what, is_set in others.items() if is_set):
        raise NetcosimError(f"decider does not go with {what}")
    for name in (*policies, *rules):
        check_by_count("decider", name, POLICIES[name])
    if isinstance(decider, str):
        if files:
            raise NetcosimError(f"decider_files: {decider!r} reads none; they are for a class")
        return
    plugin, kind = _class_of(decider)
    try:
        inspect.signature(kind).bind(*files)
    except TypeError as error:
        raise NetcosimError(
            f"decider_files: {plugin.source}:{decider.name} cannot be made with "
            f"{len(files)} of them: {error}"
        ) from None


def check_by_count(what: str, name: str, policy: type[Policy] | Policy) -> None:
    """Refuse a policy that places by more than which nodes are free.

    Parameters
    ----------
    what : str
        That does not go with it.
    name : str
        Of the policy.
    policy : Policy or a class of such

    Raises
    ------
    NetcosimError
    """
    kind = policy if isinstance(policy, type) else type(policy)
    if not (policy.counts_only and issubclass(kind, NodePolicy) and not policy.replays):
        raise NetcosimError(
            f"{what} does not go with policy {name!r}: whether a job fits depends on more than "
            "the number of free nodes"
        )


@contextmanager
def backfill_or_decider(
    backfill: str, decider: str | UserDecider | None, files: Sequence[InputFile]
) -> Iterator[str | Decider]:
    """Yield what decides in the queue; an error in a user's class is reported with its line.

    Yields
    ------
    str or Decider
        The backfilling, if there is no decider.

    Raises
    ------
    NetcosimError
        A file that has changed; what the class raises.
    """
    if decider is None:
        yield backfill
    else:
        own = [] if isinstance(decider, str) else [_class_of(decider)[0]]
        with using(own):
            yield make_decider(decider, files)


def make_decider(decider: str | UserDecider, files: Sequence[InputFile]) -> Decider:
    """The decider that a config names.

    Raises
    ------
    NetcosimError
        A file that has changed.
    """
    if isinstance(decider, str):
        return DECIDERS[decider]()
    kind = _class_of(decider)[1]
    instance: Decider = kind(*(Path(one.checked()) for one in files))
    return instance
