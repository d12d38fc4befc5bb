"""Workloads that fill a fat-tree, isolated and side by side, by iteration."""
