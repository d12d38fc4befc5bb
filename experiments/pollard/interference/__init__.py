"""The topology-aware paper's isolated and shared workloads."""
