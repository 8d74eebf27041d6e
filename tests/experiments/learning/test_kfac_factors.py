"""Eigenbases solve with the damped Kronecker product, and what is shared out comes back."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from sparsync.experiments.learning.kfac_factors import (
    Curvature,
    basis_count,
    clipping,
    eigenbasis,
    factor_shares,
    from_shares,
    largest_share,
    layer_shares,
    packed_triangles,
    preconditioned,
    share_vector,
    shares_of,
    triangle_count,
    unpacked_basis,
    unpacked_triangles,
)
from tests.support.kfac_cases import draw, solution_error, solved


def positive(size: int, rank: int, seed: int) -> Tensor:
    """A matrix [size, size] of this rank without negative eigenvalues."""
    half = draw(size, rank, seed=seed)
    return half @ half.T / max(rank, 1)


@pytest.mark.parametrize("damping", [1e-3, 1.0])
@pytest.mark.parametrize("ranks", [(5, 3), (2, 1), (0, 3), (0, 0)])
def test_an_eigenbasis_solves_with_the_damped_kronecker_product(ranks: tuple[int, int], damping: float) -> None:
    """Factors that are singular or zero included."""
    inside, outside, gradient = positive(5, ranks[0], 1), positive(3, ranks[1], 2), draw(3, 5, seed=3)
    found = preconditioned(gradient, eigenbasis(inside), eigenbasis(outside), damping)
    block = torch.kron(outside, inside)
    assert float((found - solved(block, damping, gradient)).norm()) <= solution_error(block, damping, gradient)


def test_negative_eigenvalues_become_zero_and_the_matrix_the_nearest_without_them() -> None:
    matrix = draw(6, 6)
    matrix = matrix + matrix.T
    basis = eigenbasis(matrix)
    nearest = basis.vectors @ basis.values.diag() @ basis.vectors.T
    left = torch.linalg.eigvalsh(matrix).clamp(max=0)
    # Of the decomposition and two products of six rows: see `solution_error`.
    rounding = 32 * 6 * 2.0**-53 * float(matrix.norm())
    assert float(left.norm()) > 1
    assert abs(float((matrix - nearest).norm()) - float(left.norm())) <= rounding
    others = [positive(6, 6, seed) for seed in range(3, 9)]
    assert all(float((other - nearest).norm()) <= float((other - matrix).norm()) for other in others)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_matrix_on_which_divide_and_conquer_gives_up_has_an_eigenbasis(
    dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it does, on some processors, on what Top-k leaves of a factor: most rows are zero."""

    def gives_up(_: Tensor) -> None:
        raise torch.linalg.LinAlgError("no convergence")  # type: ignore[attr-defined]  # the stubs do not name it

    matrix = torch.zeros(12, 12, dtype=dtype)
    matrix[3:7, 3:7] = positive(4, 4, 1)
    matrix[8, 3] = matrix[3, 8] = 2.0
    expected = eigenbasis(matrix)
    monkeypatch.setattr(torch.linalg, "eigh", gives_up)
    found = eigenbasis(matrix)
    assert float(expected.values[0]) == 0
    assert found.vectors.dtype == found.values.dtype == dtype
    # Two backward-stable decompositions of 12 rows, and two products.
    rounding = 64 * 12 * torch.finfo(dtype).eps * float(matrix.norm())
    nearest = [basis.vectors @ basis.values.diag() @ basis.vectors.T for basis in (found, expected)]
    assert float((nearest[0] - nearest[1]).norm()) <= rounding
    matrix[3, 3] = torch.inf
    with pytest.raises(FloatingPointError, match="a factor is not finite"):
        eigenbasis(matrix)


def test_a_zero_factor_leaves_the_gradient_over_the_damping() -> None:
    gradient = draw(3, 5)
    found = preconditioned(gradient, eigenbasis(torch.zeros(5, 5).double()), eigenbasis(positive(3, 3, 1)), 0.25)
    assert float((found - 4 * gradient).norm()) <= solution_error(torch.zeros(15, 15).double(), 0.25, gradient)


@given(sizes=st.lists(st.integers(1, 5), min_size=1, max_size=5), seed=st.integers(0, 99))
def test_triangles_come_back_bit_for_bit(sizes: list[int], seed: int) -> None:
    matrices = [positive(size, size, seed + place) for place, size in enumerate(sizes)]
    matrices = [(matrix + matrix.T) / 2 for matrix in matrices]
    packed = packed_triangles(matrices)
    assert packed.numel() == sum(map(triangle_count, sizes))
    assert all(torch.equal(*pair) for pair in zip(unpacked_triangles(packed, sizes), matrices, strict=True))


