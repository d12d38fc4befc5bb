"""Machines of today: benchmarks that were measured on them, and how scattered their jobs are"""
