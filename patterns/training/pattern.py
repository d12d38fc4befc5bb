"""One iteration of training a transformer, as a pattern."""

from __future__ import annotations

from netsim.traffic import Program
from patterns.entry import Pattern
from patterns.training.layout import GROUPS
from patterns.training.program import program_of
from patterns.training.settings import TrainingSettings
from patterns.training.times import bytes_sent, communication_lines, computing_s, timeline


def training(
    n_ranks: int, message_bytes: int, iterations: int, settings: TrainingSettings
) -> Program:
    """Build the program of iterations of training a transformer, which has the sizes."""
    layout = settings.layout(n_ranks)
    return program_of(
        settings.stages(layout),
        layout,
        n_ranks,
        iterations,
        scale=settings.scale,
        compute=settings.compute,
        links=settings.communicator,
    )


def _ranks(settings: TrainingSettings) -> int:
    return settings.ranks_of_replica * max(1, settings.dp)


def _used(n_ranks: int, settings: TrainingSettings) -> int:
    dp, rest = divmod(n_ranks, settings.ranks_of_replica)
    fits = dp > 0 and not rest and settings.dp in (0, dp) and dp % settings.shape.ep == 0
    return n_ranks if fits else 0


def summary(n_ranks: int, bandwidth_Bps: float, settings: TrainingSettings) -> list[str]:
    """Return bytes by parallelism and the time of an isolated iteration, in lines.

    The bandwidth is a GPU's bus bandwidth; of tensor parallelism only if ``scale_up_GBps`` is 0.
    """
    layout, model = settings.layout(n_ranks), settings.transformer
    stages = settings.stages(layout)
    bandwidths = {group: bandwidth_Bps for group in GROUPS if layout.size_of(group) > 1}
    if settings.scale_up_GBps and layout.tp > 1:
        bandwidths["tp"] = settings.scale_up_GBps * 1e9
    found = timeline(stages, layout, bandwidths)
    exposed = found.mean_exposed_s()
    without = {group: speed for group, speed in bandwidths.items() if group != "pp"}
    bubble_s = timeline(stages, layout, without).mean_exposed_s()["pp"]
    sent = [bytes_sent(operations, layout) for operations in stages]
    tokens = model.sequence * layout.micro_batch * layout.micro_batches * layout.dp
    computing = max(computing_s(operations) for operations in stages)
    useful_s = 6 * model.active_parameters() * tokens / (layout.gpus * settings.flops)
    lines = [
        f"an isolated iteration of {settings.model} on {layout.gpus:,} GPUs takes "
        f"{found.seconds:.4g} s (MFU {100 * settings.mfu * useful_s / found.seconds:.3g} %)",
        f"  {model.parameters():,} parameters, {tokens:,} tokens an iteration",
        f"  computing {computing:.4g} s on the busiest stage, pipeline bubble {bubble_s:.3g} s",
    ]
    rows = [
        (group, layout.size_of(group), max(one[group] for one in sent), speed)
        for group, speed in bandwidths.items()
    ]
    return [*lines, *communication_lines("parallelism", rows, exposed)]


PATTERN = Pattern(
    "training",
    "an iteration of training a transformer on ranks in parallel; its sizes, not M",
    training,
    _ranks,
    _used,
    settings=TrainingSettings,
    summary=summary,
)
