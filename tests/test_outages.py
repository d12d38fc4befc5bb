"""Files of outages: what is read, and every mistake in one line with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from netsim.errors import NetcosimError
from queuesim.parameters import OutageFile
from queuesim.site.outages import Outage, read_outages

HEAD = "start_s,end_s,nodes,kind"


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "o.csv"
    path.write_text(text)
    return str(path)


def test_cells_are_found_by_their_heads(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "# planned\n\n kind ,account,nodes,end_s,start_s,partition\n"
        'reservation, ops ,"0-3,7",9,5.5,\n , , , , ,\nfailure,,n1,1e3,0,\n'
        "reservation,,all,7,6,debug\n",
    )
    assert read_outages(path) == (
        Outage(5.5, 9.0, "0-3,7", "reservation", account="ops", where=f"{path}:4"),
        Outage(0.0, 1000.0, "n1", "failure", where=f"{path}:6"),
        Outage(6.0, 7.0, "all", "reservation", partition="debug", where=f"{path}:7"),
    )
    assert OutageFile(path).read() == read_outages(path)
    assert OutageFile().read() == ()
    assert read_outages(written(tmp_path, HEAD)) == ()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "o.csv: empty; it needs a head, start_s,end_s,nodes,kind"),
        ("# nothing\n", "o.csv: empty"),
        ("start_s,end_s,nodes\n", "o.csv:1: no column 'kind'; the head is 'start_s,end_s,nodes'"),
        (f"{HEAD},kind\n", "o.csv:1: column 'kind' occurs 2 times in the header"),
        (f"{HEAD},account,account\n", "o.csv:1: column 'account' occurs 2 times in the header"),
        (f"{HEAD},state\n", "o.csv:1: unknown column 'state'"),
        (f"{HEAD}\n1,2,0\n", "o.csv:2: 3 cells; the head has 4"),
        (f"{HEAD}\n1,2,0,failure,\n", "o.csv:2: 5 cells; the head has 4"),
        (f"{HEAD}\n1,soon,0,failure\n", "o.csv:2: end_s = 'soon'; it must be a number"),
        (f"{HEAD}\n\n,2,0,failure\n", "o.csv:3: start_s = ''; it must be a number"),
        (f"{HEAD}\n1,2,0,fire\n", "o.csv:2: unknown kind 'fire'"),
        (f"{HEAD}\n-1,2,0,failure\n", "o.csv:2: -1.0 to 2.0 s; times must be finite and not neg"),
        (f"{HEAD}\n1,inf,0,failure\n", "o.csv:2: end_s = 'inf'; it must be a number"),
        (f"{HEAD}\nnan,2,0,failure\n", "o.csv:2: start_s = 'nan'; it must be a number"),
        (f"{HEAD}\n2,2,0,failure\n", "o.csv:2: 2 to 2 s; the end must be after the start"),
        (f"{HEAD},account\n1,2,0,failure,ops\n", "o.csv:2: a failure spares no partition"),
        (f"{HEAD},partition\n1,2,0,failure,a\n", "o.csv:2: a failure spares no partition"),
        (f'{HEAD}\n1,2,"0,failure\n', "o.csv:2: not valid CSV: unexpected end of data"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(NetcosimError) as caught:
        read_outages(written(tmp_path, text))
    assert str(caught.value).startswith(f"{tmp_path}/{told}")
    assert "\n" not in str(caught.value)


def test_an_outage_may_begin_with_the_first_job() -> None:
    assert Outage(0.0, 1.0, "0", "failure").end_s == 1.0
    with pytest.raises(NetcosimError, match=r"0\.0 to inf s; times must be finite"):
        Outage(0.0, float("inf"), "0", "failure")
    with pytest.raises(NetcosimError, match="after_failure"):
        OutageFile(after_failure="restart")
