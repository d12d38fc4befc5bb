"""Routings: tables for the kernels, plain functions for the reference and the tests."""
