"""Butterflies: rings, servers and clients by hand, what a density saves, and with broken steps."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy

from sparsync.theory.cost import butterflies
from sparsync.theory.statements import STATEMENTS


def butterfly(*bandwidths: int, clients: int = 0) -> Fraction:
    return STATEMENTS["butterfly_time"].fraction(
        n=len(bandwidths) + clients,
        averager_count=len(bandwidths),
        total_bandwidth=sum(bandwidths),
        least_bandwidth=min(bandwidths),
    )


def test_equal_peers_take_as_long_as_a_ring() -> None:
    ring = STATEMENTS["ring_epoch_bytes"].fraction(n=4, d=12, value_bytes=1, example_count=1, total_batch=1)
    # The ring's bytes are those of four peers with vectors of 12.
    assert butterfly(5, 5, 5, 5) == ring / (4 * 12) / 5 == Fraction(3, 10)


def test_next_to_a_fast_peer_the_others_send_and_receive_one_vector() -> None:
    assert butterfly(1, 1, 1000) == 1
    assert butterfly(1, 2, 2) == 1
    assert butterfly(2, 2, 3) == Fraction(4, 7)


def test_clients_send_to_those_who_average() -> None:
    """One peer averages for three clients: three vectors come and three go."""
    assert butterfly(1, clients=3) == 3
    assert butterfly(1, 1, clients=2) == 2


def test_whole_values_of_equal_peers_attain_the_bound() -> None:
    equal = {"n": 3, "averager_count": 3, "total_bandwidth": 3, "largest_bandwidth": 1}
    # One has the value: it receives and sends two, the others one.
    assert STATEMENTS["hagenbach_time"].fraction(d=1, **equal) == 2
    assert STATEMENTS["hagenbach_time"].fraction(d=3, **equal) == 4 + Fraction(2, 3)


def test_gradients_with_little_in_common_keep_the_slowest_as_busy_as_if_all_were_slow() -> None:
    stated = STATEMENTS["scattered_butterfly_time"].fraction(
        n=4, gradient_share=Fraction(1, 10), mean_share=Fraction(4, 10), least_bandwidth=1
    )
    assert stated == Fraction(3, 8)


def test_of_equal_peers_equal_shares_take_least_whatever_travels_more_of() -> None:
    numbers = {"n": 3, "least_bandwidth": 1}
    few_means = STATEMENTS["scattered_butterfly_time"].fraction(gradient_share=1, mean_share=Fraction(1, 8), **numbers)
    assert few_means == Fraction(3, 4)
    assert STATEMENTS["scattered_butterfly_time"].fraction(n=1, gradient_share=1, mean_share=1, least_bandwidth=1) == 0


def test_half_is_saved_at_the_density_at_which_means_are_whole_and_no_more() -> None:
    at = STATEMENTS["density_saturation"].fraction
    assert at(n=4, entry_cost=2, kappa=Fraction(1, 8)) == Fraction(1, 2) + Fraction(1, 8)
    assert at(n=4, entry_cost=2, kappa=Fraction(1, 16)) == Fraction(1, 2) * (Fraction(1, 2) + Fraction(1, 8))
    assert at(n=4, entry_cost=2, kappa=Fraction(1, 2)) == at(n=4, entry_cost=2, kappa=1) == 1


@pytest.mark.parametrize(
    ("label", "name", "replacement"),
    [
        ("butterfly_time", "_sends", lambda share: 1 + share),
        ("butterfly_time", "_sum_of_loads", lambda: sympy.Integer(1)),
        ("hagenbach_time", "_whole_time", lambda level, _bandwidth: level),
        ("scattered_butterfly_time", "_receives", lambda share: share),
        ("scattered_butterfly_time", "_sends", lambda share: share),
        ("density_saturation", "_of_slowest", lambda: sympy.Integer(1)),
    ],
)
def test_a_broken_step_leaves_a_claim_unproved(
    label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert STATEMENTS[label].unproved_claims() == ()
    monkeypatch.setattr(butterflies, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
