"""Placed jobs on a network: what they send, alone and together."""
