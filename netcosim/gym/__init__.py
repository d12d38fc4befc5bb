"""Environments for agents that learn to schedule: a job log, a machine and its contention.

Three of them, built from any config (`netcosim.gym.environments`). Importing this package
registers them with Gymnasium, which imports the part before the colon by itself::

    import gymnasium

    env = gymnasium.make("netcosim.gym:netcosim/Schedule-v0", config="mine.toml")

Gymnasium is an extra (``pip install netcosim[rl]``), and nothing of it is imported elsewhere.
"""

from __future__ import annotations

from netsim.errors import NetcosimError

try:
    from gymnasium.envs.registration import register
except ImportError:
    raise NetcosimError(
        'the environments need Gymnasium, which is not here: pip install "netcosim[rl]"'
    ) from None

ENVIRONMENTS = {
    "netcosim/Schedule-v0": "Schedule",
    "netcosim/Place-v0": "Place",
    "netcosim/CoSchedule-v0": "CoSchedule",
}
"""Names and classes of `netcosim.gym.environments`."""

for _name, _kind in ENVIRONMENTS.items():
    register(id=_name, entry_point=f"netcosim.gym.environments:{_kind}")
