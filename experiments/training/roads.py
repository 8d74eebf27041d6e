"""Who corrects, selects and keeps: the fused kernel in one call, or PyTorch in three; with the same bits.

gradient [d] → `Worker.send` → `Sent`: the payload, and what is left of the corrected gradient.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from sparsync.experiments.averaging.coded import CodedPayload
from sparsync.experiments.feedbacks.feedback import Feedback, Fusion, Memory
from sparsync.kernels import native
from sparsync.kernels.codec import Values, keep_error
from sparsync.kernels.magnitude import NonFiniteError, is_finite
from sparsync.kernels.native import KERNEL_RULES, SelectionState, feedback_select
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.selection import Selector

KernelChoice = Literal["auto", "native", "reference"]
KERNEL_CHOICES: tuple[KernelChoice, ...] = ("auto", "native", "reference")


def obstacle(selector: str, feedback: Feedback) -> str:
    """Why no kernel does what a run asks for, on any device; empty if there is one."""
    if selector not in KERNEL_RULES:
        return f"selector {selector!r} has no kernel; these have: {', '.join(KERNEL_RULES)}"
    if feedback.fusion is None:
        return f"{feedback} has no kernel"
    return ""


def takes_kernel(choice: KernelChoice, selector: str, feedback: Feedback, device: torch.device) -> bool:
    """Whether a worker's selections are the kernel's.

    Args:
        choice: "native" insists, "reference" refuses, "auto" takes it where there is one.
        selector: name of the rule.
        feedback: what is done with what is not sent.
        device: where the vectors are.

    Raises:
        ValueError: the choice is "native", and there is no kernel; the reason is named.
    """
    if choice == "reference":
        return False
    reason = obstacle(selector, feedback)
    if not reason and not native.has_kernel(device):
        reason = f"there is none for {device.type} ({native.backend()})"
    if reason and choice == "native":
        raise ValueError(f"kernel 'native': {reason}")
    return not reason


@dataclass(frozen=True, eq=False)
class Sent:
    """A corrected gradient in two parts, until the worker's next step.

    Args:
        payload: what is sent.
        rest: [d], the corrected gradient less that: +0 where an entry is sent as it is; not to be changed.
    """

    payload: SparsePayload
    rest: Tensor

    def corrected(self) -> Tensor:
        """The corrected gradient [d] itself, a new tensor; bit for bit, but for the roundings of `keep_error`."""
        whole, places = self.rest.clone(), self.payload.indices.long()
        if isinstance(self.payload, CodedPayload):
            whole[places] += self.payload.values
        else:
            whole[places] = self.payload.values
        return whole


def captured_share(sent: Sent) -> float:
    """The measured contraction δ = 1 − ‖u − C(u)‖²/‖u‖², in float64; 1 where u = 0.

    It is ‖C(u)‖²/‖u‖² where entries are sent as they are.
    """
    left = _square_sum(sent.rest)
    if isinstance(sent.payload, CodedPayload):
        whole = _square_sum(sent.corrected())
        return 1 - left / whole if whole else 1.0
    kept = _square_sum(sent.payload.values)
    return kept / (kept + left) if kept + left else 1.0


def _square_sum(vector: Tensor) -> float:
    return float(torch.linalg.vector_norm(vector, dtype=torch.float64)) ** 2


@dataclass(eq=False)
class Worker:
    """What one worker keeps between steps: its memory, its random stream, what its selector remembers.

    Args:
        rank: its place among all workers of the run, from 0.
        feedback: what is done with what is not sent.
        memory: of that.
        generator: where a random selector draws from.
        selector: name of its rule.
        select: its own selector, see `new_selector`.
        state: what makes the kernel's later calls faster; None where PyTorch selects.
        values: in which code what is selected travels, see `CodedPayload`; "exact" as it is. The memory keeps what that
            loses.
        statistics: [b], its own running means and variances of layers that normalise over the batch.
    """

    rank: int
    feedback: Feedback
    memory: Memory
    generator: torch.Generator
    selector: str
    select: Selector
    state: SelectionState | None = None
    values: Values = "exact"
    statistics: Tensor = field(default_factory=lambda: torch.empty(0))

    def send(self, gradient: Tensor, step_size: float, k: int) -> Sent | None:
        """Correct a gradient [d], select from it with target count k, and remember the rest.

        None where the corrected gradient is not finite: nothing is selected then, and the memory is of no further use.
        """
        fusion = self.feedback.fusion
        if fusion is not None and self.state is not None:
            return self._fused(fusion, gradient, step_size, k, self.state)
        corrected = self.feedback.correct(self.memory, gradient, step_size)
        if not is_finite(corrected):
            return None
        chosen = self.select(corrected, k, self.generator)
        payload = self._coded(chosen)
        if payload is None:
            return None
        self.feedback.settle(self.memory, corrected, payload)
        if fusion is not None:
            return Sent(payload, self.memory["residual"])
        rest = chosen.remainder(corrected)
        if payload is not chosen:
            keep_error(rest, chosen, payload)
        return Sent(payload, rest)

    def _coded(self, chosen: SparsePayload) -> SparsePayload | None:
        """What is sent of a selection; None where that is not finite, as values of a wider dtype may be."""
        if self.values == "exact":
            return chosen
        try:
            return CodedPayload(chosen, self.values)
        except NonFiniteError:
            return None

    def _fused(self, fusion: Fusion, gradient: Tensor, step_size: float, k: int, state: SelectionState) -> Sent | None:
        memory = dict(self.memory)
        addend = fusion.addend(memory, gradient, step_size)
        residual = memory["residual"]
        rule: native.Rule = self.selector  # type: ignore[assignment]  # `takes_kernel` has seen to it
        try:
            payload = feedback_select(addend, residual, k, rule=rule, state=state)
        except ValueError:
            # On a CPU; the residual kept its old values where the sum is not finite.
            if is_finite(residual.add(addend)):
                raise
            return None
        if payload.first_non_finite is not None:
            return None
        sent = self._coded(payload)
        if sent is None:
            return None
        if fusion.settle is not None:
            fusion.settle(memory, payload)
        if sent is not payload:
            keep_error(residual, payload, sent)
        self.memory.update(memory)
        return Sent(sent, residual)
