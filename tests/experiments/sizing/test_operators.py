"""What operators hold, compute and keep is what a hand counts, and together they have all of the model."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from sparsync.experiments.sizing.operators import Operator, operators_of

FLOAT_BYTES, BATCH = 4, 3


def totals(found: list[Operator]) -> tuple[int, float, float]:
    return (
        sum(one.parameter_count for one in found),
        sum(one.forward_flops for one in found),
        sum(one.activation_bytes for one in found),
    )


def test_a_perceptron_by_hand() -> None:
    model = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 2, bias=False))
    # A linear layer keeps what comes in. What the rectifier gives is kept once, for itself and for the next layer.
    assert operators_of(model, torch.zeros(BATCH, 5)) == [
        Operator("0", 5 * 7 + 7, 2.0 * 5 * 7, (5 + 7) * FLOAT_BYTES),
        Operator("2", 7 * 2, 2.0 * 7 * 2, 0.0),
    ]


def test_a_convolution_by_hand() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.Flatten(), nn.Linear(4 * 6 * 6, 2))
    first, last = operators_of(model, torch.zeros(2, 3, 6, 6))
    assert first == Operator("0", 3 * 4 * 9 + 4, 2.0 * 36 * 4 * 3 * 9, 3 * 36 * FLOAT_BYTES)
    assert last == Operator("2", 4 * 36 * 2 + 2, 2.0 * 4 * 36 * 2, 4 * 36 * FLOAT_BYTES)


class Tied(nn.Module):
    """Reads scores off with the table of its embedding, and attends in between."""

    def __init__(self, width: int = 8, tokens: int = 11) -> None:
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        self.scores = nn.Linear(width, tokens, bias=False)
        self.scores.weight = self.embedding.weight

    def forward(self, tokens: Tensor) -> Tensor:
        states = self.embedding(tokens)[:, None]
        attended = functional.scaled_dot_product_attention(states, key=states, value=states)
        scores: Tensor = self.scores(attended[:, 0])
        return scores


def test_a_tied_table_is_counted_once_and_attention_is_of_whoever_came_before() -> None:
    window, width = 5, 8
    first, last = operators_of(Tied(), torch.zeros(2, window, dtype=torch.long))
    assert (first.parameter_count, last.parameter_count) == (11 * width, 0)
    assert first.forward_flops == 2 * 2 * window * window * width
    # The tokens, the states that are query, key and value, the result, and a number per row; not window² weights.
    assert first.activation_bytes == window * 8 + 2 * window * width * FLOAT_BYTES + window * FLOAT_BYTES
    assert last.forward_flops == 2 * window * width * 11


def test_what_is_called_twice_is_one_operator() -> None:
    layer = nn.Linear(4, 4)
    (found,) = operators_of(nn.Sequential(layer, nn.ReLU(), layer), torch.zeros(BATCH, 4))
    assert (found.parameter_count, found.forward_flops) == (20, 2 * 2.0 * 16)


def test_parameters_of_modules_that_are_not_called_are_of_the_module_around_them() -> None:
    model = nn.MultiheadAttention(8, 2, batch_first=True)
    # The last layer of this module of PyTorch's is never called: the module reads its weight.
    found = operators_of(_SelfAttention(model), torch.zeros(BATCH, 3, 8))
    assert {one.name: one.parameter_count for one in found} == {"inner": sum(p.numel() for p in model.parameters())}


class _SelfAttention(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, states: Tensor) -> Tensor:
        result: Tensor = self.inner(states, states, states, need_weights=False)[0]
        return result


@pytest.mark.parametrize("count", [1, 4])
def test_all_is_of_one_example(count: int) -> None:
    def model() -> nn.Module:
        return nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(2 * 36, 3))

    parameters, flops, kept = totals(operators_of(model(), torch.zeros(count, 1, 8, 8)))
    assert (parameters, flops) == totals(operators_of(model(), torch.zeros(7, 1, 8, 8)))[:2]
    # Statistics of a batch do not grow with it: means and deviations of two channels in the forward pass.
    assert kept == pytest.approx(totals(operators_of(model(), torch.zeros(7, 1, 8, 8)))[2], rel=0.1)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [(torch.zeros(0, 5), r"\[\(0, 5\)\]"), (torch.tensor(1.0), r"\[\(\)\]"), ([], r"\[\]")],
)
def test_inputs_without_examples_are_refused(inputs: Tensor | list[Tensor], words: str) -> None:
    with pytest.raises(ValueError, match=f"must hold examples along its first axis, got tensors of the shapes {words}"):
        operators_of(nn.Linear(5, 2), inputs)


def test_a_model_without_parameters_is_refused() -> None:
    with pytest.raises(ValueError, match="a ReLU without parameters has nothing to plan"):
        operators_of(nn.ReLU(), torch.zeros(2, 2))


def test_a_model_that_fails_leaves_no_hook_behind() -> None:
    with pytest.raises(RuntimeError, match="same reduction dim"):
        operators_of(nn.Linear(5, 2), torch.zeros(2, 4))
    assert not nn.modules.module._global_forward_pre_hooks
