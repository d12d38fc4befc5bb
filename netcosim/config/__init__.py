"""Configs: sections, expansion and what nothing reads."""
