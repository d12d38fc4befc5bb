"""Observables of a schedule, by name."""
