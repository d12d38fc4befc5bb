"""Pages of results, made from what a results file holds."""
