"""Configs: parameters of networks with values that they must not take, and deciders that break."""

from __future__ import annotations

from hostile.row import RUN, Row, all_of, config_row, config_text, written

HUGE = "1" + "0" * 30

TEXT, LIST, TABLE, DATE = '"ten"', "[1]", "{ x = 1 }", "1979-05-27"
BAD: dict[str, tuple[str, ...]] = {
    "count": ("0", "-1", "1.5", "true", TEXT, TABLE, "nan"),
    "time": ('"-1 us"', '"1 GB"', '"us"', "nan", "-1", "true", '"1e400 us"'),
    "bytes": ('"0 B"', '"1.5 B"', '"-1 KiB"', '"1 s"', "nan", HUGE, "true"),
    "bandwidth": ('"0 GB/s"', '"-1 GB/s"', '"1 GB"', '"fast"', "1000", '"1e30 GB/s"'),
    "name": ('"no-such"', '""', "1", LIST, DATE),
}
KEYS: dict[str, str] = {
    "machine.p": "count",
    "machine.arrangement": "name",
    "machine.node_bandwidth": "bandwidth",
    "machine.local_latency": "time",
    "machine.ugal_threshold_bytes": "bytes",
    "machine.ugal_weight": "count",
}
"""A parameter of a network or routing of each kind; other keys are in `test_config_reference`."""


def _systematic() -> list[Row]:
    rows = []
    for dotted, kind in KEYS.items():
        for text in BAD[kind]:
            key = dotted.rpartition(".")[2]
            rows.append(config_row(f"{dotted} = {text}", {dotted: text}, key))
    return rows


DECIDER_HEAD = """
from queuesim.decide import Choice, Decider
class Agent(Decider):
    name, description = "agent", "x"
"""


def decider(name: str, told: str, body: str, text: str = "", **queue: str) -> Row:
    """A run of a config whose decider is ``Agent`` with a body, or what a whole file has."""
    changes: dict[str, str | None] = {"queue.decider": '"a.py:Agent"'}
    changes |= {f"queue.{key}": value for key, value in queue.items()}
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    make = all_of(
        written("a.py", text or DECIDER_HEAD + lines), written("c.toml", config_text(changes))
    )
    return Row(f"decider: {name}", RUN, told, make)


WAITS = "def decide(self, point): return None"
PLACED = "queue.policies"
ROWS = [
    *_systematic(),
    decider("no class", "plug-in a.py: has no class 'Agnet'", WAITS, decider='"a.py:Agnet"'),
    decider("no name of a class", 'a class in a file, "FILE.py:CLASS"', WAITS, decider='"a.py"'),
    decider("a value that is none", "has no class 'x'", "", "x = 3", decider='"a.py:x"'),
    decider("the base itself", "Decider is no decider", WAITS, decider='"a.py:Decider"'),
    decider("no decide", "lacks decide", "pass"),
    decider("raises", "a.py, line 5: KeyError: 'x'", "def decide(self, point): {}['x']"),
    decider(
        "decides a number", "decided 3; it must be a Choice", "def decide(self, point): return 3"
    ),
    decider(
        "decides half a job",
        "job=0.5",
        "def decide(self, point): return Choice(0.5)",
    ),
    decider(
        "a job that does not wait",
        "decider 'agent': decision at 0.0 s: job index 19 does not wait",
        "def decide(self, point): return Choice(19)",
    ),
    decider(
        "a rule that is not there",
        "placement rule 'rdn': the machine has one policy",
        "def decide(self, point): return Choice(point.head(), rule='rdn')",
    ),
    decider(
        "nodes that are not free",
        "its nodes must be some of the 20",
        "def decide(self, point):\n"
        "    return Choice(point.head(), nodes=[99] * point.machine.n_nodes[point.head()])",
    ),
    decider("waits for ever", "no waiting job is ever started", WAITS),
    decider(
        "files that it does not take",
        "cannot be made with 1 of them",
        WAITS,
        decider_files='["a.py"]',
    ),
    decider(
        "beside partitions", "does not go with partitions", WAITS, partitions='[{ nodes = "0-19" }]'
    ),
    decider(
        "a rule that goes by more than free nodes",
        "does not go with policy 'kueue-required'",
        WAITS,
        placement_rules='["random", "kueue-required"]',
    ),
    config_row(
        "a rule of another machine",
        {
            "machine.family": '"fattree"',
            "machine.radix": "8",
            **dict.fromkeys(("machine.p", "machine.a", "machine.g")),
            PLACED: '["random"]',
            "queue.decider": '"easy"',
            "queue.placement_rules": '["rdn"]',
        },
        'queue.placement_rules: "rdn"; it does not place on a fattree',
    ),
    config_row("files for nobody", {"queue.decider_files": '["c.toml"]'}, "needs a decider"),
    config_row(
        "files for a name",
        {"queue.decider": '"easy"', "queue.decider_files": '["c.toml"]'},
        "reads none",
    ),
    config_row("rules for nobody", {"queue.placement_rules": '["rdn"]'}, "needs a decider"),
    config_row(
        "a decider under partitions of links",
        {
            "machine.family": '"fattree"',
            "machine.radix": "8",
            **dict.fromkeys(("machine.p", "machine.a", "machine.g")),
            PLACED: '["jigsaw"]',
            "queue.decider": '"easy"',
        },
        "does not go with policy 'jigsaw'",
    ),
    config_row(
        "a decider under a policy that asks for few switches",
        {
            PLACED: '["slurm-tree"]',
            "policies.slurm-tree.switches": "1",
            "queue.decider": '"easy"',
        },
        "does not go with policy 'slurm-tree'",
    ),
    config_row(
        "a level that holds no job of the log",
        {
            PLACED: '["kueue-required"]',
            "policies.kueue-required.level": '"router"',
            "workload.larger_jobs": None,
        },
        "can never be placed by 'kueue-required'",
    ),
    config_row(
        "sizes beside a cluster",
        {"workload.synthetic.cluster": '"seren"'},
        "mean_nodes conflicts with cluster",
    ),
]
