"""Panels and bars that the figures of papers and commands are made of, and their style."""
