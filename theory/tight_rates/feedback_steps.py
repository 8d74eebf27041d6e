"""Why is θ² the rate of error feedback and of EF21, where θ² = (1 − s)rθ + s, s = √ε and r = (L − μ)/(L + μ)?

With ηg = h(x + r y), ‖y‖ ≤ ‖x‖ and h = (1 − s)/(1 + s), each proof is one square, and rational in s and θ because
(1 − s)r = (θ² − s)/θ. With e = s q and g − d = s p they cover s = 0 as well. Rate and multipliers: Thomsen, Taylor
and Dieuleveut 2025, 2026; this form, the deviation blocks and the eigenvalue are ours.
"""

import sympy

from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import L, delta, epsilon, eta, i, mu, n, tolerance
from sparsync.theory.tight_rates.interpolation import interpolation_steps

S = sympy.Symbol("s", nonnegative=True)
"""s = √ε < 1."""
THETA = sympy.Symbol("theta", positive=True)
"""θ, with √s ≤ θ < 1; zero only where ε = 0 and μ = L."""
R = sympy.Symbol("r", nonnegative=True)
"""r = (L − μ)/(L + μ)."""
REDUCED_SPREAD = (THETA**2 - S) / ((1 - S) * THETA)
"""r as θ determines it."""
NORMALISED_STEP = (1 - S) / (1 + S)
"""h = η(L + μ)/2."""
PAIR_MULTIPLIER = (THETA**2 - S) / (1 + S)
"""The factor of ‖Δx‖² − ‖y‖² ≥ 0."""
SQUARE_FACTOR = S * PAIR_MULTIPLIER / THETA**2
"""The factor of the one square that is left."""
DEVIATION_FACTOR = PAIR_MULTIPLIER / (THETA**2 * (1 + S))
"""The factor of the squares of a deviation."""


def feedback_step(root_epsilon: sympy.Expr) -> sympy.Expr:
    """η* = 2/(L + μ) · (1 − s)/(1 + s)."""
    return 2 / (L + mu) * (1 - root_epsilon) / (1 + root_epsilon)


def feedback_factor(root_epsilon: sympy.Expr) -> sympy.Expr:
    """θ = ((1 − s)r + √((1 − s)²r² + 4s))/2."""
    linear = (1 - root_epsilon) * (L - mu) / (L + mu)
    return (linear + sympy.sqrt(linear**2 + 4 * root_epsilon)) / 2


def error_feedback_steps(bound: sympy.Expr) -> tuple[Step, ...]:
    """The steps of `ef_tight_rate`."""
    return (
        *_common_steps(bound),
        Step("x⁺ − e⁺ = (x − e) − ηg for n = 1, and the n mean vectors obey the same", _virtual_iterate),
        Step("θ²V − (‖x − e − ηg‖² + s‖e + ηg‖²) − (θ² − s)/(1 + s)·(‖x‖² − ‖y‖²) is one square, e = sq", _one_square),
        *_deviation_steps(),
        Step("a deviation: θ²‖e‖² + (θ² − s)/(1 + s)‖y‖² − s‖e + hry‖² is two squares", _deviation_squares),
        Step("μ = L and s = 0, where θ = 0: the step lands on x*", _exact_step),
        Step(
            "f = μx²/2 with C(v) = (1 + s)v has the eigenvalue θ: V_T = θ^(2T) V_0 for all T",
            lambda: _characteristic_at(THETA, _feedback_map(_CURVATURE, 1 + S), curvature=1 - REDUCED_SPREAD),
            concludes=bound,
        ),
        Step(
            "f = Lx²/2 with the same C has the eigenvalue −θ",
            lambda: _characteristic_at(-THETA, _feedback_map(_CURVATURE, 1 + S), curvature=1 + REDUCED_SPREAD),
        ),
    )


