"""The native op gives the definition's bits in every case that the emulated kernels are held to, on a GPU too."""

from __future__ import annotations

import pytest
import torch

from sparsync.kernels.feedback_reference import feedback_select_
from tests.edge_cases import edge_cases
from tests.feedback_cases import all_cases, outcome
from tests.native_backends import BACKENDS

CASES = all_cases() | edge_cases()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("device", ["native", "cuda"])
def test_the_device_returns_and_keeps_what_the_definition_does(device: str, name: str) -> None:
    place = BACKENDS[device]()
    found = outcome(place.operator, CASES[name], place.device)
    for ours, theirs in zip(found, outcome(feedback_select_, CASES[name]), strict=True):
        assert torch.equal(ours, theirs), f"{ours} instead of {theirs}"
