"""A training step: bytes as AICB and HPN print them, the pipeline's bubble, overlap."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from netsim.errors import NetcosimError
from patterns.training.layout import PEAK_FLOPS, Layout, slots
from patterns.training.model import MODELS, Model, model_of
from patterns.training.operations import OVERLAPS, Operation, iteration, overlapped
from patterns.training.times import bytes_sent, computing_s, timeline, wire_bytes, wire_share

FLOPS = 100e12
GPT_13B = Model(40, 5120, 40, 40, 20480, 2048, 32000, gated=False)
LLAMA_7B_AS_GPT = Model(32, 4096, 32, 32, 11008, 2048, 32000, gated=False)
MEGATRON = {"zero": 1, "gradient_bytes": 4, "bucket_bytes": 1 << 60}
LLAMA_3_MFU = 0.535
DEEPSPEED = {"dp": 128, "bucket_bytes": 2 * 10**9}


def recorded(shared_dir: Path, name: str) -> list[tuple[str, str, int, str]]:
    """Kind, group, bytes and phase of AICB's operations of tensors, without its preparation.

    Not compared are broadcasts of a batch's shape and tokens, and all-reduces of a flag, of the
    mean loss and of nothing, of at most 8 bytes.
    """
    path = shared_dir / "inputs" / "ai" / "aicb" / f"physical_{name}.csv.gz"
    if not path.exists():
        pytest.skip(f"{path} is not here: AICB's operations are not part of the project")
    with gzip.open(path, "rt") as file:
        next(file)
        rows = list(csv.DictReader(file))
    begin = next(i for i, row in enumerate(rows) if row["comm_type"] == "CommType.epoch_end")
    found = []
    for row in rows[begin:]:
        kind = row["comm_type"].removeprefix("CommType.").replace("_", "-")
        if kind not in ("broadcast", "epoch-end") and int(row["msg_size"]) > 8:
            group = row["comm_group"].removeprefix("CommGroup.").removesuffix("_group")
            phase = row["stage"].split(".")[0].removesuffix("_step")
            found.append((kind, group, int(row["msg_size"]), phase))
    return found


def computed(model: Model, layout: Layout) -> list[tuple[str, str, int, str]]:
    operations = iteration(model, layout, 0, FLOPS)
    return [(op.kind, op.group, op.n_bytes, op.phase) for op in operations if op.group]


@pytest.mark.parametrize(
    ("name", "model", "layout"),
    [
        ("G13B-M1-C01_GPT13B_megatron_tp8_pp1_mbs1", GPT_13B, Layout(tp=8, dp=16, **MEGATRON)),
        (
            "L7B-M1-C04_Llama7B_megatron_tp2_pp1_mbs1",
            LLAMA_7B_AS_GPT,
            Layout(tp=2, dp=64, **MEGATRON),
        ),
    ],
)
def test_megatrons_operations_are_those_of_aicb(shared_dir, name, model, layout):
    assert computed(model, layout) == recorded(shared_dir, name)


def test_sequence_parallel_operations_are_those_of_aicb(shared_dir: Path) -> None:
    """Except one all-reduce of the norms' gradients, 1.6 MB."""
    theirs = recorded(shared_dir, "G13B-M1-C02_GPT13B_megatron_tp8_pp1_mbs1_sp")
    theirs.remove(("all-reduce", "tp", 40 * 4 * 5120 * 2, "step"))
    layout = Layout(tp=8, dp=16, sequence_parallel=True, **MEGATRON)
    assert Counter(computed(GPT_13B, layout)) == Counter(theirs)


def test_zero_2_buckets_are_those_of_aicb(shared_dir: Path) -> None:
    """AICB all-reduces them, as DeepSpeed does without contiguous gradients."""
    theirs = [
        ("reduce-scatter" if kind == "all-reduce" else kind, *rest)
        for kind, *rest in recorded(shared_dir, "L7B-D1-C01_Llama7B_zero2_mbs1")
    ]
    assert computed(MODELS["llama-7b"], Layout(zero=2, **DEEPSPEED)) == theirs


