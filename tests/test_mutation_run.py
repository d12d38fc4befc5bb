"""The runner of mutants on a tiny tree: a change that is noticed, and one that is not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "mutation"))
from run import Mutant, in_copies, read_table, run_mutant, run_tests

CODE = "def sign(x):\n    return 1 if x > 0 else -1\n"
TEST = (
    "from code_here import sign\n\n"
    "def test_sign():\n    assert sign(2) == 1\n    assert sign(-2) == -1\n"
)
TABLE = """
[suites]
sign = ["test_sign.py"]

[[file]]
path = "code_here.py"
suite = "sign"
changes = [['x > 0', 'x < 0'], ['x > 0', 'x > 1']]
equivalent = [['return 1', 'return +1', 'the same number']]
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "code_here.py").write_text(CODE)
    (tree / "test_sign.py").write_text(TEST)
    (tree / "table.toml").write_text(TABLE)
    return tree


@pytest.mark.full
def test_a_change_is_killed_or_survives_and_the_copy_is_as_before(tree: Path) -> None:
    suites, mutants = read_table(tree / "table.toml", tree)
    assert [(m.line, m.equivalent) for m in mutants] == [(2, "")] * 2 + [(2, "the same number")]
    assert run_tests(tree, suites["sign"], 60)[0]
    tasks = [
        (str(m), lambda copy, m=m: run_mutant(copy, m, suites["sign"], 60)) for m in mutants[:2]
    ]
    stat = (tree / "code_here.py").stat()
    killed = in_copies([tree], tasks)
    assert [killed[str(m)] for m in mutants[:2]] == [True, False]
    assert (tree / "code_here.py").read_text() == CODE
    assert (tree / "code_here.py").stat().st_mtime_ns == stat.st_mtime_ns


@pytest.mark.full
def test_a_hanging_run_has_failed(tree: Path) -> None:
    loop = Mutant(
        1, "code_here.py", "return", "while True:\n        pass\n    return", "sign", "", 2
    )
    assert run_mutant(tree, loop, ["test_sign.py"], 2)


def test_entries_that_do_not_fit_are_all_named(tree: Path) -> None:
    wrong = TABLE.replace("'x > 0', 'x < 0'", "'x >= 0', 'x < 0'")
    wrong = wrong.replace("'x > 0', 'x > 1'", "'1', '2'").replace('suite = "s', 'suite = "z')
    (tree / "wrong.toml").write_text(wrong)
    with pytest.raises(SystemExit) as caught:
        read_table(tree / "wrong.toml", tree)
    faults = str(caught.value).splitlines()
    assert len(faults) == 3
    assert "no suite 'zign'; there are sign" in faults[0]
    assert "code_here.py: 'x >= 0' stands there 0 times, not once" in faults[1]
    assert "code_here.py: '1' stands there 2 times, not once" in faults[2]


def test_tests_that_are_not_there_stop_the_run(tree: Path) -> None:
    with pytest.raises(SystemExit, match=r"pytest test_none\.py ran no tests"):
        run_tests(tree, ["test_none.py"], 60)


def test_the_table_of_the_project_fits_its_code() -> None:
    """`read_table` refuses texts that are gone, so a change of the code must follow here."""
    root = Path(__file__).resolve().parent.parent
    _, mutants = read_table(root / "tests" / "mutation" / "mutants.toml", root)
    assert len(mutants) >= 100
