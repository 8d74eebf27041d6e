"""How far is the ratio of a random vector from the ratio of its law? What a finite number of coordinates may change.

The bounds for profiles speak of laws. `sample_ratio` carries them to a vector of d independent coordinates, for every k
at once, where the coordinates are bounded; `small_dimension_failure` computes how often a Gaussian vector of few
coordinates violates them. Ours, from the inequality of Massart 1990.
"""

import sympy

from sparsync.theory.powers import RealPower
from sparsync.theory.statement import Statement, Step
from sparsync.theory.symbols import (
    d,
    deviation,
    deviation_probability,
    failure_probability,
    i,
    kappa,
    mean_square,
    q,
)
from sparsync.theory.tail import is_nonnegative_polynomial
from sparsync.theory.ties_and_layers import is_true

DISTANCE = sympy.Symbol("epsilon_F", positive=True)
"""sup |F_d − F|: the distance of the sample's distribution function from the law's."""
LARGEST = sympy.Symbol("B", positive=True)
"""The largest square that the law allows."""
THRESHOLD, ABOVE = sympy.symbols("theta B-theta", nonnegative=True)
"""A threshold for squares, and how far it is below the largest."""
PLACE = sympy.Symbol("y", positive=True)
"""Share of the energy that one coordinate holds."""


def sample_ratio() -> Statement:
    """P(some k has |ratio of the sample − ratio of the law at k/d| ≥ x) ≤ 2 exp(−2 d (x v̄/(1 + x))²), v̄ = E u²/B².

    d independent coordinates of a law with |u| ≤ B. The probability is that of sup|F_d − F| ≥ ε; where that distance is
    ε, every ratio is within ε/(v̄ − ε) of the law's.

    Source: ours; Massart 1990 (Ann. Probab. 18), Corollary 1, for the constant of Dvoretzky, Kiefer and Wolfowitz.
    """
    bound = 2 * sympy.exp(-2 * d * (deviation * mean_square / (1 + deviation)) ** 2)
    return Statement(
        label="sample_ratio",
        title="Ratio of a sample against the ratio of its law, every k at once",
        assumptions=(
            r"the $d$ coordinates are independent and follow one law with $|u|\leq B$",
            r"$\bar{v}=\mathbb{E}\,u^2/B^2$",
        ),
        relation=sympy.Le(deviation_probability, bound, evaluate=False),
        domain=(sympy.Le(mean_square, 1),),
        source="ours, from Massart 1990, Corollary 1",
        derivation=(
            Step("Q ≥ θ − max(θ − Q, 0), an equation for Q ≤ θ", _quantile_below_threshold),
            Step("E max(θ − v, 0) = ∫_0^θ F, since max(θ − v, 0) = ∫_0^θ 1[v ≤ x] dx", _shortfall_is_area),
            Step(
                "so T(κ) = ∫_κ^1 Q = max_θ ((1 − κ)θ − ∫_0^θ F): T_d − T and −∫_0^θ (F_d − F) in turn", _tail_distance
            ),
            Step("|T_d − R M_d| ≤ ε((1 − R)θ + R(B − θ)) ≤ εB where |F_d − F| ≤ ε", _numerator_is_small),
            Step("M_d ≥ M − εB, so |T_d/M_d − R| ≤ εB/(M − εB) = ε/(v̄ − ε)", _denominator_is_large),
            Step("ε/(v̄ − ε) = x for ε = x v̄/(1 + x), and it increases with ε", _distance_of_deviation),
            Step(
                "P(sup|F_d − F| ≥ ε) ≤ 2 exp(−2dε²) (Massart 1990) at that ε",
                lambda: 2 * sympy.exp(-2 * d * _distance() ** 2) - bound,
                concludes=bound,
            ),
        ),
    )


