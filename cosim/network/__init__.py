"""Placed jobs on a network: their traffic, isolated and together."""
