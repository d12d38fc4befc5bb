"""What the numbers of a run are relative to: a policy, here or where some keys have other values.

By default the config's first policy. ``[reference]`` names another one, or a place that differs
from the run in keys of ``[machine]`` and ``[queue]``: in a sweep over routings all points then
share one reference instead of having one each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from alloc.registry import policies_for
from experiments.config import DECIDER_KEYS, Config, file_keys
from experiments.config_content import config_alone
from experiments.config_errors import ConfigError, show
from experiments.config_machine import MachineSection
from netsim.errors import unknown_name
from netsim.units import short_name

_FILES = tuple(
    key.replace("machine.parameters.", "machine.").removesuffix(".*") for key in file_keys()
)
_NEW_MACHINE = ("machine.family", "machine.preset", "machine.parameters")


@dataclass(frozen=True)
class Reference:
    """What the numbers of a run are relative to.

    Attributes
    ----------
    policy : str
    differs : tuple of str
        ``"KEY = VALUE"`` of what ``[reference]`` sets.
    elsewhere : Config or None
        The reference's own config, of that one policy; None if it is a policy of the run.
    """

    policy: str
    differs: tuple[str, ...]
    elsewhere: Config | None

    @property
    def label(self) -> str:
        """``rdn``, or ``rdn with machine.routing = minimal``."""
        return f"{self.policy} with {', '.join(self.differs)}" if self.differs else self.policy

    @property
    def told(self) -> str:
        """The label as a table of many points has it: ``rdn at the same point``."""
        return self.label if self.differs else f"{self.policy} at the same point"

    @property
    def column(self) -> str:
        """The reference's name beside the run's own policies."""
        return self.policy if self.elsewhere is None else self.label


def reference_of(config: Config) -> Reference:
    """The reference of a config.

    Raises
    ------
    ConfigError
        A key that the reference cannot differ in, or a value that its section refuses.
    """
    keys = dict(config.reference)
    policy = keys.pop("policy", config.queue.policies[0])
    valid = policies_for(config.machine.family)
    if policy not in valid:
        error = unknown_name(f"allocation policy for a {config.machine.family}", policy, valid)
        raise ConfigError("reference.policy", None, str(error))
    if not keys and policy in config.queue.policies:
        return Reference(policy, (), None)
    differs = tuple(f"{key} = {show(value)}" for key, value in keys.items())
    content = config.resolved()
    del content["reference"]
    content["queue"]["policies"] = [policy]
    for key, value in keys.items():
        _replace(content, key, value)
    elsewhere = _config_of(content)
    same = {"policies": config.queue.policies}
    here = (
        elsewhere.machine == config.machine
        and elsewhere.queue.model_copy(update=same) == config.queue
        and policy in config.queue.policies
    )
    return Reference(policy, differs, None if here else elsewhere)


def _config_of(content: dict[str, Any]) -> Config:
    try:
        return config_alone(content)
    except ConfigError as error:
        told = str(error).removeprefix(f"key {error.key}: ")
        raise ConfigError(f"reference.{error.key}", None, told) from None


def _replace(content: dict[str, Any], key: str, value: object) -> None:
    """Set a dotted key, spelled as in a file, in a resolved content."""
    section, *path = key.split(".")
    if section not in ("machine", "queue") or not path or key == "queue.policies":
        valid = "policy, machine.KEY (of the same family) and queue.KEY"
        raise ConfigError(f"reference.{key}", None, f"the reference takes {valid}")
    own_class = key == "queue.decider" and ":" in str(value)
    if key.startswith(_FILES) or own_class:
        raise ConfigError(f"reference.{key}", None, "the reference reads the run's files")
    if key.startswith(_NEW_MACHINE):
        raise ConfigError(f"reference.{key}", None, "the reference has the run's network family")
    level = content[section]
    own = {short_name(name) for name in MachineSection.model_fields}
    if section == "machine" and short_name(path[0]) not in own:
        level = level["parameters"]
    for part in path[:-1]:
        level = level.get(part)
        if not isinstance(level, dict):
            raise ConfigError(f"reference.{key}", None, f"{part} has no keys of its own")
    # the resolved content has SI names, the file may have the short ones
    for name in [name for name in level if short_name(name) == short_name(path[-1])]:
        del level[name]
    level[path[-1]] = value
    if key == "queue.decider":
        level.pop("decider_files", None)  # they are the run's own class's
    if key == "queue.backfill":
        for name in DECIDER_KEYS:  # it is the backfilling that runs the reference's queue
            level.pop(name, None)
