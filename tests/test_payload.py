"""A payload says what it holds, gives it back densely, and knows what was left behind."""

from __future__ import annotations

import pytest
import torch

from sparsync.kernels.payload import SparsePayload


def payload(values: list[float], indices: list[int], dimension: int) -> SparsePayload:
    return SparsePayload(torch.tensor(values), torch.tensor(indices, dtype=torch.int32), dimension)


def test_dense_is_zero_except_at_the_kept_positions() -> None:
    assert payload([2.0, -3.0], [1, 4], 5).dense().tolist() == [0.0, 2.0, 0.0, 0.0, -3.0]


def test_an_empty_payload_is_a_zero_vector_of_zero_bytes() -> None:
    empty = payload([], [], 3)
    assert (empty.count, empty.size_bytes, empty.dense().tolist()) == (0, 0, [0.0, 0.0, 0.0])


@pytest.mark.parametrize(("dtype", "expected"), [(torch.bfloat16, 12), (torch.float32, 16), (torch.float64, 24)])
def test_size_counts_a_value_and_an_int32_index_per_entry(dtype: torch.dtype, expected: int) -> None:
    two = SparsePayload(torch.ones(2, dtype=dtype), torch.tensor([0, 1], dtype=torch.int32), 9)
    assert two.size_bytes == expected


def test_remainder_zeroes_what_is_sent_and_leaves_its_argument_alone() -> None:
    corrected = torch.tensor([1.0, 2.0, 3.0])
    assert payload([2.0], [1], 3).remainder(corrected).tolist() == [1.0, 0.0, 3.0]
    assert corrected.tolist() == [1.0, 2.0, 3.0]


def test_remainder_refuses_a_vector_of_another_length() -> None:
    with pytest.raises(ValueError, match=r"length 3, got shape \(4,\)"):
        payload([2.0], [1], 3).remainder(torch.zeros(4))


@pytest.mark.parametrize(
    ("values", "indices", "dimension", "message"),
    [
        (torch.zeros(2), torch.zeros(3, dtype=torch.int32), 9, r"\(2,\) and \(3,\)"),
        (torch.zeros(2, 1), torch.zeros(2, 1, dtype=torch.int32), 9, r"\(2, 1\)"),
        (torch.zeros(2), torch.zeros(2, dtype=torch.int64), 9, "int64"),
        (torch.zeros(2), torch.zeros(2, dtype=torch.int32), 1, "2 entries do not fit a vector of length 1"),
        (torch.zeros(2, device="meta"), torch.zeros(2, dtype=torch.int32), 9, "on meta, indices on cpu"),
    ],
)
def test_a_malformed_payload_is_refused(
    values: torch.Tensor, indices: torch.Tensor, dimension: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        SparsePayload(values, indices, dimension)
