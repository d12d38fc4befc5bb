"""``netcosim.run``: a config to a result with tables, units and figures."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netcosim.announce import compile_kernels, parts_of
from netcosim.archive.extract import archive_of
from netcosim.config.config import Config
from netcosim.config.load import config_from, load_config
from netcosim.report.policies import policy_table
from netcosim.runs.cosim import run_cosim
from netcosim.runs.cosim_result import CosimResult
from netcosim.runs.cosim_tables import result_tables
from netcosim.runs.frames import frames_of
from netcosim.runs.progress import progress as show_progress
from netcosim.runs.store import Rows
from netsim.errors import need_name, unknown_name
from netsim.kinds import need_kinds
from netsim.short_repr import short_repr
from netsim.units import title_and_unit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from netcosim.report.figures.drawing import Drawing


@short_repr("name", "caption")
@dataclass(frozen=True, eq=False)
class Plot:
    """A figure that a notebook shows."""

    name: str
    caption: str
    figure: Figure

    def save(self, path: str | Path) -> Path:
        """Write it as PNG, SVG or PDF, by the file's ending."""
        from netcosim.report.figures.style import FORMS, save_figure

        target = Path(path)
        form = target.suffix.removeprefix(".")
        need_name("figure format", form, FORMS)
        return save_figure(self.figure, target, form)

    def _repr_png_(self) -> bytes:
        drawn = io.BytesIO()
        self.figure.savefig(drawn, format="png", dpi=72, metadata={"Software": None})
        return drawn.getvalue()


class Run(CosimResult):
    """What `netcosim.run` returns: a `CosimResult` with tables as data frames, and figures.

    It can be pickled, so that a pool of processes returns it.

    Examples
    --------
    >>> import netcosim as nc
    >>> import pickle
    >>> result: nc.Run = nc.run(
    ...     {
    ...         "machine": {"family": "torus", "dims": [16]},
    ...         "workload": {"synthetic": {"n_jobs": 20, "mean_nodes": 2}},
    ...         "queue": {"policies": ["baseline"], "run_time_model": "as-logged"},
    ...         "run": {"snapshots": 0},
    ...     }
    ... )
    >>> "policies" in result.tables, "gantt-baseline" in result.figures
    (True, True)
    >>> again = pickle.loads(pickle.dumps(result))
    >>> again.tables["policies"].equals(result.tables["policies"])
    True
    """

    @cached_property
    def _rows(self) -> dict[str, Rows]:
        return result_tables(self)

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """Tables by name; ``frame.attrs["units"]`` has the unit of each column."""
        return frames_of(self._rows)

    @property
    def policies(self) -> pd.DataFrame:
        """One row a policy: what a reader wants to know first."""
        return policy_table(self._rows)

    @cached_property
    def _figures(self) -> dict[str, Drawing]:
        from netcosim.report.figures.run import run_drawings

        drawings = run_drawings(self._rows, archive_of(self))
        return {drawing.name: drawing for group in drawings.values() for drawing in group}

    @property
    def figures(self) -> tuple[str, ...]:
        """Names of the figures that `plot` draws: those of the run's page."""
        return tuple(self._figures)

    def plot(self, figure: str | None = None) -> Plot:
        """Draw a figure of the run's page.

        Parameters
        ----------
        figure : str, optional
            One of ``figures``; by default the first.
        """
        name = self.figures[0] if figure is None else figure
        if name not in self._figures:
            raise unknown_name("figure", name, self.figures)
        drawing = self._figures[name]
        return Plot(name, drawing.caption or drawing.title, drawing.draw())

    def _repr_html_(self) -> str:
        shown = self.policies
        heads = {c: "{} ({})".format(*title_and_unit(str(c))).removesuffix(" ()") for c in shown}
        return shown.rename(columns=heads).to_html(index=False, float_format="{:.4g}".format)


def run(config: Config | Mapping[str, Any] | str | Path, *, progress: bool = True) -> Run:
    """Run a config, and return tables and figures with all else that the run gave.

    Parameters
    ----------
    config : Config, mapping, str or path
        A config, its content, or its file.
    progress : bool
        Whether to show progress and compilation on stderr.

    Returns
    -------
    Run

    Raises
    ------
    NetcosimError
        As `run_cosim` and `load_config`.

    Examples
    --------
    >>> import netcosim as nc
    >>> result = nc.run(
    ...     {
    ...         "machine": {"family": "dragonfly", "p": 2, "a": 2, "g": 5},
    ...         "workload": {"synthetic": {"n_jobs": 30, "mean_nodes": 4}},
    ...         "queue": {"policies": ["rdn", "simple"], "run_time_model": "measured"},
    ...         "run": {"snapshots": 2},
    ...     }
    ... )
    >>> result.tables["policies"][["policy", "communication_ratio"]].round(2)
       policy  communication_ratio
    0     rdn                 1.00
    1  simple                 0.93
    >>> result.tables["policies"].attrs["units"]["mean_wait_s"]
    's'
    """
    need_kinds("run", {"config": (config, (Config, Mapping, str, Path))})
    if isinstance(config, Mapping):
        config = config_from(config)
    elif not isinstance(config, Config):
        config = load_config(config)
    if progress:
        compile_kernels(parts_of(config))
    with show_progress(100, "%", shown=progress) as show:
        result = run_cosim(config, lambda what, share: show.at(100 * share, what), show.print_line)
    return Run(**{field.name: getattr(result, field.name) for field in fields(result)})
