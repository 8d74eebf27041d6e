from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import mpmath
import pytest
import sympy

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.laws.levels import LEVEL_LAWS, gamma_level
from sparsync.verify.laws.margins import GAINS, LEVEL_STEP, RUNGS, gain_margin, law_margin
from sparsync.verify.laws.quadrature import MAGNITUDES, quotients

SIXTEENTH = sympy.Rational(1, 16)
PARAMETERS: dict[str, tuple[float, ...]] = {
    "student_t_law": (2.5,),
    "generalised_gaussian_law": (1.5,),
    "gamma_law": (2.5,),
    "weibull_law": (0.75,),
    "shifted_gaussian_law": (1.5,),
    "spike_mixture_law": (0.25, 4.0),
}
CASES: dict[str, tuple[float, tuple[float, ...]]] = {
    "gaussian_gain_lower": (0.01, ()),
    "gaussian_gain_upper": (6.0, ()),
    "gaussian_log_gain_lower": (0.01, ()),
    "gaussian_log_gain_upper": (0.01, ()),
    "laplace_gain": (1.5, ()),
    "uniform_gain": (0.5, ()),
    "student_t_tail_lower": (20.0, (2.5,)),
    "student_t_tail_upper": (20.0, (2.5,)),
    "gamma_gain_lower": (0.01, (0.75,)),
    "gamma_gain_upper": (24.0, (1.25,)),
    "weibull_gain_lower": (0.01, (1.5,)),
    "weibull_gain_upper": (0.01, (1.5,)),
    "weibull_light_gain_lower": (0.01, (3.0,)),
    "weibull_light_gain_upper": (0.001, (3.0,)),
    "generalised_gaussian_gain_lower": (0.0001, (1.5,)),
    "generalised_gaussian_gain_upper": (6.0, (1.5,)),
    "generalised_gaussian_heavy_gain_upper": (0.01, (0.75,)),
    "generalised_gaussian_light_gain_lower": (24.0, (4.0,)),
    "generalised_gaussian_light_gain_upper": (24.0, (4.0,)),
    "shifted_gaussian_gain_lower": (0.01, (0.0,)),
    "shifted_gaussian_gain_upper": (5.0, (1.5,)),
    "spike_mixture_gain_lower": (0.01, (0.5, 1.5)),
    "spike_mixture_gain_upper": (6.0, (0.5, 4.0)),
}
"""A height and parameters at which the bound is nearly attained."""


def make_wrong(label: str, factor: sympy.Expr, monkeypatch: pytest.MonkeyPatch) -> None:
    relation = STATEMENTS[label].relation
    wrong = relation.func(relation.lhs, relation.rhs * factor, evaluate=False)
    monkeypatch.setitem(STATEMENTS, label, replace(STATEMENTS[label], relation=wrong))


@pytest.mark.parametrize("label", LEVEL_LAWS)
def test_shares_and_energies_above_a_level_are_the_integrals_of_the_density(label: str) -> None:
    """To 10⁻¹⁴, as these run in floats here; the quadrature has its moment in z²/E[u²]."""
    law, parameters = LEVEL_LAWS[label], PARAMETERS.get(label, ())
    expected = quotients(MAGNITUDES[label], dict(zip(law.parameters, parameters, strict=True)), 0.75)
    share, kept, moment = law.share(0.75, *parameters), law.kept(0.75, *parameters), law.second_moment(*parameters)
    assert abs(share - expected.share) < 1e-14
    assert abs(1 - kept - expected.ratio) < 1e-14
    assert abs(0.75**2 / moment - expected.sensitivity) < 1e-14


@pytest.mark.parametrize("order", [0.125, 1.0, 8.0])
def test_gamma_levels_keep_away_from_shares_that_no_digits_resolve(order: float) -> None:
    for height in (2.0**-20, 27.0):
        share = mpmath.gammainc(order, gamma_level(mpmath.mpf(height), mpmath.mpf(order)), regularized=True)
        assert 1e-14 < share < 1 - 1e-14


@pytest.mark.parametrize("label", RUNGS)
def test_a_law_that_is_a_sixteenth_off_has_a_negative_margin(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = (0.5, PARAMETERS.get(label, ()), LEVEL_STEP)
    assert law_margin(*case, label=label) >= 0
    for factor in (1 - SIXTEENTH, 1 + SIXTEENTH, -1):
        with monkeypatch.context() as patch:
            make_wrong(label, factor, patch)
            assert law_margin(*case, label=label) < 0


def test_every_bound_on_the_energy_kept_is_tried() -> None:
    assert set(CASES) == set(GAINS)


@pytest.mark.parametrize("label", GAINS)
def test_a_bound_that_claims_a_sixteenth_too_much_has_a_negative_margin(
    label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lower = isinstance(STATEMENTS[label].relation, sympy.GreaterThan)
    assert gain_margin(*CASES[label], label=label) >= 0
    make_wrong(label, 1 + SIXTEENTH if lower else 1 - SIXTEENTH, monkeypatch)
    assert gain_margin(*CASES[label], label=label) < 0


@pytest.mark.parametrize("label", ["laplace_gain", "uniform_gain"])
def test_an_equality_may_not_be_exceeded_either(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make_wrong(label, 1 + SIXTEENTH, monkeypatch)
    assert gain_margin(*CASES[label], label=label) < 0


def test_the_margin_of_the_gaussian_bound_by_hand() -> None:
    """z = 2: κ = 0.0455003, δ = κ + 2·2φ(2) = 0.2614641, bound 5κ = 0.2275013: 0.1298947 of δ is left."""
    assert float(gain_margin(2.0, (), label="gaussian_gain_lower")) == pytest.approx(0.1298947, rel=1e-5)


def test_a_law_above_its_rung_has_a_negative_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RUNGS, "gaussian_law", lambda: 5.0)
    assert law_margin(1.0, (), Fraction(1, 64), label="gaussian_law") < 0
