"""Recorded iterations: AICB's operations, SimAI's workloads; the summary of ``describe``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import netcosim as nc
from netcosim.cli import main
from netcosim.commands.describe import summary_of
from netsim.errors import NetcosimError
from patterns.recorded import stages
from patterns.recorded.pattern import read_recorded
from patterns.recorded.stages import Recorded
from patterns.registry import PATTERNS, make_pattern
from patterns.training.operations import OVERLAPS
from patterns.training.times import bytes_sent, computing_s, timeline

RNG = np.random.default_rng(1)
SIMAI = """HYBRID model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 8 checkpoints: 0
2
attention_layer -1 1000 ALLREDUCE 4096 2000 ALLREDUCE 4096 3000 NONE 0 100
mlp_layer -1 500 ALLREDUCE 8192 700 NONE 0 900 REDUCESCATTER 16384 100
"""
AICB = """[rank0 ~ rank7]
comm_type,comm_group,comm_group_size,msg_size,stage
CommType.broadcast,CommGroup.dp_group,4,999,init
CommType.epoch_end,None,None,0,
CommType.all_reduce,CommGroup.tp_group,2,4096,forward.Layer
CommType.all_reduce,CommGroup.dp_group,4,16384,backward.bucket
CommType.epoch_end,None,None,0,
CommType.all_reduce,CommGroup.tp_group,2,77,forward.Layer
"""


PIPELINE = """HYBRID model_parallel_NPU_group: 1 pp: 2 vpp: 1 ga: 2 all_gpus: 4 pp_comm 2000000
6
grad -1 0 NONE 0 0 NONE 0 0 REDUCESCATTER 4000000 100
embedding_layer -1 500000 NONE 0 1000000 NONE 0 0 NONE 0 100
attention_layer -1 500000 NONE 0 1000000 NONE 0 0 NONE 0 100
embedding_layer -1 500000 NONE 0 1000000 NONE 0 0 NONE 0 100
attention_layer -1 500000 NONE 0 1000000 NONE 0 0 NONE 0 100
optimizer1 -1 0 ALLREDUCE 4 0 NONE 0 0 NONE 0 100
"""


def stage_text(stage: int) -> str:
    """AICB's text of a stage of two, with two micro-batches, as its generator orders them."""
    work = "CommType.all_reduce,CommGroup.tp_group,2,4096,{0}.Layer,\n"
    message = "CommType.{0},CommGroup.pp_group,1,2000000,{1}_step,{2}\n"
    forward, backward = work.format("forward"), work.format("backward")
    if stage == 0:
        sends = message.format("isend", "forward", "send_next")
        waits = message.format("irecv", "backward", "recv_next")
        # the wait for a gradient stands before the send that it depends on
        body = forward + sends + forward + waits + sends + backward + waits + backward
    else:
        waits = message.format("irecv", "forward", "recv_prev")
        sends = message.format("isend", "backward", "send_prev")
        body = waits + forward + backward + sends + waits + forward + backward + sends
    mark = "CommType.epoch_end,None,None,0,,\n"
    return (
        f"[ pp_stage{stage}: [rank{4 * stage}, rank{4 * stage + 1}] ]\n"
        "comm_type,comm_group,comm_group_size,msg_size,stage,additional\n"
        f"CommType.all_reduce,CommGroup.pp_group,2,8,init,\n{mark}"
        f"{body}CommType.all_reduce,CommGroup.dp_group,2,64,step,\n{mark}"
    )


def packets_s(path: Path, n_ranks: int) -> float:
    """Seconds of a step by packets on links of 1 GB/s."""
    machine = {"radix": 16, "levels": 2, "bandwidth_Bps": 1_000_000_000}
    network = nc.SharedNetwork(
        nc.make_routing(nc.make_topology("fattree", machine)), task_mapping="in-order"
    )
    work = nc.Communication("training-file", parameters={"file": str(path)})
    job = nc.PlacedJob(1, work, np.arange(n_ranks))
    return float(nc.Ensemble(network, [job]).packets().time_s[0])


