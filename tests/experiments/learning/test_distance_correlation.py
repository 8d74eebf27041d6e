"""Distance correlation has the values of its definition, its slopes are right, and nothing of n × n is held."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from sparsync.experiments.learning.distance_correlation import (
    BIASES,
    LEAST_COUNT,
    Bias,
    distance_correlation,
    distance_excess,
    resolution,
)
from tests.support.distance_values import correlation, squared_covariance


def samples(count: int, width: int, other: int, *, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Two samples that depend on each other."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(count, width, generator=generator, dtype=torch.float64)
    noise = torch.randn(count, other, generator=generator, dtype=torch.float64)
    return x, x[:, :1].square() + noise


def variance_share(points: Tensor, bias: Bias) -> float:
    """The mean square of the centred distances over the square of the largest distance."""
    return squared_covariance(points, points, bias) / float(torch.cdist(points, points).max()) ** 2


@given(
    st.integers(4, 40),
    st.integers(1, 30),
    st.integers(1, 30),
    st.sampled_from(BIASES),
    st.integers(1, 50),
    st.integers(0, 9),
)
@settings(max_examples=60, deadline=None)
def test_values_are_those_of_the_definition_for_every_shape_and_block(
    count: int, width: int, other: int, bias: Bias, block: int, seed: int
) -> None:
    x, y = samples(count, width, other, seed=seed)
    ours = float(distance_correlation(x, y, bias=bias, block=block))
    theirs = correlation(x, y, bias)
    # Of distances of size one a centred one is wrong by the resolution at most, and a mean of products by twice that;
    # so are numerator and denominator, of both, before they are divided by the variances.
    shares = [variance_share(points, bias) for points in (x, y)]
    bound = 8 * resolution(count, max(width, other)) / min(shares)
    found, wanted = (ours**2, theirs**2) if bias == "biased" else (ours, theirs)
    assert abs(found - wanted) <= bound


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize(("count", "width", "other", "block"), [(4, 1, 1, 4), (7, 3, 2, 3), (6, 2, 9, 1)])
def test_slopes_are_those_of_the_value(bias: Bias, count: int, width: int, other: int, block: int) -> None:
    x, y = (points.requires_grad_() for points in samples(count, width, other))
    assert torch.autograd.gradcheck(lambda x, y: distance_correlation(x, y, bias=bias, block=block), (x, y))


@pytest.mark.parametrize("bias", BIASES)
def test_a_batch_of_images_has_the_slopes_of_its_rows(bias: Bias) -> None:
    x, y = samples(6, 8, 4)
    images, flat = x.view(6, 2, 2, 2).clone().requires_grad_(), x.clone().requires_grad_()
    values = [distance_correlation(each, y, bias=bias) for each in (images, flat)]
    for value in values:
        value.backward()
    assert values[0] == values[1]
    assert images.grad is not None
    assert flat.grad is not None
    assert torch.equal(images.grad.flatten(1), flat.grad)


class _Largest(TorchDispatchMode):
    """Remembers the largest tensor that any operator returned."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch's own
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        for each in found if isinstance(found, tuple | list) else (found,):
            if isinstance(each, Tensor):
                self.count = max(self.count, each.numel())
        return found


@pytest.mark.parametrize("bias", BIASES)
def test_no_tensor_is_larger_than_a_block_of_rows_or_the_sample(bias: Bias) -> None:
    count, width, block = 300, 5, 8
    x, y = samples(count, width, width)
    y.requires_grad_()
    with _Largest() as largest:
        distance_correlation(x, y, bias=bias, block=block).backward()
    assert largest.count == max(block, width) * count


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("kind", ["constant", "one example", "equal distances", "constant in float32"])
def test_where_nothing_can_be_said_the_value_and_its_slopes_are_zero(bias: Bias, kind: str) -> None:
    x, _ = samples(5, 5, 1)
    y = {
        "constant": torch.full((5, 3), 0.1, dtype=torch.float64),
        "one example": torch.ones(1, 2, dtype=torch.float64),
        "equal distances": 0.1 * torch.eye(5, dtype=torch.float64),
        "constant in float32": torch.full((5, 3), 0.1),
    }[kind]
    if len(y) < LEAST_COUNT[bias]:
        with pytest.raises(ValueError, match="the corrected form needs at least 4 examples, got 1"):
            distance_correlation(x[: len(y)], y, bias=bias)
        return
    if (kind, bias) == ("equal distances", "biased"):
        # Not 0/0: with equal distances on both sides it is one, see the statements.
        assert float(distance_correlation(torch.eye(5), torch.eye(5) * 3, bias=bias)) == 1
        return
    x, y = x[: len(y)].requires_grad_(), y.requires_grad_()
    for first, second in ((x, y), (y, x)):
        value = distance_correlation(first, second, bias=bias)
        gradients = torch.autograd.grad(value, [x, y])
        assert value.item() == 0
        assert all(bool((gradient == 0).all()) for gradient in gradients)


