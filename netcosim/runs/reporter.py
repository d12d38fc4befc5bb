"""Progress of a run, reported to callbacks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cosim.measuring.tasks import Progress

LOGGER = logging.getLogger("netcosim")
"""Logs notices at INFO and the steps of a run at DEBUG; silent unless logging is configured."""
Notice = Callable[[str], None]
"""Called with a line that the user should read before a long step begins."""


@dataclass
class ProgressReporter:
    """The steps of a run."""

    progress: Progress | None = None
    notice: Notice | None = None
    what: str = ""
    """Prefix of the name of every step."""
    done: float = 0.0
    end: float = 1.0
    """done, end: Shares of the run."""

    def first(self, share: float, what: str) -> ProgressReporter:
        """Return the reporter of another run, which takes the first part of this one."""
        middle = self.done + share * (self.end - self.done)
        before = ProgressReporter(self.progress, self.notice, what, self.done, middle)
        self.done = middle
        return before

    def __reduce__(self) -> tuple[type[ProgressReporter], tuple[()]]:
        """Pickle a reporter that reports nothing: callbacks belong to this process."""
        return ProgressReporter, ()

    @contextmanager
    def step(self, what: str, share: float = 1.0) -> Iterator[Progress]:
        """Yield the progress of a step, which takes a share of what is left of the run."""
        begun, part = self.done, share * (self.end - self.done)
        LOGGER.debug("%.0f %%, %s", 100 * begun, f"{self.what}{what}".rstrip(", "))

        def report(more: str, done: float) -> None:
            if self.progress is not None:
                self.progress(self.what + what + more, begun + part * done)

        yield report
        self.done = begun + part

    def notify(self, line: str | None) -> None:
        """Log a line and pass it on, if there is one."""
        if line is None:
            return
        LOGGER.info(line)
        if self.notice is not None:
            self.notice(line)
