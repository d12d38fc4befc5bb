"""The queue of netcosim: order, backfilling, run-time models, metrics."""
