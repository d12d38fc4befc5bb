"""What a case leaves: a results file, a page, and a screen of words."""

from __future__ import annotations

import hashlib
import sys
import time
from functools import partial
from pathlib import Path

import pandas as pd

from experiments.outcome import Outcome, encode_tables
from experiments.points import point_key
from experiments.progress import progress
from experiments.signals import defer_signals
from experiments.store import Store
from netcosim.gain.config import GainConfig
from netcosim.gain.figure import break_even_figure
from netcosim.gain.queues import Clock
from netcosim.gain.sentences import answer, lines_of, rests_on
from netcosim.gain.tables import Tables, measured_tables, predicted_tables
from netcosim.gain.trial import TIME_USED, Trial, run_worker
from netcosim.journal import Journal, drop, journal_name
from netcosim.report.page import Section, long_table, render_page, write_page
from netcosim.run_jobs import worker_pool
from netcosim.run_output import PAGE_FILE, results_in
from netsim.atomic_files import make_folder
from netsim.fingerprint import code_fingerprint
from netsim.inputs import digests


def judge_and_report(
    asked: GainConfig, out: Path, *, minutes: float, jobs: int, predict: bool = False
) -> Path:
    """Judge a case, print the answer, and write results file and page.

    What is done is kept beside the results (`netcosim.journal`) until the answer is whole; where
    the time is used before it is decided, it stays, and the same command adds snapshots to it.

    Parameters
    ----------
    asked : GainConfig
    out : path
        Folder; made if it is missing.
    minutes : float
        Time that there is.
    jobs : int
        Local processes.
    predict : bool
        Tell the gain without packets.

    Returns
    -------
    path
        The page.

    Raises
    ------
    NetcosimError
        What the queue refuses, or a folder that cannot be written.
    """
    results = results_in(out)
    config, started = asked.config, time.perf_counter()
    key = point_key({**config.resolved(), "isolation_gain": _source()})
    clock = Clock(time.time(), minutes, jobs)
    with progress(100, "%") as show:
        journal = Journal(out / journal_name(key), show.restart)
        helping = partial(_predicting if predict else _measuring, clock)
        with worker_pool(config, journal, jobs, show.say, helping):
            trial = Trial(config, journal, clock, lambda what, share: show.at(100 * share, what))
            tables = predicted_tables(trial) if predict else measured_tables(trial)
            encoded = encode_tables(tables)
            seconds = time.perf_counter() - started
            make_folder(out)
            content = {**config.resolved(), "isolation_gain": {"predict": predict}}
            outcome = Outcome(encoded, None, seconds)
            # a file without its point would be left by a stop in between
            with defer_signals(), Store(results, "write") as store:
                store.put(point_key(content), content, outcome, code_fingerprint())
                store.put_meta({"config_text": asked.text, "title": "netcosim isolation-gain"})
            undecided = any(row["why"] == TIME_USED for row in tables["gains"])
            if not undecided:
                drop(journal.folder)
    path = write_page(out / PAGE_FILE, _page(asked, tables))
    for note in asked.notes:
        print(f"netcosim: {note}", file=sys.stderr)
    # last, because a reader that has gone away must not cost the results
    print("\n".join(lines_of(tables)))
    print(f"{seconds:.0f} s; page: {path}; results: {results}")
    if undecided:
        print("The same command goes on with more snapshots.")
    return path


def _measuring(clock: Clock, content: dict[str, object], parts: Journal) -> None:
    run_worker(content, clock, parts)


def _predicting(clock: Clock, content: dict[str, object], parts: Journal) -> None:
    run_worker(content, clock, parts, packets=False)


def _source() -> str:
    """What computes parts beside what a journal knows of: a digest."""
    sources = [Path(__file__).with_name(name).read_bytes() for name in ("queues.py", "trial.py")]
    return hashlib.sha256(b"".join(sources)).hexdigest()


def _page(asked: GainConfig, tables: Tables) -> str:
    frames = {name: pd.DataFrame(rows) for name, rows in tables.items()}
    lead = "\n\n".join([*answer(tables), *rests_on(tables), *asked.notes])
    sections = [
        Section(
            "Gain and break-even",
            "Ratios to the reference, whose jobs run as the log says, if jobs that communicate "
            "run so many percent shorter under the isolating policy: the queue at 0, 5, 10 and "
            "20 % and the line through these. Below 1 isolation pays. Upright band: the gain that "
            "was measured; band around a line: what the queue's own chance does (logs drawn "
            "again).",
            frames["metrics"],
            break_even_figure(frames["curve"], frames["metrics"], frames["gains"]),
            "Makespan and mean turnaround by gain; marks at what papers assumed.",
        ),
        Section(
            "What isolation takes off",
            "Packets of the jobs at instants of the reference's schedule, all in loops until "
            "their means hold still; mean over node-hours, Student's interval over snapshots. "
            "Intervals are corrected for repeated looks.",
            frames["gains"],
        ),
    ]
    if len(frames["node_hours"]):
        sections.append(Section("Node-hours", "Over the reference's.", frames["node_hours"]))
    if len(frames["shares"]):
        sections.append(
            Section(
                "If jobs communicated less or more",
                "The measured gain, changed as the predictor says (docs/isolation-gain.md), with "
                "its error on logs that it had not seen.",
                frames["shares"],
            )
        )
    sections += [
        Section("What it rests on", "", frames["rests_on"]),
        long_table("drawn logs", frames["drawn"]),
        long_table("pairs", frames["pairs"]),
    ]
    return render_page(
        f"Would isolation pay? {tables['rests_on'][0]['log']}",
        lead,
        [one for one in sections if one.table is None or len(one.table)],
        config=asked.text,
        seeds={"run.seed": asked.config.run.seed, "run.repetition": asked.config.run.repetition},
        inputs=digests([asked.config.resolved()]),
    )
