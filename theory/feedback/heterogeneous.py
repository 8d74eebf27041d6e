"""How far from the minimiser does error feedback end, if the workers' functions differ? The worst case, exactly.

u_i = e_i + η∇f_i(x), x⁺ = x − mean C_i(u_i), e_i⁺ = u_i − C_i(u_i). The virtual iterate x̃ = x − mean e_i descends on f,
and what a residual gains from the heterogeneity ζ² it cannot also gain from the mean. `ef_heterogeneous_distance` is
Top-1 of two workers; here any contraction may be the worst. EF21 has no such floor (`ef21_tight_rate`). Ours.
"""

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import L, T, delta, dissimilarity, eta, i, mean_distance, mu, n

UPDATE = r"$u_i=e_i+\eta\nabla f_i(x)$, $x^{+}=x-\frac{1}{n}\sum_i C_i(u_i)$, $e_i^{+}=u_i-C_i(u_i)$, from any start"
CONTRACTION = Given(
    "kept_back",
    r"\lVert u-C_i(u)\rVert^{2}/\lVert u\rVert^{2}",
    "≤",
    1 - delta,
    words=r"{} for every $u\neq0$, $C_i(0)=0$; $C_i$ may change with time",
)

_KEPT = 1 - delta
_STEP = eta * L
_WIDE = eta * (L + mu)


def _room(product: sympy.Expr) -> sympy.Expr:
    """((1 − a) − (1 + a)h/2)((1 + a) − (1 − a)h/2) for h = product and a² = 1 − δ."""
    return delta * (1 + product**2 / 4) - (2 - delta) * product


_PUSH = _KEPT * eta**2 * dissimilarity / delta
"""What ζ² adds to the mean ‖e_i‖² in a step, at most."""
_WEIGHT = 1 / _room(_STEP)
"""ω, of the residuals in the Lyapunov function."""
_SLOWED = 2 * _WEIGHT * (delta * (1 - _STEP / 2) - _KEPT * _STEP)
"""τ, of the virtual iterate."""
_HALF = delta - _WIDE * (1 - delta / 2)
CONVEX_WEIGHT = (L + mu) ** 2 / (2 * mu * L * (_HALF + sympy.sqrt(delta * _room(_WIDE))))
"""The same of functions that are not quadratic."""

_X, _P, _R, _ZETA = sympy.symbols("X p r zeta", nonnegative=True)
_G = sympy.Symbol("G", nonnegative=True)


def ef_heterogeneous_worst() -> Statement:
    """sup lim sup (1/T) Σ‖x_t − x*‖² = (1 − δ)η²ζ²/(δ(δ(1 + h²/4) − (2 − δ)h)), h = ηL; (1 − δ)η²ζ²/δ² for small steps.

    It is finite up to h = 2(1 − a)/(1 + a), a = √(1 − δ), where error feedback ceases to converge for one worker. Two
    workers in the plane attain it, at every iterate: x_t − x* changes its sign in each step. Top-1 of two coordinates
    has δ = 1/2 and, in `ef_heterogeneous_distance`, η²ζ²/4, an eighth of this for small steps; no statement of ours
    says what the worst of Top-1 is. If C_i is random, both sides are means.

    Source: ours.
    """
    bound = _PUSH * _WEIGHT
    return Statement(
        label="ef_heterogeneous_worst",
        title="error feedback, workers that differ, worst mean distance",
        assumptions=(
            r"$n\geq 2$ workers, $f_i(x)=\frac{1}{2}\langle x-x^{*},H(x-x^{*})\rangle+\langle a_i,x-x^{*}\rangle$, "
            r"$\sum_i a_i=0$",
            Given("dissimilarity", r"\frac{1}{n}\sum_i\lVert a_i\rVert^{2}", "≤", dissimilarity),
            r"$H$ is symmetric, with eigenvalues in $(0,L]$",
            UPDATE,
            CONTRACTION,
        ),
        relation=sympy.Eq(mean_distance, bound),
        domain=(
            sympy.Le(delta, 1),
            sympy.Lt(_STEP, 2),
            sympy.Lt((2 - delta) * _STEP, delta * (1 + _STEP**2 / 4)),
        ),
        source="ours",
        derivation=_worst_steps(bound),
    )


