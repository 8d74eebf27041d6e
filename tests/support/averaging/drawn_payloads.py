"""Payloads of all workers, drawn by hypothesis: empty ones, unequal counts, all entries in one region, d below P.

What hypothesis draws depends on what is imported: ranks are given the draws of the process that judges them.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from sparsync.kernels.payload import SparsePayload

DTYPES = (torch.bfloat16, torch.float16, torch.float32, torch.float64)


@st.composite
def payloads_of_workers(
    draw: st.DrawFn, worker_count: int, *, largest_dimension: int = 60, whole: bool = False
) -> list[SparsePayload]:
    """One payload a worker, of one dimension and dtype.

    Args:
        draw: hypothesis's.
        worker_count: P.
        largest_dimension: of d.
        whole: values are whole numbers from −3 to 3, of which few add up without rounding in every dtype.
    """
    dimension = draw(st.integers(1, largest_dimension))
    dtype = draw(st.sampled_from(DTYPES))
    first = draw(st.integers(0, dimension - 1))
    places = st.integers(first, draw(st.integers(first, dimension - 1)))
    payloads = []
    for _ in range(worker_count):
        indices = torch.tensor(sorted(draw(st.sets(places))), dtype=torch.int32)
        generator = torch.Generator().manual_seed(draw(st.integers(0, 2**16)))
        values = torch.randn(len(indices), generator=generator)
        if whole:
            values = torch.randint(-3, 4, (len(indices),), generator=generator)
        payloads.append(SparsePayload(values.to(dtype), indices, dimension))
    return payloads


def drawn_cases(worker_count: int, case_count: int) -> list[list[SparsePayload]]:
    """All the hard cases, in their order, and so many draws."""
    cases = [hard_case(name, worker_count) for name in HARD_CASES]

    @settings(
        max_examples=case_count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much),
    )
    @given(payloads_of_workers(worker_count))
    def collect(payloads: list[SparsePayload]) -> None:
        cases.append(payloads)

    collect()
    return cases


HARD_CASES: dict[str, tuple[int, Callable[[int], range]]] = {
    "all empty": (7, lambda _: range(0)),
    "all but the last empty": (500, lambda rank: range(5) if rank else range(0)),
    "everything": (40, lambda _: range(40)),
    "the last place alone": (1000, lambda _: range(999, 1000)),
    "one region": (1000, lambda _: range(990, 1000)),
    "one entry, of all": (1, lambda _: range(1)),
    "nothing in common": (40, lambda rank: range(10 * rank, 10 * rank + 3 * rank)),
}
"""Dimension, and the indices by rank."""


def hard_case(name: str, worker_count: int) -> list[SparsePayload]:
    dimension, places = HARD_CASES[name]
    by_rank = [torch.tensor([*places(rank)], dtype=torch.int32) for rank in range(worker_count)]
    return [
        SparsePayload(torch.randn(len(i), generator=torch.Generator().manual_seed(rank)), i, dimension)
        for rank, i in enumerate(by_rank)
    ]
