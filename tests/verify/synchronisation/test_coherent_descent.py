"""Runs on coherent gradients: how near they come to the rate, and what is refused."""

import pytest

from sparsync.verify.synchronisation import coherent_descent


def test_a_straight_slope_nearly_attains_the_rate_of_coherent_gradients() -> None:
    assert coherent_descent.straight_share(1, 0) == 1
    assert 0.75 < coherent_descent.straight_share(40, 0) < coherent_descent.straight_share(200, 0) < 1


def test_incoherent_gradients_are_refused() -> None:
    with pytest.raises(ValueError, match="update 1"):
        coherent_descent.share_of([1.0, -1.0], 1.0, 1, 0.5)
