"""The results file: all or nothing a point, ours alone, the same content for the same points."""

from __future__ import annotations

import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
import zlib
from contextlib import suppress
from datetime import datetime, tzinfo
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection import examples

from netcosim.export.files import export_tables
from netcosim.runs.frames import parameters_that_vary
from netcosim.runs.outcome import Outcome, encode_tables
from netcosim.runs.points import canonical_json, flatten, plain, point_key, point_rng, without
from netcosim.runs.store import Store
from netcosim.runs.store_format import APPLICATION_ID, SCHEMA_VERSION, check_content
from netsim.errors import NetcosimError

ROOT = Path(__file__).resolve().parents[1]


def put(store: Store, config: dict[str, object], **tables: list[dict[str, object]]) -> str:
    key = point_key(config)
    store.put(key, config, Outcome(encode_tables(tables), None, 0.5))
    return key


# Keys, canonical text, chance

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
configs = st.dictionaries(st.text(max_size=5), json_values, max_size=4)


@examples(100)
@given(configs)
def test_key_does_not_depend_on_the_order_of_keys(config: dict[str, object]) -> None:
    turned = dict(reversed(config.items()))
    assert point_key(config) == point_key(turned)
    assert json.loads(canonical_json(config)) == plain(config)


@examples(100)
@given(configs, configs)
def test_different_content_different_key(a: dict[str, object], b: dict[str, object]) -> None:
    assert (point_key(a) == point_key(b)) == (canonical_json(a) == canonical_json(b))


def test_key_is_pinned() -> None:
    """A change here silently makes every stored point stale: raise MODEL_VERSION on purpose."""
    assert point_key({"b": 1, "a": {"x": 0.1}}, "1") == (
        "1fb362dc8005730d62a0187622227ec1ea38008ea3baf9a9b3bdb7d7ecce712e"
    )
    assert point_key({"a": 1}, "1") != point_key({"a": 1}, "2")


def test_numpy_numbers_are_plain_numbers() -> None:
    plain_config = {"n": 3, "x": 0.1, "dims": [4, 4], "on": True}
    numpy_config = {
        "n": np.int32(3),
        "x": np.float64(0.1),
        "dims": np.array([4, 4], dtype=np.int8),
        "on": np.bool_(True),
    }
    assert point_key(plain_config) == point_key(numpy_config)


def test_what_cannot_be_a_key_is_refused() -> None:
    with pytest.raises(NetcosimError, match="not finite"):
        point_key({"x": math.nan})
    with pytest.raises(NetcosimError, match=r"config\.a: object cannot be stored"):
        canonical_json({"config": {"a": object()}})
    with pytest.raises(NetcosimError, match="key 3 is not text"):
        point_key({"a": {3: 1}})


def test_common_random_numbers() -> None:
    a = {"queue": {"policies": ["rdn"], "window": 50}, "run": {"seed": 1}}
    b = {"queue": {"policies": ["rdg"], "window": 50}, "run": {"seed": 1}}
    c = {"queue": {"policies": ["rdg"], "window": 50}, "run": {"seed": 2}}
    shared = ("queue.policies",)

    def draws(
        config: dict[str, object], purpose: str, leave_out: tuple[str, ...] = ()
    ) -> list[float]:
        return point_rng(config, purpose, leave_out).random(4).tolist()

    assert draws(a, "workload", shared) == draws(b, "workload", shared)
    assert draws(a, "workload") != draws(b, "workload")
    assert draws(a, "workload", shared) != draws(c, "workload", shared)
    assert draws(a, "workload", shared) != draws(a, "mapping", shared)


def test_without_and_flatten() -> None:
    config = {"a": {"b": 1, "c": {"d": 2}}, "e": [1, {"f": 2}]}
    assert without(config, ["a.c.d", "nothing"]) == {"a": {"b": 1, "c": {}}, "e": [1, {"f": 2}]}
    assert without(config, ["a"]) == {"e": [1, {"f": 2}]}
    assert flatten(config) == {"a.b": 1, "a.c.d": 2, "e": [1, {"f": 2}]}


