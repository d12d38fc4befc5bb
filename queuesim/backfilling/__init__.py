"""Backfilling methods."""
