"""Messages hold every parameter once, and all ways of sending take the same seconds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy
import pytest
import torch

from sparsync.experiments.planners.layer_density import arrival
from sparsync.experiments.studies.planning import density_rates, layer_densities
from sparsync.experiments.studies.planning.layer_densities import (
    BITS_PER_SECOND,
    SETUPS,
    WORKER_COUNT,
    Floats,
    Message,
    Sizes,
    common_density,
    compared,
    messages_of,
    question_of,
    share_left_out,
    whole_count,
)
from sparsync.experiments.training.models import FlatModel
from sparsync.verify.tools.pool import Pool

TINY = Sizes(("fnn3",), planned_step=1, later_step=2, seed_count=2, dimension=500)
SLOW_LINKS = BITS_PER_SECOND[:2]
"""On which not all entries are in time."""
SECONDS = (2e-3, 1e-3, 4e-3)
LENGTHS = (3000, 500, 2000)


def messages() -> list[Message]:
    return [
        Message((str(place),), seconds, (slice(sum(LENGTHS[:place]), sum(LENGTHS[: place + 1])),))
        for place, seconds in enumerate(SECONDS)
    ]


def squares(seed: int = 0) -> list[Floats]:
    """Layers of unlike energy."""
    numbers = numpy.random.default_rng(seed)
    return [
        numpy.sort((scale * numbers.laplace(size=length)) ** 2)[::-1]
        for scale, length in zip((1.0, 9.0, 3.0), LENGTHS, strict=True)
    ]


@pytest.fixture(scope="module")
def study() -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(layer_densities.SIZES, "smoke", TINY)
        patch.setattr(density_rates, "LINK_RATIOS", (1.0,))
        advanced = []
        found = layer_densities.run_layer_densities("smoke", Pool(advance=lambda: advanced.append(1)))
        assert len(advanced) == layer_densities.case_count("smoke") == TINY.seed_count
    return found


@pytest.mark.parametrize("model", SETUPS)
def test_every_parameter_is_in_one_message(model: str) -> None:
    setup = SETUPS[model]
    data = layer_densities._data(setup.data)
    network = FlatModel(
        model,
        feature_count=data.feature_count,
        class_count=data.class_count,
        seed=0,
        image_shape=data.image_shape if data.kind == "images" else None,
    )
    found = messages_of(setup)
    covered = torch.zeros_like(network.parameters)
    for message in found:
        assert message.names
        for place in message.places:
            covered[place] += 1
    assert bool((covered == 1).all())


def test_a_message_s_squares_are_those_of_its_entries_the_largest_first() -> None:
    gradient = torch.tensor([3.0, -1.0, 2.0, -5.0])
    assert Message(("a",), 1.0, (slice(0, 1), slice(3, 4))).squares(gradient).tolist() == [25.0, 9.0]


def test_what_is_left_out_is_what_is_not_among_the_largest() -> None:
    assert share_left_out([numpy.array([4.0, 1.0]), numpy.array([3.0, 2.0])], [1, 2]) == 0.1


@pytest.mark.parametrize("rate", SLOW_LINKS)
def test_the_common_density_is_the_largest_that_is_in_time(rate: float) -> None:
    question = question_of(messages(), squares(), rate)
    density, counts = common_density(question)
    assert arrival(question, counts) <= question.budget
    more = [min(length, int((density + 1e-9) * length) + 1) for length in reversed(LENGTHS)]
    assert arrival(question, more) > question.budget


@pytest.mark.parametrize("rate", SLOW_LINKS)
def test_the_whole_vector_is_sent_in_the_seconds_that_are_not_hidden(rate: float) -> None:
    question = question_of(messages(), squares(), rate)
    count = whole_count(question)
    sent = question.ready_seconds[-1] + question.message_seconds
    assert sent + count * question.entry_seconds <= question.budget < sent + (count + 1) * question.entry_seconds


def test_the_exchange_may_last_a_share_of_the_step_beyond_the_backward_pass() -> None:
    question = question_of(messages(), squares(), 1e9)
    step = Fraction(3, 2) * question.ready_seconds[-1]
    assert float(question.budget - question.ready_seconds[-1]) == pytest.approx(0.1 * float(step), rel=1e-12)
    assert question.entry_bytes == 8 * (WORKER_COUNT - 1)


@pytest.mark.parametrize("rate", SLOW_LINKS)
def test_planned_densities_leave_out_less_than_one_for_all_of_unlike_layers(rate: float) -> None:
    found = compared(messages(), squares(), [squares(1)], rate)
    left_out = found["left_out"]
    assert left_out["free"] <= left_out["layers"] < left_out["one"]
    assert left_out["layers"] < left_out["whole"]
    assert set(found["later_left_out"]) == {"layers", "one", "whole", "free"}


def test_a_link_on_which_not_even_an_entry_of_each_is_in_time_is_said_to_be_one() -> None:
    found = compared(messages(), squares(), [squares(1)], 1.0)
    assert found["densities"] is None
    assert found["left_out"] is None


def test_runs_are_paired_by_seed_and_differ_between_them(study: dict[str, Any]) -> None:
    first, second = study["runs"]
    assert (first["seed"], second["seed"]) == (0, 1)
    assert [link["bits_per_second"] for link in first["links"]] == list(BITS_PER_SECOND)
    assert first["links"][0]["left_out"] != second["links"][0]["left_out"]
    assert sum(message["size"] for message in study["messages"]["fnn3"]) == 199_210
