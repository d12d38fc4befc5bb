"""Link states to show to a routing."""

from __future__ import annotations

from collections.abc import Mapping

BUFFER = 14_000


class GivenLoads:
    """A view in which some links have a load, and bytes of it on channel 0; the others are idle."""

    def __init__(self, loads: Mapping[int, int] | None = None) -> None:
        self.loads = dict(loads or {})

    def load(self, link: int) -> int:
        return self.loads.get(link, 0)

    queued = used = load

    def room(self, link: int, vc: int) -> int:
        return 0 if link in self.loads else BUFFER

    def queue_bytes(self, link: int, vc: int) -> int:
        return 0 if vc else self.load(link)

    def queue_free(self, link: int, vc: int) -> int:
        return BUFFER - self.queue_bytes(link, vc)
