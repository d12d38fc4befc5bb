"""Allocation policies of netcosim: which nodes (and links) a job gets."""
