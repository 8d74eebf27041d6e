"""Layers that are split are sent in pieces, and measured as the layers that they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.layout import split_layers
from sparsync.experiments.engine.replay import Replay
from sparsync.experiments.policies.osp import REGULAR
from sparsync.experiments.racing.contest import QUADRATIC, Race, run_contestant
from sparsync.experiments.racing.entries import Parameter, make_policy
from sparsync.verify.monitors.trace import Event, Sent, Stepped, StepStatistics

RACE = Race(data=QUADRATIC, seconds=20.0, workers=4, points=1, cluster="exponential")
LAYERS, LARGEST = 4, 3
"""Of eight entries each; so there are three pieces of a layer."""


@given(sizes=st.lists(st.integers(0, 60), max_size=6), largest=st.integers(1, 70))
def test_a_layer_becomes_the_fewest_nearly_equal_pieces_that_fit(sizes: list[int], largest: int) -> None:
    pieces = list(split_layers(sizes, largest))
    for size in sizes:
        count = max(1, math.ceil(size / largest))
        own, pieces = pieces[:count], pieces[count:]
        assert sum(own) == size
        assert max(own) - min(own) <= 1
        assert max(own) <= largest
    assert not pieces
    assert split_layers(sizes, None) == tuple(sizes)


@pytest.mark.parametrize(("largest", "fault"), [(0, "at least 1, got 0"), (2.5, "an int, got 2.5")])
def test_a_block_holds_a_number_of_entries(largest: Any, fault: str) -> None:
    with pytest.raises(ValueError, match=f"^largest_block must be {fault}$"):
        Descent(largest_block=largest)
    with pytest.raises(ValueError, match=f"^largest_block must be {fault}$"):
        split_layers((3,), largest)


def measured(trace: Sequence[Event]) -> list[StepStatistics]:
    return [event.statistics for event in trace if isinstance(event, Stepped)]


def without_pieces(trace: Sequence[Event]) -> list[Event]:
    return [
        event._replace(statistics=event.statistics._replace(piece_norms=(), piece_scores=()))
        if isinstance(event, Stepped)
        else event
        for event in trace
    ]


@pytest.mark.parametrize("name", ["selsync", "bsp", "asp"])
def test_who_sends_whole_models_does_the_same_whatever_is_split(name: str) -> None:
    """SelSync measures layers; their norms and scores are the same bits."""
    whole, split = (run_contestant(replace(RACE, largest_block=largest), name).trace for largest in (None, LARGEST))
    assert without_pieces(split) == whole
    assert {statistics.piece_norms for statistics in measured(whole)} == {()}
    for statistics in measured(split):
        assert len(statistics.block_norms) == len(statistics.block_scores) == LAYERS
        assert len(statistics.piece_norms) == len(statistics.piece_scores) == 3 * LAYERS
        for layer in range(LAYERS):
            own = slice(3 * layer, 3 * layer + 3)
            assert math.hypot(*statistics.piece_norms[own]) == pytest.approx(statistics.block_norms[layer])
            assert math.fsum(statistics.piece_scores[own]) == pytest.approx(statistics.block_scores[layer])


@pytest.mark.parametrize(("largest", "deferred"), [(None, (0.013, 0.015)), (1000, (0.45, 0.5))])
def test_osp_defers_its_share_of_a_network_if_the_first_layer_is_split(
    largest: int | None, deferred: tuple[float, float]
) -> None:
    """Of FNN-2 one layer holds 98.6 % of all entries."""
    race = Race(data="embedded", model="fnn2", seconds=6.0, workers=2, points=1, cluster="equal", largest_block=largest)
    outcome = run_contestant(race, "osp")
    late = [event for event in outcome.trace if isinstance(event, Sent) and event.tag != REGULAR]
    share = sum(event.sent_bytes for event in late) / (len(late) * sum(outcome.layout.block_bytes))
    assert len(late) > 6
    assert deferred[0] < share <= deferred[1]


@pytest.mark.parametrize("importance", ["score", "norm"])
def test_osp_goes_by_the_importance_of_pieces(importance: str) -> None:
    """Of the last round: the least important by what all measured there; a replay of the trace decides the same."""
    parameters: dict[str, Parameter] = {"importance": importance}
    outcome = run_contestant(replace(RACE, largest_block=LARGEST, seconds=40.0), "osp", parameters)
    late = [event for event in outcome.trace if isinstance(event, Sent) and event.tag != REGULAR]
    assert len({event.blocks for event in late}) > 2
    assert any(len({block // 3 for block in event.blocks or ()}) == LAYERS for event in late)
    sizes = outcome.layout.block_bytes
    replay = Replay(make_policy("osp", parameters), outcome.header, outcome.trace, block_bytes=sizes, seed=0)
    assert replay.run() == len(outcome.trace)