@pytest.mark.parametrize("bias", BIASES)
def test_equal_examples_have_no_slope_of_their_distance_and_no_nan(bias: Bias) -> None:
    x, y = samples(6, 3, 2)
    y[1] = y[0]
    x[2] = x[1] = x[0]
    y.requires_grad_()
    x.requires_grad_()
    distance_correlation(x, y, bias=bias).backward()
    assert x.grad is not None
    assert y.grad is not None
    assert bool(x.grad.isfinite().all())
    assert bool(y.grad.isfinite().all())
    assert float(y.grad.abs().sum()) > 0


def test_a_product_design_has_no_distance_covariance_and_no_infinite_slope() -> None:
    x = torch.tensor([[0.0], [0.0], [1.0], [1.0]], requires_grad=True)
    y = torch.tensor([[0.0], [1.0], [0.0], [1.0]], requires_grad=True)
    value = distance_correlation(x, y)
    value.backward()
    assert value.item() == 0
    assert x.grad is not None
    assert float(x.grad.abs().sum()) == 0


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("power", [-1060, -600, -280, -70, 66, 266, 400, 560, 1010])
def test_at_no_scale_do_distances_leave_float64(bias: Bias, power: int) -> None:
    """Down to where the sample is but a few bits, times a power of two, beside a column that is large and constant."""
    x, y = ((1024 * points).round() for points in samples(12, 3, 2))
    # In two factors, of which each is a number of float64.
    far = [points * 2.0 ** (power // 2) * 2.0 ** (power - power // 2) for points in (x, y)]
    value = distance_correlation(x, y, bias=bias)
    large = torch.cat([far[1], torch.full((12, 1), 2.0**1000, dtype=torch.float64)], dim=1)
    for pair in (far, (far[0], y), (x, far[1]), (far[0], large)):
        # All is exact, so that roundings are the same.
        assert torch.equal(distance_correlation(*pair, bias=bias), value)
    assert distance_excess(far[0]) == distance_excess(x)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("power", [-600, -280, -70, 66, 266, 400, 560])
def test_slopes_are_inverse_to_the_scale(bias: Bias, power: int) -> None:
    x, y = ((1024 * points).round() for points in samples(12, 3, 2))
    wanted = slopes_of(x, y, bias)
    found = slopes_of(x * 2.0**power, y * 2.0**-power, bias)
    for slope, other, back in zip(found, wanted, (2.0**power, 2.0**-power), strict=True):
        # A sample that is brought up is moved: a slope is a difference of two sums of 12 terms, of four roundings each,
        # of which none is a hundred times as large as the largest slope.
        assert float((slope * back - other).abs().max()) <= 1e4 * torch.finfo(torch.float64).eps * other.abs().max()


def slopes_of(x: Tensor, y: Tensor, bias: Bias) -> tuple[Tensor, ...]:
    pair = [points.clone().requires_grad_() for points in (x, y)]
    return torch.autograd.grad(distance_correlation(*pair, bias=bias), pair)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64, torch.bool])
def test_integers_are_numbers_and_slopes_go_to_the_other_sample(bias: Bias, dtype: torch.dtype) -> None:
    points, y = samples(9, 4, 2)
    whole, y = (points > 0).to(dtype), y.float().requires_grad_()
    value = distance_correlation(whole, y, bias=bias)
    (slope,) = torch.autograd.grad(value, y)
    (wanted,) = torch.autograd.grad(distance_correlation(whole.float(), y, bias=bias), y)
    assert value.dtype == torch.float32
    assert torch.equal(value, distance_correlation(whole.float(), y, bias=bias))
    assert torch.equal(slope, wanted)
    assert float(slope.abs().sum()) > 0
    assert distance_correlation(y, whole, bias=bias).dtype == torch.float32
    assert distance_correlation(whole, whole, bias=bias) == torch.ones(())


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (torch.float64, torch.float32, torch.float64),
        (torch.float16, torch.float32, torch.float32),
        (torch.bfloat16, torch.uint8, torch.bfloat16),
        (torch.uint8, torch.bool, torch.float32),
    ],
)
def test_the_value_is_of_the_dtype_that_both_promote_to(
    first: torch.dtype, second: torch.dtype, found: torch.dtype
) -> None:
    for x, y in ((first, second), (second, first)):
        assert distance_correlation(torch.eye(4).to(x), torch.eye(4).to(y)).dtype == found


