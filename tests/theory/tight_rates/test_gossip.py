"""Gossip with compressed differences: values by hand, and what a network costs."""

from fractions import Fraction

import pytest

from sparsync.theory.statements import STATEMENTS


def test_the_rate_has_a_value_computed_by_hand() -> None:
    # s = 1/4, r = 1/2: θ² = (3/8)θ + 1/4, θ = (3 + √73)/16.
    numbers = {"epsilon": Fraction(1, 16), "spectral_gap": 1, "widest_gap": 3}
    assert STATEMENTS["gossip_rate"].evaluate(**numbers) == pytest.approx(((3 + 73**0.5) / 16) ** 2, rel=1e-14)


def test_a_complete_graph_without_compression_agrees_in_one_step() -> None:
    numbers = {"epsilon": 0, "spectral_gap": 1, "widest_gap": 1}
    assert STATEMENTS["gossip_rate"].fraction(**numbers) == 0
    assert STATEMENTS["gossip_mixing"].fraction(**numbers) == 1


@pytest.mark.parametrize("gap", [0.5, 0.01])
@pytest.mark.parametrize("delta", [0.5, 0.01])
def test_gossip_is_the_descent_of_feedback_on_a_quadratic(gap: float, delta: float) -> None:
    network = {"epsilon": 1 - delta, "spectral_gap": gap, "widest_gap": 1.5}
    descent = {"epsilon": 1 - delta, "mu": gap, "smoothness": 1.5}
    assert STATEMENTS["gossip_rate"].evaluate(**network) == STATEMENTS["ef21_tight_rate"].evaluate(**descent)
    assert STATEMENTS["gossip_mixing"].evaluate(**network) == STATEMENTS["ef_tight_step"].evaluate(**descent)


@pytest.mark.parametrize("gap", [0.1, 0.01, 0.001])
def test_the_rate_is_of_first_order_in_the_gap_of_the_network(gap: float) -> None:
    rate = STATEMENTS["gossip_rate"].evaluate(epsilon=0.99, spectral_gap=gap, widest_gap=1)
    assert 1 <= (1 - rate) / (0.01 * gap / (1 + gap)) <= 1.01


def test_a_matrix_cannot_have_its_ends_exchanged() -> None:
    with pytest.raises(ValueError, match="spectral_gap"):
        STATEMENTS["gossip_rate"].evaluate(epsilon=0.5, spectral_gap=2, widest_gap=1)
