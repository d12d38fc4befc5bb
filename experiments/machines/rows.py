"""Rows of each machine, measured and simulated, and how far the two are apart."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.kit.claims import ClaimBuilder, claims_frame
from experiments.kit.data import read_data
from experiments.kit.papers import Analysis, Options
from experiments.machines.match.fit import fit, match_all
from experiments.machines.match.machine import load_match
from experiments.machines.match.outputs import read_output
from experiments.machines.match.report import fitted_lines, frame_of
from experiments.machines.match.rows import Row
from netsim.errors import NetcosimError
from netsim.inputs import checked_path, input_file

FUNCTION = "experiments.machines.rows:point"
VARIABLE = "NETCOSIM_SHARED"
SMALL = 64 << 10
GOALS = {"large": (0.85, 1.18), "small": (0.7, 1.4)}
"""Median ratios of rows from `SMALL` on and of those below."""
HELD_PERCENT = 60
"""Of rows that were held out, within the second of these ranges."""
_BY_ELEMENT = ("allgather", "alltoall", "gather", "scatter", "reduce_scatter")


def measured_folder(options: Options) -> Path:
    """Return the folder inputs/measured in ``--set shared=FOLDER`` or in that of `VARIABLE`."""
    given = options.settings.get("shared") or os.environ.get(VARIABLE, "")
    folder = Path(given) / "inputs" / "measured"
    if not given or not folder.is_dir():
        raise NetcosimError(
            f"shared = {given or 'not given'}: no folder inputs/measured (--set shared=FOLDER "
            f"or {VARIABLE}); nothing was computed"
        )
    return folder


def points(options: Options) -> list[dict[str, Any]]:
    """Return a point a machine; in quick only those of one switch."""
    folder, data = measured_folder(options), read_data("machines")["machines"]
    names = ("lumi", "fugaku-2x2x2") if options.quick else data
    return [
        {
            "study": "machines",
            "machine": input_file(
                str(files("experiments").joinpath("machines", "machines", f"{name}.toml"))
            ),
            "name": name,
            "files": [
                input_file(folder / file)
                for file in (data[name]["file"], *data[name].get("more", ()))
            ],
            "where": data[name].get("where", {}),
            "leave_out": data[name].get("leave_out", []),
            "fit": data[name].get("fit", True),
        }
        for name in names
    ]


def point(content: Mapping[str, Any]) -> dict[str, list[dict[str, object]]]:
    """Compute a machine: tables "rows" and "fitted"."""
    machine, _ = load_match(Path(checked_path(content["machine"])))
    read = [read_output(checked_path(file), where=content["where"]) for file in content["files"]]
    left_out = content["leave_out"]
    rows = [row for one in read for row in one if _is_sent(row) and row.test not in left_out]
    held_out = [content["fit"] and is_held_out(row) for row in rows]
    if content["fit"]:
        used = [row for row, held in zip(rows, held_out, strict=True) if not held]
        machine, fitted = fit(machine, used)
    else:
        fitted = []
    matched = match_all(rows, machine, {}, fitted)
    frame = frame_of(matched).assign(
        machine=content["name"],
        library=[not _names_algorithm(row) for row in rows],
        held_out=held_out,
    )
    values = [
        {"machine": content["name"], "fitted": line.split(":")[0], "line": line}
        for line in fitted_lines(fitted)
    ]
    found: dict[str, list[Any]] = {"rows": frame.to_dict("records")}
    return found | ({"fitted": values} if values else {})


def is_held_out(row: Row) -> bool:
    """Return whether a row is kept from the fit: half of them, by a hash of what they state."""
    stated = row.test, row.algorithm, row.bytes, row.nodes, row.ranks, row.statistic, row.value
    return sha256(repr(stated).encode()).digest()[0] % 2 == 0


def _is_sent(row: Row) -> bool:
    """Return whether a row sends anything: elements of 4 bytes are dealt over the ranks."""
    return row.test.lower() not in _BY_ELEMENT or row.bytes >= 4 * row.ranks


def _names_algorithm(row: Row) -> bool:
    """Return whether a collective's algorithm is known; the default of a library is not."""
    name = row.algorithm.removeprefix("default-")
    return "default" not in name and "non_blocking" not in name


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """Return median ratios by machine: of large and of small judged rows, and of those held out.

    Judged are rows of a named algorithm that were simulated and not fitted on.
    """
    judged = rows[rows["ratio"].notna() & (rows["fitted"] == "") & ~rows["library"]]
    found = []
    for name, part in rows.groupby("machine", sort=False):
        mine = judged[judged["machine"] == name]
        line = {
            "machine": name,
            "rows": len(part),
            "fitted": int((part["fitted"] != "").sum()),
            "not_simulated": int(part["ratio"].isna().sum()),
            "judged": len(mine),
            "held_out": int(mine["held_out"].sum()),
        }
        large = mine["bytes"] >= SMALL
        for size, chosen in (("large", large), ("small", ~large), ("held_out", mine["held_out"])):
            ratio = mine["ratio"][chosen.astype(bool)]
            line[f"median_{size}"] = ratio.median()
            line[f"within_{size}_percent"] = 100 * ratio.between(*GOALS["small"]).mean()
        found.append(line)
    return pd.DataFrame(found)


def analyse(tables: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return the medians beside their goals, and by algorithm."""
    rows = tables["rows"].fillna({"fitted": "", "note": "", "algorithm": ""})
    summary, claims = summarise(rows), []
    for line in summary.to_dict("records"):
        check = ClaimBuilder(str(line["machine"]))
        for size, (low, high) in GOALS.items():
            value, rows_of = line[f"median_{size}"], "from" if size == "large" else "below"
            if value == value:
                text = f"{check.where}: median ratio of rows {rows_of} 64 KiB"
                rule = f"{low} to {high}"
                claims.append(check.holds(text, low <= value <= high, rule, value, expected=1.0))
        if line["held_out"]:
            text, percent = f"{check.where}: rows held out", line["within_held_out_percent"]
            note = f"within {GOALS['small']}"
            claims.append(check.at_least(text, percent, HELD_PERCENT, note=note))
    sizes = np.where(rows["bytes"] >= SMALL, "large", "small")
    judged = rows.assign(size=sizes)[rows["ratio"].notna() & (rows["fitted"] == "")]
    groups = judged.groupby(["machine", "test", "algorithm", "size"], sort=False)["ratio"]
    by_algorithm = groups.agg(["median", "min", "max", "count"]).reset_index()
    shown = {"summary": summary, "algorithms": by_algorithm, "rows": rows}
    if "fitted" in tables:
        shown["fitted"] = tables["fitted"]
    return Analysis(claims_frame(claims), shown)
