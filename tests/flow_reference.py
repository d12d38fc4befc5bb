"""Oracles for the flow solvers: a linear program, and the certificate of max-min fairness."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog


def lp_rates(A, capacity):
    """Lexicographic max-min: raise the smallest rate as far as it goes, fix who cannot more."""
    n = A.shape[1]
    fixed = np.full(n, np.nan)
    while np.isnan(fixed).any():
        free = np.isnan(fixed)
        bounds = [(0, None) if free[f] else (fixed[f], fixed[f]) for f in range(n)]
        # variables: rates, then the level that every free rate must reach
        level_rows = np.hstack([-np.eye(n)[free], np.ones((free.sum(), 1))])
        lhs = np.vstack([np.hstack([A, np.zeros((len(A), 1))]), level_rows])
        rhs = np.concatenate([capacity, np.zeros(free.sum())])
        objective = np.zeros(n + 1)
        objective[-1] = -1
        level = -linprog(objective, lhs, rhs, bounds=[*bounds, (0, None)]).fun
        low = [(level * (1 - 1e-9), None) if free[f] else bounds[f] for f in range(n)]
        for f in np.flatnonzero(free):
            one = np.zeros(n)
            one[f] = -1
            if -linprog(one, A, capacity, bounds=low).fun <= level * (1 + 1e-6):
                fixed[f] = level
    return fixed


def assert_max_min(A, capacity, rate):
    """The certificate: no link over capacity; each flow has a full link where none is faster."""
    moving = A.sum(0) > 0
    A, rate = A[:, moving], rate[moving]
    used = A @ rate
    assert np.all(used <= capacity * (1 + 1e-9))
    full = used >= capacity * (1 - 1e-9)
    for f in range(len(rate)):
        mine = np.flatnonzero(full & (A[:, f] > 0))
        assert any(rate[f] >= rate[A[link] > 0].max() * (1 - 1e-9) for link in mine)
