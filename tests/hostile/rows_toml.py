"""Files that are no TOML, or hardly."""

from __future__ import annotations

import gzip
from pathlib import Path

from hostile.row import RUN, Row, config_text, nothing, written

GOOD = config_text({})
DEEP = 100_000


def toml(name: str, content: str | bytes, told: str, status: int = 2) -> Row:
    """A run of a file with this content."""
    return Row(name, RUN, told, written("c.toml", content), status)


def sweep(name: str, content: str | bytes, told: str) -> Row:
    """A sweep of such a file."""
    arguments = ("sweep", "c.toml", "--quiet")
    return Row(f"sweep: {name}", arguments, told, written("c.toml", content))


def spoilt(old: str, new: str) -> str:
    """The base config with one text replaced."""
    assert old in GOOD
    return GOOD.replace(old, new)


def folder(path: Path) -> None:
    (path / "c.toml").mkdir()


def loop(path: Path) -> None:
    (path / "c.toml").symlink_to("c.toml")


def secret(path: Path) -> None:
    (path / "c.toml").symlink_to("/proc/1/mem")


def zeros(path: Path) -> None:
    (path / "c.toml").symlink_to("/dev/zero")


def axis(text: str) -> str:
    """A sweep whose p is this."""
    return spoilt("p = 2", f"p = {text}")


NESTED = {
    "arrays": f"x = {'[' * DEEP}{']' * DEEP}\n",
    "tables": f"x = {'{a=' * DEEP}1{'}' * DEEP}\n",
    "dotted keys": f"{'a.' * DEEP}a = 1\n",
    "headers": f"[{'a.' * DEEP}a]\n",
    "dotted parameters": GOOD.replace("[run]", f"[communication.x]\n{'a.' * 5000}a = 1\n[run]"),
    "mix parameters": spoilt(
        "message_bytes", f"parameters = {'{a=' * 300}1{'}' * 300}\nmessage_bytes"
    ),
}

