"""Schedulers of Batsim, as external schedulers: ``python -m queuesim.batsim COMMAND``."""
