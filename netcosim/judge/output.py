"""What the judge leaves: a page, tables as CSV, a results file and the config that made them.

Each part of the work (the run, then every other communication fraction) is stored when it is
done; the same command goes on from there.
"""

from __future__ import annotations

import hashlib
import time
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.outcome import Outcome, encode_tables
from experiments.points import point_key
from experiments.progress import Show, progress
from experiments.steps import Steps
from experiments.store import Rows, Store
from netcosim.journal import Journal, drop, journal_name
from netcosim.judge.config import JudgeConfig
from netcosim.judge.page import judge_sections
from netcosim.judge.trial import Tables, Trial, run_parts
from netcosim.judge.verdict import answer
from netcosim.judge.waits import trust
from netcosim.report.figures.files import write_section_figures
from netcosim.report.page import render_page, write_page
from netcosim.run_jobs import worker_pool
from netcosim.run_output import PAGE_FILE, results_in
from netsim.atomic_files import make_folder, write_text_atomically
from netsim.errors import NetcosimError
from netsim.fingerprint import code_fingerprint
from netsim.inputs import digests

CONFIG_FILE, TABLES_FOLDER, FIGURES_FOLDER = "judge.toml", "tables", "figures"


def judge_and_report(asked: JudgeConfig, out: Path, jobs: int = 1) -> Path:
    """Compute what is not stored, write everything, print the answer.

    Parameters
    ----------
    asked : JudgeConfig
    out : path
        Folder; made if it is missing.
    jobs : int
        Local processes; they change no result.

    Raises
    ------
    NetcosimError
        What the run refuses, or a folder that cannot be written.
    """
    results = results_in(out)
    started = time.perf_counter()
    with progress(100, "%") as show:
        tables = _computed(asked, show, results, jobs)
    frames = {name: pd.DataFrame(rows) for name, rows in tables.items()}
    queue = asked.config.queue
    trusted = trust(dict(tables["reproduced"][0]), queue.order, queue.backfill)
    notes = [f"{note[0].upper()}{note[1:]}." for note in asked.notes]
    lines = [*answer(tables, trusted), *notes]
    sections = judge_sections(asked, frames)
    page = render_page(
        f"Does the topology setting pay? {frames['machine_and_jobs'].iloc[0]['log']}",
        "\n\n".join(lines),
        sections,
        config=asked.text,
        seeds={"run.seed": asked.config.run.seed, "run.repetition": asked.config.run.repetition},
        inputs=digests([asked.config.resolved()]),
    )
    _text(out / CONFIG_FILE, asked.text)
    for name, frame in frames.items():
        _text(out / TABLES_FOLDER / f"{name}.csv", frame.to_csv(index=False))
    write_section_figures(sections, out / FIGURES_FOLDER, "svg")
    path = write_page(out / PAGE_FILE, page)
    # last, because a reader that has gone away must not cost the results
    print("\n".join(lines))
    print(
        f"{time.perf_counter() - started:.0f} s; page: {path}; tables: {out / TABLES_FOLDER}; "
        f"figures: {out / FIGURES_FOLDER}"
    )
    print(f"again, or with other assumptions: netcosim judge --config {out / CONFIG_FILE}")
    return path


def _computed(asked: JudgeConfig, show: Show, results: Path, jobs: int) -> dict[str, Rows]:
    """Return all tables; what an earlier run of the same sources has stored is not computed."""
    content = asked.config.resolved()
    points = {
        fraction: {**content, "judge": {"communication_fraction": fraction}}
        for fraction in (None, *asked.section.fractions)
    }
    found = {fraction: _stored(results, point_key(point)) for fraction, point in points.items()}
    missing = [fraction for fraction, tables in found.items() if tables is None]
    if missing:
        work = {**content, "judge": {"fractions": missing, "sources": _sources()}}
        journal = Journal(results.parent / journal_name(point_key(work)), show.restart)
        steps = Steps(lambda what, share: show.at(100 * share, what), show.say)
        trial = Trial(asked.config, asked.section.fractions, journal, steps)
        with worker_pool(asked.config, journal, jobs, show.say, partial(run_parts, missing)):
            for fraction in missing:
                found[fraction] = _stored_now(trial, fraction, points[fraction], asked, results)
            drop(journal.folder)
    tables: dict[str, Rows] = {}
    for some in found.values():
        for name, rows in (some or {}).items():
            tables[name] = [*tables.get(name, ()), *rows]
    return tables


def _stored_now(
    trial: Trial, fraction: float | None, point: dict[str, Any], asked: JudgeConfig, results: Path
) -> Tables:
    """Compute and store the tables of a point, and return them as they are stored."""
    begun = time.perf_counter()
    tables = trial.compute(fraction)
    outcome = Outcome(encode_tables(tables), None, time.perf_counter() - begun)
    make_folder(results.parent)
    with Store(results, "write") as store:
        store.put(point_key(point), point, outcome, code_fingerprint())
        store.put_meta({"config_text": asked.text, "title": "netcosim judge"})
        return _read(store, point_key(point), list(tables))


def _sources() -> str:
    """Return a digest of what computes parts beside the sources that a journal's name has."""
    return hashlib.sha256(Path(__file__).with_name("trial.py").read_bytes()).hexdigest()


def _stored(results: Path, key: str) -> Tables | None:
    """The tables of a point that these sources have computed before."""
    if not results.exists():
        return None
    with Store(results, "read") as store:
        code = code_fingerprint()
        if not any(p.key == key and p.status == "done" and p.code == code for p in store.points()):
            return None
        return _read(store, key, store.table_names())


def _read(store: Store, key: str, names: list[str]) -> Tables:
    """What comes out of the store: a page is the same whether or not it was computed now."""
    found: Tables = {}
    for name in names:
        try:
            found[name] = store.rows(key, name)
        except NetcosimError:
            continue  # of another part
    return found


def _text(path: Path, text: str) -> None:
    """Write a text, whole or not at all, with the folder that it is in."""
    make_folder(path.parent)
    write_text_atomically(path, text)
