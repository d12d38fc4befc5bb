"""Every figure of a page as a file: SVG, PDF or PNG, with a descriptive name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from netcosim.report.figures.drawing import Drawing, safe_names
from netcosim.report.figures.run import RunFigure, run_figures
from netcosim.report.figures.style import save_figure
from netcosim.runs.store import Store
from netsim.atomic_files import make_folder
from netsim.errors import NetcosimError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from netcosim.report.page import Section

Form = Literal["svg", "pdf", "png"]


def write_figures(store: Store, key: str | None, folder: Path, form: Form) -> list[Path]:
    """Write the figures of a run's page, or of a sweep's, to ``folder/NAME.FORM``.

    Parameters
    ----------
    key : str or None
        Of the run's point; None: of the sweep.
    folder : path
        Made if it is missing.
    form : {"svg", "pdf", "png"}
    """
    from netcosim.report.sweep_page import sweep_drawings

    figures: Sequence[Drawing | RunFigure] = (
        sweep_drawings(store) if key is None else run_figures(store.tables(key), store.kept(key))
    )
    if not figures:
        raise NetcosimError(f"{store.path}: its page has no figures")
    # one after the other: all of them together may be large
    return _write([f.name for f in figures], (f.draw() for f in figures), folder, form)


def write_section_figures(sections: Sequence[Section], folder: Path, form: Form) -> list[Path]:
    """Write the figures of a page's sections, by their titles."""
    drawn = [(section.title, section.figure) for section in sections if section.figure is not None]
    if not drawn:
        return []
    titles, figures = zip(*drawn, strict=True)
    return _write(titles, figures, folder, form)


def _write(names: Sequence[str], figures: Iterable[Figure], folder: Path, form: Form) -> list[Path]:
    make_folder(folder)
    return [
        save_figure(figure, folder / f"{name}.{form}", form)
        for name, figure in zip(safe_names(names), figures, strict=True)
    ]
