"""A small config of `netcosim isolation-gain`, of its tests and of those of pages."""

CONFIG = """
[machine]
family = "fattree"
radix = 4
bandwidth = "5 GB/s"

[workload]
all_at_zero = true
larger_jobs = "drop"

[workload.synthetic]
n_jobs = 30
mean_nodes = 4

[queue]
policies = ["baseline", "jigsaw", "random"]

[[communication.mix]]
pattern = "all-to-all"
node_bytes = "16 KiB"
communication_fraction = 0.5

[run.steady]
least_iterations = 4
most_iterations = 8
"""
