"""Reader of `ibnetdiscover` output: switches, adapters and links of an InfiniBand fabric.

A section of a switch begins with ``Switch``, one of an adapter (HCA) with ``Ca``; a line of a port
gives the port it is connected to, and the width and speed of the link ("4xNDR"). Every link is
there twice. The description of an adapter is its host's name and its own ("node17 mlx5_0").
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from netsim.errors import NetcosimError
from netsim.files import read_lines

MAX_FILE_BYTES = 1 << 27

# Data of one lane in Gbit/s, after coding: 8b/10b up to QDR, 64b/66b from FDR10 to EDR.
LANE_GBITS = {
    "SDR": Fraction(2),
    "DDR": Fraction(4),
    "QDR": Fraction(8),
    "FDR10": Fraction(10),
    "FDR": Fraction("13.64"),
    "EDR": Fraction(25),
    "HDR": Fraction(50),
    "NDR": Fraction(100),
    "XDR": Fraction(200),
}
"""Specifications of the InfiniBand Trade Association (EDR's 25.78 Gbit/s signal carries 25)."""

_SECTION = re.compile(r'(Switch|Ca|Rt)\s+(\d+)\s+"([^"]*)"\s*#?\s*(?:"([^"]*)")?')
_PORT = re.compile(
    r'\[(\d{1,6})\](?:\[ext \d+\])?(?:\([0-9a-fA-F]+\))?\s+"([^"]*)"\[(\d{1,6})\]', re.ASCII
)
_SPEED = re.compile(r"\s(\d{1,2})x([A-Z]+\d*)\s*$", re.ASCII)
_HEADER = re.compile(r"\s*(#.*|\w+=.*)?$")
_DEVICE = re.compile(r"(HCA-\d+|[a-z]+[a-z0-9]*_?\d+(_\d+)?)$")
_SYSTEM = re.compile(r"[^;]*;([^:;]+):")

End = tuple[str, int]
"""GUID and port."""


@dataclass
class Fabric:
    """The content of a file."""

    switches: dict[str, str] = field(default_factory=dict)
    adapters: dict[str, str] = field(default_factory=dict)
    """switches, adapters: Descriptions by GUID, in the order of the file."""
    links: dict[tuple[End, End], int] = field(default_factory=dict)
    """Bytes a second by the two ends of each link."""


def read_fabric(path: Path) -> Fabric:
    """Read what `ibnetdiscover` printed.

    Raises
    ------
    NetcosimError
        A file that cannot be read, a line that `ibnetdiscover` does not print, a speed that
        is unknown, a port with two links, no switch.
    """
    fabric, here, joined = Fabric(), None, dict[End, End]()
    for number, line in enumerate(read_lines(path, limit_bytes=MAX_FILE_BYTES), 1):
        where = f"{path}:{number}"
        section = _SECTION.match(line)
        if section is not None:
            kind, _, here, description = section.groups()
            known = {"Switch": fabric.switches, "Ca": fabric.adapters}.get(kind)
            if known is None:
                here = None
            elif here in known:
                raise NetcosimError(f"{where}: {here!r} is there twice")
            else:
                known[here] = (description or here).strip()
            continue
        if _HEADER.match(line):
            continue
        port = _PORT.match(line)
        if port is None:
            raise NetcosimError(f"{where}: {line.strip()[:60]!r} is no line of ibnetdiscover")
        if here is None:
            # a router to another subnet
            continue
        one, other = (here, int(port[1])), (port[2], int(port[3]))
        for end, far in ((one, other), (other, one)):
            if joined.setdefault(end, far) != far:
                raise NetcosimError(f"{where}: port {end[1]} of {end[0]!r} has two links")
        fabric.links[min(one, other), max(one, other)] = _link_speed(where, line)
    if not fabric.switches:
        raise NetcosimError(f"{path}: no switch; is it what ibnetdiscover prints?")
    return fabric


def _link_speed(where: str, line: str) -> int:
    found = _SPEED.search(line)
    if found is None:
        raise NetcosimError(f"{where}: no speed such as 4xNDR at the end of the line")
    if found[2] not in LANE_GBITS:
        raise NetcosimError(f"{where}: speed {found[2]!r}; known: {', '.join(LANE_GBITS)}")
    return int(int(found[1]) * LANE_GBITS[found[2]] * 10**9 / 8)


def host_and_device(description: str) -> tuple[str, str] | None:
    """Return the host's and the adapter's name; None if the description names no host.

    Examples
    --------
    >>> from netsim.topologies.fabric_files import host_and_device
    >>> host_and_device("node17 mlx5_0"), host_and_device("login1")
    (('node17', 'mlx5_0'), ('login1', ''))
    >>> host_and_device("MT4129 ConnectX7   Mellanox Technologies") is None
    True
    """
    words = description.split()
    if len(words) == 1:
        return words[0], ""
    if len(words) == 2 and _DEVICE.match(words[1]):
        return words[0], words[1]
    return None


def switch_name(guid: str, description: str) -> str:
    """Return the name in a managed switch's description ("MF0;leaf-1:MQM9700/U1"), or all."""
    system = _SYSTEM.match(description)
    return system[1] if system else description or guid
