"""What no declaration says of a config's keys: an example of each, and words on the hand-made ones.

A key that a part declares (`netsim.parameters`) brings its own description; those of the sections'
own models have theirs here. `netcosim.config_reference` puts both together, and a test sees that
every key has an example that can be read.
"""

from __future__ import annotations

from typing import NamedTuple


class Words(NamedTuple):
    """Of one key.

    Attributes
    ----------
    example : str
        A value as TOML.
    description : str
        Empty where the key's declaration has one.
    names : str
        What `netcosim list` has its names; empty where it is no name.
    beside : tuple of str
        Other lines, ``section.key = value``, that the example needs.
    allowed : str
        What the value may be, where the model does not say it.
    """

    example: str
    description: str = ""
    names: str = ""
    beside: tuple[str, ...] = ()
    allowed: str = ""


_CONGESTION = ('machine.packet.congestion_control = "per-flow-throttle"',)
_CROSSBAR = ('machine.packet.router = "input-queued"',)
_PAIRED = (
    'communication.mix = [{ pattern = "halo3d", node_bytes = "1 MiB" }]',
    'run.measure = "paired"',
)
_FRACTION = (
    'communication.fraction.distribution = "uniform"',
    "communication.fraction.mean = 0.3",
    "communication.fraction.spread = 0.1",
)
_TABLE = (
    'communication.fraction.distribution = "quantiles"',
    "communication.fraction.quantiles = [0.1, 0.3, 0.9]",
)
_STEADY = ('run.measure = "steady"',)
_STEPS = ('run.measure = "steps"',)
_IO = (*_STEADY, 'communication.io.gateways = "0"')
_LOG = ('workload.log = "log.swf"',)
_MENU = ('machine.preset = "mira-midplanes"', 'queue.policies = ["menu"]')
_OWN_MENU = ('machine.preset = "mira-midplanes"', 'queue.policies = ["cobalt"]')

