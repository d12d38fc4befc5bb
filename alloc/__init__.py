"""Allocation policies: which nodes (and links) a job gets."""
