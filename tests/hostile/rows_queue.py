"""Rules of the queue: partitions, files of outages, orders with parameters."""

from __future__ import annotations

from hostile.row import RUN, Row, all_of, config_row, config_text, written

HEAD = "start_s,end_s,nodes,kind\n"


def partitions(title: str, told: str, *tables: str) -> Row:
    """A run with these partitions, on a machine of 20 nodes."""
    listed = ", ".join(f"{{ {table} }}" for table in tables)
    return config_row(f"partitions: {title}", {"queue.partitions": f"[{listed}]"}, told)


def outages(title: str, text: str, told: str) -> Row:
    """A run with this file of outages."""
    config = config_text({"queue.outages": '{ file = "o.csv" }'})
    return Row(
        f"outages: {title}", RUN, told, all_of(written("c.toml", config), written("o.csv", text))
    )


ROWS = [
    config_row("partitions: no tables", {"queue.partitions": "[3]"}, "partitions"),
    partitions(
        "a name twice", "belongs to 'a' already", 'name = "a", default = true', 'name = "a"'
    ),
    partitions(
        "a name of the log twice",
        "belongs to 'a' already",
        'name = "a", default = true, log_names = "x"',
        'name = "b", log_names = "x,y"',
    ),
    partitions(
        "two defaults", "default", 'name = "a", default = true', 'name = "b", default = true'
    ),
    partitions("jobs share nodes", "shared = true; jobs here have whole nodes", "shared = true"),
    partitions("a job of none", "default = true", 'name = "a"', 'name = "b"'),
    partitions("nodes that are not there", "no node '20'", 'nodes = "0-20"'),
    partitions("no nodes", "is no number", 'nodes = ","'),
    partitions("a range backwards", "backwards", 'nodes = "9-2"'),
    partitions("a bracket that is open", "bracket", 'nodes = "n[1-2"'),
    partitions("10^30 nodes", "18 digits", f'nodes = "0-1{"0" * 30}"'),
    partitions("a walltime without a unit", "has no unit", "max_walltime = 100"),
    *(
        config_row(
            f"partitions under {backfill}",
            {"queue.partitions": '[{ nodes = "0-15" }]', "queue.backfill": f'"{backfill}"'},
            f"backfill '{backfill}' does not support partitions",
        )
        for backfill in ("conservative", "easy-retest")
    ),
    config_row(
        "partitions under a policy with marks",
        {
            "machine.family": '"fattree"',
            "machine.radix": "8",
            **dict.fromkeys(("machine.p", "machine.a", "machine.g")),
            "queue.policies": '["ta"]',
            "run.snapshots": "0",
            "queue.partitions": '[{ nodes = "0-63" }]',
        },
        "policy 'ta' cannot be kept to some nodes",
    ),
    outages("no head", "0,10,1,failure\n", "o.csv:1: unknown column"),
    outages("a column too few", "start_s,end_s,nodes\n", "o.csv:1: no column 'kind'"),
    outages("a cell too few", HEAD + "0,10,1\n", "o.csv:2: 3 cells; the head has 4"),
    outages("a time that is none", HEAD + "now,10,1,failure\n", "o.csv:2: start_s = 'now'"),
    outages("backwards", HEAD + "10,5,1,failure\n", "o.csv:2: 10 to 5 s; the end must be after"),
    outages("endless", HEAD + "0,inf,1,failure\n", "o.csv:2: end_s = 'inf'"),
    outages("an unknown kind", HEAD + "0,5,1,repair\n", "o.csv:2: unknown kind 'repair'"),
    outages("an unknown node", HEAD + "\n0,5,n77,failure\n", "o.csv:3: dragonfly"),
    outages("an endless quote", HEAD + '0,5,"1,failure\n' * 3, "o.csv:"),
    outages(
        "a failure that spares", HEAD.strip() + ",account\n0,5,1,failure,x\n", "o.csv:2: a failure"
    ),
    outages(
        "an unknown partition",
        HEAD.strip() + ",partition\n0,5,1,reservation,x\n",
        "o.csv:2: unknown partition 'x'",
    ),
    config_row("outages: no file", {"queue.outages.file": '"gone.csv"'}, "gone.csv"),
    config_row(
        "fair share without users",
        {"queue.order": '"fair-share"'},
        "the log has no user of any job",
    ),
    config_row(
        "priorities that no log tells", {"queue.order": '"priority"'}, "the log has no priorities"
    ),
    config_row(
        "checkpoints that take ten days to write",
        {
            "queue.failures.per_node_day": "5",
            "queue.checkpoint": '{ interval = "15 min", write = "10 d" }',
        },
        "needs 8.65e+05 s to proceed",
    ),
    config_row(
        "checkpoints that take an hour after each second",
        {
            "queue.failures.per_node_day": "1",
            "queue.checkpoint": '{ interval = "1 s", write = "1 h" }',
        },
        "write = 3600 s is more than 1,000 times interval = 1 s",
    ),
    Row(
        "a decider of protocol true",
        RUN,
        "answered hello with protocol True; must be 1",
        all_of(
            written("d.py", "print('{\"protocol\": true}', flush=True)\ninput()\n"),
            written("c.toml", config_text({"queue.decider": '{ command = "python3 d.py" }'})),
        ),
    ),
]
