"""How does the shape of a profile or a vector decide what Top-k leaves? Exponents and Lorenz curves.

Ratio means ‖u − Top_k(u)‖²/‖u‖² = Σ_{i>k} v_i / Σ v_i for the sorted squares v_1 ≥ … ≥ v_d. The profile theorem of
`theory/contraction/profile.py` becomes a statement here, with its finite form for every exponent; `lorenz` says what a
power bound for every k means. Ties and layers are in `theory/contraction/ties_and_layers.py`, samples in
`theory/contraction/samples.py`. Proofs are ours.
"""

import sympy

from sparsync.theory.contraction.profile import exponent_theorem
from sparsync.theory.contraction.tail import TOP_K, tail_lemma
from sparsync.theory.contraction.ties_and_layers import is_true, sorted_squares
from sparsync.theory.language.given import Given
from sparsync.theory.language.powers import PowerSum, RealPower
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import d, gini, i, j, k, kappa, p, q, ratio, v

EXPLICIT_DIMENSION = 5
"""Largest d for which an identity is also expanded for a vector with named coordinates."""
_SLACK = sympy.Symbol("slack", nonnegative=True)
"""What an inequality leaves over."""


def exponent() -> Statement:
    """Ratio ≤ (1 − κ)^(1 + 2/p) if π^p/(1 − t) is non-increasing, with equality for π^p = 1 − t.

    The classes grow with p, and so does the bound: p = 1 is the bell shape (cubic), p = 2 the published square,
    p → ∞ the classical 1 − κ.

    Source: ours, generalising the convexity argument of Shi, Chu, Cheung and See 2019 (arXiv 1911.08772).
    """
    bound = RealPower(1 - kappa, 1 + 2 / p)
    plain = bound.rewrite(sympy.Pow)
    return Statement(
        label="exponent",
        title="Top-k, profile below a power of a line",
        assumptions=(
            Given("power", "a", "=", p, words=r"$\pi(t)^a/(1-t)$ is non-increasing for {}"),
            r"$\pi(t)$ is the magnitude exceeded by the share $t$; $0<\int_0^1\pi(t)^2\,dt<\infty$",
            r"the ratio is $\int_\kappa^1\pi(t)^2\,dt/\int_0^1\pi(t)^2\,dt$, as for $d\to\infty$ at $k/d=\kappa$",
        ),
        relation=sympy.Le(ratio, bound, evaluate=False),
        domain=(sympy.Le(kappa, 1),),
        source="ours, after Shi, Chu, Cheung and See 2019",
        derivation=(
            *exponent_theorem(),
            Step(
                "∫_κ^1 (1 − t)^(2/p) dt over ∫_0^1 (1 − t)^(2/p) dt is the bound",
                lambda: _line_ratio() - plain,
                concludes=bound,
            ),
            Step("p = 2 gives (1 − κ)²", lambda: plain.subs(p, 2) - (1 - kappa) ** 2),
            Step("p = 1 gives (1 − κ)³", lambda: plain.subs(p, 1) - (1 - kappa) ** 3),
            Step("p → ∞ gives 1 − κ", lambda: sympy.limit(plain, p, sympy.oo) - (1 - kappa)),
            Step(
                "r ≥ p: π^r/(1 − t) = (π^p/(1 − t))^(r/p) (1 − t)^(r/p − 1), so the classes grow",
                _classes_grow,
                argued="that a product of two non-increasing functions ≥ 0 is one",
            ),
            Step("the bound increases with p", lambda: _bound_increases(plain)),
        ),
    )


def exponent_discrete() -> Statement:
    """Ratio ≤ Σ_{j≤d−k} j^(2/p) / Σ_{j≤d} j^(2/p) if v_i/(d + 1 − i)^(2/p) is non-increasing; equality for that weight.

    Every p > 0. Its limit for d → ∞ with k/d = κ fixed is (1 − κ)^(1 + 2/p).

    Source: ours.
    """
    power = 2 / p
    bound = PowerSum(d - k, power) / PowerSum(d, power)
    return Statement(
        label="exponent_discrete",
        title="Top-k, magnitudes below a power of a line that is zero one past the end",
        assumptions=(
            TOP_K,
            Given("power", "a", "=", power, words="$v_i/(d+1-i)^a$ is non-increasing in the rank $i$ for {}"),
        ),
        relation=sympy.Le(ratio, bound, evaluate=False),
        domain=(sympy.Le(k, d),),
        source="ours",
        derivation=(
            *tail_lemma(),
            Step(
                "counted from the end, tail(w)/total(w) = Σ_{j≤d−k} j^(2/p) / Σ_{j≤d} j^(2/p)",
                lambda: _power_tail(k) / _power_tail(sympy.S.Zero) - bound.rewrite(sympy.Sum),
                concludes=bound,
            ),
            Step("p = 2 gives (1 − k/d)(1 − k/(d+1))", lambda: _closed(bound, 2) - (1 - k / d) * (1 - k / (d + 1))),
            Step(
                "p = 1 gives (d−k)(d−k+1)(2(d−k)+1)/(d(d+1)(2d+1))", lambda: _closed(bound, 1) - _squared_ramp_ratio()
            ),
            *power_sum_steps(power),
            Step("both sides of the enclosure tend to (1 − κ)^(1 + 2/p)", lambda: _enclosure_limits(power)),
        ),
    )


