"""Weight decay spares what the hook sends densely, and every parameter is in one group."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sparsync.experiments.hooks.decay import decay_groups
from tests.support.hooks.training import Branches


def names_by_decay(model: nn.Module, *without: str) -> dict[float, list[str]]:
    names = {parameter: name for name, parameter in model.named_parameters()}
    groups = decay_groups(model, 0.1, without=without)
    return {group["weight_decay"]: [names[parameter] for parameter in group["params"]] for group in groups}


def test_matrices_decay_and_biases_and_norms_do_not() -> None:
    assert names_by_decay(Branches()) == {
        0.1: ["first.weight", "branch.weight", "last.weight"],
        0.0: ["first.bias", "norm.weight", "norm.bias", "last.bias"],
    }


def test_an_expression_spares_what_it_fits() -> None:
    assert names_by_decay(Branches(), "branch", "^la")[0.1] == ["first.weight"]
    assert names_by_decay(nn.Linear(2, 2), ".") == {0.0: ["weight", "bias"]}


def test_an_optimiser_takes_the_groups() -> None:
    model = nn.Linear(2, 2)
    optimiser = torch.optim.SGD(decay_groups(model, 0.5), lr=1.0)
    before = [parameter.detach().clone() for parameter in (model.weight, model.bias)]
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimiser.step()
    assert torch.equal(model.weight, 0.5 * before[0])
    assert torch.equal(model.bias, before[1])


@pytest.mark.parametrize(
    ("weight_decay", "without", "message"),
    [
        (-0.1, (), "weight_decay must be at least 0 and finite, got -0.1"),
        (float("inf"), (), "got inf"),
        (0.1, ("(",), r"'\(' is no regular expression"),
        (0.1, ("head",), "'head' fits no parameter"),
    ],
)
def test_what_is_wrong_is_named(weight_decay: float, without: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decay_groups(Branches(), weight_decay, without=without)
