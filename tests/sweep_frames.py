"""Tables of policies made by hand, as `netcosim.runs.store.Store.frame` gives them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from netcosim.report.compared import Compared, compare
from netcosim.report.swept import swept

Values = Callable[[Mapping[str, Any], str], Mapping[str, object]]


def policies_frame(
    axes: Mapping[str, Sequence[object]], policies: Sequence[str], values: Values
) -> pd.DataFrame:
    """A row a point and policy: every combination of the axes is a point."""
    rows = []
    for number, chosen in enumerate(itertools.product(*axes.values())):
        point = dict(zip(axes, chosen, strict=True))
        for policy in policies:
            row = {"point": f"{number:064x}", **point, "policy": policy}
            rows.append(row | dict(values(point, policy)))
    return pd.DataFrame(rows)


def compared(frame: pd.DataFrame, axes: Sequence[str]) -> Compared:
    """The frame's policies, compared."""
    own = [c for c in frame.columns if c not in axes and c != "point"]
    return compare(frame, swept(frame, own))
