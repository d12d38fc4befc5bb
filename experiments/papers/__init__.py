"""Published evaluations, done again: one module a paper, the paper's numbers beside ours."""

from experiments.papers.registry import PAPERS

__all__ = ["PAPERS"]
