"""Point functions for the sweep tests; in a module of their own so that workers can import them."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from netcosim.runs.points import point_rng
from netcosim.runs.store import Rows
from netcosim.runs.sweep import run_points, sliced
from netsim.errors import NetcosimError


def number(config: Mapping[str, object], key: str) -> int:
    value = config[key]
    assert isinstance(value, int)
    return value


def draw(config: Mapping[str, object]) -> Mapping[str, Rows]:
    """A few draws; some points fail, in two ways."""
    i = number(config, "i")
    if i % 7 == 3:
        raise NetcosimError(f"i = {i}; it must not be 3 modulo 7")
    if i % 7 == 5:
        raise ZeroDivisionError("poison")
    rng = point_rng(config, "draw")
    time.sleep(float(rng.uniform(0, 0.01)))
    rows = [{"job": job, "time_s": float(rng.normal())} for job in range(3)]
    return {"jobs": rows, "summary": [{"mean_s": sum(float(str(r["time_s"])) for r in rows) / 3}]}


def slow(config: Mapping[str, object]) -> Mapping[str, Rows]:
    """Leaves a mark for each computing in the folder that the config names."""
    i = number(config, "i")
    marks = Path(str(config["folder"]))
    (marks / f"{i}.{time.time_ns()}").touch()
    time.sleep(0.03)
    return {"jobs": [{"x": i * i}]}


def deadly(config: Mapping[str, object]) -> Mapping[str, Rows]:
    """Point 4 kills its process every time, point 6 the first time."""
    i = number(config, "i")
    first_time = Path(str(config["folder"])) / "six"
    if i == 4 or (i == 6 and not first_time.exists()):
        if i == 6:
            first_time.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"jobs": [{"x": i}]}


def main() -> None:
    """A sweep to launch and to kill.

    ``sweep_points.py FUNCTION STORE JOBS COUNT [FOLDER [EXECUTOR [I/N]]]``
    """
    function, store, jobs, count = sys.argv[1:5]
    extra = {"folder": sys.argv[5]} if len(sys.argv) > 5 else {}
    executor = sys.argv[6] if len(sys.argv) > 6 else ""
    points = [{"i": i, **extra} for i in range(int(count))]
    if len(sys.argv) > 7:
        points = sliced(points, *map(int, sys.argv[7].split("/")))
    path = f"sweep_points:{function}"
    run_points(path, points, store, jobs=int(jobs), executor=executor, progress=False)


if __name__ == "__main__":
    main()