WORDS: dict[str, Words] = {
    "plugins": Words(
        '["my_policy.py"]',
        "Python files or modules that add names of your own ([extend](extend.md))",
        allowed="a list of files and modules",
    ),
    "reference": Words(
        '{ policy = "random" }',
        "what the numbers are relative to: policy, and keys of [machine] and [queue]; by default "
        "the first policy",
    ),
    "sweep.zip": Words(
        '[["machine.radix", "run.seed"]]',
        "keys that run together in a sweep; all other lists and ranges are combined",
        beside=("machine.radix = [4, 6]", "run.seed = [1, 2]"),
    ),
    "sweep.design": Words(
        '{ method = "latin-hypercube", samples = 4, factors = [{ key = "machine.radix", '
        'levels = [4, 6] }, { key = "run.seed", low = 1, high = 99, whole = true }] }',
        "points chosen by a design of experiments over factors ([sweeps](sweeps.md))",
        beside=("machine.radix = 4",),
    ),
    "machine.preset": Words(
        '"cab"', "a named machine, whose parameters can be replaced", "machines"
    ),
    "machine.recipe": Words(
        '"merlin"',
        "another simulator's router and routing by one name; keys beside it replace its own",
        "recipes",
    ),
    "machine.family": Words(
        '"fattree"', "the network, whose parameters stand beside", "topologies"
    ),
    "machine.routing": Words('"adaptive"', "by default the family's static one", "routings"),
    "machine.packet.preset": Words('"merlin"', "a named packet model, whose keys can be replaced"),
    "machine.packet.packet_bytes": Words('"4 KiB"'),
    "machine.packet.header_bytes": Words("40"),
    "machine.packet.buffer_bytes": Words('"64 KiB"'),
    "machine.packet.router_latency": Words('"200 ns"'),
    "machine.packet.send_overhead": Words('"300 ns"'),
    "machine.packet.recv_overhead": Words('"300 ns"'),
    "machine.packet.copy_s_per_byte": Words("1e-11"),
    "machine.packet.eager_limit_bytes": Words('"16 KiB"'),
    "machine.packet.control_bytes": Words("128"),
    "machine.packet.rail_policy": Words('"round-robin"'),
    "machine.packet.router": Words('"input-queued"'),
    "machine.packet.crossbar_bandwidth": Words('"4 GB/s"', beside=_CROSSBAR),
    "machine.packet.crossbar_speedup": Words("1.5", beside=_CROSSBAR),
    "machine.packet.output_buffer_bytes": Words('"32 KiB"', beside=_CROSSBAR),
    "machine.packet.arbitration": Words('"round-robin"', beside=_CROSSBAR),
    "machine.packet.crossing_requires": Words('"credit"', beside=_CROSSBAR),
    "machine.packet.delivery": Words('"head"'),
    "machine.packet.congestion_control": Words('"per-flow-throttle"'),
    "machine.packet.congestion_threshold_bytes": Words('"64 KiB"', beside=_CONGESTION),
    "machine.packet.congestion_delay": Words('"2 us"', beside=_CONGESTION),
    "machine.packet.congestion_recovery": Words('"10 us"', beside=_CONGESTION),
    "workload.synthetic.n_jobs": Words("500", "how many jobs are made"),
    "workload.synthetic.mean_nodes": Words("4.5", "mean size of a job"),
    "workload.synthetic.sizes": Words(
        "[4, 8, 16]", "the only sizes that jobs have, each half as often as the one before"
    ),
    "workload.synthetic.run_time_range": Words('["1 min", "1 h"]', "shortest and longest run time"),
    "workload.synthetic.median_run_time": Words('"10 min"'),
    "workload.synthetic.load": Words(
        "0.9", "utilisation of the machine that jobs arrive for; all arrive at 0 if left out"
    ),
    "workload.synthetic.cluster": Words(
        '"kalos"',
        "made jobs with the published sizes and run times of this GPU cluster",
        allowed='"seren" or "kalos"',
    ),
    "workload.synthetic.requested_factor": Words("[1.0, 2.0]"),
    "workload.log": Words('"log.swf"'),
    "workload.known_log": Words('"thunder"', beside=_LOG),
    "workload.processors_per_node": Words("4", beside=_LOG),
    "workload.node_field": Words('"requested"', beside=_LOG),
    "workload.statuses": Words("[1]", beside=_LOG),
    "workload.max_nodes": Words("1024", beside=_LOG),
    "workload.min_run_time": Words('"10 s"'),
    "workload.start": Words('"1 h"', beside=_LOG),
    "workload.end": Words('"30 d"', beside=_LOG),
    "workload.month": Words('"2018-10"', beside=_LOG),
    "workload.days": Words("7.0", beside=_LOG),
    "workload.first_jobs": Words("1000"),
    "workload.arrival_factor": Words("0.5"),
    "workload.size_factor": Words("0.25"),
    "workload.sizes": Words("[4, 8, 16]"),
    "workload.all_at_zero": Words("true"),
    "workload.run_times": Words('"to-walltime"'),
    "workload.walltimes": Words('"exact"'),
    "workload.larger_jobs": Words('"drop"'),
    "queue.policies": Words(
        '["random", "jigsaw"]',
        "placement policies to compare; the first is the baseline",
        "policies",
    ),
    "queue.order": Words('"wfp"', "of the waiting jobs", "orders"),
    "queue.backfill": Words(
        '"conservative"', "how jobs overtake the head of the queue", "backfills"
    ),
    "queue.decider": Words(
        '"shortest-that-fits"',
        "whoever decides which job starts next, in place of backfill; or a class in a file of your "
        'own, "agent.py:Agent" ([learning](learning.md))',
        "deciders",
    ),
    "queue.decider_files": Words(
        '["weights.json"]',
        "files that a class of your own is made with",
        beside=('queue.decider = "agent.py:Agent"',),
        allowed="a list of files",
    ),
    "queue.placement_rules": Words(
        '["random", "slurm-linear"]',
        "policies that a decider can name for a job, beside the one that it runs under",
        "policies",
        beside=('queue.decider = "easy"',),
    ),
    "queue.window": Words("50", "jobs behind the head that backfilling looks at"),
    "queue.overrun": Words('"cut"', "a job past its walltime goes on, or ends there"),
    "queue.estimates": Words('"actual"', "run times that the placement is told", "estimates"),
    "queue.run_time_model": Words('"coupled-flow"', "where run times come from", "runtime-models"),
    "queue.bandwidth_need": Words(
        '["0.5 GB/s", "1 GB/s"]',
        "what jobs need, for policies that place by it: one value, or several of which each job "
        "draws one",
    ),
    "queue.scenario": Words('"20%"', names="scenarios"),
    "queue.speeds_up": Words('["jigsaw"]', names="policies"),
    "queue.measured.table": Words('"speedups.csv"'),
    "queue.measured.bound": Words('"high"'),
    "queue.measured.rounds": Words("3"),
    "queue.measured.runtime_reference": Words('"isolated"'),
    "queue.coupled.runtime_reference": Words('"contended-baseline"'),
    "queue.coupled.periods": Words("8"),
    "queue.coupled.phases": Words("8"),
    "queue.coupled.message_scale": Words("0.1"),
    "queue.coupled.tolerance": Words("0.1"),
    "queue.coupled.audit": Words("0.05"),
    "queue.coupled.max_simulations": Words("1000"),
    "queue.partition_bisection.bound_jobs": Words("0.4", beside=_MENU),
    "queue.partition_bisection.communication": Words("0.5", beside=_MENU),
    "queue.partition_bisection.logged_menu": Words('"mira-proposed"', beside=_MENU),
    "queue.grace": Words('"60 s"'),
    "queue.dependencies": Words('"keep"'),
    "queue.partitions.name": Words('"batch"'),
    "queue.partitions.nodes": Words('"0-7"'),
    "queue.partitions.priority": Words("10"),
    "queue.partitions.factor": Words("0.5"),
    "queue.partitions.max_walltime": Words('"24 h"'),
    "queue.partitions.max_nodes": Words("64"),
    "queue.partitions.log_names": Words('"regular,normal"'),
    "queue.partitions.default": Words("true"),
    "queue.partitions.shared": Words("false"),
    "queue.outages.file": Words('"outages.csv"'),
    "queue.outages.after_failure": Words('"requeue"'),
    "queue.fair_share.by": Words('"account"'),
    "queue.fair_share.half_life": Words('"72 h"'),
    "queue.multifactor.age_weight": Words("500"),
    "queue.multifactor.size_weight": Words("100"),
    "queue.multifactor.partition_weight": Words("10"),
    "queue.multifactor.fair_share_weight": Words("1000"),
    "queue.multifactor.max_age": Words('"72 h"'),
    "queue.multifactor.by": Words('"account"'),
    "queue.multifactor.half_life": Words('"72 h"'),
    "communication.ranks_per_node": Words("4", "processes on each node"),
    "communication.task_mapping": Words(
        '"in-order"', "which rank sits on which node", "task-mappings"
    ),
    "communication.together": Words(
        '"always"',
        'jobs compute between iterations, by their fractions ("by-share"), or communicate "always"',
        allowed='`"by-share"` or `"always"`',
    ),
    "analysis.bounds": Words(
        "true", "what the halves of the machine let through, in the tables and on the page"
    ),
    "communication.from": Words(
        '"seren-links"', "what the communication fractions of all jobs are drawn from", "mixes"
    ),
    "communication.fraction.distribution": Words(
        '"beta"', "what the communication fractions of all jobs are drawn from", beside=_FRACTION
    ),
    "communication.fraction.mean": Words("0.2", "mean of the fractions", beside=_FRACTION),
    "communication.fraction.spread": Words(
        "0.05", "standard deviation of the fractions over jobs", beside=_FRACTION
    ),
    "communication.fraction.quantiles": Words(
        "[0.0, 0.2, 0.9]",
        "fractions that some share of the jobs is below, from none of them to all",
        beside=_TABLE,
    ),
    "communication.fraction.at": Words(
        "[0.0, 0.25, 1.0]",
        "those shares of the jobs, from 0 to 1; evenly spaced if left out",
        beside=_TABLE,
    ),
    "communication.fraction.size_correlation": Words(
        "0.5",
        "rank correlation (Spearman's) of a job's fraction with its nodes, by a Gaussian copula; "
        "the distribution stays as it is",
        beside=_FRACTION,
    ),
    "communication.io.gateways": Words(
        '"0-3,81"',
        "nodes that no job gets and every job writes to: a host list, or numbers",
        beside=_STEADY,
    ),
    "communication.io.drive": Words(
        "0.02", "share of the time for which a job's node keeps its link busy with I/O", beside=_IO
    ),
    "communication.io.message_bytes": Words(
        '"1 MiB"', "what a node writes at once, then waiting for an answer", beside=_IO
    ),
    "communication.mix.pattern": Words('"halo3d"', "who sends to whom", "patterns"),
    "communication.mix.weight": Words("2.0", "share of the jobs, against the other entries"),
    "communication.mix.message_bytes": Words('"64 KiB"', "size of the pattern's messages"),
    "communication.mix.node_bytes": Words(
        '"1 MiB"', "what a node sends in an iteration, in the mean, instead of message_bytes"
    ),
    "communication.mix.iterations": Words("3", "how often the pattern is repeated"),
    "communication.mix.communication_fraction": Words(
        "[0.2, 0.6]",
        "part of a job's run time in which it communicates, or the ends of what it is drawn from",
    ),
    "communication.mix.nodes": Words("[2, 8]", "sizes of the jobs that the entry is for"),
    "communication.mix.file": Words('"app.goal"', "of a pattern that is read from one"),
    "communication.mix.parameters": Words(
        "{ grid = [2, 2, 4] }", "the pattern's own keys (netcosim describe PATTERN)"
    ),
    "run.name": Words('"first try"', "title of the page"),
    "run.seed": Words("7", "of all chance"),
    "run.repetition": Words("{ from = 0, to = 4, step = 1 }", "changes nothing but the draws"),
    "run.snapshots": Words(
        "5", "moments of the schedule that are sent as packets; 0: the queue alone"
    ),
    "run.only_snapshot": Words("0", "the one of them, from 0, that is sent; for a sweep over them"),
    "run.measure": Words('"paired"', "how snapshots are measured", "measures", _PAIRED[:1]),
    "run.paired.repeats": Words("8.0", beside=_PAIRED),
    "run.paired.max_iterations": Words("16"),
    "run.steady.share": Words('"drive"', beside=_STEADY),
    "run.steady.phases": Words('"locked"', beside=_STEADY),
    "run.steady.noise": Words("0.1", beside=_STEADY),
    "run.steady.precision": Words("0.02", beside=_STEADY),
    "run.steady.least_iterations": Words("32", beside=_STEADY),
    "run.steady.most_iterations": Words("512", beside=_STEADY),
    "run.steady.warm_up": Words("0.5", beside=_STEADY),
    "run.steps.phases": Words('"locked"', beside=_STEPS),
    "run.steps.noise": Words("0.1", beside=_STEPS),
    "run.steps.periods": Words('"equal"', beside=_STEPS),
    "run.steps.iterations": Words("300", beside=_STEPS),
    "run.steps.redraws": Words("8", beside=_STEPS),
    "run.placed": Words('"empty-small-first"', "where jobs of a snapshot sit", "measures", _STEADY),
    "run.confidence": Words("0.9", "of the intervals"),
    "run.threads": Words('"auto"', 'a number or "auto": share one packet simulation; same results'),
    "run.observables": Words('["runs", "bins"]', "more tables on each schedule", "observables"),
    "run.keep": Words('"all"', 'beside the tables: "tables", "schedules" or "all"'),
    "policies.cobalt.menu": Words('"menu.csv"', beside=_OWN_MENU),
    "policies.cobalt.wires": Words(
        '"wires.json"', beside=(*_OWN_MENU, 'policies.cobalt.menu = "menu.csv"')
    ),
    "policies.cobalt.midplanes": Words(
        '["m0", "m1"]', beside=(*_OWN_MENU, 'policies.cobalt.menu = "menu.csv"')
    ),
    "policies.cobalt-sl.menu": Words('"menu.csv"', beside=_OWN_MENU),
    "policies.cobalt-sl.wires": Words(
        '"wires.json"', beside=(*_OWN_MENU, 'policies.cobalt-sl.menu = "menu.csv"')
    ),
    "policies.cobalt-sl.midplanes": Words(
        '["m0", "m1"]', beside=(*_OWN_MENU, 'policies.cobalt-sl.menu = "menu.csv"')
    ),
    "policies.cobalt-pf.menu": Words('"menu.csv"', beside=_OWN_MENU),
    "policies.cobalt-pf.wires": Words(
        '"wires.json"', beside=(*_OWN_MENU, 'policies.cobalt-pf.menu = "menu.csv"')
    ),
    "policies.cobalt-pf.midplanes": Words(
        '["m0", "m1"]', beside=(*_OWN_MENU, 'policies.cobalt-pf.menu = "menu.csv"')
    ),
    "policies.cobalt-combo.menu": Words('"menu.csv"', beside=_OWN_MENU),
    "policies.cobalt-combo.wires": Words(
        '"wires.json"', beside=(*_OWN_MENU, 'policies.cobalt-combo.menu = "menu.csv"')
    ),
    "policies.cobalt-combo.midplanes": Words(
        '["m0", "m1"]', beside=(*_OWN_MENU, 'policies.cobalt-combo.menu = "menu.csv"')
    ),
    "policies.slurm-tree.switches": Words("1"),
    "policies.slurm-tree.max_wait": Words('"10 min"', beside=("policies.slurm-tree.switches = 1",)),
    "policies.slurm-tree-coded.switches": Words("1"),
    "policies.slurm-tree-coded.max_wait": Words(
        '"10 min"', beside=("policies.slurm-tree-coded.switches = 1",)
    ),
    "policies.slurm-block.block_sizes": Words("[2, 4, 16]"),
    "policies.slurm-block.block_level": Words('"leaf"'),
    "policies.kueue-required.level": Words('"pod"'),
    "policies.kueue-required.profile": Words('"least-free"'),
    "policies.kueue-required.lowest_level": Words('"leaf"'),
    "policies.kueue-preferred.level": Words('"leaf"'),
    "policies.kueue-preferred.profile": Words('"least-free"'),
    "policies.kueue-preferred.lowest_level": Words('"leaf"'),
    "policies.kueue-unconstrained.profile": Words('"best-fit"'),
    "policies.kueue-unconstrained.lowest_level": Words('"leaf"'),
    "policies.pbs-placement-sets.levels": Words('["leaf", "pod"]'),
    "policies.pbs-placement-sets.do_not_span": Words("true"),
    "policies.group-spread.level": Words('"pod"'),
    "policies.replay.unlisted": Words('"first-free"'),
}
