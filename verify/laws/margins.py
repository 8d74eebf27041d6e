"""How much room do the statements about laws leave at one level? The margins of the searches.

A law is determined by ε(1) = 0 and by its slope in κ: between two levels the mean slope lies between their squares, in
units of E[u²]. A bound on the energy sent is compared with that energy. Both are restated in `verify/laws/levels.py`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

import mpmath
import sympy
from hypothesis import strategies as st

from sparsync.theory.language.digits import DECIMAL_DIGITS, number
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.laws.levels import LEVEL_LAWS, LevelLaw, Numbers, Parameters, powers_of_two
from sparsync.verify.laws.quadrature import as_fraction

ROUNDING = Fraction(1, 2**52)
"""Relative room for one correctly rounded float on each side of a comparison."""
DIGITS = 50
"""Working precision of the margins' own formulas."""
SLOPE_ROUNDING = Fraction(1, 10**20)
"""Relative room for the mean slope: two values of ε with 40 digits, a difference of shares above 10^(−18)."""
LEVEL_STEP = Fraction(1, 64)
"""Two levels of one case differ by at most this share, their squares by less than 1/31: 1/16 too much is noticed."""

Exponent = Callable[..., float]
"""A law's parameters to the p of the rung (1 − κ)^p that it stays below."""

RUNGS: dict[str, Exponent] = {
    "gaussian_law": lambda: 3.0,
    "laplace_law": lambda: 3.0,
    "uniform_law": lambda: 3.0,
    "student_t_law": lambda _df: 3.0,
    "generalised_gaussian_law": lambda _beta: 3.0,
    # f(r)/r^(a − 1) decreases: |u|^a has a decreasing density, and the exponent theorem gives 1 + 2/a.
    "gamma_law": lambda shape: 1 + 2 / shape,
    "weibull_law": lambda shape: 1 + 2 / shape,
    "shifted_gaussian_law": lambda _mean: 1.0,
    "spike_mixture_law": lambda _share, _scale: 3.0,
}
"""The exponent of the bound (1 − κ)^p that the shape of each law earns, whatever its parameters."""


@dataclass(frozen=True)
class Gain:
    """Where a bound on the energy sent is tried.

    Args:
        law: the label of the law.
        parameters: the parameters drawn, where the bound does not hold for all that the law allows.
        level: the level of a height and the parameters, likewise.
        heights: the heights drawn, likewise.
    """

    law: str
    parameters: Mapping[str, Numbers] = field(default_factory=dict)
    level: Callable[..., mpmath.mpf] | None = None
    heights: Numbers | None = None

    def restricted(self) -> LevelLaw:
        """The law with these parameters and levels."""
        law = LEVEL_LAWS[self.law]
        return replace(
            law,
            parameters=self.parameters or law.parameters,
            level=self.level or law.level,
            heights=law.heights if self.heights is None else self.heights,
        )


def _shapes(first: float, last: float) -> dict[str, Numbers]:
    return {"shape": st.floats(first, last)}


def _exponents(first: float, last: float) -> dict[str, Numbers]:
    return {"beta": st.floats(first, last)}


GAINS: dict[str, Gain] = {
    "gaussian_gain_lower": Gain("gaussian_law"),
    "gaussian_gain_upper": Gain("gaussian_law"),
    "gaussian_log_gain_lower": Gain("gaussian_law"),
    "gaussian_log_gain_upper": Gain("gaussian_law"),
    "laplace_gain": Gain("laplace_law"),
    "uniform_gain": Gain("uniform_law"),
    "student_t_tail_lower": Gain("student_t_law"),
    "student_t_tail_upper": Gain("student_t_law"),
    "gamma_gain_lower": Gain("gamma_law"),
    "gamma_gain_upper": Gain("gamma_law"),
    "weibull_gain_lower": Gain("weibull_law", _shapes(0.125, 2)),
    "weibull_gain_upper": Gain("weibull_law", _shapes(0.125, 2)),
    "weibull_light_gain_lower": Gain("weibull_law", _shapes(2, 16)),
    "weibull_light_gain_upper": Gain("weibull_law", _shapes(2, 16)),
    "generalised_gaussian_gain_lower": Gain("generalised_gaussian_law", _exponents(0.125, 2)),
    "generalised_gaussian_gain_upper": Gain("generalised_gaussian_law", _exponents(1, 2)),
    "generalised_gaussian_heavy_gain_upper": Gain("generalised_gaussian_law", _exponents(0.125, 1)),
    "generalised_gaussian_light_gain_lower": Gain("generalised_gaussian_law", _exponents(0.125, 32)),
    "generalised_gaussian_light_gain_upper": Gain("generalised_gaussian_law", _exponents(2, 32)),
    "shifted_gaussian_gain_lower": Gain("shifted_gaussian_law"),
    # κ ≤ 1/2 from the upper quartile of |N(0, 1)| above the mean on.
    "shifted_gaussian_gain_upper": Gain(
        "shifted_gaussian_law",
        level=lambda height, mean: mean + mpmath.mpf("0.6875") + height,
        heights=powers_of_two(-20, 2.5),
    ),
    "spike_mixture_gain_lower": Gain("spike_mixture_law"),
    "spike_mixture_gain_upper": Gain("spike_mixture_law"),
}
"""By the label of the statement."""


