"""Tensors that are more than numbers in memory: negated, zero, of inference mode. Refused, or served, by all alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from sparsync.kernels.feedback_reference import RULES
from sparsync.kernels.native import SelectionState, feedback_select, feedback_select_many
from sparsync.kernels.selection import SELECTORS
from tests.support.native_backends import BACKENDS

# Only float32 residuals have a native op, others take the definition.
DTYPES = (torch.float32, torch.float64)
of_every_call = pytest.mark.parametrize("dtype", DTYPES)
of_every_rule = pytest.mark.parametrize("rule", RULES)


def entries(dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.tensor([1.0, -5.0, 2.0, 0.5], dtype=dtype)


def negated(vector: Tensor) -> Tensor:
    """The same numbers, with the bit set: memory holds the opposite."""
    view: Tensor = torch.ops.aten._neg_view.default(-vector)
    assert view.is_neg()
    return view


def zeros_without_memory(vector: Tensor) -> Tensor:
    made: Tensor = torch.ops.aten._efficientzerotensor.default([len(vector)], dtype=vector.dtype)
    return made


def of_inference(vector: Tensor) -> Tensor:
    with torch.inference_mode():
        return vector.clone()


READABLE = {"negated": negated, "inference": of_inference}
UNWRITABLE = {
    "negated": (negated, "residual 0 is a negated view, which cannot be changed in place; resolve_neg it"),
    "zero": (zeros_without_memory, "gradient or residual 0 is a zero tensor, which has no memory; clone it"),
    "inference": (of_inference, "residual 0 was made in inference mode, outside of which it cannot be changed"),
}


def numbers(vector: Tensor) -> list[float]:
    """What it reads as; a zero tensor has no storage for `tolist`."""
    read: list[float] = (vector + 0.0).tolist()
    return read


def options(rule: str) -> dict[str, Any]:
    return {"rule": rule, "threshold": 1.0 if rule == "threshold" else None}


@of_every_call
@of_every_rule
@pytest.mark.parametrize(("make", "message"), UNWRITABLE.values(), ids=UNWRITABLE)
def test_a_residual_that_cannot_be_written_is_refused_and_stays(
    make: Callable[[Tensor], Tensor], message: str, rule: str, dtype: torch.dtype
) -> None:
    residual = make(entries(dtype))
    before = numbers(residual)
    with pytest.raises(ValueError, match=message):
        feedback_select(entries(dtype), residual, 2, **options(rule))
    assert numbers(residual) == before


@of_every_call
@of_every_rule
def test_a_gradient_that_has_no_memory_is_refused(rule: str, dtype: torch.dtype) -> None:
    """Only the differentiation of torch in forward mode makes them."""
    residual = entries(dtype)
    with pytest.raises(ValueError, match="gradient or residual 0 is a zero tensor"):
        feedback_select(zeros_without_memory(residual), residual, 2, **options(rule))
    assert torch.equal(residual, entries(dtype))


@of_every_call
def test_where_one_residual_of_many_cannot_be_written_none_is(dtype: torch.dtype) -> None:
    residuals = [entries(dtype), of_inference(entries(dtype))]
    with pytest.raises(ValueError, match="residual 1 was made in inference mode"):
        feedback_select_many([entries(dtype)] * 2, residuals, [2, 2])
    assert [residual.tolist() for residual in residuals] == [entries().tolist()] * 2


@of_every_call
@of_every_rule
@pytest.mark.parametrize("make", READABLE.values(), ids=READABLE)
def test_a_gradient_is_only_read_and_may_be_either(
    make: Callable[[Tensor], Tensor], rule: str, dtype: torch.dtype
) -> None:
    gradient = make(entries(dtype))
    plain = torch.tensor(numbers(gradient), dtype=dtype)
    residuals = 3 * entries(dtype).flip(0), 3 * entries(dtype).flip(0)
    found, expected = (
        feedback_select(given, residual, 2, **options(rule))
        for given, residual in zip((gradient, plain), residuals, strict=True)
    )
    assert torch.equal(found.dense(), expected.dense())
    assert torch.equal(*residuals)


@of_every_call
@of_every_rule
def test_in_inference_mode_every_residual_is_served(rule: str, dtype: torch.dtype) -> None:
    plain, outside, state = entries(dtype), entries(dtype), SelectionState()
    expected = feedback_select(entries(dtype), plain, 2, **options(rule))
    with torch.inference_mode():
        for residual in (outside, entries(dtype)):
            found = feedback_select(entries(dtype), residual, 2, state=state, **options(rule))
            assert torch.equal(found.dense(), expected.dense())
            assert torch.equal(residual, plain)
    # What was remembered there serves outside too.
    assert feedback_select(entries(dtype), entries(dtype), 2, state=state, **options(rule)).count == expected.count


@pytest.mark.parametrize("make", [negated, of_inference, zeros_without_memory])
@pytest.mark.parametrize("name", SELECTORS)
def test_a_selector_may_read_any_of_them(make: Callable[[Tensor], Tensor], name: str) -> None:
    vector = make(entries())
    found, expected = (
        SELECTORS[name](given, 2, torch.Generator().manual_seed(0)) for given in (vector, torch.tensor(numbers(vector)))
    )
    assert numbers(found.values) == numbers(expected.values)
    assert found.indices.tolist() == expected.indices.tolist()


@pytest.mark.parametrize("make", [negated, zeros_without_memory])
@pytest.mark.parametrize("name", [name for name in BACKENDS if name != "reference"])
def test_the_op_itself_changes_nothing_through_a_residual_that_is_computed_when_it_is_read(
    make: Callable[[Tensor], Tensor], name: str
) -> None:
    """Who calls it by its name in torch has none of the checks in Python."""
    backend = BACKENDS[name]()
    gradient, residual = entries().to(backend.device), make(entries()).to(backend.device)
    before, memory = numbers(residual), torch.zeros(1, 2, dtype=torch.int32, device=backend.device)
    with pytest.raises(RuntimeError):
        backend.operator([gradient], [residual], [2], 0, [0.0], [2], memory)
    assert numbers(residual) == before
