"""Load-latency and load-throughput curves of the network alone."""
