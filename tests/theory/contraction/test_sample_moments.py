import math

import pytest
import sympy

from sparsync.theory.contraction import sample_moments
from sparsync.theory.contraction.sample_moments import RATE
from sparsync.theory.language.symbols import d, failure, kurtosis
from sparsync.theory.statements import STATEMENTS

GAUSSIAN = STATEMENTS["gaussian_sample_ratio"]
MOMENT = STATEMENTS["moment_sample_ratio"]


def test_the_moment_bound_by_hand() -> None:
    # K = 4, f = 1/4: 4·2 + √(3·3) = 11.
    assert MOMENT.evaluate(d=121, failure=0.25, kurtosis=4) == 1.0


def test_a_constant_magnitude_has_no_second_term() -> None:
    assert MOMENT.evaluate(d=100, failure=0.01, kurtosis=1) == pytest.approx(0.4, rel=1e-15)


def test_the_gaussian_bound_by_hand() -> None:
    assert GAUSSIAN.evaluate(d=102, failure=math.exp(-2.0)) == pytest.approx(1.8125 / math.sqrt(102) + 0.2, rel=1e-14)


def test_a_million_gaussian_coordinates_are_within_a_two_hundredth_with_probability_above_ninety_nine_hundredths() -> (
    None
):
    assert GAUSSIAN.evaluate(d=1_000_000, failure=0.01) < 0.005


@pytest.mark.parametrize("chance", [0.5, 0.1, 0.01, 1e-6])
def test_gaussian_vectors_have_a_smaller_bound_than_their_kurtosis_gives(chance: float) -> None:
    assert GAUSSIAN.evaluate(d=1000, failure=chance) < MOMENT.evaluate(d=1000, failure=chance, kurtosis=3)


@pytest.mark.parametrize(("constant", "proved"), [((29, 16), True), ((181, 100), True), ((9, 5), False)])
def test_the_upper_sum_refuses_a_constant_that_is_too_small(
    constant: tuple[int, int], *, proved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample_moments, "GAUSSIAN_AREA", sympy.Rational(*constant))
    claim = next(step for step in GAUSSIAN.derivation if "upper sum" in step.claim)
    assert claim.holds() == proved


@pytest.mark.parametrize(
    ("name", "wrong", "claim"),
    [
        ("_mean_area", lambda: 4 * sympy.sqrt(kurtosis / d) / 2, "heads and tails"),
        ("_area_variance", lambda: kurtosis / d, "Var N"),
        ("_excess_of_failure", lambda variance: sympy.sqrt(variance / failure), "that is f at t"),
        ("_cumulant", lambda: RATE**2 / (2 * d), "Herbst"),
        ("_cumulant", lambda: RATE**2 / d, "min_λ"),
        ("_excess_of_exponent", lambda: sympy.sqrt(sympy.log(1 / failure) / 2), "that is f at s"),
    ],
)
def test_a_step_fails_where_a_quantity_is_wrong(
    name: str, wrong: object, claim: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample_moments, name, wrong)
    steps = [step for statement in (MOMENT, GAUSSIAN) for step in statement.derivation if claim in step.claim]
    assert len(steps) == 1
    assert not steps[0].holds()


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("gaussian_sample_ratio", {"d": 2, "failure": 0.5}),
        ("gaussian_sample_ratio", {"d": 10, "failure": 0}),
        ("gaussian_sample_ratio", {"d": 10, "failure": 1.5}),
        ("moment_sample_ratio", {"d": 10, "failure": 0.5, "kurtosis": 0.5}),
        ("moment_sample_ratio", {"d": 10, "failure": 2, "kurtosis": 3}),
        ("moment_sample_ratio", {"d": 2.5, "failure": 0.5, "kurtosis": 3}),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)
