"""The environments' names; Gymnasium finds them by the package's entry point."""

from __future__ import annotations

ENVIRONMENTS = {
    "netcosim/Schedule-v0": "Schedule",
    "netcosim/Place-v0": "Place",
    "netcosim/CoSchedule-v0": "CoSchedule",
}
"""Names and classes of `experiments.gym.environments`."""


def register() -> None:
    """Tell Gymnasium of the environments."""
    from gymnasium.envs.registration import register as told

    for name, kind in ENVIRONMENTS.items():
        told(id=name, entry_point=f"experiments.gym.environments:{kind}")
