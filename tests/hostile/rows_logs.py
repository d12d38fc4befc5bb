"""Logs of schedulers that are broken, vast, or say what cannot be."""

from __future__ import annotations

import numpy as np

from hostile.row import RUN, Row, all_of, bomb, config_text, written

HEAD = "JobID|State|Submit|Start|End|NNodes|NodeList|Dependency\n"
JOB = "{0}|COMPLETED|2024-03-05T10:00:00|2024-03-05T10:05:00|2024-03-05T11:05:00|1|n{0}|{1}\n"
ONE = JOB.format(1, "")
PBS = "11/14/2023 22:13:20;E;1.s;ctime=1 start=2 end=9 exec_host=n1/0\n"

FILES: dict[str, tuple[str, str, str | bytes, str]] = {
    "no job": ("sacct", "s.txt", HEAD, "no job can be used"),
    "empty": ("sacct", "s.txt", "", "no column jobid"),
    "zeros": ("sacct", "s.txt", bytes(100_000), "a line of"),
    "binary": ("sacct", "s.txt", np.random.default_rng(5).bytes(10_000), "s.txt:1"),
    "a gzip bomb": ("sacct", "s.txt.gz", bomb(b"\0"), "200 times"),
    "fields too many": ("sacct", "s.txt", HEAD + ONE.replace("|1|", "|1|1|1|"), "s.txt:2"),
    "a date of the year 99999": ("sacct", "s.txt", HEAD + ONE.replace("2024", "99999"), "s.txt:2"),
    "a date of 5000 digits": ("sacct", "s.txt", HEAD + ONE.replace("2024-", "9" * 5000), "s.txt:2"),
    "10^30 nodes": ("sacct", "s.txt", HEAD + ONE.replace("|1|", f"|{10**30}|"), "s.txt:2"),
    "10^30 names": ("sacct", "s.txt", HEAD + ONE.replace("n1|", f"n[1-{10**30}]|"), "s.txt:2"),
    "10^12 names in squares": (
        "sacct",
        "s.txt",
        HEAD + ONE.replace("n1|", "n[1-9999][1-9999][1-9999]|"),
        "s.txt:2",
    ),
    "brackets nested": ("sacct", "s.txt", HEAD + ONE.replace("n1|", "n[[1]]|"), "s.txt:2"),
    "a circle": (
        "sacct",
        "s.txt",
        HEAD + JOB.format(1, "afterok:2") + JOB.format(2, "after:1"),
        "never start",
    ),
    "shared nodes": ("sacct", "s.txt", HEAD + ONE + ONE.replace("1|C", "2|C"), "share nodes"),
    "a long chain": (
        "sacct",
        "s.txt",
        HEAD + "".join(JOB.format(k, f"after:{k % 5000 + 1}") for k in range(1, 5001)),
        "never start",
    ),
    "of another kind": ("pbs", "s.txt", HEAD + ONE, "no accounting record"),
    "records of nan": ("pbs", "s.txt", PBS.replace("ctime=1", "ctime=nan"), "ctime"),
    "records without end": ("pbs", "s.txt", PBS.strip() + "+n2/0" * 1_000_000, "a line of"),
    "a table of carriage returns": (
        "helios",
        "s.csv",
        "job_id,user\r1,u\r",
        "s.csv:1: not valid CSV",
    ),
    "JSON cut off": ("flux", "s.txt", '{"jobs": [', "JSON"),
    "JSON nested": ("flux", "s.txt", "[" * 200_000, "s.txt"),
    "no Parquet": ("parquet", "s.txt", "PAR1", "arquet"),
}
SACCT_RUNS = {
    "a shared node": (HEAD + ONE + ONE.replace("1|C", "2|C"), "--shared-nodes drop"),
    "a broken line": (HEAD + ONE + "what|is|this\n", "s.txt:3"),
}


def import_row(name: str, kind: str, file: str, content: str | bytes, told: str) -> Row:
    """An import that must write nothing."""
    arguments = ("trace", "import", kind, file, "--out", "o.csv")
    return Row(f"import: {name}", arguments, told, written(file, content))


def run_row(name: str, content: str, told: str) -> Row:
    """A run on a scheduler's log."""
    text = config_text({"workload.log": '"s.txt"'}, drop=("workload.synthetic",))
    make = all_of(written("c.toml", text), written("s.txt", content))
    return Row(f"a scheduler's log: {name}", RUN, told, make)


ROWS = [
    *(import_row(name, *rest) for name, rest in FILES.items()),
    *(run_row(name, *rest) for name, rest in SACCT_RUNS.items()),
]
