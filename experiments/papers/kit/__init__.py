"""What papers' figures are made of."""
