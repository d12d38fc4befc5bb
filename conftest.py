"""Fixtures for all tests, and how Hypothesis draws its examples."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings

# "ci": the same examples on every machine and every day, so that a red run is a changed program.
# "fuzz": other ones each time (`make fuzz`); what fails is printed with the way to repeat it.
# `make test` tries 40 % of the examples, `make test-all` all of them (`selection.examples`).
settings.register_profile("ci", derandomize=True, deadline=None, max_examples=40)
settings.register_profile("all", settings.get_profile("ci"), max_examples=100)
settings.register_profile("fuzz", max_examples=1000, database=None, print_blob=True, deadline=None)
# "mutants": as "all", but the first failure is enough: no smaller example, no second fault.
settings.register_profile(
    "mutants",
    settings.get_profile("all"),
    phases=(Phase.explicit, Phase.generate),
    report_multiple_bugs=False,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

LONGEST = (
    *("test_packet_engines_agree", "test_docs_walks", "test_queue_compiled"),
    *("test_docs_notebooks", "test_queue_memos", "test_alloc_policies", "test_packet_congestion"),
    *("test_flow_messages", "test_validation", "test_docs_scripts", "test_judge"),
    *("test_contributing", "test_demo_explained", "test_isolation_gain_command", "test_studies"),
)
"""Files that take longest, the longest first: a process would be left with one at the end."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the longest files, or end with them where one failure ends all (``-x``).

    A file stays with one process.
    """
    place = {name: number for number, name in enumerate(LONGEST)}
    ends = config.getoption("maxfail") == 1
    items.sort(key=lambda item: place.get(item.path.stem, len(LONGEST)), reverse=ends)


@pytest.fixture(autouse=True)
def first_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no earlier test decide which queues are compiled."""
    from queuesim.compiled import choice

    monkeypatch.setattr(choice, "queued_jobs", Counter())


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave figures empty, for tests of what a command computes, prints and stores."""
    from matplotlib.figure import Figure

    drawn = Figure.savefig

    def savefig(figure: Figure, target: Any, **options: Any) -> None:
        if isinstance(target, (str, Path)):
            Path(target).touch()
        elif options.get("format") == "png":
            drawn(figure, target, **options)
        else:
            target.write("<svg></svg>")

    monkeypatch.setattr(Figure, "savefig", savefig)


@pytest.fixture
def reproduced(tmp_path: Path) -> Callable[..., Any]:
    """Reproduces a figure in the test's folder, quick by default: all its points are computed."""
    from experiments.kit.papers import Options
    from experiments.kit.reproduce import reproduce

    def done(paper: str, figure: str, options: Any = None) -> Any:
        options = options or Options(scale="quick")
        found = reproduce(paper, figure, out_dir=tmp_path, options=options, progress=False)
        assert found is not None
        assert not found.failed
        return found

    return done


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium; tests that look at a page skip without it."""
    from browser import chromium

    with chromium() as found:
        yield found


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder with papers, job logs and machines; tests that need it skip without it."""
    given = os.environ.get("NETCOSIM_SHARED")
    path = Path(given) if given else Path(__file__).resolve().parents[1] / "shared"
    if not path.is_dir():
        pytest.skip(f"the reference data folder {path.name}/ is not here")
    return path
