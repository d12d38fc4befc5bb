"""Dragonfly policies, one a file."""
