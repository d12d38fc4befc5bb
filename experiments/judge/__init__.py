"""The judge: whether a scheduler's topology setting pays, from a log, a machine and policies."""
