"""AI clusters: what contention costs the queue, and what takes it away.

Jobs of Kalos, generated ones of Philly's kind and of a cluster of very large jobs, on the servers
that schedulers give today.
"""

from __future__ import annotations

from typing import Any

from experiments.ai_clusters import cells, draw, packets
from experiments.kit.paper_folder import A_FACTOR, checker, folder_paper

PARTS: dict[str, tuple[Any, ...]] = {
    "cells": (cells.FUNCTION, cells.points, cells.analyse, draw.draw),
    "packets": (packets.FUNCTION, packets.points, packets.analyse),
}
CHECK = checker("ai-clusters", ("logs",), no_routing=A_FACTOR)
PAPER = folder_paper("ai_clusters", PARTS, CHECK, default="cells")
