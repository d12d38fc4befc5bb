"""Configs: every key with values that it must not take, and TOML that is none."""

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
    "machine.a": "count",
    "machine.g": "count",
    "machine.h": "count",
    "machine.arrangement": "name",
    "machine.group": "name",
    "machine.rails": "count",
    "machine.rail_routers": "name",
    "machine.node_bandwidth": "bandwidth",
    "machine.global_bandwidth": "bandwidth",
    "machine.local_latency": "time",
    "machine.ugal_bias": "time",
    "machine.ugal_threshold_bytes": "bytes",
    "machine.ugal_compares": "name",
    "machine.ugal_weight": "count",
    "machine.packet.output_buffer": "bytes",
    "workload.synthetic.n_jobs": "count",
    "communication.ranks_per_node": "count",
    "mix.message_bytes": "bytes",
    "run.threads": "count",
}
"""Parameters of networks and routings, and some of the keys that `test_config_reference` tries."""


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


NAMELESS = """
from queuesim.decide import Decider
class Agent(Decider):
    def decide(self, point): return None
"""
WAITS = "def decide(self, point): return None"
PLACED = "queue.policies"
ROWS = [
    *_systematic(),
    decider("no file", "b.py: cannot be read: No such file", WAITS, decider='"b.py:Agent"'),
    decider("no class", "plug-in a.py: has no class 'Agnet'", WAITS, decider='"a.py:Agnet"'),
    decider("no name of a class", 'a class in a file, "FILE.py:CLASS"', WAITS, decider='"a.py"'),
    decider("no file of Python", '"FILE.py:CLASS"', WAITS, decider='"a.txt:Agent"'),
    decider("a folder", "queue.decider", WAITS, decider='".:Agent"'),
    decider("a value that is none", "has no class 'x'", "", "x = 3", decider='"a.py:x"'),
    decider("a class of another kind", "line 1: Agent is no decider", "", "class Agent: pass"),
    decider("the base itself", "Decider is no decider", WAITS, decider='"a.py:Decider"'),
    decider("no decide", "lacks decide", "pass"),
    decider("no name", "line 3: Agent needs a name", "", NAMELESS),
    decider("a name of ours", "'easy' is a built-in name", f"name = 'easy'\n{WAITS}"),
    decider("no Python", "plug-in a.py, line 1: not valid Python", "", "class Agent("),
    decider("raises while it is read", "line 1: ZeroDivisionError", "", "1 / 0"),
    decider("raises", "a.py, line 5: KeyError: 'x'", "def decide(self, point): {}['x']"),
    decider(
        "raises when made", "a.py, line 5: OSError", f"def __init__(self): raise OSError\n{WAITS}"
    ),
    decider("ends it all", "a.py, line 5: SystemExit", "def decide(self, point): raise SystemExit"),
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
    decider("a file that is not there", "decider_files", WAITS, decider_files='["w.json"]'),
    decider("beside a backfilling", 'not go with backfill = "none"', WAITS, backfill='"none"'),
    decider(
        "beside partitions", "does not go with partitions", WAITS, partitions='[{ nodes = "0-19" }]'
    ),
    decider("a rule twice", "a policy is listed twice", WAITS, placement_rules='["rdn", "rdn"]'),
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
    config_row("a policy without parameters", {"policies.rdn.level": '"group"'}, "unknown key"),
    config_row("policies as a list", {"policies.slurm-block": "[4]"}, "must be a table"),
    config_row("a wait for nothing", {"policies.slurm-tree.max_wait": '"5 min"'}, "with switches"),
    config_row(
        "a level that the machine has not",
        {PLACED: '["kueue-required"]', "policies.kueue-required.level": '"rack"'},
        "valid: group, machine, router",
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
        "blocks larger than the machine's",
        {PLACED: '["slurm-block"]', "policies.slurm-block.block_sizes": "[4, 8]"},
        "plans 4 nodes a base block, and router 0 has 2",
    ),
    config_row(
        "blocks that are no powers of two",
        {PLACED: '["slurm-block"]', "policies.slurm-block.block_sizes": "[2, 6]"},
        "times a power of two",
    ),
    *(
        config_row(
            f"fractions: {' '.join(f'{k} {v}' for k, v in given.items()) or 'nothing'}",
            {f"communication.fraction.{key}": text for key, text in given.items()},
            told,
        )
        for given, told in (
            ({"distribution": '"normal"'}, "unknown distribution 'normal'"),
            ({"mean": "0.3"}, "distribution is needed"),
            ({"distribution": '"beta"', "mean": "0.3"}, "spread is needed"),
            ({"distribution": '"beta"', "mean": "0.3", "spread": "0.49"}, "a spread below 0.4583"),
            ({"distribution": '"uniform"', "mean": "0.1", "spread": "0.1"}, "spread of 0.05774"),
            ({"distribution": '"quantiles"', "quantiles": "[0.5]"}, "at least two"),
            ({"distribution": '"quantiles"', "quantiles": '["0.5", 1.0]'}, "quantiles"),
        )
    ),
    config_row(
        "fractions said twice",
        {
            "communication.fraction.distribution": '"beta"',
            "communication.fraction.mean": "0.3",
            "communication.fraction.spread": "0.1",
            "mix.communication_fraction": "0.3",
        },
        "conflicts with communication.fraction",
    ),
    config_row(
        "sizes beside a cluster",
        {"workload.synthetic.cluster": '"seren"'},
        "mean_nodes conflicts with cluster",
    ),
    config_row("a mix that is none", {"communication.from": '"mira"'}, "unknown mix of"),
    config_row(
        "fractions beside a mix",
        {"communication.from": '"seren-links"', "mix.communication_fraction": "0.3"},
        "conflicts with communication.from",
    ),
    *(
        config_row(
            f"gateways {gateways} under {measure}",
            {"communication.io.gateways": gateways, "run.measure": measure},
            told,
        )
        for gateways, measure, told in (
            ('"no-node"', '"steady"', "communication.io.gateways"),
            ('"100000"', '"steady"', "communication.io.gateways"),
            ('"all"', '"steady"', "some nodes must be left to jobs"),
            ("3", '"steady"', "communication.io.gateways"),
            ('"0"', '"stretch"', "needs run.measure"),
        )
    ),
    config_row("a log without nodes", {PLACED: '["replay"]'}, "needs the nodes that jobs ran on"),
    config_row("a log without waits", {"queue.backfill": '"as-logged"'}, "needs the log's waits"),
]
