"""How often does a Gaussian vector of few coordinates violate a bound for laws? The exact probability at k = 1.

The shares v_i/Σv of the energy follow a Dirichlet law. Inclusion and exclusion over the coordinates with a large share
ends with pairs where three large shares would sum to more than 1. Ours.
"""

from typing import Any

import mpmath
import sympy
from sympy.core.function import ArgumentIndexError

from sparsync.theory.contraction.ties_and_layers import is_true
from sparsync.theory.language.incomplete_functions import regularised_beta
from sparsync.theory.language.powers import RealPower
from sparsync.theory.language.quantiles import GUARD_BITS
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import d, failure_probability, i, j, q

PLACE = sympy.Symbol("y", positive=True)
"""Share of the energy that one coordinate holds."""
HALF = sympy.Rational(1, 2)


class OneShare(sympy.Function):  # type: ignore[misc]  # sympy has no annotations
    """P₁(d, y) = 1 − I_y(1/2, (d − 1)/2): the probability that a given coordinate holds a share above y."""

    nargs = 2

    @classmethod
    def eval(cls, dimension: sympy.Expr, level: sympy.Expr) -> sympy.Expr | None:
        """Closed forms for d = 2, 3 and 4, which are exact where terms cancel."""
        if level == 1:
            return sympy.Integer(0)
        arc = 2 / sympy.pi * sympy.asin(sympy.sqrt(level))
        if dimension == 2:
            return 1 - arc
        if dimension == 3:
            return 1 - sympy.sqrt(level)
        return 1 - arc - 2 / sympy.pi * sympy.sqrt(level * (1 - level)) if dimension == 4 else None

    def fdiff(self, argindex: int = 2) -> sympy.Expr:
        """∂P₁/∂y is minus the density of a share.

        Raises:
            ArgumentIndexError: the derivative in d, which no statement needs.
        """
        if argindex != 2:
            raise ArgumentIndexError(self, argindex)
        return -share_density(*self.args)

    def _eval_evalf(self, prec: int) -> sympy.Expr | None:
        return _evaluated(self, one_share, prec)

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        return _printed("P_1", self.args, printer, exp)


class TwoShares(sympy.Function):  # type: ignore[misc]  # sympy has no annotations
    """P₂(d, y): the probability that two given coordinates each hold a share above y; 0 from y = 1/2 on."""

    nargs = 2

    @classmethod
    def eval(cls, dimension: sympy.Expr, level: sympy.Expr) -> sympy.Expr | None:
        """Closed forms for d = 2, 3 and 4, which are exact where terms cancel, and 0 from y = 1/2 on."""
        if level.is_number and level >= HALF:
            return sympy.Integer(0)
        root = sympy.sqrt(level)
        arc = 4 / sympy.pi * sympy.asin(root)
        if dimension == 2:
            return 1 - arc
        if dimension == 3:
            quotient = level / (1 - level)
            arcs = (4 / sympy.pi * root * sympy.asin(sympy.sqrt(quotient)), 2 / sympy.pi * sympy.asin(quotient))
            return 1 - 2 * root + arcs[0] - arcs[1]
        if dimension == 4:
            return 1 - arc - 4 / sympy.pi * root * sympy.sqrt(1 - level) + 4 / sympy.pi * level
        return None

    def fdiff(self, argindex: int = 2) -> sympy.Expr:
        """∂P₂/∂y = −2p(y)P₁(d − 1, y/(1 − y)) below 1/2, p the density of a share: either of the two is the one at y.

        Raises:
            ArgumentIndexError: the derivative in d, which no statement needs.
        """
        if argindex != 2:
            raise ArgumentIndexError(self, argindex)
        dimension, level = self.args
        return pair_slope(dimension, level)

    def _eval_evalf(self, prec: int) -> sympy.Expr | None:
        return _evaluated(self, two_shares, prec)

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        return _printed("P_2", self.args, printer, exp)


