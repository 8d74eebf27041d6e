"""The library's chunk-wise selection and codecs keep to the statements about them, and reach them on worst vectors."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from torch import Tensor

from sparsync.kernels.chunks import CHUNK_SIZE, chunk_shares, chunked_top_k
from sparsync.kernels.codec import Values, quantised
from sparsync.kernels.payload import SparsePayload
from sparsync.theory.statements import STATEMENTS

SEED = 20_250_815
CASES = [(100, 7), (CHUNK_SIZE, 41), (3 * CHUNK_SIZE, 100), (2 * CHUNK_SIZE + 100, 80), (5 * CHUNK_SIZE + 1, 6)]
CODES: dict[Values, str] = {"int8": "eight_bit_values", "int2": "two_bit_codec"}


def lost_share(corrected: Tensor, sent: SparsePayload) -> float:
    """‖u − sent‖²/‖u‖² in float64: exact squares of float32, sums of them to 2^(−40) or better."""
    error = corrected.double()
    error[sent.indices.long()] -= sent.values.double()
    return float((error**2).sum() / (corrected.double() ** 2).sum())


def stated(dimension: int, count: int) -> float:
    return STATEMENTS["chunk_rounding"].evaluate(d=dimension, k=count, chunk_size=CHUNK_SIZE)


def drawn(dimension: int) -> Tensor:
    return torch.randn(dimension, generator=torch.Generator().manual_seed(SEED))


@pytest.mark.parametrize(("dimension", "count"), CASES)
def test_equal_entries_in_the_first_chunk_attain_the_bound(dimension: int, count: int) -> None:
    corrected = torch.zeros(dimension)
    corrected[:CHUNK_SIZE] = 0.75
    assert lost_share(corrected, chunked_top_k(corrected, count)) == pytest.approx(stated(dimension, count), abs=1e-12)


@pytest.mark.parametrize(("dimension", "count"), CASES)
def test_random_vectors_leave_less(dimension: int, count: int) -> None:
    corrected = drawn(dimension)
    assert lost_share(corrected, chunked_top_k(corrected, count)) < stated(dimension, count)


@pytest.mark.parametrize(("dimension", "count"), CASES)
def test_the_first_chunk_has_the_smallest_share(dimension: int, count: int) -> None:
    shares = chunk_shares(count, dimension).tolist()
    sizes = [min(CHUNK_SIZE, dimension - start) for start in range(0, dimension, CHUNK_SIZE)]
    densities = [Fraction(share, size) for share, size in zip(shares, sizes, strict=True)]
    assert (
        min(densities)
        == densities[0]
        == 1 - STATEMENTS["chunk_rounding"].fraction(d=dimension, k=count, chunk_size=CHUNK_SIZE)
    )


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize(("dimension", "count"), CASES)
def test_selected_and_rounded_vectors_keep_to_the_rule(code: Values, dimension: int, count: int) -> None:
    corrected = drawn(dimension)
    selected = chunked_top_k(corrected, count)
    lost = STATEMENTS[CODES[code]].evaluate(value_count=min(count, 1024))
    bound = STATEMENTS["quantised_selection"].evaluate(selected_ratio=stated(dimension, count), value_error=lost)
    assert lost_share(corrected, selected) <= lost_share(corrected, quantised(selected, values=code)) <= bound


def test_a_message_of_many_blocks_loses_no_larger_share_than_its_worst_block() -> None:
    values = torch.full((3000,), 0.5)
    values[:1024:1024] = 64.0
    values[1024:] = 0.0
    payload = SparsePayload(values, torch.arange(3000, dtype=torch.int32), 3000)
    lost = lost_share(values, quantised(payload, values="int8"))
    assert lost == pytest.approx(STATEMENTS["eight_bit_values"].evaluate(value_count=1024), abs=1e-12)


def test_chunks_of_laplace_entries_leave_what_the_law_says() -> None:
    chunk_number, count = 512, 41
    generator = torch.Generator().manual_seed(SEED)
    corrected = torch.empty(chunk_number * CHUNK_SIZE).exponential_(generator=generator)
    selected = chunked_top_k(corrected, chunk_number * count)
    share = STATEMENTS["laplace_chunks"].evaluate(k=count, chunk_size=CHUNK_SIZE)
    # Of 512 chunks: seven standard errors of the share that they send, 0.16.
    assert lost_share(corrected, selected) == pytest.approx(share, abs=0.005)
    lost = STATEMENTS["two_bit_laplace"].evaluate(kappa=Fraction(count, CHUNK_SIZE))
    rounded = lost_share(corrected, quantised(selected, values="int2"))
    assert rounded - lost_share(corrected, selected) == pytest.approx(lost * (1 - share), rel=0.1)
