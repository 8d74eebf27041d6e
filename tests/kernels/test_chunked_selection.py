"""`feedback_select` by chunks: the definition's bits from every backend, joint selections too, in one pass."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sparsync.kernels import native
from sparsync.kernels.chunks import CHUNK_SIZE, chunked_top_k
from sparsync.kernels.feedback_reference import RULES, feedback_select_
from sparsync.kernels.native import SelectionState, feedback_select, feedback_select_many
from tests.support.every_case import CASES, expected
from tests.support.feedback_cases import (
    SOURCES,
    Case,
    Emulated,
    Fault,
    compile_emulated,
    cut_at_chunks,
    faulty_sources,
    normal,
    outcome,
    same,
)
from tests.support.native_backends import BACKENDS, Backend

RULE = RULES.index("chunked_top_k")
LENGTHS = (1, 5, CHUNK_SIZE - 1, CHUNK_SIZE, CHUNK_SIZE + 1, 9000, 3 * CHUNK_SIZE)
# Faults of the sources for GPUs that show in these calls.
FAULTS: dict[str, tuple[Fault, str]] = {
    "what is not finite counts": (
        ("cuda/chunks.cuh", "kTileSize - scratch.unusable_count", "kTileSize"),
        "chunked_top_k: more to send than is finite",
    ),
    "every tie is sent": (
        ("cuda/chunks.cuh", " && place < cut.tie_count", ""),
        "chunked_top_k: ties at the cut",
    ),
    "zeros share the smallest first digit": (
        ("cuda/chunks.cuh", "edge == 0 ? 1u : edge", "edge"),
        "chunked_top_k: as many subnormal numbers as are sent",
    ),
    "the first digit settles every cut": (
        ("cuda/chunks.cuh", "statistic.above + statistic.inside == rank", "true"),
        "chunked_top_k: normal, d = 70001",
    ),
    "the floor is the largest of all": (
        ("cuda/chunks.cuh", "before == share - 1", "before == 0"),
        "chunked_top_k: 20 of normal",
    ),
    "what has no room is left out": (
        ("cuda/chunks.cuh", "scratch.ranked_count <= kMostRanked", "true"),
        "chunked_top_k: 65 to be ranked",
    ),
    "every ranked tie is sent": (
        ("cuda/chunks.cuh", "above + alike == share;", "true;"),
        "chunked_top_k: 64 ties to be ranked",
    ),
    "the edge itself is not sent": (
        ("cuda/chunks.cuh", "TileCut{mine, Emitter::kNoTie, 0}", "TileCut{mine + 1, Emitter::kNoTie, 0}"),
        "chunked_top_k: 64 to be ranked",
    ),
}


@pytest.fixture(scope="module", params=["native", "emulated", "cuda"])
def compiled(request: pytest.FixtureRequest) -> Backend:
    return BACKENDS[request.param]()


def drawn(family: str, length: int, seed: int) -> Tensor:
    """Not alike in all chunks, or not even in scale, or with more ties than are sent."""
    vector, chunks = normal(length, seed), torch.arange(length) // CHUNK_SIZE
    return {
        "normal": vector,
        "ties": (2 * vector).round(),
        "sparse": vector * (vector.roll(1) > 2.4),
        "one chunk": vector * (chunks == 1),
        "scales": vector * 10.0 ** (chunks * 7 % 5 - 2),
    }[family]


FAMILIES = st.sampled_from(("normal", "ties", "sparse", "one chunk", "scales"))


@st.composite
def calls(draw: st.DrawFn) -> Case:
    """One to three tensors, each selected from by itself, or all together and cut where chunks end."""
    lengths = draw(st.lists(st.sampled_from(LENGTHS), min_size=1, max_size=3))
    dtype = draw(st.sampled_from((torch.float32, torch.bfloat16, torch.float16)))
    seeds = st.integers(0, 2**31)
    gradients = tuple(drawn(draw(FAMILIES), length, draw(seeds)).to(dtype) for length in lengths)
    residuals = tuple(0.25 * drawn(draw(FAMILIES), length, draw(seeds)) for length in lengths)
    for tensor in (*gradients, *residuals):
        tensor[: draw(st.sampled_from((0, 0, 0, 1, 4000)))] = draw(st.sampled_from((math.nan, math.inf, -math.inf)))
    if draw(st.booleans()):
        gradients, residuals, lengths = cut_at_chunks(gradients), cut_at_chunks(residuals), [sum(lengths)]
    shares = st.sampled_from((1e-4, 3e-4, 0.001, 0.01, 0.3, 0.9, 1.0))
    counts = [max(1, round(draw(shares) * length)) for length in lengths]
    capacities = [draw(st.sampled_from((k, k, k // 2, 0, length))) for k, length in zip(counts, lengths, strict=True)]
    words = torch.randint(-(2**31), 2**31, (len(counts), 2), dtype=torch.int32)
    return Case(gradients, residuals, tuple(counts), RULE, (0.0,) * len(counts), tuple(capacities), words)


@settings(max_examples=30, deadline=None)
@given(case=calls())
def test_the_op_is_its_definition_of_any_chunks(compiled: Backend, case: Case) -> None:
    assert same(outcome(compiled.operator, case, compiled.device), outcome(feedback_select_, case))


def test_every_chunk_is_a_tile_of_the_kernels() -> None:
    assert re.findall(r"kTileSize = (\d+);", (SOURCES / "core.h").read_text()) == [str(CHUNK_SIZE)]


def test_it_reads_the_vector_once_and_remembers_nothing(compiled: Backend) -> None:
    memory = torch.tensor([[7, -9]], dtype=torch.int32, device=compiled.device)
    gradient = normal(100_000, 1).to(compiled.device)
    residual = torch.zeros_like(gradient)
    report = compiled.operator([gradient], [residual], [1000], RULE, [0.0], [1000], memory)[2]
    assert (report.tolist(), memory.tolist()) == ([[1000, 1000, -1, 1]], [[7, -9]])


@pytest.mark.parametrize(
    ("lengths", "is_served"),
    [([8192, 0, 4096, 30], True), ([8192, 4097], True), ([5000, 0], True), ([4096, 30, 4096], False), ([1, 5], False)],
)
def test_tensors_together_are_cut_into_the_chunks_of_all(
    compiled: Backend, lengths: list[int], is_served: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the op where each begins with a chunk, else by the definition; the op itself refuses others."""
    asked = []

    def operator(*arguments: object) -> object:
        asked.append(arguments)
        return compiled.operator(*arguments)

    monkeypatch.setattr(native, "_operator_for", lambda _: operator)
    gradients = [normal(length, length).to(compiled.device) for length in lengths]
    residuals, state = [torch.zeros_like(gradient) for gradient in gradients], SelectionState()
    whole, k = torch.cat(gradients), max(1, sum(lengths) // 100)
    payload = feedback_select_many(gradients, residuals, k, rule="chunked_top_k", state=state)
    wanted = chunked_top_k(whole, k)
    assert payload.indices.tolist() == wanted.indices.tolist()
    assert torch.equal(payload.values, wanted.values)
    assert torch.equal(torch.cat(residuals), wanted.remainder(whole))
    assert len(asked) == int(is_served)


def test_the_op_refuses_chunks_that_begin_within_a_tile(compiled: Backend) -> None:
    tensors = [torch.ones(length, device=compiled.device) for length in (4096, 30, 0, 5, 4096)]
    residuals, memory = [torch.zeros_like(one) for one in tensors], torch.zeros(1, 2, dtype=torch.int32)
    with pytest.raises(
        RuntimeError, match="tensor 3 begins at entry 4126 of its selection, chunks at multiples of 4096"
    ):
        compiled.operator(tensors, residuals, [9], RULE, [0.0], [9], memory.to(compiled.device))
    assert not any(residual.any() for residual in residuals)


@pytest.mark.parametrize("is_together", [False, True])
def test_a_wrong_tensor_is_named_whoever_serves_the_call(is_together: bool) -> None:
    gradients, residuals = [torch.ones(30), torch.ones(9)], [torch.zeros(30), torch.zeros(8)]
    with pytest.raises(ValueError, match=r"gradient and residual 1 must be vectors of one length, got shapes \(9,\)"):
        feedback_select_many(gradients, residuals, 3 if is_together else [3, 3], rule="chunked_top_k")


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_residuals_without_a_kernel_take_the_definition(dtype: torch.dtype) -> None:
    gradient = normal(9000, 1).to(dtype)
    residual, wanted = torch.zeros_like(gradient), chunked_top_k(gradient, 90)
    payload = feedback_select(gradient, residual, 90, rule="chunked_top_k")
    assert payload.indices.tolist() == wanted.indices.tolist()
    assert torch.equal(residual, wanted.remainder(gradient))


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_kernel_shows(fault: str, tmp_path: Path) -> None:
    text, name = FAULTS[fault]
    sources = faulty_sources(tmp_path / "sources", [text])
    faulty = Emulated(compile_emulated(tmp_path / "faulty.so", flags=["-O1"], sources=sources))
    assert not same(outcome(faulty.select, CASES[name]), expected(name))
