"""Nothing is lost: corrected = sent + kept, bit for bit, after every step of every selector."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
import torch

from sparsync.experiments.feedbacks.feedback import StepLocation
from sparsync.experiments.training.adaptive import ADAPTIVE_SELECTORS, new_selector
from sparsync.experiments.training.feedback import ErrorFeedback
from sparsync.kernels.selection import SELECTORS

DIMENSION = 300


def gradients(count: int) -> list[torch.Tensor]:
    stream = torch.Generator().manual_seed(7)
    return [torch.randn(DIMENSION, generator=stream) for _ in range(count)]


@pytest.mark.parametrize("name", [*SELECTORS, *ADAPTIVE_SELECTORS])
def test_sent_plus_kept_is_corrected_at_every_step(name: str) -> None:
    feedback, select = ErrorFeedback(DIMENSION), new_selector(name)
    stream = torch.Generator().manual_seed(1)
    for gradient in gradients(20):
        corrected = feedback.correct(gradient, step_size=0.1)
        payload = select(corrected, 10, stream)
        feedback.store_residual(corrected, payload)
        assert torch.equal(payload.dense() + feedback.residual, corrected)


@pytest.mark.parametrize(("step_location", "factor"), [("inside", 0.25), ("outside", 1.0)])
def test_the_step_size_stands_where_it_is_told(step_location: StepLocation, factor: float) -> None:
    feedback = ErrorFeedback(DIMENSION, step_location=step_location)
    (gradient,) = gradients(1)
    assert torch.equal(feedback.correct(gradient, step_size=0.25), factor * gradient)


def test_the_step_size_stands_inside_unless_told_otherwise() -> None:
    assert ErrorFeedback(2).correct(torch.tensor([1.0, -2.0]), step_size=0.25).tolist() == [0.25, -0.5]


def test_what_was_kept_is_added_to_the_next_gradient() -> None:
    feedback = ErrorFeedback(4, step_location="outside")
    corrected = feedback.correct(torch.tensor([1.0, 5.0, -2.0, 0.0]), step_size=1.0)
    feedback.store_residual(corrected, SELECTORS["top_k"](corrected, 1))
    assert feedback.correct(torch.ones(4), step_size=1.0).tolist() == [2.0, 1.0, -1.0, 1.0]


def test_correct_changes_neither_gradient_nor_residual() -> None:
    feedback = ErrorFeedback(DIMENSION)
    (gradient,) = gradients(1)
    before = gradient.clone()
    feedback.correct(gradient, step_size=0.1)
    assert torch.equal(gradient, before)
    assert not bool(feedback.residual.any())


def test_a_gradient_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\(4,\), got \(5,\)"):
        ErrorFeedback(4).correct(torch.zeros(5), step_size=0.1)


def test_an_unknown_step_location_is_refused() -> None:
    with pytest.raises(ValueError, match="'beside'"):
        ErrorFeedback(4, step_location="beside")  # type: ignore[arg-type]  # the point of the test


def test_a_gradient_that_the_residual_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match=r"residual of torch\.float32 cannot take a gradient of torch\.float64"):
        ErrorFeedback(4).correct(torch.ones(4, dtype=torch.float64), 1.0)


def test_a_gradient_with_a_graph_behind_it_is_refused_before_every_residual_keeps_one() -> None:
    with pytest.raises(ValueError, match="requires a gradient; detach it"):
        ErrorFeedback(4).correct(torch.ones(4, requires_grad=True), 1.0)


def test_what_is_kept_has_the_residuals_length() -> None:
    feedback, shorter = ErrorFeedback(4), torch.ones(3)
    with pytest.raises(ValueError, match=r"shape \(4,\), got \(3,\)"):
        feedback.store_residual(shorter, SELECTORS["top_k"](shorter, 1))
    assert torch.equal(feedback.residual, torch.zeros(4))


@pytest.mark.parametrize("step_location", ["inside", "outside"])
@pytest.mark.parametrize("step_size", [0.0, -0.5, math.inf, math.nan])
def test_a_step_size_that_is_not_positive_and_finite_is_refused(step_size: float, step_location: StepLocation) -> None:
    with pytest.raises(ValueError, match=f"step_size must be positive and finite, got {step_size}"):
        ErrorFeedback(4, step_location=step_location).correct(torch.ones(4), step_size)


@pytest.mark.parametrize("dimension", [0, -1, 1.5, True, "4", (4,)])
def test_a_dimension_that_is_no_positive_int_is_refused(dimension: Any) -> None:
    with pytest.raises(ValueError, match=f"dimension must be an int of at least 1, got {re.escape(repr(dimension))}"):
        ErrorFeedback(dimension)


def test_correction_is_compiled_without_a_break() -> None:
    feedback, gradient = ErrorFeedback(4), torch.ones(4)
    compiled = torch.compile(feedback.correct, backend="eager", fullgraph=True)
    for step_size in (0.25, 0.5, 0.75):
        assert torch.equal(compiled(gradient, step_size), step_size * gradient)
