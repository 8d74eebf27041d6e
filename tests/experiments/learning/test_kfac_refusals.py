"""What Kfac cannot do is said in words, on all workers alike; and singular factors make finite steps."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn

from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.learning.kfac import Kfac
from sparsync.experiments.learning.kfac_layers import find_layers
from sparsync.experiments.learning.kfac_settings import KfacSettings, Sending
from tests.support.kfac_cases import EXACT, draw, losses_of, seeded, small_network, step_once


def backward(model: nn.Module, inputs: Tensor | None = None) -> None:
    """A batch of the small network, or another."""
    losses_of(model, draw(4, 1, 3, 3) if inputs is None else inputs).mean().backward()


def test_a_model_in_evaluation_mode_has_no_factors_and_says_so() -> None:
    model = small_network().eval()
    kfac = Kfac(model, EXACT)
    backward(model)
    with pytest.raises(ValueError, match=r"layer '0' has a gradient but no factors: .* not used in training mode"):
        kfac.step()


def test_what_is_not_finite_is_named() -> None:
    model = small_network()
    kfac = Kfac(model, EXACT)
    backward(model, torch.full((2, 1, 3, 3), math.nan).double())
    with pytest.raises(FloatingPointError, match=r"step 0: the gradient of 0.weight of worker 0 is not finite"):
        kfac.step()


def test_a_factor_that_overflows_is_named() -> None:
    model = nn.Sequential(nn.Linear(2, 1))
    kfac = Kfac(model, EXACT)
    (model(torch.full((1, 2), 1e30)) * 1e-30).sum().backward()
    with pytest.raises(FloatingPointError, match="the factor of 0 of worker 0 is not finite"):
        kfac.step()


def test_a_layer_frozen_after_the_beginning_is_named() -> None:
    model = small_network()
    kfac = Kfac(model, EXACT)
    model.get_submodule("4").requires_grad_(False)
    backward(model)
    with pytest.raises(ValueError, match=r"frozen or freed since Kfac was made: 4.weight"):
        kfac.step()


def test_a_frozen_layer_stays_as_it_is_and_the_others_are_preconditioned() -> None:
    model = small_network()
    model.get_submodule("0").requires_grad_(False)
    kfac = Kfac(model, EXACT)
    backward(model)
    kfac.step()
    assert kfac.layers == ["4", "6"]
    assert model.get_parameter("0.weight").grad is None


class Branches(nn.Module):
    """Two layers, of which the second is used where it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.always, self.sometimes = nn.Linear(4, 2).double(), nn.Linear(4, 2).double()
        self.uses_both = False

    def forward(self, inputs: Tensor) -> Tensor:
        """One or both."""
        outputs: Tensor = self.always(inputs)
        return outputs + self.sometimes(inputs) if self.uses_both else outputs


def test_a_layer_that_is_not_used_has_no_gradient_and_joins_when_it_is() -> None:
    model = Branches()
    kfac = Kfac(model, replace(EXACT, decomposition_period=10))
    backward(model, draw(4, 4))
    kfac.step()
    assert model.sometimes.weight.grad is None
    assert set(kfac.factors()) == {"always"}
    model.uses_both = True
    model.zero_grad()
    backward(model, draw(4, 4))
    kfac.step()
    assert set(kfac.factors()) == {"always", "sometimes"}
    assert bool(find_layers(model)[0][1].matrix().isfinite().all())
    model.uses_both = False
    before = kfac.factors()["sometimes"]
    model.zero_grad()
    backward(model, draw(4, 4, seed=5))
    kfac.step()
    assert model.sometimes.weight.grad is None
    assert all(torch.equal(*pair) for pair in zip(kfac.factors()["sometimes"], before, strict=True))


def test_workers_that_use_different_layers_are_told_so() -> None:
    model = Branches()
    kfac = Kfac(model, EXACT, ranks=range(2))
    for worker in range(2):
        model.uses_both = worker == 1
        backward(model, draw(4, 4))
        kfac.collect()
    with pytest.raises(ExchangeError, match=r"step 0: workers \[1\] have used other layers than worker 0"):
        kfac.step()


