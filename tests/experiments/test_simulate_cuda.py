"""On a GPU a run goes as on a CPU: selectors draw the same, and only sums are rounded in another order."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

# Where nothing can be installed, what finds data and reads options may be missing.
for package in ("pooch", "psutil", "tyro"):
    pytest.importorskip(package)

from sparsync.experiments.simulate import simulate  # noqa: E402
from sparsync.experiments.training.runs import RUNS, Run  # noqa: E402
from sparsync.experiments.training.worker import StepFacts  # noqa: E402

if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)

STEPS = 4
# Activations that were wrong by 2e-6 moved corrected gradients by as much, on a CPU, and by 8e-4 in one run, where a
# unit was then no longer off; losses and contractions by 1e-7.
GRADIENT_TOLERANCE, TOLERANCE = 5e-3, 1e-5


def trained(run: Run, device: str) -> tuple[list[StepFacts], Tensor]:
    """What the steps measured, and the corrected gradients [steps, workers, d]."""
    corrected: list[Tensor] = []
    result = simulate(run, observe=lambda _, rows: corrected.append(torch.stack([*rows])), device=device)
    assert result.parameters.device.type == device
    return result.steps, torch.stack(corrected).cpu()


@pytest.mark.parametrize("name", RUNS)
def test_a_run_on_a_gpu_goes_as_on_a_cpu(name: str) -> None:
    run = replace(RUNS[name], steps=STEPS, workers=2)
    (here, wanted), (there, found) = trained(run, "cpu"), trained(run, "cuda")
    assert ((found - wanted).norm(dim=-1) <= GRADIENT_TOLERANCE * wanted.norm(dim=-1)).all()
    for one, other in zip(there, here, strict=True):
        assert one.loss == pytest.approx(other.loss, rel=TOLERANCE)
        assert one.deltas == pytest.approx(other.deltas, abs=TOLERANCE)
        # Rounding may carry an element over a threshold.
        assert one.selected_counts == pytest.approx(other.selected_counts, abs=1)
