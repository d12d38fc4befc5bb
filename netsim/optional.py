"""Modules of optional folders, each of which can be deleted."""

from __future__ import annotations

import importlib
from types import ModuleType


def optional_module(name: str) -> ModuleType | None:
    """Import a module such as "alloc.bluegene.plugin"; return None where its folder has been
    deleted.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # a module that it imports and that is missing is a mistake, not a deleted folder
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            return None
        raise
