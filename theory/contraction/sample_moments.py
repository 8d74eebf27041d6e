"""How far is the ratio of an unbounded sample from that of its law? Finite fourth moments suffice, Gaussians do better.

Both statements bound the tail area N of `law_distance` and hold for every k at once. The first symmetrises and uses
Chebyshev's inequality in Cantelli's form. The second uses that a ratio is a function on the sphere with gradient at
most 1, so that the logarithmic Sobolev inequality of Gross 1975 gives it a Gaussian tail. Ours.
"""

from itertools import pairwise

import mpmath
import sympy

from sparsync.theory.contraction.samples import ratios_differ_by_one
from sparsync.theory.contraction.ties_and_layers import is_true
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import d, failure, kurtosis, sample_deviation

EXPLICIT_SIZE = 4
"""Sums with signs are written out for so many coordinates."""
GAUSSIAN_AREA = sympy.Rational(29, 16)
"""Upper bound of √d E N for squares of standard Gaussian coordinates."""
CELLS_PER_UNIT = 400
"""Cells of the upper sum, per standard deviation."""
LAST_LEVEL = 10
"""The upper sum ends at so many standard deviations."""
UPPER_SUM_DIGITS = 30
"""Working precision of the upper sum."""

CHANCE = sympy.Symbol("F", positive=True)
"""P(v ≤ x) at one x."""
EXCESS = sympy.Symbol("s", positive=True)
"""By how much a variable exceeds its mean."""
RATE = sympy.Symbol("lambda", positive=True)
"""Rate of an exponential moment."""


def moment_sample_ratio() -> Statement:
    """With probability 1 − f, max_k |ρ_k(u) − ρ(k/d)| ≤ min(1, (4√K + √((K − 1)(1 − f)/f))/√d), K = E u⁴/(E u²)².

    For d independent coordinates of one law with a finite fourth moment. The second term alone is right up to a factor
    that tends to 1 for rare large squares, as f → 0.

    Source: ours; Lévy's maximal inequality, Cantelli's inequality, and for the variance Efron and Stein 1981 in the
    form of Steele 1986.
    """
    bound = (4 * sympy.sqrt(kurtosis) + sympy.sqrt((kurtosis - 1) * (1 - failure) / failure)) / sympy.sqrt(d)
    return Statement(
        label="moment_sample_ratio",
        title="Ratio of a sample with finite fourth moment, every k at once",
        assumptions=(
            r"the $d$ coordinates are independent and follow one law with $\mathbb{E}\,u^4=K(\mathbb{E}\,u^2)^2>0$; "
            r"the ratio of the zero vector is $0$",
            "with probability at least $1-f$",
        ),
        relation=sympy.Le(sample_deviation, sympy.Min(1, bound), evaluate=False),
        domain=(sympy.Ge(kurtosis, 1), sympy.Le(failure, 1)),
        source="ours; Efron and Stein 1981 for the variance",
        derivation=(
            Step("v sorted upwards: min(v, θ) = bv and v − min(v, θ) = (1 − b)v, 1 ≥ b_1 ≥ … ≥ b_d ≥ 0", _is_sorted),
            Step("so Σ ±min(v_i, θ) is a mean of 0 and S_1, …, S_d, the sums of ±v_1, …, ±v_m", _mean_of_heads),
            Step(
                "Lévy: where |S_m| > t, |S_d| > t or |2S_m − S_d| > t, so E max S_m² ≤ 2 E S_d²",
                _reflection,
                argued="that the signs after the first m with |S_m| > t may all be changed",
            ),
            Step("E S_d² = Σ v_i² over the signs: a sign more adds v² in the mean", _signs_are_orthogonal),
            Step(
                "heads and tails of the sum: E N ≤ (2/d)√((2 + 2) d E v²) = 4M√(K/d), the first 2 from symmetrising",
                lambda: 2 * sympy.sqrt((2 + 2) * d * kurtosis) / d - _mean_area(),
                argued="symmetrising by a second sample, and Jensen's inequality for the root",
            ),
            Step(
                "v' in the place of v moves N by |v − v'|/d: min(v, θ) − Rv has slopes 1 − R and −R",
                _slopes,
                argued="that a maximum of functions with slopes of at most 1 has such slopes",
            ),
            Step(
                "E(v − v')²/2 = E v² − (E v)², so Var N ≤ M²(K − 1)/d (Efron and Stein 1981)",
                _half_square,
                argued="the inequality of Efron and Stein is cited",
            ),
            Step("Cantelli: P(N ≥ E N + t) ≤ V/(V + t²)", _cantelli, argued="Markov's inequality"),
            Step("that is f at t = √(V(1 − f)/f)", _cantelli_at_failure),
            Step(
                "N/M ≤ (E N + t)/M, by law_distance",
                lambda: _mean_area() + _excess_of_failure(_area_variance()) - bound,
            ),
            ratios_differ_by_one(sympy.Min(1, bound)),
        ),
    )


