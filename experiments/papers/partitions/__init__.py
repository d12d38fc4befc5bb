"""Oltchik and Schwartz, network partitioning."""
