"""What a pattern says of itself: the entry at the end of its own file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from netsim.parameters import Parameter, parameters_of
from netsim.traffic import Program


@dataclass(frozen=True)
class Pattern:
    """An entry of `patterns.registry.PATTERNS`.

    Attributes
    ----------
    name, description : str
    function : callable
        ``(n_ranks, message_bytes, iterations, [rng], further parameters by name) -> Program``;
        the further ones are declared as `netsim.parameters` says.
    """

    registered_in: ClassVar[str] = "patterns.registry:PATTERNS"

    name: str
    description: str
    function: Callable[..., Program]

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Those beside ranks, message bytes, iterations and the generator."""
        return parameters_of(self.function)

    @property
    def takes_rng(self) -> bool:
        """Whether the function takes a generator."""
        return "rng" in inspect.signature(self.function).parameters
