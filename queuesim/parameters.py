"""The keys of orders, of a site's rules and of energy in a config, without these themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Gt, Le

from netsim.errors import NetcosimError
from netsim.limits import MAX_INDEX
from netsim.parameters import Example, NamesFile, OneOf, ReadIf, check_values, documented
from netsim.text_numbers import whole_number

if TYPE_CHECKING:
    from queuesim.site.outages import Outage

OWNERS = ("user", "account", "project")
_AGED = ReadIf(("age_weight",), bool, "queue.multifactor.age_weight is above 0")
_SHARED = ReadIf(("fair_share_weight",), bool, "queue.multifactor.fair_share_weight is above 0")
LABELS = ("partition", "account", "qos")
NUMBERS = ("user", "project")
BY = ("none", "order", "partition")
RATES = ("per_node_day", "per_leaf_day", "per_link_day")
_GIVEN = ReadIf(("nodes",), bool, "queue.quotas.nodes is given")
_SEVERAL = ReadIf(
    ("queue.partitions",), lambda listed: len(listed) > 1, "there are two or more partitions"
)


@dataclass(frozen=True)
class FairShare:
    """``[queue.fair-share]``: whose use of the machine counts, and for how long."""

    by: Annotated[str, "whose use counts", OneOf(OWNERS)] = "user"
    half_life_s: Annotated[float, "time in which what was used counts half", Gt(0)] = 604800.0

    def __post_init__(self) -> None:
        check_values("fair share", self)


@dataclass(frozen=True)
class Multifactor:
    """``[queue.multifactor]``: weights of the factors, and what they go by."""

    age_weight: Annotated[float, "of the time since the submission", Ge(0)] = 1000.0
    size_weight: Annotated[float, "of the nodes, larger jobs first", Ge(0), Example(100)] = 0.0
    partition_weight: Annotated[
        float,
        "of the partition's factor",
        Ge(0),
        ReadIf(("queue.partitions",), bool, "there are [[queue.partitions]]"),
        Example(10),
    ] = 0.0
    fair_share_weight: Annotated[float, "of the fair share", Ge(0), Example(1000)] = 0.0
    max_age_s: Annotated[float, "time after which a job's age counts in full", Gt(0), _AGED] = (
        604800.0
    )
    by: Annotated[str, "whose use counts for the fair share", OneOf(OWNERS), _SHARED] = "user"
    half_life_s: Annotated[float, "time in which what was used counts half", Gt(0), _SHARED] = (
        604800.0
    )

    def __post_init__(self) -> None:
        check_values("multifactor", self)


@dataclass(frozen=True)
class Attained:
    """``[queue.las]``: the queues of 2D-LAS."""

    thresholds_s: Annotated[
        Sequence[float],
        "attained service (nodes x time) at which a job moves to the next queue, as time on one "
        "node; ascending",
        Gt(0),
        Example(["1 h", "10 h"]),
    ] = (3600.0,)
    promote_after: Annotated[
        float | None,
        "a waiting job returns to the first queue when it has waited this many times as long as it "
        "has run (PromoteKnob); without it, never",
        Gt(0),
        Example(8.0),
    ] = None

    def __post_init__(self) -> None:
        check_values("las", self)
        if list(self.thresholds_s) != sorted({*self.thresholds_s}):
            raise NetcosimError(
                f"queue.las.thresholds = {list(self.thresholds_s)}; they must ascend"
            )


@dataclass(frozen=True)
class RuleKeys:
    """Rules that are keys of ``[queue]`` itself."""

    grace_s: Annotated[
        float,
        'how long past its walltime a job may run on under overrun = "cut"',
        Ge(0),
        ReadIf(("overrun",), lambda overrun: overrun == "cut", 'queue.overrun = "cut"'),
        Example("60 s"),
    ] = 0.0
    dependencies: Annotated[
        str, "jobs wait for their dependencies in the log", OneOf(("ignore", "keep"))
    ] = "ignore"

    def __post_init__(self) -> None:
        check_values("queue", self)


@dataclass(frozen=True)
class Partition:
    """A partition of the queue (``[[queue.partitions]]``); partitions may share nodes."""

    name: Annotated[str, "what it is called", Example("batch")] = "all"
    nodes: Annotated[
        str, 'a host list, "n[001-128]", or numbers, "0-127,256", or "all"', Example("0-7")
    ] = "all"
    priority: Annotated[float, "jobs of a higher one go first", _SEVERAL, Example(10)] = 0.0
    factor: Annotated[
        float,
        "its jobs' partition factor in the order multifactor",
        Ge(0),
        Le(1),
        ReadIf(
            ("queue.order", "queue.multifactor"),
            lambda order, weights: order == "multifactor" and weights.partition_weight > 0,
            'queue.order = "multifactor" and queue.multifactor.partition_weight is above 0',
        ),
        Example(0.5),
    ] = 0.0
    max_walltime_s: Annotated[
        float | None, "the longest walltime that it takes", Gt(0), Example("24 h")
    ] = None
    max_nodes: Annotated[
        int | None, "the most nodes that it gives to a job", Ge(1), Example(64)
    ] = None
    log_names: Annotated[
        str,
        'the log\'s names for it, where they differ from its own: "regular,normal"',
        _SEVERAL,
        Example("regular,normal"),
    ] = ""
    default: Annotated[bool, "runs the jobs whose partition is missing or not listed", _SEVERAL] = (
        False
    )
    shared: Annotated[
        bool, "whether jobs share its nodes, which is not modelled: false", Example(False)
    ] = False

    def __post_init__(self) -> None:
        check_values(f"partition {self.name!r}", self)
        if self.shared:
            raise NetcosimError(
                f"partition {self.name!r}: shared = true; jobs here have whole nodes, several on "
                "one node are not modelled: leave such a partition and its jobs out"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Its names, in the config and in the log."""
        names = (name.strip() for name in self.log_names.split(","))
        return tuple(dict.fromkeys((self.name, *filter(None, names))))


