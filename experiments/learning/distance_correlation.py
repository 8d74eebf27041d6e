"""How much do activations depend on inputs? Sample distance correlation, biased and corrected, and differentiable.

Distances a_ij of the inputs and b_ij of the activations are centred, and the centred ones correlated. The biased form
(Székely, Rizzo and Bakirov 2007; the penalty of NoPeek, Vepakomma et al. 2020) is large for wide independent data too;
the corrected form (U-centring, Székely and Rizzo 2014) is zero there on average, see
`theory/learning/distance_correlation.py`. Value and gradient are computed some rows at a time, so that no matrix of
n × n distances is ever held.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from sys import float_info
from typing import Any, Literal, get_args

import torch
from torch import Tensor

Bias = Literal["biased", "corrected"]
BIASES: tuple[Bias, ...] = get_args(Bias)
LEAST_COUNT: dict[Bias, int] = {"biased": 1, "corrected": 4}
"""Examples without which a form is not defined: of three, U-centred distances are all zero."""
ROWS_TOGETHER = 128
"""Rows of distances that are held at a time, where nothing else is said."""
_ORDINARY_EXPONENT = 64
"""Of two samples whose ranges are within 2^±64, products of four distances are far from float64's limits."""


def distance_correlation(x: Tensor, y: Tensor, *, bias: Bias = "biased", block: int = ROWS_TOGETHER) -> Tensor:
    """Distance correlation of two samples of n examples each; differentiable once in both.

    "biased" is √(V(x, y)/√(V(x, x) V(y, y))), in [0, 1], where V is the mean of the products of all n² doubly centred
    distances. "corrected" is U(x, y)/√(U(x, x) U(y, y)), in [−1, 1], which estimates the *square* of the population's
    and may be negative. U sums the products of U-centred distances of i ≠ j, over n(n − 3).

    Where all distances of a sample are equal (constant activations, or a batch of one) nothing can be said of its
    dependence: the form is 0/0, and 0 with a zero gradient is returned. So it is of the biased form if all are zero,
    of the corrected one also if they are not. Where the biased form is zero its root has no slope, and 0, which is that
    of a least value, is returned. Equal examples have the distance zero, which has the slope 0.

    Computed in float64, whatever the scale of a sample: one whose range is not within 2^±64 is first brought there by a
    power of two. Besides x and y in float64, [n, p] and [n, q], it needs some tensors of [block, n].

    Args:
        x: [n] or [n, …], an example a row, of any real dtype; what has more axes is flattened.
        y: [n, …], likewise, of the same examples.
        bias: which form.
        block: rows of distances at a time.

    Returns:
        A number, in the floating dtype to which both dtypes promote; of integers alone, in PyTorch's default.

    Raises:
        ValueError: the samples are not of one positive number of examples, or too few; a value is not finite, or not
            real; the form is unknown, or `block` is below 1.

    Source: Székely, Rizzo and Bakirov 2007, definitions 4 and 5; Székely and Rizzo 2014, section 3.
    """
    if bias not in BIASES:
        raise ValueError(f"unknown form {bias!r}; known: {', '.join(BIASES)}")
    if block < 1:
        raise ValueError(f"block must be at least 1, got {block}")
    if x.ndim < 1 or y.ndim < 1 or len(x) != len(y):
        raise ValueError(f"expected two samples of as many examples, got shapes {tuple(x.shape)} and {tuple(y.shape)}")
    if len(x) < LEAST_COUNT[bias]:
        raise ValueError(f"the {bias} form needs at least {LEAST_COUNT[bias]} examples, got {len(x)}")
    for name, sample in (("x", x), ("y", y)):
        if sample.is_complex():
            raise ValueError(f"{name} must be of real numbers, got {sample.dtype}")
        if not bool(sample.detach().isfinite().all()):
            raise ValueError(f"{name} has an entry that is not finite")
    samples = _rows_of_numbers(x), _rows_of_numbers(y)
    found: Tensor = _DistanceCorrelation.apply(*samples, bias, block)  # type: ignore[no-untyped-call]  # torch's own
    dtype = torch.promote_types(x.dtype, y.dtype)
    return found.to(dtype if dtype.is_floating_point else torch.get_default_dtype())