def test_a_selection_of_factors_needs_all_layers() -> None:
    model = Branches()
    kfac = Kfac(model, replace(EXACT, factors=Sending(0.5)))
    backward(model, draw(4, 4))
    with pytest.raises(ValueError, match="a selection of factors needs all layers in use, and sometimes are not"):
        kfac.step()


@pytest.mark.parametrize("inputs", [torch.zeros(1, 4), torch.zeros(3, 4), torch.ones(1, 4)])
def test_singular_and_zero_factors_make_finite_steps(inputs: Tensor) -> None:
    """One example; inputs that are all zero, with and without ones for a bias."""
    for bias in (True, False):
        model = nn.Sequential(nn.Linear(4, 3, bias=bias).double())
        _, after, _ = step_once(model, losses_of, inputs.double())
        assert bool(after["0"].isfinite().all())


def test_a_gradient_of_zero_stays_zero() -> None:
    model = nn.Sequential(seeded(lambda: nn.Linear(4, 3)))
    _, after, _ = step_once(model, lambda one, given: 0 * one(given).sum(dim=1), draw(2, 4))
    assert not bool(after["0"].any())


@pytest.mark.parametrize("collected", [0, 1])
def test_a_step_takes_as_many_workers_as_there_are(collected: int) -> None:
    model = nn.Sequential(seeded(lambda: nn.Linear(4, 3)))
    kfac = Kfac(model, EXACT, ranks=range(2))
    for _ in range(collected):
        losses_of(model, draw(2, 4)).mean().backward()
        kfac.collect()
    with pytest.raises(ValueError, match=f"{collected} of 2 workers of this process have been collected"):
        kfac.step()


def test_no_more_workers_are_collected_than_there_are() -> None:
    model = nn.Sequential(seeded(lambda: nn.Linear(4, 3)))
    kfac = Kfac(model, EXACT, ranks=range(1))
    losses_of(model, draw(2, 4)).mean().backward()
    kfac.collect()
    with pytest.raises(ValueError, match="all 1 workers of this process have been collected already"):
        kfac.collect()


def test_a_state_between_workers_is_refused() -> None:
    model = nn.Sequential(seeded(lambda: nn.Linear(4, 3)))
    kfac = Kfac(model, EXACT, ranks=range(2))
    losses_of(model, draw(2, 4)).mean().backward()
    kfac.collect()
    with pytest.raises(ValueError, match="workers have been collected, but the step was not made"):
        kfac.state_dict()


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("scheme", "all", "scheme must be one of everyone, owners, got 'all'"),
        ("factor_period", 0, "factor_period must be a whole number of at least 1, got 0"),
        ("decomposition_period", 1.5, "decomposition_period must be a whole number of at least 1, got 1.5"),
        ("decay", 1.0, r"decay must lie in \[0, 1\), got 1.0"),
        ("damping", 0.0, "damping must be positive and finite, got 0.0"),
        ("step_size", math.inf, "step_size must be positive and finite, got inf"),
        ("clip", 0.0, "clip must be positive and finite, or None, got 0.0"),
        ("loss_reduction", "none", "loss_reduction must be one of mean, sum, got 'none'"),
    ],
)
def test_settings_out_of_range_are_refused(setting: str, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(KfacSettings(), **cast("dict[str, Any]", {setting: value}))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"density": 0.0}, r"density must lie in \(0, 1\], got 0.0"),
        ({"selector": "best"}, "unknown selector 'best'"),
        ({"feedback": "none"}, "unknown feedback 'none'"),
    ],
)
def test_what_cannot_be_sent_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Sending(**given)


def test_models_that_cannot_be_preconditioned_are_refused() -> None:
    with pytest.raises(ValueError, match=r"expected trained parameters of one dtype and device, got \[\]"):
        Kfac(nn.ReLU())
    with pytest.raises(ValueError, match=r"one dtype and device, got .*float32.*float64"):
        Kfac(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2).double()))
    with pytest.raises(ValueError, match=r"ranks must ascend below 2, got \[1, 2\]"):
        Kfac(nn.Linear(2, 2), ranks=[1, 2], worker_count=2)
