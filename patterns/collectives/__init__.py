"""Collectives of a group of ranks: transfers of parts of a buffer in steps."""
