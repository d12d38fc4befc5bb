"""Command lines, and the files other than configs that they name."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from hostile.row import RUN, Make, Row, all_of, bomb, config_row, config_text, nothing, written

CONFIG = written("c.toml", config_text({}))
HUGE = "1" + "0" * 30
GENERATE = ("trace", "generate", "--out", "a.swf")


def line(*arguments: str, told: str = "", make: Make = nothing) -> Row:
    """A command line that is wrong by itself."""
    return Row(" ".join(arguments)[:80] or "(nothing)", arguments, told, make)


def as_file(folder: Path) -> None:
    (folder / "out").write_text("a file")


def shut(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "results.db").write_text("not ours, but not empty either " * 10)


GOOD_LOG = "; MaxNodes: 16\n" + "".join(
    f"{i} {i * 10} 0 100 4 -1 -1 4 200 -1 1 1 1 1 1 1 -1 -1\n" for i in range(1, 30)
)
LOGS: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "a.swf"),
    "text": ("hello world\n", "a.swf"),
    "binary": (np.random.default_rng(2).bytes(10_000), "a.swf"),
    "too few fields": ("1 2 3\n", "a.swf"),
    "text in a number": (GOOD_LOG.replace(" 100 ", " ten ", 1), "a.swf"),
}
TABLE_HEAD = "reference_policy,pattern,min_nodes,max_nodes,policy,ratio,ratio_low,ratio_high\n"
ONE = "simple,all-to-all,2,100,rdn,0.9,0.8,1.0\n"
TABLES: dict[str, str | bytes] = {
    "empty": "",
    "head alone": TABLE_HEAD,
    "without a head": ONE,
    "binary": np.random.default_rng(3).bytes(10_000),
    "UTF-16": (TABLE_HEAD + ONE).encode("utf-16"),
    "a cell of 200,000 letters": TABLE_HEAD + "x" * 200_000 + "," + ONE,
    "an endless quote": TABLE_HEAD + '"' + ONE * 20_000,
    "a cell too many": TABLE_HEAD + ONE.strip() + ",7\n",
    "text in a number": TABLE_HEAD + ONE.replace("0.9", "x"),
    "nan": TABLE_HEAD + ONE.replace("0.9", "nan"),
    "1e308": TABLE_HEAD + ONE.replace("0.9,0.8,1.0", "1e308,1e308,1e308"),
    "backwards": TABLE_HEAD + ONE.replace("0.8,1.0", "1.0,0.8"),
    "sizes of 10^30": TABLE_HEAD + ONE.replace("100", HUGE),
    "sizes of 5000 digits": TABLE_HEAD + ONE.replace("100", "9" * 5000),
    "sizes backwards": TABLE_HEAD + ONE.replace("2,100", "100,2"),
    "classes that overlap": TABLE_HEAD + ONE + ONE.replace("2,100", "50,200"),
    "two references": TABLE_HEAD + ONE + ONE.replace("simple", "rrr"),
    "two columns of a name": TABLE_HEAD.replace("ratio_low", "ratio") + ONE,
    "a column missing": TABLE_HEAD.replace("ratio_low", "low") + ONE,
    "two cases": "log," + TABLE_HEAD + "a," + ONE + "b," + ONE,
    "another policy": TABLE_HEAD + ONE.replace("rdn", "rrr"),
    "100,000 rows": TABLE_HEAD
    + "".join(ONE.replace("2,100", f"{i},{i}") for i in range(1, 100_001)),
}
GML = "graph [ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 {} ] ]"
GRAPHML = (
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="d" for="node" '
    'attr.name="nodes" attr.type="{}"/><graph edgedefault="{}"><node id="a"><data key="d">{}'
    '</data></node><node id="b"/><edge source="a" target="b"/></graph></graphml>'
)
BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(12)
)
GRAPHS: dict[str, tuple[str, str | bytes]] = {
    "empty": ("g.txt", ""),
    "binary": ("g.txt", np.random.default_rng(4).bytes(10_000)),
    "one name a line": ("g.txt", "a\nb\n"),
    "two parts": ("g.txt", "a b\nc d\n"),
    "a loop": ("g.txt", "a a\na b\n"),
    "attributes that are none": ("g.txt", "a b {x\n"),
    "attributes nested without end": ("g.txt", f"a b {{'x': {'[' * 5000}{']' * 5000}}}\n"),
    "a latency of nan": ("g.txt", "a b {'latency_s': 'nan'}\n"),
    "a latency below 0": ("g.txt", "a b {'latency_s': -1.0}\n"),
    "a bandwidth of 0": ("g.txt", "a b {'bandwidth_Bps': 0}\n"),
    "a bandwidth of 1e300": ("g.txt", "a b {'bandwidth_Bps': 1e300}\n"),
    "a bandwidth in text": ("g.txt", "a b {'bandwidth_Bps': 'fast'}\n"),
    "GML empty": ("g.gml", ""),
    "GML cut off": ("g.gml", GML[:40]),
    "GML nested without end": ("g.gml", "graph " + "[ x " * 20_000),
    "GML directed": ("g.gml", GML.replace("graph [", "graph [ directed 1").format("")),
    "GML with a latency in text": ("g.gml", GML.format('latency_s "long"')),
    "GraphML empty": ("g.graphml", ""),
    "GraphML cut off": ("g.graphml", GRAPHML[:100]),
    "GraphML directed": ("g.graphml", GRAPHML.format("int", "directed", 1)),
    "GraphML of 10^12 nodes": ("g.graphml", GRAPHML.format("int", "undirected", 10**12)),
    "GraphML of -1 nodes": ("g.graphml", GRAPHML.format("int", "undirected", -1)),
    "GraphML of half a node": ("g.graphml", GRAPHML.format("double", "undirected", 0.5)),
    "GraphML of text for nodes": ("g.graphml", GRAPHML.format("string", "undirected", "x")),
    "GraphML of entities": ("g.graphml", f"<?xml version='1.0'?>{BOMB}]><graphml>&m;</graphml>"),
    "a gzip bomb": ("g.gz", bomb(b"\0")),
    "a gzip bomb of GraphML": ("g.graphml.gz", bomb(b" ")),
    "a gzip file cut off": ("g.gz", gzip.compress(b"a b\n" * 10_000)[:60]),
    "no gzip file": ("g.gz", "a b\n"),
}


def graph_row(name: str, file: str, content: str | bytes) -> Row:
    """A run on a graph."""
    text = config_text(
        {
            "machine.family": '"graph"',
            "machine.file": f'"{file}"',
            "machine.p": None,
            "machine.a": None,
            "machine.g": None,
            "queue.policies": '["baseline"]',
        }
    )
    make = all_of(written("c.toml", text), written(file, content))
    return Row(f"graph: {name}", RUN, "", make)


def table_row(name: str, content: str | bytes) -> Row:
    """A run with a table of speed-ups."""
    changes = {"queue.run_time_model": '"measured"', "queue.measured.table": '"t.csv"'}
    make = all_of(written("c.toml", config_text(changes)), written("t.csv", content))
    return Row(f"speed-ups: {name}", RUN, "", make)


def log_row(name: str, content: str | bytes) -> Row:
    """Information on a log."""
    return Row(f"log: {name}", ("trace", "info", "a.swf"), "a.swf", written("a.swf", content))


def zeros(path: Path) -> None:
    (path / "t.csv").symlink_to("/dev/zero")


OTF2_HEAD = "\x03BOTF2\x00\x03"


RANKS = ("describe", "training", "--set", "model=llama-7b", "--ranks")
ROWS = [
    *(line(*RANKS, text, told="--ranks") for text in ("1_0", "\u0668", "2\u00b2")),
    line(*RANKS, "8", "--bandwidth", "-1 GB/s", told="above 0"),
    line("trace", "generate", "--out", "j.swf", "--mean-nodes", "1_0", told="--mean-nodes"),
    line(told="COMMAND"),
    line("fly", told="fly"),
    line("run", "c.toml", "more", told="more"),
    line("run", "c.toml", "--fast", told="--fast"),
    line("list", "x" * 100_000, told="x"),
    line("list", "a\nb", told="a"),
    line("list", "\x1b[31mred", told="red"),
    line("list", "\udcff", told="valid"),
    line("describe", "level-spred", told="level-spread"),
    line("sweep", "c.toml", "--jobs", "0", told="jobs", make=CONFIG),
    line("sweep", "c.toml", "--jobs", "100000", told="jobs", make=CONFIG),
    line("sweep", "c.toml", "--jobs", "two", told="jobs", make=CONFIG),
    line("sweep", "c.toml", "--jobs", "9" * 5000, told="jobs", make=CONFIG),
    line("sweep", "c.toml", "--out", ".", told=".", make=CONFIG),
    line("sweep", "c.toml", "--out", "no/such/r.db", told="no/such", make=CONFIG),
    line("sweep", "c.toml", "--out", "/proc/r.db", told="/proc", make=CONFIG),
    line("sweep", "c.toml", "--out", "c.toml", told="c.toml", make=CONFIG),
    line("sweep", "c.toml", "--out", "x" * 5000, told="x", make=CONFIG),
    line("run", "c.toml", "--out", "c.toml", told="a file", make=CONFIG),
    line("run", "c.toml", "--out", "/proc/out", told="/proc", make=CONFIG),
    line("run", "c.toml", "--out", "/dev/null", told="a file", make=CONFIG),
    line("run", "c.toml", "--out", "x" * 5000, told="x", make=CONFIG),
    Row("out on a foreign store", RUN, "results.db", all_of(CONFIG, shut)),
    Row("out on a file", RUN, "a file", all_of(CONFIG, as_file)),
    line("demo", "--out", "out", told="a file", make=as_file),
    line("demo", "--policies", "nearest", told="nearest"),
    line("demo", "--policies", "", told="policies"),
    line("demo", "--policies", "jigsaw", told="jigsaw"),
    line("demo", "--first-jobs", "0", told="--first-jobs"),
    line("demo", "--first-jobs", HUGE, told="n_jobs"),
    line("demo", "--seed", "-1", told="seed"),
    line("demo", "--log", "none.swf", told="none.swf"),
    line("reproduce", "no-such", told="no-such"),
    line("reproduce", "level-spread", "fig99", told="fig99"),
    line("reproduce", "level-spread", "fig2", "--routing", "magic", told="magic"),
    line("reproduce", "level-spread", "fig2", "--out", "out", told="out", make=as_file),
    line("reproduce", "jigsaw", "fig6", "--logs", "/no/such", told="/no/such"),
    line("trace", "info", "none.swf", told="none.swf"),
    line("trace", "import", "sacct", "-", told="--out"),
    line(*GENERATE, "--n-jobs", "0", told="jobs"),
    line(*GENERATE, "--n-jobs", "1000000000000", told="jobs"),
    line(*GENERATE, "--mean-nodes", "nan", told="mean_nodes"),
    line(*GENERATE, "--mean-nodes", "0", told="mean_nodes"),
    line(*GENERATE, "--mean-nodes", "1e12", told="mean_nodes"),
    line(*GENERATE, "--load", "1", told="machine_nodes"),
    line(*GENERATE, "--load", "nan", "--machine-nodes", "4", told="load"),
    line(*GENERATE, "--load", "1e-300", "--machine-nodes", "4", told="load"),
    line(*GENERATE, "--load", "1", "--machine-nodes", HUGE, told="nodes"),
    line("trace", "generate", "--out", ".", told="."),
    line("trace", "generate", "--out", "/proc/a.swf", told="/proc"),
    line("trace", "convert", "a.swf", told="--out", make=written("a.swf", GOOD_LOG)),
    *(
        line("trace", "convert", "a.swf", "--out", "b.swf", *options, told=told,
             make=written("a.swf", GOOD_LOG))
        for options, told in (
            (("--first-jobs", "0"), "first_jobs"),
            (("--arrival-factor", "nan"), "arrival_factor"),
            (("--arrival-factor", "1e308"), "arrival"),
            (("--size-factor", "1e300"), "size"),
            (("--processors-per-node", "0"), "processors_per_node"),
            (("--max-nodes", "0"), "max_nodes"),
            (("--max-nodes", "2"), "job"),
            (("--known-log", "no-such"), "no-such"),
        )
    ),
    *(
        line("trace", "convert", f"{letter}.otf2", *options, told=told,
             make=written(f"{letter}.otf2", text))
        for letter, text, options, told in (
            ("a", GOOD_LOG, ("--out", "o.goal"), "not an OTF2 archive"),
            ("c", OTF2_HEAD, ("--out", "o.goal"), "OTF2"),
            ("d", OTF2_HEAD, (), "--out"),
            ("f", OTF2_HEAD, ("--out", "o.goal", "--compute-scale", "nan"), "--compute-scale"),
            ("h", OTF2_HEAD, ("--out", "o", "--compute-scale", "1", "--no-compute"), "not allowed"),
            ("i", OTF2_HEAD, ("--out", "o.goal", "--first-jobs", "1"), "--first-jobs"),
        )
    ),
    line("trace", "convert", "none.otf2", "--out", "o.goal", told="none.otf2"),
    line("trace", "convert", "a.swf", "--out", "b.swf", "--no-compute", told="--no-compute"),
    line("warmup", "now", told="now"),
    line("validate", "opnet", told="opnet"),
    line("validate", "--only", "shape", told="shapes"),
    line("validate", "--only", "ns3", told="ns3"),
    line("validate", "ns3", "--only", "flows", told="--only"),
    line("validate", "--cases", "0", told="--cases"),
    line("validate", "--cases", HUGE, told="--cases"),
    line("validate", "--seed", "-1", told="--seed"),
    line("validate", "--scale", "huge", told="huge"),
    line("validate", "simgrid", "--python", "/no/such/python", told="/no/such/python"),
    line("validate", "simgrid", "--python", "", told="SimGrid"),
    line("validate", "--python", "python3", told="--python"),
    line("validate", "--out", "out", told="a file", make=as_file),
    line("bench", "--only", "packets-x", told="no such measurement"),
    line("bench", "--quick", "--full", told="not allowed with"),
    line("bench", "--out", ".", told="a folder"),
    line("bench", "--out", "out/speed.json", told="a file; a folder was expected", make=as_file),
    *(log_row(name, content) for name, (content, _) in LOGS.items()),
    *(table_row(name, content) for name, content in TABLES.items()),
    *(graph_row(name, file, content) for name, (file, content) in GRAPHS.items()),
    Row(
        "speed-ups: /dev/zero",
        RUN,
        "t.csv",
        all_of(
            written(
                "c.toml",
                config_text(
                    {"queue.run_time_model": '"measured"', "queue.measured.table": '"t.csv"'}
                ),
            ),
            zeros,
        ),
    ),
    config_row(
        "graph: /dev/zero",
        {
            "machine.family": '"graph"',
            "machine.file": '"/dev/zero"',
            "machine.p": None,
            "machine.a": None,
            "machine.g": None,
            "queue.policies": '["baseline"]',
        },
        "/dev/zero",
    ),
    config_row("speed-ups: a folder", {"queue.run_time_model": '"measured"',
               "queue.measured.table": '"."'}, "."),
    config_row("speed-ups: a zero byte", {"queue.run_time_model": '"measured"',
               "queue.measured.table": '"a\\u0000b"'}, "table"),
]  # fmt: skip
