"""All that can be measured, by name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib import import_module
from typing import Any

from experiments.benchmarks.case import Case, read_bench
from experiments.benchmarks.peers import PEERS
from netsim.errors import NetcosimError
from netsim.packet.thread_count import available_cores


def _case(name: str, function: str, given: dict[str, Any], part: str, **more: Any) -> Case:
    module, _, prepare = function.partition(":")
    timed = getattr(import_module(f"experiments.benchmarks.{module}"), prepare)
    peers = tuple(peer.name for peer in PEERS.values() if {name, part} & set(peer.beside))
    return Case(name, part, prepare=partial(timed, **given), peers=peers, **more)


def _cases() -> Iterator[Case]:
    """Return those of ``bench.toml``; {threads} are all cores of a machine of more than two."""
    cores = available_cores()
    for content in read_bench()["cases"]:
        one = {"given": {}, **content}
        if "{threads}" in one["name"]:
            if cores <= 2:
                continue
            one |= {key: one[key].format(threads=cores) for key in ("name", "description")}
            one |= {key: {**one[key], "threads": cores} for key in ("given", "facts")}
        yield _case(**one)


CASES = {case.name: case for case in _cases()}

PARTS = tuple(dict.fromkeys(case.part for case in CASES.values()))
"""Headings, in their order."""


def chosen(full: bool, only: str | None) -> list[Case]:
    """Return the cases to measure: all, the quick ones, or those whose name or part matches."""
    if only is None:
        return [case for case in CASES.values() if case.quick or (full and not case.once)]
    found = [case for case in CASES.values() if only in (case.name, case.part)]
    found = found or [case for case in CASES.values() if case.name.startswith(only)]
    if not found:
        names = ", ".join((*PARTS, *CASES))
        raise NetcosimError(f"--only {only}: no such measurement; valid: {names}")
    return found