def test_a_workload_is_read_forwards_then_backwards(tmp_path: Path) -> None:
    (tmp_path / "w.txt").write_text(SIMAI)
    recorded = read_recorded(tmp_path / "w.txt")
    found = [(op.kind, op.group, op.n_bytes) for op in recorded.stages[0] if op.group]
    assert found == [
        ("all-reduce", "tp", 4096),
        ("all-reduce", "tp", 8192),
        ("reduce-scatter", "dp", 16384),
        ("all-reduce", "tp", 4096),
    ]
    assert [op.n_bytes for op in recorded.stages[0] if op.beside] == [16384]
    assert computing_s(recorded.stages[0]) == pytest.approx(8.1e-6)
    layout = recorded.layout(1)
    assert (layout.tp, layout.dp) == (2, 4)


def listed(path: Path) -> list[tuple[str, str, bool, tuple[int, ...]]]:
    """Kind, group, whether beside computing, and what is needed, of each operation."""
    return [(op.kind, op.group, op.beside, op.needs) for op in read_recorded(path).stages[0]]


def write_aicb(path: Path, rows: Sequence[tuple[str, str, int, str]]) -> None:
    text = "".join(f"CommType.{a},CommGroup.{b}_group,{c},64,{d}\n" for a, b, c, d in rows)
    begin, end = AICB.split("CommType.all_reduce")[0], "CommType.epoch_end,None,None,0,\n"
    path.write_text(begin + text + end)


def test_gradients_are_reduced_beside_computing_and_nothing_else_is(tmp_path: Path) -> None:
    """ZeRO-3 of experts: parameters are gathered before each pass, also for the backward one."""
    rows = [
        ("all_gather", "dp", 4, "forward.weight"),
        ("all_gather", "dp", 4, "backward.weight"),
        ("reduce_scatter", "dp", 4, "backward.grad"),
        ("all_to_all", "ep", 2, "backward.MoE"),
        ("reduce_scatter", "ep_dp", 2, "backward.grad"),
        ("all_reduce", "tp", 2, "backward.Layer"),
        ("all_reduce", "dp", 4, "optimizer_step.norm"),
        ("barrier", "dp", 4, "optimizer_step"),
        ("computation", "tp", 2, "optimizer_step"),
    ]
    write_aicb(tmp_path / "w.csv", rows)
    assert listed(tmp_path / "w.csv") == [
        ("all-gather", "dp", False, ()),
        ("all-gather", "dp", False, ()),
        ("reduce-scatter", "dp", True, (1,)),
        ("all-to-all", "ep", False, ()),
        ("reduce-scatter", "edp", True, (3,)),
        ("all-reduce", "tp", False, ()),
        ("all-reduce", "dp", False, ()),
        # the end of the iteration waits for the last one beside
        ("compute", "", False, (4,)),
    ]
    sizes = read_recorded(tmp_path / "w.csv").sizes
    assert sizes == {"dp": 4, "ep": 2, "edp": 2, "tp": 2}


def test_what_is_beside_computing_needs_the_operation_before_it_if_there_is_one(tmp_path):
    beside, other = ("reduce_scatter", "dp", 4, "backward.grad"), ("all_reduce", "tp", 2, "forward")
    write_aicb(tmp_path / "w.csv", [beside, other, beside])
    assert [one[3] for one in listed(tmp_path / "w.csv")] == [(), (), (1,), (2,)]
    write_aicb(tmp_path / "w.csv", [other, beside])
    assert [one[3] for one in listed(tmp_path / "w.csv")] == [(), (0,), (1,)]


