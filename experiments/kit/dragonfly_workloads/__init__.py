"""Workloads of two kinds of jobs on a dragonfly, under policies, in packets."""
