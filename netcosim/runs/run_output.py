"""What a run leaves: a results file, an HTML page, and a table on the screen."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from cosim.measuring.tasks import TaskRunner
from netcosim.config.config import Config
from netcosim.executors.registry import open_workers
from netcosim.runs.cosim import point_result, run_cosim
from netcosim.runs.cosim_result import CosimResult
from netcosim.runs.outcome import Outcome, encode_tables
from netcosim.runs.points import PAGE_FILE, point_key, put_point, results_in
from netcosim.runs.progress import progress as show_progress
from netcosim.runs.store import Rows
from netcosim.runs.tasks import stored_tasks
from netsim.units import format_quantity

_QUEUED_JOB_S, _LONG_S = 1e-6, 10.0
"""What a job takes in a compiled queue, and from when on a line is printed before."""


def run_and_report(
    config: Config,
    config_text: str,
    out: Path,
    *,
    title: str,
    jobs: int = 1,
    resamples: int | None = None,
    progress: bool = True,
    executor: str = "",
    as_json: bool = False,
) -> Path | None:
    """Run a config, print the table of policies, write results file and page, and return the page.

    Until the results are there, the file has the tasks that are done (`netcosim.runs.tasks`), and
    the same run goes on from there. ``jobs`` and ``executor`` are those of
    `netcosim.runs.sweep.run_points`; MPI ranks other than 0 return None. ``resamples`` are the logs
    that the queues are simulated on for intervals of waits, by default `default_resamples`. With
    ``as_json`` the effects are printed in place of the table (docs/results.md).
    """
    results, content = results_in(out), config.resolved()
    key, started = point_key(content), time.perf_counter()
    with open_workers(executor, jobs) as workers:
        if workers is None:
            return None
        with (
            show_progress(100, "%", shown=progress) as show,
            stored_tasks(results, key, workers, config, show) as tasks,
        ):
            result = run_cosim(
                config, lambda what, share: show.at(100 * share, what), show.print_line, tasks
            )
            from netcosim.report.about import ABOUT, about_rows, notes_of

            stored = point_result(result)
            tables = _with_intervals(stored.tables, result, resamples, show.print_line, tasks)
            # report what cannot be stored before anything is written
            encoded = encode_tables({**tables, ABOUT: about_rows(result, title, config_text)})
            seconds = time.perf_counter() - started
            outcome = Outcome(encoded, None, seconds, stored.kept)
            put_point(tasks.store, content, outcome, config_text=config_text, title=title)
            # a kill while the page is drawn must cost neither
            from netcosim.report.page import write_page
            from netcosim.report.run_page import stored_run_page

            path = write_page(out / PAGE_FILE, stored_run_page(tasks.store, key))
            tasks.store.drop_tasks()
    # last, because a reader that has gone away must not cost the results
    files = {"page": path, "results": results}
    _print_answer(content, tables, notes_of(result), seconds, files, as_json)
    return path


def _print_answer(
    config: Mapping[str, object],
    tables: Mapping[str, Rows],
    notes: Sequence[str],
    seconds: float,
    files: Mapping[str, Path],
    as_json: bool,
) -> None:
    from netcosim.report.policies import policy_rows, print_table
    from netcosim.report.recommendation import listed, print_answer
    from netcosim.report.verdict import findings, run_recommendation

    answer = run_recommendation(tables, config, seconds)
    lines = ["", print_table(policy_rows(tables)), *notes, "", *findings(tables)[1:]]
    print_answer(answer, [*lines, f"{seconds:.0f} s; {listed(files)}"], files, as_json)


def _with_intervals(
    tables: Mapping[str, Rows],
    result: CosimResult,
    resamples: int | None,
    print_line: Callable[[str], None],
    runner: TaskRunner,
) -> Mapping[str, Rows]:
    """Return the tables with intervals of waits, if these are wanted or cheap."""
    if resamples == 0:
        return tables
    from netcosim.runs.queue_batches import batched
    from netcosim.runs.queue_intervals import default_resamples, redrawn, with_intervals

    if resamples is None:
        if (batches := batched(result)) is not None:
            jobs = f"{len(result.workload):,} jobs"
            print_line(f"intervals of waits come from {batches.n_batches} batches of the {jobs}")
            return with_intervals(tables, result, batches)
        resamples = default_resamples(result)
    seconds = resamples * len(result.schedules) * len(result.workload) * _QUEUED_JOB_S
    if seconds > _LONG_S:
        shown = format_quantity(seconds, "time", 1)
        print_line(f"queues on {resamples} other logs for intervals of waits, about {shown}")
    redrawn_queues = redrawn(result, resamples, runner) if resamples else None
    return (
        with_intervals(tables, result, redrawn_queues)
        if redrawn_queues and redrawn_queues.resamples
        else tables
    )