def lorenz() -> Statement:
    """Gini index of the squares ≥ 1 − 1/d − 2 Σ_{j<d} j^q/d^(q+1) if the ratio is at most (1 − k/d)^q for every k.

    The ratio at k is the Lorenz curve of the squares at 1 − k/d. So that hypothesis says, no more and no less, that the
    Lorenz curve lies below x^q at the multiples of 1/d; equivalently, v/Σv majorises the vector of the increments
    (j/d)^q − ((j − 1)/d)^q, which attains the bound. For d → ∞ the bound is (q − 1)/(q + 1): 1/3 and 1/2 at q = 2 and
    q = 3, times 1 − 1/d² at finite d. The cell averages of a profile of `exponent` have q = 1 + 2/p.

    Source: ours; Lorenz curves and majorisation: Marshall, Olkin and Arnold 2011.
    """
    bound = 1 - 1 / d - 2 * PowerSum(d - 1, q) / RealPower(d, q + 1)
    return Statement(
        label="lorenz",
        title="Power bound for every k, Gini index of the squares",
        assumptions=(
            r"$u\neq0$",
            Given(
                "kept_back",
                r"\lVert u-\mathrm{Top}_k(u)\rVert^2/\lVert u\rVert^2",
                "≤",
                (1 - k / d) ** q,
                words=r"{} for every $k$, which holds if and only if the Lorenz curve of the squares is at most $x^q$ "
                r"at the multiples $x$ of $1/d$",
            ),
        ),
        relation=sympy.Ge(gini, bound, evaluate=False),
        domain=(sympy.Ge(q, 1),),
        source="ours",
        derivation=(
            Step("the smallest d − k squares sum to Σ_{i>k} v_i: the ratio is L(1 − k/d)", _lorenz_value),
            Step("Σ_{i<j} (v_i − v_j) = Σ_i (d + 1 − 2i) v_i, pair by pair", _pair_coefficient),
            Step("v_i is left behind by k = 1..i−1: Gini = 1 − 1/d − (2/d) Σ_{k<d} ratio(k)", _gini_coefficient),
            Step(f"the identity, written out for d ≤ {EXPLICIT_DIMENSION}", _explicit_gini),
            Step("Σ_{k<d} (1 − k/d)^q = Σ_{j<d} j^q/d^q", _power_curve_sum),
            Step("each ratio(k) below (1 − k/d)^q raises Gini", lambda: _gini_slack(bound), concludes=bound),
            Step(
                "x^q is convex for q ≥ 1: its increments are sorted squares, which attain the bound",
                _convex_power,
                argued="that the increments of a convex function grow, and sum up to its values",
            ),
            Step("q = 2 gives (1 − 1/d²)/3", lambda: _gini_at(bound, 2) - (1 - 1 / d**2) / 3),
            Step("q = 3 gives (1 − 1/d²)/2", lambda: _gini_at(bound, 3) - (1 - 1 / d**2) / 2),
            *power_sum_steps(q),
            Step("d → ∞ gives (q − 1)/(q + 1)", _gini_limit),
        ),
    )


def power_sum_steps(power: sympy.Expr) -> tuple[Step, ...]:
    """n^(a+1)/(a+1) ≤ 1^a + … + n^a ≤ n^(a+1)/(a+1) + n^a for a = power > 0: the sum against its integral."""
    place, count = sympy.symbols("x n", positive=True)

    def area() -> sympy.Expr:
        return sympy.integrate(place**power, (place, 0, count)) - count ** (power + 1) / (power + 1)

    return (
        Step(
            f"x^({power}) increases: ∫_{{j−1}}^j x^a ≤ j^a ≤ ∫_j^{{j+1}} x^a",
            lambda: is_true(_slope(place, power)),
            argued="that the integral of an increasing function lies between its values at the ends",
        ),
        Step(f"∫_0^n x^({power}) dx = n^({power} + 1)/({power} + 1)", area),
    )


def _slope(place: sympy.Symbol, power: sympy.Expr) -> bool | None:
    fact: bool | None = sympy.diff(place**power, place).is_positive
    return fact


def _line_ratio() -> sympy.Expr:
    remaining, end = sympy.symbols("x y", positive=True)
    energy = sympy.integrate(remaining ** (2 / p), (remaining, 0, end))
    return sympy.simplify(energy.subs(end, 1 - kappa) / energy.subs(end, 1))


def _classes_grow() -> sympy.Basic:
    height, remaining = sympy.symbols("h y", positive=True)
    larger = p + _SLACK
    first, second = (height**p / remaining) ** (larger / p), remaining ** (larger / p - 1)
    identity = sympy.expand_power_base(first, force=True) * second - height**larger / remaining
    return sympy.And(
        sympy.Eq(sympy.powsimp(sympy.powdenest(identity, force=True)), 0), is_true((larger - p).is_nonnegative)
    )


