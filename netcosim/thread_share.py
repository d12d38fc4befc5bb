"""Threads of packet simulations that fit the machine beside other processes, and words on them."""

from __future__ import annotations

from experiments.config import Config
from experiments.config_content import checked_config
from experiments.cosim_result import CosimResult
from experiments.points import replaced
from netsim.packet.thread_count import AUTO, available_cores, threads_used, why_one_thread


def with_threads_that_fit(config: Config, processes: int) -> tuple[Config, str | None]:
    """The config with no more threads than ``processes`` of it leave cores for.

    Parameters
    ----------
    config : Config
    processes : int
        That compute such a config at the same time. Beside others "auto" is one thread: points
        side by side use the cores better.

    Returns
    -------
    config : Config
    line : str or None
        What the user should know.
    """
    asked = config.run.threads
    if asked == AUTO:
        return (config, None) if processes == 1 else (_with_threads(config, 1), None)
    cores = available_cores()
    most = max(1, cores // processes)
    if int(asked) <= most:
        return config, None
    beside = f"{processes} processes on {cores} cores" if processes > 1 else f"{cores} cores"
    line = f"run.threads = {asked} is more than {beside} bear: {most} (results are the same)"
    return _with_threads(config, most), line


def _with_threads(config: Config, threads: int) -> Config:
    return checked_config(replaced(config.resolved(), {"run.threads": threads}))


def threads_line(result: CosimResult) -> str | None:
    """On how many threads packets were simulated, and why on one; None if nobody asked."""
    asked = result.config.run.threads
    if asked == 1:
        return None
    routing, packets = result.machine.routing, result.machine.packets
    why = why_one_thread(routing, packets)
    if why:
        return f"packets were simulated on one thread: {why}"
    used = threads_used(routing, packets, asked)
    most = "up to " if asked == AUTO and used > 1 else ""
    return f"packets were simulated on {most}{used} thread{'s' if used > 1 else ''}"
