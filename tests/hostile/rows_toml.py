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


def dangling(path: Path) -> None:
    (path / "c.toml").symlink_to("gone")


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
    toml("a comment alone", "# nothing\n", "machine"),
    toml("binary", bytes(range(256)) * 40, "c.toml"),
    toml("zeros", b"\0" * 10_000, "c.toml"),
    toml("a line break of old Macs", GOOD.replace("\n", "\r"), "c.toml"),
    toml("UTF-16", GOOD.encode("utf-16"), "UTF-8"),
    toml("UTF-32", GOOD.encode("utf-32"), "UTF-8"),
    toml("Latin-1", spoilt('"dragonfly"', '"dragonflä"').encode("latin-1"), "UTF-8"),
    toml("a half character", GOOD.encode() + b"# \xc3", "UTF-8"),
    toml("a lone surrogate", GOOD.encode() + b"# \xed\xa0\x80", "UTF-8"),
    toml("a mark in the middle", GOOD + "\ufeffx = 1\n", "c.toml"),
    toml("a mark twice", "\ufeff\ufeff" + GOOD, "c.toml"),
    toml("JSON", '{"machine": {"family": "torus"}}', "not valid TOML"),
    toml("YAML", "machine:\n  family: torus\n", "not valid TOML"),
    toml("a page", "<!DOCTYPE html><html></html>", "not valid TOML"),
    toml("cut off", GOOD[: len(GOOD) // 2] + '"', "not valid TOML"),
    toml("machine = 3", "machine = 3\n" + GOOD.partition("[workload]")[1], "machine"),
    toml("machine = 3, all else", spoilt("[machine]", "machine = 3\n[x]"), "machine"),
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
    toml("a name of line breaks", spoilt('"rdn"', '"""a\nb\nc"""'), "policy"),
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
    toml(
        "a log that is a folder",
        spoilt("[workload.synthetic]", "[x]")
        .replace('larger_jobs = "drop"', 'log = "."')
        .replace("[x]\nn_jobs = 20\nmean_nodes = 4", ""),
        ".",
    ),
    toml(
        "a log of 10,000 letters",
        spoilt("[workload.synthetic]", "[x]")
        .replace('larger_jobs = "drop"', f'log = "{"x" * 10_000}"')
        .replace("[x]\nn_jobs = 20\nmean_nodes = 4", ""),
        "x",
    ),
    *(toml(f"nested {kind}", text, "c.toml") for kind, text in NESTED.items()),
    *(sweep(f"nested {kind}", text, "c.toml") for kind, text in NESTED.items()),
    sweep("empty", "", "machine"),
    sweep("binary", bytes(range(256)), "c.toml"),
    sweep("machine = 3", "machine = 3\n", "machine"),
    sweep("an empty list", axis("[]"), "machine.p"),
    sweep("a list of tables", axis("[{ x = 1 }]"), "machine.p"),
    sweep("a list of lists", axis("[[1], [2]]"), "machine.p"),
    sweep("a list of too much", axis("[2, 0.5]"), "machine.p"),
    sweep("a range without a step", axis("{ from = 1, to = 3 }"), "machine.p"),
    sweep("a range of two ways", axis("{ from = 1, to = 3, step = 1, count = 2 }"), "machine.p"),
    sweep("a range of step 0", axis("{ from = 1, to = 3, step = 0 }"), "machine.p"),
    sweep("a range that runs away", axis("{ from = 1, to = 3, step = -1 }"), "machine.p"),
    sweep("a range of 10^30", axis("{ from = 1, to = 1" + "0" * 30 + ", step = 1 }"), "machine.p"),
    sweep("a range of 10^7", axis("{ from = 1, to = 10000000, step = 1 }"), "machine.p"),
    sweep("a count of 10^9", axis("{ from = 1, to = 2, count = 1000000000 }"), "machine.p"),
    sweep("a count of 10^30", axis("{ from = 1, to = 2, count = 1" + "0" * 30 + " }"), "machine.p"),
    sweep("a range to inf", axis("{ from = 1, to = inf, step = 1 }"), "machine.p"),
    sweep("a range from nan", axis("{ from = nan, to = 2, step = 1 }"), "machine.p"),
    sweep("a step of nan", axis("{ from = 1, to = 2, step = nan }"), "machine.p"),
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
        "a range of dates", axis("{ from = 1979-05-27, to = 1980-05-27, step = 1 }"), "machine.p"
    ),
    sweep(
        "a range of one unit and another",
        spoilt("p = 2", 'p = 2\nnode_bandwidth = { from = "1 GB/s", to = "2 us", count = 3 }'),
        "node_bandwidth",
    ),
    sweep("an unknown entry of a range", axis("{ from = 1, to = 2, by = 1 }"), "machine.p"),
    sweep(
        "10^8 points",
        spoilt("p = 2", "p = " + str(list(range(1, 10001)))).replace(
            "a = 2", "a = " + str(list(range(1, 10001)))
        ),
        "points",
    ),
    sweep("zip of nothing", GOOD + '[sweep]\nzip = [["machine.p", "machine.a"]]\n', "zip"),
    sweep(
        "zip of unequal lists",
        axis("[1, 2]").replace("a = 2", "a = [1, 2, 3]")
        + '[sweep]\nzip = [["machine.p", "machine.a"]]\n',
        "zip",
    ),
    sweep(
        "zip twice",
        axis("[1, 2]").replace("a = 2", "a = [1, 2]")
        + '[sweep]\nzip = [["machine.p", "machine.p"]]\n',
        "zip",
    ),
    sweep("zip of a number", GOOD + "[sweep]\nzip = 3\n", "zip"),
    sweep("zip of numbers", GOOD + "[sweep]\nzip = [[1]]\n", "zip"),
    sweep("sweep is a number", "sweep = 3\n" + GOOD, "sweep"),
    sweep("sweep with an unknown key", GOOD + "[sweep]\nzap = []\n", "sweep.zap"),
    Row("a folder", RUN, "c.toml", folder),
    Row("a link to itself", RUN, "c.toml", loop),
    Row("a link to nowhere", RUN, "c.toml", dangling),
    Row("memory of another process", RUN, "c.toml", secret),
    Row("/dev/zero", RUN, "c.toml", zeros),
    Row("no file", RUN, "c.toml", nothing),
    Row("a file in a file", ("run", "c.toml/x.toml"), "c.toml", written("c.toml", GOOD)),
    Row("a name of 10,000 letters", ("run", "x" * 10_000), "too long", nothing),
    Row("an empty name", ("run", ""), "", nothing),
    Row("bytes in the name", ("run", "\udcff.toml"), "cannot be read", nothing),
]
