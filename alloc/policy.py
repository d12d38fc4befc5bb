"""Interface of allocation policies: a state of the machine that serves requests."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.kinds import need_nodes, need_real
from netsim.limits import MAX_INDEX
from netsim.parameters import Parameter, checked, parameters_of
from netsim.short_repr import short_repr
from netsim.topologies.checks import need_int
from netsim.topology import Topology

if TYPE_CHECKING:
    from alloc.fattree.kernels_places import Places


def _no_links() -> NDArray[np.int32]:
    return np.empty(0, dtype=np.int32)


@dataclass(frozen=True)
class Request:
    """A job as an allocator sees it.

    Attributes
    ----------
    job_id : int
    n_nodes : int
    end_s : float or None
        When the job would end by its requested walltime, if it started now; for
        walltime-aware policies.
    bandwidth_Bps : float or None
        Bandwidth the job needs, for policies that place by it: of each of its links
        (`alloc.fattree.lc_s`), of each of its nodes (`alloc.torus.contention_aware`).
    wait_s : float
        How long the job will have waited, for policies that relent (`Policy.relents_after_s`).
    nodes : (k,) int32 or None
        Nodes of the job in the log, for policies that replay it (`Policy.replays`).

    Examples
    --------
    >>> import netcosim as nc
    >>> nc.Request(job_id=7, n_nodes=64)
    Request(job_id=7, n_nodes=64, end_s=None, bandwidth_Bps=None, wait_s=0.0)
    """

    job_id: int
    n_nodes: int
    end_s: float | None = None
    bandwidth_Bps: float | None = None
    wait_s: float = 0.0
    nodes: NDArray[np.int32] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        # plain types first: a queue makes millions of requests
        if type(self.job_id) is not int:
            need_int("Request", "job_id", self.job_id, -MAX_INDEX)
        if type(self.n_nodes) is not int:
            need_int("Request", "n_nodes", self.n_nodes, -MAX_INDEX)
        # a log may begin before 0
        for what, value, low in (
            ("end_s", self.end_s, -inf),
            ("bandwidth_Bps", self.bandwidth_Bps, 0),
        ):
            if value is not None and not (type(value) is float and value >= low):
                need_real("Request", what, value, low, inf)
        if not (type(self.wait_s) is float and self.wait_s >= 0):
            need_real("Request", "wait_s", self.wait_s, 0, inf)
        if self.nodes is not None:
            need_nodes("Request", self.nodes, self.n_nodes)


@short_repr()
@dataclass(frozen=True, eq=False)
class Placement:
    """Nodes and links of a job."""

    job_id: int
    nodes: NDArray[np.int32]
    """(k,) int32. In the order in which ranks are laid on them; k >= the requested number where a
    policy rounds up."""
    links: NDArray[np.int32] = field(default_factory=_no_links)
    """(m,) int32. Directed router-to-router links reserved exclusively for the job; empty where the
    policy reserves none."""


@short_repr("name", "topology.name", "n_free")
class Policy(ABC):
    """A policy with its view of the machine.

    Subclasses are registered in `alloc.registry` under ``name`` with a line of
    ``description``. The state is free nodes (and links), changed by `allocate`,
    only `release`, `hold` and `unhold`. Random policies take a generator when they are made.
    """

    registered_in: ClassVar[str] = "alloc.registry:POLICIES"

    name: str
    description: str
    families: tuple[str, ...] = ()
    """The topology families that it is for; empty: all."""
    isolates: bool = False
    """Whether no two placements can ever share a router-to-router link."""
    kernels: str = ""
    """The kernels that it runs, by the name with which their compilation is announced; or none."""
    counts_only: bool = False
    """Whether any free nodes will do: `allocate` succeeds if and only if n_nodes <= n_free,
    and takes exactly n_nodes. A queue then finds reservations by counting."""

    deterministic: bool = False
    """Whether nothing is drawn from the generator: clones share it, and a queue that needs no
    places and goes by counts need not ask for them."""

    walltime_aware: bool = False
    """Whether `Request.end_s` affects which nodes a job gets."""

    holds_any: bool = False
    """Whether `hold` may be given any nodes and links, not only a placement of its own. A queue
    keeps jobs to a partition by holding all other nodes while it searches for a placement."""

    without_need: str = ""
    """For policies that read `Request.bandwidth_Bps`: what a job without a need gets."""

    has_kernel_state: bool = False
    """Whether `kernel_state` returns one; a subclass has to say so again for itself."""

    pairs: bool = False
    """Whether `fill_partner` may start a second job beside one that has just been placed."""

    replays: bool = False
    """Whether `Request.nodes` determines which nodes a job gets."""

    relents_after_s: float | None = None
    """Wait from which on a request may succeed that failed before, though nothing was released."""

    parameters: ClassVar[type | None] = None
    """The dataclass that declares its keys in ``[policies.NAME]`` (`netsim.parameters`); it is
    then given as the third argument."""

    def __init__(self, topology: Topology, rng: np.random.Generator) -> None:
        self.check_family(topology)
        self.topology = topology
        self.rng = rng

    @classmethod
    def declares(cls) -> Mapping[str, Parameter]:
        """Return the keys of a config's ``[policies.NAME]`` that it takes."""
        return {} if cls.parameters is None else parameters_of(cls.parameters)

    @classmethod
    def from_config(
        cls, topology: Topology, rng: np.random.Generator, given: Mapping[str, object]
    ) -> Policy:
        """Return the policy for an empty machine, with parameters by name."""
        kind: Any = cls
        if cls.parameters is None:
            if given:
                name = next(iter(given))
                raise NetcosimError(f"policy {cls.name}: unknown parameter {name!r}; it takes none")
            policy: Policy = kind(topology, rng)
        else:
            values = checked(f"policy {cls.name}", cls.parameters, given)
            policy = kind(topology, rng, cls.parameters(**values))
        return policy

    @classmethod
    def serves(cls, family: str) -> bool:
        """Return whether it works on a topology family."""
        return not cls.families or family in cls.families

    @classmethod
    def check_family(cls, topology: Topology) -> None:
        """Raise `NetcosimError` for a topology whose family the policy does not serve."""
        if not cls.serves(topology.family):
            raise NetcosimError(
                f"policy {cls.name!r} is for the {' and the '.join(cls.families)}; "
                f"{topology.name} is a {topology.family}"
            )

    @property
    @abstractmethod
    def n_free(self) -> int:
        """Free nodes (held ones are not free)."""

    def fits_empty(self, n_nodes: int) -> bool:
        """Return whether a job of this size can run on the empty machine at all."""
        return 1 <= n_nodes <= self.topology.n_nodes

    def may_place(
        self, n_nodes: NDArray[np.int64], bandwidth_Bps: NDArray[np.float64] | None = None
    ) -> NDArray[np.bool_]:
        """Return False for requests that cannot be placed now, by their nodes and bandwidths.

        A queue checks many requests at once before it tries them one by one. True decides nothing.
        """
        return np.ones(len(n_nodes), dtype=np.bool_)

    def kernel_state(self, needs_Bps: Sequence[float | None]) -> Places:
        """Return a copy of the state, without holds, for queues that are compiled.

        ``needs_Bps`` has `Request.bandwidth_Bps` of each kind of job.
        """
        raise NotImplementedError(self.name)

    @abstractmethod
    def allocate(self, request: Request) -> Placement | None:
        """Place a job and take its resources; None (and nothing changed) if it cannot be placed.

        A size (and bandwidth) that cannot be placed must keep failing until something is
        released, no matter what else is placed or held: queues do not retry. Two exceptions are
        declared by `replays` (it holds for the same nodes) and `relents_after_s`.

        A second request of a job is for further nodes, in a placement of its own. Partitions of a
        torus belong to a job, which can have one.
        """

    def fill_partner(
        self, lead: Request, waiting: Iterable[Request]
    ) -> tuple[int, Placement] | None:
        """Place a waiting job beside one just placed, if the policy pairs jobs.

        ``waiting`` is in queue order, as if started now. Returns the position among them and the
        placement, taken; None if there is none.
        """
        return None

    @abstractmethod
    def release(self, placement: Placement) -> None:
        """Give back what `allocate` took."""

    @abstractmethod
    def hold(self, placement: Placement) -> None:
        """Set resources aside, busy or free, so that `allocate` uses none of them.

        This is the reservation of a backfilling queue: the nodes and links found for the head
        job at its shadow time. At most one hold at a time.
        """

    @abstractmethod
    def unhold(self) -> None:
        """Lift the hold."""

    @abstractmethod
    def clone(self) -> Policy:
        """Return an independent copy of the state without holds.

        The generator is copied too, unless the policy is ``deterministic``.
        """
