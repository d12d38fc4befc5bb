"""Queue and network joined, for netcosim: coupled and measured run times, jobs on a network."""
