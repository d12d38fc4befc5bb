"""Torus policies, one a file."""
