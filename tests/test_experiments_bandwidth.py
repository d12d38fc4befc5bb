"""`queue.bandwidth_need`: what jobs need of the network reaches the policies that place by it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from alloc.fattree.lc_s import LeastConstrainedShared
from alloc.policy import Request
from netcosim.config.load import config_from, load_config, load_sweep
from netcosim.runs.cosim import run_cosim
from netsim.errors import NetcosimError
from workloads.job import Workload

CONFIG = """
[machine]
family = "fattree"
radix = 6
[workload.synthetic]
n_jobs = 120
mean_nodes = 5
load = 1.2
[queue]
policies = ["{policies}"]
run_time_model = "as-logged"
{need}
[[communication.mix]]
pattern = "pairs"
message_bytes = 1000
[run]
snapshots = 1
"""
CLASSES = 'bandwidth_need = ["0.1 GB/s", "0.2 GB/s", "0.3 GB/s", "0.4 GB/s"]'


def config_file(tmp_path: Path, need: str, policies: str = "lc-s") -> Path:
    path = tmp_path / "c.toml"
    path.write_text(CONFIG.format(need=need, policies=policies))
    return path


def asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, need: str, **machine: int
) -> tuple[Workload, dict[int, float | None]]:
    """The jobs of a run, and what each asked lc-s for."""
    found: dict[int, float | None] = {}
    inner = LeastConstrainedShared.allocate

    def spy(self: LeastConstrainedShared, request: Request) -> object:
        assert found.setdefault(request.job_id, request.bandwidth_Bps) == request.bandwidth_Bps
        return inner(self, request)

    with monkeypatch.context() as patch:
        patch.setattr(LeastConstrainedShared, "allocate", spy)
        config = load_config(config_file(tmp_path, need))
        raw = config.resolved()
        raw["machine"]["parameters"] |= machine
        return run_cosim(config_from(raw)).workload, found


def links_shared(tmp_path: Path, need: str) -> bool:
    """Whether two jobs ever had a link at the same time under lc-s."""
    result = run_cosim(load_config(config_file(tmp_path, need))).schedules["lc-s"]
    assert result.placements is not None
    n_users: dict[int, int] = {}
    most = 0
    for job, starts in zip(result.event_job.tolist(), result.event_is_start.tolist(), strict=True):
        for link in result.placements.placement(job, job).links.tolist():
            n_users[link] = n_users.get(link, 0) + (1 if starts else -1)
            most = max(most, n_users[link])
    return most > 1


def test_jobs_draw_their_class_whatever_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs, needs = asked(tmp_path, monkeypatch, CLASSES)
    assert set(needs) == set(jobs.job_id.tolist())
    values, counts = np.unique(list(needs.values()), return_counts=True)
    np.testing.assert_allclose(values, [1e8, 2e8, 3e8, 4e8])
    # 120 draws of 4 classes: mean 30, standard deviation 4.7
    assert (np.abs(counts - 30) < 4 * 4.8).all()
    assert asked(tmp_path, monkeypatch, CLASSES, radix=8)[1] == needs


def test_one_value_is_every_jobs_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, needs = asked(tmp_path, monkeypatch, 'bandwidth_need = "2 Gbit/s"')
    assert set(needs.values()) == {2.5e8}


def test_links_are_shared_with_needs_and_else_a_note_says_why_not(tmp_path: Path) -> None:
    """A link gives 80 % of 1 GB/s: two jobs of 0.4, none beside one without a need."""
    assert links_shared(tmp_path, 'bandwidth_need = "0.4 GB/s"')
    assert not links_shared(tmp_path, 'bandwidth_need = "0.41 GB/s"')
    assert not links_shared(tmp_path, "")
    [note] = run_cosim(load_config(config_file(tmp_path, ""))).workload.notes
    assert note == (
        "lc-s places jobs by the bandwidth they need, and queue.bandwidth_need is not given: "
        "every job gets all that a link may give, so that jobs share no link"
    )
    assert run_cosim(load_config(config_file(tmp_path, CLASSES))).workload.notes == ()
    with pytest.raises(NetcosimError, match=r"queue\.bandwidth_need: .*; nothing reads it"):
        load_config(config_file(tmp_path, CLASSES, "lc"))


def test_other_policies_place_as_before(tmp_path: Path) -> None:
    """The key reaches no policy that does not read it and changes no draw."""
    results = [
        run_cosim(load_config(config_file(tmp_path, need, 'random", "jigsaw", "lc-s')))
        for need in ("", CLASSES)
    ]
    for name in ("random", "jigsaw"):
        a, b = (result.schedules[name] for result in results)
        np.testing.assert_array_equal(a.start_s, b.start_s)
        times = [result.measured[name].time_s for result in results]
        np.testing.assert_array_equal(*times)


def test_a_list_is_a_set_of_classes_and_lists_in_a_list_are_an_axis(tmp_path: Path) -> None:
    [point] = load_sweep(config_file(tmp_path, CLASSES)).points
    assert point.queue.bandwidth_need_Bps == (1e8, 2e8, 3e8, 4e8)
    need = 'bandwidth_need = [["1 GB/s"], ["1 GB/s", "2 GB/s"]]'
    points = load_sweep(config_file(tmp_path, need)).points
    assert [p.queue.bandwidth_need_Bps for p in points] == [(1e9,), (1e9, 2e9)]