# The file


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    rows = [{"job": 1, "time_s": 0.1 + 0.2}, {"job": 2, "note": "é"}, {"time_s": math.nan}]
    with Store(tmp_path / "r.db", "write") as store:
        key = put(store, {"p": 4}, jobs=rows, empty=[])
        store.put_meta({"versions": {"numpy": "2"}, "seed": 3})
    with Store(tmp_path / "r.db", "read") as store:
        back = store.rows(key, "jobs")
        assert back[0] == {"job": 1, "time_s": 0.30000000000000004, "note": None}
        assert back[1] == {"job": 2, "time_s": None, "note": "é"}
        assert math.isnan(float(str(back[2]["time_s"])))
        assert store.rows(key, "empty") == []
        assert store.meta() == {"versions": {"numpy": "2"}, "seed": 3}
        point = store.points()[0]
        assert (point.key, point.config, point.status, point.error) == (key, {"p": 4}, "done", None)


def test_a_point_is_replaced_whole(tmp_path: Path) -> None:
    with Store(tmp_path / "r.db", "write") as store:
        key = put(store, {"p": 4}, jobs=[{"x": 1}], links=[{"y": 1}])
        store.put(key, {"p": 4}, Outcome(None, "ZeroDivisionError: no", 0.1))
        assert store.table_names() == []
        assert store.statuses() == {key: "failed"}
        put(store, {"p": 4}, jobs=[{"x": 2}])
        assert store.rows(key, "jobs") == [{"x": 2}]
        assert store.table_names() == ["jobs"]


def test_frame_shows_what_varies(tmp_path: Path) -> None:
    with Store(tmp_path / "r.db", "write") as store:
        for policy in ("rdn", "rdg"):
            config = {"queue": {"policies": [policy], "window": 5}}
            put(store, config, jobs=[{"x": 1.5}, {"x": 2.5}])
        frame = store.frame("jobs")
        with pytest.raises(NetcosimError, match="stored tables: jobs"):
            store.frame("links")
    assert list(frame.columns) == ["point", "queue.policies", "x"]
    assert frame["queue.policies"].tolist() == ["rdg", "rdg", "rdn", "rdn"]
    assert frame["x"].tolist() == [1.5, 2.5, 1.5, 2.5]


def test_commands_that_vary_are_a_column() -> None:
    """A command is a list of its program, a table, and texts; a mix has tables alone."""
    commands = [[{"file": "agent", "sha256": "0"}, *options] for options in ((), ("-x",))]
    program = '{"file": "agent", "sha256": "0"}'
    assert parameters_that_vary([{"command": each, "seed": 1} for each in commands]) == [
        {"command": program},
        {"command": f"{program}, -x"},
    ]
    mixes = [[{"pattern": "pairs", "nodes": n}] for n in (2, 4)]
    found = parameters_that_vary([{"mix": mix} for mix in mixes])
    assert found == [{"mix.0.nodes": 2}, {"mix.0.nodes": 4}]


@pytest.mark.parametrize("mode", ["read", "write"])
def test_files_that_are_not_ours_are_left_alone(tmp_path: Path, mode: str) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("my notes, long enough to look like something " * 5)
    other = tmp_path / "other.db"
    db = sqlite3.connect(other)
    db.execute("CREATE TABLE points (x)")
    db.commit()
    db.close()
    newer = tmp_path / "newer.db"
    Store(newer, "write").close()
    db = sqlite3.connect(newer)
    db.execute("PRAGMA user_version = 99")
    db.close()
    for path, told in ((text, "not a netcosim"), (other, "not a netcosim"), (newer, "format 99")):
        before = path.read_bytes()
        with pytest.raises(NetcosimError, match=told):
            Store(path, mode)  # type: ignore[arg-type]
        assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["newer.db", "notes.txt", "other.db"]


