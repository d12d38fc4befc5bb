"""Schedulers in other programs, over standard input and output."""
