"""What all know of the proposals: everything, or an estimate that what was sent adds up to; and its bytes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from sparsync.experiments.learning.proposals import MEMORIES, Meeting, Memory, Selection
from sparsync.experiments.training.collectives import LocalAverager

WIDTH = 6


def meeting(selection: Selection | None) -> Meeting:
    averager = LocalAverager("sparse" if selection else "dense")
    return Meeting(averager, range(2), WIDTH, selection, torch.device("cpu"))


def proposals(seed: int) -> list[Tensor]:
    stream = torch.Generator().manual_seed(seed)
    return list(torch.randn(2, WIDTH, generator=stream, dtype=torch.float64))


def test_all_of_it_is_the_mean_and_its_bytes() -> None:
    """Two vectors of doubles, headers aside, which are of one size."""
    mine = proposals(0)
    met = meeting(None).average(mine)
    assert torch.equal(met.mean, (mine[0] + mine[1]) / 2)
    assert met.errors == [0.0, 0.0]
    narrow = Meeting(LocalAverager("dense"), range(2), 1, None, torch.device("cpu"))
    assert met.sent_bytes - narrow.average([one[:1] for one in mine]).sent_bytes == 2 * (WIDTH - 1) * 8


def test_estimates_come_to_a_proposal_that_stays() -> None:
    """Two entries at a meeting: after three the six are known, to the bits that sums from zero keep."""
    group, mine = meeting(Selection(density=1 / 3)), proposals(0)
    errors = [group.average(mine).errors for _ in range(3)]
    assert errors[0][0] > errors[1][0] > errors[2][0]
    assert errors[2][0] < 1e-28
    assert torch.equal(group.average(mine).mean, (mine[0] + mine[1]) / 2)


def test_without_memory_the_same_entries_are_lost_for_ever() -> None:
    group, mine = meeting(Selection(density=1 / 3, memory="none")), proposals(0)
    first, second = (group.average(mine) for _ in range(2))
    assert torch.equal(first.mean, second.mean)
    kept = [one.abs().sort().values[:-2].square().sum() for one in mine]
    assert second.errors == pytest.approx([float(energy) for energy in kept], rel=1e-12)


@pytest.mark.parametrize("memory", MEMORIES)
def test_the_error_is_what_all_lack_of_a_proposal(memory: Memory) -> None:
    group = meeting(Selection(density=0.5, memory=memory))
    for seed in range(4):
        mine = proposals(seed)
        met = group.average(mine)
        lacking = float(((mine[0] + mine[1]) / 2 - met.mean).norm())
        # The mean of two errors is no longer than the root of their mean square.
        assert lacking <= (sum(met.errors) / 2) ** 0.5


def test_what_is_not_finite_is_not_sent() -> None:
    mine = proposals(0)
    mine[1][3] = torch.inf
    with pytest.raises(FloatingPointError, match="proposal of batch 1 is not finite"):
        meeting(Selection()).average(mine)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"selector": "top_q"}, "top_q"),
        ({"density": 0.0}, r"density must lie in \(0, 1\], got 0.0"),
        ({"memory": "ef22"}, "unknown memory 'ef22'"),
    ],
)
def test_what_cannot_be_selected_is_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Selection(**change)  # type: ignore[arg-type]
