"""``[policies.NAME]``: what policies declare, as a section of a config."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import create_model, model_validator

from alloc.registry import POLICIES
from netcosim.config.fields import InputFile, Section, config_kind
from netcosim.config.read_if import if_policy
from netsim.errors import NetcosimError
from netsim.parameters import model_from


class PolicyTables(Section):
    """``[policies.NAME]``: parameters of a policy, as it declares them."""

    def of(self, name: str) -> dict[str, Any]:
        """Return the parameters of a policy that differ from their defaults."""
        table = getattr(self, name, None)
        known = {} if table is None else type(table).model_fields
        values = {k: getattr(table, k) for k, f in known.items() if getattr(table, k) != f.default}
        return {k: v.checked() if isinstance(v, InputFile) else v for k, v in values.items()}

    @model_validator(mode="after")
    def _fit_together(self) -> PolicyTables:
        for name in type(self).model_fields:
            declared: Any = POLICIES[name].parameters
            try:
                declared(**self.of(name))
            except NetcosimError as error:
                raise NetcosimError(f"{name}: {error}") from None
        return self


def policies_with_tables() -> list[str]:
    """Return the names of the policies that declare parameters."""
    return [name for name in POLICIES if POLICIES.facts(name).keys]


def _table(name: str) -> Any:
    return model_from(name, POLICIES.parameters(name), config_kind)


def policy_tables(policies: Iterable[str]) -> Any:
    """Build the section with a table for each of some policies that declare parameters."""
    tables: Any = {
        name: (Annotated[_table(name) | None, if_policy(name)], None) for name in policies
    }
    return create_model("policies", __base__=PolicyTables, **tables)
