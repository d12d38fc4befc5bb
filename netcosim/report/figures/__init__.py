"""Figures that the pages of runs and sweeps show, and their files."""
