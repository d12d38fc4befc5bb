"""What queues of Blue Gene machines add: Cobalt's backfilling, run times by partition."""
