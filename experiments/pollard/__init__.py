"""Pollard et al., Evaluation of an Interference-free Node Allocation Policy, SC'18"""
