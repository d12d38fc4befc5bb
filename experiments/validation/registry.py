"""The groups of rows by name; a group's module is imported when it is measured."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netsim.errors import NetcosimError, need_name

if TYPE_CHECKING:
    from experiments.validation.row import Measured, Setting

PEERS = ("ns3", "simgrid")
"""Groups that run another simulator."""


@dataclass(frozen=True)
class Group:
    """Rows that belong together."""

    name: str
    description: str
    peer: bool = False
    """Whether another simulator is run, so that the group is measured only when it is named."""

    @property
    def _module(self) -> Any:
        """The module that has ``measure(setting)``."""
        return importlib.import_module(f"experiments.validation.{self.name.replace('-', '_')}")

    def need(self, setting: Setting) -> None:
        """Raise NetcosimError unless the other simulator is here."""
        if self.peer:
            self._module.PEER.interpreter(setting.python)

    def measure(self, setting: Setting) -> Measured:
        """Measure the rows."""
        found: Measured = self._module.measure(setting)
        return found


_DESCRIPTIONS = {
    "closed-forms": "lone messages to the picosecond on every family, saturation of whole networks",
    "engines": "the compiled packet engine against the plain one on random cases",
    "merlin": "SST's merlin: documented times to the nanosecond, mean job times",
    "booksim": "BookSim2: accepted loads and latencies of networks with input-queued routers",
    "shapes": "a switch under uniform load beside its published curves",
    "flows": "the flow engine against closed forms, a plain solver and the packet engine",
    "ns3": "ns-3: with unlimited queues all flows end in the same nanosecond",
    "simgrid": "SimGrid: flows end at the same time, with and without latency",
}
GROUPS = {name: Group(name, line, name in PEERS) for name, line in _DESCRIPTIONS.items()}


def chosen_groups(peer: str | None, only: Sequence[str]) -> list[Group]:
    """Return the groups to measure: the peer's, those that are named, or all without a peer."""
    own = {name: group for name, group in GROUPS.items() if not group.peer}
    peers = {name: group for name, group in GROUPS.items() if group.peer}
    if peer is not None:
        need_name("peer", peer, peers)
        if only:
            raise NetcosimError(f"--only picks among our own groups; {peer} is one by itself")
        return [peers[peer]]
    for name in only:
        need_name("group of rows", name, own)
    return [group for name, group in own.items() if not only or name in only]
