"""What the numbers of a run are relative to: a policy, here or where some keys have other values.

By default the config's first policy. ``[reference]`` names another one, or a place that differs
from the run in keys of ``[machine]`` and ``[queue]``: in a sweep over routings all points then
share one reference instead of having one each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

Run = TypeVar("Run")
"""A config; the class is generic, since a config contains its reference."""


@dataclass(frozen=True)
class Reference(Generic[Run]):
    """What the numbers of a run are relative to."""

    policy: str
    differs: tuple[str, ...]
    """``"KEY = VALUE"`` of what ``[reference]`` sets."""
    elsewhere: Run | None
    """The reference's own config, of that one policy; None if it is a policy of the run."""

    @property
    def label(self) -> str:
        """``rdn``, or ``rdn with machine.routing = minimal``."""
        return f"{self.policy} with {', '.join(self.differs)}" if self.differs else self.policy

    @property
    def label_at_point(self) -> str:
        """The label as a table of many points has it: ``rdn at the same point``."""
        return self.label if self.differs else f"{self.policy} at the same point"

    @property
    def column(self) -> str:
        """The reference's name beside the run's own policies."""
        return self.policy if self.elsewhere is None else self.label
