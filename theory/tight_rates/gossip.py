"""How fast do workers agree that tell their neighbours compressed differences only? The exact worst-case rate.

x_i⁺ = x_i + γΣ_j w_ij(x̂_j − x̂_i), x̂_i⁺ = x̂_i + C(x_i⁺ − x̂_i): CHOCO (Koloskova, Stich and Jaggi 2019). Along an
eigenvector of I − W it is EF21 on a quadratic of that curvature, with γ for the step size: so the rate is that of
`ef21_tight_rate`, with the eigenvalues of I − W for μ and L. That observation, the rate and the step are ours.
"""

from dataclasses import replace

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    L,
    best_mixing,
    delta,
    epsilon,
    lyapunov_factor,
    mu,
    spectral_gap,
    steps_needed,
    tolerance,
    widest_gap,
)
from sparsync.theory.tight_rates.feedback_steps import (
    NORMALISED_STEP,
    PAIR_MULTIPLIER,
    REDUCED_SPREAD,
    SQUARE_FACTOR,
    THETA,
    S,
    feedback_factor,
    feedback_step,
)
from sparsync.theory.tight_rates.rates import KEPT_BACK, ef_small_delta

WEIGHTS = (
    r"$W$ is symmetric with rows of sum 1; on vectors of sum 0 the eigenvalues of $I-W$ lie in $[\rho,\beta]$, "
    r"and both ends are attained"
)
GOSSIP = r"$x_i^{+}=x_i+\gamma\sum_j w_{ij}(\hat{x}_j-\hat{x}_i)$, $\hat{x}_i^{+}=\hat{x}_i+C(x_i^{+}-\hat{x}_i)$"
VALUE = (
    r"$V=\sum_i\|x_i-\bar{x}\|^2+\sum_i\|x_i-\hat{x}_i\|^2/\sqrt{\epsilon}$ "
    r"($\hat{x}_i=x_i$ if $\epsilon=0$), $\bar{x}$ the mean"
)
CURVATURES = {L: widest_gap, mu: spectral_gap}
"""What stands for the largest and the smallest curvature."""
ROOT = sympy.sqrt(epsilon)
_DOMAIN = (sympy.Le(spectral_gap, widest_gap), sympy.Lt(epsilon, 1))

_EIGENVALUE = sympy.Symbol("lambda", positive=True)
_FAR, _ERROR, _SHARE = sympy.symbols("y q c", real=True)


def mixing_step(root_epsilon: sympy.Expr) -> sympy.Expr:
    """γ* = 2/(ρ + β) · (1 − s)/(1 + s)."""
    return feedback_step(root_epsilon).xreplace(CURVATURES)


def gossip_rate() -> Statement:
    """V_{t+1} ≤ θ²V_t, θ the positive root of θ² = (1 − s)rθ + s, s = √ε, r = (β − ρ)/(β + ρ); and the mean stays.

    For every W with these eigenvalues some compressor and start have equality for ever, C(v) = (1 + s)v. So this is no
    bound on an exact rate but the rate: 1 − θ² is at least δρ/(ρ + β), of first order in the spectral gap ρ. If C is
    random, in the mean. Top-k is not the worst: on a ring of eight, Top-10 of a hundred normal
    entries, the exponent at γ* is 1.02 times ln θ², and at 8γ* 9 times; at 12γ* it diverges. Start values may be known
    or not: x̂_i = 0 makes V_0 larger by what is not known.

    Source: ours; the iteration: Koloskova, Stich and Jaggi 2019.
    """
    bound = (feedback_factor(ROOT) ** 2).xreplace(CURVATURES)
    return Statement(
        label="gossip_rate",
        title="gossip of compressed differences, rate at the best mixing strength",
        assumptions=(WEIGHTS, GOSSIP, KEPT_BACK, Given("mixing", r"\gamma", "=", mixing_step(ROOT)), VALUE),
        relation=sympy.Eq(lyapunov_factor, bound),
        domain=_DOMAIN,
        source="iteration: Koloskova, Stich and Jaggi 2019; rate and proof: ours",
        derivation=(
            Step("columns of I − W sum to 0, so that Σ_i x_i does not change", _mean_stays),
            Step(
                "e = x − x̂, A = I − W: x⁺ = x − γA(x − e), and what C is given is x⁺ − x̂ = e − γA(x − e)",
                _in_errors,
            ),
            Step(
                "an orthonormal basis of eigenvectors splits V, and what C may keep back of energy: an eigenvalue λ "
                "has y⁺ = y − γλ(y − e) and a share of u = e − γλ(y − e)",
                None,
                argued="C may move energy from one eigenvector to another, and into the mean, but bounds the sum only",
            ),
            Step("γλ = h(1 + rc), h = (1 − s)/(1 + s), c = (2λ − ρ − β)/(β − ρ) in [−1, 1]", _scaled_eigenvalue),
            Step("r = (θ² − s)/((1 − s)θ) is θ² = (1 − s)rθ + s, which the bound obeys", lambda: _root_equation(bound)),
            Step(
                "e = sq: θ²(y² + sq²) − (y⁺)² − su² − (θ² − s)/(1 + s)·(1 − c²)(y − e)² is one square",
                _one_square,
            ),
            Step("the mean of the e_i has y = 0, u = e: θ²sq² − s(sq)² = s(θ² − s²)q², and θ² ≥ s ≥ s²", _mean_mode),
            Step(
                "C(v) = (1 + s)v at λ = ρ has the eigenvalue θ, and at λ = β the eigenvalue −θ: V_T = θ^(2T)V_0",
                _eigenvalues,
                concludes=bound,
            ),
            Step("s = 0: θ = r, the rate of gossip without compression at γ = 2/(ρ + β)", lambda: _uncompressed(bound)),
        ),
    )