def test_missing_file_directory_and_reading_alone(tmp_path: Path) -> None:
    with pytest.raises(NetcosimError, match="no such results file"):
        Store(tmp_path / "none.db", "read")
    with pytest.raises(NetcosimError, match="a directory"):
        Store(tmp_path, "read")
    with pytest.raises(NetcosimError, match="does not exist"):
        Store(tmp_path / "no" / "r.db", "write")
    (tmp_path / "empty.db").touch()
    with pytest.raises(NetcosimError, match="empty"):
        Store(tmp_path / "empty.db", "read")
    Store(tmp_path / "empty.db", "write").close()
    with Store(tmp_path / "empty.db", "read") as store, pytest.raises(NetcosimError, match="alone"):
        store.put_meta({"a": 1})


def test_one_writer_many_readers(tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    with Store(path, "write") as store:
        key = put(store, {"p": 1}, jobs=[{"x": 1}])
        with pytest.raises(NetcosimError, match="another process is writing"):
            Store(path, "write")
        with Store(path, "read") as reader:
            assert reader.statuses() == {key: "done"}
    with Store(path, "write") as store:
        assert store.statuses() == {key: "done"}
    assert [p.name for p in tmp_path.iterdir()] == ["r.db"]


WRITER = (
    "import sys, time\n"
    "from netcosim.runs.outcome import Outcome, encode_tables\n"
    "from netcosim.runs.store import Store\n"
    "from netcosim.runs.points import point_key\n"
    "store = Store(sys.argv[1], 'write')\n"
    "for batch in range(int(sys.argv[2])):\n"
    "    with store.together():\n"
    "        for i in range(20 * batch, 20 * batch + 20):\n"
    "            tables = encode_tables({'jobs': [{'x': i}] * 50, 'links': [{'y': i}]})\n"
    "            store.put(point_key({'i': i}), {'i': i}, Outcome(tables, None, 0.0))\n"
    "    print(i, flush=True)\n"
)
"""Puts 20 points together, tells which are stored, and so on."""


def writer(path: Path, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(count)],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        text=True,
    )


def whole_points(path: Path) -> list[int]:
    """The numbers of the stored points, each seen to have all of its rows."""
    with Store(path, "write") as store:
        stored = {int(str(p.config["i"])): p.key for p in store.points()}
        for i, key in stored.items():
            assert store.rows(key, "jobs") == [{"x": i}] * 50
            assert store.rows(key, "links") == [{"y": i}]
        put(store, {"i": -1}, jobs=[{"x": 0}])
    return sorted(stored)


def test_sigkill_loses_at_most_what_is_being_written(tmp_path: Path) -> None:
    """A writer killed at any time leaves whole batches, the first so many, and goes on."""
    path = tmp_path / "r.db"
    with writer(path, 10**6) as victim:
        assert victim.stdout is not None
        told = [int(victim.stdout.readline()) for _ in range(5)]
        victim.send_signal(signal.SIGKILL)
        told += map(int, victim.stdout.read().splitlines())
    stored = whole_points(path)
    assert stored == list(range(len(stored)))
    # the one that was being written may be there, too
    assert len(stored) - 1 - told[-1] in (0, 20)


def count_of(path: Path) -> int:
    """Points in the file, as another process sees them."""
    with Store(path, "read") as store:
        return len(store.points())


