"""What studies share: config, points, parts, results file, page and exported files."""
