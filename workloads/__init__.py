"""Job logs and generators."""
