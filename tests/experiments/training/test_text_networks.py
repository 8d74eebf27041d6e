"""What a text model says of a place depends on what stands up to there, and on no later token."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sparsync.experiments.simulate import simulate
from sparsync.experiments.training.data import Dataset, load_dataset
from sparsync.experiments.training.models import TEXT_MODELS
from sparsync.experiments.training.runs import Run

WINDOW, TOKENS = 12, 20
TOLERANCE = 1e-4
"""Far above rounding of numbers near 1, far below what another token changes."""


def scores(name: str, tokens: Tensor) -> Tensor:
    torch.manual_seed(0)
    with torch.no_grad():
        made: Tensor = TEXT_MODELS[name](WINDOW, TOKENS)(tokens)
    return made


@pytest.mark.parametrize("name", TEXT_MODELS)
@settings(max_examples=15)
@given(place=st.integers(0, WINDOW - 1), seed=st.integers(0, 1000))
def test_another_token_changes_what_is_said_from_its_place_on_and_nothing_before(
    name: str, place: int, seed: int
) -> None:
    tokens = torch.randint(TOKENS, (2, WINDOW), generator=torch.Generator().manual_seed(seed))
    other = tokens.clone()
    other[0, place] = (other[0, place] + 1) % TOKENS
    change = (scores(name, tokens) - scores(name, other)).abs().amax(dim=2)
    assert float(change[0, :place].max() if place else 0.0) < TOLERANCE / 100
    assert float(change[1].max()) < TOLERANCE / 100
    assert float(change[0, place]) > TOLERANCE


@pytest.mark.parametrize("name", TEXT_MODELS)
def test_the_last_place_knows_of_the_first_and_of_the_order(name: str) -> None:
    tokens = torch.arange(WINDOW).view(1, -1)
    swapped = tokens.clone()
    swapped[0, :2] = tokens[0, [1, 0]]
    assert scores(name, tokens).shape == (1, WINDOW, TOKENS)
    last = (scores(name, tokens) - scores(name, swapped))[0, -1]
    assert float(last.abs().max()) > TOLERANCE / 100


def test_gpt_takes_shorter_windows_as_beginnings_of_longer_ones() -> None:
    tokens = torch.arange(WINDOW).view(1, -1)
    assert torch.allclose(scores("gpt", tokens[:, :5]), scores("gpt", tokens)[:, :5], rtol=0, atol=TOLERANCE / 100)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return load_dataset("text")


@pytest.mark.parametrize(("name", "step_size"), [("lstm", 0.4), ("gpt", 0.03)])
def test_losses_of_text_models_fall_and_accuracy_rises(name: str, step_size: float, data: Dataset) -> None:
    """Below what knowing nothing costs: log 256 = 5.5 a byte."""
    run = Run(
        selector="top_k",
        model=name,
        data="text",
        density=0.2,
        batch_size=4,
        steps=8,
        workers=2,
        step_size=step_size,
        momentum=0.9,
        step_location="outside",
        test_limit=8,
    )
    result = simulate(run, data)
    assert result.steps[-1].loss < result.steps[0].loss - 0.5
    assert result.evaluations[-1].test_loss < result.evaluations[0].test_loss - 0.5
    assert result.test_accuracy > result.evaluations[0].test_accuracy
    assert result.test_count == 8
