"""An importer: how logs of one kind are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from netsim.parameters import Parameter, parameters_of
from workloads.job import Workload


@dataclass(frozen=True)
class Importer:
    """An entry of `IMPORTERS`."""

    registered_in: ClassVar[str] = "workloads.importers.registry:IMPORTERS"

    name: str
    description: str
    read: Callable[..., Workload]
    """``read(path, **parameters)``: the jobs of a file; declares its parameters."""
    looks_like: Callable[[Sequence[str]], bool] = lambda head: False
    """``looks_like(lines)``: whether a file that begins with these lines can be read as it is,
    without its kind being given."""

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Parameters of ``read`` besides the path."""
        return parameters_of(self.read)
