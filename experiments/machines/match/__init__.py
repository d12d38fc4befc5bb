"""Benchmark outputs of real machines beside simulations of the same tests."""
