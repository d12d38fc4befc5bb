"""The queue: order, backfilling, run-time models, metrics."""
