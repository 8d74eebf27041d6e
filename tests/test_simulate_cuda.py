"""On a GPU a run goes as on a CPU: selectors draw the same, and only sums are rounded in another order."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

# Where nothing can be installed, what finds data and reads options may be missing.
for package in ("pooch", "psutil", "tyro"):
    pytest.importorskip(package)

from sparsync.experiments.runs import RUNS  # noqa: E402
from sparsync.experiments.simulate import simulate  # noqa: E402

if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)

STEPS = 4


@pytest.mark.parametrize("name", RUNS)
def test_a_run_on_a_gpu_goes_as_on_a_cpu(name: str) -> None:
    run = replace(RUNS[name], steps=STEPS, workers=2)
    here, there = simulate(run), simulate(run, device="cuda")
    assert there.parameters.is_cuda
    # Activations that were wrong by some units in the last place, on a CPU, moved these losses by 1e-7.
    assert [step.loss for step in there.steps] == pytest.approx([step.loss for step in here.steps], rel=1e-5)
    assert [step.target_count for step in there.steps] == [step.target_count for step in here.steps]
