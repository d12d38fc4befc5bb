"""All that can be measured, by name."""

from __future__ import annotations

from netcosim.bench import congested, flows, loop, memory, packets
from netcosim.bench.case import Case
from netsim.errors import NetcosimError

CASES: dict[str, Case] = {
    case.name: case
    for cases in (packets.cases(), congested.cases(), flows.cases(), loop.cases(), memory.cases())
    for case in cases
}

PARTS = tuple(dict.fromkeys(case.part for case in CASES.values()))
"""Headings, in their order."""


def chosen(full: bool, only: str | None) -> list[Case]:
    """What is measured: all, the quick ones, or those of one name, part or beginning of a name.

    Raises
    ------
    NetcosimError
        ``only`` fits nothing.
    """
    if only is None:
        return [case for case in CASES.values() if full or case.quick]
    found = [case for case in CASES.values() if only in (case.name, case.part)]
    found = found or [case for case in CASES.values() if case.name.startswith(only)]
    if not found:
        names = ", ".join((*PARTS, *CASES))
        raise NetcosimError(f"--only {only}: no such measurement; valid: {names}")
    return found
