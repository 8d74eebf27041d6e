from __future__ import annotations

import math

import pytest
import sympy

from sparsync.theory.language.symbols import scale
from sparsync.theory.laws import formulas, gaussian_tails, mixture_tails
from sparsync.theory.laws.mixture_tails import FAR, NEAR, STATEMENTS

DENSITIES = [1e-12, 0.001, 0.1, 0.5]
CASES = [
    *(("shifted_gaussian", {"mean": mean}) for mean in (0.0, 0.5, 3.0, 12.0)),
    *(
        ("spike_mixture", {"share": share, "scale": deviation})
        for share in (0.01, 0.5)
        for deviation in (0.25, 1.0, 8.0)
    ),
]


@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize(("law", "numbers"), CASES)
def test_the_energy_kept_lies_between_its_bounds(law: str, numbers: dict[str, float], density: float) -> None:
    """δ is 1 − ε in floats: 2⁻⁵² of 1 is lost."""
    kept = 1 - formulas.STATEMENTS[f"{law}_law"].evaluate(kappa=density, **numbers)
    lower, upper = (STATEMENTS[f"{law}_gain_{side}"].evaluate(kappa=density, **numbers) for side in ("lower", "upper"))
    assert lower - 2**-52 <= kept <= upper + 2**-52


@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize("side", ["lower", "upper"])
def test_no_mean_and_no_spikes_give_the_bounds_of_the_gaussian(side: str, density: float) -> None:
    expected = gaussian_tails.STATEMENTS[f"gaussian_gain_{side}"].evaluate(kappa=density)
    shifted = STATEMENTS[f"shifted_gaussian_gain_{side}"].evaluate(kappa=density, mean=0)
    mixture = STATEMENTS[f"spike_mixture_gain_{side}"].evaluate(kappa=density, share=0.3, scale=1)
    assert shifted == mixture == pytest.approx(expected, rel=1e-15)


def test_a_mean_divides_the_gain_by_hand() -> None:
    """m = 2, z = 4: κ = P(N > 2) + P(N > 6) = 0.0227501329; the bounds are 17κ/5 and (17 + 6/2)κ/5."""
    density = (math.erfc(2 / math.sqrt(2)) + math.erfc(6 / math.sqrt(2))) / 2
    lower, upper = (
        STATEMENTS[f"shifted_gaussian_gain_{side}"].evaluate(kappa=density, mean=2) for side in ("lower", "upper")
    )
    assert lower == pytest.approx(3.4 * 0.0227501329, rel=1e-8)
    assert upper == pytest.approx(4 * 0.0227501329, rel=1e-8)


@pytest.mark.parametrize(("share", "deviation", "widest"), [(0.01, 8.0, 64), (0.99, 8.0, 64), (0.5, 0.25, 1)])
def test_the_wider_part_decides_the_gain(share: float, deviation: float, widest: float) -> None:
    """δ/κ over 2w ln(1/κ)/E[u²], w the larger variance: 1 + O(ln ℓ/ℓ), with the share in the O."""
    moment = share * deviation**2 + 1 - share
    quotients = [
        STATEMENTS["spike_mixture_gain_lower"].evaluate(kappa=10.0**-power, share=share, scale=deviation)
        * 10.0**power
        * moment
        / (2 * widest * power * math.log(10))
        for power in (10, 100, 300)
    ]
    assert quotients[-1] == pytest.approx(1, abs=0.02)
    assert abs(quotients[2] - 1) < abs(quotients[1] - 1)


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("shifted_gaussian_gain_lower", {"kappa": 0.5, "mean": -1}),
        ("shifted_gaussian_gain_upper", {"kappa": 0.75, "mean": 1}),
        ("spike_mixture_gain_lower", {"kappa": 0.5, "share": 1.5, "scale": 2}),
        ("spike_mixture_gain_upper", {"kappa": 1.5, "share": 0.5, "scale": 2}),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)


def test_bounds_with_too_much_in_them_fail_their_steps() -> None:
    bounds = {label: STATEMENTS[label].bound for label in STATEMENTS}
    lower, upper = bounds["shifted_gaussian_gain_lower"], bounds["shifted_gaussian_gain_upper"]
    for step, bound in (
        (mixture_tails._far_level, 2 * lower),
        (mixture_tails._near_level, 2 * lower),
        (mixture_tails._below_upper, upper / 2),
        (mixture_tails._mixture_lower, 2 * bounds["spike_mixture_gain_lower"]),
        (mixture_tails._mixture_upper, bounds["spike_mixture_gain_upper"] / 2),
    ):
        assert step(bound) != sympy.true


def test_the_narrower_part_is_not_accepted_as_the_widest(monkeypatch: pytest.MonkeyPatch) -> None:
    assert mixture_tails._widest_is_larger() == sympy.true
    monkeypatch.setattr(mixture_tails, "WIDEST", sympy.Min(scale**2, 1))
    assert mixture_tails._widest_is_larger() == sympy.false


def test_a_law_that_keeps_less_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the energy of the spikes."""
    assert mixture_tails._mixture_residue() == 0
    monkeypatch.setattr(mixture_tails, "_mixture_kept", lambda first, second: (NEAR + first + FAR + second) / 2)
    assert mixture_tails._mixture_residue() != 0