def test_experts_of_a_workload_have_groups_of_their_own(tmp_path: Path) -> None:
    """A pass of two layers, by hand: forwards 1 and 2, then backwards 2 and 1."""
    (tmp_path / "w.txt").write_text(
        "HYBRID model_parallel_NPU_group: 2 ep: 2 pp: 1 all_gpus: 8\n2\n"
        "grad_norm -1 1 ALLGATHER 64 1 NONE 0 1 ALLREDUCE 32 100\n"
        "moe -1 1 ALLTOALL_EP 64 1 ALLTOALL_EP 64 1 REDUCESCATTER_DP_EP 16 100\n"
    )
    assert [one for one in listed(tmp_path / "w.txt") if one[1]] == [
        ("all-gather", "dp", False, ()),
        ("all-to-all", "ep", False, ()),
        ("all-to-all", "ep", False, ()),
        # after the computing of its own pass
        ("reduce-scatter", "edp", True, (6,)),
        ("all-reduce", "dp", True, (9,)),
    ]
    layout = read_recorded(tmp_path / "w.txt").layout(8)
    assert (layout.tp, layout.dp, layout.ep, layout.gpus) == (2, 4, 2, 8)


def test_a_workload_with_a_pipeline_runs_as_1f1b(tmp_path: Path) -> None:
    """Forward 1 ms, backward 2 ms, messages of 2 ms: 13 ms; then 2 GPUs scatter 4 MB in 2 ms.

    Stage 0 computes until 2 ms; stage 1 from 3 to 6 and to 9; its gradients arrive at 8 and 11.
    """
    path = tmp_path / "w.txt"
    path.write_text(PIPELINE)
    recorded = read_recorded(path)
    layout = recorded.layout(4)
    assert (layout.pp, layout.dp, layout.gpus) == (2, 2, 4)
    found = timeline(recorded.stages, layout, dict.fromkeys(("pp", "dp"), 1e9))
    assert found.seconds == pytest.approx(15e-3)
    assert found.exposed_s[0] == pytest.approx({"tp": 0, "cp": 0, "pp": 7e-3, "dp": 2e-3, "ep": 0})
    assert bytes_sent(recorded.stages[0], layout)["pp"] == 2 * 2_000_000
    assert packets_s(path, 4) == pytest.approx(15e-3, rel=0.01)


def test_chunks_of_a_workload_are_interleaved(tmp_path: Path) -> None:
    """Two stages of two chunks: a micro-batch crosses 3 boundaries each way."""
    layers = [
        f"{name} -1 1000 NONE 0 2000 NONE 0 0 NONE 0 100"
        for name in ("embedding_layer", "attention_a", "mlp", "attention_b", "mlp") * 4
    ]
    head = PIPELINE.splitlines()[0].replace("vpp: 1", "vpp: 2").replace("ga: 2", "ga: 4")
    path = tmp_path / "w.txt"
    path.write_text("\n".join([head, str(len(layers)), *layers]))
    recorded = read_recorded(path)
    sent = [bytes_sent(stage, recorded.layout(4))["pp"] for stage in recorded.stages]
    # stage 0 passes on both of its chunks forwards, and one backwards
    assert sent == [4 * 3 * 2_000_000, 4 * 3 * 2_000_000]
    assert [computing_s(stage) for stage in recorded.stages] == pytest.approx([4 * 15e-6] * 2)
    # chunks of three layers and of two: the first one ends with the first mlp
    first = recorded.stages[0]
    assert [op.kind for op in first[:4]] == ["compute", "compute", "compute", "send"]
    found = timeline(recorded.stages, recorded.layout(4), {})
    # bubble of (3 + 2) x 3 us / 2: the pipeline fills by its first chunk and drains by its last
    assert found.seconds == pytest.approx(60e-6 + 9e-6)
    # lines of one attention stay together
    names = ("attention_column", "attention_linear", "attention_row", "mlp", "attention_row")
    parts = [layer.replace("mlp", name) for layer, name in zip([layers[2]] * 5, names, strict=True)]
    path.write_text("\n".join([head, "24", *([layers[0], *parts] * 4)]))
    kinds = [op.kind for op in read_recorded(path).stages[0]]
    assert kinds[:6] == [*["compute"] * 5, "send"]
    # one of four micro-batches is left out; bytes with a decimal point, as AICB writes them
    odd = head.replace("ga: 4", "ga: 3").replace("pp_comm 2000000", "pp_comm: 2000000.0")
    path.write_text("\n".join([odd, "15", *layers[:15]]))
    recorded = read_recorded(path)
    sent = [bytes_sent(stage, recorded.layout(4))["pp"] for stage in recorded.stages]
    assert sent == [3 * 3 * 2_000_000, 3 * 3 * 2_000_000]
    found = timeline(recorded.stages, recorded.layout(4), {})
    assert 3 * 15e-6 < found.seconds <= 69e-6
    made = make_pattern("training-file", 4, 1, 1, RNG, {"file": str(path)})
    assert made.total_bytes == 2 * 2 * 9 * 2_000_000


