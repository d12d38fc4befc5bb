"""Configs that ask for more than any machine has, and numbers beyond what can be counted."""

from __future__ import annotations

from hostile.row import Row, config_row

HUGE = "1" + "0" * 30
ALWAYS = {"communication.together": '"always"'}
"""By share jobs loop for a time, and the number of iterations is not read."""


def machine(title: str, told: str, **keys: str) -> Row:
    """A run on another machine."""
    changes: dict[str, str | None] = {"machine.p": None, "machine.a": None, "machine.g": None}
    changes |= {f"machine.{key}": text for key, text in keys.items()}
    return config_row(title, {**changes, "queue.policies": '["baseline"]'}, told)


def torus(title: str, dims: str, told: str, **keys: str) -> Row:
    """A run on a torus."""
    return machine(f"torus {title}", told, family='"torus"', dims=dims, **keys)


def plus(title: str, told: str, **keys: str) -> Row:
    """A run on a dragonfly+."""
    small = {"p": "1", "leaves": "2", "spines": "2", "g": "3"}
    return machine(f"dragonfly+ {title}", told, family='"dragonfly-plus"', **(small | keys))


ROWS = [
    config_row("p = 10^30", {"machine.p": HUGE}, "nodes"),
    config_row("a = 10^7", {"machine.a": "10000000"}, "links"),
    config_row("g = 10^30", {"machine.g": HUGE}, "nodes"),
    config_row("g = 10^6", {"machine.g": "1000000"}, "links"),
    config_row("h = 10^9", {"machine.h": "1000000000"}, "links"),
    config_row("p = 10^5000", {"machine.p": "1" + "0" * 5000}, "c.toml"),
    config_row("p of 4000 digits", {"machine.p": "9" * 4000}, "nodes"),
    config_row("rails = 10^30", {"machine.rails": HUGE}, "rails"),
    config_row(
        "10^9 rails on one router",
        {"machine.rails": "1000000000", "machine.rail_routers": '"same"'},
        "links",
    ),
    config_row(
        "a request larger than a packet",
        {"machine.packet.eager_limit_bytes": "0", "machine.packet.control_bytes": '"1 MB"'},
        "control_bytes",
    ),
    torus("40000 x 40000", "[40000, 40000]", "nodes"),
    torus("of 40 sides of two", "[" + "2, " * 40 + "]", "dimensions"),
    torus("of 200 sides of one", "[2, " + "1, " * 200 + "]", "dimensions"),
    torus("whose product wraps to 0", "[4294967296, 4294967296]", "nodes"),
    torus("without sides", "[]", "dims"),
    torus("with a side of 0", "[4, 0]", "dims"),
    torus("with a side in text", '[4, "4"]', "dims"),
    torus("with nested sides", "[[4, 4]]", "dims"),
    torus("with a side that is true", "[4, true]", "dims"),
    torus("concentrated", "[4, 4]", "nodes", concentration=HUGE),
    torus("with wraps for three", "[4, 4]", "wrap", wrap="[true, true, true]"),
    torus("factor 0", "[4, 4]", "bandwidth_factor", bandwidth_factor="[0.0, 1.0]"),
    torus("factor nan", "[4, 4]", "bandwidth_factor", bandwidth_factor="[nan, 1.0]"),
    torus("factor 1e300", "[4, 4]", "bandwidth", bandwidth_factor="[1e300, 1.0]"),
    torus("factor 1e-300", "[4, 4]", "bandwidth", bandwidth_factor="[1e-300, 1.0]"),
    torus("latency 1e300 s", "[4, 4]", "latency", link_latency='"1e300 s"'),
    plus("of 10^30 leaves", "nodes", leaves=HUGE),
    plus("of 10^9 global ports", "links", h="1000000000"),
    plus("without spines", "spines", spines="0"),
    plus("of more groups than ports allow", "spines*h+1 = 5", g="6", h="2"),
    plus("of three rails on two leaves", "rails", rails="3"),
    machine("fat-tree of radix 10^30", "nodes", family='"fattree"', radix=HUGE),
    machine("fat-tree of radix 5000", "nodes", family='"fattree"', radix="5000"),
    machine("fat-tree of an odd radix", "radix", family='"fattree"', radix="7"),
    machine("fat-tree with taper 0", "taper", family='"fattree"', radix="4", taper="0.0"),
    machine("fat-tree of 9 pods of 8", "pods", family='"fattree"', radix="8", pods="9"),
    machine("fat-tree of levels 10^30", "levels", family='"fattree"', radix="8", levels=HUGE),
    machine("fat-tree m1", "nodes", family='"fattree"', m1=HUGE, m2="2"),
    machine("fat-tree w2", "links", family='"fattree"', m1="2", m2="2", w2=HUGE),
    machine("fat-tree w3 = 0", "w3", family='"fattree"', m1="2", m2="2", w3="0"),
    machine("fat-tree of both kinds", "m1", family='"fattree"', radix="4", m1="2", m2="2"),
    machine("hypercube of 40 dimensions", "dimension", family='"hypercube"', dimension="40"),
    machine("hypercube of 28 dimensions", "nodes", family='"hypercube"', dimension="28"),
    machine("hypercube of 17 dimensions", "shortest-path", family='"hypercube"', dimension="17"),
    machine("hyperx of a huge side", "nodes", family='"hyperx"', dims=f"[{HUGE}]"),
    machine("hyperx of 10^6", "links", family='"hyperx"', dims="[1000000]"),
    machine("hyperx without sides", "dims", family='"hyperx"', dims="[]"),
    machine("slim fly of a great prime", "links", family='"slimfly"', q="1000003"),
    machine("slim fly of 9", "prime", family='"slimfly"', q="9"),
    machine("slim fly concentrated", "nodes", family='"slimfly"', q="5", concentration=HUGE),
    machine("dragonfly without p", "machine.p", family='"dragonfly"', a="2", g="5"),
    machine(
        "preset with a key of another family",
        "machine.dims",
        preset='"theta"',
        family='"dragonfly"',
        dims="[2]",
    ),
    machine("graph without a file", "file", family='"graph"'),
    config_row("buffer of 10^18", {"machine.packet.buffer_bytes": "1" + "0" * 18}, "buffer_bytes"),
    config_row("buffer of 2 GiB", {"machine.packet.buffer_bytes": '"2 GiB"'}, "buffer_bytes"),
    config_row("packets of 1 GiB", {"machine.packet.packet_bytes": '"1 GiB"'}, "packet_bytes"),
    config_row("header of 10^18", {"machine.packet.header_bytes": "1" + "0" * 18}, "header_bytes"),
    config_row("router latency 1e300", {"machine.packet.router_latency": '"1e300 s"'}, "latency"),
    config_row(
        "output buffer below a packet",
        {"machine.packet.router": '"input-queued"', "machine.packet.output_buffer_bytes": "1"},
        "output_buffer_bytes",
    ),
    config_row("copy of 1e300 s a byte", {"machine.packet.copy_s_per_byte": "1e300"}, "copy_s"),
    config_row(
        "bias 1e300", {"machine.routing": '"ugal-l"', "machine.ugal_bias": '"1e300 s"'}, "ugal_bias"
    ),
    config_row(
        "a margin of bytes beside times",
        {"machine.routing": '"ugal-l"', "machine.ugal_threshold_bytes": '"1 KiB"'},
        "ugal_threshold_bytes",
    ),
    config_row(
        "a weight of 10^6", {"machine.routing": '"par"', "machine.ugal_weight": "1000000"}, "weight"
    ),
    config_row("jobs 10^12", {"workload.synthetic.n_jobs": "1" + "0" * 12}, "n_jobs"),
    config_row("mean nodes 1e300", {"workload.synthetic.mean_nodes": "1e300"}, "mean_nodes"),
    config_row(
        "run times to 1e308", {"workload.synthetic.run_time_range": '["20 s", "1e308 s"]'}, "run"
    ),
    config_row(
        "run times backwards", {"workload.synthetic.run_time_range": '["20 s", "2 s"]'}, "run time"
    ),
    config_row("load 1e-300", {"workload.synthetic.load": "1e-300"}, "load"),
    config_row(
        "requested 1e308", {"workload.synthetic.requested_factor": "[1.0, 1e308]"}, "requested"
    ),
    config_row(
        "arrivals 1e308",
        {"workload.arrival_factor": "1e308", "workload.synthetic.load": "0.5"},
        "arrival",
    ),
    config_row("sizes 1e308", {"workload.size_factor": "1e308"}, "size"),
    config_row("start 1e308 s", {"workload.start": '"1e308 s"'}, ""),
    config_row(
        "all jobs too large",
        {"workload.size_factor": "1e6", "workload.larger_jobs": '"error"'},
        "nodes",
    ),
    config_row("ranks 10^6", {"communication.ranks_per_node": "1000000"}, "ranks_per_node"),
    config_row("iterations 10^9", {**ALWAYS, "mix.iterations": "1000000000"}, "iterations"),
    config_row(
        "iterations 10^8 of pairs",
        {**ALWAYS, "mix.pattern": '"pairs"', "mix.iterations": "100000000"},
        "iterations",
    ),
    config_row(
        "100 GB message and 10^6 iterations",
        {**ALWAYS, "mix.message_bytes": '"100 GB"', "mix.iterations": "1000000"},
        "message",
    ),
    config_row("1 EB message", {"mix.message_bytes": '"1000000 TB"'}, "message_bytes"),
    config_row("10 TB message", {"mix.message_bytes": '"10 TB"'}, "message_bytes"),
    config_row("snapshots 10^9", {"run.snapshots": "1000000000"}, "snapshots"),
    config_row(
        "weights 1e308 twice",
        {
            "mix.weight": '1e308\n\n[[communication.mix]]\npattern = "pairs"\n'
            "message_bytes = 1\nweight = 1e308"
        },
        "weight",
    ),
    *(
        config_row(
            f"pattern {pattern} {text}",
            {"mix.pattern": f'"{pattern}"', "mix.parameters": text},
            told,
        )
        for pattern, text, told in (
            ("halo2d", "{ grid = [10, 10] }", "grid"),
            ("halo3d", f"{{ grid = [{HUGE}, 1, 1] }}", "grid"),
            ("fft3d", f"{{ cells = {HUGE} }}", "cells"),
            ("fft3d", "{ cells = 10000000 }", "fft3d"),
            ("fft3d", "{ compute_ns_per_cell = 1e300 }", "compute time"),
            ("bisection-pairing", "{ rounds = 1000000000 }", "rounds"),
            ("bisection-pairing", "{ chunks = 1000000000 }", "chunks"),
            ("sub-a2a", "{ dimension_bytes = [1] }", "dimension_bytes"),
            ("stencil4d", f"{{ points = [{HUGE}, 1, 1, 1] }}", "points"),
            ("unstructured-mesh", "{ max_degree = 1000000000000 }", "degree"),
            ("strassen-winograd", "{ dfs_steps = 1000 }", "messages"),
            ("strassen-winograd", f"{{ matrix_dim = {HUGE} }}", "strassen"),
            ("uniform-random", "{ messages = 1000000000000 }", "messages"),
            ("adversarial", f"{{ group_size = {HUGE} }}", "in groups of"),
        )
    ),
    config_row(
        "policies of a million",
        {"queue.policies": "[" + '"simple", ' * 1_000_000 + "]"},
        "c.toml",
    ),
    config_row(
        "window huge is all",
        {"queue.window": HUGE},
        "",
        status=0,
    ),
    config_row("seed of 4000 digits is one", {"run.seed": "9" * 4000}, "", status=0),
    config_row("no machine", {}, "machine", drop=("machine",)),
    config_row("no queue", {}, "queue", drop=("queue",)),
]
