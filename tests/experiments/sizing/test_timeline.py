"""A step is as long as its processor and its one link make it."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.sizing.timeline import Timeline, Work, timeline

# Whole numbers: sums are exact.
seconds = st.integers(0, 9).map(float)
works = st.lists(st.tuples(seconds, seconds, seconds, seconds, seconds), min_size=1, max_size=7).map(
    lambda rows: [Work(str(place), *row) for place, row in enumerate(rows)]
)


def without_gathers(some: list[Work]) -> list[Work]:
    return [replace(work, gather_seconds=0.0) for work in some]


@given(works)
def test_without_gathers_sending_ends_when_the_recursion_says(some: list[Work]) -> None:
    some = without_gathers(some)
    ready, sent = sum(work.forward_seconds for work in some), 0.0
    for work in reversed(some):
        ready += work.backward_seconds + work.select_seconds
        sent = max(ready, sent) + work.exchange_seconds if work.exchange_seconds else sent
    assert timeline(some).step_seconds == max(ready, sent)


@given(works)
def test_neither_processor_nor_link_does_two_things_at_once(some: list[Work]) -> None:
    found = timeline(some)
    for kinds in ({"forward", "backward"}, {"gather", "exchange"}):
        spans = [span for span in found.spans if span.kind in kinds and span.end_seconds > span.start_seconds]
        assert all(before.end_seconds <= after.start_seconds for before, after in pairwise(spans))
    busy = {kind: sum(s.end_seconds - s.start_seconds for s in found.spans if s.kind == kind) for kind in KINDS}
    assert busy["forward"] + busy["backward"] == found.compute_seconds
    assert busy["gather"] + busy["exchange"] == found.link_seconds


KINDS = ("forward", "backward", "gather", "exchange")


def begun(found: Timeline, kind: str) -> dict[str, list[float]]:
    starts: dict[str, list[float]] = {}
    for span in found.spans:
        if span.kind == kind:
            starts.setdefault(span.name, []).append(span.start_seconds)
    return starts


@given(works)
def test_nothing_is_computed_before_it_is_gathered_nor_sent_before_it_is_computed(some: list[Work]) -> None:
    found = timeline(some)
    gathered = {
        work.name: [s.end_seconds for s in found.spans if (s.name, s.kind) == (work.name, "gather")] for work in some
    }
    forward, backward, exchange = (begun(found, kind) for kind in ("forward", "backward", "exchange"))
    for work in some:
        if work.gather_seconds:
            # The last operator of the forward pass is the first of the backward pass, and gathered anew.
            first, second = gathered[work.name]
            assert first <= forward[work.name][0]
            assert second <= backward[work.name][0]
        if work.exchange_seconds:
            done = backward[work.name][0] + work.backward_seconds + work.select_seconds
            assert done <= exchange[work.name][0]


@given(works)
def test_a_step_is_between_the_busier_of_both_and_their_sum(some: list[Work]) -> None:
    found = timeline(some)
    assert max(found.compute_seconds, found.link_seconds) <= found.step_seconds
    assert found.step_seconds <= found.compute_seconds + found.link_seconds
    assert found.exposed_seconds == found.step_seconds - found.compute_seconds


@given(works, st.data())
def test_a_slower_operator_never_makes_a_step_shorter(some: list[Work], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(some) - 1))
    name = data.draw(st.sampled_from(["forward_seconds", "backward_seconds", "select_seconds", "exchange_seconds"]))
    some = without_gathers(some)
    slower = [*some[:place], replace(some[place], **{name: getattr(some[place], name) + 1}), *some[place + 1 :]]
    assert timeline(some).step_seconds <= timeline(slower).step_seconds


def test_a_gather_is_hidden_behind_the_operator_before_it() -> None:
    first, second = Work("a", 3.0, 3.0), Work("b", 1.0, 1.0, gather_seconds=2.0)
    # Forward: b is gathered while a is computed. Backward: nothing is computed meanwhile.
    assert timeline([first, second]).step_seconds == 3 + 1 + 2 + 1 + 3


@pytest.mark.parametrize("wrong", [-1.0, math.inf, math.nan])
def test_seconds_that_are_none_are_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match=f"exchange_seconds of 'a' must be a number that is not negative, got {wrong}"):
        Work("a", 1.0, 1.0, exchange_seconds=wrong)


def test_no_operators_are_refused() -> None:
    with pytest.raises(ValueError, match="a step of no operators is undefined"):
        timeline([])