def gaussian_sample_ratio() -> Statement:
    """With probability 1 − f, max_k |ρ_k(u) − ρ(k/d)| ≤ min(1, (29/16)/√d + √(2 ln(1/f)/(d − 2))), u Gaussian, d ≥ 3.

    ρ(κ) is the ratio of `gaussian_law`. At f = 1 the bound is on the mean. It holds for every spherically symmetric law
    of u, since the ratio depends on the direction alone.

    Source: ours; Gross 1975 (Amer. J. Math. 97) for the logarithmic Sobolev inequality, with Herbst's argument.
    """
    bound = GAUSSIAN_AREA / sympy.sqrt(d) + sympy.sqrt(2 * sympy.log(1 / failure) / (d - 2))
    return Statement(
        label="gaussian_sample_ratio",
        title="Ratio of a Gaussian vector, every k at once",
        assumptions=(
            r"$u$ is Gaussian with independent coordinates of mean $0$ and equal positive variance",
            "with probability at least $1-f$",
        ),
        relation=sympy.Le(sample_deviation, sympy.Min(1, bound), evaluate=False),
        domain=(sympy.Ge(d, 3), sympy.Le(failure, 1)),
        source="ours, from Gross 1975",
        derivation=(
            Step(
                "E|F_d − F| ≤ √(F(1 − F)/d), the standard deviation of a mean of indicators",
                _indicator_variance,
                argued="that a mean of d independent variables has a d-th of their variance, and Jensen's inequality",
            ),
            Step("N ≤ (∫|F_d − F| + |∫(F_d − F)|)/2, from the parts of either sign", _larger_part),
            Step("E|M_d − M| ≤ √(Var u²/d) = √(2/d)", _square_variance, argued="the same two facts"),
            Step(
                "√d E N ≤ (∫√(F(1 − F)) + √2)/2 ≤ 29/16, by an upper sum",
                _upper_sum_is_small,
                argued="that √(F(1 − F)) rises until F = 1/2 and falls after, and the rest beyond the last level",
            ),
            Step(
                "‖u‖²|∇ρ|² = 4ρ(1 − ρ) ≤ 1, and so for D = max_k |ρ_k(u) − ρ(k/d)|",
                _gradient_of_ratio,
                argued="that a maximum of functions with such gradients has them almost everywhere",
            ),
            Step("E‖u‖⁻² = 1/(d − 2)", _inverse_square_norm),
            Step(
                "Ent(g²) ≤ 2 E|∇g|² (Gross 1975) at g² = e^(λD): Ent ≤ (λ²/2) E[‖u‖⁻²] E e^(λD), norm and direction"
                " being independent",
                _entropy_of_exponential,
                argued="the inequality of Gross is cited; that norm and direction are independent",
            ),
            Step("Herbst: the slope of ln(E e^(λD))/λ is Ent/(λ² E e^(λD)) ≤ 1/(2(d − 2))", _herbst),
            Step(
                "P(D ≥ E D + s) ≤ min_λ e^(λ²/(2(d − 2)) − λs) = e^(−(d − 2)s²/2)",
                _chernoff,
                argued="Markov's inequality",
            ),
            Step(
                "that is f at s = √(2 ln(1/f)/(d − 2))",
                lambda: sympy.exp(-(d - 2) * _excess_of_exponent() ** 2 / 2) - failure,
            ),
            Step(
                "E D ≤ E N by law_distance, where E u² = 1",
                lambda: GAUSSIAN_AREA / sympy.sqrt(d) + _excess_of_exponent() - bound,
            ),
            ratios_differ_by_one(sympy.Min(1, bound)),
        ),
    )


def _is_sorted() -> sympy.Basic:
    """b = 1 up to θ, and θ/v from there on, where vb = θ."""
    square, more, threshold = sympy.symbols("v more theta", positive=True)
    weight = threshold / square
    return sympy.And(
        sympy.Eq(weight.subs(square, threshold), 1),
        sympy.Eq(sympy.simplify(weight - weight.subs(square, square + more) - weight * more / (square + more)), 0),
        sympy.Eq(square * weight, threshold),
    )


