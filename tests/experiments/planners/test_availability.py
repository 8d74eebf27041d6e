"""Predictions from looks, kept by class: the same as by looking at everybody, and drawn with their probabilities."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter, defaultdict, deque
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.planners.availability import GONE, IDLE, LOST, WAITED, Availability
from sparsync.experiments.planners.sampling import inclusion_probabilities

WORKERS = 6
LOOKS = st.lists(st.dictionaries(st.integers(0, WORKERS - 1), st.sampled_from([IDLE, WAITED, GONE, LOST])), max_size=20)


class Chosen(random.Random):
    """A start that is chosen; of a class, the first."""

    def __init__(self, start: float) -> None:
        super().__init__(0)
        self.start = start

    def random(self) -> float:
        return self.start

    def sample(self, population: Sequence[int], k: int, **_: object) -> list[int]:  # type: ignore[override]
        return list(population[:k])


def looked_at(window: int, looks: Sequence[dict[int, str]]) -> tuple[Availability, list[float], list[str]]:
    """After these changes: what is kept by class, the predictions by everybody's flags, and how all are now."""
    kept = Availability(WORKERS, window, 0.5)
    now = [IDLE] * WORKERS
    flags: list[deque[str]] = [deque(maxlen=window) for _ in range(WORKERS)]
    for number, changes in enumerate([{}, *looks]):
        for worker, status in changes.items():
            now[worker] = status
        kept.look(enumerate(now) if number == 0 else changes.items())
        for worker, status in enumerate(now):
            flags[worker].append(status)
    predictions = []
    for seen in flags:
        there = sum(status in (IDLE, WAITED) for status in seen) / len(seen)
        idle = sum(status in (IDLE, GONE) for status in seen) / len(seen)
        predictions.append(there * idle + (1 - there * idle) * 0.5)
    return kept, predictions, now


@given(st.integers(1, 6), LOOKS, st.integers(0, WORKERS), st.integers(0, WORKERS - 1))
def test_predictions_and_probabilities_are_those_of_a_look_at_everybody(
    window: int, looks: list[dict[int, str]], count: int, hidden: int
) -> None:
    kept, predictions, now = looked_at(window, looks)
    # Six roundings of numbers up to 1.
    assert [kept.prediction(worker) for worker in range(WORKERS)] == pytest.approx(predictions, abs=6 * 2**-52)
    others = [worker for worker in range(WORKERS) if worker != hidden and now[worker] in (IDLE, WAITED)]
    expected = inclusion_probabilities([predictions[worker] for worker in others], count)
    # Sums in another order, of predictions as exact as above.
    expected_by_worker = dict(zip(others, expected, strict=True))
    assert kept.inclusion(count, [hidden]) == pytest.approx(expected_by_worker, abs=1e-14)


@given(st.integers(1, 6), LOOKS, st.integers(0, WORKERS), st.integers(0, WORKERS - 1))
def test_over_all_starts_everybody_is_drawn_as_often_as_the_probability_says(
    window: int, looks: list[dict[int, str]], count: int, hidden: int
) -> None:
    kept, predictions, _ = looked_at(window, looks)
    chances = kept.inclusion(count, [hidden])
    # What is drawn changes where a start meets the fractional part of a partial sum, which are in the dict's order.
    edges = sorted({0.0, 1.0, *(total % 1 for total in itertools.accumulate(chances.values()))})
    shares = defaultdict[int, float](float)
    for begin, end in ((begin, end) for begin, end in itertools.pairwise(edges) if end - begin > 1e-12):
        drawn = kept.sample(count, [hidden], Chosen((begin + end) / 2))
        assert len(set(drawn)) == len(drawn) == min(count, len(chances))
        for worker in drawn:
            shares[worker] += end - begin
    assert set(shares) <= set(chances)
    # Within a class the first stand for all: its members' shares sum to theirs. Left out are 8 pieces of 1e-12.
    for value in {(predictions[worker], kept.prediction(worker)) for worker in chances}:
        alike = [worker for worker in chances if (predictions[worker], kept.prediction(worker)) == value]
        assert sum(shares[worker] for worker in alike) == pytest.approx(sum(chances[w] for w in alike), abs=1e-11)


def test_random_samples_hold_each_as_often_as_its_probability_says() -> None:
    looks: list[dict[int, str]] = [{1: WAITED}, {2: WAITED}, {3: GONE}, {1: IDLE}, {3: IDLE, 4: WAITED}]
    kept, _, _ = looked_at(5, looks)
    numbers, draw_count = random.Random(3), 20_000
    counts = Counter(worker for _ in range(draw_count) for worker in kept.sample(2, [0], numbers))
    chances = kept.inclusion(2, [0])
    assert len(set(chances.values())) == 5
    for worker, chance in chances.items():
        # Four standard deviations; the draws are independent.
        assert abs(counts[worker] - draw_count * chance) <= 4 * math.sqrt(draw_count * chance * (1 - chance))


def test_of_equally_likely_ones_every_subset_is_drawn_as_often() -> None:
    kept, _, _ = looked_at(5, [])
    numbers, draw_count = random.Random(5), 6000
    drawn = Counter(frozenset(kept.sample(2, [0], numbers)) for _ in range(draw_count))
    assert len(drawn) == 10
    # Four standard deviations of a count with probability 1/10.
    assert all(abs(count - 600) <= 4 * math.sqrt(600 * 9 / 10) for count in drawn.values())


def test_a_first_look_that_leaves_somebody_out_is_refused() -> None:
    with pytest.raises(ValueError, match=r"all workers, got \[1\]"):
        Availability(2, 5, 0.5).look([(1, IDLE)])
