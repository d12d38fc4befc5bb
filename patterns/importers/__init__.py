"""Recorded runs of MPI programs made into GOAL schedules."""
