"""What can be told of a schedule, by name."""
