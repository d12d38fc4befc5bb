"""Calibration of the packet model: load-latency curves beside closed forms and BookSim2"""
