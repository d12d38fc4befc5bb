"""Importers for logs of schedulers that are met less often."""