ROWS = [
    toml("empty", "", "machine"),
    toml("binary", bytes(range(256)) * 40, "c.toml"),
    toml("zeros", b"\0" * 10_000, "c.toml"),
    toml("a line break of old Macs", GOOD.replace("\n", "\r"), "c.toml"),
    toml("UTF-16", GOOD.encode("utf-16"), "UTF-8"),
    toml("Latin-1", spoilt('"dragonfly"', '"dragonflä"').encode("latin-1"), "UTF-8"),
    toml("a lone surrogate", GOOD.encode() + b"# \xed\xa0\x80", "UTF-8"),
    toml("a mark in the middle", GOOD + "\ufeffx = 1\n", "c.toml"),
    toml("JSON", '{"machine": {"family": "torus"}}', "not valid TOML"),
    toml("cut off", GOOD[: len(GOOD) // 2] + '"', "not valid TOML"),
    toml("machine = 3", "machine = 3\n" + GOOD.partition("[workload]")[1], "machine"),
    toml("run = []", "run = []\n" + GOOD.replace("[run]", "[other]"), "run"),
    toml("queue = text", 'queue = "fcfs"\n' + GOOD, "not valid TOML"),
    toml("a table as an array", GOOD.replace("[machine]", "[[machine]]"), "machine"),
    toml("workload as an array", GOOD.replace("[workload]", "[[workload]]"), "workload"),
    toml("mix as a table", GOOD.replace("[[communication.mix]]", "[communication.mix]"), "mix"),
    toml("mix of nothing", GOOD + "[communication.x]\n", "communication.x"),
    toml("a key twice", spoilt("p = 2", "p = 2\np = 3"), "not valid TOML"),
    toml(
        "a key in two spellings",
        spoilt("p = 2", 'p = 2\nnode_bandwidth = "1 GB/s"\nnode_bandwidth_Bps = 3'),
        "twice",
    ),
    toml("a section twice", GOOD + "[run]\n", "not valid TOML"),
    toml("an unknown section", GOOD + "[runs]\nx = 1\n", "runs"),
    toml("an unknown key", GOOD + "sed = 1\n", "run.sed"),
    toml("an empty key", GOOD + '"" = 1\n', "unknown key"),
    toml("a key of line breaks", GOOD + '"a\\nb\\u0000" = 1\n', "unknown key"),
    toml("a key of 100,000 letters", GOOD + "x" * 100_000 + " = 1\n", "unknown key"),
    toml("a name of 100,000 letters", spoilt('"rdn"', f'"{"x" * 100_000}"'), "policy"),
    toml("a name with colours", spoilt('"rdn"', '"\\u001b[31mred"'), "policy"),
    toml("sweep in a run", GOOD + "[sweep]\n", "sweep"),
    toml("a list in a run", axis("[2, 3]"), "machine.p"),
    toml("a range in a run", axis("{ from = 1, to = 3, step = 1 }"), "machine.p"),
    toml("4,300 digits and more", axis("9" * 5000), "c.toml"),
    toml("an endless float", spoilt("mean_nodes = 4", "mean_nodes = 1e400"), "mean_nodes"),
    toml("the mark of Windows is taken", b"\xef\xbb\xbf" + GOOD.encode(), "", 0),
    toml("a zipped config is read", gzip.compress(GOOD.encode()), "", 0),
    toml("line breaks of Windows are taken", GOOD.replace("\n", "\r\n"), "", 0),
    toml(
        "a log with a zero byte",
        spoilt("[workload.synthetic]", "[x]")
        .replace('larger_jobs = "drop"', 'log = "a\\u0000b"')
        .replace("[x]\nn_jobs = 20\nmean_nodes = 4", ""),
        "zero byte",
    ),
    *(toml(f"nested {kind}", text, "c.toml") for kind, text in NESTED.items()),
    *(sweep(f"nested {kind}", text, "c.toml") for kind, text in NESTED.items()),
    sweep("machine = 3", "machine = 3\n", "machine"),
    sweep("a list of tables", axis("[{ x = 1 }]"), "machine.p"),
    sweep("a list of lists", axis("[[1], [2]]"), "machine.p"),
    sweep("a list of too much", axis("[2, 0.5]"), "machine.p"),
    sweep("a range of two ways", axis("{ from = 1, to = 3, step = 1, count = 2 }"), "machine.p"),
    sweep("a range of 10^30", axis("{ from = 1, to = 1" + "0" * 30 + ", step = 1 }"), "machine.p"),
    sweep("a count of 10^30", axis("{ from = 1, to = 2, count = 1" + "0" * 30 + " }"), "machine.p"),
    sweep("a range to inf", axis("{ from = 1, to = inf, step = 1 }"), "machine.p"),
    sweep(
        "a range by tiny factors", axis("{ from = 1, to = 1e300, factor = 1.000001 }"), "machine.p"
    ),
    sweep(
        "a log range of 1e308",
        axis('{ from = 1e-308, to = 1e308, count = 5, scale = "log" }'),
        "machine.p",
    ),
    sweep("a range of texts", axis('{ from = "a", to = "b", step = "c" }'), "machine.p"),
    sweep("a range of tables", axis("{ from = {}, to = [], step = true }"), "machine.p"),
    sweep(
        "10^8 points",
        spoilt("p = 2", "p = " + str(list(range(1, 10001)))).replace(
            "a = 2", "a = " + str(list(range(1, 10001)))
        ),
        "points",
    ),
    sweep("zip of numbers", GOOD + "[sweep]\nzip = [[1]]\n", "zip"),
    Row("a folder", RUN, "c.toml", folder),
    Row("a link to itself", RUN, "c.toml", loop),
    Row("memory of another process", RUN, "c.toml", secret),
    Row("/dev/zero", RUN, "c.toml", zeros),
    Row("no file", RUN, "c.toml", nothing),
    Row("a name of 10,000 letters", ("run", "x" * 10_000), "too long", nothing),
    Row("bytes in the name", ("run", "\udcff.toml"), "cannot be read", nothing),
]