def test_stages_of_a_file_of_aicb(tmp_path: Path) -> None:
    """Two stages of 2 x 2 GPUs; the file of one stage is that of both."""
    both, one = tmp_path / "both.csv", tmp_path / "one.csv"
    both.write_text(stage_text(0) + stage_text(1))
    recorded = read_recorded(both)
    layout = recorded.layout(8)
    assert (layout.tp, layout.pp, layout.dp, layout.gpus) == (2, 2, 2, 8)
    messages = [
        [(op.kind, op.peer, op.tag) for op in s if op.group == "pp"] for s in recorded.stages
    ]
    # sends before what is waited for with them; tags are odd forwards
    assert messages[0] == [
        *(("send", 1, 1), ("send", 1, 3)),
        *(("receive", 1, 0), ("receive", 1, 2)),
    ]
    assert messages[1] == [
        *(("receive", 0, 1), ("send", 0, 0)),
        *(("receive", 0, 3), ("send", 0, 2)),
    ]
    sent = [bytes_sent(stage, layout)["pp"] for stage in recorded.stages]
    assert sent == [4_000_000, 4_000_000]
    seconds = packets_s(both, 8)
    # messages arrive at 2 and 4 ms, their gradients 2 ms after
    assert seconds == pytest.approx(6e-3, rel=0.01)
    one.write_text(stage_text(0))
    alone = read_recorded(one)
    assert alone.layout(8) == layout
    assert packets_s(one, 8) == pytest.approx(seconds, rel=1e-3)


def test_passes_of_a_stage_keep_the_order_of_their_operations(tmp_path: Path) -> None:
    """Two micro-batches of 2 operations forwards and 1 backwards."""
    line = "CommType.all_reduce,CommGroup.tp_group,2,4096,forward.Layer,\n"
    text = stage_text(0).replace(line, line + line.replace("4096", "512"))
    (tmp_path / "f").write_text(text)
    stage = read_recorded(tmp_path / "f").stages[0]
    assert [(op.kind, op.n_bytes) for op in stage] == [
        *[("all-reduce", 4096), ("all-reduce", 512), ("send", 2_000_000)] * 2,
        *[("receive", 2_000_000), ("all-reduce", 4096)] * 2,
        ("all-reduce", 64),
    ]


def test_lines_of_aicb_that_are_no_operations(tmp_path: Path) -> None:
    """Before the first mark sizes may differ and kinds be unknown; a group of one sends nothing."""
    before = "CommType.epoch_end,None,None,0,\n"
    line = "CommType.all_reduce,CommGroup.{0}_group,{1},8,{2}\n"
    first = "\nCommType.gather,CommGroup.tp_group,9,8,init\n" + line.format("dp", 8, "init")
    text = AICB.replace(before, first + before, 1)
    operation = "CommType.all_reduce,CommGroup.tp_group,2,4096"
    (tmp_path / "f").write_text(text.replace(operation, line.format("pp", 1, "x") + operation))
    assert [op[:2] for op in listed(tmp_path / "f")][:2] == [
        ("all-reduce", "tp"),
        ("all-reduce", "dp"),
    ]
    assert read_recorded(tmp_path / "f").layout(8).dp == 4