def small_dimension_failure() -> Statement:
    """P(a Gaussian vector exceeds (1 − 1/d)^q at k = 1) = 1 − d(1 − I_y(1/2, (d − 1)/2)), where y = 1 − (1 − 1/d)^q.

    I is the regularised incomplete beta function. It holds where (1 − 1/d)^q ≤ 1/2, so that two coordinates cannot hold
    the share y each. For q = 2: 1/3 at d = 2 and √5 − 2 at d = 3. Any law that is spherically symmetric gives the same.

    Source: ours.
    """
    share = 1 - RealPower(1 - 1 / d, q)
    bound = 1 - d * (1 - beta_share(share))
    return Statement(
        label="small_dimension_failure",
        title="A Gaussian vector of few coordinates violates a power bound",
        assumptions=(r"$u$ is Gaussian with independent coordinates of mean $0$ and equal variance", "$k=1$"),
        relation=sympy.Eq(failure_probability, bound),
        domain=(sympy.Ge(d, 2), sympy.Le(RealPower(1 - 1 / d, q), sympy.Rational(1, 2))),
        source="ours",
        derivation=(
            Step("the ratio exceeds (1 − 1/d)^q where the largest share v_1/Σv is below y", lambda: _level() - share),
            Step("y ≥ 1/2: two shares above y would sum to more than 1", _caps_are_disjoint),
            Step("u² has the density of a gamma law with shape 1/2", _square_is_gamma),
            Step(
                "gamma variables of shapes a and b: share and sum are independent, Beta(a, b) and gamma(a + b)",
                _share_is_beta,
            ),
            Step("∂I_y(a, b)/∂y is the density of Beta(a, b)", _beta_density),
            Step(
                "d events that exclude each other: 1 − Σ_i P(v_i/Σv > y)",
                lambda: bound - 1 + sympy.Sum(1 - beta_share(share), (i, 1, d)).doit(),
                concludes=bound,
            ),
            Step("d = 2: I_y(1/2, 1/2) = (2/π) arcsin √y", lambda: _closed_form(2, _arc(PLACE))),
            Step("d = 2, q = 2 gives 1/3", lambda: _value(bound, 2, _arc) - sympy.Rational(1, 3)),
            Step("d = 3: I_y(1/2, 1) = √y", lambda: _closed_form(3, sympy.sqrt(PLACE))),
            Step("d = 3, q = 2 gives √5 − 2", lambda: _value(bound, 3, sympy.sqrt) - (sympy.sqrt(5) - 2)),
        ),
    )


def beta_share(share: sympy.Expr) -> sympy.Expr:
    """I_y(1/2, (d − 1)/2): the probability that a given coordinate holds less than the share y of the energy."""
    return sympy.betainc_regularized(sympy.Rational(1, 2), (d - 1) / 2, 0, share)


def _quantile_below_threshold() -> sympy.Basic:
    distance = sympy.Symbol("x", nonnegative=True)
    rooms = [
        value - (THRESHOLD - sympy.Max(THRESHOLD - value, 0)) for value in (THRESHOLD + distance, THRESHOLD - distance)
    ]
    return sympy.And(is_true(rooms[0].is_nonnegative), sympy.Eq(sympy.expand(rooms[1]), 0))


def _shortfall_is_area() -> sympy.Basic:
    """Below its square a coordinate adds nothing to F, from there on it adds 1."""
    level = sympy.Symbol("x", real=True)
    small, distance = sympy.symbols("v y", positive=True)
    counted = sympy.Piecewise((0, level < small), (1, True))
    pairs = ((small + distance, small), (small, small + distance))
    areas = [
        sympy.integrate(counted.subs(small, square), (level, 0, threshold)) - sympy.Max(threshold - square, 0)
        for threshold, square in pairs
    ]
    return sympy.And(*(sympy.Eq(sympy.simplify(area), 0) for area in areas))


def _tail_distance() -> sympy.Basic:
    """At the sample's best θ the law's value is not its maximum, and the other way round."""
    sample, law, slack = sympy.symbols("sample_area law_area slack", nonnegative=True)
    own = (1 - kappa) * THRESHOLD
    upper = (own - sample) - (own - law + slack) + (sample - law)
    lower = (own - sample + slack) - (own - law) + (sample - law)
    return sympy.And(is_true(sympy.expand(upper).is_nonpositive), is_true(sympy.expand(lower).is_nonnegative))


