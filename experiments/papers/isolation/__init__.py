"""The verdict: assumed and measured speed-ups of isolated jobs."""