def _worst_steps(bound: sympy.Expr) -> tuple[Step, ...]:
    """A Lyapunov function with its best weights, and the cycle at which nothing is lost."""
    return (
        *_common_steps(),
        Step(
            "x̃⁺ = x̃ − ηHx; along an eigenvector, with H = λ ≤ L and x̃ = x − p, (x̃⁺)²/λ − x̃²/λ is "
            "−2η(1 − ηL/2)x² + 2ηpx less η(L − λ)ηx²",
            _weighted_drift,
        ),
        Step(
            "‖mean e_i + ηHx‖ ≤ p + hX, p = ‖mean e_i‖, X = ‖x − x*‖; with ω = 1/(δ(1 + h²/4) − (2 − δ)h) and "
            "τ = 2ω(δ(1 − h/2) − (1 − δ)h): τ((1 − h/2)X² − pX) − X² − ω((1 − δ)(p + hX)² − p²) is "
            "ωδ(p − (1 − h/2)X)²",
            _one_square,
            argued="‖Hx‖ ≤ L‖x‖, and that products of vectors are at most those of their lengths",
        ),
        Step("ω and τ are positive for h below 2(1 − a)/(1 + a)", _weights_are_positive),
        Step(
            "Φ = τ⟨x̃, x̃⟩/(2η) weighed by 1/λ, plus ω mean ‖e_i‖²: Σ‖x_t − x*‖² ≤ Φ_0 + Tω(1 − δ)η²ζ²/δ",
            lambda: _summed(bound),
            concludes=bound,
        ),
        Step(
            "two workers, a_{1,2} = ±(ζ, 0), x = (0, X), e_{1,2} = (±r, p), r = (1 − δ)ηζ/δ, p = (1 − h/2)X: kept "
            "back are (±r, −p), of energy 1 − δ, and x⁺ = −x",
            lambda: _cycle(bound),
        ),
        Step("as h → 0 it is (1 − δ)η²ζ²/δ²", lambda: _small_steps(bound)),
        Step("at δ = 1/2 and h → 0 it is 8 times η²ζ²/4", lambda: _eight_times(bound)),
    )


def ef_heterogeneous_convex() -> Statement:
    """lim sup (1/T) Σ‖x_t − x*‖² ≤ (1 − δ)η²ζ²/δ · (L + μ)²/(2μL(b + √(b² − (1 − δ)g²))).

    Here b = δ − g(1 − δ/2) and g = η(L + μ). For small steps it is (1 − δ)η²ζ²/δ² times (κ + 1)²/(4κ), κ = L/μ. For
    quadratics whose Hessians agree that factor is not needed (`ef_heterogeneous_worst`); whether others need it is
    open. It holds for g below 2(1 − a)/(1 + a): up to the step of `ef_tight_step`.

    Source: ours.
    """
    bound = _PUSH * CONVEX_WEIGHT
    return Statement(
        label="ef_heterogeneous_convex",
        title="error feedback, workers that differ, strongly convex functions",
        assumptions=(
            r"$f=\frac{1}{n}\sum_i f_i$ is $L$-smooth and $\mu$-strongly convex",
            Given(
                "dissimilarity", r"\frac{1}{n}\sum_i\lVert\nabla f_i(x_t)-\nabla f(x_t)\rVert^{2}", "≤", dissimilarity
            ),
            UPDATE,
            CONTRACTION,
        ),
        relation=sympy.Le(mean_distance, bound, evaluate=False),
        domain=(
            sympy.Le(mu, L),
            sympy.Le(delta, 1),
            sympy.Lt(_WIDE, 2),
            sympy.Lt((2 - delta) * _WIDE, delta * (1 + _WIDE**2 / 4)),
        ),
        source="ours",
        derivation=_convex_steps(bound),
    )


