"""The kernel and PyTorch are one road: the same parameters, residuals and counts in bits; and what a step measures."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product

import pytest
import torch
from torch import Tensor

from sparsync.experiments.feedbacks.ef14 import Ef14
from sparsync.experiments.feedbacks.feedback import StepLocation
from sparsync.experiments.simulate import simulate
from sparsync.experiments.training import roads
from sparsync.experiments.training.adaptive import new_selector
from sparsync.experiments.training.data import Dataset, load_dataset
from sparsync.experiments.training.loop import TrainingResult
from sparsync.experiments.training.roads import KernelChoice, Sent, Worker, captured_share
from sparsync.experiments.training.runs import RUNS, Run
from sparsync.kernels import native
from sparsync.kernels.native import KERNEL_RULES, SelectionState
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.selection import SELECTORS
from tests.support.stand_ins.forked import run_forked

CPU = torch.device("cpu")
LOCATIONS: tuple[StepLocation, ...] = ("inside", "outside")
CASES = [*product(KERNEL_RULES, LOCATIONS)]
needs_library = pytest.mark.skipif(not native.has_kernel(CPU), reason=native.backend())


def new_worker(selector: str, location: StepLocation, dimension: int, *, is_native: bool) -> Worker:
    feedback = Ef14(location)
    memory = feedback.memory(dimension, dtype=torch.float32, device="cpu")
    state = SelectionState() if is_native else None
    return Worker(0, feedback, memory, torch.Generator(), selector, new_selector(selector), state)


def share(corrected: Tensor, payload: SparsePayload) -> float:
    return captured_share(Sent(payload, payload.remainder(corrected)))


def bits(vector: Tensor) -> list[int]:
    return vector.view(torch.int32).tolist()


def observed(run: Run, data: Dataset) -> tuple[TrainingResult, list[list[int]]]:
    """A run, and the bits of all corrected gradients."""
    seen: list[list[int]] = []
    return simulate(run, data, observe=lambda _, rows: seen.extend(map(bits, rows))), seen


@needs_library
@pytest.mark.parametrize(("selector", "location"), CASES)
def test_training_through_the_kernel_has_the_bits_of_the_reference(selector: str, location: StepLocation) -> None:
    """With a density and a step size that warm up; 4 × 750 examples make an epoch of 4 steps."""
    run = Run(
        selector=selector,
        step_location=location,
        model="fnn2",
        density=0.003,
        density_warmup=(0.2, 0.02),
        step_size_warmup_epochs=2,
        batch_size=750,
        steps=12,
        evaluate_every=12,
        workers=4,
    )
    data = load_dataset("embedded", pixels="unit")
    choices: tuple[KernelChoice, ...] = ("native", "reference")
    (one, seen), (other, wanted) = (observed(replace(run, kernel=kernel), data) for kernel in choices)
    assert one.parameters_sha256 == other.parameters_sha256
    assert one.steps == other.steps
    assert len({facts.target_count for facts in one.steps}) == 3
    assert seen == wanted != []


@needs_library
@pytest.mark.parametrize(("selector", "location"), CASES)
def test_the_kernel_keeps_and_sends_the_bits_of_the_reference(selector: str, location: StepLocation) -> None:
    stream, dimension = torch.Generator().manual_seed(5), 1001
    one = new_worker(selector, location, dimension, is_native=True)
    other = new_worker(selector, location, dimension, is_native=False)
    for k in (300, 300, 20, 20, 20, 1, 1, 1001):
        gradient = torch.randn(dimension, generator=stream)
        made, wanted = (worker.send(gradient, 0.1, k) for worker in (one, other))
        assert made is not None
        assert wanted is not None
        assert made.payload.indices.tolist() == wanted.payload.indices.tolist()
        assert bits(made.payload.values) == bits(wanted.payload.values)
        assert bits(one.memory["residual"]) == bits(other.memory["residual"])
        assert bits(made.corrected()) == bits(wanted.corrected())
        assert captured_share(made) == captured_share(wanted)


@pytest.mark.parametrize("is_native", [pytest.param(True, marks=needs_library), False])
@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), 3e38])
def test_nothing_is_sent_of_what_is_not_finite(wrong: float, is_native: bool) -> None:
    """The last of them is finite, and its sum with what was kept is not."""
    worker = new_worker("top_k", "outside", 4, is_native=is_native)
    assert worker.send(torch.tensor([3e38, 1.0, 0.0, 3.2e38]), 1.0, 1) is not None
    assert worker.send(torch.tensor([wrong, 1.0, 0.0, 0.0]), 1.0, 1) is None


@needs_library
def test_the_kernel_is_asked_by_auto_and_never_by_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: object, **__: object) -> None:
        raise ArithmeticError("asked")

    monkeypatch.setattr(roads, "feedback_select", asked)
    data, run = load_dataset("embedded", pixels="unit"), replace(RUNS["fnn3_top_k"], model="fnn2", steps=1, workers=1)
    simulate(replace(run, kernel="reference"), data)
    simulate(replace(run, selector="random_k"), data)
    choices: tuple[KernelChoice, ...] = ("auto", "native")
    for kernel in choices:
        with pytest.raises(ArithmeticError, match="asked"):
            simulate(replace(run, kernel=kernel), data)


def test_a_kernel_that_the_rule_has_not_is_refused_with_the_reason() -> None:
    with pytest.raises(ValueError, match="kernel 'native': selector 'random_k' has no kernel; these have: top_k"):
        Run(selector="random_k", kernel="native")


def test_without_a_library_auto_is_the_reference_and_native_an_error_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reason = "reference: no compiler"
    monkeypatch.setattr(native, "has_kernel", lambda _: False)
    monkeypatch.setattr(native, "backend", lambda: reason)
    assert not roads.takes_kernel("auto", "top_k", Ef14(), CPU)
    with pytest.raises(ValueError, match=f"kernel 'native': there is none for cpu .{re.escape(reason)}"):
        roads.takes_kernel("native", "top_k", Ef14(), CPU)


ROUNDING = """
import torch
from sparsync.experiments.training.feedback import ErrorFeedback
stream = torch.Generator().manual_seed(0)
feedback, gradient = ErrorFeedback(1001), torch.randn(1001, generator=stream)
feedback.residual = torch.randn(1001, generator=stream)
exact = gradient.double() * torch.tensor(0.1).double()
wanted = (feedback.residual.double() + exact.float().double()).float()
assert torch.equal(feedback.correct(gradient, 0.1), wanted)
"""


@pytest.mark.parametrize("capability", ["default", "avx2", "avx512"])
def test_the_scaled_gradient_is_rounded_before_it_is_added_on_every_processor(capability: str) -> None:
    """In float64 product and sum of two float32 numbers are exact enough that each is rounded once, by `float`."""
    finished = run_forked("-c", ROUNDING, environment={"ATEN_CPU_CAPABILITY": capability})
    assert finished.returncode == 0, finished.stderr


def test_the_captured_share_is_of_squares() -> None:
    corrected = torch.tensor([3.0, -4.0])
    assert share(corrected, SELECTORS["top_k"](corrected, 1)) == 16 / 25


def test_of_nothing_everything_is_captured() -> None:
    corrected = torch.zeros(3)
    assert share(corrected, SELECTORS["gaussian_k"](corrected, 2)) == 1.0


def test_the_captured_share_of_numbers_whose_squares_are_no_float32_is_exact() -> None:
    corrected = torch.tensor([3.0, -4.0, *[2.0] * 4]) * 2.0**80
    assert share(corrected, SELECTORS["top_k"](corrected, 2)) == 25 / 41


def test_who_leaves_out_zeros_alone_captures_no_more_than_everything() -> None:
    """The sums over all entries and over those that are not zero may be rounded differently."""
    stream = torch.Generator().manual_seed(0)
    corrected = torch.zeros(300, 12)
    corrected[:, 1::2] = torch.randn(300, 6, generator=stream)
    shares = [share(row, SELECTORS["gaussian_k"](row, 12)) for row in corrected]
    assert 1 - 2.0**-50 < min(shares) <= max(shares) == 1.0
