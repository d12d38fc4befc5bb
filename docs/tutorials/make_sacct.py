"""Make a file as ``sacct -P`` prints it, for users who have no log of their own at hand.

    python docs/tutorials/make_sacct.py --jobs 20000 --nodes "n[001-600]" --out sacct.txt
    python docs/tutorials/make_sacct.py --log KTH-SP2-1996-2.1-cln.swf.gz --nodes "n[001-100]" \\
        --out sacct.txt

The jobs are those of a log in SWF, or generated. They wait in a queue (first come, first served,
EASY backfilling) for the machine's nodes, lowest names first; what they wait and where they run is
what the file says. Around them stands what real files have: arrays, steps, heterogeneous jobs,
jobs that failed, were cut, cancelled, requeued, that wait or run still, missing limits, odd names.
Same arguments, same file. With ``--dirty`` the same jobs as databases have them: separators in
names, repeated headers, messages between the lines, jobs that changed their size or were suspended.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

import netcosim as nc
from netsim.hostlist import compress, expand
from queuesim.result import QueueResult
from workloads.job import Workload
from workloads.transform import select

COLUMNS = (
    "JobID", "JobIDRaw", "JobName", "User", "Account", "Partition", "QOS", "State", "Submit",
    "Eligible", "Start", "End", "Elapsed", "Timelimit", "NNodes", "AllocCPUS", "NodeList",
    "Priority", "SubmitLine",
)  # fmt: skip
BEGIN = datetime(2024, 9, 2, tzinfo=UTC)
FIRST_ID = 410_001
CORES = 64
ACCOUNTS = ("physics", "climate", "chemistry", "materials", "training")
NAMES = ("run.sh", "lammps", "cp2k-md", "train_7B", "überlauf", "a b", "wrf.exe", "")
STEP_COLUMNS = ("JobID", "JobIDRaw", "JobName", "State", "Start", "End", "NNodes", "NodeList")


def jobs_of(args: argparse.Namespace, n_nodes: int, rng: np.random.Generator) -> Workload:
    """The jobs that fit the machine, in whole seconds, some of them in arrays."""
    if args.log is not None:
        jobs = nc.read_swf(args.log, max_nodes=n_nodes)
        jobs = select(jobs, np.arange(min(args.jobs, len(jobs))))
    else:
        jobs = nc.laas_workload(
            args.jobs,
            max(1.0, n_nodes / 40),
            rng,
            run_time_range_s=(30.0, 86_400.0),
            median_run_time_s=1500.0,
            load=args.load,
            machine_nodes=n_nodes,
            requested_factor=(1.05, 4.0),
        )
    submit_s = np.floor(jobs.submit_s - jobs.submit_s[0])
    size, array = np.minimum(jobs.n_nodes, n_nodes), np.arange(len(jobs))
    requested_s = np.ceil(jobs.requested_s / 60) * 60
    for first in np.flatnonzero(rng.random(len(jobs)) < 0.01):
        tasks = slice(first, first + int(rng.integers(2, 12)))
        for column in (submit_s, size, requested_s, array):
            column[tasks] = column[first]
    order = np.argsort(submit_s, kind="stable")
    cut_s = np.where(rng.random(len(jobs)) < 0.03, requested_s, np.inf)
    return replace(
        jobs,
        job_id=array[order] + FIRST_ID,
        submit_s=submit_s[order],
        run_time_s=np.minimum(np.ceil(jobs.run_time_s), np.minimum(cut_s, requested_s))[order],
        n_nodes=size[order].astype(np.int32),
        requested_s=requested_s[order],
    )


def schedule(jobs: Workload, n_nodes: int, rng: np.random.Generator) -> QueueResult:
    """When each job starts and where: the lowest free nodes."""
    machine = nc.make_topology("torus", {"dims": [n_nodes]})
    policy = nc.make_policy(machine, "baseline", rng)
    numbered = replace(jobs, job_id=np.arange(len(jobs)))
    return nc.simulate_queue(
        numbered, policy, backfill="easy", window=100, rng=rng, keep_placements=True
    )


@dataclass(frozen=True)
class Job:
    """A job of the file: times in seconds from `BEGIN`, None where there is none."""

    id: str
    raw: int
    state: str
    submit_s: float
    start_s: float | None
    end_s: float | None
    limit: str
    nodes: int
    node_list: str
    priority: int
    user: int
    partition: str
    waits_for: str = ""

    def line(self, name: str) -> str:
        """As sacct prints it."""
        ran = self.start_s is not None and self.end_s is not None
        elapsed = self.end_s - self.start_s if ran else 0.0  # type: ignore[operator]
        flag = f"--dependency={self.waits_for} " if self.waits_for else ""
        cells = (
            *(self.id, self.raw, name, f"user{self.user}", ACCOUNTS[self.user % 5]),
            *(self.partition, "debug" if self.partition == "debug" else "normal", self.state),
            *(stamp(self.submit_s), stamp(self.submit_s), stamp(self.start_s), stamp(self.end_s)),
            *(clock(elapsed), self.limit, self.nodes, self.nodes * CORES if ran else 0),
            *(self.node_list, self.priority, f"sbatch {flag}-N {self.nodes} job.sh"),
        )
        return "|".join(map(str, cells))

    def steps(self, count: int) -> Iterator[str]:
        """Lines of its steps."""
        for step in ("batch", "extern", *range(count)):
            id, raw = f"{self.id}.{step}", f"{self.raw}.{step}"
            state = self.state.split()[0]
            cells = (id, raw, step, state, stamp(self.start_s), stamp(self.end_s), 1, "")
            known = dict(zip(STEP_COLUMNS, cells, strict=True))
            yield "|".join(str(known.get(column, "")) for column in COLUMNS)


def stamp(time_s: float | None) -> str:
    """A date without a zone, as sacct has it."""
    if time_s is None:
        return "Unknown"
    return (BEGIN + timedelta(seconds=time_s)).strftime("%Y-%m-%dT%H:%M:%S")


def clock(time_s: float) -> str:
    """Days, hours, minutes, seconds: 1-02:03:04."""
    minutes, seconds = divmod(round(time_s), 60)
    days, minutes = divmod(minutes, 24 * 60)
    return f"{f'{days}-' if days else ''}{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}"


def lines(ran: QueueResult, array: np.ndarray, names: list[str], seed: int) -> Iterator[str]:
    """The file, line by line."""
    rng = np.random.default_rng([seed, 1])
    jobs, n = ran.workload, len(ran.workload)
    task = np.zeros(n, dtype=int)
    for k in range(1, n):
        task[k] = task[k - 1] + 1 if array[k] == array[k - 1] else 0
    in_array = np.isin(array, array[task > 0])
    yield "|".join(COLUMNS)
    ended: list[tuple[float, str]] = []
    assert ran.placements is not None
    for k in range(n):
        submit_s, start_s, end_s = (float(c[k]) for c in (jobs.submit_s, ran.start_s, ran.end_s))
        chance = rng.random()
        state = "COMPLETED"
        if end_s - start_s >= jobs.requested_s[k]:
            state = "TIMEOUT"
        elif chance < 0.08:
            state = ("FAILED", "OUT_OF_MEMORY", "NODE_FAIL", f"CANCELLED by {1000 + k % 50}")[
                int(chance * 1000) % 4
            ]
        limit = clock(jobs.requested_s[k])
        if rng.random() < 0.01:
            limit = ("UNLIMITED", "Partition_Limit")[k % 2]
        job = Job(
            f"{array[k]}_{task[k]}" if in_array[k] else str(FIRST_ID + k),
            FIRST_ID + k,
            state,
            submit_s,
            start_s,
            end_s,
            limit,
            int(jobs.n_nodes[k]),
            compress([names[i] for i in np.sort(ran.placements.placement(k, k).nodes)]),
            4_294_901_759 - k,
            int(rng.zipf(1.6)) % 60,
            "debug" if jobs.n_nodes[k] <= 4 and jobs.requested_s[k] <= 3600 else "batch",
            waits_for(ended, submit_s, start_s, rng),
        )
        if state == "COMPLETED" and not in_array[k]:
            ended.append((end_s, job.id))
        yield from told(job, rng)
    yield from unfinished(n, float(ran.end_s.max()), rng)


def told(job: Job, rng: np.random.Generator) -> Iterator[str]:
    """A job's lines: itself, its steps, and now and then an earlier run or two components."""
    name = NAMES[int(rng.integers(len(NAMES)))]
    odd = rng.random()
    if odd < 0.003 and job.start_s is not None and job.start_s - job.submit_s > 600:
        # its first run, cut short by a node; the line of the second says when it was requeued
        yield replace(
            job, state="NODE_FAIL", start_s=job.submit_s + 60, end_s=job.submit_s + 300
        ).line(name)
    hosts = expand(job.node_list)
    if odd > 0.997 and len(hosts) > 1 and "_" not in job.id:
        half = len(hosts) // 2
        for k, part in enumerate((hosts[:half], hosts[half:])):
            component = replace(
                job,
                id=f"{job.id}+{k}",
                raw=job.raw,
                nodes=len(part),
                node_list=compress(part),
            )
            yield component.line(name)
        return
    yield job.line(name)
    yield from job.steps(int(rng.integers(0, 3)))


