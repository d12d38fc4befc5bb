"""Rules of a site: partitions, dependencies, outages, access."""
