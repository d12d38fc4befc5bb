"""Job logs and generators of netcosim."""
