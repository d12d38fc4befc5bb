"""Published evaluations, reproduced: one package a paper, with the paper's numbers."""

from experiments.papers.registry import PAPERS

__all__ = ["PAPERS"]
