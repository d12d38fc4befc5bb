"""Topology families: functions of named parameters that return a `Topology`."""
