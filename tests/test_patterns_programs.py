"""Patterns against closed forms, naive definitions and a plain interpreter of programs."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection import examples

from netsim.errors import NetcosimError
from netsim.traffic import Program
from patterns.build import build_program, make_messages, repeated
from patterns.grid import cubic_grid, motif_grid_2d, motif_grid_3d
from patterns.registry import PATTERNS, make_pattern

WAITING = sorted(name for name, one in PATTERNS.items() if one.recorded_ranks is None)


def run_untimed(program: Program, pick: np.random.Generator) -> list[int]:
    """Run a program with messages that arrive at once; the order in which streams finish.

    A random runnable stream goes on at each turn, so a pattern that only works in one
    order gets stuck here.
    """
    at = list(program.step_ptr[:-1])
    arrived = [0] * program.n_steps
    sent = [False] * program.n_steps
    finished: list[int] = []
    waiting = set(range(program.n_streams))
    while waiting:
        progress = False
        for r in pick.permutation(sorted(waiting)).tolist():
            while at[r] < program.step_ptr[r + 1]:
                step = at[r]
                if not sent[step]:
                    sent[step] = progress = True
                    for m in range(program.send_ptr[step], program.send_ptr[step + 1]):
                        arrived[program.send_step[m]] += 1
                if arrived[step] < program.recv_need[step]:
                    break
                at[r] += 1
                progress = True
            else:
                waiting.discard(r)
                finished.append(r)
                progress = True
        assert progress, f"stuck: streams {sorted(waiting)}"
    assert arrived == program.recv_need.tolist()
    return finished


def make(name: str, n: int, m: int, iterations: int, seed: int = 0) -> Program:
    params: dict[str, object] = {}
    if name == "adversarial":
        n, params = max(n, 2), {"group_size": max(1, n // 2)}
    if name == "strassen-winograd":
        n = 7 * n if n < 8 else 49
    return make_pattern(name, n, m, iterations, np.random.default_rng(seed), params)


@examples(60)
@given(
    st.sampled_from(WAITING),
    st.integers(1, 24),
    st.sampled_from([1, 7, 1000]),
    st.integers(1, 3),
    st.integers(0, 99),
)
def test_every_pattern_runs_to_completion(name: str, n: int, m: int, it: int, seed: int) -> None:
    program = make(name, n, m, it, seed)
    program.validate()
    need = np.bincount(program.send_step, minlength=program.n_steps)
    assert np.array_equal(need, program.recv_need)
    finished = run_untimed(program, np.random.default_rng(seed))
    assert sorted(finished) == list(range(program.n_streams))


@pytest.mark.parametrize("name", WAITING)
def test_iterations_repeat_the_pattern(name: str) -> None:
    one, three = make(name, 12, 1000, 1), make(name, 12, 1000, 3)
    assert three.n_messages == 3 * one.n_messages
    assert three.n_steps == 3 * one.n_steps
    assert three.total_bytes == 3 * one.total_bytes
    # those that draw may draw anew in each iteration
    for field in () if PATTERNS[name].uses_rng else fields(Program):
        of_three, of_one = (getattr(program, field.name) for program in (three, repeated(one, 3)))
        assert np.array_equal(of_three, of_one), field.name


@pytest.mark.parametrize("name", WAITING)
def test_same_seed_same_program(name: str) -> None:
    a, b = make(name, 12, 1000, 2, 5), make(name, 12, 1000, 2, 5)
    assert np.array_equal(a.send_dst, b.send_dst)
    assert np.array_equal(a.send_step, b.send_step)


def edges(program: Program) -> Counter[tuple[int, int, int]]:
    """(sender, receiver, bytes) of all messages, counted."""
    return Counter(
        zip(
            program.send_src().tolist(),
            program.send_dst.tolist(),
            program.send_bytes.tolist(),
            strict=True,
        )
    )


def local_steps(program: Program) -> list[tuple[int, int, int, int]]:
    """(sender, its step, receiver, its step) of all messages, steps numbered from 0 a rank."""
    src = program.send_src()
    step = np.repeat(np.arange(program.n_steps), np.diff(program.send_ptr))
    return list(
        zip(
            src.tolist(),
            (step - program.step_ptr[src]).tolist(),
            program.send_dst.tolist(),
            (program.send_step - program.step_ptr[program.send_dst]).tolist(),
            strict=True,
        )
    )


@pytest.mark.parametrize("n", [1, 2, 3, 8, 13])
def test_all_to_all_is_the_double_loop(n: int) -> None:
    program = make("all-to-all", n, 10, 1)
    naive = [(r, s - 1, (r + s) % n, s - 1) for r in range(n) for s in range(1, n)]
    assert local_steps(program) == naive
    assert program.total_bytes == 10 * n * (n - 1)


@pytest.mark.parametrize(("n", "xor"), [(8, True), (6, False)])
def test_all_to_all_pairwise(n: int, xor: bool) -> None:
    rng = np.random.default_rng(0)
    program = make_pattern("all-to-all", n, 10, 1, rng, {"order": "pairwise"})
    naive = [
        (r, s - 1, r ^ s if xor else (r + s) % n, s - 1) for r in range(n) for s in range(1, n)
    ]
    assert local_steps(program) == naive


def test_all_to_all_at_once_is_one_step() -> None:
    program = make_pattern("all-to-all", 5, 10, 2, np.random.default_rng(0), {"order": "at-once"})
    assert program.recv_need.tolist() == [4] * 10
    assert program.send_dst[:4].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("n", [1, 2, 7, 16, 21])
def test_broadcast_sends_in_the_order_of_the_text(n: int) -> None:
    """flat: 1, 2, 3, ... in step 0. The trees: a rank waits in step 0 for its parent and sends in
    step 1 to its children, those of rank r being 2 r + 1 and 2 r + 2 (binary), or r + 2^k for the
    powers of two above r, the smallest first (binomial)."""
    powers = [1 << k for k in range(6)]
    trees = {
        "flat": [range(1, n), *[()] * (n - 1)],
        "binary": [(2 * r + 1, 2 * r + 2) for r in range(n)],
        "binomial": [[r + p for p in powers if p > r] for r in range(n)],
    }
    for algorithm, children in trees.items():
        params = {"algorithm": algorithm}
        program = make_pattern("broadcast", n, 8, 1, np.random.default_rng(0), params)
        step = 0 if algorithm == "flat" else 1
        naive = [(r, step, c, 0) for r in range(n) for c in children[r] if c < n]
        assert local_steps(program) == naive
        assert program.total_bytes == 8 * (n - 1)


def test_grids_of_the_level_spread_paper() -> None:
    assert motif_grid_3d(16) == (4, 4, 1)
    assert motif_grid_3d(68) == (17, 2, 2)
    assert motif_grid_2d(16) == (4, 4)
    assert motif_grid_2d(68) == (4, 17)
    assert motif_grid_3d(13) == (13, 1, 1)


@pytest.mark.parametrize("n", [*range(1, 40), 68, 136])
def test_motif_grid_is_the_exhaustive_search(n: int) -> None:
    best, least = (n, 1, 1), (n * n + 2) // 3 - ((n + 2) // 3) ** 2
    for i in range(1, n):
        for j in range(1, n):
            if n % (i * j) == 0 and n // (i * j) < n:
                k = n // (i * j)
                variance = (i * i + j * j + k * k) // 3 - ((i + j + k) // 3) ** 2
                if variance <= least:
                    best, least = (i, j, k), variance
    assert motif_grid_3d(n) == best


def test_cubic_grids() -> None:
    assert cubic_grid(16, 3) == (4, 2, 2)
    assert cubic_grid(2000, 3) == (20, 10, 10)
    assert cubic_grid(256, 4) == (4, 4, 4, 4)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [("halo2d", [1000]), ("halo3d", [2048]), ("halo3d26", [2048, 128, 8])],
)
@pytest.mark.parametrize("n", [1, 12, 16, 27, 68])
def test_halos_are_the_naive_neighbours(name: str, sizes: list[int], n: int) -> None:
    grid = (*motif_grid_2d(n), 1) if name == "halo2d" else motif_grid_3d(n)
    X, Y, Z = grid
    naive: Counter[tuple[int, int, int]] = Counter()
    for r in range(n):
        x, y, z = r % X, r // X % Y, r // (X * Y)
        for q in range(n):
            u, v, w = q % X, q // X % Y, q // (X * Y)
            far = max(abs(x - u), abs(y - v), abs(z - w))
            differ = (x != u) + (y != v) + (z != w)
            if far == 1 and differ <= len(sizes):
                naive[r, q, sizes[differ - 1]] += 1
    program = make(name, n, 1000, 1)
    assert edges(program) == naive
    assert Counter((b, a, m) for a, b, m in edges(program).elements()) == naive  # symmetric
    assert n == X * Y * Z
    assert program.n_steps == n


def test_halo_by_dimension_has_the_same_messages_in_more_steps() -> None:
    rng = np.random.default_rng(0)
    split = make_pattern("halo3d", 16, 1000, 1, rng, {"exchange": "by-dimension"})
    assert edges(split) == edges(make("halo3d", 16, 1000, 1))
    assert split.n_steps == 48
    for src, s, dst, d in local_steps(split):
        assert s == d == {1: 0, 4: 1, 16: 2}[abs(src - dst)]


@pytest.mark.parametrize("n", [1, 5, 12, 16, 32, 128])
@pytest.mark.parametrize("cells", [16, 100])
def test_fft3d_bytes_by_closed_form(n: int, cells: int) -> None:
    rng = np.random.default_rng(0)
    program = make_pattern("fft3d", n, 1, 1, rng, {"cells": cells})
    rows = min((d for d in range(1, n + 1) if n % d == 0), key=lambda d: (abs(d - 4), d))
    cols = n // rows
    half = cells // 2 + 1

    def part(total: int, parts: int, i: int) -> int:
        return total // parts + (i < total % parts)

    naive: Counter[tuple[int, int, int]] = Counter()
    for c in range(cols):
        for a in range(rows):
            for b in range(rows):
                size = 16 * part(half, rows, b) * part(cells, rows, a) * part(cells, cols, c)
                if a != b and size:
                    naive[c * rows + a, c * rows + b, size] += 1
                    naive[c * rows + b, c * rows + a, size] += 1
    for a in range(rows):
        for c in range(cols):
            for d in range(cols):
                size = 16 * part(half, rows, a) * part(cells, cols, d) * part(cells, cols, c)
                if c != d and size:
                    naive[c * rows + a, d * rows + a, size] += 1
                    naive[d * rows + a, c * rows + a, size] += 1
    assert edges(program) == naive
    assert program.compute_s.sum() == pytest.approx(7e-9 * cells**3)
    plain = make_pattern("fft3d", n, 1, 1, rng, {"cells": cells, "compute": False})
    assert plain.compute_s.sum() == 0


def test_fft3d_goes_forward_and_back_in_the_order_of_the_text() -> None:
    """12 ranks in 4 rows and 3 columns, 10 cells: every step of every rank, its computing (in
    sixths of 7 ns times 10^3 / 12) and its sends in ring order; back is forth with the sizes of the
    other direction."""
    rows, cols, cells = 4, 3, 10
    x, y = [2, 2, 1, 1], [3, 3, 2, 2]  # 6 complex planes and 10 cells over 4 rows
    z = [4, 3, 3]  # 10 cells over 3 columns
    program = make_pattern("fft3d", 12, 1, 1, np.random.default_rng(0), {"cells": cells})
    share = 7e-9 * cells**3 / 12 / 6
    for c in range(cols):
        for r in range(rows):
            column = [(r + s) % rows for s in range(1, rows)]
            row = [(c + s) % cols for s in range(1, cols)]
            forth = [[(c * rows + q, 16 * z[c] * y[r] * x[q])] for q in column]
            across = [[(d * rows + r, 16 * x[r] * z[c] * z[d])] for d in row]
            back = [[(c * rows + q, 16 * z[c] * y[q] * x[r])] for q in column]
            naive = [[], *forth, [], *across, [], *across, [], *back, []]
            compute = [1, 0, 0, 0, 1, 0, 0, 2, 0, 0, 1, 0, 0, 0, 1]
            rank = c * rows + r
            steps = range(program.step_ptr[rank], program.step_ptr[rank + 1])
            found = []
            for step in steps:
                sent = slice(program.send_ptr[step], program.send_ptr[step + 1])
                to, size = program.send_dst[sent].tolist(), program.send_bytes[sent].tolist()
                found.append(list(zip(to, size, strict=True)))
            assert found == naive
            assert program.compute_s[steps] == pytest.approx(np.array(compute) * share)


def test_halos_send_along_the_first_dimension_first_and_the_lower_neighbour_first() -> None:
    """The centre of 3 x 3 and of 3 x 3 x 3 ranks; with edges and corners, faces come first."""
    rng = np.random.default_rng(0)
    for name, n, centre, faces in (
        ("halo2d", 9, 4, [3, 5, 1, 7]),
        ("halo3d", 27, 13, [12, 14, 10, 16, 4, 22]),
        ("halo3d26", 27, 13, [12, 14, 10, 16, 4, 22]),
    ):
        grid = [3, 3] if name == "halo2d" else [3, 3, 3]
        program = make_pattern(name, n, 1000, 1, rng, {"grid": grid})
        mine = slice(program.send_ptr[centre], program.send_ptr[centre + 1])
        assert program.send_dst[mine].tolist()[: len(faces)] == faces
        sizes = program.send_bytes[mine].tolist()
        assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("mode", ["both", "ping-pong"])
def test_bisection_pairing(mode: str) -> None:
    rng = np.random.default_rng(0)
    partner = [3, 2, 1, 0, 4]
    program = make_pattern(
        "bisection-pairing", 5, 100, 1, rng, {"partner": partner, "mode": mode, "chunks": 2}
    )
    assert edges(program) == Counter({(r, partner[r], 100): 60 for r in range(4)})
    if mode == "ping-pong":
        # The upper rank's answer of round k comes in its step 2k+1, for the lower's step 2k.
        assert {(s % 2, d % 2) for r, s, _, d in local_steps(program) if r > 1} == {(1, 0)}
        assert {(s % 2, d % 2) for r, s, _, d in local_steps(program) if r <= 1} == {(0, 0)}


def test_bisection_pairing_without_partners_joins_the_halves() -> None:
    """Of 5 ranks 0 and 2, 1 and 3 exchange 26 + 4 times; the last one idles."""
    program = make_pattern("bisection-pairing", 5, 100, 1, np.random.default_rng(0), {})
    halves = [(0, 2), (1, 3), (2, 0), (3, 1)]
    assert edges(program) == Counter({(a, b, 100): 30 for a, b in halves})


def test_bisection_pairing_refuses_what_is_no_pairing() -> None:
    with pytest.raises(NetcosimError, match="partner of rank 0 is 1, but the partner of 1 is 2"):
        make_pattern("bisection-pairing", 3, 1, 1, np.random.default_rng(0), {"partner": [1, 2, 0]})


@pytest.mark.parametrize(("n", "m"), [(2, 10), (4, 64), (7, 1000), (5, 3)])
def test_allreduce_ring_sends_chunk_after_chunk(n: int, m: int) -> None:
    """In step s rank r sends chunk r - s; tests/test_collectives.py follows the data."""
    program = make("allreduce-ring", n, m, 1)
    chunks = [(c + 1) * m // n - c * m // n for c in range(n)]
    want = [max(1, chunks[(r - s) % n]) for r in range(n) for s in range(2 * (n - 1))]
    assert program.send_bytes.tolist() == want
    assert all(d == (r + 1) % n and s == t for r, s, d, t in local_steps(program))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 7, 8, 13, 16])
def test_recursive_doubling_is_the_collective_of_that_name(n: int) -> None:
    program = make("allreduce-recursive-doubling", n, 100, 1)
    named = {"algorithm": "recursive-doubling"}
    same = make_pattern("collective", n, 100, 1, np.random.default_rng(0), named)
    assert (edges(program), local_steps(program)) == (edges(same), local_steps(same))
    core = 1 << (n.bit_length() - 1)
    assert program.n_messages == core * (n.bit_length() - 1) + 2 * (n - core)


def test_sub_a2a_is_all_to_all_in_each_row() -> None:
    rng = np.random.default_rng(0)
    program = make_pattern(
        "sub-a2a", 24, 9, 1, rng, {"grid": [4, 3, 2], "dimension_bytes": [5, 0, 7]}
    )
    naive: Counter[tuple[int, int, int]] = Counter()
    for r in range(24):
        for q in range(24):
            if r == q:
                continue
            if r // 4 == q // 4:
                naive[r, q, 5] += 1
            if r % 12 == q % 12:
                naive[r, q, 7] += 1
    assert edges(program) == naive
    assert program.n_steps == 24 * (3 + 1)


@pytest.mark.parametrize(("order", "steps"), [("at-once", 3), ("ring", 6), ("pairwise", 6)])
def test_sub_a2a_goes_along_x_then_y_then_z_in_its_order(order: str, steps: int) -> None:
    """4 x 3 x 2 ranks: 3, 2 and 1 exchanges, or one wait a dimension."""
    params = {"grid": [4, 3, 2], "order": order}
    program = make_pattern("sub-a2a", 24, 9, 1, np.random.default_rng(0), params)
    assert program.n_steps == 24 * steps
    first = {"at-once": [0, 1, 2], "ring": [0, 3, 5], "pairwise": [0, 3, 5]}[order]
    for src, s, dst, _ in local_steps(program):
        dim = 0 if src // 4 == dst // 4 else 1 if src // 12 == dst // 12 else 2
        assert sum(s >= f for f in first) - 1 == dim
    sent = [dst for src, s, dst, _ in local_steps(program) if src == 1 and s < first[1]]
    assert sent == ([0, 3, 2] if order == "pairwise" else [2, 3, 0])


def test_stencil4d_faces() -> None:
    rng = np.random.default_rng(0)
    params = {"grid": [3, 2, 1, 4], "points": [2, 3, 5, 7], "variables": 11}
    program = make_pattern("stencil4d", 24, 1, 1, rng, params)
    sides, block = [3, 2, 1, 4], [2, 3, 5, 7]
    naive: Counter[tuple[int, int, int]] = Counter()
    for r in range(24):
        at = [r % 3, r // 3 % 2, 0, r // 6]
        for dim in range(4):
            for sign in (-1, 1):
                to = list(at)
                to[dim] = (to[dim] + sign) % sides[dim]
                face = 8 * 11 * 2 * 3 * 5 * 7 // block[dim]
                naive[r, to[0] + 3 * to[1] + 6 * (to[2] + to[3]), face] += 1
    assert edges(program) == naive
    assert program.recv_need.tolist() == [8] * 24


def test_unstructured_mesh_stays_near() -> None:
    rng = np.random.default_rng(3)
    params = {"grid": [10, 10, 10], "min_degree": 2, "max_degree": 5, "neighborhood": 3}
    program = make_pattern("unstructured-mesh", 1000, 64, 1, rng, params)
    src, dst = program.send_src().astype(int), program.send_dst.astype(int)
    degree = np.bincount(src, minlength=1000)
    assert set(degree.tolist()) == {2, 3, 4}
    for weight in (1, 10, 100):
        gap = (dst // weight - src // weight) % 10
        assert set(gap.tolist()) == {0, 1, 2, 8, 9}
        # Sign times 0..2: 0 has chance 1/3, each other offset 1/6.
        assert np.mean(gap == 0) == pytest.approx(1 / 3, abs=0.04)


@pytest.mark.parametrize("n", [1, 2, 9, 10])
def test_pairs_are_a_matching_across_the_halves(n: int) -> None:
    program = make("pairs", n, 5, 1, seed=4)
    to = dict(zip(program.send_src().tolist(), program.send_dst.tolist(), strict=True))
    half = n // 2
    assert set(to) == set(range(2 * half))
    assert all(to[to[r]] == r and (r < half) != (to[r] < half) for r in to)
    # A partner is drawn, unless told not to: then it is the one n/2 on.
    partners = (
        {int(make("pairs", n, 5, 1, seed=s).send_dst[0]) for s in range(40)} if half else set()
    )
    assert partners == set(range(half, 2 * half))
    straight = make_pattern("pairs", n, 5, 1, np.random.default_rng(0), {"randomize": False})
    assert straight.send_dst.tolist() == [*range(half, 2 * half), *range(half)]


@pytest.mark.parametrize("groups", ["far", "near"])
def test_strassen_winograd_levels(groups: str) -> None:
    rng = np.random.default_rng(0)
    n, dim = 2 * 49, 392
    params = {"matrix_dim": dim, "first_groups": groups}
    program = make_pattern("strassen-winograd", n, 1, 1, rng, params)
    share0 = 8 * (dim / 2) ** 2 / n
    share1 = 8 * (dim / 4) ** 2 / (n / 7)
    assert share1 == pytest.approx(share0 * 7 / 4)
    strides = [n // 7, n // 49] if groups == "far" else [1, 7]
    naive: Counter[tuple[int, int, int]] = Counter()
    for r in range(n):
        for stride, share in zip(strides, (share0, share1), strict=True):
            digit = r // stride % 7
            for other in range(7):
                if other != digit:
                    q = r + (other - digit) * stride
                    naive[r, q, round(2 * share)] += 1
                    naive[r, q, round(share)] += 1
    assert edges(program) == naive
    assert program.recv_need.tolist() == [6] * (4 * n)
    deeper = make_pattern("strassen-winograd", n, 1, 1, rng, {**params, "dfs_steps": 1})
    assert deeper.n_messages == 7 * program.n_messages
    assert deeper.total_bytes == pytest.approx(7 / 4 * program.total_bytes, rel=1e-3)


def test_strassen_winograd_goes_down_level_by_level_and_up_again() -> None:
    """Without a matrix the first level's way down has message_bytes, and half of them back; the
    next level 7/4 as many. 49 ranks: steps of 7 apart, of 1, of 1, of 7."""
    program = make("strassen-winograd", 49, 1600, 1)
    steps = [(src // 7 != dst // 7, s) for src, s, dst, d in local_steps(program) if s == d]
    assert Counter(steps) == {(True, 0): 294, (False, 1): 294, (False, 2): 294, (True, 3): 294}
    sizes = program.send_bytes.reshape(49, 4, 6)
    assert np.all(sizes == np.array([1600, 2800, 1400, 800])[None, :, None])


def test_strassen_winograd_of_the_paper_has_four_levels() -> None:
    program = make_pattern("strassen-winograd", 2401, 1000, 1, np.random.default_rng(0), {})
    assert program.n_steps == 2401 * 8
    with pytest.raises(NetcosimError, match=r"10 ranks have 0 factors of 7"):
        make_pattern("strassen-winograd", 10, 1, 1, np.random.default_rng(0), {})


def test_synthetic_destinations() -> None:
    rng = np.random.default_rng(1)
    n = 64
    shifted = make_pattern("shift", n, 8, 1, rng, {"distance": -3})
    assert shifted.send_dst.tolist() == [(r - 3) % n for r in range(n)]
    tornado = make_pattern("tornado", n, 8, 1, rng, {"grid": [8, 8]})
    assert tornado.send_dst.tolist() == [(r % 8 + 3) % 8 + 8 * ((r // 8 + 3) % 8) for r in range(n)]
    ring = make_pattern("tornado", 7, 8, 1, rng, {})
    assert ring.send_dst.tolist() == [(r + 3) % 7 for r in range(7)]
    permutation = make_pattern("permutation", n, 8, 2, rng, {"messages": 3})
    dst = permutation.send_dst.reshape(n, 6)
    assert np.all(dst == dst[:, :1])
    assert sorted(dst[:, 0].tolist()) == list(range(n))
    assert np.all(dst[:, 0] != np.arange(n))
    uniform = make_pattern("uniform-random", n, 8, 1, rng, {"messages": 400})
    hops = (uniform.send_dst - uniform.send_src()) % n
    counts = np.bincount(hops, minlength=n)
    assert counts[0] == 0
    assert counts[1:].min() > 0.7 * counts.sum() / (n - 1)
    bad = make_pattern("adversarial", 10, 8, 1, rng, {"group_size": 4, "messages": 50})
    src, dst = bad.send_src(), bad.send_dst
    assert np.array_equal(dst // 4, (src // 4 + 1) % 3)
    assert set(dst.tolist()) == set(range(10))


def test_errors_name_what_is_allowed() -> None:
    rng = np.random.default_rng(0)
    cases: list[tuple[str, int, dict[str, object], str]] = [
        ("halo4d", 4, {}, "unknown pattern 'halo4d'; did you mean .* valid: .*halo3d26"),
        ("fft3d", 4, {"row": 2}, "unknown parameter of pattern fft3d 'row'; did you mean rows"),
        ("fft3d", 4, {"rows": "x"}, "pattern fft3d: rows = 'x'; it must be a whole number"),
        ("fft3d", 4, {"compute": 1}, "compute = 1; it must be true or false"),
        ("allreduce-ring", 4, {"k": 1}, "unknown parameter 'k'; it takes none"),
        ("halo2d", 4, {"grid": [3, 2]}, "process grid 3 x 2 does not fit: 2 sides with product 4"),
        ("all-to-all", 4, {"order": "xor"}, "must be 'ring', 'pairwise' or 'at-once'"),
        ("adversarial", 4, {}, "group_size is missing"),
        ("adversarial", 4, {"group_size": 4}, "two groups"),
        ("all-to-all", 0, {}, "n_ranks = 0; it must be at least 1"),
    ]
    for name, n, params, text in cases:
        with pytest.raises(NetcosimError, match=text):
            make_pattern(name, n, 10, 1, rng, params)


@examples(60)
@given(st.data())
def test_builder_equals_the_naive_builder(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 5))
    steps = data.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    iterations = data.draw(st.integers(1, 3))
    count = data.draw(st.integers(0, 12))
    seed = data.draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, n, count), rng.integers(0, n, count)
    per_rank = np.array(steps, dtype=np.int64)
    s, d = rng.integers(0, per_rank[src]), rng.integers(0, per_rank[dst])
    size = rng.integers(1, 9, count)
    compute = rng.integers(0, 5, int(per_rank.sum())).astype(float)
    program = build_program(n, per_rank, make_messages(src, s, dst, d, size), iterations, compute)
    program.validate()
    first = np.cumsum(per_rank) - per_rank
    begin = first * iterations
    sends: list[list[tuple[int, int, int]]] = [[] for _ in range(int(per_rank.sum()) * iterations)]
    times = [0.0] * len(sends)
    for it in range(iterations):
        for i in range(count):
            target = int(begin[dst[i]] + it * per_rank[dst[i]] + d[i])
            at = int(begin[src[i]] + it * per_rank[src[i]] + s[i])
            sends[at].append((int(dst[i]), int(size[i]), target))
        for r in range(n):
            for j in range(steps[r]):
                times[int(begin[r]) + it * steps[r] + j] = compute[first[r] + j]
    flat = [message for step in sends for message in step]
    got = zip(
        program.send_dst.tolist(),
        program.send_bytes.tolist(),
        program.send_step.tolist(),
        strict=True,
    )
    assert list(got) == flat
    assert np.diff(program.send_ptr).tolist() == [len(step) for step in sends]
    assert program.compute_s.tolist() == times