def distance_excess(points: Tensor, *, block: int = ROWS_TOGETHER) -> float:
    """ψ = n²V(x, x)/((n − 1)x̄²) − 1 ≥ 0: how unequal the distances of a sample [n] or [n, …] are, x̄ being their mean.

    Two samples that have nothing to do with each other have a biased distance correlation whose square is
    1/√((1 + ψ_x)(1 + ψ_y)) on average over all pairings.

    Raises:
        ValueError: fewer than two examples, or all are equal.

    Source: ours, `theory/learning/distance_correlation.py`.
    """
    count = len(points)
    if count < 2:
        raise ValueError(f"expected at least two examples, got {count}")
    sample = _rows_of_numbers(points.detach())
    centring = _Centring.of(sample, "biased", block)
    mean = float(centring.total) / (count * (count - 1))
    if mean == 0:
        raise ValueError("all examples are equal: there is no distance to compare with")
    blocks = (centring.centred(rows, _distances(sample, rows)) for rows in _blocks(count, block))
    return math.fsum(float(rows.square().sum()) for rows in blocks) / ((count - 1) * mean**2) - 1


def resolution(count: int, width: int) -> float:
    """Below which share of the largest distance a centred distance is rounding.

    A distance of `width` entries is wrong by (width + 4)/2 roundings at most, a sum of `count` of them by count more,
    and a centred distance has four such terms, none of which is larger than four times the largest distance.
    """
    return 4 * (count + width + 4) * torch.finfo(torch.float64).eps


@dataclass(frozen=True)
class _Centring:
    """What centring the distances of a sample needs.

    Args:
        bias: the form.
        row_sums: [n] of the distances.
        total: their sum.
        noise: what the mean square of centred distances can be by rounding alone.
    """

    bias: Bias
    row_sums: Tensor
    total: Tensor
    noise: float

    @classmethod
    def of(cls, points: Tensor, bias: Bias, block: int) -> _Centring:
        sums, largest = [], 0.0
        for rows in _blocks(len(points), block):
            distances = _distances(points, rows)
            sums.append(distances.sum(dim=1))
            largest = max(largest, float(distances.max()))
        row_sums = torch.cat(sums)
        return cls(bias, row_sums, row_sums.sum(), (resolution(*points.shape) * largest) ** 2)

    def centred(self, rows: slice, distances: Tensor) -> Tensor:
        """[block, n], these rows of the centred distances."""
        count = len(self.row_sums)
        if self.bias == "biased":
            means = self.row_sums / count
            return distances - means[rows, None] - means[None, :] + self.total / count**2
        means = self.row_sums / (count - 2)
        whole = self.total / ((count - 1) * (count - 2))
        centred = distances - means[rows, None] - means[None, :] + whole
        places = torch.arange(rows.start, rows.start + len(centred), device=centred.device)
        centred[places - rows.start, places] = 0
        return centred


def _rows_of_numbers(sample: Tensor) -> Tensor:
    """[n, p] float64; times a power of two where its range is not ordinary, else the numbers themselves.

    No form sees that, or where a small one is moved to; autograd brings slopes back to the sample's own scale.
    """
    points = sample.unsqueeze(-1).flatten(1).double()
    if not points.numel():
        return points
    low, high = points.detach().aminmax(dim=0)
    _, exponent = math.frexp(min(float((high - low).max()), float_info.max))
    if abs(exponent) <= _ORDINARY_EXPONENT:
        return points
    if exponent < 0:
        # A column that is large and constant would leave the range as the others enter it.
        points = points - low
    # Half by half, as the power of two may itself be none of float64.
    half = exponent // 2
    return points * 2.0**-half * 2.0 ** (half - exponent)


