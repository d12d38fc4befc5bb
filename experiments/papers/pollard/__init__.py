"""Pollard et al., topology-aware placement."""
