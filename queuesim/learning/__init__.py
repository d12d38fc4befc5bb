"""Decisions of agents as episodes."""
