"""Does every contender do its work? Checked before anything is timed; a wrong result ends the study.

Ours must select the entries of the plain PyTorch selector, bit for bit, and leave behind the rest, bit for bit.
So must PyTorch by chunks. `torch.topk` leaves ties open, so the magnitudes must agree; the released rule in float32
must split at a threshold.

`python -m sparsync.experiments.studies.kernels.checks --device cuda` checks ours on awkward sizes, for a sanitizer.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from rich.console import Console
from torch import Tensor

from sparsync.experiments.studies.kernels.contenders import (
    COPY,
    Contender,
    Result,
    Selection,
    our_contender,
    selections,
)
from sparsync.experiments.studies.kernels.laws import LAWS, Case, drawn_case, model_cases
from sparsync.kernels import native_build
from sparsync.kernels.native import backend
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.selection import SELECTORS

WARM_UP_COUNT = 3
"""Calls before the one that is checked, in which a warm contender learns its bound."""
_AWKWARD_DIMENSIONS = (1, 3, 4095, 4097, 20_001)
_AWKWARD_SHAPES = ((5,), (64, 65), (1,), (4096,), (30, 301))


@dataclass(frozen=True, eq=False)
class Expectation:
    """What a case's checked call must give.

    Args:
        case: the case.
        corrected: u of each group at the checked call.
    """

    case: Case
    corrected: list[Tensor]
    _found: dict[tuple[str, float | None], list[SparsePayload]] = field(default_factory=dict, init=False)

    def payloads(self, rule: str, threshold: float | None = None) -> list[SparsePayload]:
        """What the plain PyTorch selector of a rule keeps of each group."""
        if (rule, threshold) not in self._found:
            self._found[rule, threshold] = self._selected(rule, threshold)
        return self._found[rule, threshold]

    def _selected(self, rule: str, threshold: float | None) -> list[SparsePayload]:
        if rule == "threshold":
            assert threshold is not None
            return [_above(group, threshold) for group in self.corrected]
        pairs = zip(self.corrected, self.case.target_counts, strict=True)
        return [SELECTORS[rule](group, k) for group, k in pairs]

    @property
    def largest(self) -> list[SparsePayload]:
        """The k entries of largest magnitude of each group."""
        return self.payloads("top_k")

    @cached_property
    def threshold(self) -> float:
        """The smallest magnitude among the first group's `largest`."""
        return float(self.largest[0].values.abs().min())

    @cached_property
    def square_sum(self) -> float:
        """‖u‖² over all groups, in float64."""
        return _square_sum(self.corrected)


@dataclass(frozen=True)
class Quality:
    """How good a selection is: its count, the share of the exact Top-k entries in it, ‖C(u)‖²/‖u‖²."""

    selected_count: int
    recall: float
    captured_share: float


def expect(case: Case) -> Expectation:
    """The corrected gradients of the call after the warm-up."""
    residuals, gradients = case.step(WARM_UP_COUNT)
    corrected = [residual + gradient for residual, gradient in zip(residuals, gradients, strict=True)]
    return Expectation(case, case.groups(corrected))


def check(contender: Contender, expected: Expectation, residuals: Sequence[Tensor], result: Result) -> Quality | None:
    """Compare a contender's checked call with what it must be.

    Args:
        contender: who made it.
        expected: of the case.
        residuals: what the call left behind, of each tensor.
        result: what the call returned.

    Returns:
        The selection's quality; None where nothing is selected.

    Raises:
        RuntimeError: a bit is wrong; the message names the contender and the case.
    """
    left = expected.case.groups(residuals)
    if contender.rule is None:
        if contender.name != COPY:
            _require(all(map(_same_bits, left, expected.corrected)), contender, expected.case, "another sum")
        return None
    found = selections(result)
    rests = [_remainder(group, indices) for group, (_, indices) in zip(expected.corrected, found, strict=True)]
    _require(all(map(_same_bits, left, rests)), contender, expected.case, "sent and kept are not the whole")
    sent = [group[indices.long()] for group, (_, indices) in zip(expected.corrected, found, strict=True)]
    values = [values for values, _ in found]
    _require(all(map(_same_bits, values, sent)), contender, expected.case, "values that are not the entries")
    if contender.ours or contender.rule == "chunked_top_k":
        _check_ours(contender, expected, result)
    elif contender.rule == "top_k":
        magnitudes = zip(values, expected.largest, strict=True)
        same = all(torch.equal(ours.abs().sort().values, best.values.abs().sort().values) for ours, best in magnitudes)
        _require(same, contender, expected.case, "magnitudes other than the k largest")
    elif contender.rule != "dgc_released":  # which of somewhat too many entries takes the first by index
        splits = all(_splits(sent, kept) for sent, kept in zip(values, left, strict=True))
        _require(splits, contender, expected.case, "a smaller entry was sent than kept")
    return _quality(expected, found)


