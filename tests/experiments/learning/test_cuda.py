"""On a GPU the learning systems go as on a CPU: batches, draws and bytes are the same, and only sums are rounded in
another order."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector

# Where nothing can be installed, what finds data may be missing.
for package in ("pooch", "psutil"):
    pytest.importorskip(package)

from sparsync.experiments.learning import federated, kfac_training, self_paced_system, split  # noqa: E402
from sparsync.experiments.learning.federated_clients import FederatedSettings  # noqa: E402
from sparsync.experiments.learning.kfac import Kfac  # noqa: E402
from sparsync.experiments.learning.kfac_settings import SCHEMES, KfacSettings, Scheme, Sending  # noqa: E402
from sparsync.experiments.learning.kfac_training import KfacRun  # noqa: E402
from sparsync.experiments.learning.self_paced_system import Settings  # noqa: E402
from sparsync.experiments.learning.split import SplitSettings  # noqa: E402
from sparsync.experiments.parties.party import Party  # noqa: E402
from sparsync.experiments.training.data import load_dataset  # noqa: E402
from tests.support.kfac_cases import (  # noqa: E402
    EXACT,
    draw,
    losses_of,
    small_network,
    solution_error,
    solved,
    step_once,
)

if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)

DEVICES = [torch.device("cpu"), torch.device("cuda")]
# float32 has 1.2e-7; a dozen steps amplify it, and a decomposition divides by the damping.
TOLERANCE, KFAC_TOLERANCE = 1e-4, 1e-2
KFAC = KfacRun(model="fnn2", workers=4, batch_size=4, steps=4, factor_period=2, decomposition_period=3, test_limit=50)
KFAC_RUNS: dict[str, KfacRun] = {
    **{scheme: replace(KFAC, scheme=scheme) for scheme in SCHEMES},
    "selected": replace(KFAC, density=0.1, factor_density=0.1),
    "statistics": replace(KFAC, model="resnet20", batch_size=2, steps=2, decomposition_period=2, test_limit=4),
    "adamw": replace(KFAC, method="adamw", step_size=0.01),
}
SPLIT = SplitSettings(steps=12, turn_steps=2, batch_size=16, attack_steps=5)
SPLIT_RUNS: dict[str, SplitSettings] = {
    "plain": SPLIT,
    "noise": replace(SPLIT, uniform_noise=0.5, labels_stay=True),
    "penalty": replace(SPLIT, leakage_weight=0.5),
    "corrected": replace(SPLIT, leakage_weight=0.5, leakage="corrected"),
    "selected": replace(SPLIT, density=0.1),
}
SHORT: dict[str, Any] = {"rounds": 3, "local_steps": 2, "batch_size": 8, "examples": 90}
FEDERATED_RUNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "large_batch": {"scheme": "large_batch"},
    "split": {"scheme": "split"},
    "secure": {"density": 0.02, "secure": True, "drop_client": 2},
    "private": {"clip": 1.0, "noise": 1.0, "seeded_noise": True, "density": 0.02, "sampled_clients": 2},
}


def near(found: Tensor, wanted: Tensor, tolerance: float) -> bool:
    return float((found.cpu() - wanted).norm()) <= tolerance * float(wanted.norm())


@pytest.mark.parametrize("name", KFAC_RUNS)
def test_kfac_on_a_gpu_goes_as_on_a_cpu(name: str) -> None:
    data = load_dataset("embedded")
    here, there = (kfac_training.train(KFAC_RUNS[name], Party(device=device), data) for device in DEVICES)
    assert there["sent_bytes"] == here["sent_bytes"]
    assert there["layer_sizes"] == here["layer_sizes"]
    assert there["loss"] == pytest.approx(here["loss"], rel=KFAC_TOLERANCE)


def stepped_on(device: torch.device, settings: KfacSettings) -> tuple[dict[str, Tensor], dict[str, Tensor], Kfac]:
    """A step in float64, see `step_once`."""
    return step_once(small_network().to(device), losses_of, draw(4, 1, 3, 3).to(device), settings)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_gradients_are_preconditioned_on_a_gpu_as_on_a_cpu(scheme: Scheme) -> None:
    """Gradients and factors before, and the solution with them by a dense solver."""
    settings = replace(EXACT, scheme=scheme)
    (before, _, here), (given, after, there) = (stepped_on(device, settings) for device in DEVICES)
    for name, gradient in before.items():
        # float64 has 1.1e-16; sums of fewer than a hundred terms, in a handful of layers, take no thousand of them.
        assert near(given[name], gradient, 1e-13)
        assert all(
            near(one, wanted, 1e-13) for one, wanted in zip(there.factors()[name], here.factors()[name], strict=True)
        )
        assert after[name].device.type == DEVICES[1].type
        inside, outside = (one.cpu() for one in there.factors()[name])
        block = torch.kron(outside, inside)
        expected = solved(block, 0.01, given[name].cpu())
        assert float((after[name].cpu() - expected).norm()) <= solution_error(block, 0.01, given[name].cpu())


def test_a_state_that_was_loaded_to_a_gpu_goes_on() -> None:
    """With the same bits: a generator's state is on the CPU again."""
    settings = replace(EXACT, gradients=Sending(0.3, "random_k"), factors=Sending(0.3, feedback="ef21"))
    model = small_network().to(DEVICES[1])
    kfac = Kfac(model, settings)
    losses_of(model, draw(4, 1, 3, 3).to(DEVICES[1])).mean().backward()
    kfac.step()
    file = BytesIO()
    torch.save(kfac.state_dict(), file)
    file.seek(0)
    resumed = Kfac(model, settings)
    resumed.load_state_dict(torch.load(file, weights_only=True, map_location=DEVICES[1]))
    gradients = []
    for one in (kfac, resumed):
        model.zero_grad()
        losses_of(model, draw(4, 1, 3, 3, seed=2).to(DEVICES[1])).mean().backward()
        (other,) = {kfac, resumed} - {one}
        other.discard()
        one.step()
        gradients.append(vector_of_gradients(model))
    assert torch.equal(*gradients)


