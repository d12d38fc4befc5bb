"""Every figure of a page as a file: SVG, PDF or PNG, with a name that says what it shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from experiments.figures.style import save_figure
from experiments.store import Store
from netcosim.report.figures.drawing import safe_names
from netsim.atomic_files import make_folder
from netsim.errors import NetcosimError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from netcosim.report.page import Section

Form = Literal["svg", "pdf", "png"]
Named = tuple[str, "Callable[[], Figure]"]
"""What a figure shows, and what draws it."""


def write_figures(store: Store, key: str | None, folder: Path, form: Form) -> list[Path]:
    """Write the figures of a run's page, or of a sweep's, to ``folder/NAME.FORM``.

    Parameters
    ----------
    store : Store
    key : str or None
        Of the run's point; None: the sweep as a whole.
    folder : path
        Made if it is missing.
    form : {"svg", "pdf", "png"}

    Raises
    ------
    NetcosimError
        A page without figures, a folder that cannot be written.
    """
    figures = _of_sweep(store) if key is None else _of_run(store, key)
    if not figures:
        raise NetcosimError(f"{store.path}: its page has no figures")
    return _write(figures, folder, form)


def write_section_figures(sections: Sequence[Section], folder: Path, form: Form) -> list[Path]:
    """Write the figures that stand in a page's sections, by their titles.

    Raises
    ------
    NetcosimError
        A folder that cannot be written.
    """
    drawn = [(s.title, partial(lambda f: f, s.figure)) for s in sections if s.figure is not None]
    return _write(drawn, folder, form) if drawn else []


def _write(figures: Sequence[Named], folder: Path, form: Form) -> list[Path]:
    make_folder(folder)
    names = safe_names(name for name, _ in figures)
    return [
        save_figure(draw(), folder / f"{name}.{form}", form)
        for name, (_, draw) in zip(names, figures, strict=True)
    ]


def _of_sweep(store: Store) -> list[Named]:
    from netcosim.report.sweep_page import sweep_drawings

    return [(drawing.name, drawing.whole) for drawing in sweep_drawings(store)]


def _of_run(store: Store, key: str) -> list[Named]:
    from netcosim.report.figures.run import run_figures
    from netcosim.report.run_page import stored_tables

    return [(f.name, f.draw) for f in run_figures(stored_tables(store, key), store.kept(key))]
