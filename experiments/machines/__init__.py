"""Machines of today: measured on them and simulated, and how scattered their jobs are"""
