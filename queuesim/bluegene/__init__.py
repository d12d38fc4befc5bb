"""Queues of Blue Gene machines: Cobalt's backfilling, run times by partition."""