def _numerator_is_small() -> sympy.Basic:
    """T_d − R M_d is between −(1 − R)A + R C at two thresholds, A and C being ∫ (F_d − F) below and above θ."""
    rooms = sympy.symbols("room_below room_above", nonnegative=True)
    parts = sympy.symbols("kept left", positive=True)
    law_ratio = parts[0] / sum(parts)
    ends = (DISTANCE * THRESHOLD - rooms[0], DISTANCE * ABOVE - rooms[1])
    whole = DISTANCE * (THRESHOLD + ABOVE)
    upper = whole - (-(1 - law_ratio) * -ends[0] + law_ratio * ends[1])
    lower = whole + (-(1 - law_ratio) * ends[0] + law_ratio * -ends[1])
    generators = (*rooms, *parts, DISTANCE, THRESHOLD, ABOVE)
    numerators = [sympy.expand(sympy.cancel(room * sum(parts))) for room in (upper, lower)]
    return sympy.And(*(is_nonnegative_polynomial(numerator, *generators) for numerator in numerators))


def _denominator_is_large() -> sympy.Basic:
    room, slack = sympy.Symbol("room", positive=True), sympy.Symbol("slack", nonnegative=True)
    mean = DISTANCE * LARGEST + room
    sample_mean = mean - DISTANCE * LARGEST + slack
    difference = DISTANCE * LARGEST / (mean - DISTANCE * LARGEST) - DISTANCE * LARGEST / sample_mean
    relative = DISTANCE * LARGEST / (mean - DISTANCE * LARGEST) - DISTANCE / (mean / LARGEST - DISTANCE)
    return sympy.And(is_true(sympy.factor(difference).is_nonnegative), sympy.Eq(sympy.simplify(relative), 0))


def _distance() -> sympy.Expr:
    return sympy.solve(sympy.Eq(DISTANCE / (mean_square - DISTANCE), deviation), DISTANCE)[0]


def _distance_of_deviation() -> sympy.Basic:
    slope = sympy.factor(sympy.diff(DISTANCE / (mean_square - DISTANCE), DISTANCE))
    increases = slope * (mean_square - DISTANCE) ** 2
    return sympy.And(
        sympy.Eq(sympy.simplify(_distance() - deviation * mean_square / (1 + deviation)), 0),
        is_true(sympy.simplify(increases).is_positive),
    )


def _level() -> sympy.Expr:
    return sympy.solve(sympy.Eq(1 - PLACE, RealPower(1 - 1 / d, q)), PLACE)[0]


def _caps_are_disjoint() -> sympy.Basic:
    first, second = sympy.symbols("first second", positive=True)
    level = sympy.Rational(1, 2) + sympy.Symbol("above", nonnegative=True)
    return is_true((1 - (level + first) - (level + second)).is_negative)


def _square_is_gamma() -> sympy.Basic:
    """The density of u² at v is φ(√v)/√v; a gamma law of shape a and scale 2 has v^(a−1) e^(−v/2)/(Γ(a) 2^a)."""
    square, shape = sympy.Symbol("v", positive=True), sympy.Rational(1, 2)
    density = sympy.exp(-square / 2) / sympy.sqrt(2 * sympy.pi) / sympy.sqrt(square)
    return sympy.simplify(density - square ** (shape - 1) * sympy.exp(-square / 2) / (sympy.gamma(shape) * 2**shape))


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


def _beta_density() -> sympy.Expr:
    first, second = sympy.symbols("a b", positive=True)
    distribution = sympy.betainc_regularized(first, second, 0, PLACE)
    density = PLACE ** (first - 1) * (1 - PLACE) ** (second - 1) / sympy.beta(first, second)
    return sympy.simplify(sympy.diff(distribution, PLACE) - density)


def _arc(share: sympy.Expr) -> sympy.Expr:
    return 2 / sympy.pi * sympy.asin(sympy.sqrt(share))


def _closed_form(dimension: int, closed: sympy.Expr) -> sympy.Basic:
    """Equal derivatives, and both zero at 0."""
    slope = sympy.diff(beta_share(PLACE).subs(d, dimension) - closed, PLACE)
    return sympy.And(sympy.Eq(sympy.simplify(sympy.expand_func(slope)), 0), sympy.Eq(closed.subs(PLACE, 0), 0))


def _value(bound: sympy.Expr, dimension: int, closed: sympy.Function) -> sympy.Expr:
    function = beta_share(PLACE).subs(d, dimension)
    at_dimension = bound.subs(d, dimension).subs(q, 2)
    return sympy.simplify(at_dimension.replace(function.func, lambda *arguments: closed(arguments[-1])))


SAMPLE_STATEMENTS: dict[str, Statement] = {
    "sample_ratio": sample_ratio(),
    "small_dimension_failure": small_dimension_failure(),
}
"""The statements of this file, by label."""
