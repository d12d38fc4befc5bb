"""The packet engines: `reference` (SimPy) and `engine` (Numba), one model."""
