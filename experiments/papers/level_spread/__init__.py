"""Zhang et al., Level-Spread."""