def dirty(clean: list[str], rng: np.random.Generator) -> Iterator[str]:
    """The lines of a file as they come out of a database of some years; the same jobs ran."""
    at = {name: k for k, name in enumerate(COLUMNS)}
    for number, line in enumerate(clean):
        cells = line.split("|")
        if number % 5000 == 4999:
            yield clean[0]
        if number % 9000 == 8999:
            yield "sacct: error: slurmdbd: connection to cluster was lost"
        is_job = cells[at["JobID"]].isdigit() and cells[at["State"]] == "COMPLETED"
        if not number or not is_job:
            yield line
            continue
        chance = rng.random(4)
        if chance[0] < 0.05:
            cells[at["JobName"]] = "sweep|a|b"[: int(rng.integers(7, 10))]
        if chance[0] > 0.97:
            cells[at["SubmitLine"]] += " | tee log"
        if chance[1] < 0.02:
            cells[at["State"]] = ("CANCELLED by 1000", "CANCELLED+", "PREEMPTED")[number % 3]
        if chance[2] < 0.01:
            cells[at["Timelimit"]] = ("UNLIMITED", "Partition_Limit", "INVALID")[number % 3]
        start, end = (datetime.fromisoformat(cells[at[name]]) for name in ("Start", "End"))
        run_s = (end - start).total_seconds()
        if chance[3] < 0.01 and run_s > 100:
            # suspended for a third of the time
            cells[at["Elapsed"]] = clock(run_s - run_s // 3)
        elif chance[3] > 0.99 and run_s > 100:
            first = list(cells)
            middle = (start + timedelta(seconds=run_s // 2)).isoformat()
            first[at["State"]], first[at["End"]], first[at["Elapsed"]] = (
                *("RESIZING", middle),
                clock(run_s // 2),
            )
            yield "|".join(first)
            cells[at["Start"]], cells[at["Elapsed"]] = middle, clock(run_s - run_s // 2)
        yield "|".join(cells)


def waits_for(
    ended: list[tuple[float, str]], submit_s: float, start_s: float, rng: np.random.Generator
) -> str:
    """Now and then a job that was over by the time that this one began."""
    if rng.random() > 0.02 or not ended:
        return ""
    end_s, other = ended[int(rng.integers(max(0, len(ended) - 50), len(ended)))]
    if end_s > start_s:
        return ""
    return f"{('afterok', 'afterany')[int(rng.integers(2))]}:{other}"


def unfinished(n: int, now_s: float, rng: np.random.Generator) -> Iterator[str]:
    """Jobs that never ran, run still, or wait: what a file has that was made today."""
    for k in range(max(4, n // 50)):
        raw = FIRST_ID + n + k
        submit_s = float(rng.integers(0, int(now_s) + 1))
        waiting = Job(
            str(raw), raw, "PENDING", submit_s, None, None, "04:00:00", 1 + k % 16,
            "None assigned", 4_294_901_759 - n - k, k % 60, "batch",
        )  # fmt: skip
        if k % 4 == 0:
            waiting = replace(waiting, id=f"{raw}_[{k % 7}-{k % 7 + 20}%4]")
        elif k % 4 == 1:
            waiting = replace(waiting, state="CANCELLED by 1004", end_s=submit_s + 30)
        elif k % 4 == 2:
            waiting = replace(
                waiting, state="RUNNING", start_s=submit_s + 60, nodes=1, node_list="login-gpu1"
            )
        yield waiting.line("sweep")


def main() -> None:
    """Read the arguments, write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=20_000, metavar="N")
    parser.add_argument("--nodes", default="n[001-600]", metavar="LIST", help="a host list")
    parser.add_argument("--log", metavar="FILE", help="jobs of a log in SWF; else generated")
    parser.add_argument("--load", type=float, default=0.9, help="of generated jobs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dirty", action="store_true", help="as it comes out of a database")
    parser.add_argument("--out", type=Path, default=Path("sacct.txt"))
    args = parser.parse_args()
    names = expand(args.nodes)
    rng = np.random.default_rng(args.seed)
    jobs = jobs_of(args, len(names), rng)
    ran = schedule(jobs, len(names), rng)
    found = list(lines(ran, jobs.job_id, names, args.seed))
    if args.dirty:
        found = list(dirty(found, np.random.default_rng([args.seed, 2])))
    text = "".join(f"{line}\n" for line in found)
    args.out.write_text(text, encoding="utf-8")
    print(f"{args.out}: {len(jobs):,} jobs on {len(names)} nodes, {text.count(chr(10)):,} lines")


if __name__ == "__main__":
    main()