def error_feedback_21_steps(bound: sympy.Expr) -> tuple[Step, ...]:
    """The steps of `ef21_tight_rate`."""
    return (
        *_common_steps(bound),
        Step(
            "θ²V − (s‖g⁺ − d‖² + ‖g⁺‖²) − (θ² − s)/(1 + s)·(‖d‖² − ‖y‖²) is one square, g⁺ = g − h(d + ry), g − d = sp",
            _one_square_21,
        ),
        *_deviation_steps(),
        Step("a deviation: θ²s‖p‖² + (θ² − s)/(1 + s)‖y‖² − s‖sp − hry‖² is three squares", _deviation_squares_21),
        Step(
            "⟨Δg, Δx⟩ − μ‖Δx‖² = (L − μ)/4·(‖Δx + y‖² + ‖Δx‖² − ‖y‖²) ≥ 0 for the means: V ≥ nμ²‖x − x*‖², so x → x*",
            _distance,
        ),
        Step("μ = L and s = 0, where θ = 0: the step lands on x*", _exact_step),
        Step(
            "f = μx²/2 with C(v) = (1 + s)v has the eigenvalue θ: V_T = θ^(2T) V_0 for all T",
            lambda: _characteristic_at(THETA, _feedback_21_map(_CURVATURE, 1 + S), curvature=1 - REDUCED_SPREAD),
            concludes=bound,
        ),
        Step(
            "f = Lx²/2 with the same C has the eigenvalue −θ",
            lambda: _characteristic_at(-THETA, _feedback_21_map(_CURVATURE, 1 + S), curvature=1 + REDUCED_SPREAD),
        ),
    )


def step_size_steps(bound: sympy.Expr) -> tuple[Step, ...]:
    """The steps of `ef_tight_step`: at any other step size one of two quadratics has a larger eigenvalue."""
    return (
        Step(
            "error feedback, f = ax²/2, C(v) = (1 + s)v: λ² − tλ − s with t = (1 − s) − (1 + s)ηa",
            lambda: _characteristic_polynomial(_feedback_map(eta * _CURVATURE, 1 + S)),
        ),
        Step(
            "EF21: the same polynomial", lambda: _characteristic_polynomial(_feedback_21_map(eta * _CURVATURE, 1 + S))
        ),
        Step("its root (|t| + √(t² + 4s))/2 grows with |t|; −λ is a root for −t", _root_grows),
        Step("at η*, t = (1 − s)r for a = μ and −(1 − s)r for a = L: that root is θ", lambda: _balanced(bound)),
        Step("η < η* makes t(μ) larger, η > η* makes −t(L) larger", lambda: _unbalanced(bound), concludes=bound),
    )


def small_delta_steps(bound: sympy.Expr) -> tuple[Step, ...]:
    """The steps of `ef_small_delta`."""
    return (
        *_root_steps(),
        Step("1 − θ² = (1 − s)(1 − r)·θ(1 + θ)/(θ + s)", lambda: _gap() - (1 - THETA**2)),
        Step("θ(1 + θ)/(θ + s) ≥ 1", _last_factor),
        Step("1 − s = δ/(1 + s) ≥ δ/2 for s = √(1 − δ)", _remaining_share),
        Step("(1 − r)/2 = μ/(L + μ), so 1 − θ² ≥ δμ/(L + μ)", lambda: (1 - (L - mu) / (L + mu)) / 2 - mu / (L + mu)),
        Step("−ln(1 − x) − x is 0 at x = 0 and grows on [0, 1): ln(1/ρ) ≥ 1 − ρ", _logarithm),
        Step(
            "T ≥ ln(1/tol)/(δμ/(L + μ))",
            lambda: sympy.log(1 / tolerance) / (delta * mu / (L + mu)) - bound,
            concludes=bound,
        ),
        Step("(1 − θ²)/δ → μ/(L + μ) as δ → 0: s = θ = 1 in (1 − r)θ(1 + θ)/((θ + s)(1 + s))", _limit),
    )


_CURVATURE = sympy.Symbol("a", positive=True)
"""Curvature of a quadratic; where ηa is meant it is passed as such."""


def _common_steps(bound: sympy.Expr) -> tuple[Step, ...]:
    return (
        *interpolation_steps(),
        Step("the rate is (1 − s)rθ + s", lambda: _rate_equation(bound)),
        *_root_steps(),
        Step("ηΔg = h(Δx + ry) at η = η*", _scaled_gradient),
        Step("hr = (θ² − s)/(θ(1 + s)), and the multipliers and the squares' factors are ≥ 0", _multipliers),
    )


def _root_steps() -> tuple[Step, ...]:
    return (
        Step("θ² = (1 − s)rθ + s", _root_equation),
        Step("θ² equals the published s + (1 − s)/2·r²ψ, ψ = 1 − s + √((1 + s)² + 16sLμ/(L − μ)²), μ < L", _published),
        Step("θ² − s = (1 − s)rθ ≥ 0, and (1 − θ)(θ + s) = (1 − s)(1 − r)θ > 0: √s ≤ θ < 1", _factor_range),
    )


