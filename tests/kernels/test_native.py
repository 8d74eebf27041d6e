"""`feedback_select` equals its definition bit for bit on every backend, warm or cold, and refuses what it cannot serve.

Backends: the definition in PyTorch, the native op on the CPU, the CUDA sources compiled for the CPU, and CUDA itself.
"""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sparsync.kernels import feedback_reference, native, native_build
from sparsync.kernels.feedback_reference import RULES
from sparsync.kernels.magnitude import NonFiniteError
from sparsync.kernels.native import Rule, SelectionState, backend, feedback_select, feedback_select_many
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.reference import threshold as threshold_selection
from sparsync.kernels.reference import two_sided_quantile
from sparsync.kernels.selection import SELECTORS
from sparsync.verify.contraction.strategies import finite_tensors
from tests.support.hard_vectors import HARD_VECTORS
from tests.support.native_backends import BACKENDS, Backend
from tests.support.slow_cases import slow_except

ALL_RULES: tuple[Rule, ...] = ("top_k", "gaussian_k", "gaussian_k_released", "threshold", "chunked_top_k")
GRADIENT_DTYPES = (torch.float32, torch.bfloat16, torch.float16)
LEAST = 0.75
# Around one and two tiles, and enough for lists that are smaller than the vector.
LENGTHS = (1, 2, 63, 4095, 4096, 4097, 20_011)


@pytest.fixture(params=BACKENDS)
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Backend:
    """The backend that serves every call of a test."""
    chosen = BACKENDS[request.param]()
    monkeypatch.setattr(native, "_operator_for", lambda _: chosen.operator)
    return chosen


@pytest.fixture(scope="module", params=["native", "emulated", "cuda"])
def compiled(request: pytest.FixtureRequest) -> Backend:
    """A backend that is not the definition itself."""
    return BACKENDS[request.param]()


def drawn(length: int, seed: int, *, family: str = "normal") -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    vector = torch.randn(length, generator=generator)
    if family == "ties":
        return (vector * 2).round()
    if family == "sparse":
        return vector * (torch.rand(length, generator=generator) < 0.01)
    if family == "heavy":
        return vector / torch.rand(length, generator=generator).clamp(min=1e-6)
    return vector


FAMILIES = ("normal", "ties", "sparse", "heavy")


def bits(tensor: Tensor) -> Tensor:
    return tensor.cpu().contiguous().view(torch.uint8)


def same_bits(left: Tensor, right: Tensor) -> bool:
    return left.dtype == right.dtype and torch.equal(bits(left), bits(right))


def least_for(rule: Rule) -> float | None:
    return LEAST if rule == "threshold" else None


def expected_of(corrected: Tensor, k: int, rule: Rule) -> SparsePayload:
    return threshold_selection(corrected, LEAST) if rule == "threshold" else SELECTORS[rule](corrected, k)


def assert_equal_payloads(found: SparsePayload, expected: SparsePayload) -> None:
    assert found.indices.tolist() == expected.indices.tolist()
    assert same_bits(found.values, expected.values)
    assert found.dimension == expected.dimension


