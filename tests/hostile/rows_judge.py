"""Command lines of `netcosim judge`, and the logs, machines and configs that they name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hostile.row import Row, all_of, nothing, written

HEAD = "job,nodes,arrival_s,run_s,wait_s\n"
LOG = HEAD + "".join(f"{i},{1 + i % 4},{i * 5},50,0\n" for i in range(60))
MACHINE = '[machine]\nfamily = "fattree"\nradix = 4\n'
FILES = all_of(written("log.csv", LOG), written("m.toml", MACHINE))
ASKED = {"--log": "log.csv", "--machine": "m.toml", "--policies": "slurm-tree,random"}


def judge(
    name: str,
    told: str,
    *more: str,
    make: Callable[[Path], None] = nothing,
    status: int = 2,
    **flags: str | None,
) -> Row:
    """A run that would do but for some flags (None: without) and files."""
    given = ASKED | {f"--{flag}": value for flag, value in flags.items()}
    words = [word for flag, value in given.items() if value is not None for word in (flag, value)]
    command = ("judge", *words, "--snapshots", "1", "--fractions", "0.5", *more, "--out", "out")
    return Row(f"judge: {name}", command, told, all_of(FILES, make), status)


def config(text: str) -> tuple[tuple[str, str], Callable[[Path], None]]:
    return ("--config", "c.toml"), written("c.toml", text)


def configured(name: str, told: str, text: str) -> Row:
    """With a config beside the flags."""
    more, make = config(text)
    return judge(name, told, *more, make=make)


def as_file(folder: Path) -> None:
    (folder / "out").write_text("a file")


def foreign(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "results.db").write_text("not ours, but not empty either " * 10)


SILENT = '[[communication.mix]]\npattern = "halo2d"\nmessage_bytes = 1000\n'

ROWS = [
    judge("no machine", "no machine", machine=None),
    judge("no jobs", "no jobs", log=None),
    judge("no policies", "no policies", policies=None),
    judge("a policy that is not known", "slurm-three", policies="slurm-tree,slurm-three"),
    judge("a policy of another family", "fattree", policies="slurm-tree,rdn"),
    judge("one policy", "two policies", policies="slurm-tree"),
    judge("a log that is missing", "no.csv", log="no.csv"),
    judge("a log that is a folder", "out", log="out", make=lambda f: (f / "out").mkdir()),
    judge("a log of text", "bad.swf:1", log="bad.swf", make=written("bad.swf", "hello you\n")),
    judge("an empty log", "e.csv", log="e.csv", make=written("e.csv", "")),
    judge("a machine that is missing", "no.conf", machine="no.conf"),
    judge("a machine of no kind", "x.bin", machine="x.bin", make=written("x.bin", "hello")),
    judge("a machine that is a folder", "d", machine="d", make=lambda f: (f / "d").mkdir()),
    judge("a preset with a slip", "dragonfly-272", machine="dragonfly-27"),
    judge("a preset of another policy", "dragonfly", machine="dragonfly-272",
          policies="random,jigsaw"),
    judge("a switch tree cut off", "x.conf", machine="x.conf", policies="random,baseline",
          make=written("x.conf", "SwitchName=a Nodes=n[1-")),
    judge("a bandwidth of text", "bandwidth", "--bandwidth", "fast"),
    judge("a bandwidth without a unit", "'3' has no unit", "--bandwidth", "3"),
    judge("a taper of text", "taper", "--taper", "half"),
    judge("a taper of another family", "taper", "--taper", "0.5", machine="dragonfly-272",
          policies="rdn,simple"),
    judge("half a job", "--jobs", "--jobs", "0.5"),
    judge("no jobs at all", "first_jobs", "--first-jobs", "0"),
    judge("an order that is not known", "fcsf", "--order", "fcsf"),
    judge("a backfill that is not known", "easier", "--backfill", "easier"),
    judge("a seed below 0", "seed", "--seed", "-1"),
    judge("a fraction of text", "--fractions", "--fractions", "half"),
    judge("a fraction above 1", "judge.fractions", "--fractions", "1.5"),
    judge("a fraction of nan", "must be numbers", "--fractions", "nan"),
    judge("jobs larger than the machine alone", "left out", log="l.csv",
          make=written("l.csv", HEAD + "1,400,0,10,0\n2,300,5,10,0\n")),
    judge("jobs of one node alone", "one node", log="l.csv",
          make=written("l.csv", HEAD + "".join(f"{i},1,0,10,0\n" for i in range(30)))),
    judge("out is a file", "a file", make=as_file),
    judge("out has another's results", "results.db", make=foreign),
    judge("a config that is missing", "no.toml", "--config", "no.toml"),
    configured("a config with a sweep", "sweep", '[sweep]\nzip = [["a", "b"]]\n'),
    configured("a config with a reference", "reference", '[reference]\npolicy = "random"\n'),
    configured("a key of the judge that is not known", "judge.fraction", "[judge]\nfraction = 1\n"),
    configured("a judge that is a number", "judge", "judge = 1\n"),
    configured("a mix without bytes", "node_bytes", SILENT),
    configured("a measure of another kind", "run.measure", '[run]\nmeasure = "stretch"\n'),
    configured("one snapshot of several", "only_snapshot", "[run]\nonly_snapshot = 0\n"),
]  # fmt: skip
