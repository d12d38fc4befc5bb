"""Blue Gene machines: midplanes, a partition menu, exclusive wiring, and policies for them."""
