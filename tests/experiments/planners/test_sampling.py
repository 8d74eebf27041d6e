"""Samples of a fixed size with given probabilities: exact on every class, whatever the sizes, ties and roundings."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.planners.sampling import inclusion_probabilities, inclusion_scale, systematic_counts

WEIGHTS = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=8)
CLASSES = st.lists(
    st.tuples(st.fractions(Fraction(1, 9), 1, max_denominator=9), st.integers(1, 5)), min_size=1, max_size=6
)


@given(WEIGHTS, st.integers(0, 9))
def test_inclusion_probabilities_are_cut_weights_that_sum_to_the_sample_size(weights: list[float], count: int) -> None:
    found = inclusion_probabilities(weights, count)
    size = min(count, len(weights))
    # n roundings of numbers up to the sample size.
    assert math.fsum(found) == pytest.approx(size, abs=1e-14 * (1 + size))
    assert all(0 <= probability <= 1 for probability in found)
    scales = [probability / weight for weight, probability in zip(weights, found, strict=True)]
    for scale, probability in zip(scales, found, strict=True):
        assert scale == pytest.approx(max(scales)) or probability == pytest.approx(1)


@given(st.lists(st.tuples(st.floats(1e-3, 1e3), st.integers(0, 4)), min_size=1, max_size=6), st.integers(0, 12))
def test_a_class_has_the_probabilities_of_its_members(classes: list[tuple[float, int]], count: int) -> None:
    weights, sizes = [weight for weight, _ in classes], [size for _, size in classes]
    scale = inclusion_scale(weights, sizes, count)
    members = [weight for weight, size in classes for _ in range(size)]
    # Sums in another order: a rounding for each of at most 24.
    assert inclusion_probabilities(members, count) == pytest.approx(
        [min(1.0, scale * weight) for weight in members], rel=24 * 2**-52
    )


@pytest.mark.parametrize(("weights", "count"), [([1e-200, 1.0, 1e-200], 1), ([1e200, 1.0, 1e200], 2)])
def test_weights_that_vanish_beside_others_leave_them_certain(weights: list[float], count: int) -> None:
    found = inclusion_probabilities(weights, count)
    assert sorted(found)[-count:] == [1.0] * count
    assert max(sorted(found)[:-count]) <= 1e-199


@given(CLASSES, st.data())
def test_a_class_gives_its_share_exactly_and_never_one_more_or_less(
    classes: list[tuple[Fraction, int]], data: st.DataObject
) -> None:
    present, total = sum(size for _, size in classes), sum(weight * size for weight, size in classes)
    count = data.draw(st.integers(0, present))
    shares = [_mixed(weight, Fraction(total), present, count) for weight, _ in classes]
    sizes = [size for _, size in classes]
    assert sum((share * size for share, size in zip(shares, sizes, strict=True)), Fraction(0)) == count
    # What is drawn changes only where a start meets the fractional part of a partial sum: integrate piece by piece.
    ends = itertools.accumulate((share * size for share, size in zip(shares, sizes, strict=True)), initial=Fraction(0))
    edges = sorted({Fraction(0), Fraction(1), *(end % 1 for end in ends)})
    means = [Fraction(0)] * len(classes)
    for begin, end in itertools.pairwise(edges):
        counts = systematic_counts(shares, sizes, count, (begin + end) / 2)
        assert sum(counts) == count
        for place, here in enumerate(counts):
            assert abs(here - shares[place] * sizes[place]) < 1
            means[place] += here * (end - begin)
    assert means == [share * size for share, size in zip(shares, sizes, strict=True)]


def _mixed(weight: Fraction, total: Fraction, present: int, count: int) -> Fraction:
    """A probability that increases with the weight where there is room, of mean count/present."""
    mean, room = Fraction(count, present), min(Fraction(count, present), 1 - Fraction(count, present))
    return mean + room * (weight - total / present)


@given(st.lists(st.tuples(st.floats(1e-3, 1), st.integers(1, 50)), min_size=1, max_size=9), st.data())
def test_no_rounding_draws_too_many_or_too_few(classes: list[tuple[float, int]], data: st.DataObject) -> None:
    weights, sizes = [weight for weight, _ in classes], [size for _, size in classes]
    count = data.draw(st.integers(0, sum(sizes)))
    scale = inclusion_scale(weights, sizes, count)
    shares = [min(1.0, scale * weight) for weight in weights]
    edges = [end % 1 for end in itertools.accumulate(share * size for share, size in zip(shares, sizes, strict=True))]
    nearby = [value for edge in edges for value in (edge, math.nextafter(edge, 0.0), math.nextafter(edge, 1.0))]
    for start in (0.0, math.nextafter(1.0, 0.0), *(value for value in nearby if value < 1)):
        counts = systematic_counts(shares, sizes, count, start)
        assert sum(counts) == count
        assert all(0 <= here <= size for here, size in zip(counts, sizes, strict=False))


def test_rounding_loses_nobody_from_a_sample() -> None:
    start = math.nextafter(1.0, 0.0)
    # One after another, as a running total adds; `sum` compensates from Python 3.12 on.
    assert list(itertools.accumulate([0.1] * 10))[-1] <= start
    assert systematic_counts([0.1] * 10, [1] * 10, 1, start) == [0] * 9 + [1]


def test_classes_after_the_last_point_are_not_looked_at() -> None:
    shares = iter([0.5, 0.5, 0.25])
    assert systematic_counts(shares, [4, 2, 4], 2, 0.0) == [2]
    assert next(shares) == 0.25


@pytest.mark.parametrize("weights", [[1.0, 0.0], [1.0, -1.0], [math.inf, 1.0], [math.nan], [1.0, math.nan]])
def test_weights_that_are_none_are_refused(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="positive weights"):
        inclusion_probabilities(weights, 1)


def test_a_negative_count_is_refused() -> None:
    with pytest.raises(ValueError, match="and -1"):
        inclusion_probabilities([1.0], -1)