def test_zero_3_tensors_and_buckets_are_those_of_aicb(shared_dir: Path) -> None:
    """With the 65 vectors of norms, of 4,096 elements, gathered after the step to keep them."""
    theirs = recorded(shared_dir, "L7B-D1-C02_Llama7B_zero3_mbs1")
    assert theirs.count(("all-gather", "dp", 8192, "step")) == 65
    layout = Layout(zero=3, gather_tensors=True, prefetch=0, **DEEPSPEED)
    mine = computed(MODELS["llama-7b"], layout)
    for kind in ("all-gather", "reduce-scatter"):
        assert [row for row in mine if row[0] == kind] == [row for row in theirs if row[0] == kind]
    assert len(mine) == len(theirs)


def test_tensor_parallel_messages_are_those_of_field_measurements() -> None:
    for model, tp, n_bytes in ((GPT_13B, 8, 20_971_520), (LLAMA_7B_AS_GPT, 2, 16_777_216)):
        sizes = Counter(row[2] for row in computed(model, Layout(tp=tp, dp=2)) if row[1] == "tp")
        assert sizes[n_bytes] == 4 * model.layers + 2


def test_tokens_go_to_their_experts_and_back() -> None:
    """Mixtral: 32,768 tokens of 4,096 elements of 2 bytes to 2 experts each, half of it a GPU."""
    operations = iteration(MODELS["mixtral-8x7b"], Layout(tp=2, dp=4, ep=4), 0, FLOPS)
    exchanges = [op.n_bytes for op in operations if op.kind == "all-to-all"]
    assert exchanges == [2 * 32_768 * 4096 * 2 // 2] * 32 * 2 * 2


@pytest.mark.parametrize(
    ("sequence_parallel", "n_bytes"), [(False, 33_554_432), (True, 16_777_216)]
)
def test_stages_exchange_entire_activations_unless_sequences_are_split(sequence_parallel, n_bytes):
    """2,048 tokens of 8,192 elements of 2 bytes on each of two GPUs, as AICB counts."""
    layout = Layout(tp=2, pp=2, micro_batches=2, sequence_parallel=sequence_parallel)
    operations = iteration(MODELS["llama-65b"], layout, 0, FLOPS)
    assert {op.n_bytes for op in operations if op.group == "pp"} == {n_bytes}


def test_gpt3_has_the_bytes_of_hpn() -> None:
    """Table 3 of HPN: 5.5 GB of gradients a GPU, 6 MB a micro-batch on a boundary."""
    model = MODELS["gpt3-175b"]
    layout = Layout(tp=8, pp=8, dp=512, micro_batches=8, sequence_parallel=True)
    gradients = []
    for stage in range(layout.pp):
        operations = iteration(model, layout, stage, FLOPS)
        gradients.append(sum(op.n_bytes for op in operations if op.group == "dp"))
        assert {op.n_bytes for op in operations if op.group == "pp"} == {6_291_456}
    assert sum(gradients) / layout.pp == pytest.approx(5.47e9, rel=0.004)
    assert min(gradients) == pytest.approx(2 * 12 * 12 * 12288**2 / 8, rel=5e-4)


@pytest.mark.parametrize(
    ("name", "billions", "active"),
    [
        ("gpt3-175b", 174.6, 174.6),
        ("llama-7b", 6.738, 6.6),
        ("llama-13b", 13.02, 12.85),
        ("llama-30b", 32.53, 32.32),
        ("llama-65b", 65.29, 65.02),
        ("llama3-8b", 8.03, 7.5),
        ("llama3-70b", 70.55, 69.5),
        ("llama3-405b", 405.85, 403.7),
        ("mixtral-8x7b", 46.7, 12.75),
        ("deepseek-v3", 671.0, 36.6),
        ("bert-large", 0.335, 0.334),
    ],
)
def test_models_have_the_published_parameters(name: str, billions: float, active: float) -> None:
    """The embedding that is only looked up is no active parameter."""
    assert MODELS[name].parameters() / 1e9 == pytest.approx(billions, rel=0.003)
    assert MODELS[name].active_parameters() / 1e9 == pytest.approx(active, rel=0.003)


def test_resnet_has_the_published_parameters_and_work() -> None:
    """As in PyTorch's model zoo: 25,557,032 parameters, 4.09 multiplications an image in 10^9."""
    model = MODELS["resnet-50"]
    assert model.parameters() == 25_557_032
    assert model.active_parameters() / 1e9 == pytest.approx(4.09, abs=0.005)
    operations = iteration(model, Layout(dp=64, micro_batch=32), 0, FLOPS)
    assert sum(op.n_bytes for op in operations if op.group == "dp") == 2 * 25_557_032
    with pytest.raises(NetcosimError, match="pp = 2: the model's layers differ"):
        Layout(pp=2).check(model)
    with pytest.raises(NetcosimError, match="heads = 1 cannot be split over 2"):
        Layout(tp=2).check(model)


@pytest.mark.parametrize("interleave", [1, 2, 3])
@pytest.mark.parametrize("recompute", [False, True])
def test_computing_is_six_or_eight_operations_a_parameter_and_token(interleave, recompute):
    model = MODELS["gpt3-175b"]
    layout = Layout(8, 1, 4, 2, micro_batches=8, interleave=interleave, recompute=recompute)
    seconds = sum(computing_s(iteration(model, layout, s, FLOPS)) for s in range(4)) / 4
    tokens = 2048 * layout.micro_batches * layout.dp
    factor = 8 if recompute else 6
    closed = factor * model.active_parameters() * tokens / (layout.gpus * FLOPS)
    # a head is not computed again
    assert seconds == pytest.approx(closed, rel=1e-9 if not recompute else 2e-3)


def of_equal_chunks(layout: Layout) -> list[list[Operation]]:
    """Return stages whose passes take 1 s forward and 2 s backward, 1 s of them for weights."""
    stages = []
    for stage in range(layout.pp):
        operations: list[Operation] = []
        for passes in slots(layout, stage):
            for kind in ("receive", "compute", "send"):
                for slot in passes:
                    own = layout.position(stage, slot.chunk)
                    other = own + (1 if slot.forward == (kind == "send") else -1)
                    if kind == "compute":
                        seconds = 2.0 if (slot.forward, slot.part) == (False, "all") else 1.0
                        operations.append(Operation(kind, seconds=seconds))
                    elif slot.part != "weights" and 0 <= other < layout.positions:
                        peer = layout.stage_of(other, slot.chunk)
                        tag = 1000 * slot.micro_batch + 2 * min(own, other) + slot.forward
                        operations.append(Operation(kind, "pp", 1, peer=peer, tag=tag))
        stages.append(operations)
    return stages


@pytest.mark.parametrize(
    ("pp", "interleave", "m", "overlap"),
    [
        *((2, 1, 3, "none"), (4, 1, 8, "none"), (4, 2, 8, "none"), (8, 3, 16, "none")),
        *((1, 1, 3, "batch"), (2, 1, 4, "batch"), (4, 1, 8, "batch"), (4, 2, 16, "batch")),
    ],
)
def test_the_bubble_is_the_closed_form(pp: int, interleave: int, m: int, overlap: str) -> None:
    """Equal chunks, no time for messages: the iteration is 1 + (P - 1) / (m v) of computing."""
    layout = Layout(
        pp=pp, dp=2, ep=2, interleave=interleave, micro_batches=m, expert_overlap=overlap
    )
    stages = of_equal_chunks(layout)
    computing, bubble = 3 * m * interleave, 3 * (pp - 1)
    found = timeline(stages, layout, {})
    assert found.seconds == pytest.approx(computing + bubble)
    # a stage waits from its first to its last pass for those that it does not begin and end
    for stage, exposed in enumerate(found.exposed_s):
        assert exposed["pp"] <= bubble
        assert exposed["pp"] > 0 or pp == 1
        assert stage or exposed["pp"] == pytest.approx(bubble)


def test_every_send_of_a_pipeline_has_its_receive() -> None:
    layout = Layout(pp=4, interleave=2, micro_batches=8)
    ends: Counter[tuple[int, int, int, int]] = Counter()
    for stage in range(4):
        for op in iteration(MODELS["gpt-13b"], layout, stage, FLOPS):
            if op.kind == "send":
                ends[stage, op.peer, op.tag, op.n_bytes] += 1
            elif op.kind == "receive":
                ends[op.peer, stage, op.tag, op.n_bytes] -= 1
    # 8 boundaries less one, both ways, 8 micro-batches
    assert set(ends.values()) == {0}
    assert len(ends) == 7 * 2 * 8


def test_gradients_are_exposed_by_what_exceeds_the_backward_pass() -> None:
    """Equal layers of backward time w, reduced in c each: (L - 1) max(0, c - w) + c are exposed."""
    model = Model(10, 1024, 8, 8, 4096, 1024, 1, gated=True)
    layout = Layout(dp=4)
    operations = iteration(model, layout, 0, FLOPS)
    layers = [op for op in operations if op.group == "dp" and op.n_bytes > 10**6]
    assert len(layers) == 10
    for slower in (0.25, 0.5, 2.0, 4.0):
        window = 4 * model.layer(0).work * 1024 / FLOPS
        bandwidth = layers[0].n_bytes * 1.5 / (slower * window)
        exposed = timeline([operations], layout, {"dp": bandwidth}).exposed_s[0]["dp"]
        closed = (9 * max(0.0, slower - 1) + slower) * window
        assert exposed == pytest.approx(closed, rel=1e-2)


def test_prefetching_hides_what_fits_beside_computing() -> None:
    model = Model(16, 4096, 32, 32, 16384, 4096, 1, gated=True)
    plain, ahead = Layout(dp=8, zero=3, prefetch=0), Layout(dp=8, zero=3)
    for bandwidth in (50e9, 200e9, 800e9):
        times = [
            timeline([iteration(model, one, 0, FLOPS)], one, {"dp": bandwidth}).exposed_s[0]["dp"]
            for one in (plain, ahead)
        ]
        assert times[1] < times[0]
    gather, window = model.layer(0).tensors, 2 * model.layer(0).work * 4096 / FLOPS
    one_gather = sum(gather) * 2 * 7 / 8 / 800e9
    assert one_gather < window
    # only the first gather, and the last reduction, remain
    assert times[1] < 3 * one_gather


def test_without_overlap_all_communication_is_exposed() -> None:
    """A GPU's time is computing and its waits by kind; what overlaps only ever saves time."""
    bandwidth = {"tp": 450e9, "cp": 50e9, "pp": 50e9, "dp": 50e9, "ep": 50e9, "edp": 50e9}
    model, layout = MODELS["mixtral-8x7b"], Layout(2, 2, 2, 8, ep=4, zero=3, micro_batches=4)
    every = [iteration(model, layout, stage, FLOPS) for stage in range(2)]
    found = {}
    for name in OVERLAPS:
        stages = [overlapped(operations, name) for operations in every]
        found[name] = timeline(stages, layout, bandwidth)
        last = [
            computing_s(operations) + sum(exposed.values())
            for operations, exposed in zip(stages, found[name].exposed_s, strict=True)
        ]
        assert max(last) == pytest.approx(found[name].seconds)
    assert found["all"].seconds < found["gradients"].seconds < found["none"].seconds
    sent = [
        sum(op.n_bytes * wire_share(op.kind, layout.size_of(op.group)) for op in operations
            if op.group in ("dp", "edp")) / 50e9
        for operations in every
    ]  # fmt: skip
    waited = [exposed["dp"] for exposed in found["none"].exposed_s]
    assert waited == pytest.approx(sent)


def test_merged_blocks_keep_bytes_and_computing() -> None:
    model = MODELS["mixtral-8x7b"]
    layout = Layout(2, 2, 2, 8, ep=4, zero=3, micro_batches=4, sequence_parallel=True)
    for stage in range(2):
        every = iteration(model, layout, stage, FLOPS)
        few = iteration(model, layout, stage, FLOPS, 2)
        assert bytes_sent(every, layout) == pytest.approx(bytes_sent(few, layout), rel=1e-12)
        assert computing_s(every) == pytest.approx(computing_s(few))
        assert len(few) < len(every) / 5


@pytest.mark.parametrize(("pp", "m"), [(2, 4), (4, 8), (6, 14), (8, 24)])
def test_dualpipe_passes_each_micro_batch_once_and_has_the_published_bubble(pp, m):
    """(P/2 - 1)(F&B + B - 3 W), with F = W = 1 and B = 2, and both side by side in F&B = 3.

    DeepSeek-V3, table 2. Half of the micro-batches pass the stages in the opposite order.
    """
    layout = Layout(pp=pp, dp=2, ep=2, micro_batches=m, expert_overlap="dualpipe")
    for stage in range(pp):
        passed = Counter(
            (slot.micro_batch, slot.part, slot.forward)
            for passes in slots(layout, stage)
            for slot in passes
        )
        assert set(passed.values()) == {1}
        for k in range(m):
            assert (k, "all", True) in passed
            split = {(k, "input", False), (k, "weights", False)}
            assert ((k, "all", False) in passed) != (split <= set(passed))
    found = timeline(of_equal_chunks(layout), layout, {})
    assert found.seconds == pytest.approx(3 * m + (pp // 2 - 1) * (3 + 2 - 3))


EXPERTS = Model(1, 1024, 8, 8, 4096, 1024, 1, experts=4, top_k=2)


@pytest.mark.parametrize(("overlap", "interleave"), [("batch", 1), ("batch", 2), ("dualpipe", 1)])
def test_overlap_of_experts_changes_neither_bytes_nor_computing(overlap, interleave):
    model = replace(MODELS["mixtral-8x7b"], layers=30)  # eight equal chunks of units
    given = Layout(pp=4, dp=4, ep=4, zero=1, interleave=interleave, micro_batches=8)
    totals = []
    for layout in (given, replace(given, expert_overlap=overlap)):
        stages = [iteration(model, layout, stage, FLOPS) for stage in range(4)]
        sent = [bytes_sent(operations, layout) for operations in stages]
        passes = {group: sum(one[group] for one in sent) for group in ("pp", "ep")}
        totals.append([*passes.values(), sum(map(computing_s, stages))])
    assert totals[1] == pytest.approx(totals[0])


@pytest.mark.parametrize("sent", [0.25, 0.5, 1.0])
def test_tokens_are_sent_while_the_other_micro_batch_computes(sent: float) -> None:
    """One layer, two micro-batches: f half a forward pass of computing, a an exchange of tokens.

    f a f a of the first, then both: f (2f) f (2f) with three exchanges hidden and the last waited
    for, then 2f a 2f a of the second: 12 f + 5 a in place of 12 f + 8 a.
    """
    block = 2 * EXPERTS.layer(0).work * 1024 / FLOPS
    times = []
    for overlap in ("none", "batch"):
        layout = Layout(dp=4, ep=4, micro_batches=2, expert_overlap=overlap)
        operations = iteration(EXPERTS, layout, 0, FLOPS)
        bandwidth = 2 * 2 * 1024 * 1024 * 3 / 4 / (sent * block / 2)
        times.append(timeline([operations], layout, {"ep": bandwidth}).seconds)
    half = block / 2
    assert times == pytest.approx([(12 + 8 * sent) * half, (12 + 5 * sent) * half], rel=1e-3)


def test_bytes_of_tokens_depend_on_their_format_nodes_and_skew() -> None:
    """DeepSeek-V3: 4,096 tokens of 7,168 elements to 8 of 256 experts on 8 nodes of 8 GPUs.

    To at most 4 nodes, one of them the own one in half of the cases: 3.5 copies leave a node.
    """
    model = MODELS["deepseek-v3"]
    layout = Layout(dp=64, ep=64, gpus_per_node=8)
    one = 4096 * 7168

    def sent(layout: Layout) -> list[float]:
        operations = iteration(model, layout, 0, FLOPS)
        return [wire_bytes(op, layout) for op in operations if op.group == "ep"][:2]

    assert sent(layout) == pytest.approx([8 * one * 2 * 63 / 64] * 2)
    limited = replace(layout, dispatch_bytes=1, expert_nodes=4)
    assert sent(limited) == pytest.approx([3.5 * one, 3.5 * one * 2])
    # on two nodes there is one other node, in half of the cases
    assert sent(replace(limited, ep=16, dp=16)) == pytest.approx([one, 2 * one])
    skewed = replace(limited, expert_skew=1.5)
    assert sent(skewed) == pytest.approx([1.5 * n for n in sent(limited)])
    # 58 layers whose 8 experts of 3 x 7,168 x 2,048 elements compute half as long again
    more = computing_s(iteration(model, skewed, 0, FLOPS)) - computing_s(
        iteration(model, limited, 0, FLOPS)
    )
    assert more == pytest.approx(0.5 * 6 * 58 * 8 * 3 * 7168 * 2048 * 4096 / FLOPS)


def test_deepseek_v3_has_its_published_step() -> None:
    """19.9 s on 2,048 H800 (DeepSeek-AI, ISCA 2025, table 4): 15,360 sequences of 4,096 tokens.

    pp 16, ep 64 in nodes of 8, tokens in fp8 to at most 4 nodes, 50 GB/s a GPU. The utilisation is
    Llama 3's, of the 112 of 132 multiprocessors that do not communicate.
    """
    model = MODELS["deepseek-v3"]
    layout = Layout(
        *(1, 1, 16, 128, 64),
        zero=1,
        micro_batches=120,
        expert_overlap="dualpipe",
        dispatch_bytes=1,
        expert_nodes=4,
        gpus_per_node=8,
    )
    layout.check(model)
    flops = LLAMA_3_MFU * 112 / 132 * PEAK_FLOPS["h800"]
    stages = [iteration(model, layout, stage, flops) for stage in range(16)]
    found = timeline(stages, layout, dict.fromkeys(("pp", "dp", "ep", "edp"), 50e9))
    assert found.seconds == pytest.approx(19.926, rel=0.15)
    assert found.seconds == pytest.approx(17.72, abs=0.02)


def test_llama3_loses_utilisation_when_the_batch_is_spread_over_twice_the_gpus() -> None:
    """Llama 3, table 4: 43 % on 8,192 GPUs, 41 % on 16,384, of the same 16 million tokens.

    The utilisation while computing is set so that the first is met. 8 layers a stage are 8 chunks;
    400 Gbit/s a GPU between nodes and 450 GB/s inside (H100).
    """
    model = MODELS["llama3-405b"]
    bandwidth = {"tp": 450e9, "dp": 50e9, "pp": 50e9}
    found = []
    for dp, micro_batches in ((64, 32), (128, 16)):
        layout = Layout(
            *(8, 1, 16, dp),
            zero=2,
            interleave=8,
            micro_batches=micro_batches,
            sequence_parallel=True,
        )
        flops = LLAMA_3_MFU * PEAK_FLOPS["h100"]
        stages = [iteration(model, layout, stage, flops) for stage in range(layout.pp)]
        useful = 6 * model.active_parameters() * model.sequence * micro_batches * dp
        seconds = timeline(stages, layout, bandwidth).seconds
        found.append(useful / (seconds * layout.gpus * PEAK_FLOPS["h100"]))
    assert found[0] == pytest.approx(0.43, abs=0.005)
    assert found[1] == pytest.approx(0.400, abs=0.001)  # published: 0.41


def test_stages_hold_all_units_once() -> None:
    for pp, interleave in ((1, 1), (3, 1), (16, 8), (5, 4)):
        chunks = Layout(pp=pp, interleave=interleave, micro_batches=pp).chunks(
            MODELS["llama3-405b"]
        )
        assert chunks[0].start == 0
        assert chunks[-1].stop == 128
        assert all(a.stop == b.start for a, b in pairwise(chunks))
    assert [len(c) for c in Layout(pp=16, interleave=8).chunks(MODELS["llama3-405b"])] == [1] * 128


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (Layout(tp=7), "heads = 32 cannot be split over 7 GPUs"),
        (Layout(interleave=2), "interleave = 2 needs pp above 1"),
        (Layout(pp=2, interleave=2, micro_batches=3), "must be a multiple of pp = 2"),
        (Layout(pp=40), "at most 34"),
        (Layout(dp=6, ep=4), "ep = 4 does not divide dp = 6"),
        (Layout(dp=8, ep=2), "ep = 2 does not divide 0 experts"),
        (Layout(expert_overlap="batch"), "expert_overlap = batch needs ep above 1"),
        (Layout(expert_nodes=2), "expert_nodes = 2 needs ep above 1"),
        (Layout(cp=3), "sequence = 8192 cannot be split over 3"),
    ],
)
def test_layouts_that_do_not_fit_are_refused(layout: Layout, message: str) -> None:
    with pytest.raises(NetcosimError, match=message):
        layout.check(model_of("llama3-8b"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"zero": 3}, "expert_overlap = dualpipe with zero = 3"),
        ({"pp": 3}, "needs an even pp and interleave = 1; pp = 3"),
        ({"micro_batches": 3}, "micro_batches = 3 with expert_overlap = dualpipe: it must be even"),
        ({"pp": 4, "micro_batches": 6}, "at least 2 pp = 8"),
        ({"expert_nodes": 2, "gpus_per_node": 3}, r"must be a multiple of gpus_per_node = 3"),
    ],
)
def test_layouts_of_experts_that_do_not_fit_are_refused(given, message):
    fits = Layout(pp=2, dp=4, ep=4, micro_batches=4, expert_overlap="dualpipe")
    fits.check(MODELS["mixtral-8x7b"])
    with pytest.raises(NetcosimError, match=message):
        replace(fits, **given).check(MODELS["mixtral-8x7b"])