def _deviation_steps() -> tuple[Step, ...]:
    return (
        Step("Σ‖a_i‖² = n‖mean‖² + Σ‖a_i − mean‖²: every form splits into mean and deviations", _mean_and_deviations),
    )


def _rate_equation(bound: sympy.Expr) -> sympy.Expr:
    root = sympy.sqrt(epsilon)
    return sympy.expand(bound - (1 - root) * (L - mu) / (L + mu) * feedback_factor(root) - root)


def _root_equation() -> sympy.Expr:
    root = sympy.sqrt(epsilon)
    theta = feedback_factor(root)
    return sympy.expand(theta**2 - (1 - root) * (L - mu) / (L + mu) * theta - root)


def _published() -> sympy.Basic:
    """With W the published root, (rW)² = (1 − s)²r² + 4s, and s + (1 − s)/2·r(r(1 − s) + rW) is θ²."""
    scaled = sympy.Symbol("rW", nonnegative=True)
    spread = (L - mu) / (L + mu)
    square = (1 - S) ** 2 * spread**2 + 4 * S
    published_square = spread**2 * ((1 + S) ** 2 + 16 * S * L * mu / (L - mu) ** 2)
    theta = ((1 - S) * R + scaled) / 2
    difference = sympy.expand(S + (1 - S) / 2 * R * (R * (1 - S) + scaled) - theta**2)
    reduced = difference.subs(scaled**2, (1 - S) ** 2 * R**2 + 4 * S)
    return sympy.And(sympy.Eq(sympy.cancel(published_square - square), 0), sympy.Eq(sympy.expand(reduced), 0))


def _factor_range() -> sympy.Basic:
    """The first identity defines r; the second bounds θ from above."""
    first = sympy.cancel(THETA**2 - S - (1 - S) * REDUCED_SPREAD * THETA)
    second = sympy.cancel((1 - THETA) * (THETA + S) - (1 - S) * (1 - REDUCED_SPREAD) * THETA)
    return sympy.And(sympy.Eq(first, 0), sympy.Eq(second, 0))


def _scaled_gradient() -> sympy.Expr:
    move, centred = sympy.symbols("x y", real=True)
    change = (L + mu) / 2 * move + (L - mu) / 2 * centred
    scaled = NORMALISED_STEP * (move + (L - mu) / (L + mu) * centred)
    return sympy.cancel(feedback_step(S) * change - scaled)


def _multipliers() -> sympy.Basic:
    """The three factors with θ² − s ≥ 0."""
    excess = sympy.Symbol("theta^2-s", nonnegative=True)
    factors = (PAIR_MULTIPLIER, SQUARE_FACTOR, DEVIATION_FACTOR)
    signs = (factor.subs(THETA**2 - S, excess).is_nonnegative for factor in factors)
    product = sympy.cancel(NORMALISED_STEP * REDUCED_SPREAD - (THETA**2 - S) / (THETA * (1 + S)))
    return sympy.And(sympy.Eq(product, 0), *(sympy.sympify(bool(sign)) for sign in signs))


def _virtual_iterate() -> sympy.Basic:
    x, mean_memory, mean_sent = sympy.symbols("x e c", real=True)
    mean_gradient = sympy.Symbol("g", real=True)
    following = (x - mean_sent) - (mean_memory + eta * mean_gradient - mean_sent)
    return sympy.expand(following - (x - mean_memory - eta * mean_gradient))


def _one_square() -> sympy.Expr:
    x, memory, centred = sympy.symbols("x q y", real=True)
    virtual, scaled = x - S * memory, NORMALISED_STEP * (x + REDUCED_SPREAD * centred)
    before = virtual**2 + S * memory**2
    after = (virtual - scaled) ** 2 + S * (S * memory + scaled) ** 2
    known = PAIR_MULTIPLIER * (x**2 - centred**2)
    square = SQUARE_FACTOR * (THETA * virtual - THETA * memory + centred) ** 2
    return sympy.cancel(THETA**2 * before - after - known - square)


