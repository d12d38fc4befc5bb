"""Job logs of schedulers, made into workloads."""
