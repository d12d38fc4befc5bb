"""The command line, configs, sweeps, stores, figures and one module a paper."""
