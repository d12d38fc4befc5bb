"""Environments for agents that learn to schedule: a job log, a machine and its contention.

Three of them, made from any config (`experiments.gym.environments`)::

    import gymnasium

    env = gymnasium.make("netcosim/Schedule-v0", config="mine.toml")

Gymnasium is an extra (``pip install netcosim[rl]``), and nothing of it is imported elsewhere.
"""
