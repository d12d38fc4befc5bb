"""Results files that are damaged, foreign, or none; and what a report may be asked to overwrite."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from hostile.row import Make, Row, all_of, config_text, nothing, written
from netcosim.config.load import config_from
from netcosim.runs.cosim import cosim_point
from netcosim.runs.outcome import Outcome, PointResult, encode_tables
from netcosim.runs.store import Store
from netcosim.runs.store_format import APPLICATION_ID

REPORT = ("report", "r.db")
EXPORT = ("report", "r.db", "--export", "csv")
SWEEP = ("sweep", "c.toml", "--out", "r.db", "--quiet")
CONFIG = written("c.toml", config_text({}))


def store(folder: Path) -> None:
    """A good one of two points."""
    tables = {"jobs": [{"job": i, "x": i / 3, "name": "a" * 50} for i in range(200)]}
    with Store(folder / "r.db", "write") as made:
        for number in range(2):
            config = {"run": {"seed": number}, "machine": {"p": number}}
            made.put(f"{number:064x}", config, Outcome(encode_tables(tables), None, 1.0), "code")
        made.put_meta({"config_text": "x = 1"})


@cache
def a_run() -> PointResult:
    """A small run, and what is kept of it."""
    config = {
        "machine": {"family": "dragonfly", "p": 2, "a": 2, "g": 5},
        "workload": {"synthetic": {"n_jobs": 20, "mean_nodes": 4}, "larger_jobs": "drop"},
        "queue": {"policies": ["simple", "rdn"], "run_time_model": "as-logged"},
        "run": {"snapshots": 0},
    }
    return cosim_point(config_from(config).resolved())


def run_store(folder: Path) -> None:
    """A good one of one run."""
    found = a_run()
    with Store(folder / "r.db", "write") as made:
        outcome = Outcome(encode_tables(found.tables), None, 1.0, found.kept)
        made.put("0" * 64, {"run": {"seed": 1}}, outcome, "code")


def sql(*statements: str, base: Make = store) -> Make:
    """A good store after these statements."""

    def make(folder: Path) -> None:
        base(folder)
        db = sqlite3.connect(folder / "r.db")
        for statement in statements:
            db.execute(statement)
        db.commit()
        db.close()

    return make


def bytes_changed(change: Callable[[bytearray], bytes | bytearray]) -> Make:
    """A good store, its bytes changed."""

    def make(folder: Path) -> None:
        store(folder)
        path = folder / "r.db"
        path.write_bytes(change(bytearray(path.read_bytes())))

    return make


def noise(begin: int, length: int) -> Make:
    """Random bytes in one place."""

    def change(data: bytearray) -> bytearray:
        data[begin : begin + length] = np.random.default_rng(begin).bytes(length)
        return data

    return bytes_changed(change)


def columns(text: str) -> Make:
    """The columns of one table are this text."""
    quoted = text.replace("'", "''")
    return sql(f"UPDATE results SET columns = '{quoted}'")


def other_database(folder: Path) -> None:
    db = sqlite3.connect(folder / "r.db")
    db.execute("CREATE TABLE t (x)")
    db.commit()
    db.close()


def claims_to_be_ours(folder: Path) -> None:
    db = sqlite3.connect(folder / "r.db")
    db.executescript(
        f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 1; CREATE TABLE t (x);"
    )
    db.close()


def table_called(*names: str) -> Make:
    """A store with tables of these names."""

    def make(folder: Path) -> None:
        tables = {name: [{"x": 1}] for name in names}
        with Store(folder / "r.db", "write") as made:
            made.put("0" * 64, {"a": 1}, Outcome(encode_tables(tables), None, 1.0))

    return make


def endless(folder: Path) -> None:
    """Points as a view that never ends."""
    store(folder)
    db = sqlite3.connect(folder / "r.db")
    db.executescript(
        "DROP TABLE points; CREATE VIEW points AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
        "SELECT i + 1 FROM n) SELECT i AS key, '{}' AS config, 'done' AS status, NULL AS error,"
        " 1.0 AS seconds, '' AS finished_utc, '' AS code FROM n;"
    )
    db.close()


def to_zeros(folder: Path) -> None:
    (folder / "r.db").symlink_to("/dev/zero")


def folder(path: Path) -> None:
    (path / "r.db").mkdir()


def a_file(path: Path) -> None:
    (path / "out").write_text("a file")


def same_file(path: Path) -> None:
    store(path)
    (path / "link.html").hardlink_to(path / "r.db")


DAMAGED: dict[str, Make] = {
    "noise in the header": noise(20, 60),
    "noise in the schema": noise(100, 400),
    "noise in the second page": noise(4096, 4096),
    "noise in the middle": noise(12288, 4096),
    "noise in most of it": noise(200, 20000),
    "cut off in the first page": bytes_changed(lambda data: data[:2000]),
    "cut off after the first page": bytes_changed(lambda data: data[:4096]),
    "header alone": bytes_changed(lambda data: data[:100]),
    "zeros after the header": bytes_changed(lambda data: data[:100] + bytes(len(data) - 100)),
    "no points": sql("DROP TABLE points"),
    "points without a column": sql("ALTER TABLE points DROP COLUMN seconds"),
    "results without a column": sql("ALTER TABLE results RENAME COLUMN columns TO rows"),
    "another database": other_database,
    "another database that claims to be ours": claims_to_be_ours,
    "points without end": endless,
    "zero-length": written("r.db", b""),
    "random bytes": written("r.db", np.random.default_rng(1).bytes(50_000)),
    "a folder": folder,
    "/dev/zero": to_zeros,
}
ROWS_DAMAGED: dict[str, Make] = {
    "broken JSON in a table": columns('{"x": [1, 2'),
    "no JSON in a table": columns("hello"),
    "a number for a table": columns("3"),
    "numbers for columns": columns('{"x": 3, "y": 4}'),
    "columns of unequal length": columns('{"x": [1, 2], "y": [1]}'),
    "JSON nested without end": columns("[" * 100_000),
    "JSON with a number of 5000 digits": columns('{"x": [' + "9" * 5000 + "]}"),
    "text that is no UTF-8": sql("UPDATE results SET columns = CAST(x'7bff' AS TEXT)"),
    "broken JSON in a config": sql("UPDATE points SET config = '{'"),
    "text for seconds": sql("UPDATE points SET seconds = 'long'"),
    "bytes for a status": sql(
        "PRAGMA ignore_check_constraints = 1", "UPDATE points SET status = x'00'"
    ),
    "a number for an error": sql("UPDATE points SET error = x'00'"),
    "broken JSON in meta": sql("UPDATE meta SET value = '{'"),
}
NAMES = {
    "outside its folder": ("../../evil",),
    "empty": ("",),
    "two dots": ("..",),
    "hidden": (".bashrc",),
    "with a zero byte": ("a\0b",),
    "with a line break": ("a\nb",),
    "very long": ("x" * 300,),
    "in another script": ("\u202egnp",),
    "the same in capitals": ("jobs", "JOBS"),
    "points": ("points",),
}

KEPT_DAMAGED: dict[str, Make] = {
    "no archive": sql("UPDATE archives SET content = x'00'", base=run_store),
    "cut off": sql("UPDATE archives SET content = substr(content, 1, 150)", base=run_store),
    "text": sql("UPDATE archives SET content = 'hello'", base=run_store),
    "one for all": sql("UPDATE kept SET digest = (SELECT min(digest) FROM kept)", base=run_store),
    "parts missing": sql(
        "DELETE FROM kept WHERE name = (SELECT min(name) FROM kept)", base=run_store
    ),
    "renamed": sql("UPDATE kept SET name = '../' || name", base=run_store),
}
OUTPUTS = {
    "figures": ("--format", "svg"),
    "tables": ("--export", "csv"),
    "jobs": ("--export", "evalys"),
    "a trace": ("--export", "perfetto"),
}

ROWS = [
    *(Row(f"report: {name}", REPORT, "r.db", make) for name, make in DAMAGED.items()),
    *(
        Row(f"sweep into: {name}", SWEEP, "r.db", all_of(CONFIG, make))
        for name, make in DAMAGED.items()
        # an empty file becomes a store; noise in rows is not looked at
        if name not in ("zero-length",) and "noise in the" not in name
    ),
    *(Row(f"report: {name}", REPORT, "r.db", make) for name, make in ROWS_DAMAGED.items()),
    *(
        Row(f"export a table called {name}", EXPORT, "cannot be a file", table_called(*names))
        for name, names in NAMES.items()
    ),
    Row("report of nothing", REPORT, "no such results file", nothing),
    Row("report of /", ("report", "/"), "directory", nothing),
    Row("report of a file in a file", ("report", "r.db/x"), "r.db", store),
    Row("page to /", (*REPORT, "--out", "/"), "/", store),
    Row("page to no folder", (*REPORT, "--out", "no/such/x.html"), "no/such", store),
    Row("page of a long name", (*REPORT, "--out", "x" * 5000), "x", store),
    Row("page onto the store", (*REPORT, "--out", "r.db"), "itself", store),
    Row("page onto the store by a link", (*REPORT, "--out", "link.html"), "itself", same_file),
    Row("tables to a file", (*EXPORT, "--out", "r.db/x.html"), "", store),
    *(
        Row(f"{what} of what was kept: {name}", (*REPORT, *arguments), "r.db", make)
        for name, make in KEPT_DAMAGED.items()
        for what, arguments in OUTPUTS.items()
        if what != "figures"
    ),
    *(
        Row(f"{what} into a file", (*REPORT, *arguments, "--out", "out/p.html"), "out", make)
        for what, arguments in OUTPUTS.items()
        for make in [all_of(run_store, a_file)]
    ),
    *(
        Row(f"{what} below /dev/null", (*REPORT, *arguments, "--out", "/dev/null/x"), "x", make)
        for what, arguments in OUTPUTS.items()
        for make in [run_store]
    ),
    Row("a point without policies", (*REPORT, "--point", "0" * 64), "no table of policies", store),
    Row("figures of tables", (*REPORT, "--format", "svg"), "no figures", store),
    Row(
        "jobs of a point that kept none",
        (*REPORT, "--export", "evalys", "--point", "0" * 64),
        "",
        store,
    ),
]
