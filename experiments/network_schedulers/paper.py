"""Network schedulers: what Crux and CASSINI gain.

In queues of generated jobs, beside an exhaustive optimum of small cases, and with packets.
"""

from __future__ import annotations

from typing import Any

from experiments.kit.paper_folder import A_FACTOR, checker, folder_paper
from experiments.network_schedulers import optimum, packets, queues

PARTS: dict[str, tuple[Any, ...]] = {
    "optimum": (optimum.FUNCTION, optimum.points, optimum.analyse),
    "queue": (queues.FUNCTION, queues.points, queues.analyse),
    "packets": (packets.FUNCTION, packets.points, packets.analyse),
}
CHECK = checker("network-schedulers", (), no_routing=A_FACTOR)
PAPER = folder_paper("network_schedulers", PARTS, CHECK)
