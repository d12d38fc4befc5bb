"""Slurm without a topology plugin: best fit over runs of consecutive nodes."""

from __future__ import annotations

import numpy as np

from alloc.nodes import NodePolicy, Nodes


class SlurmLinear(NodePolicy):
    """The tightest run of consecutive free nodes that holds the job, else the longest runs.

    What Slurm does without a network topology: "the nodes as a one-dimensional array",
    on a best-fit basis (topology guide), in select/linear and in select/cons_tres with
    topology/flat alike (26.11). As long as no run holds the nodes that are still missing, the
    longest is used up; then the shortest that holds the rest. Ties go to the lowest number, and the
    lowest-numbered nodes of the last run are taken. Ranks are laid in order of node numbers.
    """

    name = "slurm-linear"
    description = "Slurm without a topology plugin: best fit over runs of consecutive free nodes"
    counts_only = True

    def _select(self, n_nodes: int) -> Nodes:
        nodes = np.flatnonzero(self._free)
        begins = np.flatnonzero(np.diff(nodes, prepend=-2) > 1)
        lengths = np.diff(begins, append=len(nodes))
        longest = np.argsort(-lengths, kind="stable")
        # Runs that are used up before one is left that holds the rest.
        missing = n_nodes - np.cumsum(lengths[longest]) + lengths[longest]
        n_whole = int(np.argmax(lengths[longest] >= missing))
        rest = int(missing[n_whole])
        left = longest[n_whole:]
        tightest = left[lengths[left] >= rest]
        last = int(tightest[np.lexsort((tightest, lengths[tightest]))[0]])
        taken = [nodes[begins[k] : begins[k] + lengths[k]] for k in longest[:n_whole]]
        taken.append(nodes[begins[last] : begins[last] + rest])
        return np.sort(np.concatenate(taken))