def _convex_steps(bound: sympy.Expr) -> tuple[Step, ...]:
    """The same with the coercivity of a gradient in place of a spectrum."""
    return (
        *_common_steps(),
        Step("‖x̃ − η∇f(x) − x*‖² − ‖x̃ − x*‖² is −2η⟨∇f(x), x − x* − mean e_i⟩ + η²‖∇f(x)‖²", _plain_drift),
        Step(
            "with L = (1 + s)A, μ = (1 − s)A and ∇f(x) = A(x − x* + sy), ‖y‖ ≤ ‖x − x*‖: "
            "⟨∇f(x), x − x*⟩ − (‖∇f(x)‖² + μL‖x − x*‖²)/(L + μ) is As²(‖x − x*‖² − ‖y‖²)/2",
            _coercive,
        ),
        Step(
            "G = ‖∇f(x)‖, τ = (L + μ)/(μL), 1/ω = 2(b + √(b² − (1 − δ)g²))μL/(L + μ)²: "
            "τ(1/(L + μ) − η/2)G² − τpG − ω((1 − δ)(p + ηG)² − p²) is ωδ(p − G(τ + 2ω(1 − δ)η)/(2ωδ))²",
            _convex_square,
            argued="that products of vectors are at most those of their lengths",
        ),
        Step("b² − (1 − δ)g² = δ(δ(1 + g²/4) − (2 − δ)g), and b > 0", _convex_room),
        Step(
            "Φ = τ‖x̃ − x*‖²/(2η) + ω mean ‖e_i‖²: Σ‖x_t − x*‖² ≤ Φ_0 + Tω(1 − δ)η²ζ²/δ",
            lambda: _summed(bound, CONVEX_WEIGHT),
            concludes=bound,
        ),
        Step(
            "as η → 0, over (1 − δ)η²ζ²/δ², it is (L + μ)²/(4μL)",
            lambda: _convex_limit(bound),
        ),
    )


def _common_steps() -> tuple[Step, ...]:
    return (
        Step("mean y_i² = (mean y_i)² + mean (y_i − mean y_i)²: residuals split, and Σ a_i = 0", _split),
        Step(
            "r² = mean ‖e_i − mean e_i‖²: (1 − δ)(r + ηζ)² − r² is (1 − δ)η²ζ²/δ − δ(r − (1 − δ)ηζ/δ)²",
            _deviation_part,
        ),
    )


def _split() -> sympy.Expr:
    value, mean = sympy.IndexedBase("y", real=True), sympy.Symbol("mean", real=True)
    deviations = sympy.Sum((value[i] - mean) ** 2, (i, 1, n)).expand().doit()
    factored = sympy.Add(*(term.factor() for term in sympy.Add.make_args(deviations))) / n
    total, squares = (sympy.Sum(value[i] ** power, (i, 1, n)) for power in (1, 2))
    return sympy.expand(squares / n - (mean**2 + factored).subs(mean, total / n))


def _deviation_part() -> sympy.Expr:
    change = _KEPT * (_R + eta * _ZETA) ** 2 - _R**2
    most = _KEPT * eta**2 * _ZETA**2 / delta
    return sympy.cancel(change - most + delta * (_R - _KEPT * eta * _ZETA / delta) ** 2)


def _weighted_drift() -> sympy.Expr:
    x, memory = sympy.symbols("x p", real=True)
    curvature = sympy.Symbol("lambda", positive=True)
    virtual = x - memory
    change = ((virtual - eta * curvature * x) ** 2 - virtual**2) / curvature
    stated = -2 * eta * (1 - _STEP / 2) * x**2 + 2 * eta * memory * x - eta * (L - curvature) * eta * x**2
    return sympy.expand(change - stated)


def _one_square() -> sympy.Expr:
    drift = _SLOWED * ((1 - _STEP / 2) * _X**2 - _P * _X)
    residuals = _WEIGHT * (_KEPT * (_P + _STEP * _X) ** 2 - _P**2)
    return sympy.cancel(drift - _X**2 - residuals - _WEIGHT * delta * (_P - (1 - _STEP / 2) * _X) ** 2)


def _weights_are_positive() -> sympy.Basic:
    """a = 1/(1 + y), and h is 1/(1 + z) of its limit."""
    y, z = sympy.symbols("y z", positive=True)
    root = 1 / (1 + y)
    values = {delta: 1 - root**2, eta: 2 * (1 - root) / ((1 + root) * (1 + z)) / L}
    parts = [sympy.fraction(sympy.cancel(weight.subs(values))) for weight in (_WEIGHT, _SLOWED)]
    return decided(all(sympy.expand(part).is_positive for pair in parts for part in pair))


def _summed(bound: sympy.Expr, weight: sympy.Expr = _WEIGHT) -> sympy.Basic:
    """(Φ_0 − Φ_T)/T is at most Φ_0/T, which vanishes."""
    start, end = sympy.symbols("Phi_0 Phi_T", nonnegative=True)
    mean = (start - end) / T + weight * _PUSH
    at_most = sympy.expand(mean + end / T - start / T - bound)
    return decided(sympy.simplify(at_most) == 0 and sympy.limit(start / T, T, sympy.oo) == 0)


