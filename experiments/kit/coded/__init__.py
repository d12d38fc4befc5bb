"""Policies as their authors' or schedulers' programs have them, and other readings of papers."""
