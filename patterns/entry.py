"""The entry of a pattern, at the end of its own file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from netsim.errors import NetcosimError
from netsim.parameters import Parameter, call, checked, parameters_of
from netsim.traffic import Program


@dataclass(frozen=True)
class Pattern:
    """An entry of `patterns.registry.PATTERNS`."""

    registered_in: ClassVar[str] = "patterns.registry:PATTERNS"

    name: str
    description: str
    function: Callable[..., Program]
    """``(n_ranks, message_bytes, iterations, [rng], further parameters by name) -> Program``; the
    further ones are declared as described in `netsim.parameters`. Without ``rng`` iterations are
    equal: one is built and repeated."""
    recorded_ranks: Callable[..., int] | None = None
    """Of a pattern that is read from a file, or computed from a model: ``recorded_ranks(further
    parameters by name)`` is the number of ranks in it. Its sizes are its own, times its parameter
    ``scale``, independent of the message bytes; jobs with fewer ranks cannot use it."""
    used_ranks: Callable[..., int] | None = None
    """``used_ranks(n_ranks, further parameters by name)``: how many of a job's ranks take part, 0
    where it cannot be on so many. Of a pattern with ``recorded_ranks`` by default all, from these
    on."""
    details: Callable[[], list[str]] | None = None
    """Further lines of its description, computed when they are shown."""
    settings: type | None = None
    """Frozen dataclass that declares the further parameters. All functions take an instance,
    ``settings``, in place of the parameters by name."""
    summary: Callable[..., list[str]] | None = None
    """``(n_ranks, bandwidth_Bps, further parameters) -> lines`` on its bytes and times."""

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Parameters besides ranks, message bytes, iterations and the generator."""
        return parameters_of(self.settings or self.function)

    def arguments(self, parameters: Mapping[str, object]) -> dict[str, Any]:
        """Return checked further parameters as the functions take them, by name."""
        values = checked(f"pattern {self.name}", self.settings or self.function, parameters)
        return values if self.settings is None else {"settings": call(self.settings, values)}

    @cached_property
    def uses_rng(self) -> bool:
        """Whether the function takes a generator."""
        return "rng" in inspect.signature(self.function).parameters

    def least_ranks(self, parameters: Mapping[str, object]) -> int:
        """Return the fewest ranks that can have it, with these further parameters."""
        values = self.arguments(parameters)
        return 1 if self.recorded_ranks is None else self.recorded_ranks(**values)

    def ranks_used(self, n_ranks: int, parameters: Mapping[str, object]) -> int:
        """Return how many of a job's ranks take part; 0 if it cannot be on so many."""
        if self.used_ranks is not None:
            return self.used_ranks(n_ranks, **self.arguments(parameters))
        return n_ranks if n_ranks >= self.least_ranks(parameters) else 0

    def check_ranks(self, n_ranks: int, parameters: Mapping[str, object]) -> None:
        """Raise NetcosimError for fewer ranks than a file has."""
        least = self.least_ranks(parameters) if "file" in parameters else 1
        if n_ranks < least:
            raise NetcosimError(
                f"{parameters['file']}: it has {least} ranks; a job of {n_ranks} is too small"
            )

    def check_keys(self, given: Collection[str], parameters: Mapping[str, object]) -> None:
        """Check that the sizes and files of an entry of a config fit each other."""
        if "file" in parameters:
            raise NetcosimError("parameters.file: the file is a key of the entry itself, file")
        if self.recorded_ranks is not None and "message_bytes" in given:
            raise NetcosimError(
                f"message_bytes: the {'file' if 'file' in self.parameters else 'model'} of a "
                f"{self.name} has the sizes; parameters.scale or node_bytes change them"
            )
        if "node_bytes" not in given:
            return
        if "message_bytes" in given:
            raise NetcosimError("give either message_bytes or node_bytes, the one or the other")
        if "cells" in parameters:
            raise NetcosimError(
                "node_bytes determines the number of cells; remove parameters.cells"
            )
        if self.recorded_ranks is not None and "scale" in parameters:
            raise NetcosimError("node_bytes determines the message size; remove parameters.scale")
