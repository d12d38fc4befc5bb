"""What `netcosim validate` measures: groups of rows, each a number beside what it should be."""
