"""Plain, slow flow solvers for the tests: dense matrices, everything solved again."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog


def dense(ptr, links, n_links, weights=None):
    """(n_links, n_flows): what a link carries for each unit of a flow's rate."""
    A = np.zeros((n_links, len(ptr) - 1))
    for f in range(len(ptr) - 1):
        for i in range(ptr[f], ptr[f + 1]):
            A[links[i], f] += 1.0 if weights is None else weights[i]
    return A


def naive_rates(A, capacity):
    """Progressive filling: all rise to the next full link, its flows stop; again."""
    rate = np.zeros(A.shape[1])
    rising = A.sum(0) > 0
    rate[~rising] = np.inf
    while rising.any():
        used = A[:, ~rising & np.isfinite(rate)] @ rate[~rising & np.isfinite(rate)]
        slope = A[:, rising].sum(1)
        share = np.full(len(capacity), np.inf)
        share[slope > 0] = (capacity - used)[slope > 0] / slope[slope > 0]
        full = share <= share.min() * (1 + 1e-12)
        stop = rising & (A[full].sum(0) > 0)
        rate[stop] = share.min()
        rising &= ~stop
    return rate


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


def naive_finish(A, capacity, amount, start):
    """Time goes from event to event; at each, all rates are solved again."""
    finish, left, now = start.astype(float), amount.astype(float), 0.0
    todo = (A.sum(0) > 0) & (amount > 0)
    while todo.any():
        active = np.flatnonzero(todo & (start <= now))
        later = start[todo & (start > now)]
        until = later.min() if len(later) else np.inf
        if len(active) == 0:
            now = until
            continue
        rate = naive_rates(A[:, active], capacity)
        then = min(now + (left[active] / rate).min(), until)
        left[active] -= rate * (then - now)
        now = then
        done = active[left[active] <= 1e-9 * amount[active]]
        finish[done], todo[done] = now, False
    return finish


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
