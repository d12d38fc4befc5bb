"""Small configs of studies, of their tests and of those of pages."""

GAIN = """
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

CURVE = """
[machine]
family = "dragonfly"
p = 1
a = 2
g = 3
[curve]
routings = ["minimal", "valiant"]
loads = [0.2, 0.6]
[workload]
known_log = "not looked at here"
[run]
seed = 5
snapshots = 3
"""
