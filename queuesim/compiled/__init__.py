"""The queue compiled, for policies that place by node count; `queuesim.run` is the reference."""