def _bound_increases(plain: sympy.Expr) -> sympy.Basic:
    logarithm = sympy.Symbol("x", positive=True)
    return is_true(sympy.diff(plain.subs(kappa, 1 - sympy.exp(-logarithm)), p).is_positive)


def _power_tail(cut: sympy.Expr) -> sympy.Expr:
    return sympy.Sum((d + 1 - i) ** (2 / p), (i, cut + 1, d)).change_index(i, d + 1 - i, j)


def _closed(bound: sympy.Expr, shape: int) -> sympy.Expr:
    return bound.rewrite(sympy.Sum).subs(p, shape).doit()


def _squared_ramp_ratio() -> sympy.Expr:
    tail = (d - k) * (d - k + 1) * (2 * (d - k) + 1)
    return tail / tail.subs(k, 0)


def _enclosure_limits(power: sympy.Expr) -> sympy.Basic:
    """Lower sum over upper sum and upper over lower, for n = (1 − κ)d and n = d; y stands for 1 − κ."""
    share, dimension = sympy.symbols("y D", positive=True)
    lower, upper = dimension ** (power + 1) / (power + 1), dimension ** (power + 1) / (power + 1) + dimension**power
    quotients = (
        lower.subs(dimension, share * dimension) / upper,
        upper.subs(dimension, share * dimension) / lower,
    )
    limits = (sympy.limit(sympy.powsimp(sympy.simplify(quotient)), dimension, sympy.oo) for quotient in quotients)
    return sympy.And(*(sympy.Eq(sympy.simplify(value - share ** (power + 1)), 0) for value in limits))


def _lorenz_value() -> sympy.Basic:
    smallest = sympy.Sum(v[d + 1 - j], (j, 1, d - k))
    return smallest.change_index(j, d + 1 - j, i) - sympy.Sum(v[i], (i, k + 1, d))


def _pair_coefficient() -> sympy.Basic:
    larger_of, smaller_of = sympy.Sum(1, (j, i + 1, d)), sympy.Sum(1, (j, 1, i - 1))
    return (larger_of - smaller_of).doit() - (d + 1 - 2 * i)


def _gini_coefficient() -> sympy.Basic:
    times_left = sympy.Sum(1, (k, 1, i - 1)).doit()
    return (d + 1 - 2 * i) / d - (1 - 1 / d - 2 * times_left / d)


def _explicit_gini() -> sympy.Basic:
    return sympy.And(*(_gini_identity(dimension) for dimension in range(1, EXPLICIT_DIMENSION + 1)))


def _gini_identity(dimension: int) -> sympy.Basic:
    squares = sorted_squares(dimension)
    total = sympy.Add(*squares)
    differences = sympy.Add(*(abs(one - other) for one in squares for other in squares))
    left_behind = sympy.Add(*(square for count in range(1, dimension) for square in squares[count:]))
    difference = differences / 2 - ((dimension - 1) * total - 2 * left_behind)
    return sympy.Eq(sympy.expand(difference), 0)


def _power_curve_sum() -> sympy.Basic:
    curve = sympy.Sum(((d - k) / d) ** q, (k, 1, d - 1)).change_index(k, d - k, j)
    return sympy.expand_power_base(curve) - sympy.Sum(j**q * d**-q, (j, 1, d - 1))


def _gini_slack(bound: sympy.Expr) -> sympy.Basic:
    """Gini − bound = (2/d) Σ slack with slack_k = (1 − k/d)^q − ratio(k) ≥ 0."""
    index = 1 - 1 / d - 2 * (PowerSum(d - 1, q) * d**-q - _SLACK) / d
    difference = sympy.powsimp(sympy.expand(index - bound.rewrite(sympy.Pow)))
    return is_true(sympy.simplify(difference).is_nonnegative)


def _convex_power() -> sympy.Basic:
    place = sympy.Symbol("x", positive=True)
    return is_true(sympy.diff(place ** (1 + _SLACK), place, 2).is_nonnegative)


def _gini_at(bound: sympy.Expr, power: int) -> sympy.Expr:
    return bound.rewrite(sympy.Sum).rewrite(sympy.Pow).subs(q, power).doit()


def _gini_limit() -> sympy.Basic:
    """Σ_{j<d} j^q lies between d^(q+1)/(q+1) − d^q and d^(q+1)/(q+1), by the enclosure."""
    dimension = sympy.Symbol("D", positive=True)
    area = dimension ** (q + 1) / (q + 1)
    indices = (1 - 1 / dimension - 2 * total / dimension ** (q + 1) for total in (area, area - dimension**q))
    limits = (sympy.limit(sympy.expand(sympy.powsimp(sympy.expand(index))), dimension, sympy.oo) for index in indices)
    return sympy.And(*(sympy.Eq(sympy.simplify(value - (q - 1) / (q + 1)), 0) for value in limits))


STATEMENTS = by_label(__name__, exponent, exponent_discrete, lorenz)
"""The statements of this file."""
