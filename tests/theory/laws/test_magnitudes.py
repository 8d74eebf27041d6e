"""A law with a wrong part fails the steps that use it, and different laws are told apart."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sympy

from sparsync.theory.language.quantiles import LEVEL, NormalQuantile
from sparsync.theory.language.symbols import kappa, shape
from sparsync.theory.laws.magnitudes import GAMMA, GAUSSIAN, LAPLACE, STUDENT_T, Law, law_steps, same_law_step


@pytest.mark.parametrize(
    ("wrong", "failing"),
    [
        (replace(GAUSSIAN, mass=sympy.erf(LEVEL)), (0, 2, 4)),
        (replace(GAUSSIAN, density=2 * GAUSSIAN.density), (0, 2)),
        (replace(GAUSSIAN, second_moment=sympy.Integer(2)), (2,)),
        (replace(GAUSSIAN, quantile=2 * NormalQuantile(kappa)), (4, 5)),
        (replace(LAPLACE, energy=1 - sympy.exp(-LEVEL) * (1 + LEVEL)), (2, 5)),
        (replace(LAPLACE, energy=LAPLACE.energy + 1), (3, 5)),
        (replace(LAPLACE, quantile=-2 * sympy.log(kappa)), (4, 5)),
        (replace(GAMMA, second_moment=shape * (shape + 2)), (2,)),
    ],
)
def test_a_law_with_one_wrong_part_fails_the_steps_that_use_it(wrong: Law, failing: tuple[int, ...]) -> None:
    right = {GAUSSIAN.density: GAUSSIAN, 2 * GAUSSIAN.density: GAUSSIAN, LAPLACE.density: LAPLACE, GAMMA.density: GAMMA}
    steps = law_steps(wrong, right[wrong.density].ratio)
    assert tuple(index for index, step in enumerate(steps) if not step.holds()) == failing


def test_different_laws_are_told_apart() -> None:
    assert not same_law_step("", GAMMA, LAPLACE).holds()
    assert not same_law_step("", GAUSSIAN, LAPLACE).holds()
    assert not same_law_step("", GAUSSIAN, GAUSSIAN, stretch=sympy.Integer(2)).holds()
    assert same_law_step("", STUDENT_T, STUDENT_T).holds()