def test_a_basis_comes_back_bit_for_bit() -> None:
    basis = eigenbasis(positive(4, 4, 1))
    packed = basis.packed()
    assert packed.numel() == basis_count(4)
    assert torch.equal(unpacked_basis(packed, 4).vectors, basis.vectors)
    assert torch.equal(unpacked_basis(packed, 4).values, basis.values)


@given(things=st.lists(st.tuples(st.integers(1, 6), st.integers(0, 6)), max_size=9), worker_count=st.integers(1, 5))
def test_what_workers_share_comes_back_in_order_and_nobody_sends_more_than_the_largest_share(
    things: list[tuple[int, int]], worker_count: int
) -> None:
    costs, counts = [cost for cost, _ in things], [count for _, count in things]
    parts = [torch.full((count,), float(place)) for place, count in enumerate(counts)]
    owned = shares_of(costs, worker_count)
    assert len(owned) == worker_count
    assert sorted(place for share in owned for place in share) == list(range(len(counts)))
    length = largest_share(counts, owned)
    vectors = [share_vector([parts[place] for place in share], length, torch.empty(0)) for share in owned]
    assert {len(vector) for vector in vectors} == {length}
    assert length == max(sum(counts[place] for place in share) for share in owned)
    assert all(torch.equal(*pair) for pair in zip(from_shares(vectors, counts, owned), parts, strict=True))


@given(costs=st.lists(st.integers(1, 99), min_size=1, max_size=12), worker_count=st.integers(1, 5))
def test_nobody_has_much_more_to_do_than_an_even_share(costs: list[int], worker_count: int) -> None:
    """Who got the last thing had least before it; and so had who has most when its last came."""
    loads = [sum(costs[place] for place in share) for share in shares_of(costs, worker_count)]
    assert worker_count * max(loads) <= sum(costs) + (worker_count - 1) * max(costs)
    assert max(loads) - min(loads) <= max(costs)


def test_large_factors_do_not_gather_on_every_second_worker() -> None:
    """Small and large ones in turn, as A and G of convolutions are; equal ones go to the lowest rank first."""
    assert factor_shares([144, 16, 144, 16, 144, 16, 144, 16], 2) == [[0, 1, 4, 5], [2, 3, 6, 7]]
    assert layer_shares([(9, 16), (144, 16), (65, 10)], 2) == [[1], [0, 2]]
    rows = [(9, 16), *[(144, 16)] * 6, (144, 32), *[(288, 32)] * 5, (288, 64), *[(576, 64)] * 5, (65, 10)]
    factors = [size for layer in rows for size in layer]
    cubes = [sum(factors[place] ** 3 for place in share) for share in factor_shares(factors, 2)]
    # Of ResNet-20, where A and G in turn gave one of two workers 0.998 of them.
    assert max(cubes) <= 0.52 * sum(cubes)


@pytest.mark.parametrize("limit", [1e-3, 1e3, None])
def test_clipping_bounds_what_the_model_of_the_loss_changes_and_never_lengthens(limit: float | None) -> None:
    gradients = [draw(3, 5, seed=seed) for seed in (1, 2)]
    pairs = [(2 * gradient, gradient) for gradient in gradients]
    scale = clipping(pairs, 0.1, limit)
    total = 0.1**2 * sum(float((new * old).sum()) for new, old in pairs)
    if limit is None or total <= limit:
        assert scale == 1
    else:
        # A root, a quotient and a sum of 30 products.
        assert math.isclose(scale**2 * total, limit, rel_tol=64 * 2.0**-53)


def test_nothing_to_clip_is_clipped_by_one() -> None:
    assert clipping([(torch.zeros(2), torch.zeros(2))], 0.1, 0.001) == 1
    assert clipping([], 0.1, 0.001) == 1


def test_a_running_mean_keeps_the_share_of_the_old() -> None:
    """The first is the new one as it is."""
    curvature = Curvature([1, 1])
    assert not curvature.is_lacking
    curvature.average(torch.tensor([8.0]), [1], 0.75)
    assert curvature.means == [None, torch.tensor([[8.0]])]
    assert curvature.is_lacking
    curvature.average(torch.tensor([4.0]), [1], 0.75)
    assert curvature.means[1] == torch.tensor([[7.0]])
