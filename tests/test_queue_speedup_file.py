"""Speed-up tables in files, and a config that takes one."""

from __future__ import annotations

import numpy as np
import pytest
from speedup_csv import write_speedups

from cosim.measuring.measured import SpeedupRow, SpeedupTable
from cosim.measuring.speedup_file import COLUMNS, read_speedups
from netcosim.config.load import config_from, load_config
from netcosim.runs.cosim import run_cosim
from netsim.errors import NetcosimError

TABLE = SpeedupTable(
    "baseline",
    (
        SpeedupRow("pairs", 2, 1 << 30, "jigsaw", 0.5, 0.1 + 0.2, 2 / 3),
        SpeedupRow("all-to-all", 2, 8, "jigsaw", 1.25, 1.25, 1.25),
    ),
)

CONFIG = """
[machine]
family = "fattree"
radix = 6
[workload.synthetic]
n_jobs = 40
mean_nodes = 6
[queue]
policies = ["baseline", "jigsaw"]
run_time_model = "measured"
measured.table = "speedups.csv"
[[communication.mix]]
pattern = "pairs"
communication_fraction = 0.4
[run]
snapshots = 1
"""


def test_what_is_written_is_read(tmp_path):
    write_speedups(TABLE, tmp_path / "t.csv")
    assert read_speedups(tmp_path / "t.csv") == TABLE


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "empty; it needs a head, reference_policy,"),
        ("pattern,policy\nx,y\n", "t.csv:1: no column 'reference_policy'"),
        (",".join(COLUMNS) + "\nb,p,2,8,j,1.0,x,1.0\n", "t.csv:2: a number"),
        (",".join(COLUMNS) + "\nb,p,2,8,j,1,1\n", "t.csv:2: 7 cells; the head has 8"),
        (",".join(COLUMNS), "needs rows"),
        (",".join(COLUMNS) + "\nb,p,2,8,j,1,2,3\n", "low <= ratio"),
        (",".join(COLUMNS) + "\nb,p,2,8,j,1,1,1\nc,p,9,9,j,1,1,1\n", "'b' and 'c'"),
        ("log," + ",".join(COLUMNS) + "\nA,b,p,2,8,j,1,1,1\nB,b,p,9,9,j,1,1,1\n", "'A' and 'B'"),
    ],
)
def test_files_that_are_no_tables(tmp_path, text, told):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(NetcosimError, match=told):
        read_speedups(path)
    with pytest.raises(NetcosimError, match="cannot be read"):
        read_speedups(tmp_path / "none.csv")


def test_a_config_takes_its_speed_ups_from_a_file(tmp_path):
    """Jobs of more than one node spend 40 % of their time in communication that takes half as
    long under Jigsaw: their run times are 0.8 of the logged ones, under Baseline the logged."""
    write_speedups(TABLE, tmp_path / "speedups.csv")
    path = tmp_path / "c.toml"
    path.write_text(CONFIG)
    config = load_config(path)
    assert config.queue.measured.table is not None
    assert config.queue.measured.table.file == str(tmp_path / "speedups.csv")
    assert config_from(config.resolved()) == config
    result = run_cosim(config)
    logged = result.workload.run_time_s
    factor = np.where(result.workload.n_nodes > 1, 0.8, 1.0)
    for name, expected in (("baseline", logged), ("jigsaw", logged * factor)):
        run = result.schedules[name].end_s - result.schedules[name].start_s
        np.testing.assert_allclose(run, expected)
    assert result.logged == {}
    worst = load_config(path).model_copy(
        update={
            "queue": config.queue.model_copy(
                update={"measured": config.queue.measured.model_copy(update={"bound": "low"})}
            )
        }
    )
    run = run_cosim(worst).schedules["jigsaw"]
    factor = np.where(result.workload.n_nodes > 1, 0.6 + 0.4 * 0.3, 1.0)
    np.testing.assert_allclose(run.end_s - run.start_s, logged * factor)
