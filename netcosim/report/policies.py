"""The table of policies, on pages and on the screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from netcosim.report.effect import joined_ends, signed
from netcosim.report.table import PLAIN, aligned, shown_texts
from netcosim.runs.frames import with_units
from netcosim.runs.store import Rows
from netsim.errors import need_name
from netsim.kinds import need_kinds
from queuesim.statistics import ENDS

if TYPE_CHECKING:
    import pandas as pd

    from netcosim.report.table import Table


def policy_table(tables: Mapping[str, Rows]) -> pd.DataFrame:
    """Return one row a policy: what a reader wants to know first.

    Parameters
    ----------
    tables : mapping
        From `netcosim.runs.cosim.result_tables`.

    Returns
    -------
    pandas.DataFrame
        Texts and numbers, as the command line prints them.

    Examples
    --------
    >>> import netcosim as nc
    >>> config = nc.config_from(
    ...     {
    ...         "machine": {"family": "dragonfly", "p": 2, "a": 2, "g": 5},
    ...         "workload": {"synthetic": {"n_jobs": 30, "mean_nodes": 4}},
    ...         "queue": {"policies": ["rdn", "simple"], "run_time_model": "as-logged"},
    ...         "run": {"snapshots": 0},
    ...     }
    ... )
    >>> nc.policy_table(nc.result_tables(nc.run_cosim(config)))[["policy", "wait_s"]].round(1)
       policy  wait_s
    0     rdn  3580.5
    1  simple  3580.5
    """
    import pandas as pd

    need_kinds("policy_table", {"tables": (tables, Mapping)})
    need_name("table", "policies", tables)
    need_kinds("policy_table", {"table policies": (tables["policies"], Sequence)})
    for row in tables["policies"]:
        need_kinds("policy_table", {"a row of table policies": (row, Mapping)})
    return with_units(pd.DataFrame(policy_rows(tables)))


def policy_rows(tables: Mapping[str, Rows]) -> list[dict[str, Any]]:
    """Return the rows of `policy_table`."""
    rows = []
    energy = {row["policy"]: row["total_kWh"] for row in tables.get("energy", ())}
    for row in tables["policies"]:
        measured = {}
        if "communication_ratio" in row:
            measured = {"communication_time": _change(row)}
        rows.append(
            {
                "policy": row["policy"],
                **measured,
                "wait_s": row["mean_wait_s"],
                "turnaround_s": row["mean_turnaround_s"],
                "slowdown": row["mean_bounded_slowdown"],
                "utilisation_percent": 100 * float(str(row["utilisation"])),
                "makespan_h": float(str(row["makespan_s"])) / 3600,
            }
            | ({"energy_kWh": energy[row["policy"]]} if energy else {})
            | ({"cut_jobs": _cut_jobs(row, tables)} if row.get("overrun") == "cut" else {})
        )
    return rows


def _cut_jobs(row: Mapping[str, object], tables: Mapping[str, Rows]) -> object:
    """Return the jobs cut at their walltime, fewer than late ones with a time of grace."""
    cut = {rules["policy"]: rules["cut_jobs"] for rules in tables.get("queue_rules", ())}
    return cut.get(row["policy"], row["overran_jobs"])


def _change(row: Mapping[str, object]) -> str:
    """Return the change of communication time with its interval, as the sentences have it."""
    if row["communication_ratio"] is None:
        return "-"
    ends = [row[f"communication_ratio{end}"] for end in ENDS]
    texts = ["" if end is None else signed(100 * (float(str(end)) - 1)) for end in ends]
    known = joined_ends(*texts[1:]) if all(texts) else "no interval"
    return f"{texts[0]} % ({known})"


def print_table(table: Table) -> str:
    """Return a table as a page shows it, for the screen."""
    rows = [[cell.translate(PLAIN) for cell in row] for row in shown_texts(table)]
    return "\n".join(aligned(rows, left=1))
