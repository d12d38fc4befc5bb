"""Readers of InfiniBand fabrics: what `ibnetdiscover`, `ibnetdiscover -p` and `iblinkinfo` print.

In ibnetdiscover's output a section of a switch begins with ``Switch``, one of an adapter (HCA) with
``Ca``; a line of a port gives the port it is connected to, and the width and speed of the link
("4xNDR"). Every link is there twice. The description of an adapter is its host's name and its own
("node17 mlx5_0"). With ``-g`` the sections of a chassis are together, its adapters twice. Lines of
``-p`` and of iblinkinfo have a link each.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from netsim.errors import NetcosimError
from netsim.files import read_lines

MAX_FILE_BYTES = 1 << 27

LANE_GBITS = {
    "SDR": (Fraction(2), 2.5),
    "DDR": (Fraction(4), 5.0),
    "QDR": (Fraction(8), 10.0),
    "FDR10": (Fraction(10), 10.3125),
    "FDR": (Fraction("13.64"), 14.0625),
    "EDR": (Fraction(25), 25.78125),
    "HDR": (Fraction(50), 53.125),
    "NDR": (Fraction(100), 106.25),
    "XDR": (Fraction(200), 212.5),
}
"""Gbit/s of a lane: data, after coding (8b/10b up to QDR, 64b/66b from FDR10 to EDR), and the
signal, which iblinkinfo prints; by the InfiniBand Trade Association's specifications."""
_SECTION = re.compile(r'(Switch|Ca|Rt)\s+(\d+)\s+"([^"]*)"\s*#?\s*(?:"([^"]*)")?')
_PORT = re.compile(
    r'\[(\d{1,6})\](?:\[ext \d+\])?(?:\([0-9a-fA-F]+\))?\s+"([^"]*)"\[(\d{1,6})\]', re.ASCII
)
_SPEED = re.compile(r"\s(\d{1,2})x([A-Z]+\d*)\s*(?:s=\d+ w=\d+\s*)?$", re.ASCII)
_HEADER = re.compile(r"\s*(#.*|\w+=.*|Chassis \d+.*|Non-Chassis Nodes.*)?$")
_STDERR = re.compile(r"\s*(ib\w+: |src/|[\w/.-]+\.c:\d+|[\w/.-]+: (warning|error))", re.I)
_LIST = re.compile(r"\s*(Switch|Ca|Rt)\s*: 0x[0-9a-f]+ ports \d", re.I)
_LIST_TEXT = (
    "a list of nodes without links, as ibnetdiscover -l, ibhosts and ibswitches print; "
    "ibnetdiscover without -l prints the links"
)
_REPORT = re.compile(
    r"\s*(SW|CA|RT)\s+\d+\s+(\d{1,6})\s+(0x[0-9a-f]+)\s+(\d{1,2})x\s+(\w+)\s+-"
    r"\s+(SW|CA|RT)\s+\d+\s+(\d{1,6})\s+(0x[0-9a-f]+)\s+\(\s*'(.*)'\s+-\s+'(.*)'\s*\)\s*$",
    re.ASCII,
)
_LINK_INFO = re.compile(
    r"\s*(?:0x[0-9a-f]+\s+)?(\d{1,6})\s+(\d{1,6})\[[^]]*\]\s*==\((.*)\)==>"
    r'\s*(?:(\d{1,6})\s+(\d{1,6}))?\[[^]]*\]\s*"([^"]*)"',
    re.ASCII,
)
_LINK_INFO_HEAD = re.compile(r"(Switch|CA|RT):\s*(?:(0x[0-9a-f]+)\s)?\s*(.*?):?\s*$", re.ASCII)
_LANES = re.compile(r"\s*(\d{1,2})X\s+([0-9.]+) Gbps", re.ASCII)
_DEVICE = re.compile(r"(HCA-\d+|[a-z]+[a-z0-9]*_?\d+(_\d+)?)$")
_SYSTEM = re.compile(r"[^;]*;([^:;]+):")
LINES = (_SECTION, _REPORT, _LINK_INFO, _LIST)
"""What a file of a fabric has a line of."""

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
    left_out: int = 0
    """Lines of other programs, such as warnings at the top."""
    _joined: dict[End, End] = field(default_factory=dict)

    def add(self, where: str, one: End, other: End, speed_Bps: int) -> None:
        """Add a link, which may be there twice."""
        for end, far in ((one, other), (other, one)):
            if self._joined.setdefault(end, far) != far:
                raise NetcosimError(f"{where}: port {end[1]} of {end[0]!r} has two links")
        self.links[min(one, other), max(one, other)] = speed_Bps