def small_dimension_failure() -> Statement:
    """P(a Gaussian vector exceeds (1 − 1/d)^q at k = 1) = 1 − dP₁(d, y) + d(d − 1)P₂(d, y)/2, if y ≥ 1/3.

    Here y = 1 − (1 − 1/d)^q; P₁ and P₂ are the probabilities that one and that two given coordinates each hold more
    than the share y, in closed form up to d = 4. For q = 2: 1/3 at d = 2, √5 − 2 at d = 3, and d = 5 is the last
    dimension in the domain. Any law that is spherically symmetric gives the same.

    Source: ours.
    """
    share = 1 - RealPower(1 - 1 / d, q)
    bound = 1 - d * OneShare(d, share) + d * (d - 1) / 2 * TwoShares(d, share)
    return Statement(
        label="small_dimension_failure",
        title="A Gaussian vector of few coordinates violates a power bound",
        assumptions=(
            r"$u$ is Gaussian with independent coordinates of mean $0$ and equal positive variance",
            "$k=1$",
            r"$P_j(d,y)$ is the probability that each of $j$ given coordinates holds more than the share $y$ of"
            r" $\lVert u\rVert^2$",
        ),
        relation=sympy.Eq(failure_probability, bound),
        domain=(sympy.Ge(d, 2), sympy.Le(RealPower(1 - 1 / d, q), sympy.Rational(2, 3))),
        source="ours",
        derivation=(
            Step("the ratio exceeds (1 − 1/d)^q where the largest share v_1/Σv is below y", lambda: _level() - share),
            Step("y ≥ 1/3: three shares above y would sum to more than 1", _at_most_two),
            Step("1 − n + n(n − 1)/2 is 1 at n = 0 and 0 at n = 1 and n = 2", _excluded),
            Step(
                "so its mean is the probability: 1 − Σ_i P(v_i/Σv > y) + Σ_(i<j) P(v_i/Σv > y, v_j/Σv > y)",
                lambda: bound - _inclusion_exclusion(share),
                concludes=bound,
            ),
            Step("u² has the density of a gamma law with shape 1/2", _square_is_gamma),
            Step(
                "gamma variables of shapes a and b: share and sum are independent, Beta(a, b) and gamma(a + b)",
                _share_is_beta,
            ),
            Step("so the density of a share is y^(−1/2)(1 − y)^((d−3)/2)/B(1/2, (d − 1)/2)", _density_of_share),
            Step("d = 2, 3, 4: P₁ falls with that density, from 1 at 0", _closed_forms),
            Step(
                "∂P₂/∂y = −2p(y)P₁(d − 1, y/(1 − y)), p that density: either share may be the one at y",
                _pair_slope,
                argued="that with one share at y the others divide 1 − y like the shares of d − 1 coordinates",
            ),
            Step("d = 2, 3, 4: P₂ has that slope, and is 0 at y = 1/2", _pair_closed_forms),
            Step("q = 2: 1/3 at d = 2 and √5 − 2 at d = 3; q = 1: 0", lambda: _values(bound)),
        ),
    )


def share_density(dimension: sympy.Expr, level: sympy.Expr) -> sympy.Expr:
    """y^(−1/2)(1 − y)^((d−3)/2)/B(1/2, (d − 1)/2)."""
    beta = sympy.gamma(HALF) * sympy.gamma((dimension - 1) / 2) / sympy.gamma(dimension / 2)
    return level**-HALF * (1 - level) ** ((dimension - 3) / 2) / beta


def pair_slope(dimension: sympy.Expr, level: sympy.Expr) -> sympy.Expr:
    """−2p(y)P₁(d − 1, y/(1 − y)): where one share is y, the others divide 1 − y; if d = 2 the other has it all."""
    other = OneShare(dimension - 1, level / (1 - level)) if dimension != 2 else sympy.Integer(1)
    return -2 * share_density(dimension, level) * other


def one_share(dimension: mpmath.mpf, level: mpmath.mpf) -> mpmath.mpf:
    """P₁(d, y) = I_(1−y)((d − 1)/2, 1/2) at the working precision."""
    return regularised_beta((dimension - 1) / 2, mpmath.mpf(1) / 2, 1 - level)


def two_shares(dimension: mpmath.mpf, level: mpmath.mpf) -> mpmath.mpf:
    """P₂(d, y) for y < 1/2 and d ≥ 3 at the working precision: the integral of minus its slope, in z with share z²."""
    weight = 4 / mpmath.beta(mpmath.mpf(1) / 2, (dimension - 1) / 2)

    def integrand(place: mpmath.mpf) -> mpmath.mpf:
        rest = 1 - place**2
        return rest ** ((dimension - 3) / 2) * one_share(dimension - 1, min(place**2 / rest, mpmath.mpf(1)))

    return weight * mpmath.quad(integrand, [mpmath.sqrt(level), mpmath.sqrt(mpmath.mpf(1) / 2)])


def _evaluated(function: sympy.Function, compiled: Any, precision: int) -> sympy.Expr | None:
    if not all(argument.is_number for argument in function.args):
        return None
    bits = precision + GUARD_BITS
    with mpmath.workprec(bits):
        value = compiled(*(argument._to_mpmath(bits) for argument in function.args))
    return sympy.Expr._from_mpmath(value, precision)


def _printed(name: str, arguments: tuple[sympy.Expr, ...], printer: Any, power: str | None) -> str:
    inside = ", ".join(printer._print(argument) for argument in arguments)
    return rf"{name}{f'^{{{power}}}' if power else ''}\left({inside}\right)"


def _level() -> sympy.Expr:
    return sympy.solve(sympy.Eq(1 - PLACE, RealPower(1 - 1 / d, q)), PLACE)[0]


def _at_most_two() -> sympy.Basic:
    excesses = sympy.symbols("first second third", positive=True)
    level = sympy.Rational(1, 3) + sympy.Symbol("above", nonnegative=True)
    return is_true(sympy.expand(1 - sum(level + excess for excess in excesses)).is_negative)


