"""Which point of a results file a page or an export is of."""

from __future__ import annotations

from netcosim.report.sweep_tables import key_length
from netcosim.runs.store import Store
from netsim.errors import NetcosimError

_MOST_NAMED = 4


def chosen_point(store: Store, prefix: str | None) -> str | None:
    """Return the key that begins so, or of the only point if it is a run; None for a sweep."""
    points = store.points()
    if prefix is None:
        done = [point.key for point in points if point.status == "done"]
        only = done[0] if len(points) == len(done) == 1 else None
        return only if only is not None and "policies" in store.table_names() else None
    wanted = prefix.strip().lower()
    found = [point for point in points if point.key.startswith(wanted)]
    keys = [point.key for point in points]
    if not wanted or not found:
        raise NetcosimError(
            f"--point {prefix}: no point of {store.path} begins so; it has {_named(keys)}"
        )
    if len(found) > 1:
        raise NetcosimError(
            f"--point {prefix}: {_named([p.key for p in found])} begin so; give more letters"
        )
    if found[0].status == "failed":
        raise NetcosimError(f"--point {prefix}: that point has failed: {found[0].error}")
    return found[0].key


def _named(keys: list[str]) -> str:
    length = key_length(keys)
    named = ", ".join(key[:length] for key in keys[:_MOST_NAMED])
    more = f" and {len(keys) - _MOST_NAMED:,} more" if len(keys) > _MOST_NAMED else ""
    return f"{named or 'none'}{more}"
