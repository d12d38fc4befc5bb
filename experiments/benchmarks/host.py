"""The machine that is measured, and whether it is quiet enough."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import netcosim as nc
from netsim.limits import memory_bytes, shown_bytes
from netsim.packet.thread_count import available_cores

_CPUINFO = Path("/proc/cpuinfo")
BUSY = 0.3
"""Load for each core from which on times are not to be trusted."""


@dataclass(frozen=True)
class Host:
    """What was measured on."""

    cpu: str
    cores: int
    """That this process may use."""
    memory_bytes: int
    load: float
    """Processes that wanted to run in the last minute, on average."""
    python: str
    numpy: str
    numba: str
    system: str
    netcosim: str

    @property
    def busy(self) -> bool:
        """Whether others are running."""
        return self.load > BUSY * self.cores

    def lines(self) -> list[str]:
        """Return the lines for the head of a table."""
        notes = [
            f"{self.cpu}, {self.cores} cores, {shown_bytes(self.memory_bytes)}, {self.system}",
            f"Python {self.python}, NumPy {self.numpy}, Numba {self.numba}; load {self.load:.2f}",
        ]
        if self.busy:
            notes.append("warning: this machine is busy; times by the wall's clock are too long")
        return notes

    def record(self) -> dict[str, object]:
        """Return the record that is stored."""
        return asdict(self)


def this_host() -> Host:
    """Describe this machine and its versions of netcosim, Python, NumPy and Numba."""
    import numba
    import numpy

    return Host(
        _cpu(),
        available_cores(),
        memory_bytes(),
        os.getloadavg()[0],
        platform.python_version(),
        numpy.__version__,
        numba.__version__,
        f"{platform.system()} {platform.machine()}",
        nc.__version__,
    )


def _cpu() -> str:
    with suppress(OSError):
        for line in _CPUINFO.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown processor"
