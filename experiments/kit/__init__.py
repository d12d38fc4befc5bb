"""What studies share: papers and their figures, points and tables, `netcosim reproduce`."""
