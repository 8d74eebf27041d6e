"""A compiled step refuses what an eager one refuses, in the same words, whatever it was compiled with."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from sparsync.kernels.native import SelectionState, feedback_select, feedback_select_many

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
OVERLAPS = {
    "the same": (slice(0, 4), slice(0, 4)),
    "gradient first": (slice(0, 4), slice(3, 7)),
    "residual first": (slice(3, 7), slice(0, 4)),
}
SHARING = "shares memory with .* 0, and a residual is changed in place"


def step(gradient: Tensor, residual: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return feedback_select(gradient, residual, 2, rule="top_k").padded()


def of_many(gradient: Tensor, residual: Tensor) -> Tensor:
    """The second residual is the first tensor's gradient."""
    return feedback_select_many([gradient, gradient + 1], [residual, gradient], 2, rule="top_k").padded()[0]


@pytest.fixture(scope="module")
def compiled_apart() -> Callable[[Tensor, Tensor], tuple[Tensor, ...]]:
    """A step that was compiled with tensors that share nothing, and has served them."""
    torch.compiler.reset()
    traced = torch.compile(step, fullgraph=True, backend="aot_eager")
    traced(torch.arange(4.0), torch.zeros(4))
    return traced


@needs_compiler
@pytest.mark.parametrize(("read", "written"), OVERLAPS.values(), ids=OVERLAPS)
def test_tensors_that_come_to_share_memory_are_refused(
    compiled_apart: Callable[[Tensor, Tensor], tuple[Tensor, ...]], read: slice, written: slice
) -> None:
    memory = torch.arange(8.0)
    for call in (step, compiled_apart):
        with pytest.raises(ValueError, match=SHARING):
            call(memory[read], memory[written])
        assert memory.tolist() == list(range(8))


@needs_compiler
@pytest.mark.parametrize(("read", "written"), OVERLAPS.values(), ids=OVERLAPS)
def test_a_step_that_is_compiled_with_them_refuses_them(read: slice, written: slice) -> None:
    torch.compiler.reset()
    memory = torch.arange(8.0)
    with pytest.raises(ValueError, match=SHARING):
        torch.compile(step, fullgraph=True, backend="aot_eager")(memory[read], memory[written])
    assert memory.tolist() == list(range(8))


@needs_compiler
def test_neighbours_in_memory_are_served_by_a_compiled_step() -> None:
    torch.compiler.reset()
    memory = torch.arange(8.0)
    values = torch.compile(step, fullgraph=True, backend="aot_eager")(memory[:4], memory[4:])[0]
    assert values.tolist() == [8.0, 10.0]
    assert memory.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 0.0, 0.0]


@needs_compiler
def test_a_compiled_step_of_many_refuses_a_gradient_that_is_a_residual_too() -> None:
    torch.compiler.reset()
    gradient, residual = torch.arange(4.0), torch.zeros(4)
    with pytest.raises(ValueError, match="shares memory with"):
        torch.compile(of_many, fullgraph=True, backend="aot_eager")(gradient, residual)
    assert (gradient.tolist(), residual.tolist()) == ([0.0, 1.0, 2.0, 3.0], [0.0] * 4)


def test_the_definition_refuses_them_in_a_compiled_step_too() -> None:
    """Of float64 there is no native op."""
    torch.compiler.reset()
    memory = torch.arange(8.0, dtype=torch.float64)
    with pytest.raises(ValueError, match=SHARING):
        torch.compile(step, backend="aot_eager")(memory[:4], memory[3:7])
    assert memory.tolist() == list(range(8))


@needs_compiler
def test_a_compiled_step_refuses_a_residual_of_inference_mode_and_goes_on(
    compiled_apart: Callable[[Tensor, Tensor], tuple[Tensor, ...]],
) -> None:
    with torch.inference_mode():
        residual = torch.zeros(4)
    with pytest.raises(ValueError, match="residual 0 was made in inference mode"):
        compiled_apart(torch.arange(4.0), residual)
    assert residual.tolist() == [0.0] * 4
    assert compiled_apart(torch.arange(4.0), torch.zeros(4))[1].tolist() == [2, 3]


@needs_compiler
def test_a_state_learns_in_a_compiled_step_what_it_learns_in_an_eager_one() -> None:
    def remembering(gradient: Tensor, residual: Tensor, state: SelectionState) -> Tensor:
        return feedback_select(gradient, residual, 2, rule="top_k", state=state).padded()[0]

    torch.compiler.reset()
    states = SelectionState(), SelectionState()
    for call, state in zip((remembering, torch.compile(remembering, backend="aot_eager")), states, strict=True):
        for _ in range(2):
            call(torch.arange(4.0), torch.zeros(4), state)
    memories = [state._memory for state in states]
    assert memories[0] is not None
    assert memories[1] is not None
    assert torch.equal(memories[0], memories[1])
    assert int(memories[0].count_nonzero()) > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rule": ["x"]}, r"unknown rule \['x'\]; known: "),
        ({"rule": "threshold", "threshold": "1"}, "at least 0, got '1'"),
        ({"rule": "threshold", "threshold": 10**400}, "at least 0, got an int of 1329 bits"),
        ({"rule": "threshold", "threshold": torch.ones(2)}, r"at least 0, got tensor\(\[1\., 1\.\]\)"),
    ],
)
def test_a_compiled_step_names_a_bad_argument(arguments: dict[str, Any], message: str) -> None:
    def refused(gradient: Tensor, residual: Tensor) -> Tensor:
        return feedback_select(gradient, residual, 2, **arguments).padded()[0]

    torch.compiler.reset()
    residual = torch.zeros(4)
    with pytest.raises(ValueError, match=message):
        torch.compile(refused, backend="aot_eager")(torch.arange(4.0), residual)
    assert residual.tolist() == [0.0] * 4


@needs_compiler
def test_a_compiled_step_refuses_a_negated_residual() -> None:
    torch.compiler.reset()
    residual = torch.ops.aten._neg_view.default(torch.ones(4))
    with pytest.raises(ValueError, match="residual 0 is a negated view, which cannot be changed in place"):
        torch.compile(step, backend="aot_eager")(torch.arange(4.0), residual)
    assert residual.tolist() == [-1.0] * 4