def test_a_stage_may_end_with_a_receive(tmp_path: Path) -> None:
    step = "CommType.all_reduce,CommGroup.dp_group,2,64,step,\n"
    waits = "CommType.irecv,CommGroup.pp_group,1,8,backward_step,recv_next\n"
    sends = waits.replace("irecv", "isend").replace("recv_next", "send_prev")
    text = stage_text(0).replace(step, step + waits) + stage_text(1).replace(step, step + sends)
    (tmp_path / "f").write_text(text)
    ends = [stage[-1] for stage in read_recorded(tmp_path / "f").stages]
    assert [(op.kind, op.n_bytes, op.peer) for op in ends] == [("receive", 8, 1), ("send", 8, 0)]


def test_operations_of_a_micro_benchmark(tmp_path: Path) -> None:
    """Without sizes of groups all GPUs take part; SimAI's header is MICRO."""
    path = tmp_path / "w.csv"
    path.write_text(
        "comm_type,comm_group,msg_size,stage\nCommType.epoch_end,None,0,\n"
        "CommType.all_reduce,CommGroup.dp_group,4096,x\nCommType.epoch_end,None,0,\n"
    )
    other = tmp_path / "w.txt"
    other.write_text("MICRO\n1\nmicro_test -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4096 1\n")
    for file in (path, other):
        made = make_pattern("training-file", 6, 1, 1, RNG, {"file": str(file)})
        assert made.total_bytes == pytest.approx(2 * 5 * 4096, abs=60)


@pytest.mark.parametrize(
    ("stages", "sizes", "gpus", "degrees"),
    [
        # groups of data parallelism have all ranks of context parallelism
        (0, {"tp": 2, "cp": 2, "dp": 6}, 1, (2, 2, 3, 1)),
        (0, {"tp": 2, "cp": 2, "ep": 4}, 17, (2, 2, 4, 4)),
        (0, {}, 3, (1, 1, 3, 1)),
        # 24 GPUs are two stages of 2 x 6
        (2, {"tp": 2}, 24, (2, 1, 6, 1)),
    ],
)
def test_degrees_follow_from_the_sizes_of_groups(stages, sizes, gpus, degrees):
    layout = Recorded(((),) * stages, sizes).layout(gpus)
    assert (layout.tp, layout.cp, layout.dp, layout.ep) == degrees


@pytest.mark.parametrize(("name", "text"), [("w.txt", SIMAI), ("w.csv", AICB)])
@pytest.mark.parametrize("overlap", OVERLAPS)
def test_programs_of_files_send_their_bytes(name, text, overlap, tmp_path):
    (tmp_path / name).write_text(text)
    given = {"file": str(tmp_path / name), "overlap": overlap}
    n_ranks = PATTERNS["training-file"].least_ranks(given)
    assert n_ranks == 8
    recorded = read_recorded(tmp_path / name)
    closed = 8 * sum(bytes_sent(recorded.stages[0], recorded.layout(8)).values())
    for more in (0, 3):
        made = make_pattern("training-file", n_ranks + more, 1, 1, RNG, given)
        made.validate()
        assert made.total_bytes == closed
    with pytest.raises(NetcosimError, match="8 ranks; a job of 7 is too small"):
        make_pattern("training-file", n_ranks - 1, 1, 1, RNG, given)