def _one_square_21() -> sympy.Expr:
    gradient, error, centred = sympy.symbols("g p y", real=True)
    estimate = gradient - S * error
    following = gradient - NORMALISED_STEP * (estimate + REDUCED_SPREAD * centred)
    before = S * error**2 + gradient**2
    after = S * (following - estimate) ** 2 + following**2
    known = PAIR_MULTIPLIER * (estimate**2 - centred**2)
    square = SQUARE_FACTOR * (THETA * gradient + THETA * error + centred) ** 2
    return sympy.cancel(THETA**2 * before - after - known - square)


def _distance() -> sympy.Expr:
    """Δx = x − x* is the same for all workers and Σ∇f_i(x*) = 0, so the mean of the Δg_i is the mean of ∇f_i(x)."""
    move, centred = sympy.symbols("x y", real=True)
    change = (L + mu) / 2 * move + (L - mu) / 2 * centred
    known = (move + centred) ** 2 + move**2 - centred**2
    return sympy.expand(change * move - mu * move**2 - (L - mu) / 4 * known)


def _deviation_squares() -> sympy.Expr:
    memory, centred = sympy.symbols("e y", real=True)
    after = S * (memory + NORMALISED_STEP * REDUCED_SPREAD * centred) ** 2
    slack = THETA**2 * memory**2 + PAIR_MULTIPLIER * centred**2 - after
    squares = (THETA * (1 + S) * memory - S * centred) ** 2 + THETA**2 * centred**2
    return sympy.cancel(slack - DEVIATION_FACTOR * squares)


def _deviation_squares_21() -> sympy.Expr:
    error, centred = sympy.symbols("p y", real=True)
    after = S * (S * error - NORMALISED_STEP * REDUCED_SPREAD * centred) ** 2
    slack = THETA**2 * S * error**2 + PAIR_MULTIPLIER * centred**2 - after
    pair = S * (THETA * (1 + S) * error + S * centred) ** 2 + (THETA**2 + S**2 * (1 - S)) * centred**2
    single = S**2 * (1 - S) * error**2
    return sympy.cancel(slack - DEVIATION_FACTOR * pair - single)


def _mean_and_deviations() -> sympy.Expr:
    vector = sympy.IndexedBase("a", real=True)
    mean = sympy.Symbol("mean", real=True)
    total = sympy.Sum(vector[i], (i, 1, n))
    deviations = sympy.expand((vector[i] - mean) ** 2)
    expanded = sympy.Add(*(sympy.Sum(term, (i, 1, n)).factor() for term in deviations.args)).doit()
    squares = sympy.Sum(vector[i] ** 2, (i, 1, n))
    return sympy.expand(expanded.subs(total, n * mean) + n * mean**2 - squares)


def _exact_step() -> sympy.Basic:
    x, centred = sympy.symbols("x y", real=True)
    scaled = NORMALISED_STEP * (x + R * centred)
    factor = feedback_factor(S).subs({S: 0, L: mu})
    return sympy.And(sympy.Eq(factor, 0), sympy.Eq(x - scaled.subs({S: 0, R: 0}), 0))


def _feedback_map(scaled_curvature: sympy.Expr, response: sympy.Expr) -> sympy.Matrix:
    """(x, e) → (x⁺, e⁺) for f = a x²/2 and C(v) = b v, with ηa and b."""
    sent = sympy.Matrix([[scaled_curvature, 1]])
    return sympy.eye(2) + sympy.Matrix([-response * sent, (1 - response) * sent - sympy.Matrix([[0, 1]])])


def _feedback_21_map(scaled_curvature: sympy.Expr, response: sympy.Expr) -> sympy.Matrix:
    """(g, ηd/η) → the same after a step: g⁺ = g − ηa d, d⁺ = d + b(g⁺ − d)."""
    following = sympy.Matrix([[1, -scaled_curvature]])
    return sympy.Matrix([following, response * following + sympy.Matrix([[0, 1 - response]])])


def _characteristic_at(value: sympy.Expr, step: sympy.Matrix, *, curvature: sympy.Expr) -> sympy.Expr:
    """det(M − λ) at λ = value for ηa = h·curvature, where the curvature 1 ∓ r stands for μ or L."""
    return sympy.cancel((step.subs(_CURVATURE, NORMALISED_STEP * curvature) - value * sympy.eye(2)).det())


def _characteristic_polynomial(step: sympy.Matrix) -> sympy.Expr:
    eigenvalue = sympy.Symbol("lambda")
    linear = (1 - S) - (1 + S) * eta * _CURVATURE
    return sympy.expand((step - eigenvalue * sympy.eye(2)).det() - (eigenvalue**2 - linear * eigenvalue - S))


