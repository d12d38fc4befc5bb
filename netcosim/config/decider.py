"""``queue.decider``: selects which job starts next: a name, a class in a file, or a program."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from alloc.nodes import BY_SERVER, NodePolicy, gpus_per_server
from alloc.policy import Policy
from alloc.registry import POLICIES
from netcosim.config.errors import ConfigError, validated
from netcosim.config.fields import InputFile, OrText, Text, TimeS
from netsim.errors import NetcosimError, need_name
from netsim.inputs import file_digest, input_file, is_input
from netsim.parameters import NamesIn
from netsim.plugins import Plugin, pinned_class, using
from netsim.units import parse_quantity, short_name
from queuesim.registry import DECIDERS

if TYPE_CHECKING:
    from queuesim.decide import Decider

_FORMS = (
    'must be a name (netcosim list deciders), a class in a file, "FILE.py:CLASS", or a program, '
    '{ command = "./my-scheduler" }'
)


class UserDecider(InputFile):
    """A class in a file of the user's: ``"FILE.py:CLASS"``."""

    name: Text


class DeciderProgram(BaseModel):
    """A program of the user's: ``{ command = "./my-scheduler --fast", time_limit = "10 s" }``.

    Files among the words of the command are identified by content.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: Annotated[tuple[InputFile | Text, ...], OrText()] = Field(
        min_length=1,
        description="program and arguments, as a text or a list",
        examples=["./my-scheduler --fast"],
    )
    time_limit_s: Annotated[TimeS, Field(gt=0)] = Field(
        default=10.0,
        description="time limit of each answer",
        examples=["1 min"],
        json_schema_extra={"beside": {"command": "./my-scheduler"}},
    )

    def words(self) -> list[str]:
        """Return the program and its arguments; see `InputFile.checked` for what is refused."""
        return [one.checked() if isinstance(one, InputFile) else one for one in self.command]


def _words(command: object, named: Callable[[str], Any], folder: Path = Path()) -> list[Any]:
    """Return the words of a command, with what ``named`` makes of those that are files."""
    try:
        parts = shlex.split(command) if isinstance(command, str) else command
    except ValueError as error:
        raise NetcosimError(f"command {command!r}: {error}") from None
    words = parts if isinstance(parts, list | tuple) else ()
    if not words or not all(isinstance(word, str) or is_input(word) for word in words):
        raise NetcosimError(f"command {command!r}; must be a text or a list of texts")

    def is_file(word: object) -> bool:
        return isinstance(word, str) and "\0" not in word and (folder / word).is_file()

    return [named(str(folder / word)) if is_file(word) else word for word in words]


def _pinned(file: str) -> dict[str, str]:
    """Return an input file; a link is not followed, as a virtual environment's python is one."""
    return {"file": str(Path(file).absolute()), "sha256": file_digest(file)}


def _read(value: Any) -> Any:
    if value is None or isinstance(value, UserDecider | DeciderProgram):
        return value
    if is_input(value) and "name" in value:
        return value
    if isinstance(value, Mapping) and "command" in value:
        content = {**value, "command": _words(value["command"], _pinned)}
        if "time_limit" in content:
            try:
                content["time_limit_s"] = parse_quantity(content.pop("time_limit"), "time")
            except NetcosimError as error:
                raise ConfigError("queue.decider.time_limit", None, str(error)) from None
        try:
            return validated(DeciderProgram, content)
        except ConfigError as error:
            key = f"queue.decider.{short_name(error.key)}"
            raise ConfigError(key, error.value, error.message) from None
    if not isinstance(value, str):
        raise NetcosimError(f"{value!r}; {_FORMS}")
    file, colon, name = value.rpartition(":")
    if colon and file.endswith(".py") and name.isidentifier():
        return input_file(file) | {"name": name}
    if colon or value.endswith(".py"):
        raise NetcosimError(f"{value}; {_FORMS}")
    need_name("decider", value, DECIDERS)
    return value


AnyDecider = str | UserDecider | DeciderProgram


def _found(value: AnyDecider | None) -> AnyDecider | None:
    if isinstance(value, UserDecider):
        _class_of(value)
    return value


DeciderKey = Annotated[
    Text | Annotated[UserDecider, OrText("[:.]")] | DeciderProgram | None,
    BeforeValidator(_read),
    AfterValidator(_found),
    NamesIn(DECIDERS),
]
"""A name of `queuesim.registry.DECIDERS`, a class in a file, a program, or none."""


def placed_decider(value: object, folder: Path) -> object:
    """Return a decider with the folder of its files, where they are in that folder."""
    if isinstance(value, Mapping) and "command" in value:
        return {**value, "command": _words(value["command"], str, folder)}
    file, _, name = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    if file and "\0" not in file and (folder / file).exists():
        return f"{folder / file}:{name}"
    return value


def _class_of(own: UserDecider) -> tuple[Plugin, Any]:
    return pinned_class(own.model_dump(), DECIDERS.home)


def check_decider(
    decider: AnyDecider | None,
    files: Sequence[InputFile],
    rules: Sequence[str],
    policies: Sequence[str],
    others: Mapping[str, bool],
) -> None:
    """Refuse settings that a decider cannot be combined with.

    It is made with ``files`` and can name the placement rules ``rules`` beside the policies.
    ``others`` are settings that would decide or limit, and whether each is set.
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
    if not isinstance(decider, UserDecider):
        if files:
            raise NetcosimError(f"decider_files: {decider!r} reads none; they are for a class")
        if rules and isinstance(decider, DeciderProgram):
            raise NetcosimError("placement_rules: a program names nodes, not rules")
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
    """Refuse a policy that places by more than which nodes are free: ``what`` cannot use it."""
    kind = policy if isinstance(policy, type) else type(policy)
    if not (policy.counts_only and issubclass(kind, NodePolicy) and not policy.replays):
        servers = isinstance(policy, NodePolicy) and gpus_per_server(policy.topology) > 1
        raise NetcosimError(
            f"{what} does not go with policy {name!r}: whether a job fits depends on more than "
            f"the number of free nodes{f' ({BY_SERVER})' if servers else ''}"
        )


@contextmanager
def backfill_or_decider(
    backfill: str, decider: AnyDecider | None, files: Sequence[InputFile]
) -> Iterator[str | Decider]:
    """Yield the decider, else the backfilling; an error in a user's class has its line."""
    if decider is None:
        yield backfill
    else:
        own = [_class_of(decider)[0]] if isinstance(decider, UserDecider) else []
        with using(own):
            yield make_decider(decider, files)


def make_decider(decider: AnyDecider, files: Sequence[InputFile]) -> Decider:
    """Build the decider that a config names."""
    from queuesim.external.decider import External

    if isinstance(decider, str):
        return DECIDERS[decider]()
    if isinstance(decider, DeciderProgram):
        return External(decider.words(), decider.time_limit_s)
    kind = _class_of(decider)[1]
    instance: Decider = kind(*(Path(one.checked()) for one in files))
    return instance
