"""A step of the preconditioner solves with the damped Fisher blocks, exactly as its settings and bytes say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from sparsync.experiments.averaging.envelope import ENVELOPE_BYTES
from sparsync.experiments.averaging.header import HEADER_BYTES
from sparsync.experiments.learning import kfac_factors
from sparsync.experiments.learning.kfac import Kfac
from sparsync.experiments.learning.kfac_layers import find_layers
from sparsync.experiments.learning.kfac_settings import SCHEMES, KfacSettings, Scheme, Sending
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.learning.curvature_bytes import largest_basis_share, largest_gradient_share, triangle
from tests.support.kfac_cases import (
    EXACT,
    LAYERS,
    draw,
    empirical_fisher,
    inputs_of,
    losses_of,
    seeded,
    small_network,
    solution_error,
    solved,
    step_once,
)

WORKERS = 3


def trained(
    settings: KfacSettings,
    steps: int = 5,
    workers: int = WORKERS,
    kfac: Kfac | None = None,
    model: nn.Module | None = None,
) -> tuple[nn.Module, Kfac]:
    """A few steps of the small network with several workers in this process, each on batches of its own."""
    model = small_network() if model is None else model
    kfac = Kfac(model, settings, ranks=range(WORKERS)) if kfac is None else kfac
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    for step in range(kfac.step_count, kfac.step_count + steps):
        optimizer.zero_grad()
        for worker in range(WORKERS):
            losses_of(model, draw(4, 1, 3, 3, seed=100 * step + worker)).mean().backward()
            kfac.collect()
        kfac.step()
        optimizer.step()
    return model, kfac


def parameters_of(model: nn.Module) -> Tensor:
    return torch.cat([one.detach().flatten() for one in model.parameters()])


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")
def test_a_step_solves_with_the_damped_kronecker_product(name: str, scheme: Scheme) -> None:
    model = nn.Sequential(seeded(LAYERS[name]))
    before, after, kfac = step_once(
        model, losses_of, inputs_of(model.get_submodule("0"), 5), replace(EXACT, scheme=scheme)
    )
    inside, outside = kfac.factors()["0"]
    block = torch.kron(outside, inside)
    expected = solved(block, 0.01, before["0"])
    assert float((after["0"] - expected).norm()) <= solution_error(block, 0.01, before["0"])
    assert float((after["0"] - before["0"]).norm()) > 0.1


@pytest.mark.parametrize("bias", [True, False])
def test_a_step_on_one_example_solves_with_its_dense_fisher_blocks(bias: bool) -> None:
    model = nn.Sequential(
        seeded(lambda: nn.Conv2d(1, 2, 3, bias=bias)),
        nn.Flatten(),
        nn.Tanh(),
        seeded(lambda: nn.Linear(2, 3, bias=bias)),
    )
    image = draw(1, 1, 3, 3)
    blocks = empirical_fisher(model, losses_of(model, image))
    before, after, _ = step_once(model, losses_of, image)
    for name, block in blocks.items():
        expected = solved(block, 0.01, before[name])
        assert float((after[name] - expected).norm()) <= solution_error(block, 0.01, before[name])


def test_a_step_on_independent_inputs_and_output_gradients_solves_with_the_dense_fisher_matrix() -> None:
    """All pairs of five inputs and four gradients: no factor is singular, nor a multiple of a projection."""
    model = nn.Sequential(seeded(lambda: nn.Linear(4, 3)))
    inputs, slopes = draw(5, 4).repeat_interleave(4, dim=0), draw(4, 3, seed=2).repeat(5, 1)

    def losses(one: nn.Module, given: Tensor) -> Tensor:
        outputs: Tensor = one(given) * slopes
        return outputs.sum(dim=1)

    (block,) = empirical_fisher(model, losses(model, inputs)).values()
    before, after, _ = step_once(model, losses, inputs)
    expected = solved(block, 0.01, before["0"])
    assert float((after["0"] - expected).norm()) <= solution_error(block, 0.01, before["0"])


def test_the_mean_and_the_sum_of_losses_have_the_same_curvature() -> None:
    model = nn.Sequential(seeded(lambda: nn.Linear(4, 3)))
    _, _, by_mean = step_once(model, losses_of, draw(5, 4))
    _, _, by_sum = step_once(model, losses_of, draw(5, 4), replace(EXACT, loss_reduction="sum"))
    for one, other in zip(by_mean.factors()["0"], by_sum.factors()["0"], strict=True):
        # Sums of five products below 64 in other orders.
        assert float((one - other).abs().max()) <= 10 * 2.0**-53 * 64


def test_running_means_keep_the_decay_of_the_old_and_decompositions_wait_for_their_period() -> None:
    """At step 1 the means move, and the gradient still meets the decompositions of step 0."""
    model = nn.Sequential(seeded(lambda: nn.Linear(4, 3)))
    kfac = Kfac(model, replace(EXACT, decay=0.75, decomposition_period=2))
    seen = []
    for step in range(3):
        model.zero_grad()
        batch = draw(5, 4, seed=step)
        _, _, fresh = step_once(nn.Sequential(seeded(lambda: nn.Linear(4, 3))), losses_of, batch)
        losses_of(model, batch).mean().backward()
        gradient = find_layers(model)[0][0].matrix()
        kfac.step()
        seen.append((fresh.factors()["0"], kfac.factors()["0"], gradient, find_layers(model)[0][0].matrix()))
    for side in (0, 1):
        assert torch.equal(seen[0][1][side], seen[0][0][side])
        assert torch.equal(seen[1][1][side], 0.75 * seen[0][1][side] + 0.25 * seen[1][0][side])
        assert torch.equal(seen[2][1][side], 0.75 * seen[1][1][side] + 0.25 * seen[2][0][side])
    for step, decomposed_at in enumerate([0, 0, 2]):
        block = torch.kron(seen[decomposed_at][1][1], seen[decomposed_at][1][0])
        _, _, gradient, found = seen[step]
        assert float((found - solved(block, 0.01, gradient)).norm()) <= solution_error(block, 0.01, gradient)


def test_schedules_are_asked_for_the_step() -> None:
    asked: list[int] = []

    def damping(step: int) -> float:
        asked.append(step)
        return 0.01 * 2.0**-step

    settings = replace(EXACT, damping=damping, factor_period=lambda step: 1 + step)
    trained(settings, steps=3)
    assert asked == [0, 1, 2]
    assert settings.at(2).damping == 0.0025
    with pytest.raises(ValueError, match="factor_period must be a whole number of at least 1, got 0"):
        trained(replace(EXACT, factor_period=lambda _: 0))


def test_both_schemes_have_the_same_bits() -> None:
    kinds = {scheme: trained(replace(EXACT, scheme=scheme, decomposition_period=2, clip=1e-3)) for scheme in SCHEMES}
    first, second = (parameters_of(model) for model, _ in kinds.values())
    assert torch.equal(first, second)


def test_workers_in_turn_are_one_batch_where_nothing_depends_on_it() -> None:
    """Gradients and factors of three workers are those of one with all examples, but for roundings."""
    model = nn.Sequential(seeded(lambda: nn.Linear(4, 3)))
    kfac = Kfac(model, EXACT, ranks=range(WORKERS))
    batches = [draw(4, 4, seed=worker) for worker in range(WORKERS)]
    for batch in batches:
        losses_of(model, batch).mean().backward()
        kfac.collect()
    kfac.step()
    found = find_layers(model)[0][0].matrix()
    model.zero_grad()
    before, after, whole = step_once(model, losses_of, torch.cat(batches))
    for one, other in zip(kfac.factors()["0"], whole.factors()["0"], strict=True):
        assert float((one - other).abs().max()) <= 24 * 2.0**-53 * 64
    inside, outside = whole.factors()["0"]
    block = torch.kron(outside, inside)
    # Factors that are off by a rounding move the solution as a rounding of the solver does.
    assert float((found - after["0"]).norm()) <= solution_error(block, 0.01, before["0"])


SENDINGS: dict[str, dict[str, Any]] = {
    "whole": {},
    "sparse gradients": {"gradients": Sending(0.3)},
    "sparse factors": {"factors": Sending(0.3)},
    "both": {"gradients": Sending(0.3, "random_k", "ef21"), "factors": Sending(0.3, "top_k", "ef21")},
}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", SENDINGS)
def test_a_run_that_goes_on_has_the_bits_of_one_that_was_not_interrupted(name: str, scheme: Scheme) -> None:
    """Between two decompositions, and with a state that went through a file."""
    settings = replace(EXACT, scheme=scheme, factor_period=2, decomposition_period=4, clip=1e-3, **SENDINGS[name])
    whole, kfac = trained(settings, steps=7)
    model, begun = trained(settings, steps=3)
    state = torch_copy(begun.state_dict())
    again = small_network()
    again.load_state_dict(model.state_dict())
    resumed = Kfac(again, settings, ranks=range(WORKERS))
    resumed.load_state_dict(state)
    trained(settings, steps=4, kfac=resumed, model=again)
    assert torch.equal(parameters_of(again), parameters_of(whole))
    assert resumed.sent_bytes == kfac.sent_bytes
    assert resumed.step_count == 7


def torch_copy(state: dict[str, Any]) -> dict[str, Any]:
    """Through bytes, as a checkpoint goes."""
    file = BytesIO()
    torch.save(state, file)
    file.seek(0)
    found: dict[str, Any] = torch.load(file, weights_only=True)
    return found


def test_a_state_of_other_layers_or_fewer_workers_is_refused() -> None:
    settings = replace(EXACT, gradients=Sending(0.3))
    _, kfac = trained(settings, steps=1)
    state = kfac.state_dict()
    with pytest.raises(ValueError, match=r"the state is of the layers .*'4', 8, 3.* the model has "):
        Kfac(nn.Linear(2, 2)).load_state_dict(state)
    for count in (2, 4):
        # EF21's average would keep what a lost worker has sent.
        with pytest.raises(ValueError, match=f"the state has memories of 3 workers, and there are {count}"):
            Kfac(small_network(), settings, ranks=range(count)).load_state_dict(state)
    before = torch_copy(kfac.state_dict())
    del state["gradients"][2]
    with pytest.raises(ValueError, match=r"no memory of the gradients of workers \[2\]; there is one of \[0, 1\]"):
        kfac.load_state_dict(state)
    assert str(kfac.state_dict()) == str(before)
    _, whole = trained(EXACT, steps=1)
    Kfac(small_network(), EXACT, ranks=range(2)).load_state_dict(whole.state_dict())


def test_generators_go_on_wherever_a_file_was_loaded_to() -> None:
    """`torch.load(map_location="cuda")` moves their states too."""
    settings = replace(EXACT, gradients=Sending(0.3, "random_k"))
    _, kfac = trained(settings, steps=1)
    state = kfac.state_dict()
    for worker in state["gradients"].values():
        worker["generator"] = SimpleNamespace(cpu=lambda found=worker["generator"]: found)
    resumed = Kfac(small_network(), settings, ranks=range(WORKERS))
    resumed.load_state_dict(state)
    assert str(resumed.state_dict()) == str(kfac.state_dict())


def closed_form(layers: list[tuple[int, int]], parameters: int, workers: int, kind: KfacSettings) -> dict[str, float]:
    """Bytes of a step by the statements, without headers."""
    facts: dict[str, object] = {
        "n": workers,
        "parameter_count": parameters,
        "triangle_entries": sum(triangle(size) for layer in layers for size in layer),
        "factor_period": kind.factor_period,
    }
    shares: dict[str, dict[str, object]] = {
        "kfac_everyone_bytes": {
            "basis_entries": largest_basis_share(layers, workers),
            "decomposition_period": kind.decomposition_period,
        },
        "kfac_owners_bytes": {"owned_entries": largest_gradient_share(layers, workers)},
    }
    return {label: STATEMENTS[label].evaluate(**facts, **share) for label, share in shares.items()}


@settings(max_examples=15)
@given(
    widths=st.lists(st.integers(1, 6), min_size=2, max_size=5),
    workers=st.integers(1, 4),
    periods=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    has_bias=st.booleans(),
    scheme=st.sampled_from(get_args(Scheme)),
)
def test_bytes_are_those_of_the_statements(
    widths: list[int], workers: int, periods: tuple[int, int], has_bias: bool, scheme: Scheme
) -> None:
    model = nn.Sequential(*(nn.Linear(a, b, bias=has_bias) for a, b in pairwise(widths)))
    kind = KfacSettings(scheme=scheme, factor_period=periods[0], decomposition_period=periods[1])
    kfac = Kfac(model, kind, ranks=range(workers))
    steps = periods[0] * periods[1]
    for _ in range(steps):
        for worker in range(workers):
            model(torch.ones(2, widths[0]) + worker).square().mean().backward()
            kfac.collect()
        kfac.step()
    headers = {
        "gradients": steps,
        "factors": periods[1],
        "decompositions": periods[0] * (scheme == "everyone"),
        "preconditioned": steps * (scheme == "owners"),
    }
    bare = {name: kfac.sent_bytes[name] - ENVELOPE_BYTES * workers * calls for name, calls in headers.items()}
    count = sum(one.numel() for one in model.parameters())
    stated = closed_form(kfac.layer_sizes, count, workers, kind)[f"kfac_{scheme}_bytes"]
    assert sum(bare.values()) == round(stated * steps)
    assert kfac.sent_bytes["agreement"] == HEADER_BYTES * workers * steps


def test_owners_may_send_more_at_every_second_step_where_shares_are_uneven() -> None:
    """One layer on two workers: each decomposes a factor, and only one preconditions."""
    sent = {}
    for scheme in SCHEMES:
        model = nn.Linear(64, 64, bias=False)
        kfac = Kfac(model, KfacSettings(scheme=scheme, factor_period=1, decomposition_period=2), ranks=range(2))
        for _ in range(2):
            for _ in range(2):
                model(torch.ones(1, 64)).square().mean().backward()
                kfac.collect()
            kfac.step()
        sent[scheme] = sum(size for name, size in kfac.sent_bytes.items() if name != "agreement") / 2
    envelopes = {"everyone": 2.5, "owners": 3}
    bare = {scheme: size - 2 * ENVELOPE_BYTES * envelopes[scheme] for scheme, size in sent.items()}
    common = 64 * 64 + 64 * 65
    assert bare == {"everyone": 8 * (common + 64 * 65 / 2), "owners": 8 * (common + 64 * 64)}
    assert sent["everyone"] < sent["owners"]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_who_owns_what_changes_no_bit(scheme: Scheme, monkeypatch: pytest.MonkeyPatch) -> None:
    def all_to_the_last(costs: Sequence[int], worker_count: int) -> list[list[int]]:
        return [*([] for _ in range(worker_count - 1)), list(range(len(costs)))]

    settings = replace(EXACT, scheme=scheme, clip=1e-3)
    dealt, kfac = trained(settings, steps=2)
    monkeypatch.setattr(kfac_factors, "shares_of", all_to_the_last)
    gathered, other = trained(settings, steps=2)
    assert other.sent_bytes != kfac.sent_bytes
    assert torch.equal(parameters_of(dealt), parameters_of(gathered))


def test_selected_factors_cost_what_their_entries_do() -> None:
    _, kfac = trained(replace(EXACT, factors=Sending(0.25), gradients=Sending(0.1)), steps=1)
    entries = sum(triangle(size) for layer in kfac.layer_sizes for size in layer)
    # A double and an int32 each.
    assert kfac.sent_bytes["factors"] == WORKERS * (ENVELOPE_BYTES + 12 * round(0.25 * entries))
    count = parameters_of(small_network()).numel()
    assert kfac.sent_bytes["gradients"] == WORKERS * (ENVELOPE_BYTES + 12 * round(0.1 * count))


def test_factors_of_which_half_is_sent_make_finite_steps_although_they_are_not_positive() -> None:
    _, kfac = trained(replace(EXACT, factors=Sending(0.5)), steps=1)
    least = min(float(torch.linalg.eigvalsh(one).min()) for pair in kfac.factors().values() for one in pair)
    assert least < -1e-3
    model, _ = trained(replace(EXACT, factors=Sending(0.5)), steps=5)
    assert bool(parameters_of(model).isfinite().all())


def test_other_parameters_get_the_plain_mean() -> None:
    model = small_network()
    kfac = Kfac(model, EXACT, ranks=range(2))
    plain = []
    for worker in range(2):
        losses_of(model, draw(4, 1, 3, 3, seed=worker)).mean().backward()
        plain.append([one.grad.clone() for one in model.get_submodule("1").parameters() if one.grad is not None])
        kfac.collect()
    kfac.step()
    assert set(kfac.plain) == {"1.weight", "1.bias"}
    for one, first, second in zip(model.get_submodule("1").parameters(), *plain, strict=True):
        assert torch.equal(one.grad, (first + second) / 2)


def test_clipping_scales_all_layers_alike() -> None:
    free, clipped = (trained(replace(EXACT, clip=clip), steps=1)[0] for clip in (None, 1e-6))
    ratios = []
    for one, other in zip(free.parameters(), clipped.parameters(), strict=True):
        assert one.grad is not None
        assert other.grad is not None
        ratios.append(float(other.grad.flatten()[0] / one.grad.flatten()[0]))
    convolution, _, scale, shift, *linear = ratios
    assert scale == shift == 1
    assert convolution < 1
    assert all(math.isclose(ratio, convolution, rel_tol=4 * 2.0**-52) for ratio in linear)