def _excluded() -> sympy.Basic:
    counts = [1 - count + sympy.binomial(count, 2) for count in range(3)]
    return sympy.Eq(sympy.Tuple(*counts), sympy.Tuple(1, 0, 0))


def _inclusion_exclusion(share: sympy.Expr) -> sympy.Expr:
    one, two = sympy.symbols("P_1 P_2", nonnegative=True)
    total = 1 - sympy.Sum(one, (i, 1, d)).doit() + sympy.Sum(two, (j, i + 1, d), (i, 1, d)).doit()
    return total.subs({one: OneShare(d, share), two: TwoShares(d, share)})


def _square_is_gamma() -> sympy.Basic:
    """The density of u² at v is φ(√v)/√v; a gamma law of shape a and scale 2 has v^(a−1) e^(−v/2)/(Γ(a) 2^a)."""
    square = sympy.Symbol("v", positive=True)
    density = sympy.exp(-square / 2) / sympy.sqrt(2 * sympy.pi) / sympy.sqrt(square)
    return sympy.simplify(density - square ** (HALF - 1) * sympy.exp(-square / 2) / (sympy.gamma(HALF) * 2**HALF))


def _share_is_beta() -> sympy.Basic:
    """x = ys and (1 − y)s have Jacobian s: the product of their gamma densities is one in y times one in s."""
    total, rest, first, second = sympy.symbols("s r a b", positive=True)
    joint = (PLACE * total) ** (first - 1) * (rest * total) ** (second - 1) * sympy.exp(-total) * total
    factors = PLACE ** (first - 1) * rest ** (second - 1) * total ** (first + second - 1) * sympy.exp(-total)
    integral = sympy.integrate(total ** (first + second - 1) * sympy.exp(-total), (total, 0, sympy.oo))
    normalised = integral * sympy.beta(first, second).rewrite(sympy.gamma) - sympy.gamma(first) * sympy.gamma(second)
    return sympy.And(
        sympy.Eq(sympy.powsimp(sympy.expand_power_base(joint) / factors), 1),
        sympy.Eq(sympy.simplify(normalised), 0),
    )


def _density_of_share() -> sympy.Basic:
    """Beta(a, b) at a = 1/2 and b = (d − 1)/2; P₁ has it as minus its slope."""
    first, second = HALF, (d - 1) / 2
    beta = PLACE ** (first - 1) * (1 - PLACE) ** (second - 1) / sympy.beta(first, second).rewrite(sympy.gamma)
    slope = sympy.diff(OneShare(d, PLACE), PLACE)
    return sympy.Eq(sympy.gammasimp(sympy.simplify(slope / beta)), -1)


def _closed_forms() -> sympy.Basic:
    facts = []
    for dimension in (2, 3, 4):
        closed = OneShare(sympy.Integer(dimension), PLACE)
        slope = sympy.diff(closed, PLACE) + share_density(sympy.Integer(dimension), PLACE)
        facts += [sympy.Eq(sympy.simplify(slope), 0), sympy.Eq(closed.subs(PLACE, 0), 1)]
    return sympy.And(*facts)


def _pair_slope() -> sympy.Expr:
    """Of P(b > y, c > y) for any joint density: both edges of the square count, and are equal by symmetry."""
    first, second = sympy.symbols("b c", positive=True)
    joint = sympy.Function("h")
    probability = sympy.Integral(joint(first, second), (first, PLACE, 1), (second, PLACE, 1))
    edges = (
        sympy.Integral(joint(PLACE, second), (second, PLACE, 1)),
        sympy.Integral(joint(first, PLACE), (first, PLACE, 1)),
    )
    return (sympy.diff(probability, PLACE) + sympy.Add(*edges)).doit()


def _pair_closed_forms() -> sympy.Basic:
    """At y = t²/(1 + t²), where y/(1 − y) = t²."""
    root = sympy.Symbol("t", positive=True)
    facts = []
    for dimension in (sympy.Integer(2), sympy.Integer(3), sympy.Integer(4)):
        closed = TwoShares(dimension, PLACE)
        slope = (sympy.diff(closed, PLACE) - pair_slope(dimension, PLACE)).subs(PLACE, root**2 / (1 + root**2))
        facts += [sympy.Eq(sympy.simplify(slope), 0), sympy.Eq(closed.subs(PLACE, HALF), 0)]
    return sympy.And(*facts)


def _values(bound: sympy.Expr) -> sympy.Basic:
    expected = {
        (2, 2): sympy.Rational(1, 3),
        (3, 2): sympy.sqrt(5) - 2,
        (2, 1): sympy.Integer(0),
        (3, 1): sympy.Integer(0),
    }
    return sympy.And(
        *(
            sympy.Eq(sympy.simplify(bound.xreplace({d: sympy.Integer(dimension), q: sympy.Integer(power)}) - value), 0)
            for (dimension, power), value in expected.items()
        )
    )


STATEMENTS = by_label(__name__, small_dimension_failure)
"""The statements of this file."""
