"""Threads take stretches of the vectors as they come free; who took which, and how many there were, never shows."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from sparsync.experiments.studies.kernels import memory as kernel_memory
from sparsync.kernels import feedback_reference
from sparsync.kernels.feedback_reference import RULES
from tests.support.native_backends import native_backend
from tests.support.thread_cases import WORK, thread_case


@pytest.fixture
def threads() -> Iterator[None]:
    """Whatever a test sets is set back."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def outcome(operator: Any, name: str) -> list[Tensor]:
    """Everything that a call returns or changes."""
    case = thread_case(name)
    values, indices, report = operator(
        case.gradients, case.residuals, case.counts, case.rule, case.parameters, case.capacities, case.memory
    )
    return [*case.residuals, values, indices, report]


@pytest.mark.parametrize("name", WORK)
def test_the_outcome_is_as_defined_with_any_number_of_threads(name: str, threads: None) -> None:
    expected = outcome(feedback_reference.feedback_select_, name)
    for thread_count in (1, 2, 3, 16):
        torch.set_num_threads(thread_count)
        found = outcome(native_backend().operator, name)
        found[-1], expected[-1] = found[-1][:, :3], expected[-1][:, :3]
        assert all(
            torch.equal(one.view(torch.int32), two.view(torch.int32)) for one, two in zip(found, expected, strict=True)
        )


@pytest.mark.parametrize(
    ("name", "pass_count"),
    [("remembered", 1), ("a long list", 1), ("remembered in vain", 2), ("remembered too low", 2)],
)
def test_what_is_remembered_here_decides_or_not(name: str, pass_count: int) -> None:
    assert outcome(native_backend().operator, name)[-1][:, 3].tolist() == [pass_count]


@pytest.mark.parametrize(
    "name", ["sampled", "remembered", "a long list among others", "few of many ties", "many tensors"]
)
def test_what_is_remembered_and_how_often_was_read_is_the_same_with_any_number_of_threads(
    name: str, threads: None
) -> None:
    gradients, counts, rule, number = WORK[name]
    seen = set()
    for thread_count in (1, 2, 3, 16):
        torch.set_num_threads(thread_count)
        memory = torch.tensor([[number, 0.0]] * len(counts)).view(torch.int32)
        lengths, passes = [g.numel() for g in gradients], []
        for _ in range(3):
            residuals = [torch.zeros_like(gradient) for gradient in gradients]
            report = native_backend().operator(
                gradients, residuals, counts, RULES.index(rule), [0.0] * len(counts), lengths, memory
            )[2]
            passes.append(tuple(report[:, 3].tolist()))
        seen.add((*passes, tuple(memory.flatten().tolist())))
    assert len(seen) == 1


# A process of its own: what an earlier call touched and freed would not be counted again.
MEMORY = """
import sys, torch
from sparsync.experiments.studies.kernels.memory import _extra_bytes
from sparsync.kernels.native import SelectionState, feedback_select_many
vector, bound = sys.argv[1], float(sys.argv[2])
torch.set_num_threads(1)
gradient, k = (torch.ones(32_000_000), 80_000) if vector == "ties" else (torch.rand(32_000_000), 320_000)
residual, small, state = torch.zeros_like(gradient), torch.ones(300_000), SelectionState()
feedback_select_many([small], [torch.zeros_like(small)], [3000], rule="top_k")
if bound:
    state.keep("top_k", torch.tensor([[bound, 1.0]]).view(torch.int32))
residual.zero_()
print(_extra_bytes(lambda: feedback_select_many([gradient], [residual], [k], rule="top_k", state=state)))
"""


@pytest.mark.parametrize(("vector", "bound"), [("uniform", 0.001), pytest.param("ties", 0.0, marks=pytest.mark.slow)])
def test_lists_end_where_their_room_does_however_many_stretches_there_are(vector: str, bound: float) -> None:
    """A remembered bound that nearly everything exceeds, and a vector of nothing but ties: 5 % of the residual.

    One thread: each lists as many ties as can be sent. Long vectors: the system counts pages to some 0.3 MB only.
    """
    finished = subprocess.run(
        [sys.executable, "-c", MEMORY, vector, str(bound)],
        capture_output=True, text=True, check=False, timeout=120, env={**os.environ, **kernel_memory._ALLOCATOR},
    )  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    assert int(finished.stdout) <= 0.05 * 4 * 32_000_000