def test_published_files_are_read(shared_dir: Path) -> None:
    """Every one of AICB's and SimAI's; Megatron's of 128 GPUs as a program."""
    folder = shared_dir / "inputs" / "ai"
    files = [*folder.glob("aicb/physical_*.csv.gz"), *folder.glob("aicb/simAI_*.txt.gz")]
    if not files:
        pytest.skip("the iterations of AICB are not part of the project")
    for path in [*files, folder / "simai" / "microAllReduce.txt"]:
        assert read_recorded(path).stages[0]
    # ZeRO-3's 65 small gathers after the step among the 656 operations
    path = folder / "aicb" / "physical_L7B-D1-C02_Llama7B_zero3_mbs1.csv.gz"
    operations = [op for op in read_recorded(path).stages[0] if op.group]
    gathers = [op for op in operations if op.phase == "step" and op.kind == "all-gather"]
    assert (len(operations), len(gathers)) == (656, 65)
    assert {op.n_bytes for op in gathers} == {8192}
    path = folder / "aicb" / "physical_L7B-M1-C04_Llama7B_megatron_tp2_pp1_mbs1.csv.gz"
    recorded = read_recorded(path)
    sent = bytes_sent(recorded.stages[0], recorded.layout(128))
    # 130 all-reduces of activations between two GPUs, and the gradients and parameters of 64
    assert sent["tp"] == pytest.approx(130 * 16_777_216, rel=1e-4)
    assert sent["dp"] == pytest.approx(63 / 64 * (10_366_697_472 + 5_183_348_736), rel=1e-9)
    made = make_pattern("training-file", 128, 1, 1, RNG, {"file": str(path)})
    assert made.total_bytes == pytest.approx(128 * (sent["tp"] + sent["dp"]), rel=1e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", ":1: neither AICB's operations"),
        (SIMAI.replace("pp: 1", "pp: 2"), ":1: pp: 2 needs pp_comm"),
        (PIPELINE.replace("ga: 2", "ga: 3"), ":1: ga: 3 micro-batches; 2 layers embedding_layer"),
        (PIPELINE.replace("vpp: 1", "vpp: 2"), ":4: vpp: 2 chunks of a micro-batch with 1 layers"),
        (
            PIPELINE.replace("gpus: 4", "gpus: 5"),
            "a multiple of model_parallel_NPU_group * pp = 2",
        ),
        (SIMAI.replace("checkpoints: 0", "checkpoints: 2"), ":1: checkpoints: 2; layers that are"),
        (SIMAI.replace("pp: 1", "pp: x"), ":1: pp = 'x'; a whole number"),
        (SIMAI.replace(" 900 ", " "), ":4: 11 columns; 12 are needed"),
        (SIMAI.replace("NONE 0 100", "NONE 0 100 7"), ":3: 13 columns; 12 are needed"),
        (SIMAI.replace("REDUCESCATTER", "GATHER"), ":4: GATHER; known are NONE and"),
        (SIMAI.replace("1000", "-5"), ":3: computing time = '-5'"),
        (AICB.replace("comm_group_size", "size"), ":5: no comm_group_size of tp, nor in another"),
        (
            AICB.replace("tp_group,2,4096", "tp_group,None,4096"),
            ":5: no comm_group_size of tp, nor",
        ),
        (AICB.replace("msg_size", "bytes"), ":2: the head lacks msg_size"),
        (
            AICB.replace("tp_group,2", "embedding_group,2"),
            ":5: all-reduce of group 'embedding'; known",
        ),
        (
            stage_text(0).replace("send_next", "somewhere"),
            ":6: isend with additional = 'somewhere'",
        ),
        (
            stage_text(0).replace("init", "x").replace("pp_group,2", "pp_group,1"),
            "number is not in",
        ),
        (stage_text(0) + stage_text(0), "stage 1 of 2 has a send with stage 2"),
        (stage_text(0).replace("4096,forward", "4095,forward", 1), "are not alike are not read"),
        (
            stage_text(0).replace("2000000", "2000001", 1),
            "messages of one stage of [2000000, 2000001]",
        ),
        (
            stage_text(0).removesuffix("CommType.epoch_end,None,None,0,,\n") + stage_text(1),
            "no operations between two lines of epoch_end",
        ),
        (f"\n{AICB}", ":1: neither AICB's operations"),
        (
            stage_text(0).replace("dp_group,2", "pp_group,2"),
            ":13: all-reduce of group 'pp'; known are",
        ),
        (AICB.replace("4096", "many"), ":5: msg_size = 'many'"),
        (AICB.replace("all_reduce", "isend"), ":5: isend of group 'tp'"),
        (AICB.split("CommType.epoch_end")[0], "no operations between two lines of epoch_end"),
        (
            AICB.split("CommType.broadcast")[0] + "CommType.epoch_end,None,None,0,\n" * 2,
            "no operations between two lines of epoch_end",
        ),
        (AICB[: AICB.rindex("CommType.epoch_end")], "no operations between two lines of epoch_end"),
        (AICB.replace("4,16384", "4,16,384"), ":6: 6 cells; the head has 5"),
        (AICB.replace("dp_group,4,16384", "tp_group,4,16384"), ":6: tp of 4 GPUs, before of 2"),
        (
            AICB.replace("tp_group,2", "tp_group,0"),
            ":5: comm_group_size = '0'; a whole number from 1",
        ),
        (AICB.replace("4096", "2²"), ":5: msg_size = '2²'; a whole number is needed"),
        (AICB.replace("4096", "9" * 131_073), ":5: not valid CSV: field larger than field limit"),
        (SIMAI.replace("group: 2", "group: 0"), ":1: model_parallel_NPU_group = '0'"),
        (SIMAI.replace("group: 2", "group: 2²"), ":1: model_parallel_NPU_group = '2²'"),
        (SIMAI.replace("group: 2", "group 2"), ":1: 'model_parallel_NPU_group: N' is needed"),
        (SIMAI.replace("ep: 1", "ep: 0"), ":1: ep = '0'; a whole number from 1"),
        (SIMAI.replace("gpus: 8", "gpus: 7"), ":1: all_gpus: 7; it must be a multiple of"),
        (SIMAI.replace("\n2\n", "\n3\n"), ":2: number of layers = 3; 2 lines of layers follow"),
        (SIMAI.replace("\n2\n", "\n1\n"), ":2: number of layers = 1; 2 lines of layers follow"),
        (SIMAI.replace("\n2\n", "\nx\n"), ":2: number of layers = 'x'"),
        (SIMAI.splitlines()[0], ":2: number of layers = ''"),
    ],
)
def test_files_that_are_no_iterations_are_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_text(text)
    with pytest.raises(NetcosimError) as caught:
        read_recorded(tmp_path / "f")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_is_read_again_when_its_time_has_changed(tmp_path: Path) -> None:
    """The same number of bytes, a second later: 1000 ns of computing are 2000 ns."""
    path = tmp_path / "w"
    for second, computing in enumerate(("1000", "2000"), 1):
        path.write_text(SIMAI.replace("1000", computing))
        os.utime(path, (second, second))
        assert read_recorded(path).stages[0][0].seconds == pytest.approx(second * 1e-6)


