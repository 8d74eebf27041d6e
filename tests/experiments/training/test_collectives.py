"""Every entry that a rank sends arrives exactly once, whatever the counts; the simulation adds the same bits."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch
import torch.distributed as dist

from sparsync.experiments.averaging.envelope import ENVELOPE_BYTES
from sparsync.experiments.averaging.link import Link
from sparsync.experiments.averaging.payloads import mean_in_rank_order
from sparsync.experiments.averaging.registry import COLLECTIVES
from sparsync.experiments.training.collectives import GroupAverager, LocalAverager
from sparsync.experiments.training.launch import run_to_end
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.selection import SELECTORS
from tests.support.workers import run_workers

WORLD_SIZE = 3
DIMENSION = 1000
# Entries per rank: equal, unequal, some empty, all empty, everything.
COUNTS = {
    "equal": (7, 7, 7),
    "unequal": (5, 14, 9),
    "one empty": (0, 14, 9),
    "all empty": (0, 0, 0),
    "one entry in all": (0, 0, 1),
    "everything": (DIMENSION, DIMENSION, DIMENSION),
}
# Among them those whose largest count is one rank's alone, and those of which nothing but the counts is exchanged.
DISAGREEING = ("unequal", "all empty")

# Both of two bytes: nothing but the header tells them apart.
HALVES = (torch.float16, torch.bfloat16)
DTYPES = (*HALVES, torch.float32, torch.float64)

SOME_RANKS = (0, 2)
"""A group of their own."""

NARROW = Link(0.0, 1.0)
"""On which bytes alone count, so that "auto" chooses alike whether sums are all-reduced or not."""

LARGE = 2.0**48 - 1
"""What digests of settings can be, which ranks compare."""

DESTROYED = """
import torch, torch.distributed as dist, weakref
import sparsync.experiments.training.collectives
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
group = weakref.ref(dist.group.WORLD)
torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))])
dist.destroy_process_group()
print(group())
"""


def vector_of(rank: int) -> torch.Tensor:
    return torch.randn(DIMENSION, generator=torch.Generator().manual_seed(rank))


def payloads_with(counts: tuple[int, ...]) -> list[SparsePayload]:
    """Payloads of exactly these counts; neighbouring ranks share most of their indices."""
    payloads = []
    for rank, count in enumerate(counts):
        indices = torch.arange(count, dtype=torch.int32)
        payloads.append(SparsePayload(vector_of(rank)[:count].clone(), indices, DIMENSION))
    return payloads


def of_other_dimension(payload: SparsePayload, dimension: int) -> SparsePayload:
    return SparsePayload(payload.values, payload.indices, dimension)


def of_dtype(payload: SparsePayload, dtype: torch.dtype) -> SparsePayload:
    return SparsePayload(payload.values.to(dtype), payload.indices, payload.dimension)


def refusal(payloads: Any) -> str:
    """What is said of them, empty if they were averaged."""
    try:
        GroupAverager("sparse").average(payloads)
    except ValueError as error:
        return str(error)
    return ""


def exchange_in_a_group() -> list[Any]:
    """What a rank of `SOME_RANKS` sees there of every collective, all-reduced and in rank order; what others hear."""
    group: Any = dist.new_group(list(SOME_RANKS))
    payload = payloads_with(COUNTS["everything"])[dist.get_rank()]
    try:
        averagers = [
            GroupAverager(name, rank_order=order, link=NARROW, group=group)
            for name in COLLECTIVES
            for order in (False, True)
        ]
    except ValueError as error:
        return [str(error)]
    return [(averager.average([payload]), averager.gather([dist.get_rank()])) for averager in averagers]


def exchange() -> dict[str, Any]:
    """What one rank sees of every exchange in this module."""
    rank = dist.get_rank()
    seen: dict[str, Any] = {}
    for case, counts in COUNTS.items():
        average = GroupAverager("sparse", rank_order=True).average([payloads_with(counts)[rank]])
        seen[case] = (average.mean, average.sent_bytes)
    whole = payloads_with(COUNTS["everything"])[rank]
    for collective in ("dense", "dense_bfloat16"):
        for rank_order in (True, False):
            average = GroupAverager(collective, rank_order=rank_order).average([whole])
            seen[f"{collective} {rank_order}"] = (average.mean, average.sent_bytes)
    for case in DISAGREEING:
        seen[f"{case}, refused"] = refusal(
            [of_other_dimension(payloads_with(COUNTS[case])[rank], DIMENSION + rank % 2)]
        )
        seen[f"{case}, other dtype"] = refusal([of_dtype(payloads_with(COUNTS[case])[rank], HALVES[rank % 2])])
    seen["largest, refused"] = refusal([of_other_dimension(payloads_with(COUNTS["all empty"])[rank], 2**31 - 1 - rank)])
    one = payloads_with((1,))[0]
    seen["unfit dtype"] = refusal([of_dtype(one, torch.int32) if rank == 1 else one])
    seen["unfit dimension"] = refusal([of_other_dimension(one, 2**31 if rank == 1 else DIMENSION)])
    for dtype in DTYPES:
        seen[f"{dtype}"] = GroupAverager("sparse").average([of_dtype(payloads_with(COUNTS["unequal"])[rank], dtype)])
    seen["group"] = exchange_in_a_group()
    seen["numbers"] = GroupAverager("sparse", rank_order=True).gather([LARGE - rank])
    seen["mean"] = GroupAverager("sparse").mean([vector_of(rank)])
    seen["vectors"] = GroupAverager("sparse").gather_vectors([vector_of(rank)])
    return seen


@pytest.fixture(scope="module")
def seen() -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = run_workers(exchange, WORLD_SIZE)
    return results


@pytest.mark.parametrize("case", COUNTS)
def test_sparse_mean_equals_the_simulation_bit_for_bit_on_every_rank(case: str, seen: list[dict[str, Any]]) -> None:
    expected = LocalAverager("sparse").average(payloads_with(COUNTS[case]))
    for rank in range(WORLD_SIZE):
        assert torch.equal(seen[rank][case][0], expected.mean)
        assert seen[rank][case][1] == expected.sent_bytes


@pytest.mark.parametrize("collective", ["dense", "dense_bfloat16"])
def test_dense_mean_in_rank_order_equals_the_simulation_bit_for_bit(
    collective: Any, seen: list[dict[str, Any]]
) -> None:
    expected = LocalAverager(collective).average(payloads_with(COUNTS["everything"]))
    for rank in range(WORLD_SIZE):
        mean, sent_bytes = seen[rank][f"{collective} True"]
        assert torch.equal(mean, expected.mean)
        assert sent_bytes == expected.sent_bytes


@pytest.mark.parametrize(("collective", "unit_roundoff"), [("dense", 2.0**-24), ("dense_bfloat16", 2.0**-8)])
def test_all_reduce_is_the_mean_up_to_its_roundings(
    collective: str, unit_roundoff: float, seen: list[dict[str, Any]]
) -> None:
    exact = torch.stack([vector_of(rank).double() for rank in range(WORLD_SIZE)])
    # One rounding of each summand, one per addition, one of the division: fewer than 2n, each relative to Σ|x|/n.
    bound = 2 * WORLD_SIZE * unit_roundoff * exact.abs().mean(dim=0)
    for rank in range(WORLD_SIZE):
        mean, _ = seen[rank][f"{collective} False"]
        assert bool(((mean.double() - exact.mean(dim=0)).abs() <= bound).all())
        assert torch.equal(mean, seen[0][f"{collective} False"][0])


def test_an_all_reduced_sum_in_bfloat16_is_divided_in_float32(seen: list[dict[str, Any]]) -> None:
    mean, _ = seen[0]["dense_bfloat16 False"]
    total = WORLD_SIZE * mean.double()
    # The division alone rounds.
    assert bool(((total - total.to(torch.bfloat16).double()).abs() <= 2.0**-24 * total.abs()).all())


def test_bfloat16_vectors_are_added_in_float32() -> None:
    """Each summand is rounded to 8 bits once; adding them in bfloat16 as well would round again and again."""
    vectors = [vector_of(rank) for rank in range(WORLD_SIZE)]
    rounded = torch.stack([vector.to(torch.bfloat16).double() for vector in vectors])
    measured = LocalAverager("dense_bfloat16").average(payloads_with(COUNTS["everything"])).mean.double()
    # Two float32 additions and a division.
    bound = (WORLD_SIZE + 1) * 2.0**-24 * rounded.abs().mean(dim=0)
    assert bool(((measured - rounded.mean(dim=0)).abs() <= bound).all())


def test_every_rank_learns_every_number_in_rank_order(seen: list[dict[str, Any]]) -> None:
    assert [seen[rank]["numbers"] for rank in range(WORLD_SIZE)] == [[LARGE, LARGE - 1, LARGE - 2]] * WORLD_SIZE


def test_a_group_averages_among_its_ranks_and_no_other_may(seen: list[dict[str, Any]]) -> None:
    payloads = payloads_with(COUNTS["everything"])
    collectives: list[str] = [name for name in COLLECTIVES for _ in range(2)]
    for place, collective in enumerate(collectives):
        expected = LocalAverager(collective, link=NARROW).average([payloads[rank] for rank in SOME_RANKS])
        for rank in SOME_RANKS:
            average, numbers = seen[rank]["group"][place]
            assert (average.sent_bytes, numbers) == (expected.sent_bytes, list(SOME_RANKS))
            # Two bfloat16 numbers that are all-reduced are added as bfloat16.
            assert torch.allclose(average.mean, expected.mean, rtol=2**-8 * (collective == "dense_bfloat16"), atol=0)
    assert seen[1]["group"] == ["this rank is not in the group"]


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("all empty", 3 * ENVELOPE_BYTES),
        ("unequal", 3 * (ENVELOPE_BYTES + 14 * (4 + 4))),
        ("everything", 3 * (ENVELOPE_BYTES + DIMENSION * (4 + 4))),
    ],
)
def test_sparse_bytes_are_headers_and_padded_pairs(case: str, expected: int) -> None:
    assert LocalAverager("sparse").average(payloads_with(COUNTS[case])).sent_bytes == expected


@pytest.mark.parametrize(("collective", "value_bytes"), [("dense", 4), ("dense_bfloat16", 2)])
def test_dense_bytes_are_the_vectors_in_their_wire_format(collective: Any, value_bytes: int) -> None:
    average = LocalAverager(collective).average(payloads_with(COUNTS["everything"]))
    assert average.sent_bytes == 3 * (ENVELOPE_BYTES + DIMENSION * value_bytes)


@pytest.mark.parametrize("name", SELECTORS)
def test_sum_of_corrected_is_n_means_plus_the_residuals(name: str) -> None:
    corrected = [vector_of(rank) for rank in range(WORLD_SIZE)]
    payloads = [SELECTORS[name](u, 50, torch.Generator().manual_seed(3)) for u in corrected]
    residuals = [payload.remainder(u) for payload, u in zip(payloads, corrected, strict=True)]
    created = torch.stack(corrected).double().sum(dim=0)
    kept = torch.stack(residuals).double().sum(dim=0)
    sent = WORLD_SIZE * mean_in_rank_order(payloads).double()
    # The mean rounds n − 1 additions and a division; everything else is exact or in float64.
    bound = 2 * WORLD_SIZE * 2.0**-24 * torch.stack(corrected).double().abs().sum(dim=0)
    assert bool(((created - kept - sent).abs() <= bound).all())


def test_payloads_of_different_dimensions_are_refused() -> None:
    one = SparsePayload(torch.ones(1), torch.zeros(1, dtype=torch.int32), 4)
    other = SparsePayload(torch.ones(1), torch.zeros(1, dtype=torch.int32), 5)
    with pytest.raises(ValueError, match=r"\[4, 5\]"):
        mean_in_rank_order([one, other])
    for collective in COLLECTIVES:
        with pytest.raises(ValueError, match=r"\[4, 5\]"):
            LocalAverager(collective).average([one, other])


@pytest.mark.parametrize("case", DISAGREEING)
def test_every_rank_refuses_payloads_of_different_dimensions_and_can_go_on(
    case: str, seen: list[dict[str, Any]]
) -> None:
    said = "sparse, step 0: payloads of different dimensions: 1000 on rank 0, 1001 on rank 1, 1000 on rank 2"
    assert [seen[rank][f"{case}, refused"] for rank in range(WORLD_SIZE)] == [said] * WORLD_SIZE


@pytest.mark.parametrize("case", DISAGREEING)
def test_every_rank_refuses_payloads_of_different_dtypes_and_can_go_on(case: str, seen: list[dict[str, Any]]) -> None:
    dtypes = "torch.float16 on rank 0, torch.bfloat16 on rank 1, torch.float16 on rank 2"
    said = f"sparse, step 0: payloads of different dtypes: {dtypes}"
    assert [seen[rank][f"{case}, other dtype"] for rank in range(WORLD_SIZE)] == [said] * WORLD_SIZE


@pytest.mark.parametrize("dtype", DTYPES)
def test_payloads_of_every_floating_dtype_are_averaged_as_in_the_simulation(
    dtype: torch.dtype, seen: list[dict[str, Any]]
) -> None:
    payloads = [of_dtype(payload, dtype) for payload in payloads_with(COUNTS["unequal"])]
    expected = LocalAverager("sparse").average(payloads)
    for rank in range(WORLD_SIZE):
        average = seen[rank][f"{dtype}"]
        assert (average.mean.dtype, average.sent_bytes) == (dtype, expected.sent_bytes)
        assert torch.equal(average.mean, expected.mean)


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("dtype", "whose dtype is none of torch.bfloat16, torch.float16, torch.float32, torch.float64"),
        ("dimension", "of dimension 2147483648, with places that no int32 index reaches"),
    ],
)
def test_every_rank_refuses_what_no_header_of_one_rank_can_name(
    case: str, said: str, seen: list[dict[str, Any]]
) -> None:
    words = f"sparse, step 0: rank 1 has a payload {said}"
    assert [seen[rank][f"unfit {case}"] for rank in range(WORLD_SIZE)] == [words] * WORLD_SIZE


def test_payloads_of_different_dtypes_are_refused_in_one_process() -> None:
    mixed = [of_dtype(payload, dtype) for payload, dtype in zip(payloads_with((1, 1)), DTYPES[1:], strict=False)]
    for collective in COLLECTIVES:
        with pytest.raises(ValueError, match=r"different dtypes: torch\.bfloat16, torch\.float32$"):
            LocalAverager(collective).average(mixed)


def test_the_largest_dimensions_reach_the_other_ranks_whole(seen: list[dict[str, Any]]) -> None:
    dimensions = "2147483647 on rank 0, 2147483646 on rank 1, 2147483645 on rank 2"
    said = f"sparse, step 0: payloads of different dimensions: {dimensions}"
    assert [seen[rank]["largest, refused"] for rank in range(WORLD_SIZE)] == [said] * WORLD_SIZE


@pytest.mark.parametrize(
    ("payloads", "found"),
    [
        (payloads_with((1,))[0], "SparsePayload"),
        (payloads_with((1, 1)), "a list of 2"),
        ([], "a list of 0"),
        ([torch.zeros(3)], "a list of one Tensor"),
        (torch.zeros(3), "Tensor"),
    ],
)
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_a_rank_averages_exactly_one_payload(collective: Any, payloads: Any, found: str) -> None:
    with pytest.raises(ValueError, match=f"^expected a list of exactly one payload, that of this rank, got {found}$"):
        GroupAverager(collective).average(payloads)


@pytest.mark.parametrize(
    ("payloads", "found"),
    [
        (payloads_with((1,))[0], "SparsePayload"),
        (torch.zeros(3), "Tensor"),
        ([*payloads_with((1,)), torch.zeros(3)], "one with Tensor"),
        (None, "NoneType"),
    ],
)
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_the_simulation_averages_payloads_only(collective: Any, payloads: Any, found: str) -> None:
    with pytest.raises(ValueError, match=f"^expected a list of payloads, got {found}$"):
        LocalAverager(collective).average(payloads)


@pytest.mark.parametrize(
    ("numbers", "found"),
    [
        (1.0, "float"),
        ([], "a list of 0"),
        ([1.0, 2.0], "a list of 2"),
        (["1"], "a list of one str"),
        (torch.zeros(1), "Tensor"),
    ],
)
def test_a_rank_gathers_exactly_one_number(numbers: Any, found: str) -> None:
    with pytest.raises(ValueError, match=f"^expected a list of exactly one number, that of this rank, got {found}$"):
        GroupAverager("sparse").gather(numbers)


def test_the_mean_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no payloads"):
        mean_in_rank_order([])
    for collective in COLLECTIVES:
        with pytest.raises(ValueError, match="no payloads"):
            LocalAverager(collective).average([])


def test_an_unknown_collective_is_refused() -> None:
    for averager in (LocalAverager, GroupAverager):
        with pytest.raises(ValueError, match="'ring'"):
            averager("ring")


def test_a_destroyed_group_is_gone_although_an_optimiser_was_made_meanwhile() -> None:
    finished = run_to_end(
        [sys.executable, "-c", DESTROYED], timeout_seconds=60, environment={"CUDA_VISIBLE_DEVICES": ""}
    )
    assert finished.stdout == "None\n", finished.stderr


def test_vectors_are_averaged_in_rank_order_in_processes_as_in_one(seen: list[dict[str, Any]]) -> None:
    vectors = [vector_of(rank) for rank in range(WORLD_SIZE)]
    in_one = LocalAverager("sparse").mean(vectors)
    assert torch.equal(in_one, ((vectors[0] + vectors[1]) + vectors[2]) / WORLD_SIZE)
    assert all(torch.equal(of_rank["mean"], in_one) for of_rank in seen)


@pytest.mark.parametrize("count", [0, 2])
def test_a_rank_averages_one_vector_its_own(count: int) -> None:
    with pytest.raises(ValueError, match=f"expected exactly one vector, that of this rank, got {count}"):
        GroupAverager("sparse").mean([vector_of(0)] * count)


def test_vectors_arrive_as_they_are_in_rank_order_in_processes_as_in_one(seen: list[dict[str, Any]]) -> None:
    vectors = [vector_of(rank) for rank in range(WORLD_SIZE)]
    in_one = LocalAverager("sparse").gather_vectors(vectors)
    assert in_one.sent_bytes == WORLD_SIZE * (ENVELOPE_BYTES + 4 * DIMENSION)
    for of_rank in (in_one, *(of_rank["vectors"] for of_rank in seen)):
        assert all(torch.equal(*pair) for pair in zip(of_rank.vectors, vectors, strict=True))
        assert of_rank.sent_bytes == in_one.sent_bytes


def test_vectors_that_do_not_belong_together_are_not_handed_round() -> None:
    with pytest.raises(ValueError, match=r"of one length and dtype, got \[\(3,\), \(4,\)\]"):
        LocalAverager("sparse").gather_vectors([torch.ones(3), torch.ones(4)])
    with pytest.raises(ValueError, match="expected exactly one vector, that of this rank, got 2"):
        GroupAverager("sparse").gather_vectors([vector_of(0)] * 2)
