import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.planners.significance import Significance, Smoothed

NORMS = st.lists(st.floats(0.01, 100.0), min_size=1, max_size=20)


@given(values=NORMS, window=st.integers(1, 6))
def test_without_decay_smoothing_is_the_moving_mean(values: list[float], window: int) -> None:
    smoothed = Smoothed(window, 0.0)
    means = [smoothed.after(value) for value in values]
    last = values[-window:]
    # As many additions as values, each off by half a unit in the last place.
    assert means[-1] == pytest.approx(sum(last) / len(last), rel=window * 2**-52)


def test_decay_weighs_older_values_less_by_its_power() -> None:
    smoothed = Smoothed(3, 0.5)
    means = [smoothed.after(value) for value in (8.0, 4.0, 2.0, 1.0)]
    assert means == [8.0, (4 + 4) / 1.5, (2 + 2 + 2) / 1.75, (1 + 1 + 1) / 1.75]


def test_the_change_is_relative_to_the_last_smoothed_norm_and_smoothed_again() -> None:
    significance = Significance(2, 0.0)
    # Smoothed norms 1, 2, 4, 4.
    assert [significance.after(norm) for norm in (1.0, 3.0, 5.0, 3.0)] == [0.0, 1.0, 1.0, 0.5]


@given(norms=NORMS, exponent=st.integers(-20, 20))
def test_the_change_does_not_depend_on_the_unit_of_the_gradient(norms: list[float], exponent: int) -> None:
    here, there = Significance(4, 0.25), Significance(4, 0.25)
    assert [here.after(norm) for norm in norms] == [there.after(norm * 2.0**exponent) for norm in norms]


def test_a_gradient_that_appears_from_nothing_changes_infinitely_and_no_gradient_not_at_all() -> None:
    significance = Significance(1, 0.0)
    assert [significance.after(norm) for norm in (0.0, 0.0, 1.0)] == [0.0, 0.0, math.inf]
