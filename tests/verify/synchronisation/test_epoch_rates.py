"""The worst runs of mixing in epochs: how near they come to the bounds."""

from fractions import Fraction

import pytest

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.synchronisation import epoch_rates

ONE = Fraction(1)


def test_a_root_is_rounded_up_by_little() -> None:
    root = epoch_rates.root_above(Fraction(1, 2))
    assert Fraction(1, 2) < root**2 < Fraction(1, 2) + Fraction(1, 10**11)


def test_pairs_lose_what_is_left_as_computed_by_hand() -> None:
    """r = 1/2, B = 1: of −1 half is left, and of −3/2 then −3/4; the bound is 2."""
    assert epoch_rates.pair_margin(Fraction(1, 2), [0], 1, [ONE, ONE]) == 2 - Fraction(1, 4) - Fraction(9, 16)


@pytest.mark.parametrize(("root", "length", "place"), [(Fraction(1, 2), 1, 0), (Fraction(31, 32), 3, 2)])
def test_gradients_that_stay_the_same_nearly_attain_the_disagreement(root: Fraction, length: int, place: int) -> None:
    steps = 400 * length
    margin = epoch_rates.pair_margin(root, [place], length, [ONE] * steps)
    bound = STATEMENTS["epoch_mean_disagreement"].fraction(
        step_size=1, mean_spread=steps, epoch_length=length, epoch_root=root
    )
    assert 0 < margin < bound / 5


def test_the_same_epochs_by_links_and_by_a_factor() -> None:
    steps = [([ONE, -ONE], [[(0, 1)]]), ([ONE, -ONE], [])]
    by_links = epoch_rates.disagreement_margin(Fraction(0), 2, steps)
    assert by_links == epoch_rates.pair_margin(Fraction(0), [0], 2, [ONE, ONE])


def test_a_pair_that_mixes_early_and_then_late_keeps_more_than_whole_epochs_would_leave() -> None:
    """Of B = 2 and r = 0 a factor of 1 would be left."""
    places, length, gradients = epoch_rates.EARLY_THEN_LATE
    energy = sum(own**2 for own in gradients)
    left = 4 * energy - epoch_rates.pair_margin(Fraction(0), places, length, gradients)
    assert energy < left < 4 * energy


def test_gradients_that_cancel_nearly_attain_the_rate() -> None:
    assert all(0.95 < epoch_rates.stuck_share(*run) < 1 for run in epoch_rates.STUCK_RUNS)


def test_noise_and_a_step_of_one_over_the_smoothness_nearly_attain_the_speed_up() -> None:
    """From 1 with σ₀² = 2/T: E‖∇f‖² is 1, then 1/T, and the bound 2/T."""
    assert epoch_rates.speed_up_share(Fraction(0), 0.02, 100) == pytest.approx(1 - 1 / 200, rel=1e-12)
