"""Reproduction of a study's figures: points, analysis, drawing, files."""
