"""What contention costs the queue of an AI cluster, and what an operator should buy first."""
