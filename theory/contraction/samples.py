"""How far is the ratio of a random vector from the ratio of its law? What a finite number of coordinates may change.

The bounds for profiles speak of laws. `law_distance` compares the ratios of any two laws by an area between their
distribution functions; with one of them a sample's, it carries the bounds to vectors, for every k at once.
`sample_ratio` is the case of bounded coordinates; unbounded ones are in `theory/contraction/sample_moments.py`,
Gaussian vectors of few coordinates in `theory/contraction/small_dimensions.py`. Ours, from the inequality of Massart
1990.
"""

import sympy

from sparsync.theory.contraction.tail import is_nonnegative_polynomial
from sparsync.theory.contraction.ties_and_layers import is_true
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    d,
    deviation,
    deviation_probability,
    energy,
    kappa,
    mean_square,
    ratio_distance,
    tail_area,
)

DISTANCE = sympy.Symbol("epsilon_F", positive=True)
"""sup |F_d − F|: the distance of the sample's distribution function from the law's."""
LARGEST = sympy.Symbol("B", positive=True)
"""The largest square that the law allows."""
THRESHOLD, ABOVE = sympy.symbols("theta B-theta", nonnegative=True)
"""A threshold for squares, and how far it is below the largest."""
LAW_TAIL = sympy.Symbol("T", positive=True)
"""∫_κ^1 Q of a law with quantiles Q of u², largest first: what Top-k leaves."""


def law_distance() -> Statement:
    """sup_κ |ρ_G(κ) − ρ_F(κ)| ≤ min(1, N/M), N = sup_θ max(|∫_0^θ (G − F)|, |∫_θ^∞ (G − F)|).

    F and G are the distribution functions of two laws of squares v ≥ 0, M the mean of F, and ρ is one minus the Lorenz
    curve, read from the largest squares on. N is at most the Kantorovich distance ∫ |G − F|. Two laws on {0, 1} attain
    the bound.

    Source: ours.
    """
    bound = _area_over_mean()
    return Statement(
        label="law_distance",
        title="Ratios of two laws, every density at once",
        assumptions=(
            r"$F$, $G$ are the distribution functions of two laws of $u^2$ with finite means $M>0$ and $M_G$",
            r"$\rho_F(\kappa)=\int_\kappa^1 Q(t)\,dt/M$ with the quantiles $Q$ of $F$, largest first; $\rho_G$ alike, "
            r"or $0$ if $M_G=0$",
            r"$N=\sup_\theta\max(|\int_0^\theta(G-F)|,|\int_\theta^\infty(G-F)|)$",
        ),
        relation=sympy.Le(ratio_distance, sympy.Min(1, bound), evaluate=False),
        domain=(),
        source="ours",
        derivation=(
            Step("Q ≥ θ − max(θ − Q, 0), an equation for Q ≤ θ", _quantile_below_threshold),
            Step(
                "E max(θ − v, 0) = ∫_0^θ F, since max(θ − v, 0) = ∫_0^θ 1[v ≤ x] dx",
                _shortfall_is_area,
                argued="that a mean and an integral of a function ≥ 0 may be exchanged",
            ),
            Step(
                "so T(κ) = ∫_κ^1 Q = max_θ ((1 − κ)θ − ∫_0^θ F): T_G − T and −∫_0^θ (G − F) in turn",
                _tail_distance,
                argued="that the maximum is attained at the quantile of κ, and that the two first claims make it one",
            ),
            Step("at G's θ: R_G M − T ≤ R_G |∫_θ^∞| + (1 − R_G)|∫_0^θ| ≤ N, so R_G − R ≤ N/M", _ratio_rises_little),
            Step(
                "at F's θ, a = ∫_0^θ (G − F), c = −∫_θ^∞ (G − F): N M_G − M((1 − R)a + Rc) = M(N − a) + (T − N)(a − c)",
                _fall_identity,
            ),
            Step("that is ≥ 0 where T ≥ N, whichever of a and c is larger, so R − R_G ≤ N/M", _fall_is_small),
            Step("T ≤ N: R − R_G ≤ R = T/M ≤ N/M", lambda: _small_tail(bound)),
            Step(
                "G of v = 0, whose ratio we call 0: N = ∫ (1 − F) = M, and R ≤ 1",
                _vanishing_sample,
                argued="for laws of more than two steps",
            ),
            Step(
                "v in {0, 1} with means M and M − N: at κ = M − N the ratios are N/M and 0",
                lambda: _coins(bound),
            ),
            ratios_differ_by_one(sympy.Min(1, bound)),
        ),
    )


