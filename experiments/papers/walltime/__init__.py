"""Tang et al., walltime-aware placement."""
