"""Updates made before the selection are Adam's without momentum, none is lost, and one that waits is a sum of steps."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from sparsync.experiments.feedbacks.feedback import Memory
from sparsync.experiments.feedbacks.rmsprop import RmsProp
from sparsync.experiments.training.runs import Run
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.selection import SELECTORS

DIMENSION, STEPS = 12, 6


def memory_of(feedback: RmsProp, dimension: int = DIMENSION, dtype: torch.dtype = torch.float64) -> Memory:
    return feedback.memory(dimension, dtype=dtype, device="cpu")


def drawn() -> list[Tensor]:
    """Gradients of all steps."""
    stream = torch.Generator().manual_seed(3)
    return [10 * torch.randn(DIMENSION, generator=stream, dtype=torch.float64) for _ in range(STEPS)]


def send(feedback: RmsProp, memory: Memory, gradient: Tensor, selector: str, k: int) -> tuple[Tensor, SparsePayload]:
    corrected = feedback.correct(memory, gradient, 1.0)
    payload = SELECTORS[selector](corrected, k)
    feedback.settle(memory, corrected, payload)
    return corrected, payload


@pytest.mark.parametrize("selector", ["top_k", "gaussian_k"])
def test_all_of_an_update_is_sent_or_pending(selector: str) -> None:
    feedback = RmsProp()
    memory = memory_of(feedback)
    for gradient in drawn():
        corrected, payload = send(feedback, memory, gradient, selector, 3)
        assert 0 < payload.count < DIMENSION
        assert torch.equal(payload.dense() + feedback.pending(memory), corrected)


@pytest.mark.parametrize("averaging", [0.5, 0.9, 0.999])
def test_where_everything_is_sent_updates_are_adam_s_without_momentum(averaging: float) -> None:
    feedback = RmsProp(averaging, epsilon=1e-3)
    memory = memory_of(feedback)
    parameters, made_here = torch.nn.Parameter(torch.zeros(DIMENSION).double()), torch.zeros(DIMENSION).double()
    adam = torch.optim.Adam([parameters], lr=0.5, betas=(0.0, averaging), eps=1e-3)
    for gradient in drawn():
        parameters.grad = gradient.clone()
        adam.step()
        _, payload = send(feedback, memory, gradient, "keep_all", DIMENSION)
        made_here -= 0.5 * feedback.deliver(memory, payload.dense())
        assert not feedback.pending(memory).any()
        # Ten operations a step on numbers below 10, in other orders; 1 − β² keeps twelve digits of the sixteen.
        assert torch.allclose(made_here, parameters.detach(), rtol=0, atol=1e-11)


def test_what_waits_arrives_as_the_steps_that_it_would_have_made() -> None:
    """Of one sign and size, so that every entry's update is 1 in each step, whatever the size."""
    feedback = RmsProp(epsilon=1e-12)
    memory, sent = memory_of(feedback, 4), torch.zeros(4).double()
    for _ in range(8):
        _, payload = send(feedback, memory, torch.tensor([1e-3, -1.0, 30.0, 0.0]).double(), "top_k", 1)
        sent += payload.dense()
    # ε is 10⁻⁹ of the smallest root.
    assert torch.allclose(sent + feedback.pending(memory), torch.tensor([8.0, -8.0, 8.0, 0.0]).double(), rtol=1e-8)
    assert (sent != 0).tolist() == [True, True, True, False]


def test_an_entry_whose_square_is_not_finite_makes_no_step_and_the_others_go_on() -> None:
    feedback = RmsProp(averaging=0.5, epsilon=0.25)
    memory = memory_of(feedback, 2, torch.float32)
    for gradient in (1e30, 1.0):
        corrected = feedback.correct(memory, torch.tensor([gradient, 1.0]), 1.0)
        assert torch.equal(corrected, torch.tensor([0.0, 1 / 1.25]))


def test_adamw_after_updates_is_refused() -> None:
    with pytest.raises(ValueError, match="feedback 'rmsprop' makes updates, of which optimiser 'adamw' would make"):
        Run(selector="top_k", feedback="rmsprop", step_location="outside", optimiser="adamw")