def sample_ratio() -> Statement:
    """P(some k has |ratio of the sample − ratio of the law at k/d| ≥ x) ≤ min(1, 2 exp(−2d(x v̄)²)), v̄ = E u²/B².

    d independent coordinates of a law with |u| ≤ B. The probability is that of sup|F_d − F| ≥ ε; where that distance is
    ε, every ratio is within ε/v̄ of the law's, by `law_distance`.

    Source: ours; Massart 1990 (Ann. Probab. 18), Corollary 1, for the constant of Dvoretzky, Kiefer and Wolfowitz.
    """
    bound = 2 * sympy.exp(-2 * d * (deviation * mean_square) ** 2)
    return Statement(
        label="sample_ratio",
        title="Ratio of a sample against the ratio of its law, every k at once",
        assumptions=(
            r"the $d$ coordinates are independent and follow one law with $|u|\leq B$",
            r"$\bar{v}=\mathbb{E}\,u^2/B^2$; the ratio of the zero vector is $0$",
        ),
        relation=sympy.Le(deviation_probability, sympy.Min(1, bound), evaluate=False),
        domain=(sympy.Le(mean_square, 1),),
        source="ours, from Massart 1990, Corollary 1",
        derivation=(
            Step("N ≤ εB², an area of height at most ε and width θ or B² − θ", _area_is_small),
            Step("so a deviation x ≤ N/M needs ε ≥ x v̄", lambda: _distance() - deviation * mean_square),
            Step(
                "P(sup|F_d − F| ≥ ε) ≤ 2 exp(−2dε²) (Massart 1990) at that ε, and a probability is at most 1",
                lambda: 2 * sympy.exp(-2 * d * _distance() ** 2) - bound,
                concludes=sympy.Min(1, bound),
                argued="the inequality of Massart is cited",
            ),
        ),
    )


def ratios_differ_by_one(bound: sympy.Expr) -> Step:
    """A step: the bound on a difference of ratios may be cut at 1."""

    def room() -> sympy.Basic:
        sent, left, other_sent, other_left = sympy.symbols("S T S_G T_G", positive=True)
        difference = left / (sent + left) - other_left / (other_sent + other_left)
        expected = sent / (sent + left) + other_left / (other_sent + other_left)
        return sympy.And(sympy.Eq(sympy.simplify(1 - difference - expected), 0), is_true(expected.is_nonnegative))

    return Step("two ratios differ by at most 1", room, concludes=bound)


def _area_over_mean() -> sympy.Expr:
    return tail_area / energy


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
    """At the best θ of one law the value of the other is not its maximum."""
    other, law, slack = sympy.symbols("other_area law_area slack", nonnegative=True)
    own = (1 - kappa) * THRESHOLD
    upper = (own - other) - (own - law + slack) + (other - law)
    lower = (own - other + slack) - (own - law) + (other - law)
    return sympy.And(sympy.Eq(sympy.expand(upper), -slack), sympy.Eq(sympy.expand(lower), slack))


