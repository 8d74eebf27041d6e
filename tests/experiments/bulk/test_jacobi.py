"""A block's change is the same whoever makes it; what a tree adds up depends on the parts and their order alone."""

from __future__ import annotations

import pytest
import torch

from sparsync.experiments.bulk.jacobi import (
    CONTRACTION,
    POSITION,
    VALUE,
    change,
    make_block,
    packed,
    tree_sum,
    unpacked,
)

UNKNOWNS, ROWS = 24, 6
BLOCKS = [make_block(UNKNOWNS, ROWS, number, seed=3) for number in range(UNKNOWNS // ROWS)]


def test_a_system_is_dominated_by_its_diagonal_so_that_every_iteration_is_nearer() -> None:
    matrix = torch.cat([block.matrix for block in BLOCKS])
    diagonal = torch.cat([block.diagonal for block in BLOCKS])
    right = torch.cat([block.right for block in BLOCKS])
    assert torch.equal(matrix.diagonal(), torch.zeros(UNKNOWNS, dtype=VALUE))
    torch.testing.assert_close(matrix.sum(1), CONTRACTION * diagonal)
    solution = torch.linalg.solve(matrix + torch.diag(diagonal), right)
    point = torch.zeros(UNKNOWNS, dtype=VALUE)
    for _ in range(30):
        error = (point - solution).abs().max()
        point = torch.cat([block.relaxed(point) for block in BLOCKS])
        assert (point - solution).abs().max() <= CONTRACTION * error + 1e-12


def test_a_block_is_the_same_in_every_process_and_no_two_are_alike() -> None:
    again = make_block(UNKNOWNS, ROWS, 1, seed=3)
    assert torch.equal(again.matrix, BLOCKS[1].matrix)
    assert not torch.equal(again.right, BLOCKS[2].right)
    assert not torch.equal(again.right, make_block(UNKNOWNS, ROWS, 1, seed=4).right)


def test_all_rows_of_a_block_are_jacobis_method() -> None:
    point = torch.arange(UNKNOWNS, dtype=VALUE)
    whole = change(BLOCKS[2], point, ROWS, 0.0)
    assert whole.positions.tolist() == list(range(12, 18))
    assert torch.equal(whole.values, BLOCKS[2].relaxed(point))
    torch.testing.assert_close(whole.energy, (whole.values - point[12:18]).square().sum().view(1))


def test_a_selection_holds_the_largest_changes_and_the_energy_of_all() -> None:
    point = torch.arange(UNKNOWNS, dtype=VALUE)
    whole, some = (change(BLOCKS[1], point, kept, 0.0) for kept in (ROWS, 2))
    moved = (whole.values - point[6:12]).abs()
    expected = sorted((6 + moved.argsort(descending=True)[:2]).tolist())
    assert some.positions.tolist() == expected
    assert some.positions.dtype == POSITION
    assert torch.equal(some.values, whole.values[some.positions.long() - 6])
    assert torch.equal(some.energy, whole.energy)


@pytest.mark.parametrize("count", range(1, 10))
def test_a_tree_adds_neighbours(count: int) -> None:
    parts = [torch.tensor([2.0**number]) for number in range(count)]
    assert tree_sum(parts).item() == 2.0**count - 1


def test_a_tree_has_its_own_order() -> None:
    parts = [torch.tensor([number], dtype=torch.float32) for number in (2**24, 1, 1, 1)]
    assert tree_sum(parts).item() == 2.0**24 + 2
    assert float(sum(parts)) == 2.0**24


def test_a_sum_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="a sum of no parts"):
        tree_sum([])


def test_a_message_comes_apart_as_it_was_put_together() -> None:
    values, positions = torch.rand(3, dtype=VALUE), torch.arange(5, dtype=POSITION)
    message = packed(values, positions)
    assert message.numel() == 3 * 8 + 5 * 4
    found = unpacked(message, (3, VALUE), (5, POSITION))
    assert torch.equal(found[0], values)
    assert torch.equal(found[1], positions)
    # Numbers behind an odd count of smaller ones.
    assert torch.equal(unpacked(packed(positions, values), (5, POSITION), (3, VALUE))[1], values)


def test_a_message_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="a message has 8 bytes, expected 16"):
        unpacked(torch.zeros(8, dtype=torch.uint8), (2, VALUE))
