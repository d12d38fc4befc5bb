"""Whole numbers and rows of tables in text: what is read, and what is refused in one line."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection import examples

from alloc.bluegene.files import read_machine
from netcosim.commands import number_of_processes
from netcosim.commands.describe import toml_value
from netcosim.commands.sweep import slice_of
from netcosim.config.fields import value_at
from netcosim.executors.mpi import _first_number
from netcosim.executors.slurm_jobs import slurm_options
from netcosim.runs.points import replaced
from netsim.errors import NetcosimError
from netsim.text_numbers import (
    MAX_WHOLE,
    csv_cells,
    csv_records,
    need_whole,
    number_of,
    whole_number,
)
from patterns.goal import read_trace
from queuesim.site.quotas import QuotaKeys
from workloads.importers.assemble import job_numbers
from workloads.importers.logged import LoggedJob

LONG = "9" * 5000
NONE = (
    "",
    " ",
    "-1",
    "+1",
    "1.0",
    "1e3",
    "1_0",
    " 1",
    "1 ",
    "2²",
    "²",
    "٣",
    "½",
    "0x1",
    "nan",
    LONG,
)
"""int() reads six of these, and str.isdigit() says of two that it would."""


@pytest.mark.parametrize("text", NONE)
def test_what_is_no_whole_number(text: str) -> None:
    assert whole_number(text) is None
    with pytest.raises(NetcosimError) as caught:
        need_whole("f.csv:3", "count", text)
    assert str(caught.value) == f"f.csv:3: count = {text[:40]!r}; a whole number is needed"


def test_limits_are_inclusive() -> None:
    assert whole_number("9" * 18) == MAX_WHOLE == 999_999_999_999_999_999
    assert whole_number("0" * 17 + "7") == 7
    assert whole_number("1" + "0" * 18) is whole_number("0" * 18 + "7") is None
    found = [whole_number(text, 3, 5) for text in ("2", "3", "5", "6")]
    assert found == [None, 3, 5, None]
    with pytest.raises(NetcosimError, match=r"a: n = '6'; a whole number from 3 to 5 is needed"):
        need_whole("a", "n", "6", 3, 5)
    with pytest.raises(NetcosimError, match=r"a: n = '0'; a whole number from 1 is needed"):
        need_whole("a", "n", "0", 1)


@given(st.text(max_size=20))
@examples(200)
def test_it_agrees_with_int_on_plain_digits(text: str) -> None:
    plain = text != "" and set(text) <= set("0123456789") and len(text) <= 18
    assert whole_number(text) == (int(text) if plain else None)


def test_numbers_with_a_point() -> None:
    words = ("1.5", "-2", ".5", "1e-3", " 7 ", "inf", "nan", "1_0", "٣", "")
    found = [number_of(word) for word in words]
    assert found == [1.5, -2.0, 0.5, 0.001, 7.0, None, None, None, None, None]


def test_rows_are_numbered_by_their_last_line() -> None:
    assert list(csv_cells("f", ["a,b", '"1', '2",3'], before=4)) == [
        (5, ["a", "b"]),
        (7, ["12", "3"]),
    ]


@pytest.mark.parametrize(
    ("lines", "strict", "message"),
    [
        (["a", "x" * 131_073], False, r"f:2: not valid CSV: field larger than field limit"),
        (['a,"b'], True, r"f:1: not valid CSV: unexpected end of data"),
    ],
)
def test_rows_that_cannot_be_read(lines: list[str], strict: bool, message: str) -> None:
    with pytest.raises(NetcosimError, match=message):
        list(csv_cells("f", lines, strict=strict))


def goal_of(text: str, folder: Path) -> None:
    (folder / "t.goal").write_text(text, encoding="utf-8")
    read_trace(folder / "t.goal")


@pytest.mark.parametrize("text", ["2²", "٣", LONG])
def test_every_option_and_key_reads_them_alike(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quotas = "must be a name and a number"
    for call, message in (
        (lambda: slice_of(f"1/{text}"), "--slice 1/"),
        (lambda: slice_of(f"{text}/9"), "--slice "),
        (lambda: QuotaKeys(nodes=(f"a: {text}",)), quotas),
        (lambda: slurm_options(f"time={text}"), "whole number"),
        (lambda: replaced({"a": [1]}, {f"a.{text}": 2}), "is no entry of a list of 1"),
        (lambda: goal_of(f"num_ranks {text}\n", tmp_path), "t.goal:1: "),
    ):
        with pytest.raises(NetcosimError, match=message):
            call()
    with pytest.raises(argparse.ArgumentTypeError, match="must be a whole number"):
        number_of_processes(text)
    with pytest.raises(KeyError):
        value_at({"a": [1]}, f"a.{text}")
    monkeypatch.setenv("SOME_RANK", text)
    assert _first_number(("SOME_RANK",), 5) == 5
    assert toml_value(text) == text
    assert job_numbers([LoggedJob(text, 1), LoggedJob("7", 2)]) == [8, 7]


def test_the_last_entry_of_a_list_is_not_minus_one() -> None:
    with pytest.raises(KeyError):
        value_at({"a": [1, 2]}, "a.-1")
    assert value_at({"a": [1, 2]}, "a.1") == 2


def test_a_menu_of_negative_sides(tmp_path: Path) -> None:
    """-1 x -2 has a product of 2."""
    menu = tmp_path / "menu.csv"
    menu.write_text("name,midplanes,shape\np,R00-M0 R00-M1,-1x-2\n")
    with pytest.raises(NetcosimError, match=r"partition p: shape '-1x-2' for 2 midplanes"):
        read_machine(menu)
    menu.write_text("name,midplanes,shape\np,R00-M0 R00-M1,1x2\n")
    assert read_machine(menu).partitions[0].shape == (1, 2)


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2\n",
        "a,b\r\n1,2\r\n",
        "\n# note\n,\n a , b \n\n'1','2'\n".replace("'", '"'),
        "a,b,,\n1,2,,\n",
    ],
)
def test_records_of_a_table(text: str) -> None:
    """Blank lines, comments and the columns without a name that a spreadsheet adds do no harm."""
    [(where, cells)] = csv_records("t.csv", text, ("a", "b"))
    assert where == f"t.csv:{text[: text.index('1')].count(chr(10)) + 1}"
    assert {name: cell for name, cell in cells.items() if name} == {"a": "1", "b": "2"}


def test_a_columns_name_with_a_line_break_is_one_line_of_error() -> None:
    with pytest.raises(NetcosimError) as caught:
        list(csv_records("t.csv", 'a,"x\ny","x\ny"\n', ("a",)))
    assert str(caught.value) == (
        r"t.csv:3: column 'x\ny' occurs 2 times in the header; once is allowed"
    )
