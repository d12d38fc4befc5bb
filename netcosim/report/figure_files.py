"""Every figure of a page as a file: SVG, PDF or PNG, with a name that says what it shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from experiments.figures.style import save_figure
from experiments.store import Store
from netcosim.report.drawing import safe_names
from netsim.atomic_files import make_folder
from netsim.errors import NetcosimError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from matplotlib.figure import Figure

    from netcosim.report.page import Section

Form = Literal["svg", "pdf", "png"]


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
    from matplotlib.pyplot import close

    drawings = list(_of_sweep(store) if key is None else _of_run(store, key))
    if not drawings:
        raise NetcosimError(f"{store.path}: its page has no figures")
    make_folder(folder)
    written = []
    names = safe_names(name for name, _ in drawings)
    for name, (_, draw) in zip(names, drawings, strict=True):
        figure = draw()
        written.append(save_figure(figure, folder / f"{name}.{form}", form))
        close(figure)
    return written


def write_section_figures(sections: Sequence[Section], folder: Path, form: Form) -> list[Path]:
    """Write the figures that stand in a page's sections, by their titles.

    Raises
    ------
    NetcosimError
        A folder that cannot be written.
    """
    drawn = [(section.title, section.figure) for section in sections if section.figure is not None]
    if drawn:
        make_folder(folder)
    names = safe_names(title for title, _ in drawn)
    return [
        save_figure(figure, folder / f"{name}.{form}", form)
        for name, (_, figure) in zip(names, drawn, strict=True)
    ]


def _of_sweep(store: Store) -> Iterator[tuple[str, Callable[[], Figure]]]:
    from netcosim.report.sweep_page import sweep_drawings

    for drawing in sweep_drawings(store):
        yield drawing.name, drawing.whole


def _of_run(store: Store, key: str) -> Iterator[tuple[str, Callable[[], Figure]]]:
    from netcosim.report.run_figures import run_figures
    from netcosim.report.run_page import stored_tables

    for figure in run_figures(stored_tables(store, key), store.kept(key)):
        yield figure.name, figure.draw
