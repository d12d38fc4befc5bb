"""The networks of netcosim, by packets and by flows: topologies, routing, engines, statistics."""
