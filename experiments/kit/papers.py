"""What a paper is to us: figures, each a list of points, a pure analysis and a drawing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from netcosim.package_check import study_module
from netcosim.papers import PAPERS
from netsim.errors import NetcosimError, need_name, unknown_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SCALES = ("quick", "full")

Point = dict[str, object]


@dataclass(frozen=True)
class Options:
    """How a figure is to be reproduced."""

    scale: str = "full"
    """{"quick", "full"}. Full: as in the paper. Quick: a small part of it, for a look."""
    routings: tuple[str, ...] = ()
    """Empty: the figure's own choice."""
    measure: str = ""
    """Which communication time the tables compare; empty: the paper's default here."""
    seed: int = 1
    settings: Mapping[str, str] = field(default_factory=dict)
    """What else a paper lets one vary."""

    def __post_init__(self) -> None:
        need_name("scale", self.scale, SCALES)
        if self.seed < 0:
            raise NetcosimError(f"seed = {self.seed}; it must be 0 or more")

    @property
    def quick(self) -> bool:
        """Whether a small part will do."""
        return self.scale == "quick"


def check_known(
    options: Options, paper: str, routings: Iterable[str], settings: Sequence[str]
) -> None:
    """Raise NetcosimError for a routing or setting that a paper lacks, and for any measure."""
    known = tuple(routings)
    for name in options.routings:
        need_name(f"routing of {paper}", name, known)
    if options.measure:
        raise unknown_name("measure", options.measure, ())
    for name in options.settings:
        need_name("setting", name, settings)


@dataclass(frozen=True, eq=False)
class Analysis:
    """What came of a figure."""

    claims: pd.DataFrame
    """One row for each statement of the paper: `CLAIM_COLUMNS`."""
    tables: Mapping[str, pd.DataFrame]
    """The figure's numbers."""
    notes: tuple[str, ...] = ()
    """For the reader: what was skipped and why."""


Analyse = Callable[[Mapping[str, "pd.DataFrame"], Options], Analysis]
Draw = Callable[[Analysis, Options], "Figure"]


@dataclass(frozen=True)
class Reading:
    """One way to read what a paper leaves open."""

    name: str
    """The claims' conditions begin with it."""
    description: str
    """Why it may be meant, in a few words."""


@dataclass(frozen=True)
class PaperFigure:
    """A figure or table of a paper."""

    name: str
    description: str
    """One line."""
    function: str
    """The point function, ``"module:name"``."""
    points: Callable[[Options], list[Point]]
    analyse: Analyse
    """Pure: from the points' tables, joined over the points, by name."""
    draw: Draw | None = None
    then: FollowUp | None = None
    """More points, built from the tables of the first."""
    readings: tuple[Reading, ...] = ()
    """All of which ``points`` computes unless the options choose; empty where the paper leaves
    nothing open."""


@dataclass(frozen=True)
class FollowUp:
    """Points of a figure that need the results of its first points."""

    function: str
    """The point function, ``"module:name"``."""
    points: Callable[[Mapping[str, pd.DataFrame], Options], list[Point]]
    """From the first points' tables, joined over the points, by name."""


@dataclass(frozen=True)
class Paper:
    """A paper and those of its figures that can be reproduced."""

    name: str
    title: str
    figures: Mapping[str, PaperFigure]
    check: Callable[[Options], None]
    """Raises NetcosimError for a routing, measure or setting that the paper does not know."""
    default: str = ""
    """What ``netcosim reproduce`` does if no figure is named: a figure, "all", or nothing (the
    figures are listed)."""

    def figure(self, name: str) -> PaperFigure:
        """Return the figure of this name; NetcosimError for an unknown one."""
        need_name(f"figure of {self.name}", name, self.figures)
        return self.figures[name]


@dataclass(frozen=True, eq=False)
class Reproduction:
    """A figure, done."""

    figure: PaperFigure
    analysis: Analysis
    files: tuple[Path, ...]
    """Tables (CSV) and the drawing (PNG)."""
    failed: tuple[tuple[str, str], ...]
    """Key and error of points that could not be computed; the analysis goes without them."""
    seconds: float
    """Time that computing took now."""
    computed: int
    """Points computed now; the others were stored."""


def load_paper(name: str) -> Paper:
    """Import the paper of this name with its figures; raise NetcosimError for an unknown one."""
    need_name("paper", name, PAPERS)
    return cast("Paper", study_module(PAPERS[name].module).PAPER)
