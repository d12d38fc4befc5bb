"""Progress of a run: reported to callbacks, and on stderr as a bar or now and then a line."""

from __future__ import annotations

import builtins
import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from cosim.measuring.tasks import Progress


@dataclass(frozen=True)
class Show:
    """What a run calls to report its progress."""

    at: Callable[[float, str], None]
    """What is done, in the unit of the total (it must not decrease), and the current step."""
    print_line: Callable[[str], None]
    """Print a separate line."""
    restart: Callable[[], None] = lambda: None
    """What is done so far, and the time that it took, do not predict what is left: parts found from
    a run before, kernels compiled."""


_FIRST_LINE_S = 10.0
_GROWTH = 0.1


@contextmanager
def progress(
    total: float, unit: str, *, begun: float = 0, shown: bool = True, file: TextIO | None = None
) -> Iterator[Show]:
    """Show progress with time left while the block runs.

    The clock starts with the block, so kernels must be compiled before.

    ``unit`` is "%" or a plural, "points". What is ``begun`` does not count for the speed.
    """
    file = sys.stderr if file is None else file
    if not shown:
        yield Show(lambda done, what: None, lambda line: None)
    elif file.isatty() or in_notebook():
        with _bar(total, unit, begun, file) as show:
            yield show
    else:
        yield _lines(total, unit, begun, file)


def in_notebook() -> bool:
    """Return whether a Jupyter kernel shows stderr."""
    return type(getattr(builtins, "get_ipython", str)()).__name__ == "ZMQInteractiveShell"


@contextmanager
def _bar(total: float, unit: str, begun: float, file: TextIO) -> Iterator[Show]:
    with warnings.catch_warnings():
        # without ipywidgets a notebook gets a bar of characters
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm

    form = "{desc:<44} {percentage:3.0f}% |{bar}| {elapsed}, {remaining} left"
    with tqdm(
        total=total,
        initial=begun,
        desc="starting",
        bar_format=form if unit == "%" else None,
        unit=unit.removesuffix("s"),
        file=file,
        leave=unit != "%",
        smoothing=0.05,
        mininterval=0.2,
        dynamic_ncols=True,
    ) as bar:

        def show(done: float, what: str) -> None:
            bar.set_description_str(what, refresh=False)
            bar.update(max(0.0, done - bar.n))

        def restart() -> None:
            done = bar.n
            bar.reset()
            bar.initial = bar.n = bar.last_print_n = done

        yield Show(show, lambda line: bar.write(f"netcosim: {line}", file=file), restart)


def _lines(total: float, unit: str, begun: float, file: TextIO) -> Show:
    started = time.monotonic()
    last = started

    label = begun

    def show(done: float, what: str) -> None:
        nonlocal last, label
        now, label = time.monotonic(), done
        if now - last < line_gap_s(now - started):
            return
        last = now
        print(progress_line(done, total, unit, begun, now - started, what), file=file, flush=True)

    def restart() -> None:
        nonlocal begun, started
        begun, started = label, time.monotonic()

    return Show(show, lambda line: print(f"netcosim: {line}", file=file, flush=True), restart)


def line_gap_s(elapsed_s: float) -> float:
    """Return the time between two lines: 10 s at first, then a tenth of the elapsed time.

    Ten minutes are 30 lines, a day is 80: a log stays readable however long a run takes.
    """
    return max(_FIRST_LINE_S, _GROWTH * elapsed_s)


def progress_line(
    done: float, total: float, unit: str, begun: float, elapsed_s: float, what: str
) -> str:
    """Format one line: how much is done, what is being done, elapsed and remaining time."""
    amount = f"{done:.0f} %" if unit == "%" else f"{done:,.0f} of {total:,.0f} {unit}"
    label = f", {what}" if what else ""
    left = ""
    if begun < done < total:
        left = f", about {clock(elapsed_s * (total - done) / (done - begun))} left"
    return f"netcosim: {amount}{label}; {clock(elapsed_s)} gone{left}"


def clock(seconds: float) -> str:
    """Format seconds as hours, minutes and seconds: 2:05, 1:00:00."""
    minutes, s = divmod(round(seconds), 60)
    hours, m = divmod(minutes, 60)
    return f"{hours}:{m:02}:{s:02}" if hours else f"{m}:{s:02}"


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
