import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.planners.switch_search import Bracket, switch_fraction

PUBLISHED = {
    1.0: (0.7428, 0.7430, 0.7487, 0.7541, 0.7426),
    0.5: (0.7461, 0.7440, 0.7374, 0.7444, 0.7407),
    0.25: (0.7550, 0.7500, 0.7504, 0.7518, 0.7455),
    0.125: (0.7390, 0.7354, 0.7567, 0.7471, 0.7518),
    0.0625: (0.7388, 0.7332, 0.7416, 0.7197, 0.7290),
}
"""Last accuracies of five runs each, ResNet-50 on CIFAR-100 with 8 workers: data of github.com/cake-lab/Sync-Switch."""


class Runs:
    """Published runs, one after the other."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(PUBLISHED, 0)

    def __call__(self, fraction: float) -> float:
        self.counts[fraction] += 1
        return PUBLISHED[fraction][self.counts[fraction] - 1]


def test_means_of_five_published_runs_lead_to_an_eighth_as_published() -> None:
    assert switch_fraction(Runs(), repeats=5, halvings=4) == Bracket(1 / 16, 1 / 8, 25)


def test_single_published_runs_lead_too_far() -> None:
    assert switch_fraction(Runs(), repeats=1, halvings=4) == Bracket(0.0, 1 / 16, 5)


@given(least=st.floats(0.0, 1.0, exclude_min=True), halvings=st.integers(0, 12))
def test_the_least_good_fraction_lies_in_a_bracket_of_width_two_to_minus_halvings(least: float, halvings: int) -> None:
    found = switch_fraction(lambda fraction: 0.9 if fraction >= least else 0.5, repeats=1, halvings=halvings)
    assert found.rejected < least <= found.accepted
    assert found.accepted - found.rejected == 2.0**-halvings


@given(seed=st.integers(0, 10**6), halvings=st.integers(0, 8))
def test_whatever_the_accuracies_the_accepted_fraction_was_good_and_the_rejected_was_not(
    seed: int, halvings: int
) -> None:
    def accuracy(fraction: float) -> float:
        return random.Random(f"{seed} {fraction}").random()

    found = switch_fraction(accuracy, tolerance=0.1, repeats=2, halvings=halvings)
    least = accuracy(1.0) - 0.1
    assert accuracy(found.accepted) >= least
    assert found.rejected == 0 or accuracy(found.rejected) < least


def wrong_share(repeats: int, searches: int = 100) -> float:
    """How often noise of ±0.05 misleads, where accuracy jumps from 0.70 to 0.75 at 0.3."""

    def is_wrong(seed: int) -> bool:
        generator = random.Random(seed)
        found = switch_fraction(
            lambda fraction: (0.75 if fraction >= 0.3 else 0.70) + generator.uniform(-0.05, 0.05),
            tolerance=0.025,
            repeats=repeats,
            halvings=4,
        )
        return not found.rejected < 0.3 <= found.accepted

    return sum(is_wrong(seed) for seed in range(searches)) / searches


def test_repeats_keep_noise_from_misleading_as_hoeffding_has_it() -> None:
    # A decision errs if two means of r draws, of range 0.1 each, are off by 0.025 together: P <= exp(-r 0.025²/0.1²).
    bound = 4 * math.exp(-100 * 0.025**2 / 0.1**2)
    assert bound < 0.01
    assert wrong_share(100) <= bound + 3 * math.sqrt(bound / 100)
    assert wrong_share(1) > 0.2


@pytest.mark.parametrize(
    ("parameters", "named"),
    [({"tolerance": -0.1}, "-0.1"), ({"repeats": 0}, "got 0 and"), ({"halvings": -1}, "and -1")],
)
def test_parameters_out_of_range_are_refused_by_name(parameters: dict[str, float], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        switch_fraction(lambda fraction: fraction, **parameters)  # type: ignore[arg-type]