def _cycle(bound: sympy.Expr) -> sympy.Basic:
    memory = _KEPT * eta * _ZETA / delta
    kept = (1 - _STEP / 2) * _X
    corrected = (memory + eta * _ZETA, kept + _STEP * _X)
    energy = memory**2 + kept**2 - _KEPT * (corrected[0] ** 2 + corrected[1] ** 2)
    closed = energy.subs(_X, sympy.sqrt(bound.subs(dissimilarity, _ZETA**2)))
    following = _X - (corrected[1] + kept)
    return decided(sympy.simplify(closed) == 0 and sympy.expand(following + _X) == 0)


def _small_steps(bound: sympy.Expr) -> sympy.Expr:
    return sympy.cancel(bound / (_KEPT * eta**2 * dissimilarity / delta**2)).subs(L, 0) - 1


def _eight_times(bound: sympy.Expr) -> sympy.Expr:
    ratio = bound / (eta**2 * dissimilarity / 4)
    return sympy.cancel(ratio.subs(delta, sympy.Rational(1, 2))).subs(L, 0) - 8


def _plain_drift() -> sympy.Expr:
    x, memory, slope = sympy.symbols("x p g", real=True)
    virtual = x - memory
    change = (virtual - eta * slope) ** 2 - virtual**2
    return sympy.expand(change + 2 * eta * slope * (x - memory) - eta**2 * slope**2)


def _coercive() -> sympy.Expr:
    x, other, spread, mean = sympy.symbols("x y s A", real=True)
    slope = mean * (x + spread * other)
    small, large = (1 - spread) * mean, (1 + spread) * mean
    left = slope * x - (slope**2 + small * large * x**2) / (small + large)
    return sympy.cancel(left - mean * spread**2 * (x**2 - other**2) / 2)


def _convex_square() -> sympy.Basic:
    """With b and the root B = √(b² − (1 − δ)g²), so that (1 − δ)g² = b² − B² and δ(1 − g/2) = b + (1 − δ)g."""
    half, root, width, share = sympy.symbols("b B g mu_L", positive=True)
    kept = (half**2 - root**2) / width**2
    # In units in which L + μ = 1, η = g; μL is the share, and δ(1/(L + μ) − η/2) is b + (1 − δ)η.
    pace, weight = 1 / share, 1 / (2 * share * (half + root))
    left = 1 - kept
    drift = pace * (half + kept * width) / left * _G**2 - pace * _P * _G
    form = drift - weight * (kept * (_P + width * _G) ** 2 - _P**2)
    square = weight * left * (_P - _G * (pace + 2 * weight * kept * width) / (2 * weight * left)) ** 2
    unit = CONVEX_WEIGHT.subs(sympy.sqrt(delta * _room(_WIDE)), root)
    same = sympy.cancel(unit.subs(mu, 1 - L) - 1 / (2 * L * (1 - L) * (_HALF.subs(mu, 1 - L) + root)))
    half_is = sympy.expand(delta * (1 - _WIDE / 2) - _HALF - _KEPT * _WIDE)
    return decided(sympy.cancel(form - square) == 0 and same == 0 and half_is == 0)


def _convex_room() -> sympy.Basic:
    """For a = 1/(1 + y) and g at 1/(1 + z) of 2(1 − a)/(1 + a)."""
    y, z = sympy.symbols("y z", positive=True)
    root = 1 / (1 + y)
    same = sympy.expand(_HALF**2 - _KEPT * _WIDE**2 - delta * _room(_WIDE))
    values = {delta: 1 - root**2, eta: 2 * (1 - root) / ((1 + root) * (1 + z)) / (L + mu)}
    parts = [sympy.fraction(sympy.cancel(part.subs(values))) for part in (_HALF, _room(_WIDE))]
    return decided(same == 0 and all(sympy.expand(part).is_positive for pair in parts for part in pair))


def _convex_limit(bound: sympy.Expr) -> sympy.Expr:
    ratio = sympy.cancel(bound / (_KEPT * eta**2 * dissimilarity / delta**2))
    return sympy.simplify(ratio.subs(eta, 0) - (L + mu) ** 2 / (4 * mu * L))


STATEMENTS = by_label(__name__, ef_heterogeneous_worst, ef_heterogeneous_convex)
"""The statements of this file."""
