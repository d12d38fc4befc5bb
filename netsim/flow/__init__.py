"""The flow engine: max-min fair rates."""
