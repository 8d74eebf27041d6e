"""The op in plain PyTorch: error feedback and a selector, group by group."""

from __future__ import annotations

import math
from itertools import accumulate

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from sparsync.kernels.feedback_reference import RULES, feedback_select_
from sparsync.kernels.moments import moments
from sparsync.kernels.reference import released_indices, released_start, threshold, two_sided_quantile
from sparsync.kernels.selection import SELECTORS
from sparsync.verify.contraction.strategies import vectors_with_count
from tests.support.hard_vectors import DTYPES, HARD_VECTORS

SELECTOR_RULES = tuple(rule for rule in RULES if rule in SELECTORS)


def memory(group_count: int = 1) -> Tensor:
    return torch.zeros(group_count, 2, dtype=torch.int32)


def parameter(rule: str, k: int, dimension: int) -> float:
    return two_sided_quantile(k, dimension) if rule == "gaussian_k_released" else 0.75


def call(
    gradient: Tensor, residual: Tensor, k: int, rule: str, capacity: int | None = None
) -> tuple[Tensor, Tensor, list[int]]:
    """Values, indices and report row of one selection, trimmed to what was returned."""
    dimension = residual.numel()
    places = dimension if capacity is None else capacity
    values, indices, report = feedback_select_(
        [gradient], [residual], [k], RULES.index(rule), [parameter(rule, k, dimension)], [places], memory()
    )
    row = report[0].tolist()
    return values[: row[0]], indices[: row[0]], row


def same_bits(left: Tensor, right: Tensor) -> bool:
    return left.dtype == right.dtype and torch.equal(left.view(torch.uint8), right.view(torch.uint8))


