"""Every figure of a page as a file: SVG, PDF or PNG, with a name that says what it shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from experiments.store import Store
from netcosim.export.files import make_folder, whole
from netcosim.report.drawing import safe_names
from netsim.errors import NetcosimError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from matplotlib.figure import Figure

Form = Literal["svg", "pdf", "png"]
DPI = 200
# without a date the same figure gives the same bytes
_METADATA: dict[Form, dict[str, Any]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
    "png": {"Software": None},
}


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
        path = folder / f"{name}.{form}"
        with whole(path) as part:
            save_figure(figure, part, form)
        close(figure)
        written.append(path)
    return written


def save_figure(figure: Figure, path: Path, form: Form) -> None:
    """Write a figure on white; the same figure gives the same bytes."""
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "netcosim"}):
        figure.savefig(path, format=form, dpi=DPI, facecolor="white", metadata=_METADATA[form])


def _of_sweep(store: Store) -> Iterator[tuple[str, Callable[[], Figure]]]:
    from netcosim.report.sweep_page import sweep_drawings

    for drawing in sweep_drawings(store):
        yield drawing.name, drawing.whole


def _of_run(store: Store, key: str) -> Iterator[tuple[str, Callable[[], Figure]]]:
    from netcosim.report.run_figures import run_figures
    from netcosim.report.run_page import stored_tables

    for figure in run_figures(stored_tables(store, key), store.kept(key)):
        yield figure.name, figure.draw
