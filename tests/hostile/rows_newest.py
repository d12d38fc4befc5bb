"""Malformed inputs of the newest features, by kind and key: a value, and what the line names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from hostile import rows_config, rows_machines
from hostile.row import RUN, Make, Row, all_of, config_row, config_text, nothing, written
from hostile.rows_judge import LOG
from hostile.rows_store import run_store, store

HUGE = f"1{'0' * 30}"


def values(section: str, rows: Mapping[str, Iterable[str]], **more: str | None) -> list[Row]:
    """One run a key and value (TOML text); the line names the key."""
    base = {key.replace("__", "."): value for key, value in more.items()}
    return [
        config_row(f"{section}.{key} = {text[:40]}", {**base, f"{section}.{key}": text}, key)
        for key, texts in rows.items()
        for text in texts
    ]


# [communication.fraction], .from, .io, [run.steady]

QUANTILES = {
    "quantiles": ("[]", "[0.5, 0.1]", "[0.1, nan]", "[-0.1, 0.5]", '["x", "y"]', "0.5", "[0.1]"),
}
IO = {
    "gateways": ('""', '"99"', '"0-99"', '"3-0"', '"0,0"', '"x"', "0", '"n[0-1"', f'"0-{HUGE}"'),
    "colour": ("1",),
}
COMMUNICATION = [
    *values("communication.fraction", QUANTILES),
    *values("communication", {"from": ('"nowhere"', '""', "1", '"seren_links"')}),
    *values("communication.io", IO, run__measure='"steady"'),
    config_row(
        "10^30 iterations of the measure steady",
        {
            "run.measure": '"steady"',
            "run.steady.least_iterations": HUGE,
            "run.steady.most_iterations": HUGE,
        },
        "packet hops",
    ),
    config_row(
        "quantiles and at of two lengths",
        {
            "communication.fraction.quantiles": "[0.1, 0.5]",
            "communication.fraction.at": "[0, 0.5, 1]",
        },
        "at",
    ),
    config_row(
        "a fraction from two sources",
        {"communication.from": '"seren-links"', "communication.fraction.mean": "0.1"},
        "communication",
    ),
    config_row(
        "every node a gateway",
        {"communication.io.gateways": '"0-19"', "run.measure": '"steady"'},
        "gateways",
    ),
]

# netcosim report --export


def report(title: str, told: str, *words: str, make: Make = run_store) -> Row:
    return Row(f"report: {title}", ("report", "r.db", *words), told, make)


def pipe(name: str) -> Make:
    """A pipe of this name."""

    def make(folder: Path) -> None:
        os.mkfifo(folder / name)

    return make


OUTPUTS = [
    report("a pipe", "pipe", make=pipe("r.db")),
    report("a device for the page", "device", "--out", "/dev/full"),
    report("an unknown export", "choose from", "--export", "xls"),
    report("unknown figures", "choose from", "--format", "gif"),
    report("evalys of several points", "--point", "--export", "evalys", make=store),
    report("perfetto of several points", "--point", "--export", "perfetto", make=store),
    Row(
        "sweep into a pipe",
        ("sweep", "c.toml", "--out", "s.db", "--quiet"),
        "pipe",
        all_of(written("c.toml", config_text({})), pipe("s.db")),
    ),
    Row(
        "trace generate to a link",
        ("trace", "generate", "--out", "j.swf"),
        "link",
        lambda folder: (folder / "j.swf").symlink_to("/dev/null"),
    ),
]


# Rails, cables, ibnetdiscover, topology.conf


def machine(kind: str, title: str, told: str, text: str, **keys: str) -> Row:
    """A run on a machine from a file."""
    changes: dict[str, str | None] = {
        **dict.fromkeys(("machine.p", "machine.a", "machine.g")),
        "machine.family": f'"{kind}"',
        "machine.file": '"m.txt"',
        "run.snapshots": "0",
        "queue.policies": '["random"]',
        **{f"machine.{key}": value for key, value in keys.items()},
    }
    files = all_of(written("c.toml", config_text(changes)), written("m.txt", text))
    return Row(f"{kind}: {title}", RUN, told, files)


CONF = "SwitchName=s1 Nodes=n[1-4]\nSwitchName=s2 Nodes=n[5-8]\nSwitchName=top Switches=s[1-2]\n"
CABLES = "a,b,bandwidth,latency\n" + "".join(f"n{i},s{i % 2},1 GB/s,40 ns\n" for i in range(4))
CABLES += "s0,s1,1 GB/s,40 ns\n"
MACHINES = [
    *(
        machine("topology.conf", title, told, text)
        for title, told, text in (
            ("10^7 nodes", "nodes up to here", "SwitchName=s Nodes=n[1-10000000]\n"),
            ("10^14 nodes", "more than", "SwitchName=s Nodes=n[1-10000000]m[1-10000000]\n"),
            (
                "many lines",
                "nodes up to here",
                "".join(f"SwitchName=s{i} Nodes=n{i}x[1-900000]\n" for i in range(9)),
            ),
            ("binary", "m.txt", "\x00\x01\x02"),
            ("no value", "m.txt:1", "SwitchName=\n"),
        )
    ),
    *(
        machine("topology.conf", f"{key} = {text}", key, CONF, **{key: text})
        for key, texts in {
            "taper": ("0", "-1", "nan", "inf", '"x"', "[]", "[1, 0]", "1e30"),
            "uplinks": ("0", "-1", "1.5", '"x"', "[]", HUGE),
            "node_bandwidth": ("0", '"1 s"', '"x"', "-1", "nan"),
            "link_latency": ('"-1 ns"', '"x"', '"1 GB/s"', "nan"),
            "topology": ('"x"', "1"),
        }.items()
        for text in texts
    ),
    *(
        machine("cables", title, told, text)
        for title, told, text in (
            ("an unknown column", "colour", CABLES.replace("latency", "colour")),
            ("count 10^30", "count", f"a,b,count\nn1,s1,1\nn2,s1,1\ns1,s2,{HUGE}\nn3,s2,1\n"),
            ("count 1.5", "count", "a,b,count\nn1,s1,1.5\n"),
            ("bandwidth 0", "bandwidth", CABLES.replace("s0,s1,1 GB/s", "s0,s1,0 GB/s")),
            ("bandwidth in seconds", "m.txt:6", CABLES.replace("s0,s1,1 GB/s", "s0,s1,1 s")),
            ("an endless quote", "m.txt", 'a,b\n"n1,s1\n' * 3),
        )
    ),
    *(
        machine("ibnetdiscover", title, told, text)
        for title, told, text in (
            ("empty", "m.txt", ""),
            ("prose", "m.txt", "no fabric\n"),
            ("a switch alone", "m.txt", 'Switch\t36 "S-1"\t# "s1" base port 0 lid 1 lmc 0\n'),
            ("a port beyond", "m.txt", 'Switch\t2 "S-1"\t# "s1"\n[9]\t"H-1"[1]\t# "n1" lid 2\n'),
            ("an open quote", "m.txt", 'Switch\t36 "S-1\n'),
            ("binary", "m.txt", "\x00\xff\x01"),
        )
    ),
    *values(
        "machine",
        {"rails": ("0", "-1", "1.5", "nan", '"x"', "true", "65537", HUGE)},
        run__snapshots="0",
    ),
    *values("machine", {"rail_routers": ('"x"', "1", "[]")}, machine__rails="2"),
]

# Deciders, rules, rounds

QUEUE = [
    *values(
        "queue",
        {
            "decider": (
                '"nobody"',
                '"gone.py:Agent"',
                '"c.toml:Agent"',
                '":x"',
                "1",
                '""',
                "[[1]]",
            ),
            "decider_files": ('["gone.json"]', "[1]", '"x"', '["."]'),
            "placement_rules": ('["nobody"]', "[1]", '"x"', '["rdn", "rdn"]'),
        },
    ),
    *values("workload.synthetic", {"cluster": ('"earth"', '""', "1", "[[1]]")}),
]

# AcmeTrace's tables, and other readers

ACME_HEAD = "job_id,user,node_num,gpu_num,type,state,submit_time,start_time,end_time\n"
DAY = "2023-03-01 00:00:00+08:00"
ACME = f"1,u,1,8,train,COMPLETED,{DAY},{DAY},2023-03-01 01:00:00+08:00\n"


def acme(title: str, told: str, text: str, *words: str) -> Row:
    command = ("trace", "import", "acme", "a.csv", "--out", "j.csv", *words)
    return Row(f"acme: {title}", command, told, written("a.csv", text))


READERS = [
    acme("empty", "a.csv", ""),
    acme("a head alone", "a.csv", ACME_HEAD),
    acme("no gpu_num", "gpu_num", ACME_HEAD.replace("gpu_num", "gpus") + ACME),
    acme("a cell too few", "a.csv:2", ACME_HEAD + "1,u,1\n"),
    acme("nodes that are none", "node_num", ACME_HEAD + ACME.replace(",1,8", ",x,8")),
    acme("nodes below 0", "a.csv", ACME_HEAD + ACME.replace(",1,8", ",-1,8")),
    acme("10^30 nodes", "a.csv", ACME_HEAD + ACME.replace(",1,8", f",{HUGE},8")),
    acme("half a node", "node_num", ACME_HEAD + ACME.replace(",1,8", ",1.5,8")),
    acme("GPUs that are none", "gpu_num", ACME_HEAD + ACME.replace(",1,8", ",1,x")),
    acme("infinite GPUs", "gpu_num", ACME_HEAD + ACME.replace(",1,8", ",1,inf")),
    acme("a time that is none", "submit_time", ACME_HEAD + ACME.replace(DAY, "then", 1)),
    acme("the 31st of February", "submit_time", ACME_HEAD + ACME.replace("03-01", "02-31", 1)),
    acme(
        "an end before the start",
        "a.csv",
        ACME_HEAD + ACME.replace("2023-03-01 01", "2022-03-01 01"),
    ),
    acme("an endless quote", "a.csv", ACME_HEAD + '"' + ACME * 3),
    acme("binary", "a.csv", "\x00\x01\xff"),
    acme("a unit", "size_unit", ACME_HEAD + ACME, "--size-unit", "half"),
    acme("no GPUs a node", "gpus_per_node", ACME_HEAD + ACME, "--gpus-per-node", "0"),
    acme("a zone", "timezone", ACME_HEAD + ACME, "--timezone", "Mars/Base"),
]

# isolation-gain and bench-rl


def gain(title: str, told: str, *words: str, **keys: str | None) -> Row:
    changes = {
        **dict.fromkeys(("machine.p", "machine.a", "machine.g")),
        "machine.family": '"fattree"',
        "machine.radix": "4",
        "queue.policies": '["slurm-tree", "jigsaw"]',
        **{key.replace("__", "."): value for key, value in keys.items()},
    }
    files = all_of(written("c.toml", config_text(changes)), written("log.csv", LOG))
    command = ("isolation-gain", "c.toml", *words, "--out", "out")
    return Row(f"isolation-gain: {title}", command, told, files)


def bench(title: str, told: str, *words: str, make: Make = nothing) -> Row:
    return Row(f"bench-rl: {title}", ("bench-rl", *words, "--quiet"), told, make)


COMMANDS = [
    gain("0 minutes", "minutes", "--minutes", "0"),
    gain("minutes below 0", "minutes", "--minutes", "-1"),
    gain("nan minutes", "minutes", "--minutes", "nan"),
    gain("endless minutes", "minutes", "--minutes", "inf"),
    gain("no processes", "jobs", "--jobs", "0"),
    gain("a million processes", "jobs", "--jobs", "1000000"),
    gain("one policy", "polic", queue__policies='["jigsaw"]'),
    gain("no policy isolates", "isolat", queue__policies='["slurm-tree", "random"]'),
    gain("another family's policy", "fattree", queue__policies='["rdn", "jigsaw"]'),
    gain("a sweep", "", run__seed="[1, 2]"),
    gain("no mix", "communication", mix__pattern='"nothing"'),
    bench("an unknown scale", "scale", "--scale", "huge"),
    bench("an unknown machine", "machine", "--machine", "earth", "--scale", "quick"),
    bench("an unknown workload", "workload", "--workload", "mine", "--scale", "quick"),
    bench("an unknown agent", "agent", "--agent", "smith", "--scale", "quick"),
    bench("an unknown reward", "reward", "--reward", "fame", "--scale", "quick"),
    bench("no weeks", "held", "--held-out", "0", "--scale", "quick"),
    bench("weeks below 0", "held", "--held-out", "-1", "--scale", "quick"),
    bench("a million weeks", "held", "--held-out", "1000000", "--scale", "quick"),
    bench("a seed below 0", "seed", "--seed", "-1", "--scale", "quick"),
    bench("no processes", "jobs", "--jobs", "0", "--scale", "quick"),
    bench("a file for the folder", "f", "--out", "f", "--scale", "quick", make=written("f", "x")),
]

# Plug-ins that raise what is no Exception; a schedule whose ranks wait for each other

OWN_ERROR = (
    "from alloc.nodes import NodePolicy\nclass Odd(BaseException): pass\n"
    "class Mine(NodePolicy):\n    name = 'mine'\n    description = 'x'\n    counts_only = True\n"
    "    def _select(self, n): raise Odd('odd')\nPLUGIN = [Mine]\n"
)
STUCK = """num_ranks 2
rank 0 {
r: recv 8b from 1 tag 1
s: send 8b to 1 tag 2
s requires r
}
rank 1 {
r: recv 8b from 0 tag 2
s: send 8b to 0 tag 1
s requires r
}
"""


def plugged(title: str, told: str, text: str, *words: str) -> Row:
    command = words or ("list", "policies", "--plugin", "mine.py")
    config = written("c.toml", config_text({"queue.policies": '["mine"]'}))
    return Row(f"plug-in: {title}", command, told, all_of(config, written("mine.py", text)))


ENDS = [
    plugged(
        "BaseException as it is read",
        "mine.py, line 1: BaseException: x",
        "raise BaseException('x')",
    ),
    plugged("GeneratorExit as it is read", "mine.py, line 1: GeneratorExit", "raise GeneratorExit"),
    plugged(
        "its own error as it runs",
        "mine.py, line 7: Odd: odd",
        OWN_ERROR,
        *RUN,
        "--plugin",
        "mine.py",
    ),
    Row(
        "a GOAL schedule in a circle",
        RUN,
        "wait for each other",
        all_of(
            written("g.goal", STUCK),
            written(
                "c.toml",
                config_text(
                    {
                        "mix.pattern": '"goal"',
                        "mix.message_bytes": None,
                        "mix.file": '"g.goal"',
                        "workload.synthetic.sizes": "[2]",
                        "workload.synthetic.mean_nodes": None,
                    }
                ),
            ),
        ),
    ),
]

# `rows_config` gives every key of a config the same few values; some of these are among them.
OLDER = {row.name for rows in (rows_config.ROWS, rows_machines.ROWS) for row in rows}
ROWS = [
    row
    for rows in (
        *(ENDS, COMMUNICATION, OUTPUTS, MACHINES),
        *(QUEUE, READERS, COMMANDS),
    )
    for row in rows
    if row.name not in OLDER
]
