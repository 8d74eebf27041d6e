"""The native op on the CPU gives the definition's bits in every case that the CUDA kernels are held to."""

from __future__ import annotations

import pytest
import torch

from sparsync.kernels.feedback_reference import feedback_select_
from tests.edge_cases import edge_cases
from tests.feedback_cases import all_cases, outcome
from tests.native_backends import native_backend

CASES = all_cases() | edge_cases()


@pytest.mark.parametrize("name", CASES)
def test_the_processor_returns_and_keeps_what_the_definition_does(name: str) -> None:
    found = outcome(native_backend().operator, CASES[name])
    for ours, theirs in zip(found, outcome(feedback_select_, CASES[name]), strict=True):
        assert torch.equal(ours, theirs), f"{ours} instead of {theirs}"
