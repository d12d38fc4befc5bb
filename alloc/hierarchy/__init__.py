"""Policies of living schedulers, which see any machine as nested domains of nodes."""
