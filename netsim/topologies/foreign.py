"""Files of other programs that are recognised and not read, each with what is read in its place."""

from __future__ import annotations

import re
from pathlib import Path

from netsim.errors import NetcosimError

_INSIDE = (
    "it describes the inside of a server, not a network: the family gpu-cluster has servers of "
    "GPUs, and gpus_per_node those of a network file"
)
_CABLES = "write its links as CSV with the columns a, b and bandwidth (family cables)"
_FOREIGN = (
    (r"<system\b[^>]*>\s*<(cpu|gpu|nic)\b", "NCCL topology XML", _INSIDE),
    (r"<graphs\b[^>]*>\s*<graph\b", "NCCL graph XML", _INSIDE),
    (r"<!DOCTYPE topology|<topology\b[^>]*>\s*<object type=", "hwloc XML", _INSIDE),
    (r"<Report\b|\A.{0,300}\bNodeGUID;|\A\s*Link Summary", "an Omni-Path report", _CABLES),
    (r"<lldp\b|\A\s*-+\s*LLDP neighbors|\"lldp\"\s*:", "LLDP neighbours", _CABLES),
    (
        r"\A(\s*(//|#)[^\n]*\n)*\s*(strict\s+)?(di)?graph\b[^\n]*\{|\A[^\n]*\s-[->]\s",
        "DOT",
        "write the graph as GraphML (family graph)",
    ),
)


def refuse_foreign(path: Path, text: str) -> None:
    """Raise NetcosimError if a text is of a known kind that is not read."""
    for pattern, kind, instead in _FOREIGN:
        if re.search(pattern, text, re.S):
            raise NetcosimError(f"{path}: {kind} is not supported; {instead}")
