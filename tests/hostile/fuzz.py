"""Random changes of good files: whatever comes of them, it is a run or one line.

``python -m hostile.fuzz KIND CASES SEED`` (or "all" kinds) tries for as long as one likes and
prints what broke; a fault found becomes a row of a table.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from hostile.row import RUN, Row, all_of, config_text, written
from hostile.rows_commands import ONE, TABLE_HEAD
from hostile.rows_store import EXPORT, noise, sql, store
from netcosim.demo_config import demo_config_text

TOKEN = re.compile(r'"[^"\n]*"|[\w.+-]+|\s+|.')
NUMBERS = f"0 -1 1e308 -1e308 nan inf 1{'0' * 30} 0.5 true false 1 2 3 0x10 1_000 1979-05-27"
SIGNS = '[] [1] [[1]] {} { } [ ] = . , # \\ \' " """ \0 \ufeff \u202e'
TEXTS = ("", "x", "0 B", "-1 us", "1e30 GB/s", "all", "torus", "fattree", "graph", "jigsaw",
         "coupled-flow", "coupled-packets", "measured", "pairs")  # fmt: skip
LINES = ("\n", "\n[machine]\n", "\n[x]\n", "\n[[communication.mix]]\n")
STRANGE = (*NUMBERS.split(), *SIGNS.split(), *(f'"{text}"' for text in TEXTS), *LINES)


def mutated(text: str, rng: np.random.Generator, changes: int) -> str:
    """A text with some of its tokens left out, doubled, swapped or replaced."""
    tokens = TOKEN.findall(text)
    words = [i for i, token in enumerate(tokens) if token.strip()]
    for _ in range(changes):
        one, other = (int(words[rng.integers(len(words))]) for _ in range(2))
        kind = int(rng.integers(6))
        if kind == 0:
            tokens[one] = ""
        elif kind == 1:
            tokens[one] *= 2
        elif kind == 2:
            tokens[one], tokens[other] = tokens[other], tokens[one]
        elif kind == 3:
            tokens[one] = tokens[other]
        else:
            tokens[one] = STRANGE[rng.integers(len(STRANGE))]
    return "".join(tokens)


def small_demo() -> str:
    """The demo's config, small enough to run in a moment."""
    text = demo_config_text(None, 12, ["rdn", "simple"], 1)
    text = text.replace('preset = "dragonfly-272"', 'family = "dragonfly"\np = 2\na = 4\ng = 5')
    return text.replace("snapshots = 12", "snapshots = 1").replace(
        "mean_nodes = 14", "mean_nodes = 4"
    )


def config_case(rng: np.random.Generator) -> Row:
    """A changed demo.toml."""
    text = mutated(small_demo(), rng, int(rng.integers(1, 5)))
    return Row("config", RUN, "", written("c.toml", text))


def plain_case(rng: np.random.Generator) -> Row:
    """A changed base config."""
    text = mutated(config_text({}), rng, int(rng.integers(1, 5)))
    return Row("plain", RUN, "", written("c.toml", text))


def sweep_case(rng: np.random.Generator) -> Row:
    """A changed sweep."""
    text = config_text({"run.seed": "{ from = 1, to = 2, step = 1 }", "machine.p": "[1, 2]"})
    text = mutated(text + '[sweep]\nzip = [["run.seed", "machine.p"]]\n', rng, 3)
    return Row("sweep", ("sweep", "c.toml", "--dry-run"), "", written("c.toml", text))


def bytes_case(rng: np.random.Generator) -> Row:
    """Random bytes in a config."""
    data = bytearray(config_text({}).encode())
    for _ in range(int(rng.integers(1, 6))):
        data[rng.integers(len(data))] = rng.integers(256)
    return Row("bytes", RUN, "", written("c.toml", bytes(data)))


def table_case(rng: np.random.Generator) -> Row:
    """A changed table of speed-ups."""
    text = mutated(TABLE_HEAD + ONE + ONE.replace("2,100", "101,200"), rng, 2)
    changes = {"queue.run_time_model": '"measured"', "queue.measured.table": '"t.csv"'}
    make = all_of(written("c.toml", config_text(changes)), written("t.csv", text))
    return Row("table", RUN, "", make)


def store_case(rng: np.random.Generator) -> Row:
    """Random bytes in a results file."""
    begin = int(rng.integers(0, 20_000))
    return Row("store", EXPORT, "", noise(begin, int(rng.integers(1, 2000))))


def cell_case(rng: np.random.Generator) -> Row:
    """A value of a results file that is of another kind."""
    table, column = [
        ("points", "key"), ("points", "config"), ("points", "error"), ("points", "seconds"),
        ("points", "finished_utc"), ("points", "code"), ("results", "columns"),
        ("results", "table_name"), ("meta", "value"), ("meta", "key"),
    ][rng.integers(10)]  # fmt: skip
    values = ["NULL", "3", "1e400", "x'ff00'", "'{'", "'{}'", "'[]'", "'x'", "''", "'null'",
              """'{"x": []}'""", """'{"x": [{}, [], null, 1e400]}'""", """'{"point": [1]}'""",
              """'{"run": 3, "machine": {"p": [1, {}]}}'""", """'{"x": [1, "a", true, null]}'""",
              """'{"": [1]}'""", """'{"x_s": [1e-9, NaN]}'""",
              """'{"a.b": [[1]], "a": [2]}'"""]  # fmt: skip
    value = values[rng.integers(len(values))]
    statement = f"UPDATE OR REPLACE {table} SET {column} = {value}"
    return Row(f"cell {statement}", EXPORT, "", lambda folder: _try(folder, statement))


def _try(folder: Path, statement: str) -> None:
    """Some statements break the file's own rules; then it stays as it was."""
    import sqlite3

    try:
        sql(statement)(folder)
    except sqlite3.Error:
        (folder / "r.db").unlink(missing_ok=True)
        store(folder)


KINDS: dict[str, Callable[[np.random.Generator], Row]] = {
    "config": config_case,
    "plain": plain_case,
    "sweep": sweep_case,
    "bytes": bytes_case,
    "table": table_case,
    "store": store_case,
    "cell": cell_case,
}


def verdict(done: dict[str, object]) -> str:
    """Empty if the case ended as it should, else what is wrong."""
    err, status = str(done["err"]), done["status"]
    if status not in (0, 1, 2):
        return f"status {status}"
    if "Traceback" in err or "RuntimeWarning" in err:
        return "a traceback or a warning"
    if status == 2:
        lines = [line for line in err.splitlines() if not line.startswith("netcosim: warning")]
        if len(lines) != 1 or not lines[0].startswith("netcosim: error: "):
            return f"{len(lines)} lines"
        if done["left"]:
            return f"left {done['left']}"
    return ""


def cases(kind: str, count: int, seed: int) -> list[Row]:
    """So many cases of one kind; the same for the same seed."""
    return [KINDS[kind](np.random.default_rng([seed, i, len(kind)])) for i in range(count)]


def main() -> None:
    """Try cases and print what broke."""
    from hostile.child import run_in_folder, set_up

    name, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    results = set_up()
    for kind in KINDS if name == "all" else [name]:
        for number, row in enumerate(cases(kind, count, seed)):
            done = run_in_folder(row)
            done |= {"kind": kind, "number": number, "verdict": verdict(done)}
            if done["verdict"]:
                print(json.dumps(done), file=results, flush=True)
    print(json.dumps({"tried": count}), file=results, flush=True)


if __name__ == "__main__":
    main()