def read_fabric(path: Path) -> Fabric:
    """Read what `ibnetdiscover` or `iblinkinfo` printed."""
    lines = [
        (f"{path}:{number}", line.rstrip())
        for number, line in enumerate(read_lines(path, limit_bytes=MAX_FILE_BYTES), 1)
    ]
    for where, line in lines:
        if _LIST.match(line):
            raise NetcosimError(f"{where}: {_LIST_TEXT}")
    readers = {_SECTION: _read_sections, _REPORT: _read_report, _LINK_INFO: _read_link_info}
    for pattern, read in readers.items():
        if any(pattern.match(line) for _, line in lines):
            fabric = read(lines)
            break
    else:
        fabric = Fabric()
    if not fabric.switches:
        raise NetcosimError(f"{path}: no switch; is it what ibnetdiscover prints?")
    return fabric


def _read_sections(lines: list[tuple[str, str]]) -> Fabric:
    fabric, here, begun = Fabric(), None, False
    for where, line in lines:
        section = _SECTION.match(line)
        if section is not None:
            kind, _, here, description = section.groups()
            known = {"Switch": fabric.switches, "Ca": fabric.adapters}.get(kind)
            if known is None:
                here = None
            else:
                known[here] = (description or here).strip()
            begun = True
            continue
        if _HEADER.match(line):
            continue
        port = _PORT.match(line)
        if port is None:
            if begun and not _STDERR.match(line):
                raise NetcosimError(f"{where}: {line.strip()[:60]!r} is no line of ibnetdiscover")
            fabric.left_out += 1
        elif here is not None:  # else a router to another subnet
            one, other = (here, int(port[1])), (port[2], int(port[3]))
            fabric.add(where, one, other, _link_speed(where, line))
    return fabric


def _read_report(lines: list[tuple[str, str]]) -> Fabric:
    """Read what ``ibnetdiscover -p`` printed; ports without a link have no other end."""
    fabric = Fabric()
    for where, line in lines:
        match = _REPORT.match(line)
        if match is None:
            fabric.left_out += bool(line and not re.match(r"\s*(#|SW |CA |RT )", line))
            continue
        ends = []
        for kind, port, guid, text in (match.group(1, 2, 3, 9), match.group(6, 7, 8, 10)):
            known = {"SW": fabric.switches, "CA": fabric.adapters}.get(kind)
            if known is not None:
                known[guid] = text.strip() or guid
                ends.append((guid, int(port)))
        if len(ends) == 2:
            fabric.add(where, ends[0], ends[1], _of_lanes(where, int(match[4]), match[5]))
    return fabric


def _read_link_info(lines: list[tuple[str, str]]) -> Fabric:
    """Read what ``iblinkinfo`` printed: ends are LIDs and ports, under a head for each device."""
    fabric, device, rows = Fabric(), "", []
    of_lid: dict[str, str] = {}
    for where, line in lines:
        head, match = _LINK_INFO_HEAD.match(line), _LINK_INFO.match(line)
        if head is not None:
            kind, guid, text = head.groups()
            device = guid or f"{text} {where.rpartition(':')[2]}"
            known = {"Switch": fabric.switches, "CA": fabric.adapters}.get(kind)
            if known is not None:
                known[device] = text or device
        elif match is None:
            if "==(" in line:
                raise NetcosimError(
                    f"{where}: {line.strip()[:60]!r}; iblinkinfo -l does not print which ends are "
                    "switches: run it without -l"
                )
            fabric.left_out += bool(line and not line.startswith("#"))
        else:
            of_lid[match[1]] = device
            if match[4]:
                rows.append((where, match))
    for where, match in rows:
        lanes = _LANES.match(match[3])
        if lanes is None:
            continue  # down
        if match[4] not in of_lid:  # adapters are left out by --switches-only
            of_lid[match[4]] = f"{match[6]} lid {match[4]}"
            fabric.adapters[of_lid[match[4]]] = match[6].strip() or of_lid[match[4]]
        ends = [(of_lid[match[1]], int(match[2])), (of_lid[match[4]], int(match[5]))]
        gbits = float(lanes[2])
        names = (n for n, (_, lane) in LANE_GBITS.items() if abs(gbits / lane - 1) < 0.01)
        speed = _of_lanes(where, int(lanes[1]), next(names, lanes[2]))
        fabric.add(where, ends[0], ends[1], speed)
    return fabric


def _link_speed(where: str, line: str) -> int:
    match = _SPEED.search(line)
    if match is None:
        raise NetcosimError(f"{where}: no speed such as 4xNDR at the end of the line")
    return _of_lanes(where, int(match[1]), match[2])


def _of_lanes(where: str, lanes: int, name: str) -> int:
    if name not in LANE_GBITS:
        raise NetcosimError(f"{where}: speed {name!r}; known: {', '.join(LANE_GBITS)}")
    return int(lanes * LANE_GBITS[name][0] * 10**9 / 8)


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