def law_cases(label: str) -> st.SearchStrategy[tuple[float, Parameters, Fraction]]:
    """Triples (height, parameters, relative distance of the second level)."""
    distances = st.integers(1, 16).map(lambda part: LEVEL_STEP * part / 16)
    return st.tuples(LEVEL_LAWS[label].cases(), distances).map(lambda pair: (*pair[0], pair[1]))


def law_margin(height: float, parameters: Parameters, distance: Fraction, *, label: str) -> Fraction:
    """The least relative room in 0 ≤ ε ≤ (1 − κ)^p and z² ≤ E[u²](ε(κ') − ε(κ))/(κ − κ') ≤ z'², z' = (1 + distance)z.

    Args:
        height: of the first level.
        parameters: of the law.
        distance: in (0, LEVEL_STEP].
        label: the law.
    """
    law = LEVEL_LAWS[label]
    with mpmath.workdps(DIGITS):
        exact = tuple(mpmath.mpf(parameter) for parameter in parameters)
        level = law.level(mpmath.mpf(height), *exact)
        further = level * (1 + mpmath.mpf(distance.numerator) / distance.denominator)
        shares = [as_fraction(law.share(each, *exact)) for each in (level, further)]
        squares = [as_fraction(each**2 / law.second_moment(*exact)) for each in (level, further)]
        rung = as_fraction((1 - law.share(level, *exact)) ** RUNGS[label](*parameters))
    ratio, larger_ratio = (_ratio(label, share, parameters) for share in shares)
    slope = (larger_ratio - ratio) / (shares[0] - shares[1])
    rooms = (
        ratio,
        (rung * (1 + SLOPE_ROUNDING) - ratio) / rung,
        (slope * (1 + SLOPE_ROUNDING) - squares[0]) / squares[1],
        (squares[1] * (1 + SLOPE_ROUNDING) - slope) / squares[1],
    )
    return min(rooms)


def gain_margin(height: float, parameters: Parameters, *, label: str) -> Fraction:
    """The room that a bound leaves at one level, relative to the energy sent; for an equality minus the distance."""
    law, statement = GAINS[label].restricted(), STATEMENTS[label]
    with mpmath.workdps(DIGITS):
        exact = tuple(mpmath.mpf(parameter) for parameter in parameters)
        level = law.level(mpmath.mpf(height), *exact)
        share, kept = as_fraction(law.share(level, *exact)), as_fraction(law.kept(level, *exact))
    bound = Fraction(statement.evaluate(kappa=share, **_named(law, parameters)))
    if isinstance(statement.relation, sympy.Equality):
        return (ROUNDING * abs(bound) - abs(kept - bound)) / kept
    sign = 1 if isinstance(statement.relation, sympy.GreaterThan) else -1
    return (sign * (kept - bound) + ROUNDING * abs(bound)) / kept


def _ratio(label: str, share: Fraction, parameters: Parameters) -> Fraction:
    """ε to 40 digits; the difference of two needs more than a float has."""
    value = number(STATEMENTS[label].exact(kappa=share, **_named(LEVEL_LAWS[label], parameters)))
    return as_fraction(value._to_mpmath(mpmath.libmp.dps_to_prec(DECIMAL_DIGITS)))


def _named(law: LevelLaw, parameters: Parameters) -> dict[str, Fraction]:
    """The parameters as the binary fractions that mpmath computes with; a statement reads a float as a decimal."""
    return dict(zip(law.parameters, map(Fraction, parameters), strict=True))