def _root_grows() -> sympy.Basic:
    magnitude, positive = sympy.Symbol("|t|", nonnegative=True), sympy.Symbol("s", positive=True)
    eigenvalue = sympy.Symbol("lambda")
    root = (magnitude + sympy.sqrt(magnitude**2 + 4 * positive)) / 2
    polynomial = eigenvalue**2 - magnitude * eigenvalue - positive
    mirrored = eigenvalue**2 + magnitude * eigenvalue - positive
    return sympy.And(
        sympy.Eq(sympy.expand(polynomial.subs(eigenvalue, root)), 0),
        sympy.Eq(sympy.expand(mirrored.subs(eigenvalue, -root)), 0),
        sympy.sympify(bool(sympy.diff(root, magnitude).is_positive)),
    )


def _balanced(step: sympy.Expr) -> sympy.Basic:
    root, spread = sympy.sqrt(epsilon), (L - mu) / (L + mu)

    def linear(curvature: sympy.Expr) -> sympy.Expr:
        return (1 - root) - (1 + root) * step * curvature

    size = (1 - root) * spread
    theta = (size + sympy.sqrt(size**2 + 4 * root)) / 2
    return sympy.And(
        sympy.Eq(sympy.cancel(linear(mu) - size), 0),
        sympy.Eq(sympy.cancel(linear(L) + size), 0),
        sympy.Eq(sympy.simplify(theta - feedback_factor(root)), 0),
    )


def _unbalanced(step: sympy.Expr) -> sympy.Basic:
    root, change = sympy.sqrt(epsilon), sympy.Symbol("change", positive=True)

    def linear(curvature: sympy.Expr, offset: sympy.Expr) -> sympy.Expr:
        return (1 - root) - (1 + root) * (step + offset) * curvature

    slower = sympy.cancel(linear(mu, -change) - linear(mu, sympy.Integer(0)))
    faster = sympy.cancel(-linear(L, change) + linear(L, sympy.Integer(0)))
    return sympy.And(*(sympy.sympify(bool(growth.is_positive)) for growth in (slower, faster)))


def _gap() -> sympy.Expr:
    return sympy.cancel((1 - S) * (1 - REDUCED_SPREAD) * THETA * (1 + THETA) / (THETA + S))


def _last_factor() -> sympy.Basic:
    """θ(1 + θ)/(θ + s) − 1 = (θ² − s)/(θ + s), and θ² ≥ s."""
    excess = sympy.Symbol("theta^2-s", nonnegative=True)
    numerator, denominator = sympy.fraction(sympy.cancel(THETA * (1 + THETA) / (THETA + S) - 1))
    signs = (numerator.subs(THETA**2, S + excess).is_nonnegative, denominator.is_positive)
    return sympy.sympify(all(bool(sign) for sign in signs))


def _remaining_share() -> sympy.Basic:
    root = sympy.sqrt(1 - delta)
    difference = sympy.expand((1 - root) * (1 + root)) - delta
    # δ/(1 + s) − δ/2 = δ(1 − s)/(2(1 + s)).
    remaining = sympy.Symbol("1-s", nonnegative=True)
    excess = sympy.factor((delta / (1 + S) - delta / 2).subs(S, 1 - remaining))
    numerator = sympy.cancel(excess * (2 - remaining))
    return sympy.And(sympy.Eq(difference, 0), sympy.sympify(bool(numerator.is_nonnegative)))


def _logarithm() -> sympy.Basic:
    x, rest = sympy.Symbol("x", nonnegative=True), sympy.Symbol("1-x", positive=True)
    difference = -sympy.log(1 - x) - x
    slope = sympy.cancel(sympy.diff(difference, x) - x / (1 - x))
    sign = (x / (1 - x)).subs(1 - x, rest).is_nonnegative
    return sympy.And(sympy.Eq(difference.subs(x, 0), 0), sympy.Eq(slope, 0), sympy.sympify(bool(sign)))


def _limit() -> sympy.Expr:
    quotient = (1 - R) * THETA * (1 + THETA) / ((THETA + S) * (1 + S))
    limit = quotient.subs({S: 1, THETA: 1})
    return sympy.cancel(limit.subs(R, (L - mu) / (L + mu)) - mu / (L + mu))
