"""A fixed benchmark for agents that learn to schedule where jobs share a network."""
