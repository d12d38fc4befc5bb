"""Files that describe machines: Slurm's, ibnetdiscover's and tables of cables."""

from __future__ import annotations

import numpy as np

from hostile.row import RUN, Row, all_of, bomb, config_text, written
from netsim.topologies.cables import FAMILY as CABLES
from netsim.topologies.ibnetdiscover import FAMILY as FABRIC

DIGITS = "9" * 5000
TREE = "SwitchName=a Nodes=n[1-4]\nSwitchName=b Nodes=n[5-9]\nSwitchName=c Switches=a,b\n"
FABRIC_TEXT, CABLES_TEXT = (family.small_files[0].text for family in (FABRIC, CABLES))
ANYTHING: dict[str, str | bytes] = {
    "empty": "",
    "binary": np.random.default_rng(5).bytes(10_000),
    "UTF-16": TREE.encode("utf-16"),
    "a line of 10 MB": "x" * 10_000_000,
    "a bomb": bomb(b" "),
}
SLURM: dict[str, tuple[str, str]] = {
    "10^11 nodes": ("SwitchName=a Nodes=n[0-99999999999]\n", "hosts"),
    "10^8 nodes in two brackets": ("SwitchName=a Nodes=n[0-9999]m[0-9999]\n", "more than"),
    "brackets in brackets": ("SwitchName=a Nodes=n[[[[[1]]]]]\n", "brackets"),
    "a number of 5000 digits": (f"SwitchName=a Nodes=n[{'9' * 5000}-1]\n", "a.txt:1"),
    "a chain of 3000 switches": (
        "SwitchName=s0 Nodes=n1\n"
        + "".join(f"SwitchName=s{i} Switches=s{i - 1}\n" for i in range(1, 3000)),
        "more than 32 levels",
    ),
    "block sizes of 5000 digits": (f"BlockName=a Nodes=n1\nBlockSizes={DIGITS}\n", "block sizes"),
    "no end of backslashes": ("\\\n" * 1000, "a.txt"),
}
PARAMETERS: dict[str, tuple[str, str, str]] = {
    "taper of nan": ("machine.taper", "nan", "taper"),
    "taper of 0": ("machine.taper", "0", "taper"),
    "taper of 10^300": ("machine.taper", "1e300", "taper"),
    "10^15 uplinks": ("machine.uplinks", "1000000000000000", "uplinks"),
    "a topology of a conf": ("machine.topology", '"x"', "topology"),
}


def machine(name: str, family: str, content: str | bytes, told: str = "", **more: str) -> Row:
    """A run on a machine from a file."""
    changes: dict[str, str | None] = {
        "machine.family": f'"{family}"',
        "machine.file": '"a.txt"',
        "machine.p": None,
        "machine.a": None,
        "machine.g": None,
        "queue.policies": '["baseline"]',
        **{key.replace("__", "."): value for key, value in more.items()},
    }
    make = all_of(written("c.toml", config_text(changes)), written("a.txt", content))
    return Row(f"{family}: {name}", RUN, told, make)


ROWS = [
    *(
        machine(name, family, content, "a.txt")
        for family in ("topology.conf", "ibnetdiscover", "cables")
        for name, content in ANYTHING.items()
    ),
    *(machine(name, "topology.conf", text, told) for name, (text, told) in SLURM.items()),
    *(
        machine(name, "topology.conf", TREE, told, **{key.replace(".", "__"): value})
        for name, (key, value, told) in PARAMETERS.items()
    ),
    machine("a speed of 10^5000", "ibnetdiscover", FABRIC_TEXT.replace(" 4x", f" {DIGITS}x")),
    machine(
        "a port of 5000 digits", "ibnetdiscover", FABRIC_TEXT.replace("[3]", f"[{'9' * 5000}]")
    ),
    machine("rails of 10^9", "ibnetdiscover", FABRIC_TEXT, "rails", machine__rails="1000000000"),
    machine("10^8 cables", "cables", CABLES_TEXT.replace(",,2", ",,99999999"), "a.txt"),
    machine("10^30 cables", "cables", CABLES_TEXT.replace(",,2", ",,1" + "0" * 30), "count"),
    machine("cables of 5000 digits", "cables", CABLES_TEXT.replace(",,2", ",," + DIGITS), "count"),
    machine("a quote without end", "cables", 'a,b\n"n1,s\n' * 1000),
    machine("1e999 B/s", "cables", CABLES_TEXT.replace("2 GB/s", "1e999 GB/s"), "a.txt"),
    machine("nodes of nobody", "cables", CABLES_TEXT, "x1", machine__nodes='"x[1-5]"'),
    machine("nodes in an open bracket", "cables", CABLES_TEXT, "nodes", machine__nodes='"x[1-5"'),
]
