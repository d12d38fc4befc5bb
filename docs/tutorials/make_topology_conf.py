"""Writes a Slurm `topology.conf` of 600 nodes in an irregular tree; the same every time.

    python docs/tutorials/make_topology_conf.py topology.conf

Three levels: a core, five middle switches, some twenty leaves of 14 to 40 nodes. Every third leaf
is half empty, and a few nodes stand in another rack than their neighbours by number.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from netsim.hostlist import compress

N_NODES, MIDDLES = 600, 5
LEAST, MOST = 14, 40


def leaf_sizes(draw: random.Random) -> list[int]:
    """Nodes of each leaf: full ones of 28 to 40, and every third one about half as full."""
    sizes: list[int] = []
    while (left := N_NODES - sum(sizes)) > 0:
        size = draw.randint(LEAST, 20) if len(sizes) % 3 == 2 else draw.randint(28, MOST)
        if left - size < LEAST:
            # what is left makes one leaf or two
            sizes += [left] if left <= MOST else [left // 2, left - left // 2]
            break
        sizes.append(size)
    return sizes


def topology_conf() -> str:
    """The text of the file."""
    draw = random.Random(600)
    nodes = [f"n{i:03d}" for i in range(1, N_NODES + 1)]
    for _ in range(12):
        one, other = draw.sample(range(N_NODES), 2)
        nodes[one], nodes[other] = nodes[other], nodes[one]
    lines, first = ["# 600 nodes, three levels of switches"], 0
    leaves: list[str] = []
    for size in leaf_sizes(draw):
        leaves.append(f"leaf{len(leaves) + 1:02d}")
        here = sorted(nodes[first : first + size])
        lines.append(f"SwitchName={leaves[-1]} Nodes={compress(here)}")
        first += size
    cuts = sorted(draw.sample(range(2, len(leaves) - 1, 2), MIDDLES - 1))
    for i, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(leaves)], strict=True), 1):
        lines.append(f"SwitchName=middle{i} Switches={compress(leaves[start:stop])}")
    lines.append(f"SwitchName=core Switches=middle[1-{MIDDLES}]")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    # a file's name, or none for the screen
    if sys.argv[1:]:
        Path(sys.argv[1]).write_text(topology_conf(), encoding="utf-8")
    else:
        print(topology_conf(), end="")
