"""Orders of the waiting jobs."""