def test_points_that_are_put_together_share_a_transaction(tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    with Store(path, "write") as store:
        put(store, {"p": 0}, jobs=[{"x": 0}])
        assert count_of(path) == 1
        with store.together():
            for p in (1, 2):
                put(store, {"p": p}, jobs=[{"x": p}])
            assert len(store.statuses()) == 3
            assert count_of(path) == 1
        assert count_of(path) == 3
        with suppress(ValueError), store.together():
            put(store, {"p": 3}, jobs=[{"x": 3}])
            raise ValueError
        assert count_of(path) == len(store.statuses()) == 3


def test_a_signal_waits_for_the_end_of_a_transaction(tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    with Store(path, "write") as store:
        with suppress(KeyboardInterrupt), store.together():
            put(store, {"p": 0}, jobs=[{"x": 0}])
            signal.raise_signal(signal.SIGINT)
            put(store, {"p": 1}, jobs=[{"x": 1}])
        assert count_of(path) == 2


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    with Store(path, "write") as store:
        put(store, {"p": 0}, jobs=[{"x": 0}])
        store._db.execute("PRAGMA query_only = ON")
        with pytest.raises(NetcosimError, match="cannot be written"):
            put(store, {"p": 1}, jobs=[{"x": 1}])
        store._db.execute("PRAGMA query_only = OFF")
        put(store, {"p": 2}, jobs=[{"x": 2}])
    assert count_of(path) == 2


def test_an_error_text_that_is_no_text_is_stored(tmp_path: Path) -> None:
    """A file name may hold bytes that are no UTF-8; Python reads them as halves of pairs."""
    with Store(tmp_path / "r.db", "write") as store:
        store.put("a" * 64, {"p": 1}, Outcome(None, "no such file: \udcff.swf", 0.1))
        assert [p.error for p in store.points()] == ["no such file: \\udcff.swf"]


def test_results_that_cannot_be_stored() -> None:
    with pytest.raises(NetcosimError, match="row 0 is a int"):
        encode_tables({"jobs": [1]})  # type: ignore[list-item]
    with pytest.raises(NetcosimError, match="table 'jobs', column 'x': set cannot be stored"):
        encode_tables({"jobs": [{"x": {1}}]})


def test_export(tmp_path: Path) -> None:
    with Store(tmp_path / "r.db", "write") as store:
        for p in (1, 2):
            put(store, {"p": p}, jobs=[{"x": p / 3, "name": "a"}])
        store.put("f" * 64, {"p": 3}, Outcome(None, "boom", 0.1))
        csv = export_tables(store, tmp_path / "out", "csv")
        assert [p.name for p in csv] == ["points.csv", "jobs.csv"]
        pd.testing.assert_frame_equal(pd.read_csv(csv[1]), store.frame("jobs"))
        points = pd.read_csv(csv[0]).sort_values("status")
        assert points["status"].tolist() == ["done", "done", "failed"]
        assert points["seconds"].tolist() == [0.5, 0.5, 0.1]
        assert points["error"].tolist()[2] == "boom"
        with pytest.raises(NetcosimError, match="unknown export format 'xls'; valid: csv, parquet"):
            export_tables(store, tmp_path / "out", "xls")  # type: ignore[arg-type]


def test_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(tmp_path / "r.db", "write") as store:
        put(store, {"p": 1}, jobs=[{"x": 1 / 3}])
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        with pytest.raises(NetcosimError, match="pip install pyarrow"):
            export_tables(store, tmp_path / "out", "parquet")
        monkeypatch.undo()
        pytest.importorskip("pyarrow")
        path = export_tables(store, tmp_path / "out", "parquet")[1]
        pd.testing.assert_frame_equal(pd.read_parquet(path), store.frame("jobs"))


def test_application_id_is_in_the_header(tmp_path: Path) -> None:
    """The `file` command and others tell our files by these four bytes."""
    Store(tmp_path / "r.db", "write").close()
    assert (tmp_path / "r.db").read_bytes()[68:72] == APPLICATION_ID.to_bytes(4, "big") == b"NCOS"


def test_the_digest_does_not_depend_on_when_points_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two points stored in either order, years apart by the clock; another point is seen."""
    import netcosim.runs.store as module

    digests = []
    for name, order in (("a", (1, 2)), ("b", (2, 1)), ("c", (1, 3))):
        with Store(tmp_path / f"{name}.db", "write") as store:
            for year, p in enumerate(order, start=2001):

                class Clock:
                    @staticmethod
                    def now(zone: tzinfo, year: int = year) -> datetime:
                        return datetime(year, 1, 1, tzinfo=zone)

                monkeypatch.setattr(module, "datetime", Clock)
                put(store, {"p": p}, jobs=[{"x": p}])
            digests.append(store.digest())
    assert digests[0] == digests[1] != digests[2]


def whole_store(path: Path) -> None:
    """Two points of a table each, one of which is archived, and an entry of the store."""
    with Store(path, "write") as store:
        for number in range(2):
            rows = {"jobs": [{"job": i, "wait_s": i / 3 + number} for i in range(4)]}
            kept = {"machine": bytes(range(100))} if number else {}
            outcome = Outcome(encode_tables(rows), None, 1.0, kept)
            store.put(f"{number:064x}", {"run": {"seed": number}}, outcome, "code")
        store.put_meta({"config_text": "x = 1"})


def answer(path: Path) -> object:
    """Everything that a results file says, or the one line that refuses it."""
    try:
        with Store(path, "read") as store:
            tables = [store.tables(point.key) for point in store.points()]
            frames = [store.frame(name).to_csv() for name in store.table_names()]
            kept = store._db.execute("SELECT * FROM kept JOIN archives USING (digest)").fetchall()
            return store.points(), tables, frames, store.meta(), store.digest(), kept
    except NetcosimError as error:
        return " ".join(str(error).split("\n"))


def test_what_sqlite_finds_damaged_is_refused(tmp_path: Path) -> None:
    """Rows and checksums are as they were, and an index lacks one."""
    found = {"PRAGMA quick_check(1)": ("row 2 missing from index a",)}
    db = SimpleNamespace(execute=lambda query: SimpleNamespace(fetchone=lambda: found.get(query)))
    with pytest.raises(NetcosimError, match="damaged results file: row 2 missing from index a"):
        check_content(db, tmp_path / "r.db", SCHEMA_VERSION)  # type: ignore[arg-type]


def test_no_damaged_byte_changes_a_result_silently(tmp_path: Path) -> None:
    """One byte is damaged at a time, everywhere that the file is not free space."""
    path = tmp_path / "r.db"
    whole_store(path)
    raw, intact = path.read_bytes(), answer(path)
    assert not isinstance(intact, str)
    refused = 0
    places = [i for i in range(len(raw)) if any(raw[max(0, i - 8) : i + 9])]
    for number, place in enumerate(places[::SOME]):
        damaged = bytearray(raw)
        damaged[place] ^= (1, 255, 16, 128)[number % 4]
        path.write_bytes(damaged)
        found = answer(path)
        refused += isinstance(found, str)
        assert isinstance(found, str) or found == intact, place
    assert refused > len(places[::SOME]) / 2


SOME = 7
"""Every so many bytes of a file of about 40 KB; each costs some milliseconds."""


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE results SET columns = replace(columns, '1.0', '2.0') WHERE point_key LIKE '%1'",
        "UPDATE points SET seconds = 2.0",
        "UPDATE points SET code = 'other'",
        "UPDATE results SET table_name = 'jobr' WHERE point_key LIKE '%1'",
        "UPDATE meta SET value = '2'",
        "UPDATE archives SET content = x'00'",
        "UPDATE kept SET name = 'jobs'",
        "UPDATE points SET checksum = NULL",
        "DELETE FROM points WHERE key LIKE '%1'",
        "DELETE FROM archives",
    ],
)
def test_a_row_that_is_not_as_it_was_written_is_refused(statement: str, tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    whole_store(path)
    db = sqlite3.connect(path)
    with db:
        assert db.execute(statement).rowcount
    db.close()
    for mode in ("read", "write"):
        with pytest.raises(
            NetcosimError, match=r"damaged results file: a row of .* restore a copy"
        ):
            Store(path, mode)


def test_a_file_without_checksums_is_read_and_gets_them_when_written(tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    whole_store(path)
    with Store(path, "read") as store:
        digest = store.digest()
    db = sqlite3.connect(path)
    for table in ("meta", "points", "results", "kept"):
        db.execute(f"ALTER TABLE {table} DROP COLUMN checksum")
    db.execute("PRAGMA user_version = 2")
    db.close()
    with Store(path, "read") as store:
        assert store.digest() == digest
    Store(path, "write").close()
    with Store(path, "read") as store:
        assert store.digest() == digest
    db = sqlite3.connect(path)
    # by hand: CRC-32 of the row as Python prints it
    key, name, columns, crc = db.execute("SELECT * FROM results ORDER BY point_key").fetchone()
    assert crc == zlib.crc32(f"({key!r}, {name!r}, {columns!r})".encode())
    db.close()