def gossip_mixing() -> Statement:
    """γ* = 2/(ρ + β) · (1 − s)/(1 + s): every other mixing strength has a larger worst-case rate, whatever is measured.

    Source: ours.
    """
    bound = mixing_step(ROOT)
    return Statement(
        label="gossip_mixing",
        title="gossip of compressed differences, best mixing strength",
        assumptions=(
            WEIGHTS,
            GOSSIP,
            KEPT_BACK,
            r"$\gamma^{*}$ minimises the worst-case rate $\sup_{C}\limsup_T(\sum_i\|x_i-\bar{x}\|^{2})^{1/T}$",
        ),
        relation=sympy.Eq(best_mixing, bound),
        domain=_DOMAIN,
        source="ours",
        derivation=(
            Step("C(v) = (1 + s)v has z² − tz − s, t = (1 − s) − (1 + s)γλ, for the eigenvalue λ", _polynomial),
            Step("its root (|t| + √(t² + 4s))/2 grows with |t|", _root_grows),
            Step("at γ*, t = (1 − s)r for λ = ρ and −(1 − s)r for λ = β", lambda: _balanced(bound)),
            Step("γ < γ* makes t(ρ) larger, γ > γ* makes −t(β) larger", lambda: _unbalanced(bound), concludes=bound),
        ),
    )


def gossip_steps() -> Statement:
    """V_T ≤ tol·V_0 once T ≥ (ρ + β)/(ρδ) · ln(1/tol); β ≤ 2, and β ≤ 1 for W without negative eigenvalues.

    The same steps as `ef_small_delta`, so that a network costs what a condition number of β/ρ costs.

    Source: ours.
    """
    bound = ef_small_delta().bound.xreplace(CURVATURES)
    return Statement(
        label="gossip_steps",
        title="gossip of compressed differences, steps to a tolerance",
        assumptions=(
            WEIGHTS,
            GOSSIP,
            replace(KEPT_BACK, right=1 - delta),
            r"$\gamma=\gamma^{*}$; $\rho^{*}=\sup V_{t+1}/V_t$ of the Lyapunov function $V$ of the rate; "
            r"the left side is $0$ if $\rho^{*}=0$",
        ),
        relation=sympy.Le(steps_needed, bound, evaluate=False),
        domain=(sympy.Le(spectral_gap, widest_gap), sympy.Le(delta, 1), sympy.Le(tolerance, 1)),
        source="ours",
        derivation=(
            *ef_small_delta().derivation[:-2],
            Step(
                "with ρ for μ and β for L the rate is that of `gossip_rate`, and T ≥ ln(1/tol)(ρ + β)/(δρ)",
                lambda: _same_rate(bound),
                concludes=bound,
            ),
        ),
    )


def _mean_stays() -> sympy.Basic:
    """Of x_i only the i-th column of A counts: 1 − Σ_j w_ji, with Σ_j w_ji = Σ_j w_ij = 1."""
    column, row = sympy.symbols("column row", real=True)
    symmetric = (1 - column).subs(column, row)
    return decided(symmetric.subs(row, 1) == 0)


def _in_errors() -> sympy.Basic:
    x, error = sympy.symbols("x e", commutative=False)
    matrix, strength = sympy.Symbol("A", commutative=False), sympy.Symbol("gamma")
    known = x - error
    following = x - strength * matrix * known
    given = sympy.expand(following - known - (error - strength * matrix * (x - error)))
    return decided(given == 0)


