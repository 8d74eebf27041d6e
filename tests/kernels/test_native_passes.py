"""How often a selection reads the vector: once warm, cold at most three times on common laws and four on any input.

One pass is the addition itself, 12 bytes an entry; every further one reads 4 more.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sparsync.experiments.studies.kernels.laws import LAWS
from sparsync.kernels.feedback_reference import RULES
from tests.support.hard_vectors import HARD_VECTORS
from tests.support.native_backends import BACKENDS, Backend
from tests.support.slow_cases import slow_except

RANKED = ("top_k", "gaussian_k")
# Of "sparse 0.999" a draw has now more and now fewer non-zeros than are sent: no bound of the call before lasts.
SETTLED_LAWS = tuple(law for law in LAWS if law != "sparse 0.999")
# Up to here the native op takes its bound from the whole vector, which caches hold, and beyond it from a sample.
SHORT = 262_144
MANY_TIES: dict[str, Callable[[int], Tensor]] = {
    "constant": lambda length: torch.full((length,), 0.3),
    "three values": lambda length: torch.arange(length).remainder(3).float(),
    "one in a thousand is not zero": lambda length: (torch.arange(length) % 1000 == 7).float() * torch.arange(length),
    "zeros": lambda length: torch.zeros(length),
}


@pytest.fixture(scope="module", params=["native", "emulated", "cuda"])
def place(request: pytest.FixtureRequest) -> Backend:
    return BACKENDS[request.param]()


def passes(place: Backend, gradient: Tensor, k: int, rule: str, memory: Tensor, residual: Tensor | None = None) -> int:
    gradient = gradient.to(place.device)
    target = torch.zeros_like(gradient, dtype=torch.float32) if residual is None else residual
    _, _, report = place.operator([gradient], [target], [k], RULES.index(rule), [0.0], [gradient.numel()], memory)
    return int(report[0, 3])


def no_memory(place: Backend) -> Tensor:
    return torch.zeros(1, 2, dtype=torch.int32, device=place.device)


@pytest.mark.parametrize("rule", RANKED)
@pytest.mark.parametrize("density", [0.001, 0.01])
@pytest.mark.parametrize("law", LAWS)
def test_a_cold_call_reads_a_common_law_three_times_at_most(
    place: Backend, law: str, density: float, rule: str
) -> None:
    gradient = LAWS[law](200_000, torch.Generator().manual_seed(1))
    assert passes(place, gradient, round(density * 200_000), rule, no_memory(place)) <= 3


@pytest.mark.parametrize("rule", RANKED)
@pytest.mark.parametrize("density", [0.001, 0.01])
@pytest.mark.parametrize("law", sorted(LAWS.keys() - {"uniform"}))
@pytest.mark.parametrize("octave_share", slow_except({0.0, 0.5}, [0.0, 0.25, 0.5, 0.75]))
@pytest.mark.parametrize("backend", ["emulated", "cuda"])
def test_a_cold_call_on_a_gpu_reads_all_laws_twice_but_the_uniform(
    backend: str, octave_share: float, law: str, density: float, rule: str
) -> None:
    """Of that, up to an eighth of all entries share the threshold's first digit, too many to list with the second.

    Where a digit ends among the magnitudes depends on their scale, and is the same again an octave later.
    """
    gradient = LAWS[law](200_000, torch.Generator().manual_seed(1)) * 2.0**octave_share
    place = BACKENDS[backend]()
    assert passes(place, gradient, round(density * 200_000), rule, no_memory(place)) == 2


@pytest.mark.parametrize("rule", RANKED)
@pytest.mark.parametrize("density", [0.001, 0.01])
@pytest.mark.parametrize("law", LAWS)
def test_a_cold_call_on_the_cpu_reads_a_long_vector_once(law: str, density: float, rule: str) -> None:
    place, length = BACKENDS["native"](), SHORT + 1
    gradient = LAWS[law](length, torch.Generator().manual_seed(1))
    assert passes(place, gradient, round(density * length), rule, no_memory(place)) == 1


@pytest.mark.parametrize("rule", RANKED)
@pytest.mark.parametrize("period", [48, 1000, 1024])
@pytest.mark.parametrize("length", [2_000, 70_000, SHORT])
def test_a_short_vector_is_decided_by_its_second_list_however_it_is_structured(
    length: int, period: int, rule: str
) -> None:
    """Large entries in a few columns and in one stretch, as embeddings and normalisation layers have them."""
    place, generator = BACKENDS["native"](), torch.Generator().manual_seed(4)
    for is_large in (torch.arange(length) % period == 3, torch.arange(length) < length // period):
        gradient = torch.randn(length, generator=generator) * (1 + 99 * is_large)
        assert passes(place, gradient, max(1, length // 500), rule, no_memory(place)) == 3


@pytest.mark.parametrize("rule", RANKED)
@pytest.mark.parametrize("k", [1, 40, 10_000, 69_999])
@pytest.mark.parametrize("ties", MANY_TIES)
def test_a_cold_call_reads_ties_four_times_at_most(place: Backend, ties: str, k: int, rule: str) -> None:
    assert passes(place, MANY_TIES[ties](70_000), k, rule, no_memory(place)) <= 4


@pytest.mark.parametrize("rule", RANKED)
@pytest.mark.parametrize("name", HARD_VECTORS)
def test_a_cold_call_reads_a_hard_vector_four_times_at_most(place: Backend, name: str, rule: str) -> None:
    gradient = HARD_VECTORS[name](torch.float32)
    for k in (1, max(1, gradient.numel() // 20), gradient.numel()):
        assert passes(place, gradient, k, rule, no_memory(place)) <= 4


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1, max_size=9),
    st.integers(1, 9),
    st.data(),
)
def test_a_cold_call_reads_anything_four_times_at_most(
    place: Backend, values: list[float], repeats: int, data: st.DataObject
) -> None:
    gradient = torch.tensor(values).repeat_interleave(4096 * repeats // len(values) + 1)
    k = data.draw(st.integers(1, gradient.numel()))
    rule = data.draw(st.sampled_from(RANKED))
    assert passes(place, gradient, k, rule, no_memory(place)) <= 4


@pytest.mark.parametrize("rule", RANKED)
@pytest.mark.parametrize("law", SETTLED_LAWS)
def test_warm_calls_read_a_stationary_vector_once(place: Backend, law: str, rule: str) -> None:
    """Of 12 calls on fresh draws the last six: the first ones find out how dense the law is around the threshold."""
    memory, generator = no_memory(place), torch.Generator().manual_seed(2)
    found = [passes(place, LAWS[law](200_000, generator), 200, rule, memory) for _ in range(12)]
    assert found[6:] == [1] * 6


@pytest.mark.parametrize("rule", RANKED)
def test_warm_calls_follow_a_scale_that_drifts_by_two_percent_a_step(place: Backend, rule: str) -> None:
    memory, generator = no_memory(place), torch.Generator().manual_seed(3)
    draws = [torch.randn(200_000, generator=generator) for _ in range(24)]
    found = [passes(place, draw * 1.02**step, 200, rule, memory) for step, draw in enumerate(draws[:12])]
    found += [passes(place, draw * 1.02 ** (11 - step), 200, rule, memory) for step, draw in enumerate(draws[12:])]
    assert found[6:12] + found[18:] == [1] * 12
