"""An importer: how logs of one kind are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from netsim.parameters import Parameter, parameters_of
from workloads.job import Workload


def _never(head: Sequence[str]) -> bool:
    """Nothing in a file says that it is of this kind."""
    return False


@dataclass(frozen=True)
class Importer:
    """An entry of `IMPORTERS`.

    Attributes
    ----------
    name, description : str
    read : callable
        ``read(path, **parameters)``: the jobs of a file; declares its parameters.
    looks_like : callable
        ``looks_like(lines)``: whether a file that begins with these lines can be read as it is,
        without being told its kind.
    """

    registered_in: ClassVar[str] = "workloads.importers.registry:IMPORTERS"

    name: str
    description: str
    read: Callable[..., Workload]
    looks_like: Callable[[Sequence[str]], bool] = _never

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """What ``read`` takes beside the path."""
        return parameters_of(self.read)
