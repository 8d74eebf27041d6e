"""The kernel and PyTorch are one road: the same parameters, residuals and counts in bits; and what a step measures."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from typing import get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sparsync.experiments.averaging.coded import value_code
from sparsync.experiments.feedbacks.decayed import Decayed
from sparsync.experiments.feedbacks.dgc import Dgc
from sparsync.experiments.feedbacks.ef14 import Ef14
from sparsync.experiments.feedbacks.feedback import Feedback, StepLocation
from sparsync.experiments.feedbacks.registry import FEEDBACKS
from sparsync.experiments.feedbacks.rmsprop import RmsProp
from sparsync.experiments.simulate import simulate
from sparsync.experiments.training import roads
from sparsync.experiments.training.adaptive import new_selector
from sparsync.experiments.training.data import Dataset, load_dataset
from sparsync.experiments.training.loop import TrainingResult
from sparsync.experiments.training.roads import KernelChoice, Sent, Worker, captured_share
from sparsync.experiments.training.runs import RUNS, Run
from sparsync.kernels import native
from sparsync.kernels.codec import Values
from sparsync.kernels.native import KERNEL_RULES, SelectionState
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.selection import SELECTORS
from tests.support.stand_ins.forked import run_forked

CPU = torch.device("cpu")
LOCATIONS: tuple[StepLocation, ...] = ("inside", "outside")
CASES = [*product(KERNEL_RULES, LOCATIONS)]
OTHERS: tuple[Feedback, ...] = (
    *(Decayed(0.9, location) for location in LOCATIONS),
    *(Dgc(), Dgc(0.7, masking=False), RmsProp()),
)
FUSED = (*map(Ef14, LOCATIONS), *OTHERS)
"""Of each variant that the kernel does, one where the step size stands inside and outside, or masks and does not."""
needs_library = pytest.mark.skipif(not native.has_kernel(CPU), reason=native.backend())


def new_worker(selector: str, feedback: Feedback, dimension: int, *, is_native: bool) -> Worker:
    memory = feedback.memory(dimension, dtype=torch.float32, device="cpu")
    state = SelectionState() if is_native else None
    return Worker(0, feedback, memory, torch.Generator(), selector, new_selector(selector), state)


def share(corrected: Tensor, payload: SparsePayload) -> float:
    return captured_share(Sent(payload, payload.remainder(corrected)))


def bits(vector: Tensor) -> list[int]:
    return vector.view(torch.int32).tolist()


def memory_bits(worker: Worker) -> dict[str, list[int]]:
    return {name: bits(vector) for name, vector in worker.memory.items()}


def assert_alike(made: Sent, wanted: Sent) -> None:
    assert made.payload.indices.tolist() == wanted.payload.indices.tolist()
    assert bits(made.payload.values) == bits(wanted.payload.values)
    assert bits(made.corrected()) == bits(wanted.corrected())


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
@pytest.mark.parametrize("feedback", ["decayed", "dgc", "rmsprop"])
def test_training_with_another_variant_through_the_kernel_has_the_bits_of_the_reference(feedback: str) -> None:
    run = Run(
        selector="top_k",
        feedback=feedback,
        step_location="outside",
        model="fnn2",
        density=0.02,
        steps=5,
        evaluate_every=5,
        workers=2,
        kernel="native",
    )
    data = load_dataset("embedded", pixels="unit")
    one, other = (observed(made, data) for made in (run, replace(run, kernel="reference")))
    assert one[0].parameters_sha256 == other[0].parameters_sha256
    assert one[0].steps == other[0].steps
    assert one[1] == other[1] != []


@needs_library
@pytest.mark.parametrize(
    ("selector", "feedback", "values"),
    [*product(KERNEL_RULES, FUSED, ["exact"]), *product(["top_k"], FUSED, get_args(Values)[1:])],
)
def test_the_kernel_keeps_and_sends_the_bits_of_the_reference(
    selector: str, feedback: Feedback, values: Values
) -> None:
    stream, dimension = torch.Generator().manual_seed(5), 1001
    one, other = (
        replace(new_worker(selector, feedback, dimension, is_native=is_native), values=values)
        for is_native in (True, False)
    )
    for k in (300, 300, 20, 20, 20, 1, 1, 1001):
        gradient = torch.randn(dimension, generator=stream)
        made, wanted = (worker.send(gradient, 0.1, k) for worker in (one, other))
        assert made is not None
        assert wanted is not None
        assert_alike(made, wanted)
        assert memory_bits(one) == memory_bits(other)
        assert captured_share(made) == captured_share(wanted)
        assert value_code(made.payload) == values


@pytest.mark.parametrize("feedback", FEEDBACKS)
@pytest.mark.parametrize("values", get_args(Values))
def test_what_a_code_loses_is_kept_and_measured(values: Values, feedback: str) -> None:
    """Sent and kept are the corrected gradient, but for one rounding of what int2 makes larger."""
    worker = replace(new_worker("top_k", FEEDBACKS[feedback](), 300, is_native=False), values=values)
    exact = new_worker("top_k", FEEDBACKS[feedback](), 300, is_native=False)
    gradient = torch.randn(300, generator=torch.Generator().manual_seed(7))
    made, wanted = (each.send(gradient, 0.1, 30) for each in (worker, exact))
    assert made is not None
    assert wanted is not None
    whole, sent = wanted.corrected(), made.payload.dense()
    assert made.payload.indices.tolist() == wanted.payload.indices.tolist()
    assert torch.allclose(sent + made.rest, whole, rtol=2.0**-22, atol=0)
    if values != "int2":
        assert bits(made.corrected()) == bits(whole)
    lost = float((whole - sent).double().square().sum() / whole.double().square().sum())
    assert captured_share(made) == pytest.approx(1 - lost, abs=1e-6)
    # A first step of rmsprop sends ones, of which no code loses anything.
    loses = values not in ("exact", "fp32") and feedback != "rmsprop"
    assert (captured_share(made) == pytest.approx(captured_share(wanted), abs=1e-12)) != loses


def test_a_value_that_no_code_can_hold_ends_the_run_as_one_that_is_not_finite() -> None:
    """As many float64 are, in codes that are of float32."""
    memory = Ef14("outside").memory(3, dtype=torch.float64, device="cpu")
    worker = Worker(
        0, Ef14("outside"), memory, torch.Generator(), "top_k", new_selector("top_k"), SelectionState(), "int8"
    )
    gradient = torch.tensor([1e300, 0.0, 1.0], dtype=torch.float64)
    for each in (worker, replace(worker, state=None)):
        assert each.send(gradient, 1.0, 1) is None


def test_every_variant_that_has_a_kernel_is_compared_with_its_definition() -> None:
    assert {type(feedback) for feedback in FUSED} == {made for made in FEEDBACKS.values() if made().fusion is not None}


HYPERPARAMETERS = st.sampled_from((0.0, 0.3, 0.95)) | st.floats(0, 1, exclude_max=True)
VARIANTS = st.builds(Decayed, HYPERPARAMETERS, st.sampled_from(LOCATIONS)) | st.builds(
    Dgc, HYPERPARAMETERS, st.booleans()
)
# Sums of four are finite, and zeros, both, and ties are frequent.
ENTRIES = st.floats(-(2.0**100), 2.0**100, width=32) | st.sampled_from((0.0, -0.0, 1.0, -1.0, 2.0**-149))


@needs_library
@settings(max_examples=100)
@given(data=st.data(), feedback=VARIANTS, selector=st.sampled_from(KERNEL_RULES), dimension=st.integers(1, 9))
def test_the_kernel_has_the_bits_of_any_variant_of_any_gradients(
    data: st.DataObject, feedback: Feedback, selector: str, dimension: int
) -> None:
    one, other = (new_worker(selector, feedback, dimension, is_native=is_native) for is_native in (True, False))
    for _ in range(4):
        gradient = torch.tensor(data.draw(st.lists(ENTRIES, min_size=dimension, max_size=dimension)))
        k = data.draw(st.integers(1, dimension))
        made, wanted = (worker.send(gradient, 0.1, k) for worker in (one, other))
        assert made is not None
        assert wanted is not None
        assert_alike(made, wanted)
        assert memory_bits(one) == memory_bits(other)


@needs_library
@pytest.mark.parametrize("selector", KERNEL_RULES)
@pytest.mark.parametrize(
    ("feedback", "plain"),
    [
        (Decayed(1.0, "inside"), Ef14("inside")),
        (Decayed(1.0, "outside"), Ef14("outside")),
        (Dgc(0.0), Ef14("outside")),
        (Dgc(0.0, masking=False), Ef14("outside")),
    ],
)
def test_through_the_kernel_a_special_case_has_the_bits_of_ef14(
    feedback: Feedback, plain: Feedback, selector: str
) -> None:
    stream, dimension = torch.Generator().manual_seed(6), 200
    one, other = (new_worker(selector, variant, dimension, is_native=True) for variant in (feedback, plain))
    for _ in range(4):
        gradient = torch.randn(dimension, generator=stream)
        made, wanted = (worker.send(gradient, 0.1, 20) for worker in (one, other))
        assert made is not None
        assert wanted is not None
        assert_alike(made, wanted)
        assert memory_bits(one)["residual"] == memory_bits(other)["residual"]


@needs_library
@pytest.mark.parametrize("feedback", [feedback for feedback in OTHERS if not feedback.is_update])
def test_a_sum_that_is_not_finite_leaves_memories_as_they_were(feedback: Feedback) -> None:
    """All entries but one could have been added, and the gradient is finite."""
    worker = new_worker("top_k", feedback, 4, is_native=True)
    assert worker.send(torch.tensor([1.0, 1.0, 3e38, 3.2e38]), 1.0, 1) is not None
    before = memory_bits(worker)
    assert worker.send(torch.tensor([1.0, 2.0, 3e38, 3.0]), 1.0, 1) is None
    assert memory_bits(worker) == before


@needs_library
@pytest.mark.parametrize("feedback", FUSED)
@pytest.mark.parametrize(
    ("gradient", "step_size", "k", "message"),
    [
        (torch.ones(4), 0.1, 5, "got 5"),
        (torch.ones(3), 0.1, 1, r"shape \(4,\), got \(3,\)"),
        (torch.ones(4), 0.0, 1, "step_size must be positive and finite, got 0.0"),
        (torch.ones(4, dtype=torch.float64), 0.1, 1, "cannot take a gradient of torch.float64"),
    ],
)
def test_what_is_refused_leaves_memories_as_they_were(
    feedback: Feedback, gradient: Tensor, step_size: float, k: int, message: str
) -> None:
    worker = new_worker("top_k", feedback, 4, is_native=True)
    assert worker.send(torch.tensor([1.0, 2.0, 3.0, 4.0]), 0.1, 1) is not None
    before = memory_bits(worker)
    with pytest.raises(ValueError, match=message):
        worker.send(gradient, step_size, k)
    assert memory_bits(worker) == before


@pytest.mark.parametrize("is_native", [pytest.param(True, marks=needs_library), False])
@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), 3e38])
def test_nothing_is_sent_of_what_is_not_finite(wrong: float, is_native: bool) -> None:
    """The last of them is finite, and its sum with what was kept is not."""
    worker = new_worker("top_k", Ef14("outside"), 4, is_native=is_native)
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
