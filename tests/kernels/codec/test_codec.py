"""A message gives back its payload, is as short as positions allow, and loses only what the residual gets back."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsync.kernels import codec, codec_reference
from sparsync.kernels.codec import (
    HEADER_BYTES,
    Indices,
    Values,
    decode,
    encode,
    encode_into,
    encoded_bound,
    keep_error,
    quantisation_error,
    quantised,
)
from sparsync.kernels.codec_bits import BLOCK_SIZE
from sparsync.kernels.codec_indices import INDEX_CODES
from sparsync.kernels.codec_values import VALUE_CODES, value_bytes
from sparsync.kernels.magnitude import NonFiniteError
from sparsync.kernels.native import feedback_select
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.selection import SELECTORS
from tests.support.codec.payloads import (
    POSITIONS,
    clustered,
    generator,
    in_regions,
    of_gaps,
    payload_at,
    payload_of,
    payloads,
    scattered,
)
from tests.support.hard_vectors import DTYPES, HARD_VECTORS

VALUES: tuple[Values, ...] = ("exact", "fp32", "bf16", "int8", "int2")
INDICES: tuple[Indices, ...] = ("rice", "int32", "int12")
EXACT_ERRORS: tuple[Values, ...] = ("fp32", "bf16", "int8")
DIMENSIONS = (10**5, 10**6, 10**7)
VECTORS = [pytest.param(name, dtype, id=f"{name}-{dtype}") for name in HARD_VECTORS for dtype in DTYPES]


@pytest.fixture(params=["native", "reference"])
def _both(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """By whatever serves here, and by the definition."""
    if request.param == "reference":
        monkeypatch.setattr(codec, "_operators", lambda: codec_reference)


def bits(payload: SparsePayload) -> tuple[bytes, list[int], int, torch.dtype]:
    raw = payload.values.contiguous().view(torch.uint8).numpy().tobytes()
    return raw, payload.indices.tolist(), payload.dimension, payload.values.dtype


def index_bits(payload: SparsePayload, code: Indices) -> float:
    """Bits a position, headers of blocks included."""
    length = len(encode(payload, values="exact", indices=code))
    values = value_bytes(payload.count, VALUE_CODES["exact"], payload.values.dtype)
    return 8 * (length - HEADER_BYTES - values) / payload.count


def entropy(count: int, dimension: int) -> float:
    """log₂ C(d, m)/m, in bits a position."""
    logs = [math.lgamma(number + 1) for number in (dimension, count, dimension - count)]
    return (logs[0] - logs[1] - logs[2]) / math.log(2) / count


def of_zeros(indices: torch.Tensor, dimension: int) -> SparsePayload:
    return SparsePayload(torch.zeros(len(indices)), indices, dimension)


def test_the_names_are_those_of_the_public_dicts() -> None:
    assert (VALUES, set(INDICES)) == (tuple(VALUE_CODES), set(INDEX_CODES))


@pytest.mark.usefixtures("_both")
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("positions", POSITIONS)
def test_what_is_decoded_is_the_quantised_payload(positions: str, values: Values) -> None:
    payload = payload_at(positions)
    for indices in INDICES:
        message = encode(payload, values=values, indices=indices)
        assert bits(decode(message)) == bits(quantised(payload, values=values))
        assert bits(decode(message))[1:] == bits(payload)[1:]
        assert len(message) <= encoded_bound(payload.count, payload.dimension, values=values, indices=indices)


@pytest.mark.usefixtures("_both")
@pytest.mark.parametrize(("vector", "dtype"), VECTORS)
def test_every_dtype_survives_as_it_is(vector: str, dtype: torch.dtype) -> None:
    payload = payload_of(vector, dtype)
    for indices in INDICES:
        assert bits(decode(encode(payload, values="exact", indices=indices))) == bits(payload), indices


@pytest.mark.parametrize("dtype", DTYPES)
@given(data=st.data())
def test_drawn_payloads_survive_as_they_are_within_the_bound(dtype: torch.dtype, data: st.DataObject) -> None:
    payload = data.draw(payloads(dtype))
    for indices in INDICES:
        message = encode(payload, values="exact", indices=indices)
        assert bits(decode(message)) == bits(payload)
        bound = encoded_bound(payload.count, payload.dimension, values="exact", indices=indices, dtype=dtype)
        assert len(message) <= bound


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("values", ["bf16", "int8", "int2"])
def test_what_was_quantised_once_stays(values: Values, dtype: torch.dtype) -> None:
    """Of two levels only where both are sums of few bits: their means are rounded. Here entries are ±2 and ±3."""
    entries = torch.tensor([2.0, -3.0, 3.0, -2.0], dtype=dtype).repeat(500)
    payload = SparsePayload(entries, torch.arange(2000, dtype=torch.int32), 2000)
    assert bits(quantised(payload, values=values)) == bits(payload)


@pytest.mark.parametrize("values", EXACT_ERRORS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@given(data=st.data())
def test_sent_and_error_are_the_value_exactly(values: Values, dtype: torch.dtype, data: st.DataObject) -> None:
    payload = data.draw(payloads(torch.float32))
    payload = SparsePayload(payload.values.to(dtype), payload.indices, payload.dimension)
    sent = quantised(payload, values=values)
    errors = quantisation_error(payload, sent).tolist()
    for value, decoded, error in zip(payload.values.tolist(), sent.values.tolist(), errors, strict=True):
        assert Fraction(decoded) + Fraction(error) == Fraction(value)


@given(data=st.data())
def test_of_two_bits_sent_and_error_are_the_value_exactly_from_half_a_level_on(data: st.DataObject) -> None:
    """Below, one subtraction is rounded: by at most half a last place, 2⁻²⁴ of the error, and no subnormal is lost."""
    payload = data.draw(payloads(torch.float32))
    sent = quantised(payload, values="int2")
    errors = quantisation_error(payload, sent).tolist()
    for value, decoded, error in zip(payload.values.tolist(), sent.values.tolist(), errors, strict=True):
        off = abs(Fraction(decoded) + Fraction(error) - Fraction(value))
        assert off == 0 if 2 * abs(value) >= abs(decoded) else off <= abs(Fraction(error)) / 2**24


@pytest.mark.parametrize("vector", HARD_VECTORS)
def test_no_error_is_larger_than_what_was_selected(vector: str) -> None:
    """Whole numbers of 2⁻¹⁴⁹, so that squares are exact; of the other codes every single error is no larger."""
    payload = payload_of(vector, torch.float32)
    entries = [int(Fraction(value) * 2**149) for value in payload.values.tolist()]
    for values in VALUES:
        sent = [int(Fraction(value) * 2**149) for value in quantised(payload, values=values).values.tolist()]
        pairs = list(zip(entries, sent, strict=True))
        assert sum((value - decoded) ** 2 for value, decoded in pairs) <= sum(value**2 for value, _ in pairs)
        assert values == "int2" or all(abs(value - decoded) <= abs(value) for value, decoded in pairs)


@pytest.mark.parametrize("values", VALUES)
def test_sent_and_kept_are_the_corrected_gradient(values: Values) -> None:
    """In bits, of what Top-k selects: its entries are within a factor of two of their level or above."""
    corrected = torch.randn(100_000, generator=generator())
    residual = torch.zeros(100_000)
    payload = feedback_select(corrected, residual, 1000, rule="top_k")
    sent = quantised(payload, values=values)
    keep_error(residual, payload, sent)
    assert torch.equal(sent.dense() + residual, corrected)
    assert values in ("exact", "fp32") or not torch.equal(sent.values, payload.values)


def test_bfloat16_is_the_nearest_with_ties_to_even() -> None:
    """As torch rounds, but for what torch rounds to infinity."""
    values = payload_at("one block").values
    values = torch.cat([values, torch.tensor([1 + 2**-8, 1 + 3 * 2**-8, -1e-40, 2**-149, -0.0, 3.4e38, -3.4e38])])
    payload = SparsePayload(values, torch.arange(len(values), dtype=torch.int32), 2000)
    expected = values.bfloat16().float()
    expected[expected.isinf()] = torch.tensor([1.0, -1.0]) * torch.finfo(torch.bfloat16).max
    assert torch.equal(quantised(payload, values="bf16").values.view(torch.int32), expected.view(torch.int32))


def test_eight_bits_are_the_nearest_multiple_of_a_power_of_two_with_ties_to_even() -> None:
    values = torch.tensor([64.0, 0.5, 1.5, -2.5, -0.25, 100.75, 126.6])
    payload = SparsePayload(values, torch.arange(7, dtype=torch.int32), 7)
    assert quantised(payload, values="int8").values.tolist() == [64, 0, 2, -2, 0, 101, 127]
    values[0] = 127.75
    assert quantised(payload, values="int8").values.tolist() == [127, 0, 2, -2, 0, 101, 127]


def test_two_bits_are_two_levels_of_each_sign() -> None:
    """Means of 2 and 3, and of 10, 11 and 12; of a block of one magnitude, that."""
    values = torch.tensor([2.0, -3.0, 10.0, -11.0, 12.0])
    payload = SparsePayload(values, torch.arange(5, dtype=torch.int32), 5)
    assert quantised(payload, values="int2").values.tolist() == [2.5, -2.5, 11, -11, 11]
    assert quantised(of_zeros(payload.indices, 5), values="int2").values.tolist() == [0.0] * 5


def test_every_block_has_a_scale_of_its_own() -> None:
    small = torch.full((BLOCK_SIZE,), 1e-30)
    values = torch.cat([small, torch.full((BLOCK_SIZE,), 1e30), small])
    payload = SparsePayload(values, torch.arange(3 * BLOCK_SIZE, dtype=torch.int32), 10**6)
    for code, relative in (("int8", 2**-7), ("int2", 2**-15)):
        sent = quantised(payload, values=code).values  # type: ignore[arg-type]
        assert bool(((sent - values).abs() <= relative * values).all())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_random_positions_take_within_a_fiftieth_of_their_entropy(dimension: int, seed: int) -> None:
    """At density 0.001: the bits of log₂ C(d, m), asked for within a twentieth. The smallest d has a block of 100."""
    count = dimension // 1000
    taken = index_bits(of_zeros(scattered(count, dimension, seed=seed), dimension), "rice")
    assert 1 < taken / entropy(count, dimension) < (1.05 if dimension < 10**6 else 1.02)


def test_dense_and_sparse_regions_have_parameters_of_their_own() -> None:
    """Half of the gaps are near 10, half near 2000: log₂ 10e and log₂ 2000e bits, on average log₂(1005e) − 2.8."""
    indices = in_regions(16 * 2048)
    dimension = int(indices[-1]) + 1
    assert index_bits(of_zeros(indices, dimension), "rice") < entropy(len(indices), dimension) - 2.5


def test_short_runs_of_neighbours_cost_at_most_what_the_bound_says() -> None:
    """A block has one parameter: its few long gaps make it large, and the many short ones pay."""
    indices = clustered(64 * 160)
    dimension = int(indices[-1]) + 1
    assert 1 < index_bits(of_zeros(indices, dimension), "rice") / entropy(len(indices), dimension) < 1.05


@pytest.mark.parametrize("bit", range(21))
def test_the_bound_is_nearly_reached_by_gaps_of_a_power_of_two(bit: int) -> None:
    """Gaps of 2^b and, for half of them, of 0, leave nothing to gain; only the filling of bytes is left."""
    count = BLOCK_SIZE
    gaps = torch.full((count,), 2**bit).long()
    indices = of_gaps(gaps)
    dimension = int(indices[-1]) + 1
    taken = len(encode(of_zeros(indices, dimension)))
    bound = encoded_bound(count, dimension)
    assert bound - 2 <= taken <= bound


@given(data=st.data(), count=st.integers(0, 5000))
@settings(max_examples=50)
def test_the_bound_grows_with_the_count_and_holds_every_density(data: st.DataObject, count: int) -> None:
    dimension = data.draw(st.integers(count + 1, 2**31 - 1))
    for values in VALUES:
        for indices in INDICES:
            one, more = (encoded_bound(m, dimension, values=values, indices=indices) for m in (count, count + 1))
            assert one <= more


@pytest.mark.parametrize("density", [0.001, 0.01, 0.1])
def test_within_chunks_a_position_takes_twelve_bits_and_a_count_one(density: float) -> None:
    """Of `chunked_top_k` all counts are one of two neighbours. Three bytes say which; the rest fills a byte."""
    vector = torch.randn(200_000, generator=generator())
    payload = SELECTORS["chunked_top_k"](vector, round(density * len(vector)))
    chunks = -(-len(vector) // 4096)
    assert index_bits(payload, "int12") * payload.count <= 12 * payload.count + chunks + 24 + 7 + 7 + 4096


@pytest.mark.usefixtures("_both")
@pytest.mark.parametrize("values", VALUES)
def test_a_message_lies_at_the_head_of_a_larger_buffer(values: Values) -> None:
    payload = payload_at("one more than a block")
    bound = encoded_bound(payload.count, payload.dimension, values=values)
    buffer = torch.full((bound + 100,), 0xA5, dtype=torch.uint8)
    length = encode_into(payload, buffer, values=values)
    assert buffer[:length].numpy().tobytes() == encode(payload, values=values)
    assert bool((buffer[bound:] == 0xA5).all())
    assert bits(decode(buffer)) == bits(decode(buffer[:length])) == bits(quantised(payload, values=values))
    for other in (memoryview(buffer.numpy().data), bytearray(buffer.numpy())):
        assert bits(decode(other)) == bits(decode(buffer))


def test_the_header_is_what_is_written_down() -> None:
    payload = payload_at("both ends of most")
    message = encode(payload, values="int8", indices="int12")
    fields = (b"spsy", 1, 2, 3, 2, 2**31 - 1, 2, len(message))
    assert (struct.unpack("<4s4B2IQ", message[:HEADER_BYTES]), HEADER_BYTES) == (fields, 24)


def test_a_padded_payload_is_sent_without_its_padding() -> None:
    vector = torch.randn(1000, generator=generator())
    payload = feedback_select(vector, torch.zeros(1000), 50, rule="gaussian_k")
    assert decode(encode(payload)).indices.tolist() == payload.indices.tolist()


def test_a_payload_that_is_not_contiguous_is_sent_as_its_copy() -> None:
    values, indices = torch.arange(20.0)[::2], torch.arange(20, dtype=torch.int32)[::2]
    assert bits(decode(encode(SparsePayload(values, indices, 20)))) == bits(SparsePayload(values, indices, 20))


@pytest.mark.usefixtures("_both")
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("values", VALUES)
def test_a_value_that_is_not_finite_is_named_and_nothing_is_written(value: float, values: Values) -> None:
    payload = payload_at("one more than a block")
    payload.values[1024] = value
    buffer = torch.full((20_000,), 0xA5, dtype=torch.uint8)
    with pytest.raises(NonFiniteError, match=f"entry 1024 is not finite in the dtype that is sent: {value}"):
        encode_into(payload, buffer, values=values)
    assert bool((buffer == 0xA5).all())


def test_a_value_beyond_float32_is_named_where_float32_is_sent() -> None:
    payload = SparsePayload(torch.tensor([1.0, 1e300], dtype=torch.float64), torch.tensor([0, 1]).int(), 2)
    assert bits(decode(encode(payload, values="exact"))) == bits(payload)
    for values in VALUES[1:]:
        with pytest.raises(NonFiniteError, match=r"entry 1 is not finite in the dtype that is sent: 1e\+300"):
            encode(payload, values=values)


@pytest.mark.usefixtures("_both")
@pytest.mark.parametrize(
    ("indices", "place"), [([-1, 3], 0), ([3, 3], 1), ([4, 3], 1), ([3, 9], 1), ([1, 9, 4], 1), ([2, -5, 4], 1)]
)
def test_an_index_out_of_order_or_range_is_named_and_nothing_is_written(indices: list[int], place: int) -> None:
    payload = of_zeros(torch.tensor(indices, dtype=torch.int32), 9)
    buffer = torch.full((2000,), 0xA5, dtype=torch.uint8)
    for code in INDICES:
        with pytest.raises(ValueError, match=rf"index {place} is {indices[place]}, .* not below d = 9"):
            encode_into(payload, buffer, indices=code)
    assert bool((buffer == 0xA5).all())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"values": "fp8"}, "unknown value code 'fp8'; known: exact, fp32, bf16, int8, int2"),
        ({"indices": "int16"}, "unknown index code 'int16'; known: rice, int32, int12"),
        ({"dtype": torch.float16}, "'fp32' is not for values of torch.float16"),
        ({"count": 10}, "got m = 10, d = 9"),
        ({"count": -1}, "got m = -1, d = 9"),
        ({"dimension": 2**31}, r"m <= d < 2\^31, got m = 1, d = 2147483648"),
    ],
)
def test_a_bound_is_not_given_for_what_cannot_be_encoded(arguments: dict[str, object], message: str) -> None:
    given_ones = {"count": 1, "dimension": 9} | arguments
    with pytest.raises(ValueError, match=message):
        encoded_bound(**given_ones)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("buffer", "message"),
    [
        (torch.zeros(40), r"uint8, got torch.float32 of shape \(40,\)"),
        (torch.zeros(9, 40, dtype=torch.uint8), r"shape \(9, 40\)"),
        (torch.zeros(80, dtype=torch.uint8)[::2], "contiguous vector"),
        (torch.zeros(80, dtype=torch.uint8, device="meta"), "must be on the CPU, got meta"),
        (torch.zeros(29, dtype=torch.uint8), "must have 30 bytes, as encoded_bound says, got 29"),
    ],
)
def test_a_buffer_that_cannot_serve_is_refused(buffer: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encode_into(payload_at("the first"), buffer)


def test_what_is_on_another_device_is_refused() -> None:
    elsewhere = SparsePayload(torch.zeros(1, device="meta"), torch.zeros(1, dtype=torch.int32, device="meta"), 3)
    with pytest.raises(ValueError, match="must be on the CPU, got meta"):
        encode(elsewhere)


def test_an_error_is_kept_only_where_everything_belongs_together() -> None:
    payload = of_zeros(torch.tensor([1, 3], dtype=torch.int32), 5)
    moved = of_zeros(torch.tensor([1, 4], dtype=torch.int32), 5)
    double = SparsePayload(payload.values.double(), payload.indices, 5)
    with pytest.raises(ValueError, match="is not at the positions of"):
        quantisation_error(payload, moved)
    with pytest.raises(ValueError, match=r"float32, what was sent torch\.float64"):
        quantisation_error(payload, double)
    with pytest.raises(ValueError, match=r"length 5, got \(4,\)"):
        keep_error(torch.zeros(4), payload, payload)
    with pytest.raises(ValueError, match=r"float32 on cpu, got torch\.float64 on cpu"):
        keep_error(torch.zeros(5, dtype=torch.float64), payload, payload)
