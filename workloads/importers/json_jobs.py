"""Lists of jobs in JSON, job by job: a list may be many times as large in memory as in the file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from netsim.errors import NetcosimError
from netsim.files import read_text
from workloads.swf_parse import short

_JOBS = re.compile(r'\A\s*\[|"jobs"\s*:\s*\[')
_FIRST = re.compile(r"^\s*[\[{]", re.MULTILINE)
_COMMA = re.compile(r"\s*(,?)\s*")


def need_list(what: str, value: object) -> list[Any]:
    """Return a list of a job, empty if it has none."""
    listed = value or []
    if not isinstance(listed, list):
        raise NetcosimError(f"{what} is {short(repr(listed))}; a list is needed")
    return listed


def json_jobs(path: str | Path) -> Iterator[Any]:
    """Yield the jobs of a file: a list, an object with "jobs", one job, or an object a line."""
    text = read_text(path)
    above = _FIRST.search(text)
    text = text[above.start() :] if above else text  # messages of the command that wrote it
    try:
        begin = _JOBS.search(text)
        if begin is None:
            yield from _whole(path, text)
        else:
            end = begin.end()
            for job, behind in _elements(text, begin.end()):
                yield job
                end = behind
            outside = json.loads(text[: begin.end()] + text[end:])
            if outside != [] and not (isinstance(outside, dict) and outside.get("jobs") == []):
                raise NetcosimError(f'{path}: no list of jobs ("jobs": [...])')
    except RecursionError:
        raise NetcosimError(f"{path}: nested too deeply") from None
    except ValueError as error:
        raise NetcosimError(f"{path}: not valid JSON: {error}") from None


def _elements(text: str, at: int) -> Iterator[tuple[Any, int]]:
    """Yield the elements of a list that begins here, each with the position behind it."""
    decode = json.JSONDecoder().raw_decode
    comma = _COMMA.search(text, at)
    while comma is not None and text[comma.end() : comma.end() + 1] != "]":
        element, at = decode(text, comma.end())
        comma = _COMMA.search(text, at)
        assert comma is not None
        yield element, comma.end()
        if not comma[1]:
            break


def _whole(path: str | Path, text: str) -> Iterator[Any]:
    """Yield the jobs of a file without a list: one object, or one a line."""
    if "\n" not in text.strip() or not text.lstrip().startswith("{"):
        document = json.loads(text)
    else:
        try:
            document = json.loads(text)
        except ValueError:
            for number, line in enumerate(text.splitlines(), start=1):
                if line.strip():
                    try:
                        yield json.loads(line)
                    except ValueError as mistake:
                        raise NetcosimError(f"{path}:{number}: not valid JSON: {mistake}") from None
            return
    if not isinstance(document, dict) or "jobs" in document:
        raise NetcosimError(f'{path}: no list of jobs ("jobs": [...])')
    yield document
