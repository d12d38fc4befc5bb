"""Programs that do not hold together are refused, and joining programs shifts every number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from packet_cases import Send, Step, program

from netsim.errors import NetcosimError
from netsim.traffic import Program, combine

TWO_RANKS = program([Step([Send(1, 8, 1)])], [Step(), Step(need=1)])
"""Steps 0 | 1, 2; one message, which counts toward step 2."""


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"step_ptr": [0, 1]}, "step_ptr does not cover the steps"),
        ({"step_ptr": [0, 1, 2]}, "step_ptr does not cover the steps"),
        ({"send_ptr": [0, 1, 1]}, "send_ptr does not cover the messages"),
        ({"send_ptr": [0, 1, 1, 2]}, "send_ptr does not cover the messages"),
        ({"compute_s": [0.0, 0.0]}, "compute_s needs one finite value >= 0 a step"),
        ({"compute_s": [0.0, -1e-9, 0.0]}, "compute_s needs one finite value >= 0 a step"),
        ({"send_bytes": [0]}, "a message to another rank has fewer than 1 byte"),
        ({"send_dst": [2]}, r"a receiver is outside ranks 0\.\.1"),
        ({"send_dst": [-1]}, r"a receiver is outside ranks 0\.\.1"),
        ({"send_step": [0]}, "counts toward a step of another rank"),
        ({"send_step": [3]}, "counts toward a step of another rank"),
    ],
)
def test_what_does_not_hold_together_is_refused(changed: dict[str, list[int]], told: str) -> None:
    TWO_RANKS.validate()
    replace(TWO_RANKS, send_step=np.array([1])).validate()
    with pytest.raises(NetcosimError, match=told):
        replace(TWO_RANKS, **{key: np.array(value) for key, value in changed.items()}).validate()


def test_joined_programs_keep_apart() -> None:
    """The second of two equal programs has its numbers after those of the first."""
    both = combine([TWO_RANKS, TWO_RANKS], [np.array([5, 6]), np.array([7, 5])], [0.0, 1e-6])
    joined: Program = both.program
    joined.validate()
    assert joined.n_ranks == 4
    assert joined.step_ptr.tolist() == [0, 1, 3, 4, 6]
    assert joined.send_ptr.tolist() == [0, 1, 1, 1, 2, 2, 2]
    assert joined.send_src().tolist() == [0, 2]
    assert joined.send_dst.tolist() == [1, 3]
    assert joined.send_step.tolist() == [2, 5]
    assert joined.recv_need.tolist() == [0, 0, 1] * 2
    assert both.rank_node.tolist() == [5, 6, 7, 5]
    assert both.rank_group.tolist() == [0, 0, 1, 1]
    assert both.start_s.tolist() == [0.0, 1e-6]


def test_programs_and_places_must_be_as_many() -> None:
    with pytest.raises(NetcosimError, match="group 1: 2 ranks but 3 rank nodes"):
        combine([TWO_RANKS] * 2, [np.array([0, 1]), np.array([0, 1, 2])])
    with pytest.raises(NetcosimError, match="2 programs but 1 rank lists"):
        combine([TWO_RANKS] * 2, [np.array([0, 1])])
    with pytest.raises(NetcosimError, match="start_s has 2 values; it must have 1"):
        combine([TWO_RANKS], [np.array([0, 1])], [0.0, 1.0])
