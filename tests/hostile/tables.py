"""All rows, table after table."""

from hostile import (
    rows_commands,
    rows_config,
    rows_ends,
    rows_judge,
    rows_logs,
    rows_machines,
    rows_network,
    rows_plugins,
    rows_queue,
    rows_sizes,
    rows_store,
    rows_toml,
)

ROWS = [
    *rows_commands.ROWS,
    *rows_config.ROWS,
    *rows_judge.ROWS,
    *rows_queue.ROWS,
    *rows_logs.ROWS,
    *rows_plugins.ROWS,
    *rows_machines.ROWS,
    *rows_network.ROWS,
    *rows_ends.ROWS,
    *rows_sizes.ROWS,
    *rows_store.ROWS,
    *rows_toml.ROWS,
]
