"""Points, sweeps, runs and the store of their results."""