def vector_of_gradients(model: nn.Module) -> Tensor:
    return parameters_to_vector([one.grad for one in model.parameters() if one.grad is not None])


@pytest.mark.parametrize("name", SPLIT_RUNS)
def test_split_learning_on_a_gpu_goes_as_on_a_cpu(name: str) -> None:
    data, settings = load_dataset("embedded"), SPLIT_RUNS[name]
    (here, book), (there, other) = (
        split.simulated(settings, data, client_count=2, device=device) for device in DEVICES
    )
    assert other.rows() == book.rows()
    assert there[0].losses == pytest.approx(here[0].losses, rel=TOLERANCE)
    for one, wanted in zip(there, here, strict=True):
        assert one.model.parameters.device.type == "cuda"
        assert near(one.model.parameters, wanted.model.parameters, TOLERANCE)
    # A last bit may make one of the 1,000 held-out images right.
    for rank, facts in here[0].reports.items():
        assert there[0].reports[rank] == pytest.approx(facts, abs=5e-3, nan_ok=True)


@pytest.mark.parametrize("name", FEDERATED_RUNS)
def test_federated_learning_on_a_gpu_goes_as_on_a_cpu(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Opacus may be missing, and has no part in what runs on the GPU.
    monkeypatch.setattr(federated, "epsilon", lambda *_, **__: 1.0)
    data, settings = load_dataset("embedded"), FederatedSettings(**SHORT, **FEDERATED_RUNS[name])
    (here, book), (there, other) = (federated.simulated(settings, 3, data=data, device=device) for device in DEVICES)
    assert other.rows() == book.rows()
    assert len(there.networks) == len(here.networks)
    for one, wanted in zip(there.networks, here.networks, strict=True):
        assert near(vector(one), vector(wanted), TOLERANCE)
    facts = federated.result(settings, data, there, other)
    assert facts["total_bytes"] == book.total()
    assert [row["bytes"] for row in facts["stated"]] == [row["stated_bytes"] for row in facts["stated"]]


def vector(network: nn.Module) -> Tensor:
    return parameters_to_vector(network.parameters()).detach()


@pytest.mark.parametrize("density", [1.0, 0.25])
def test_self_paced_learning_on_a_gpu_goes_as_on_a_cpu(density: float) -> None:
    settings = Settings(rounds=3, features=8, examples=120, batches=4, corrupted_batches=1, density=density)
    here, there = (self_paced_system.run(settings, Party(device=device)) for device in DEVICES)
    # All of it is float64, and least squares are solved to its precision.
    assert there["model"] == pytest.approx(here["model"], rel=1e-8)
    for key in ("selected_count", "step_count", "sent_bytes", "violation_count"):
        assert there[key] == here[key]