@pytest.mark.parametrize("rule", SELECTOR_RULES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", HARD_VECTORS)
def test_it_selects_as_the_selector_does_and_keeps_the_rest(name: str, dtype: torch.dtype, rule: str) -> None:
    gradient = HARD_VECTORS[name](dtype)
    residual = (gradient.roll(1) * 0.25) if name != "huge" else torch.zeros_like(gradient)
    corrected = residual + gradient
    k = max(1, gradient.numel() // 20)
    expected = SELECTORS[rule](corrected, k)
    values, indices, row = call(gradient, residual, k, rule)
    assert row == [expected.count, expected.count, -1, 0]
    assert torch.equal(indices, expected.indices)
    assert same_bits(values, expected.values)
    assert same_bits(residual, expected.remainder(corrected))


@given(data=st.data())
@pytest.mark.parametrize("rule", SELECTOR_RULES)
def test_it_selects_as_the_selector_does_on_drawn_vectors(rule: str, data: st.DataObject) -> None:
    gradient, k = data.draw(vectors_with_count(torch.float32))
    residual = torch.zeros_like(gradient)
    expected = SELECTORS[rule](gradient, k)
    values, indices, _ = call(gradient, residual, k, rule)
    assert torch.equal(indices, expected.indices)
    assert torch.equal(values, expected.values)
    assert torch.equal(residual, expected.remainder(gradient))


def test_a_threshold_returns_all_that_reach_it() -> None:
    residual = torch.zeros(5)
    values, indices, _ = call(torch.tensor([0.75, -0.75, 0.5, -1.0, 0.0]), residual, 1, "threshold")
    assert (values.tolist(), indices.tolist()) == ([0.75, -0.75, -1.0], [0, 1, 3])
    assert residual.tolist() == [0.0, 0.0, 0.5, 0.0, 0.0]


@pytest.mark.parametrize("least", [-1.0, math.nan, math.inf])
def test_a_threshold_that_is_no_magnitude_is_refused(least: float) -> None:
    with pytest.raises(ValueError, match=f"got {least}"):
        threshold(torch.ones(3), least)


def test_threshold_zero_returns_everything_zeros_too() -> None:
    assert threshold(torch.tensor([0.0, -0.0, 1.0]), 0.0).indices.tolist() == [0, 1, 2]


def test_a_threshold_is_rounded_to_the_dtype() -> None:
    """In bfloat16 0.999 is 1."""
    assert threshold(torch.tensor([1.0, 0.99609375], dtype=torch.bfloat16), 0.999).indices.tolist() == [0]


def test_beyond_the_capacity_the_lowest_indices_are_returned_and_the_rest_stays() -> None:
    residual = torch.tensor([1.0, 2.0, 3.0, 4.0])
    values, indices, row = call(torch.tensor([1.0, 0.0, 0.0, 0.0]), residual, 1, "threshold", capacity=2)
    assert (values.tolist(), indices.tolist()) == ([2.0, 2.0], [0, 1])
    assert residual.tolist() == [0.0, 0.0, 3.0, 4.0]
    assert row == [2, 4, -1, 0]


def test_places_that_nothing_fills_hold_zero_and_minus_one() -> None:
    values, indices, _ = feedback_select_([torch.ones(3)], [torch.zeros(3)], [1], 0, [0.0], [3], memory())
    assert (values.tolist(), indices.tolist()) == ([1.0, 0.0, 0.0], [0, -1, -1])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_where_the_sum_is_not_finite_the_residual_keeps_its_value(bad: float) -> None:
    residual = torch.tensor([1.0, 5.0, 2.0, 3.0])
    values, indices, row = call(torch.tensor([1.0, bad, bad, 1.0]), residual, 2, "top_k")
    assert (values.tolist(), indices.tolist(), row) == ([5.0, 4.0], [1, 3], [2, 2, 1, 0])
    assert residual.tolist() == [2.0, 0.0, 2.0, 0.0]


def test_a_sum_that_overflows_is_not_finite() -> None:
    largest = torch.finfo(torch.float32).max
    residual = torch.tensor([1.0, largest])
    values, _, row = call(torch.tensor([0.0, largest]), residual, 1, "top_k")
    assert (values.tolist(), row[2], residual.tolist()) == ([largest], 1, [1.0, 0.0])


@pytest.mark.parametrize("rule", RULES)
def test_a_residual_that_is_not_finite_is_never_returned(rule: str) -> None:
    residual = torch.tensor([1.0, math.nan, math.inf, 3.0])
    values, indices, row = call(torch.zeros(4), residual, 4, rule)
    assert set(indices.tolist()) <= {0, 3}
    assert values.isfinite().all()
    assert row[2] == 1
    assert math.isnan(residual[1])
    assert residual[2] == math.inf


def test_a_residual_that_is_not_finite_ranks_behind_every_zero() -> None:
    residual = torch.tensor([math.nan, 0.0, 2.0, 0.0])
    _, indices, row = call(torch.zeros(4), residual, 3, "top_k")
    assert (indices.tolist(), row) == ([1, 2, 3], [3, 3, 0, 0])


@pytest.mark.parametrize("rule", RULES)
def test_a_count_for_each_tensor_selects_from_each(rule: str) -> None:
    generator = torch.Generator().manual_seed(1)
    gradients = [torch.randn(length, generator=generator) for length in (40, 1, 300)]
    counts, numbers = [4, 1, 30], range(3)
    parameters = [parameter(rule, k, g.numel()) for k, g in zip(counts, gradients, strict=True)]
    together, alone = ([torch.zeros_like(g) for g in gradients] for _ in range(2))
    capacities = [g.numel() for g in gradients]
    values, indices, report = feedback_select_(
        gradients, together, counts, RULES.index(rule), parameters, capacities, memory(3)
    )
    for i, first in zip(numbers, accumulate([0, *capacities]), strict=False):
        own_values, own_indices, row = call(gradients[i], alone[i], counts[i], rule)
        assert report[i].tolist() == row
        assert torch.equal(values[first : first + row[0]], own_values)
        assert torch.equal(indices[first : first + row[0]], own_indices)
        assert torch.equal(together[i], alone[i])


@pytest.mark.parametrize("rule", ["top_k", "gaussian_k", "threshold"])
def test_one_count_selects_from_all_tensors_as_from_their_concatenation(rule: str) -> None:
    generator = torch.Generator().manual_seed(2)
    gradients = [torch.randn(length, generator=generator) for length in (40, 1, 300)]
    residuals = [torch.zeros_like(g) for g in gradients]
    whole = torch.zeros(341)
    values, indices, report = feedback_select_(gradients, residuals, [30], RULES.index(rule), [0.75], [341], memory())
    own_values, own_indices, row = call(torch.cat(gradients), whole, 30, rule)
    assert report[0].tolist() == row
    assert torch.equal(values[: row[0]], own_values)
    assert torch.equal(indices[: row[0]], own_indices)
    assert torch.equal(torch.cat(residuals), whole)


def test_the_released_rule_takes_the_moments_of_all_pieces() -> None:
    generator = torch.Generator().manual_seed(4)
    gradients = [torch.randn(length, generator=generator) for length in (5000, 3, 700)]
    quantile = two_sided_quantile(60, 5703)
    expected = released_indices(torch.cat(gradients), 60, released_start(moments(gradients), quantile))
    residuals = [torch.zeros_like(g) for g in gradients]
    _, indices, report = feedback_select_(gradients, residuals, [60], 2, [quantile], [5703], memory())
    assert indices[: int(report[0, 0])].tolist() == expected.tolist()


def test_it_leaves_the_memory_and_the_gradient_alone() -> None:
    gradient, hint = torch.tensor([3.0, 1.0]), torch.tensor([[7, -9]], dtype=torch.int32)
    feedback_select_([gradient], [torch.zeros(2)], [1], 1, [0.0], [2], hint)
    assert (gradient.tolist(), hint.tolist()) == ([3.0, 1.0], [[7, -9]])
