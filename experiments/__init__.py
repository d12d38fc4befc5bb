"""Experiments of netcosim: configs, sweeps, stores, figures and one folder a paper."""
