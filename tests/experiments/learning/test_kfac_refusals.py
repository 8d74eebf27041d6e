"""What Kfac cannot do is said in words, on all workers alike; and singular factors make finite steps."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn

from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.learning.kfac import Kfac
from sparsync.experiments.learning.kfac_layers import find_layers
from sparsync.experiments.learning.kfac_settings import KfacSettings, Sending
from sparsync.experiments.training.averager import VectorAverager
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
        ({"feedback": "rmsprop"}, "feedback 'rmsprop' delivers an optimiser's update, and no estimate of the mean"),
    ],
)
def test_what_cannot_be_sent_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Sending(**given)


def test_factors_are_no_sums_over_steps() -> None:
    with pytest.raises(ValueError, match="feedback 'dgc' delivers a sum over steps, and no mean of factors"):
        KfacSettings(factors=Sending(0.1, feedback="dgc"))
    KfacSettings(gradients=Sending(0.1, feedback="dgc"))


def test_models_that_cannot_be_preconditioned_are_refused() -> None:
    with pytest.raises(ValueError, match=r"expected trained parameters of one dtype and device, got \[\]"):
        Kfac(nn.ReLU())
    with pytest.raises(ValueError, match=r"one dtype and device, got .*float32.*float64"):
        Kfac(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2).double()))
    for ranks in ([1, 2], [-1, 0], [1, 0], []):
        with pytest.raises(ValueError, match=re.escape(f"ranks must ascend below 2, got {ranks}")):
            Kfac(nn.Linear(2, 2), ranks=ranks, worker_count=2)
    with pytest.raises(ValueError, match="worker_count must be at least 1, got 0"):
        Kfac(nn.Linear(2, 2), worker_count=0)
    with pytest.raises(ValueError, match=r"this process is alone: expected all 2 workers, got \[1\]"):
        Kfac(nn.Linear(2, 2), KfacSettings(scheme="owners"), ranks=[1], worker_count=2)
    with pytest.raises(ValueError, match=r"no layers that have factors are named \['head'\]"):
        Kfac(nn.Sequential(nn.Linear(2, 2)), excluded=["head"])


class AgreedError(Exception):
    """All workers agreed."""


class Meeting:
    """How a process meets others, of whom only rows are known.

    Args:
        others: what they say.
    """

    def __init__(self, others: Sequence[Sequence[float]] = ()) -> None:
        self.others, self.said = [list(row) for row in others], list[list[float]]()

    def gather_rows(self, rows: Sequence[Sequence[float]]) -> list[list[float]]:
        """Own rows and those of others, in rank order."""
        self.said = [list(row) for row in rows]
        return sorted([*self.said, *self.others], key=lambda row: row[2])

    def average(self, _payloads: object) -> None:
        """What follows the agreement."""
        raise AgreedError


def stepping(settings: KfacSettings, meeting: Meeting, ranks: Sequence[int], worker_count: int = 2) -> None:
    """A step of a small model, up to the agreement."""
    model = nn.Sequential(seeded(lambda: nn.Linear(2, 2)))

    def averager(_: str) -> VectorAverager:
        return cast("VectorAverager", meeting)

    kfac = Kfac(model, settings, new_averager=averager, worker_count=worker_count, ranks=ranks)
    backward(model, torch.ones(1, 2).double())
    kfac.step()


@pytest.mark.parametrize(
    "change",
    [
        {"clip": 0.1},
        {"scheme": "owners"},
        {"loss_reduction": "sum"},
        {"gradients": Sending(0.5)},
        {"factors": Sending(0.5)},
        {"seed": 1},
        {"damping": 0.5},
        {"factor_period": lambda _: 3},
    ],
)
def test_workers_with_other_settings_are_told_so(change: dict[str, Any]) -> None:
    other = Meeting([(0.0, -1.0, 0.0)])
    with pytest.raises(ExchangeError):
        stepping(replace(KfacSettings(), **change), other, [1])
    with pytest.raises(ExchangeError, match=r"step 0: workers \[1\] have .* other settings"):
        stepping(KfacSettings(), Meeting(other.said), [0])
    with pytest.raises(AgreedError):
        stepping(replace(KfacSettings(), **change), Meeting(other.said), [0])


@pytest.mark.parametrize(
    ("ranks", "others", "count", "message"),
    [
        ([0], [0], 2, r"expected workers 0 to 1 \(worker_count 2\), but 2 came, of the ranks \[0, 0\]; here: \[0\]"),
        ([0], [], 2, r"worker_count 2\), but 1 came, of the ranks \[0\]"),
        ([0], [1, 2], 2, r"worker_count 2\), but 3 came, of the ranks \[0, 1, 2\]"),
    ],
)
def test_workers_that_do_not_fit_together_are_named(
    ranks: list[int], others: list[int], count: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        stepping(KfacSettings(), Meeting([(0.0, -1.0, float(rank)) for rank in others]), ranks, count)


def test_a_step_that_is_refused_leaves_the_gradients() -> None:
    model = small_network().eval()
    kfac = Kfac(model, EXACT)
    backward(model)
    before = [one.grad.clone() for one in model.parameters() if one.grad is not None]
    with pytest.raises(ValueError, match="has a gradient but no factors"):
        kfac.step()
    after = [one.grad for one in model.parameters() if one.grad is not None]
    assert all(torch.equal(*pair) for pair in zip(before, after, strict=True))
    assert kfac.step_count == 0


def test_a_discarded_or_paused_batch_changes_no_bit_of_the_next_step() -> None:
    found = []
    for kind in ("none", "discarded", "paused", "not finite", "refused"):
        model = nn.Sequential(seeded(lambda: nn.Linear(4, 3)))
        kfac = Kfac(model, EXACT)
        if kind == "discarded":
            backward(model, draw(2, 4, seed=9))
            kfac.discard()
        if kind == "paused":
            outputs = model(draw(5, 4))
            with kfac.paused():
                torch.autograd.grad(outputs.sum(), list(model.parameters()))
                backward(model, draw(2, 4, seed=9))
                later = model(draw(2, 4, seed=9))
            later.sum().backward()
        if kind == "not finite":
            backward(model, torch.full((2, 4), math.nan).double())
            with pytest.raises(FloatingPointError):
                kfac.step()
        if kind == "refused":
            backward(model, draw(2, 4, seed=9))
            outputs = model(draw(3, 4))
            outputs.sum().backward(retain_graph=True)
            with pytest.raises(ValueError, match="went backward twice"):
                outputs.sum().backward()
        model.zero_grad()
        backward(model, draw(5, 4))
        kfac.step()
        found.append((find_layers(model)[0][0].matrix(), *kfac.factors()["0"]))
    assert all(torch.equal(*pair) for other in found[1:] for pair in zip(found[0], other, strict=True))


def test_examples_are_counted_by_hand_where_that_is_asked_for() -> None:
    def factors(count: int | None, collects: bool) -> tuple[Tensor, Tensor]:
        model = nn.Sequential(seeded(lambda: nn.Linear(4, 3)))
        kfac = Kfac(model, EXACT)
        backward(model, draw(6, 4))
        if collects:
            kfac.collect(count)
        kfac.step(None if collects else count)
        return kfac.factors()["0"]

    for collects in (True, False):
        inside, outside = factors(3, collects)
        assert torch.equal(inside, factors(None, collects)[0])
        # A power of two less is exact.
        assert torch.equal(2 * outside, factors(None, collects)[1])
        with pytest.raises(ValueError, match="example_count must be at least 1, or None, got 0"):
            factors(0, collects)
    model = nn.Sequential(seeded(lambda: nn.Linear(4, 3)))
    kfac = Kfac(model, EXACT)
    backward(model, draw(6, 4))
    kfac.collect()
    with pytest.raises(ValueError, match="example_count 3 is for `collect` where that is called"):
        kfac.step(3)
