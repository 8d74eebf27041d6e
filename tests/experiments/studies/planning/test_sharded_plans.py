"""Plans move where the statements say, and nowhere else; what they are compared with is the best that shards can do."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from typing import Any

import pytest

from sparsync.experiments.planners import osdp
from sparsync.experiments.planners.osdp import Sharding
from sparsync.experiments.studies.planning import sharded_plans
from sparsync.experiments.studies.planning.published_shards import MODELS, published_rows
from sparsync.experiments.studies.planning.sharded_plans import (
    GIVEN,
    INDEX_BYTES,
    SIZES,
    STATE_BYTES,
    VALUE_BYTES,
    Setting,
    case_count,
    curve,
    limits,
    move,
    moving_density,
    network_facts,
    question_of,
    replicated_share,
    run_sharded_plans,
)
from sparsync.experiments.studies.planning.shards_alone import sharded_seconds
from sparsync.verify.tools.pool import Pool
from tests.support.planning import osdp as oracle

GPT = Setting("gpt2", 8, 30.0, 10e9)


def share(setting: Setting, density: float) -> float:
    question = question_of(setting, density)
    return replicated_share(question, osdp.plan(question))


def tried(question: Sharding) -> float:
    """The same, of all slices of each operator and all batches."""
    menus = [
        [way for way in osdp.ways(question, one.parameter_count) if way.kind == osdp.SHARDED]
        for one in question.operators
    ]
    least = math.inf
    for taken in itertools.product(*menus):
        memory = sum(way.state_bytes for way in taken) + max(way.buffer_bytes for way in taken)
        for batch in question.batches:
            if memory + batch * question.activation_bytes <= question.memory_bytes:
                seconds = math.fsum(way.seconds for way in taken) / batch + question.compute_seconds
                least = min(least, seconds / question.device_count)
    return least


def test_shards_alone_are_the_best_of_all_slices_and_batches() -> None:
    numbers, fitted = random.Random(4), 0
    for _ in range(60):
        question = oracle.drawn(numbers, most_operators=3, most_parameters=20)
        question = replace(question, batches=question.batches or (1, 2, 3))
        found = sharded_seconds(question)
        assert found == pytest.approx(tried(question), rel=1e-12)
        fitted += math.isfinite(found)
    assert 10 < fitted < 60


def test_where_every_batch_may_be_chosen_the_largest_is() -> None:
    question = question_of(GPT, 1.0)
    room = question.memory_bytes // question.activation_bytes
    assert sharded_seconds(question) == sharded_seconds(replace(question, batches=tuple(range(1, room + 1))))
    assert sharded_seconds(replace(question, memory_bytes=10_000_000)) == math.inf


def test_at_the_predicted_density_shards_and_replicas_exchange_as_long_a_sample() -> None:
    """Both written out, from passes and bytes; with the most memory dense replicas do so too."""
    for devices, memory in ((2, 21.0), (8, 30.0), (64, 40.0)):
        density = moving_density(memory, devices)
        shards = 3 * VALUE_BYTES / devices / (memory - STATE_BYTES / devices)
        pairs = density * (VALUE_BYTES + INDEX_BYTES) / (memory - STATE_BYTES - osdp.RESIDUAL_BYTES)
        assert pairs == pytest.approx(shards, rel=1e-12)
        most = limits(devices)["most_memory"]
        dense = 2 * VALUE_BYTES / devices / (most - STATE_BYTES)
        assert dense == pytest.approx(3 * VALUE_BYTES / devices / (most - STATE_BYTES / devices), rel=1e-12)


def test_limits_are_where_the_prediction_begins_and_ends() -> None:
    found = limits(8)
    assert (found["least_memory"], found["most_memory"]) == (20, 44)
    assert moving_density(found["least_memory"], 8) == 0
    assert moving_density(19.0, 8) == 0
    assert found["memory"][-1] == found["most_memory"]
    assert found["density"] == sorted(found["density"])


def test_without_latency_a_plan_moves_at_the_predicted_density() -> None:
    """Within the 2 % of the search, and one of ten samples of a batch that is whole."""
    found = move(replace(GPT, latency_seconds=0.0))
    assert found["density"] == pytest.approx(found["predicted"], rel=0.03)


@pytest.mark.parametrize("link", [1e9, 100e9])
def test_without_latency_no_link_moves_it_elsewhere(link: float) -> None:
    setting = replace(GPT, bits_per_second=link, latency_seconds=0.0)
    predicted = moving_density(GPT.memory_per_parameter, GPT.device_count)
    assert share(setting, 1.1 * predicted) < 0.2
    assert share(setting, 0.9 * predicted) > 0.8


def test_with_less_memory_no_density_moves_it_and_with_more_none_is_needed() -> None:
    assert share(replace(GPT, memory_per_parameter=18.0), 1e-4) < 0.25
    assert share(replace(GPT, memory_per_parameter=50.0), 1.0) > 0.9
    stuck = move(replace(GPT, memory_per_parameter=18.0))
    assert stuck["density"] == 0
    assert stuck["predicted"] == 0


def test_with_a_given_batch_residuals_let_fewer_be_replicated() -> None:
    """A replica costs 14 bytes a parameter more than a shard, and 18 with its residual; operators are whole."""
    found = curve(replace(GPT, batch=GIVEN), (1.0, 0.001))
    dense, sparse = found["replicated_share"]
    assert found["batch"][0] == found["batch"][1]
    assert dense == pytest.approx(0.5, abs=0.1)
    assert sparse / dense == pytest.approx(14 / 18, rel=0.05)
    assert 1 < found["gain"][0] < found["gain"][1]


@pytest.mark.parametrize("name", MODELS)
def test_a_plan_of_a_published_model_is_no_slower_than_shards(name: str) -> None:
    found = published_rows(name, (128,), (50e12,), (100e9,))
    assert len(found["rows"]) + found["without_room_count"] == 1
    for row in found["rows"]:
        assert row["gain"]["slices"] >= 1 - 1e-12
        assert row["gain"]["operators"] is None or row["gain"]["operators"] >= row["gain"]["slices"]
        assert row["batch"] >= 1
        assert "plan_seconds" not in row


def test_published_models_are_as_large_as_their_names_say() -> None:
    """Blocks have 12 squares of the width."""
    wanted = {"gpt2_page": 48 * 12 * 2048**2, "gpt2_program": 48 * 12 * 1536**2, "opt": 8 * 12 * 7168**2}
    for name, blocks in wanted.items():
        sizes = MODELS[name].sizes
        assert sizes.layers * (4 * sizes.width**2 + 2 * sizes.width * sizes.hidden) == blocks
    with pytest.raises(KeyError):
        published_rows("gpt3", (128,), (50e12,), (100e9,))


def test_what_is_known_of_a_network_is_that_of_its_operators() -> None:
    found: dict[str, Any] = network_facts("gpt2")
    assert found["parameter_count"] == 124_439_808
    assert found["operator_count"] == len(question_of(GPT, 1.0).operators)


def test_the_study_runs_every_case_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = replace(SIZES["smoke"], windows=())
    monkeypatch.setitem(SIZES, "smoke", tiny)
    monkeypatch.setattr(sharded_plans, "MODELS", {})
    advanced: list[int] = []
    study = run_sharded_plans("smoke", Pool(advance=lambda: advanced.append(1)))
    assert len(advanced) == case_count("smoke")
    assert [row["batch_is"] for row in study["curves"]] == ["free", "given"]
    assert all(min(row["gain"]) >= 1 - 1e-12 for row in study["curves"])
    assert study["predicted_density"] == moving_density(30.0, 8)
    assert [limit["device_count"] for limit in study["limits"]] == [8]


@pytest.mark.parametrize("profile", SIZES)
def test_in_every_profile_both_kinds_of_batch_and_the_drawn_link_are_there(profile: Any) -> None:
    sizes = SIZES[profile]
    assert sizes.given_memory in sizes.memories
    assert sizes.move_link in sizes.links
    assert sizes.densities[0] == 1
    assert list(sizes.densities) == sorted(sizes.densities, reverse=True)
