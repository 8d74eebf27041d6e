"""Compression both ways: values by hand, and what each direction costs."""

from fractions import Fraction

import pytest

from sparsync.theory.statements import STATEMENTS


def test_the_model_of_the_server_is_what_workers_know_less_what_is_kept() -> None:
    assert STATEMENTS["server_feedback"].fraction(known_model=3, residual=Fraction(1, 2)) == Fraction(5, 2)


def test_the_rate_has_a_value_computed_by_hand() -> None:
    # a = c = 1/2: K = 4, and η = 1/(5L).
    numbers = {"delta_down": 0.75, "delta_up": 0.75, "smoothness": 2, "gap": 3, "T": 10, "step_size": 0.1}
    assert STATEMENTS["bidirectional_rate"].evaluate(**numbers) == pytest.approx(6, rel=1e-14)


@pytest.mark.parametrize(("down", "up"), [(0.75, 0.75), (1, 0.75), (0.75, 1), (0.19, 0.36)])
def test_the_simple_step_is_admitted_and_twice_as_much_is_not(down: float, up: float) -> None:
    a, c = (1 - down) ** 0.5, (1 - up) ** 0.5
    step = (1 - a) * (1 - c) / (1 + a * c)
    numbers = {"delta_down": down, "delta_up": up, "smoothness": 1, "gap": 1, "T": 1}
    statement = STATEMENTS["bidirectional_rate"]
    assert statement.admits(**numbers, step_size=step * (1 - 1e-12))
    assert not statement.admits(**numbers, step_size=2 * step)
