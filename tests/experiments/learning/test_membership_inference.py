"""The attack's area and advantage are what counting says; losses that are equal by half; members known by hand."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.learning.membership_inference import area, attack, losses
from sparsync.experiments.training.seeding import random_stream

SOME = st.lists(st.integers(0, 6).map(float), min_size=1, max_size=12)


@given(members=SOME, others=SOME)
def test_the_area_is_the_share_of_pairs_that_are_ordered(members: list[float], others: list[float]) -> None:
    found = area(torch.tensor(members, dtype=torch.float64), torch.tensor(others, dtype=torch.float64))
    pairs = [(member < other) + (member == other) / 2 for member in members for other in others]
    # A mean of at most 12 means, each of which is rounded once.
    assert found.value == pytest.approx(sum(pairs) / len(pairs), abs=12 * 2.0**-53)
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_a_model_that_knows_its_examples_is_found_out_and_one_that_does_not_is_not() -> None:
    known = attack(torch.zeros(10), torch.ones(20))
    assert (known.area.value, known.advantage) == (1.0, 1.0)
    assert (known.member_count, known.other_count) == (10, 20)
    alike = attack(torch.ones(10), torch.ones(20))
    assert (alike.area.value, alike.advantage) == (0.5, 0.0)


def test_the_threshold_is_the_members_mean() -> None:
    # The mean is 2: three of four members and one of two others are at most that.
    found = attack(torch.tensor([0.0, 1.0, 2.0, 5.0]), torch.tensor([1.0, 3.0]))
    assert found.advantage == pytest.approx(3 / 4 - 1 / 2, abs=2.0**-52)


def test_the_interval_holds_one_half_as_often_as_it_says() -> None:
    """Of 400 samples of guesses 95 % do: the count's deviation is 4.4, and five of them are allowed."""
    stream = random_stream(0, "losses")
    held = 0
    for _ in range(400):
        found = area(*(torch.rand(60, generator=stream, dtype=torch.float64) for _ in range(2)))
        held += found.low <= 0.5 <= found.high
    assert abs(held - 380) < 5 * math.sqrt(400 * 0.95 * 0.05)


@pytest.mark.parametrize("wrong", [torch.zeros(0), torch.tensor([0.0, float("nan")])])
def test_losses_that_are_missing_or_no_numbers_are_refused(wrong: torch.Tensor) -> None:
    with pytest.raises(ValueError, match="members"):
        attack(wrong, torch.ones(2))
    with pytest.raises(ValueError, match="others"):
        attack(torch.ones(2), wrong)


def test_losses_are_cross_entropies_of_single_examples() -> None:
    scores = torch.tensor([[0.0, 0.0], [0.0, math.log(3.0)]])
    # ln 3 is rounded to float32 first.
    assert losses(scores, torch.tensor([0, 1])).tolist() == pytest.approx([math.log(2), math.log(4 / 3)], rel=1e-6)
