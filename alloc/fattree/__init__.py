"""Fat-tree policies, one a file."""