@pytest.mark.parametrize("bias", BIASES)
def test_a_sample_of_numbers_is_one_of_rows_of_one(bias: Bias) -> None:
    x, y = samples(8, 1, 1)
    flat = [points.flatten().requires_grad_() for points in (x, y)]
    value = distance_correlation(*flat, bias=bias)
    assert torch.equal(value, distance_correlation(x, y, bias=bias))
    assert [slope.shape for slope in torch.autograd.grad(value, flat)] == [(8,), (8,)]
    assert distance_excess(x.flatten()) == distance_excess(x)


@pytest.mark.parametrize("bias", BIASES)
def test_it_sees_neither_scale_nor_place_nor_rotation(bias: Bias) -> None:
    x, y = samples(30, 3, 3)
    turn, _ = torch.linalg.qr(samples(3, 3, 1, seed=5)[0])
    plain = float(distance_correlation(x, y, bias=bias))
    moved = float(distance_correlation(3 * x @ turn + 7, y, bias=bias))
    # Entries of size 7 + 3·4 are rounded once, distances of size one therefore by 20 times the resolution.
    assert math.isclose(plain, moved, abs_tol=20 * resolution(30, 3) / min(variance_share(p, bias) for p in (x, y)))


def test_the_excess_says_what_all_pairings_have_on_average() -> None:
    x, y = samples(5, 3, 2)
    orders = [torch.tensor(order) for order in permutations(range(5))]
    mean = math.fsum(float(distance_correlation(x, y[order])) ** 2 for order in orders) / len(orders)
    # Each square is right to some resolutions over the share of the variances.
    tolerance = 8 * resolution(5, 3) / min(variance_share(points, "biased") for points in (x, y))
    assert abs(mean - ((1 + distance_excess(x)) * (1 + distance_excess(y, block=2))) ** -0.5) < tolerance
    assert abs(distance_excess(torch.eye(6))) < resolution(6, 6)


def test_an_excess_needs_a_distance() -> None:
    with pytest.raises(ValueError, match="at least two examples, got 1"):
        distance_excess(torch.zeros(1, 3))
    with pytest.raises(ValueError, match="all examples are equal"):
        distance_excess(torch.zeros(3, 3))


def test_wide_independent_samples_look_dependent_to_the_biased_form_alone() -> None:
    generator = torch.Generator().manual_seed(1)
    x, y = (torch.randn(64, width, generator=generator) for width in (2000, 500))
    assert float(distance_correlation(x, y)) > 0.98
    # Its standard deviation over pairings is √(2/(64 · 61)) = 0.023, as stated; five of these.
    assert abs(float(distance_correlation(x, y, bias="corrected"))) < 5 * math.sqrt(2 / (64 * 61))


@pytest.mark.parametrize(
    ("x", "y", "options", "message"),
    [
        (torch.zeros(3, 2), torch.zeros(4, 2), {}, r"got shapes \(3, 2\) and \(4, 2\)"),
        (torch.zeros(0, 2), torch.zeros(0, 2), {}, "at least 1 examples, got 0"),
        (torch.zeros(3, 2), torch.zeros(3, 2), {"bias": "corrected"}, "at least 4 examples, got 3"),
        (torch.zeros(4, 2), torch.full((4, 1), math.nan), {}, "y has an entry that is not finite"),
        (torch.zeros(()), torch.zeros(()), {}, r"got shapes \(\) and \(\)"),
        (torch.zeros(4, dtype=torch.complex64), torch.zeros(4), {}, "x must be of real numbers, got torch.complex64"),
        (torch.zeros(4, 2), torch.zeros(4, 2), {"bias": "fair"}, "unknown form 'fair'"),
        (torch.zeros(4, 2), torch.zeros(4, 2), {"block": 0}, "block must be at least 1, got 0"),
    ],
)
def test_what_has_no_value_is_refused(x: Tensor, y: Tensor, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        distance_correlation(x, y, **options)