def _mean_of_heads() -> sympy.Basic:
    """Written out, and one coordinate more: (b_d − b_(d+1))S_d + b_(d+1)S_(d+1) − b_d S_d is b_(d+1)x_(d+1)."""
    weights = (*sympy.symbols(f"b_1:{EXPLICIT_SIZE + 1}"), sympy.Integer(0))
    terms = sympy.symbols(f"x_1:{EXPLICIT_SIZE + 1}")
    heads = [sum(terms[:count]) for count in range(1, EXPLICIT_SIZE + 1)]
    drops = [first - second for first, second in pairwise(weights)]
    written_out = sum(drop * head for drop, head in zip(drops, heads, strict=True)) - sum(
        weight * term for weight, term in zip(weights, terms, strict=False)
    )
    weight, following, head, term = sympy.symbols("b b_next S x")
    one_more = (weight - following) * head + following * (head + term) - weight * head - following * term
    return sympy.And(sympy.Eq(sympy.expand(written_out), 0), sympy.Eq(sympy.expand(one_more), 0))


def _reflection() -> sympy.Basic:
    """S_m is the middle of two sums of one law, so |S_m| is at most the larger of them; E X² = ∫ 2t P(|X| > t) dt."""
    head, tail = sympy.symbols("S_m rest", real=True)
    middle = sympy.expand(((head + tail) + (head - tail)) / 2 - head)
    level, size = sympy.symbols("t x", positive=True)
    return sympy.And(sympy.Eq(middle, 0), sympy.Eq(sympy.integrate(2 * level, (level, 0, size)), size**2))


def _signs_are_orthogonal() -> sympy.Expr:
    """The mean of (S + v)² and (S − v)² is S² + v²."""
    head, square = sympy.symbols("S v")
    return sympy.expand(((head + square) ** 2 + (head - square) ** 2) / 2 - head**2 - square**2)


def _mean_area() -> sympy.Expr:
    """√d E N/M is at most 4√K."""
    return 4 * sympy.sqrt(kurtosis) / sympy.sqrt(d)


def _area_variance() -> sympy.Expr:
    return (kurtosis - 1) / d


def _slopes() -> sympy.Basic:
    square, sent, left = sympy.symbols("v sent left", positive=True)
    ratio = left / (sent + left)
    slopes = [sympy.diff(piece - ratio * square, square) for piece in (square, sympy.Symbol("theta"))]
    expected = (sent / (sent + left), -left / (sent + left))
    return sympy.And(
        *(sympy.Eq(sympy.simplify(slope - value), 0) for slope, value in zip(slopes, expected, strict=True))
    )


def _half_square() -> sympy.Expr:
    """d coordinates, each a share 1/d of the sum."""
    first, second = sympy.symbols("v v'")
    mean, mean_of_square = sympy.symbols("M E_v2")
    expansion = sympy.Poly(sympy.expand((first - second) ** 2 / 2), first, second)
    moments = {0: sympy.Integer(1), 1: mean, 2: mean_of_square}
    expected = sum(coefficient * moments[one] * moments[other] for (one, other), coefficient in expansion.terms())
    variance = d * expected / d**2
    return sympy.simplify(variance.subs(mean_of_square, kurtosis * mean**2) / mean**2 - _area_variance())


def _cantelli() -> sympy.Basic:
    """E(X + c)²/(t + c)² for X of mean 0 and variance V, at its smallest."""
    variance, shift = sympy.symbols("V c", positive=True)
    markov = (variance + shift**2) / (EXCESS + shift) ** 2
    best = sympy.solve(sympy.diff(markov, shift), shift)
    return sympy.Eq(sympy.simplify(markov.subs(shift, best[0]) - variance / (variance + EXCESS**2)), 0)


def _cantelli_at_failure() -> sympy.Expr:
    variance = sympy.Symbol("V", positive=True)
    return sympy.simplify(variance / (variance + _excess_of_failure(variance) ** 2) - failure)


def _excess_of_failure(variance: sympy.Expr) -> sympy.Expr:
    return sympy.sqrt(variance * (1 - failure) / failure)


def _indicator_variance() -> sympy.Expr:
    return sympy.expand(CHANCE * (1 - CHANCE) ** 2 + (1 - CHANCE) * CHANCE**2 - CHANCE * (1 - CHANCE))


def _larger_part() -> sympy.Basic:
    """An area from 0 to θ lies between minus the negative part and the positive part."""
    smaller, more = sympy.symbols("part more", nonnegative=True)
    pairs = ((smaller, smaller + more), (smaller + more, smaller))
    return sympy.And(
        *(sympy.Eq((above + below + abs(above - below)) / 2 - sympy.Max(above, below), 0) for above, below in pairs)
    )


def _square_variance() -> sympy.Expr:
    place = sympy.Symbol("x", real=True)
    density = sympy.exp(-(place**2) / 2) / sympy.sqrt(2 * sympy.pi)
    moments = [sympy.integrate(place**power * density, (place, -sympy.oo, sympy.oo)) for power in (2, 4)]
    return moments[1] - moments[0] ** 2 - 2


