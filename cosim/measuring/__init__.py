"""Measures of what policies do to communication and run times."""
