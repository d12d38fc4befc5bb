"""Building blocks of papers' figures."""
