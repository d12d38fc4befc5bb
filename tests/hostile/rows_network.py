"""Traces, traffic matrices and curves: files and keys that are no good."""

from __future__ import annotations

import struct

import numpy as np

from hostile.row import BASE, RUN, Row, all_of, config_text, written
from hostile.rows_config import BAD

HUGE = "1" + "0" * 30
HEAD = "num_ranks 2\nrank 0 {\n"
NPY = b"\x93NUMPY\x01\x00"


def _npy(head: str, data: bytes = b"") -> bytes:
    text = head.ljust(117).encode() + b"\n"
    return NPY + struct.pack("<H", len(text)) + text + data


TRACES: dict[str, tuple[str | bytes, str]] = {
    "of 0 ranks": ("num_ranks 0\n", "t:1:"),
    "of 10^12 ranks": ("num_ranks 1000000000000\n", "of memory needed"),
    "of 10^30 ranks": (f"num_ranks {HUGE}\n", "t:1: num_ranks = "),
    "an endless line": (HEAD + "x" * 10**6 + "\n}\n", "is not understood"),
    "a message of 10^30 bytes": (HEAD + f"send {HUGE}b to 1\n}}\n", ": size = "),
    "from anybody": (HEAD + "recv 5b from -1\n}\n", "t:3: 'recv 5b from -1' is not understood"),
    "binary noise": (np.random.default_rng(5).bytes(10_000), "neither binary GOAL nor text"),
    "binary, cut off": (struct.pack("<QIBB", 4223, 2, 0, 0), "has no room for 2 ranks"),
    "binary with ends outside": (
        struct.pack("<QIBBQQ", 4223, 1, 0, 0, 22, 2**62),
        "rank 0: bytes 22 to",
    ),
}
MATRICES: dict[str, tuple[str | bytes, str]] = {
    "infinite": ("0,1e400\n3,0\n", "inf bytes from rank 0 to rank 1: not finite"),
    "npy of 10^10 rows": (
        _npy("{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000, 10000000000), }"),
        "of memory needed",
    ),
    "npy cut off": (
        _npy("{'descr': '<f8', 'fortran_order': False, 'shape': (4, 4), }"),
        "not a NumPy file",
    ),
    "npy of objects": (
        _npy("{'descr': '|O', 'fortran_order': False, 'shape': (2, 2), }", b"\x80\x04N."),
        "numbers are needed",
    ),
}
CURVE: dict[str, dict[str, str]] = {
    "machine": dict(BASE["machine"]),
    "curve": {"loads": "[0.2]", "window": '"20 us"'},
}
LOADS = ("0", "-0.1", "1.5", "nan", '"half"', "true", "[]", "[0.2, 0.2]", "{ a = 1 }")
BAD_CURVE: dict[str, tuple[str, ...]] = {
    "loads": LOADS,
    "traffic": (*BAD["name"][:3], "[]", '["uniform", "uniform"]'),
    "routings": ('"no-such"', "1", '["minimal", "minimal"]'),
    "process": BAD["name"],
    "message_bytes": BAD["bytes"],
    "warm_up": BAD["time"],
    "window": ('"0 s"', *BAD["time"]),
    "tolerance": ("0", "1", "nan", '"x"'),
    "doublings": ("-1", "11", "1.5", "true"),
    "parameters": ("3", "{ offset = 2 }", "{ x = nan }"),
    "file": ('"no-such-file"', "3"),
    "speed": ("1",),
}


def _mix(name: str, pattern: str, content: str | bytes, told: str) -> Row:
    file = "t" if pattern == "goal" else "m"
    given = {"mix.pattern": f'"{pattern}"', "mix.message_bytes": None, "mix.file": f'"{file}"'}
    return Row(
        name, RUN, told, all_of(written("c.toml", config_text(given)), written(file, content))
    )


def _curve(key: str, text: str) -> Row:
    sections = {**CURVE, "curve": {**CURVE["curve"], key: text}}
    blocks = (
        "\n".join([f"[{name}]", *(f"{k} = {v}" for k, v in keys.items())])
        for name, keys in sections.items()
    )
    arguments = ("curve", "c.toml", "--quiet", "--out", "out")
    told = "curve"
    return Row(f"curve.{key} = {text}", arguments, told, written("c.toml", "\n".join(blocks)))


ROWS = [
    *(_mix(f"a trace {name}", "goal", *row) for name, row in TRACES.items()),
    *(_mix(f"a matrix {name}", "matrix", *row) for name, row in MATRICES.items()),
    *(_curve(key, text) for key, texts in BAD_CURVE.items() for text in texts),
]
