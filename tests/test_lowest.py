"""The floors of setup.cfg are the versions that ``make test-lowest`` installs."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENT = re.compile(r"([A-Za-z0-9-]+)>=([0-9.]+)")
CONSTRAINT = re.compile(r'([A-Za-z0-9-]+)==([0-9.]+)(; python_version < "3\.13")?')
OPTIONS = ("parquet", "rl", "yaml")


def floors() -> list[tuple[str, str]]:
    """Name and floor of each library that is needed, and of the options that are tested."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    extras = parser["options.extras_require"]
    text = "\n".join([parser["options"]["install_requires"], *(extras[name] for name in OPTIONS)])
    return [(match[1], match[2]) for match in REQUIREMENT.finditer(text)]


def pinned() -> dict[str, str]:
    """The versions that Python 3.11 gets."""
    lines = (ROOT / "tests" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    return {match[1]: match[2] for line in lines if (match := CONSTRAINT.fullmatch(line))}


@pytest.mark.parametrize(("name", "floor"), floors())
def test_what_is_tested_is_the_floor(name: str, floor: str) -> None:
    def padded(text: str) -> str:
        return ".".join([*text.split("."), "0", "0"][:3])

    assert padded(pinned()[name]) == padded(floor)
