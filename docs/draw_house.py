"""Draw the packages and who imports whom, from the code: ``python docs/draw_house.py``.

The documentation build calls `main`, which writes ``images/house.svg``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill
from typing import Any

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
PICTURE = DOCS / "images" / "house.svg"

ORDER = ("experiments", "netcosim", "cosim", "queuesim", "alloc", "workloads", "patterns", "netsim")
"""From the top floor to the ground: a package imports from those after it alone."""

SOFT = "#666666"
KNOWS = {
    "experiments": "studies: papers, validation, benchmarks",
    "netcosim": "public names, configs, sweeps, stores, commands, pages",
    "cosim": "queue and network joined: coupled and measured run times",
    "queuesim": "jobs over time: order, backfill, run times",
    "patterns": "who sends what to whom",
    "alloc": "which nodes a job gets",
    "workloads": "job logs and generators",
    "netsim": "networks, by packets and by flows",
}


def imported(source: str) -> Iterator[str]:
    """Full names of the modules that a source imports, late imports too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)


def is_code(path: Path, root: Path) -> bool:
    """Whether a source is not one of a study's tests and scripts."""
    return not {"tests", "tables"} & set(path.relative_to(root).parts)


def house(root: Path = ROOT) -> dict[str, Any]:
    """What the picture shows.

    Returns
    -------
    dict
        "packages": name to files, lines and rooms (its folders, with their lines); "arrows":
        [importing package, imported package, how many imports].
    """
    packages: dict[str, Any] = {}
    arrows: dict[tuple[str, str], int] = {}
    for name in ORDER:
        files = [path for path in sorted((root / name).rglob("*.py")) if is_code(path, root)]
        texts = {path: path.read_text(encoding="utf-8") for path in files}
        rooms: dict[str, int] = {}
        for path, text in texts.items():
            inside = path.relative_to(root / name).parts
            if len(inside) > 1:
                rooms[inside[0]] = rooms.get(inside[0], 0) + text.count("\n")
            for target in imported(text):
                other = target.split(".")[0]
                if other in ORDER and other != name:
                    arrows[name, other] = arrows.get((name, other), 0) + 1
        packages[name] = {
            "files": len(files),
            "lines": sum(text.count("\n") for text in texts.values()),
            "rooms": rooms,
        }
    return {"packages": packages, "arrows": [[*pair, n] for pair, n in sorted(arrows.items())]}


def draw(found: dict[str, Any], path: Path) -> None:
    """Packages as steps of a stair; an arrow runs to the right, then down to what is imported."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyBboxPatch

    mpl.rcParams["svg.hashsalt"] = "netcosim"  # the same bytes from the same code
    width, height, right, down = 2.7, 0.84, 1.25, 1.1
    last = len(ORDER) - 1
    figure = Figure(figsize=(last * right + width + 0.2, last * down + height + 0.2))
    axis = figure.add_axes((0, 0, 1, 1))
    axis.set(xlim=(-0.1, last * right + width + 0.1), ylim=(-0.1, last * down + height + 0.1))
    axis.axis("off")
    corner = {name: (k * right, (last - k) * down) for k, name in enumerate(ORDER)}
    for name, (x, y) in corner.items():
        told = found["packages"][name]
        axis.add_patch(
            FancyBboxPatch(
                (x, y), width, height, boxstyle="round,pad=0", facecolor="#f4f1e8", edgecolor=SOFT
            )
        )
        files = f"{told['files']} files, {told['lines'] / 1000:.1f}k lines"
        for height_of, text, style in (
            (0.68, f"{name}   {files}", {"weight": "bold", "size": 9}),
            (0.46, KNOWS[name], {"size": 8.5}),
            (0.19, fill(", ".join(told["rooms"]), 50), {"size": 7, "color": SOFT}),
        ):
            axis.text(x + width / 2, y + height_of, text, ha="center", va="center", **style)
    targets = {name: sorted(t for s, t, _ in found["arrows"] if s == name) for name in ORDER}
    sources = {name: [s for s in ORDER if name in targets[s]] for name in ORDER}
    for source, target, count in found["arrows"]:
        # entries lie on the part of the top that no step above covers; later sources further left
        entry = sources[target][::-1].index(source)
        x = corner[target][0] + width - right + 0.12 + entry * (right - 0.2) / last
        leave = sorted(targets[source], key=ORDER.index).index(target)
        y = corner[source][1] + height - 0.12 - leave * (height - 0.2) / last
        end = corner[target][1] + height
        thick = 0.7 + min(2.6, count / 60)
        axis.plot([corner[source][0] + width, x, x], [y, y, end + 0.08], color="#7d93ad", lw=thick)
        axis.plot([x], [end + 0.06], marker="v", ms=4 + thick, color="#7d93ad")
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Write the picture."""
    draw(house(), PICTURE)


if __name__ == "__main__":
    main()