def require_kernel(device: torch.device) -> None:
    """Refuse a GPU without a kernel, where the definition in PyTorch would be checked against itself and timed as ours.

    Raises:
        RuntimeError: the device is a GPU and the native library has no part for it.
    """
    if device.type == "cuda" and device.type not in native_build.library().devices:
        raise RuntimeError(f"there is no kernel for {device}: {backend()}")


def check_ours(case: Case) -> int:
    """Check the fused kernel with every rule, cold and warm; returns the number of checks.

    Raises:
        RuntimeError: a bit is wrong.
    """
    expected = expect(case)
    entrants = [our_contender(case, rule, warm=warm) for rule in ("gaussian_k", "top_k") for warm in (False, True)]
    if case.granularity != "whole":
        entrants.append(our_contender(case, "chunked_top_k"))
    if case.granularity == "vector":
        entrants.append(our_contender(case, "gaussian_k_released"))
        entrants += [
            our_contender(case, "threshold", threshold=expected.threshold, capacity=capacity) for capacity in (None, 1)
        ]
    for contender in entrants:
        for index in range(WARM_UP_COUNT):
            _run(contender, case, index)
        check(contender, expected, *_run(contender, case, WARM_UP_COUNT))
    return len(entrants)


def _run(contender: Contender, case: Case, index: int) -> tuple[list[Tensor], Result]:
    residuals, gradients = case.step(index)
    working = [residual.clone() for residual in residuals]
    result = contender.call(gradients, working)
    return working, result


def _check_ours(contender: Contender, expected: Expectation, result: Result) -> None:
    assert contender.rule is not None
    for payload, whole in zip(result, expected.payloads(contender.rule, contender.threshold), strict=True):
        assert isinstance(payload, SparsePayload)
        best = whole if contender.capacity is None else _first(whole, contender.capacity)
        same = torch.equal(payload.indices, best.indices) and _same_bits(payload.values, best.values)
        _require(same, contender, expected.case, "another selection than the plain selector's")
        counted = payload.selected_count == whole.count
        _require(counted, contender, expected.case, f"{payload.selected_count} selected, not {whole.count}")


def _quality(expected: Expectation, found: Sequence[Selection]) -> Quality:
    pairs = zip(found, expected.largest, strict=True)
    hits = sum(int(torch.isin(best.indices, indices.to(torch.int32)).sum()) for (_, indices), best in pairs)
    kept = _square_sum([values for values, _ in found])
    return Quality(
        selected_count=sum(values.numel() for values, _ in found),
        recall=hits / sum(expected.case.target_counts),
        captured_share=min(1.0, kept / expected.square_sum) if expected.square_sum else 1.0,
    )


def _above(corrected: Tensor, threshold: float) -> SparsePayload:
    indices = (corrected.abs() >= threshold).nonzero().flatten()
    return SparsePayload(corrected[indices], indices.to(torch.int32), corrected.numel())


def _first(payload: SparsePayload, capacity: int) -> SparsePayload:
    return SparsePayload(payload.values[:capacity], payload.indices[:capacity], payload.dimension)


def _remainder(corrected: Tensor, indices: Tensor) -> Tensor:
    rest = corrected.clone()
    rest[indices.long()] = 0
    return rest


def _splits(sent: Tensor, kept: Tensor) -> bool:
    return sent.numel() in (0, sent.numel() + kept.numel()) or bool(sent.abs().min() >= kept.abs().max())


def _same_bits(first: Tensor, second: Tensor) -> bool:
    return torch.equal(first.view(torch.int32), second.view(torch.int32))


def _square_sum(vectors: Sequence[Tensor]) -> float:
    return sum(float(torch.linalg.vector_norm(vector, dtype=torch.float64)) ** 2 for vector in vectors)


def _require(holds: bool, contender: Contender, case: Case, what: str) -> None:
    if not holds:
        place = f"{case.name}, {case.granularity}, d = {case.dimension}, density {case.density:g}"
        raise RuntimeError(f"{contender.name} on {place}: {what}")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m sparsync.experiments.studies.kernels.checks",
        description="Check the fused kernel on awkward sizes.",
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--few", action="store_true", help="one law only, for tools that slow everything down")
    options = parser.parse_args()
    device = torch.device(options.device)
    require_kernel(device)
    drawn = [
        drawn_case(law, dimension, density, device=device)
        for law in (list(LAWS)[:1] if options.few else LAWS)
        for dimension in _AWKWARD_DIMENSIONS
        for density in (0.001, 0.3)
    ]
    cases = [*drawn, *model_cases("awkward", _AWKWARD_SHAPES, 0.01, device=device)]
    check_count = sum(map(check_ours, cases))
    Console().print(f"{check_count} checks on {len(cases)} cases hold; {backend()}", highlight=False)


if __name__ == "__main__":
    main()