@pytest.mark.parametrize("dtype", GRADIENT_DTYPES, ids=str)
@pytest.mark.parametrize("name", HARD_VECTORS)
def test_it_sends_what_the_selector_sends_and_keeps_the_rest(place: Backend, name: str, dtype: torch.dtype) -> None:
    gradient = HARD_VECTORS[name](dtype).to(place.device)
    start = gradient.float().roll(1) * (0.0 if name == "huge" else 0.25)
    counts = sorted({1, max(1, gradient.numel() // 20), gradient.numel()})
    for rule, k in product(ALL_RULES, counts):
        residual = start.clone()
        corrected = residual + gradient
        payload = feedback_select(gradient, residual, k, rule=rule, threshold=least_for(rule))
        expected = expected_of(corrected, k, rule)
        assert_equal_payloads(payload, expected)
        assert same_bits(residual, expected.remainder(corrected))
        assert same_bits(payload.dense() + residual, corrected + 0.0)
        assert (payload.selected_count, payload.first_non_finite) == (expected.count, None)


@pytest.mark.parametrize("rule", ALL_RULES)
@pytest.mark.parametrize("length", slow_except({1, 4097}, LENGTHS))
@pytest.mark.parametrize("family", FAMILIES)
def test_what_a_state_remembers_never_changes_a_step(place: Backend, family: str, length: int, rule: Rule) -> None:
    """Six steps: alike ones, then a hundredfold jump up and back down; each with the state and by the selector."""
    state, residual = SelectionState(), torch.zeros(length, device=place.device)
    k = max(1, length // 100)
    for step, scale in enumerate((1.0, 1.0, 1.0, 100.0, 0.01, 0.01)):
        gradient = scale * drawn(length, step, family=family).to(place.device)
        corrected = residual + gradient
        payload = feedback_select(gradient, residual, k, rule=rule, state=state, threshold=least_for(rule))
        expected = expected_of(corrected, k, rule)
        assert_equal_payloads(payload, expected)
        assert same_bits(residual, expected.remainder(corrected))


def results_of(
    operator: Any, gradients: list[Tensor], residuals: list[Tensor], arguments: tuple[Any, ...], memory: Tensor
) -> tuple[list[Tensor], Tensor]:
    """Outputs and changed residuals as one list of tensors, and the passes that the report counts."""
    changed = [residual.clone() for residual in residuals]
    values, indices, report = operator(gradients, changed, *arguments, memory)
    return [values, indices, report[:, :3], *changed], report[:, 3]


@st.composite
def calls(draw: st.DrawFn) -> tuple[list[Tensor], list[Tensor], tuple[Any, ...], Tensor]:
    """Arguments of the op: up to three small tensors, any capacity, any memory, now and then something not finite."""
    dtype = draw(st.sampled_from(GRADIENT_DTYPES))
    gradients = draw(st.lists(finite_tensors(dtype, max_size=24), min_size=1, max_size=3))
    residuals = [draw(finite_tensors(torch.float32, min_size=len(g), max_size=len(g))) for g in gradients]
    for tensor in (*gradients, *residuals):
        if draw(st.integers(0, 9)) == 0:
            tensor[draw(st.integers(0, tensor.numel() - 1))] = draw(st.sampled_from([math.nan, math.inf, -math.inf]))
    rule = draw(st.integers(0, 4))
    # Chunks of several tensors together the op refuses, unless they end with the tensors.
    is_single = RULES[rule] == "chunked_top_k" or draw(st.booleans())
    lengths = [g.numel() for g in gradients] if is_single else [sum(g.numel() for g in gradients)]
    counts = [draw(st.integers(1, length)) for length in lengths]
    capacities = [draw(st.integers(0, length)) for length in lengths]
    parameters = [draw(st.floats(0.0, 4.0, width=32)) for _ in lengths]
    words = st.integers(-(2**31), 2**31 - 1)
    memory = torch.tensor([[draw(words), draw(words)] for _ in lengths], dtype=torch.int32)
    return gradients, residuals, (counts, rule, parameters, capacities), memory


@given(call=calls())
def test_the_op_is_its_definition_whatever_it_is_given(
    compiled: Backend, call: tuple[list[Tensor], list[Tensor], tuple[Any, ...], Tensor]
) -> None:
    gradients, residuals, arguments, memory = call
    expected, _ = results_of(feedback_reference.feedback_select_, gradients, residuals, arguments, memory)
    there, kept = ([tensor.to(compiled.device) for tensor in tensors] for tensors in (gradients, residuals))
    found, passes = results_of(compiled.operator, there, kept, arguments, memory.to(compiled.device))
    for tensor, wanted in zip(found, expected, strict=True):
        assert same_bits(tensor.nan_to_num(7.0), wanted.nan_to_num(7.0))
    assert bool(((passes >= 1) & (passes <= 4)).all())


@pytest.mark.parametrize("rule", range(5))
def test_the_op_is_what_its_schema_says(compiled: Backend, rule: int) -> None:
    gradients = [drawn(1000, 1).to(compiled.device), drawn(30, 2).to(compiled.device)]
    residuals = [torch.zeros_like(gradient) for gradient in gradients]
    memory = torch.zeros(2, 2, dtype=torch.int32, device=compiled.device)
    arguments = (gradients, residuals, [10, 3], rule, [1.0, 1.0], [13, 30], memory)
    torch.library.opcheck(compiled.operator, arguments)


@settings(max_examples=25)
@given(data=st.data())
def test_any_memory_gives_the_same_selection_of_a_long_vector(compiled: Backend, data: st.DataObject) -> None:
    """Bounds near the deciding magnitude are the ones that could go wrong: lists just too short or just too long."""
    rule, family = data.draw(st.integers(0, 1)), data.draw(st.sampled_from(FAMILIES))
    gradient, residual = drawn(5000, data.draw(st.integers(0, 9)), family=family), torch.zeros(5000)
    k = data.draw(st.sampled_from([1, 5, 50, 2500, 5000]))
    near = int(gradient.abs().topk(k).values[-1].view(torch.int32))
    bound = data.draw(st.one_of(st.integers(near - 2**18, near + 2**18), st.integers(-(2**31), 2**31 - 1)))
    margin = data.draw(st.integers(-(2**31), 2**31 - 1))
    memory = torch.tensor([[max(bound, -(2**31)), margin]], dtype=torch.int32)
    arguments = ([k], rule, [0.0], [5000])
    expected, _ = results_of(feedback_reference.feedback_select_, [gradient], [residual], arguments, memory)
    there = [gradient.to(compiled.device)], [residual.to(compiled.device)]
    found, _ = results_of(compiled.operator, *there, arguments, memory.to(compiled.device))
    assert all(same_bits(tensor, wanted) for tensor, wanted in zip(found, expected, strict=True))


@pytest.mark.parametrize("rule", ALL_RULES)
def test_many_tensors_at_once_are_many_calls(place: Backend, rule: Rule) -> None:
    lengths, ks = (5000, 1, 300, 4096), [50, 1, 300, 7]
    gradients = [drawn(length, length).to(place.device) for length in lengths]
    together, alone = ([torch.zeros_like(g) for g in gradients] for _ in range(2))
    state = SelectionState()
    for _ in range(3):
        found = feedback_select_many(gradients, together, ks, rule=rule, state=state, thresholds=least_for(rule))
        for payload, gradient, residual, k in zip(found, gradients, alone, ks, strict=True):
            one = feedback_select(gradient, residual, k, rule=rule, threshold=least_for(rule))
            assert_equal_payloads(payload, one)
    assert all(same_bits(left, right) for left, right in zip(together, alone, strict=True))


@pytest.mark.parametrize("rule", ["top_k", "gaussian_k", "threshold"])
def test_one_count_selects_from_all_tensors_as_from_one(place: Backend, rule: Rule) -> None:
    gradients = [drawn(length, length).to(place.device) for length in (5000, 1, 300, 4096)]
    together, whole = [torch.zeros_like(g) for g in gradients], torch.zeros(9397, device=place.device)
    state = SelectionState()
    for _ in range(3):
        found = feedback_select_many(gradients, together, 90, rule=rule, state=state, thresholds=least_for(rule))
        one = feedback_select(torch.cat(gradients), whole, 90, rule=rule, threshold=least_for(rule))
        assert_equal_payloads(found, one)
    assert same_bits(torch.cat(together), whole)


def test_the_released_rule_takes_its_moments_piece_by_piece(place: Backend) -> None:
    gradients = [drawn(length, length).to(place.device) for length in (5000, 3, 4097)]
    residuals, wanted = ([torch.zeros_like(g) for g in gradients] for _ in range(2))
    found = feedback_select_many(gradients, residuals, 91, rule="gaussian_k_released")
    quantile = two_sided_quantile(91, 9100)
    memory = torch.zeros(1, 2, dtype=torch.int32)
    values, indices, report = feedback_reference.feedback_select_(
        gradients, wanted, [91], RULES.index("gaussian_k_released"), [quantile], [9100], memory
    )
    count = int(report[0, 0])
    assert_equal_payloads(found, SparsePayload(values[:count], indices[:count], 9100))
    assert all(same_bits(left, right) for left, right in zip(residuals, wanted, strict=True))


@pytest.mark.parametrize("rule", ALL_RULES)
@pytest.mark.parametrize("capacity", [1, 3, 10_000])
def test_beyond_the_capacity_the_lowest_indices_are_sent_and_the_rest_is_kept(
    place: Backend, rule: Rule, capacity: int
) -> None:
    gradient = drawn(5000, 1).to(place.device)
    residual = torch.zeros_like(gradient)
    expected = expected_of(gradient, 50, rule)
    payload = feedback_select(gradient, residual, 50, rule=rule, threshold=least_for(rule), capacity=capacity)
    assert [payload.count, int(payload.padded()[2])] == [min(capacity, expected.count)] * 2
    assert payload.selected_count == expected.count
    assert payload.indices.tolist() == expected.indices[:capacity].tolist()
    assert same_bits(residual, payload.remainder(gradient))


def test_each_selection_may_have_its_own_threshold_and_capacity(place: Backend) -> None:
    gradients = [torch.tensor([1.0, 2.0, 3.0], device=place.device) for _ in range(3)]
    residuals = [torch.zeros_like(g) for g in gradients]
    found = feedback_select_many(
        gradients, residuals, [1, 1, 1], rule="threshold", thresholds=[0.0, 2.0, 2.5], capacity=[2, 1, 3]
    )
    assert [payload.indices.tolist() for payload in found] == [[0, 1], [1], [2]]
    assert [payload.selected_count for payload in found] == [3, 2, 1]


def test_buffers_of_the_full_length_are_freed_when_the_payload_is_read(place: Backend) -> None:
    gradient = drawn(5000, 2).to(place.device)
    payload = feedback_select(gradient, torch.zeros_like(gradient), 5, rule="threshold", threshold=3.0)
    assert payload.padded()[0].numel() == 5000
    assert payload.values.untyped_storage().nbytes() == 4 * payload.count


def test_a_whole_vector_is_sent_when_k_is_d(place: Backend) -> None:
    gradient = drawn(100, 3).to(place.device)
    for rule in ("top_k", "gaussian_k"):
        residual = torch.zeros_like(gradient)
        payload = feedback_select(gradient, residual, 100, rule=rule)
        assert (payload.count, int(residual.count_nonzero())) == (100, 0)


@pytest.mark.parametrize(("bad", "text"), [(math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf")])
def test_a_sum_that_is_not_finite_is_refused_after_a_consistent_update(bad: float, text: str) -> None:
    gradient = torch.tensor([1.0, 2.0, bad, -0.0, bad])
    residual = torch.tensor([1.0, 0.5, 7.0, -0.0, 8.0])
    for rule in ALL_RULES:
        kept = residual.clone()
        with pytest.raises(ValueError, match=rf"entry 2 of tensor 0 .* = {text} \+ 7\.0"):
            feedback_select(gradient, kept, 2, rule=rule, threshold=least_for(rule))
        assert same_bits(kept, torch.tensor([2.0, 2.5, 7.0, -0.0, 8.0]))


@pytest.mark.parametrize("ks", [[1, 2, 1], 3])
def test_the_first_tensor_that_is_not_finite_is_named_and_nothing_is_selected(
    place: Backend, ks: list[int] | int
) -> None:
    gradients = [torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0, math.nan]), torch.tensor([math.inf])]
    residuals = [torch.tensor([1.0, 1.0]), torch.tensor([1.0, 1.0, 1.0]), torch.tensor([5.0])]
    if place.device == "cuda":
        pytest.skip("a GPU does not stop")
    with pytest.raises(NonFiniteError, match=r"entry 2 of tensor 1 is not finite: gradient \+ residual = nan \+ 1\.0"):
        feedback_select_many(gradients, residuals, ks, rule="top_k")
    assert [residual.tolist() for residual in residuals] == [[2.0, 3.0], [4.0, 5.0, 1.0], [5.0]]


def test_on_a_gpu_a_sum_that_is_not_finite_stops_nothing(place: Backend) -> None:
    if place.device != "cuda":
        pytest.skip("a CPU refuses")
    gradient, residual = torch.tensor([1.0, math.nan, 3.0]).cuda(), torch.ones(3).cuda()
    payload = feedback_select(gradient, residual, 1, rule="top_k")
    assert (payload.first_non_finite, payload.indices.tolist(), residual.tolist()) == (1, [2], [2.0, 1.0, 0.0])


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_other_residuals_take_the_definition_in_pytorch(dtype: torch.dtype) -> None:
    gradient, residual = drawn(2000, 4).to(dtype), drawn(2000, 5).to(dtype)
    corrected = residual + gradient
    for rule in ALL_RULES:
        kept = residual.clone()
        payload = feedback_select(gradient, kept, 20, rule=rule, threshold=least_for(rule))
        expected = expected_of(corrected, 20, rule)
        assert_equal_payloads(payload, expected)
        assert same_bits(kept, expected.remainder(corrected))
        assert payload.streaming_pass_count is None


def test_autograd_notices_that_a_residual_it_needs_was_changed(place: Backend) -> None:
    residual, weights = (
        torch.zeros(1000, device=place.device),
        torch.ones(1000, device=place.device, requires_grad=True),
    )
    product = weights @ residual
    feedback_select(drawn(1000, 1).to(place.device), residual, 10)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_the_gradient_is_not_changed(place: Backend) -> None:
    gradient = drawn(300, 6).to(place.device)
    before = gradient.clone()
    feedback_select(gradient, torch.zeros_like(gradient), 30)
    assert same_bits(gradient, before)


def test_a_warm_step_reads_a_long_vector_once_or_twice(compiled: Backend) -> None:
    """The fifth step of a slowly changing vector, with a list of candidates from the fourth."""
    memory = torch.zeros(1, 2, dtype=torch.int32, device=compiled.device)
    direction, residual = drawn(200_000, 7).to(compiled.device), torch.zeros(200_000, device=compiled.device)
    passes = []
    for _ in range(5):
        residual.zero_()
        report = compiled.operator([direction], [residual], [200], 1, [0.0], [266], memory)[2]
        passes.append(int(report[0, 3]))
    assert passes[-1] == 1


SHORT, LONG = drawn(9001, 9), drawn(2**18 + 1, 9)
BOTH = [drawn(70_000, 9), drawn(66_000, 9, family="ties")]
PLACE, FEW = torch.arange(LONG.numel()), SHORT[:100] * (torch.arange(100) % 9 == 1)
TIES = torch.where(PLACE > 2**18 - 5000, 2.0, 1.0) * (PLACE % 1024 == 1)
# Gradients, targets, rule, parameter and remembered bound in one, and how often the CPU reads each selection's entries.
ROADS: dict[str, tuple[list[Tensor], list[int], Rule, float, list[int]]] = {
    "room for everything": ([SHORT[:70], SHORT[:2500] * (PLACE[:2500] % 2)], [50, 2000], "top_k", 0.0, [1, 2]),
    "a bound of the whole": ([SHORT, SHORT[:78]], [90, 9], "top_k", 0.0, [3, 3]),
    "remembered in vain": ([SHORT], [90], "gaussian_k", 3.15, [3]),
    "counted": ([SHORT], [4500], "gaussian_k", 0.0, [3]),
    "counted on two threads": (BOTH, [30_000], "top_k", 0.0, [4]),
    "counted one by one": (BOTH, [30_000, 35_000], "gaussian_k", 0.0, [4, 4]),
    "sampled one by one": ([LONG, 9 * LONG], [300, 300], "top_k", 0.0, [1, 1]),
    "sampled again": ([LONG], [300], "gaussian_k", 4.5, [2]),
    "sampled in vain": ([1 + 2**-23 * (PLACE == 2**18)], [300], "top_k", 0.0, [4]),
    "remembered and sampled in vain": ([LONG * 0 + 1], [300], "top_k", 0.5, [5]),
    "ties before what is larger": ([TIES], [99], "top_k", 1.0, [1]),
    "behind a list that is kept": ([FEW, SHORT], [50, 90], "top_k", 4.5, [2, 3]),
    "moments": ([SHORT, *[SHORT[:31]] * 3], [90, 1, 3, 6], "gaussian_k_released", 1.5, [3, 3, 3, 3]),
    "a threshold": ([SHORT], [90], "threshold", 2.4, [1]),
    "no threshold": ([SHORT], [90], "threshold", 0.0, [2]),
    "chunks": ([SHORT, SHORT[:78]], [90, 9], "chunked_top_k", 0.0, [1, 1]),
}


@pytest.mark.parametrize("name", ROADS)
def test_every_road_to_a_selection_is_as_defined_and_counts_its_passes(name: str) -> None:
    """Every seventh residual is not finite, so that no road ranks, counts or sends those."""
    gradients, counts, rule, number, passes = ROADS[name]
    residuals = [torch.where(torch.arange(g.numel()) % 7 == 0, math.inf, 0.25 * g) for g in gradients]
    lengths = [g.numel() for g in gradients] if len(counts) > 1 else [sum(g.numel() for g in gradients)]
    arguments = (counts, RULES.index(rule), [number] * len(counts), lengths)
    memory = torch.tensor([[number, 0.0]] * len(counts)).view(torch.int32)
    expected, _ = results_of(feedback_reference.feedback_select_, gradients, residuals, arguments, memory)
    found, counted = results_of(BACKENDS["native"]().operator, gradients, residuals, arguments, memory)
    assert all(same_bits(one, two) for one, two in zip(found, expected, strict=True))
    assert counted.tolist() == passes


def test_the_backend_says_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = native_build.Library(None, (), "no C++ compiler: g++ is not on the PATH")
    monkeypatch.setattr(native_build, "library", lambda: missing)
    assert backend() == "reference: no C++ compiler: g++ is not on the PATH"
    both = native_build.Library(Path("a.so"), ("cpu", "cuda"), "")
    monkeypatch.setattr(native_build, "library", lambda: both)
    assert backend() == "native (CPU, CUDA)"
    half = native_build.Library(Path("a.so"), ("cpu",), "no CUDA: nvcc failed")
    monkeypatch.setattr(native_build, "library", lambda: half)
    assert backend() == "native (CPU); no CUDA: nvcc failed"