def _distances(points: Tensor, rows: slice) -> Tensor:
    """[block, n]; of equal points exactly zero, unlike by a product of matrices."""
    return torch.cdist(points[rows], points, compute_mode="donot_use_mm_for_euclid_dist")


def _blocks(count: int, block: int) -> Iterator[slice]:
    return (slice(first, min(first + block, count)) for first in range(0, count, block))


class _DistanceCorrelation(torch.autograd.Function):
    """The value, and on the way back its gradient from the same blocks, computed anew."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, bias: Bias, block: int) -> Tensor:
        count = len(x)
        scale = count**2 if bias == "biased" else count * (count - 3)
        centrings = _Centring.of(x, bias, block), _Centring.of(y, bias, block)
        sums = torch.zeros(3, dtype=torch.float64, device=x.device)
        for rows in _blocks(count, block):
            _, (a, b) = _distances_and_centred((x, y), centrings, rows)
            sums += torch.stack([(one * other).sum() for one, other in ((a, b), (a, a), (b, b))])
        covariance, *variances = (sums / scale).tolist()
        noises = [centring.noise for centring in centrings]
        value, slopes = 0.0, (0.0, 0.0, 0.0)
        is_zero_root = bias == "biased" and covariance <= math.sqrt(noises[0] * noises[1])
        if variances[0] > noises[0] and variances[1] > noises[1] and not is_zero_root:
            value, slopes = _value_and_slopes(bias, covariance, *variances)
        ctx.save_for_backward(x, y)
        ctx.centrings, ctx.block, ctx.slopes = centrings, block, [slope / scale for slope in slopes]
        return torch.tensor(value, dtype=torch.float64, device=x.device)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, Tensor | None, None, None]:
        points: tuple[Tensor, Tensor] = ctx.saved_tensors
        across, along_x, along_y = ctx.slopes
        gradients = [torch.zeros_like(sample) for sample in points]
        for rows in _blocks(len(points[0]), ctx.block) if any(ctx.slopes) else ():
            distances, (a, b) = _distances_and_centred(points, ctx.centrings, rows)
            # Centring is its own adjoint: the slope of Σ A_ij B_ij in the distance a_ij is B_ij.
            by_distance = (across * b + 2 * along_x * a, across * a + 2 * along_y * b)
            for place, sample in enumerate(points):
                if ctx.needs_input_grad[place]:
                    gradients[place][rows] = slope * _by_points(by_distance[place], distances[place], sample, rows)
        needed = [gradient if ctx.needs_input_grad[place] else None for place, gradient in enumerate(gradients)]
        return needed[0], needed[1], None, None


def _distances_and_centred(
    samples: tuple[Tensor, Tensor], centrings: tuple[_Centring, _Centring], rows: slice
) -> tuple[list[Tensor], list[Tensor]]:
    """Of both samples, each [block, n]."""
    distances = [_distances(points, rows) for points in samples]
    return distances, [centring.centred(rows, each) for centring, each in zip(centrings, distances, strict=True)]


def _value_and_slopes(
    bias: Bias, covariance: float, variance_x: float, variance_y: float
) -> tuple[float, tuple[float, float, float]]:
    """The form, and its slopes in the covariance and both variances."""
    root = math.sqrt(variance_x * variance_y)
    squared = covariance / root
    slopes = (1 / root, -squared / (2 * variance_x), -squared / (2 * variance_y))
    if bias == "corrected" or covariance <= 0:
        return squared, slopes
    value = math.sqrt(squared)
    return value, (slopes[0] / (2 * value), slopes[1] / (2 * value), slopes[2] / (2 * value))


def _by_points(by_distance: Tensor, distances: Tensor, points: Tensor, rows: slice) -> Tensor:
    """[block, width]: Σ_j 2 s_ij (x_i − x_j)/a_ij, as a_ij and a_ji both move with x_i; of zero distances nothing."""
    weights = torch.where(distances > 0, 2 * by_distance / distances, torch.zeros_like(distances))
    return weights.sum(dim=1, keepdim=True) * points[rows] - weights @ points
