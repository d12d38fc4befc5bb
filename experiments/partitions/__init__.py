"""Oltchik and Schwartz, Network Partitioning and Avoidable Contention"""
