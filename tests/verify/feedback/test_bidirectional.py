"""The evidence for compression both ways: a run by hand, and how near to the bound the worst run tried comes."""

import math
from fractions import Fraction

import pytest

from sparsync.verify.feedback import bidirectional
from sparsync.verify.feedback.bidirectional import Run

ONE, ZERO = Fraction(1), Fraction(0)
HALF = Fraction(1, 2)


def test_without_compression_it_is_gradient_descent() -> None:
    run = Run(ZERO, ZERO, HALF, (ONE, Fraction(3)), (ZERO, ZERO), ONE, ((ZERO, (ZERO, ZERO)),) * 3)
    # L = 3, η = 1/6, f' = 2x: x shrinks by 2/3.
    assert run.least_energy() == (2 * Fraction(2, 3) ** 2) ** 2


def test_a_server_that_keeps_half_back_is_behind_by_half() -> None:
    run = Run(HALF, ZERO, ONE, (ONE,), (ZERO,), ONE, ((ONE, (ZERO,)),) * 3)
    # K = 1, η = 1/2: x = 1, 1/2, then w = 3/4 and x = 1/8.
    assert run.least_energy() == Fraction(1, 64)


def test_both_methods_agree_and_a_wrong_sign_would_be_seen() -> None:
    case = ((ONE, Fraction(3)), (ONE, -ONE), (ZERO, Fraction(2)), (HALF, ONE), Fraction(1, 5))
    assert bidirectional.identity_error(*case) == 0


def test_the_worst_run_tried_comes_to_three_tenths_of_the_bound() -> None:
    a = c = 0.5
    gain = (a + c) / ((1 - a) * (1 - c))
    step = (math.sqrt(1 + 4 * gain**2) - 1) / (2 * gain**2)
    x = w = direction = 1.0
    least, largest = math.inf, 0.0
    for time in range(1, 200):
        least = min(least, x * x)
        largest = max(largest, least * step * time)
        x -= step * direction
        w += (1 + a) * (x - w)
        direction += (1 + c) * (w - direction)
    assert largest == pytest.approx(0.30, abs=0.005)
