"""The evidence for Kronecker-factored curvature a second time: by hand, and by the arithmetic that trains."""

from fractions import Fraction

import numpy
import pytest
import torch

from sparsync.experiments.learning.kfac_factors import (
    basis_count,
    factor_shares,
    largest_share,
    layer_shares,
    triangle_count,
)
from sparsync.kernels.selection import SELECTORS
from sparsync.verify.learning import block_matrices, curvature, curvature_bytes


def test_gauss_s_algorithm_solves_by_hand() -> None:
    matrix = [[Fraction(0), Fraction(2)], [Fraction(1), Fraction(3)]]
    assert curvature.solution(matrix, [Fraction(4), Fraction(5)]) == [Fraction(-1), Fraction(2)]


def test_a_turned_matrix_has_its_values() -> None:
    found = curvature.turned([Fraction(5), Fraction(10)], (Fraction(3, 5), Fraction(4, 5)))
    eigenvalues = numpy.linalg.eigvalsh([[float(value) for value in row] for row in found])
    assert eigenvalues == pytest.approx([5, 10], rel=16 * 2.0**-53)


def test_a_direction_off_the_worst_leaves_room() -> None:
    scales, coupling = [Fraction(1), Fraction(3)], Fraction(1, 2)
    assert curvature.error_margin(scales, coupling, [Fraction(1), Fraction(-1)]) == 0
    assert curvature.error_margin(scales, coupling, [Fraction(1), Fraction(1)]) > 0
    assert curvature.step_margin(scales, coupling, [Fraction(1), Fraction(0)]) == 0
    assert curvature.step_margin(scales, coupling, [Fraction(1), Fraction(3)]) > 0


@pytest.mark.parametrize("kept", range(1, 7))
def test_equal_entries_attain_the_bound_and_a_large_diagonal_leaves_room(kept: int) -> None:
    assert curvature.selection_margin([curvature.equal_triangle(3, kept)], kept) == 0
    large = [Fraction(9), Fraction(1), Fraction(1)], [Fraction(1)] * 3
    assert (curvature.selection_margin([large], kept) > 0) == (kept < 6)


def test_top_k_of_the_kernels_keeps_what_the_margin_counts() -> None:
    """Magnitudes that differ: the entries that are kept are the same."""
    diagonal, above = [Fraction(7), Fraction(2), Fraction(5)], [Fraction(6), Fraction(1), Fraction(4)]
    packed = torch.tensor([7.0, 6.0, 1.0, 2.0, 4.0, 5.0])
    weights = torch.tensor([1.0, 2.0, 2.0, 1.0, 2.0, 1.0])
    for kept in range(1, 7):
        chosen = SELECTORS["top_k"](packed, kept).dense()
        share = float((weights * chosen**2).sum() / (weights * packed**2).sum())
        bound = Fraction(max(kept, 2 * kept - 3), 9)
        assert float(curvature.selection_margin([(diagonal, above)], kept) + bound) == pytest.approx(share, rel=1e-6)


def test_what_is_counted_one_by_one_is_what_training_counts() -> None:
    for size in range(1, 9):
        assert curvature_bytes.triangle(size) == triangle_count(size)
        assert curvature_bytes.basis_counts([(size, 2)]) == [basis_count(size), 6]
    for workers in range(1, 6):
        for layers in ([(5, 3), (9, 1)], [(2, 2)] * 5, [(9, 16), (144, 16), (65, 10)]):
            factors = [size for layer in layers for size in layer]
            bases = largest_share([basis_count(size) for size in factors], factor_shares(factors, workers))
            gradients = largest_share([inside * outside for inside, outside in layers], layer_shares(layers, workers))
            assert curvature_bytes.largest_basis_share(layers, workers) == bases
            assert curvature_bytes.largest_gradient_share(layers, workers) == gradients


def test_two_blocks_attain_their_bounds_and_uncoupled_ones_lose_nothing() -> None:
    generator = numpy.random.default_rng(0)
    full, blocks = block_matrices.coupled(generator, [3, 2])
    assert abs(block_matrices.error_room(full, blocks, 3, generator)) < block_matrices.ROUNDING
    assert abs(block_matrices.step_room(full, blocks, 3, generator)) < block_matrices.ROUNDING
    assert block_matrices.relative_error(blocks, blocks) == 0
    assert block_matrices.decrease_share(blocks, blocks, numpy.ones(5)) == pytest.approx(1, rel=32 * 2.0**-53)
