"""The native op gives the definition's bits in every case that the emulated kernels are held to, on a GPU too."""

from __future__ import annotations

import pytest
import torch

from tests.support.every_case import CASES, expected
from tests.support.feedback_cases import outcome
from tests.support.native_backends import BACKENDS


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("device", ["native", "cuda"])
def test_the_device_returns_and_keeps_what_the_definition_does(device: str, name: str) -> None:
    place = BACKENDS[device]()
    found = outcome(place.operator, CASES[name], place.device)
    for ours, theirs in zip(found, expected(name), strict=True):
        assert torch.equal(ours, theirs), f"{ours} instead of {theirs}"