def test_a_head_without_spaces_is_read(tmp_path: Path) -> None:
    (tmp_path / "w").write_text(SIMAI.replace("group: 2", "group:2"))
    assert read_recorded(tmp_path / "w").layout(1).tp == 2


def test_more_operations_than_are_built_are_refused(tmp_path, monkeypatch):
    """The workload has six passes of computing and four collectives."""
    path = tmp_path / "w"
    path.write_text(SIMAI)
    assert len(read_recorded(path).stages[0]) == 11  # and a wait at the end
    monkeypatch.setattr(stages, "MAX_OPERATIONS", 10)
    path.write_text(SIMAI + "\n")
    assert len(read_recorded(path).stages[0]) == 11
    monkeypatch.setattr(stages, "MAX_OPERATIONS", 9)
    path.write_text(SIMAI + "\n\n")
    with pytest.raises(NetcosimError, match="over 9 operations in an iteration"):
        read_recorded(path)


def test_a_hundred_thousand_layers_are_refused_before_they_are_built(tmp_path: Path) -> None:
    path, layer = tmp_path / "w", SIMAI.splitlines()[2]
    path.write_text("\n".join([SIMAI.splitlines()[0], "100000", *[layer] * 100_000]))
    with pytest.raises(NetcosimError, match="over 100,000 operations in an iteration"):
        read_recorded(path)