@dataclass(frozen=True)
class OutageFile:
    """``[queue.outages]``: a file of reservations and failures, and what becomes of the jobs."""

    file: Annotated[
        str | None,
        "a CSV file of reservations and failures of nodes",
        NamesFile,
        Example("outages.csv"),
    ] = None
    after_failure: Annotated[
        str,
        "a job on a node that fails ends, or goes back to the queue",
        OneOf(("end", "requeue")),
        ReadIf(("file",), lambda file: file is not None, "queue.outages.file is given"),
    ] = "end"

    def __post_init__(self) -> None:
        check_values("outages", self)

    def read(self) -> tuple[Outage, ...]:
        """Read the outages in the file; none without a file."""
        if self.file is None:
            return ()
        from queuesim.site.outages import read_outages

        return read_outages(self.file)


@dataclass(frozen=True)
class Failures:
    """``[queue.failures]``: random failures; the jobs on such nodes go back to the queue."""

    per_node_day: Annotated[
        float, "failures of a node in a day, in the mean", Ge(0), Example(0.0065)
    ] = 0.0
    per_leaf_day: Annotated[
        float,
        "failures of a leaf switch in a day, in the mean; all nodes (GPUs) on it are out",
        Ge(0),
        Example(1.7e-5),
    ] = 0.0
    per_link_day: Annotated[
        float,
        "failures of the link of a node (GPU) to its leaf in a day, in the mean; the node is out",
        Ge(0),
        Example(1.9e-5),
    ] = 0.0
    repair_s: Annotated[
        float,
        "time from a failure until the nodes are back",
        Gt(0),
        ReadIf(RATES, lambda *rates: any(rates), "a rate of queue.failures is above 0"),
        Example("2 h", beside={"per_node_day": 0.0065}),
    ] = 3600.0

    def __post_init__(self) -> None:
        check_values("failures", self)

    def __bool__(self) -> bool:
        return any(getattr(self, rate) for rate in RATES)


@dataclass(frozen=True)
class PreemptionKeys:
    """``[queue.preemption]``: what jobs preempt others by."""

    by: Annotated[
        str,
        'jobs preempt those of a lower level: of the order ("priority", "las"), or of the '
        "partitions' priorities",
        OneOf(BY),
        Example("order"),
    ] = "none"
    min_run_s: Annotated[
        float,
        "time that a job runs after each start before it may be preempted",
        Ge(0),
        ReadIf(
            ("by", "queue.quotas"),
            lambda by, quotas: by != "none" or bool(quotas.nodes),
            'queue.preemption.by is not "none", or queue.quotas.nodes is given',
        ),
        Example("10 min"),
    ] = 0.0

    def __post_init__(self) -> None:
        check_values("preemption", self)


@dataclass(frozen=True)
class QuotaKeys:
    """``[queue.quotas]``: the nodes that each virtual cluster may claim."""

    nodes: Annotated[
        Sequence[str],
        "nodes of each virtual cluster; jobs of others only borrow",
        Example(["vision: 6", "speech: 2"], beside={"by": "user"}),
    ] = ()
    by: Annotated[
        str,
        "the log's column that names a job's virtual cluster",
        OneOf((*LABELS, *NUMBERS)),
        _GIVEN,
    ] = "account"

    def __post_init__(self) -> None:
        check_values("quotas", self)
        self.of_name()

    def of_name(self) -> dict[str, int]:
        """Return the nodes of each virtual cluster, by name."""
        found: dict[str, int] = {}
        for entry in self.nodes:
            name, _, count = entry.rpartition(":")
            name = name.strip()
            nodes = whole_number(count.strip(), 0, MAX_INDEX)
            if not name or nodes is None:
                raise NetcosimError(
                    f"queue.quotas.nodes: {entry[:60]!r}; it must be a name and a number of nodes, "
                    '"NAME: 64"'
                )
            if name in found:
                raise NetcosimError(f"queue.quotas.nodes: {name!r} occurs twice; list it once")
            found[name] = nodes
        return found


@documented
@dataclass(frozen=True)
class Power:
    """``[machine.power]``: power of a machine's parts.

    The defaults are those of RAPS (ExaDigiT; Brewer et al., SC 2024) for a node with two CPUs of
    90 W idle and 280 W at full load, 74.26 W of memory, a NIC of 20 W, an SSD of 30 W, and a
    switch of 250 W, which includes its ports at any load.
    """

    node_idle_W: Annotated[float, "power of a node without a job", Ge(0)] = 304.26
    node_busy_W: Annotated[float, "power of a node with a job", Ge(0)] = 684.26
    switch_W: Annotated[float, "power of a switch", Ge(0)] = 250.0
    link_W: Annotated[float, "power of a link, one direction of a cable", Ge(0), Example(1.5)] = 0.0
    link_J_per_byte: Annotated[
        float, "energy of a byte on each link between switches", Ge(0), Example(1e-10)
    ] = 0.0

    def __post_init__(self) -> None:
        if self.node_busy_W < self.node_idle_W:
            raise NetcosimError(
                f"node_busy_W {self.node_busy_W:g} is below node_idle_W {self.node_idle_W:g}"
            )
