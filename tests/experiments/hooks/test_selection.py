"""The kernel selects for a hook what the definition does, in bits, and forgets nothing where it refuses."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from sparsync.experiments.feedbacks.feedback import Feedback, Memory
from sparsync.experiments.feedbacks.registry import FEEDBACKS, new_feedback
from sparsync.experiments.hooks.selection import Chooser, Unit
from sparsync.kernels.codec import quantised
from sparsync.kernels.native import KERNEL_RULES
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.selection import SELECTORS
from tests.support.hooks.played import DYADIC

LENGTHS = (40, 9, 300)
OTHERS = [name for name in FEEDBACKS if FEEDBACKS[name]().fusion is not None and name != "ef14"]
"""The variants that the kernel does with more than the residual itself."""


def variant(name: str) -> Feedback:
    return new_feedback(name, tuple(DYADIC[name].items()), step_location="outside")


class Own:
    """A chooser and what it selects from.

    Args:
        feedback: the variant.
        selector: the rule.
        is_joint: one selection from all vectors.
    """

    def __init__(self, feedback: Feedback, selector: str, *, is_joint: bool) -> None:
        self.gradients = [torch.zeros(length) for length in LENGTHS]
        self.memories = [feedback.memory(length, dtype=torch.float32, device="cpu") for length in LENGTHS]
        places, total = (0, 40, 49), sum(LENGTHS)
        units = [
            Unit(str(place), [gradient], [memory], [place], k, k)
            for gradient, memory, place, k in zip(self.gradients, self.memories, places, (4, 1, 30), strict=True)
        ]
        if is_joint:
            units = [Unit("0", self.gradients, self.memories, places, total // 10, total // 10)]
        self.chooser = Chooser(selector, units, feedback=feedback, seed=0, rank=0)

    def step(self, gradients: Sequence[Tensor]) -> list[SparsePayload]:
        """Select, and keep what is lost by sending in 16 bits."""
        for own, given in zip(self.gradients, gradients, strict=True):
            own.copy_(given)
        choice = self.chooser.choose(0)
        sent = [quantised(payload, values="bf16") for payload in choice.payloads]
        self.chooser.keep(choice, sent)
        return choice.payloads

    def memory_bits(self) -> list[dict[str, list[int]]]:
        return [{name: e.view(torch.int32).tolist() for name, e in memory.items()} for memory in self.memories]


def drawn(seed: int) -> list[Tensor]:
    stream = torch.Generator().manual_seed(seed)
    return [torch.randn(length, generator=stream) for length in LENGTHS]


def defined_step(feedback: Feedback, selector: str, memory: Memory, gradient: Tensor, k: int) -> None:
    """`Own.step` for a vector of its own, as the variant is defined."""
    corrected = feedback.correct(memory, gradient, 1.0)
    chosen = SELECTORS[selector](corrected, k)
    payload = SparsePayload(chosen.values[:k], chosen.indices[:k], chosen.dimension)
    feedback.settle(memory, corrected, quantised(payload, values="bf16"))


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("selector", KERNEL_RULES)
def test_every_vector_is_corrected_and_settled_as_defined(name: str, selector: str) -> None:
    feedback = variant(name)
    own = Own(feedback, selector, is_joint=False)
    memories = [feedback.memory(length, dtype=torch.float32, device="cpu") for length in LENGTHS]
    for seed in range(4):
        own.step(drawn(seed))
        for memory, gradient, k in zip(memories, drawn(seed), (4, 1, 30), strict=True):
            defined_step(feedback, selector, memory, gradient, k)
    wanted = [{vector: e.view(torch.int32).tolist() for vector, e in memory.items()} for memory in memories]
    assert own.memory_bits() == wanted


@pytest.mark.parametrize("is_joint", [False, True])
@pytest.mark.parametrize("selector", ["gaussian_k", "chunked_top_k"])
@pytest.mark.parametrize("name", OTHERS)
def test_with_the_kernel_and_without_it_a_hook_keeps_and_sends_the_same_bits(
    name: str, selector: str, is_joint: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Own(variant(name), selector, is_joint=is_joint)
    monkeypatch.setattr(FEEDBACKS[name], "fusion", None)
    other = Own(variant(name), selector, is_joint=is_joint)
    for seed in range(4):
        for made, wanted in zip(one.step(drawn(seed)), other.step(drawn(seed)), strict=True):
            assert made.indices.tolist() == wanted.indices.tolist()
            assert made.values.tolist() == wanted.values.tolist()
        assert one.memory_bits() == other.memory_bits()


@pytest.mark.parametrize("is_joint", [False, True])
@pytest.mark.parametrize("name", [name for name in OTHERS if not variant(name).is_update])
def test_a_sum_that_is_not_finite_leaves_the_memories_of_all_vectors_as_they_were(name: str, is_joint: bool) -> None:
    own = Own(variant(name), "top_k", is_joint=is_joint)
    large = [torch.full((length,), 3e38) for length in LENGTHS]
    own.step([*drawn(0)[:2], large[2]])
    before = own.memory_bits()
    with pytest.raises(ValueError, match="not finite"):
        own.step([*drawn(1)[:2], large[2]])
    assert own.memory_bits() == before


@pytest.mark.parametrize("selector", SELECTORS)
def test_where_all_are_to_be_sent_any_rule_sends_all_even_of_one_entry(selector: str) -> None:
    gradients = [torch.ones(1), torch.arange(1.0, 8.0)]
    feedback = variant("ef14")
    memories = [feedback.memory(len(gradient), dtype=torch.float32, device="cpu") for gradient in gradients]
    units = [
        Unit(str(place), [gradient], [memory], [place], len(gradient), len(gradient))
        for place, (gradient, memory) in enumerate(zip(gradients, memories, strict=True))
    ]
    choice = Chooser(selector, units, feedback=feedback, seed=0, rank=0).choose(0)
    for payload, gradient in zip(choice.payloads, gradients, strict=True):
        assert torch.equal(payload.dense(), gradient)