def test_equal_collectives_are_built_once_and_sent_each_time(tmp_path: Path) -> None:
    """100 equal layers: one all-reduce of 4,096 bytes on 4 pairs each way, 8 x 4,096 bytes."""
    path = tmp_path / "w"
    layer = "a -1 1000 ALLREDUCE 4096 0 NONE 0 0 NONE 0 0"
    path.write_text("\n".join([SIMAI.splitlines()[0], "100", *[layer] * 100]))
    made = make_pattern("training-file", 8, 1, 1, RNG, {"file": str(path)})
    made.validate()
    assert made.total_bytes == 100 * 8 * 4096
    assert len(np.unique(made.send_step)) == 100 * 8 * 2


def test_describe_shows_bytes_and_the_time_alone() -> None:
    settings = ["model=gpt3-175b", "tp=8", "pp=8", "micro_batches=16", "scale_up_GBps=450"]
    lines = summary_of("training", 512, "400 Gbit/s", settings)
    assert lines[0].startswith("an isolated iteration of gpt3-175b on 512 GPUs takes ")
    assert [line.split()[0] for line in lines[4:]] == ["tp", "pp", "dp"]


def test_describe_shows_a_file_on_a_machine(tmp_path, capsys, monkeypatch):
    """The pipeline of 13 ms and 2 ms of gradients, on nodes of 1 GB/s (see above)."""
    (tmp_path / "w.txt").write_text(PIPELINE)
    own = tmp_path / "own.toml"
    own.write_text('[machine]\nfamily = "fattree"\nradix = 16\nlevels = 2\nbandwidth = "1 GB/s"\n')
    asked = ["describe", "training-file", str(tmp_path / "w.txt"), "--machine", str(own)]
    assert main(asked) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "an isolated step of w.txt on 4 GPUs takes 0.015 s"
    assert lines[1] == "  computing 0.006 s on the busiest GPU"
    assert [line.split()[0] for line in lines[2:5]] == ["communication", "pp", "dp"]
    assert lines[3].split()[1:4] == ["2", "0.004", "GB"]
    assert lines[5].startswith("  by packets on the first 4 nodes of ")
    # gradients of stage 1 share its link with its last message
    assert lines[5].endswith(": 15 ms, exposed: pp 0.005 s, dp 0.003 s")
    # twice the bandwidth: messages of 1 ms, 3 of 13 ms less, and 1 ms of gradients less
    assert main([*asked, "--bandwidth", "2 GB/s", "--ranks", "6"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "an isolated step of w.txt on 4 GPUs takes 0.012 s"
    assert lines[2] == "  2 of 6 ranks are idle"
    with pytest.raises(NetcosimError, match=r"--ranks 200: .* has 128 nodes, a rank each"):
        summary_of("training-file", 200, None, [f"file={tmp_path / 'w.txt'}"], str(own))
    monkeypatch.setattr("netcosim.machine_step.MOST_HOPS", 1e3)
    lines = summary_of("training-file", 4, None, [f"file={tmp_path / 'w.txt'}"], str(own))
    assert "not simulated" in lines[-1]


@pytest.mark.parametrize(
    ("name", "n_ranks", "settings", "message"),
    [
        ("halo3d", 8, [], "for training, training-file only, not 'halo3d'"),
        ("training", 0, [], "--ranks 0; it must be at least 1"),
        ("training", 8, ["tp"], "--set tp: KEY=VALUE"),
        ("training", 8, ["tp=x"], "tp"),
        ("training", 9, ["tp=8"], "needs a multiple of 8"),
    ],
)
def test_describe_refuses_what_has_no_summary(name, n_ranks, settings, message):
    with pytest.raises(NetcosimError, match=message):
        summary_of(name, n_ranks, "50 GB/s", settings)
