"""LaaS: links as a service, jobs over pods rounded up to whole leaves."""

from __future__ import annotations

from alloc.fattree.jigsaw import Jigsaw


class Laas(Jigsaw):
    """A job and its links within a pod, or in whole leaves over pods.

    Zahavi, Shpiner, Rottenstreich, Kolodny, Keslassy: "Links as a Service (LaaS)", ANCS 2016, as
    their program does it: the search for the last of the equal leaves (or pods) fails at once when
    no remainder fits, so it is not exhaustive. A job that spans pods is rounded up to whole leaves;
    all their nodes are in the placement. Jobs of a whole pod and more never try the two-level
    search. One slip of the program is left out: it keeps more links than a job needs where the
    common free positions have gaps (`experiments.kit.coded.laas.LaasCoded` has it).
    """

    name = "laas"
    description = "isolated nodes and links, jobs over pods rounded up to whole leaves"
    has_kernel_state = True
    _full_leaves = True