def _upper_sum_is_small() -> sympy.Basic:
    """∫√(F(1 − F)) over x = z²: cell widths in x times the larger end, or 1/2 where F passes 1/2.

    √(F(1 − F)) rises until F = 1/2 and falls after. Beyond the last level 1 − F ≤ e^(−x/2), whose root has the integral
    4e^(−x/4).
    """
    with mpmath.workdps(UPPER_SUM_DIGITS):
        levels = [mpmath.mpf(cell) / CELLS_PER_UNIT for cell in range(LAST_LEVEL * CELLS_PER_UNIT + 1)]
        chances = [mpmath.erf(level / mpmath.sqrt(2)) for level in levels]
        total = 4 * mpmath.exp(-(mpmath.mpf(LAST_LEVEL) ** 2) / 4)
        for (left, right), (low, high) in zip(pairwise(levels), pairwise(chances), strict=True):
            at_ends = [mpmath.sqrt(chance * (1 - chance)) for chance in (low, high)]
            height = mpmath.mpf(1) / 2 if 2 * low <= 1 <= 2 * high else max(at_ends)
            total += (right**2 - left**2) * height
        upper = (total + mpmath.sqrt(2)) / 2
        return is_true(bool(upper < mpmath.mpf(int(GAUSSIAN_AREA.p)) / int(GAUSSIAN_AREA.q)))


def _gradient_of_ratio() -> sympy.Basic:
    """ρ = T/(S + T), S the sum of squares sent and T of those left: ∂S = 2u there, ∂T = 2u here."""
    sent, left = sympy.symbols("S T", positive=True)
    ratio = left / (sent + left)
    squared = 4 * sent * sympy.diff(ratio, sent) ** 2 + 4 * left * sympy.diff(ratio, left) ** 2
    return sympy.And(
        sympy.Eq(sympy.simplify(squared * (sent + left) - 4 * ratio * (1 - ratio)), 0),
        sympy.Eq(sympy.simplify(1 - 4 * ratio * (1 - ratio) - (1 - 2 * ratio) ** 2), 0),
    )


def _inverse_square_norm() -> sympy.Expr:
    """‖u‖² has the density of a gamma law of shape d/2 and scale 2; written with d = 2 + 2a."""
    size, above = sympy.symbols("r a", positive=True)
    half = 1 + above
    density = size ** (half - 1) * sympy.exp(-size / 2) / (sympy.gamma(half) * 2**half)
    return sympy.gammasimp(sympy.integrate(density / size, (size, 0, sympy.oo))) - 1 / (2 * half - 2)


def _entropy_of_exponential() -> sympy.Expr:
    """g = e^(λD/2) along a line on which D has slope ‖u‖⁻¹, the largest."""
    place, norm = sympy.symbols("y norm", positive=True)
    function = sympy.Function("D")
    root = sympy.exp(RATE * function(place) / 2)
    energy = 2 * sympy.diff(root, place) ** 2
    largest = energy.subs(sympy.diff(function(place), place), 1 / norm)
    return sympy.simplify(largest - RATE**2 / 2 * norm**-2 * root**2)


def _herbst() -> sympy.Basic:
    """Ent(e^(λD)) = λZ' − Z ln Z for Z = E e^(λD)."""
    moment = sympy.Function("Z")(RATE)
    slope = sympy.diff(sympy.log(moment) / RATE, RATE)
    entropy = RATE * sympy.diff(moment, RATE) - moment * sympy.log(moment)
    upper, largest = sympy.Symbol("x", positive=True), RATE**2 / 2 / (d - 2) / RATE**2
    return sympy.And(
        sympy.Eq(sympy.simplify(slope - entropy / (RATE**2 * moment)), 0),
        sympy.Eq(sympy.simplify(sympy.integrate(largest, (RATE, 0, upper)) * upper - _cumulant().subs(RATE, upper)), 0),
    )


def _cumulant() -> sympy.Expr:
    """Largest ln E e^(λ(D − E D))."""
    return RATE**2 / (2 * (d - 2))


def _chernoff() -> sympy.Expr:
    exponent = _cumulant() - RATE * EXCESS
    best = sympy.solve(sympy.diff(exponent, RATE), RATE)[0]
    return sympy.simplify(exponent.subs(RATE, best) + (d - 2) * EXCESS**2 / 2)


def _excess_of_exponent() -> sympy.Expr:
    return sympy.sqrt(2 * sympy.log(1 / failure) / (d - 2))


STATEMENTS = by_label(__name__, moment_sample_ratio, gaussian_sample_ratio)
"""The statements of this file."""