def _scaled_eigenvalue() -> sympy.Basic:
    place = (2 * _EIGENVALUE - spectral_gap - widest_gap) / (widest_gap - spectral_gap)
    spread = (widest_gap - spectral_gap) / (widest_gap + spectral_gap)
    scaled = sympy.cancel(mixing_step(S) * _EIGENVALUE - NORMALISED_STEP * (1 + spread * place))
    ends = [sympy.cancel(place.subs(_EIGENVALUE, end)) for end in (spectral_gap, widest_gap)]
    return decided(scaled == 0 and ends == [-1, 1])


def _root_equation(bound: sympy.Expr) -> sympy.Expr:
    spread = (widest_gap - spectral_gap) / (widest_gap + spectral_gap)
    theta = feedback_factor(ROOT).xreplace(CURVATURES)
    return sympy.expand(bound - (1 - ROOT) * spread * theta - ROOT)


def _one_square() -> sympy.Expr:
    error = S * _ERROR
    scaled = NORMALISED_STEP * (1 + REDUCED_SPREAD * _SHARE) * (_FAR - error)
    before, after = _FAR**2 + S * _ERROR**2, (_FAR - scaled) ** 2 + S * (error - scaled) ** 2
    known = PAIR_MULTIPLIER * (1 - _SHARE**2) * (_FAR - error) ** 2
    square = SQUARE_FACTOR * (THETA * _FAR + THETA * _ERROR + _SHARE * (_FAR - error)) ** 2
    return sympy.cancel(THETA**2 * before - after - known - square)


def _mean_mode() -> sympy.Basic:
    difference = sympy.expand(THETA**2 * S * _ERROR**2 - S * (S * _ERROR) ** 2 - S * (THETA**2 - S**2) * _ERROR**2)
    excess = sympy.cancel(THETA**2 - S - (1 - S) * REDUCED_SPREAD * THETA)
    room = sympy.Symbol("room", positive=True)
    return decided(difference == 0 and excess == 0 and sympy.cancel((S - S**2).subs(S, 1 / (1 + room))).is_positive)


def _map(scaled: sympy.Expr) -> sympy.Matrix:
    """(y, e) → (y⁺, −su)."""
    return sympy.Matrix([[1 - scaled, scaled], [S * scaled, -S * (1 + scaled)]])


def _eigenvalues() -> sympy.Basic:
    ends = [
        (_map(NORMALISED_STEP * (1 + sign * REDUCED_SPREAD)) + sign * THETA * sympy.eye(2)).det() for sign in (-1, 1)
    ]
    return decided(all(sympy.cancel(end) == 0 for end in ends))


def _uncompressed(bound: sympy.Expr) -> sympy.Expr:
    value, room = bound.subs(epsilon, 0), sympy.Symbol("room", nonnegative=True)
    stated = ((widest_gap - spectral_gap) / (widest_gap + spectral_gap)) ** 2
    return sympy.simplify((value - stated).subs(widest_gap, spectral_gap + room))


def _polynomial() -> sympy.Expr:
    strength, root = sympy.Symbol("gamma", positive=True), sympy.Symbol("z")
    trace = (1 - S) - (1 + S) * strength * _EIGENVALUE
    return sympy.expand((_map(strength * _EIGENVALUE) - root * sympy.eye(2)).det() - (root**2 - trace * root - S))


def _root_grows() -> sympy.Basic:
    size, constant, root = sympy.Symbol("|t|", nonnegative=True), sympy.Symbol("s", positive=True), sympy.Symbol("z")
    found = (size + sympy.sqrt(size**2 + 4 * constant)) / 2
    vanishes = sympy.expand((root**2 - size * root - constant).subs(root, found))
    return decided(vanishes == 0 and sympy.diff(found, size).is_positive)


def _trace(strength: sympy.Expr, eigenvalue: sympy.Expr) -> sympy.Expr:
    return (1 - ROOT) - (1 + ROOT) * strength * eigenvalue


def _balanced(bound: sympy.Expr) -> sympy.Basic:
    size = (1 - ROOT) * (widest_gap - spectral_gap) / (widest_gap + spectral_gap)
    ends = (_trace(bound, spectral_gap) - size, _trace(bound, widest_gap) + size)
    return decided(all(sympy.cancel(end) == 0 for end in ends))


def _unbalanced(bound: sympy.Expr) -> sympy.Basic:
    change = sympy.Symbol("change", positive=True)
    slower = sympy.cancel(_trace(bound - change, spectral_gap) - _trace(bound, spectral_gap))
    faster = sympy.cancel(_trace(bound, widest_gap) - _trace(bound + change, widest_gap))
    return decided(slower.is_positive and faster.is_positive)


def _same_rate(bound: sympy.Expr) -> sympy.Expr:
    return sympy.cancel(sympy.log(1 / tolerance) * (spectral_gap + widest_gap) / (delta * spectral_gap) - bound)


STATEMENTS = by_label(__name__, gossip_rate, gossip_mixing, gossip_steps)
"""The statements of this file."""