def _ratio_rises_little() -> sympy.Basic:
    """With a and c as at F's θ: T = T_G + a + slack and M = M_G + a − c, and neither a nor c is below −N."""
    below, above, other = sympy.symbols("a c M_G", real=True)
    rooms, slack = sympy.symbols("room_below room_above", nonnegative=True), sympy.Symbol("slack", nonnegative=True)
    sent, left = sympy.symbols("sent left", positive=True)
    other_ratio = left / (sent + left)
    excess = other_ratio * (other + below - above) - (other_ratio * other + below + slack)
    room = tail_area - excess.subs({below: rooms[0] - tail_area, above: rooms[1] - tail_area})
    expected = (sent * rooms[0] + left * rooms[1]) / (sent + left) + slack
    return sympy.And(sympy.Eq(sympy.simplify(room - expected), 0), is_true(expected.is_nonnegative))


def _fall_identity() -> sympy.Expr:
    """R − R_G ≤ ((1 − R)a + Rc)/M_G from T_G ≥ T − a and M_G = M − a + c."""
    below, above = sympy.symbols("a c", real=True)
    law_ratio = LAW_TAIL / energy
    other = energy - below + above
    fall = law_ratio * other - (LAW_TAIL - below)
    return sympy.expand(tail_area * other - energy * fall - _fall_room(below, above))


def _fall_room(below: sympy.Expr, above: sympy.Expr) -> sympy.Expr:
    return energy * (tail_area - below) + (LAW_TAIL - tail_area) * (below - above)


def _fall_is_small() -> sympy.Basic:
    """T = N + x, M = T + y; the larger of a and c is r below N and exceeds the smaller by s."""
    more, rest, difference, room = sympy.symbols("x y s r", nonnegative=True)
    larger, generators = tail_area - room, (tail_area, more, rest, difference, room)
    cases = [
        _fall_room(*ends).subs(energy, LAW_TAIL + rest).subs(LAW_TAIL, tail_area + more)
        for ends in ((larger, larger - difference), (larger - difference, larger))
    ]
    return sympy.And(*(is_nonnegative_polynomial(case, *generators) for case in cases))


def _small_tail(bound: sympy.Expr) -> sympy.Basic:
    slack = sympy.Symbol("slack", nonnegative=True)
    room = (bound - LAW_TAIL / energy).subs(tail_area, LAW_TAIL + slack)
    return sympy.And(sympy.Eq(sympy.simplify(room - slack / energy), 0), is_true((slack / energy).is_nonnegative))


def _vanishing_sample() -> sympy.Expr:
    """The area is that of 1 − F over all of [0, ∞), shown for a law with steps of heights p and r."""
    level, first, second = sympy.symbols("x v_1 v_2", positive=True)
    mass, rest = sympy.symbols("p r", positive=True)
    steps = ((mass + rest, (level, 0, first)), (rest, (level, first, first + second)))
    area = sum(sympy.integrate(height, cell) for height, cell in steps)
    return sympy.expand(area - (mass * first + rest * (first + second)))


def _coins(bound: sympy.Expr) -> sympy.Expr:
    """ρ(κ) = max(0, 1 − κ/p) for the law with P(v = 1) = p."""
    smaller = sympy.Symbol("M_G", positive=True)
    means = (smaller + tail_area, smaller)
    ratios = [sympy.Max(0, sympy.simplify(1 - smaller / success)) for success in means]
    return sympy.simplify(ratios[0] - ratios[1] - bound.subs(energy, means[0]))


def _area_is_small() -> sympy.Basic:
    level = sympy.Symbol("x", real=True)
    largest = THRESHOLD + ABOVE
    areas = [sympy.expand(sympy.integrate(DISTANCE, (level, *cell))) for cell in ((0, THRESHOLD), (THRESHOLD, largest))]
    return sympy.And(
        sympy.Eq(sympy.expand(sum(areas) - DISTANCE * largest), 0), *(is_true(area.is_nonnegative) for area in areas)
    )


def _distance() -> sympy.Expr:
    """The ε at which the bound of `law_distance` is x."""
    largest_gap = _area_over_mean().subs({tail_area: DISTANCE * LARGEST, energy: mean_square * LARGEST})
    return sympy.solve(sympy.Eq(largest_gap, deviation), DISTANCE)[0]


STATEMENTS = by_label(__name__, law_distance, sample_ratio)
"""The statements of this file."""
