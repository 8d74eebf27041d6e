"""Which decay of the memory has the best worst case? With exact gradients and one worker, any below the rate itself.

v = βe + η∇f(x), x⁺ = x − C(v), e⁺ = v − C(v), f smooth and strongly convex. No β has a smaller rate than β = 0, which
is compressed gradient descent; a β below that rate has the same (`decayed_tight_rate`, under a condition that holds
near the rate, and for δ ≥ 3/4 everywhere below); one above its root has a larger. Since the floor that noise and
heterogeneity leave falls with 1 − β (`decayed_floor`), the memory should fade about as fast as the method converges.
Ours.
"""

import sympy

from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    L,
    epsilon,
    eta,
    lyapunov_factor,
    mu,
    residual_decay,
    spectral_factor,
)
from sparsync.theory.tight_rates.decayed_steps import (
    BETA,
    CONDITION,
    POSITION_WEIGHT,
    RESIDUAL_WEIGHT,
    STEP,
    THETA,
    S,
    tight_steps,
)
from sparsync.theory.tight_rates.descent_steps import descent_factor
from sparsync.theory.tight_rates.feedback_steps import feedback_factor
from sparsync.theory.tight_rates.interpolation import numerator
from sparsync.theory.tight_rates.rates import KEPT_BACK

ROOT = sympy.sqrt(epsilon)
"""s = √ε."""
FACTOR = descent_factor(ROOT)
"""θ = (q − 1)/(q + 1), q = L(1 + s)/(μ(1 − s))."""
UPDATE = r"$v=\beta e+\eta\nabla f(x)$, $x^{+}=x-C(v)$, $e^{+}=v-C(v)$"
CLASS = r"$f$ is $L$-smooth and $\mu$-strongly convex"
_DECAYS = (sympy.Le(residual_decay, 1),)


def decayed_tight_rate() -> Statement:
    """V⁺ ≤ θ²V, with equality on two quadratics: the rate of compressed gradient descent, for every β < θ² admitted.

    V = f − f* + p‖x − x* − e‖² + r‖e‖². The condition θ²β ≤ sβ² + (1 − s)θ² holds for β near θ², and for all
    β < θ² if s ≤ 1/2; elsewhere this V is no Lyapunov function, and whether the rate is larger is open, as it is from
    θ² to θ. `decayed_rate_floor` says that it is no smaller.

    Source: ours.
    """
    bound = FACTOR**2
    return Statement(
        label="decayed_tight_rate",
        title="error feedback with a memory that decays, rate at the best step size",
        assumptions=(
            CLASS,
            KEPT_BACK,
            UPDATE,
            Given("step_size", r"\eta", "=", in_class(STEP)),
            Given("position_weight", "p", "=", in_class(POSITION_WEIGHT)),
            Given(
                "residual_weight",
                "r",
                "=",
                in_class(RESIDUAL_WEIGHT),
                r"$V=f(x)-f(x^{*})+p\|x-x^{*}-e\|^2+r\|e\|^2$ with {}",
            ),
        ),
        relation=sympy.Eq(lyapunov_factor, bound),
        domain=(
            sympy.Lt(mu, L),
            sympy.Lt(0, epsilon),
            sympy.Lt(epsilon, 1),
            sympy.Lt(residual_decay, bound),
            sympy.Le(in_class(BETA * THETA**2), in_class(CONDITION + BETA * THETA**2)),
        ),
        source="ours",
        derivation=tight_steps(bound, FACTOR),
    )


def decayed_rate_floor() -> Statement:
    """For every β in [0, 1] and every step size the worst-case rate is at least θ²: no decay is faster than β = 0.

    `compressed_descent_rate` attains it at β = 0, `decayed_tight_rate` for many β > 0. As β → 1 nothing is gained or
    lost to first order in μ/L.

    Source: ours.
    """
    bound = FACTOR**2
    return Statement(
        label="decayed_rate_floor",
        title="error feedback with a memory that decays: no decay is faster than none of it",
        assumptions=(CLASS, KEPT_BACK, UPDATE, "one worker, exact gradients"),
        relation=sympy.Ge(spectral_factor, bound, evaluate=False),
        domain=(sympy.Le(mu, L), sympy.Lt(epsilon, 1), *_DECAYS),
        source="ours",
        derivation=(
            *_map_steps(),
            Step("λ = s, μx²/2: at (1 − s)ημθ ≤ (1 − θ)(θ − sβ) it is ≤ 0 at θ, so a root is ≥ θ", _slow),
            Step("λ = −s, Lx²/2: at (1 + s)ηLθ ≥ (1 + θ)(θ − sβ) it is ≤ 0 at −θ, so a root is ≤ −θ", _fast),
            Step("for this θ both say the same of η, from either side", lambda: _meet(bound), concludes=bound),
        ),
    )


def decayed_rate_lower() -> Statement:
    """And at least φ², where φ is the factor of `ef_tight_rate` with βs for s: more than θ² iff β > θ.

    At β = 1 it is `ef_tight_rate`, which attains it: the classical memory is the slowest of all, if by little.

    Source: ours.
    """
    bound = feedback_factor(residual_decay * ROOT) ** 2
    return Statement(
        label="decayed_rate_lower",
        title="error feedback with a memory that decays slowly: a larger lower bound",
        assumptions=(CLASS, KEPT_BACK, UPDATE, "one worker, exact gradients"),
        relation=sympy.Ge(spectral_factor, bound, evaluate=False),
        domain=(sympy.Le(mu, L), sympy.Lt(epsilon, 1), *_DECAYS),
        source="ours",
        derivation=(
            *_map_steps(),
            Step("λ = −s, μx²/2: at (1 + s)ημφ ≤ (1 − φ)(φ + sβ) it is ≤ 0 at φ, so a root is ≥ φ", _slow_other),
            Step("λ = −s, Lx²/2: at (1 + s)ηLφ ≥ (1 + φ)(φ − sβ) it is ≤ 0 at −φ, so a root is ≤ −φ", _fast),
            Step("φ² = (1 − sβ)rφ + sβ, r = (L − μ)/(L + μ): both say the same of η", _meet_other),
            Step("that φ is the factor with βs for s", lambda: _is_factor(bound), concludes=bound),
            Step("at φ = θ the polynomial φ² − (1 − sβ)rφ − sβ is s(1 − rθ)(θ − β): < 0 iff β > θ", _larger),
        ),
    )


def in_class(expression: sympy.Expr) -> sympy.Expr:
    """The expression in θ, s and β, in the symbols of the statement."""
    return expression.subs({THETA: FACTOR, S: ROOT, BETA: residual_decay}, simultaneous=True)


_Z, _A, _KEPT = sympy.symbols("z a lambda", real=True)


def _polynomial(kept: sympy.Expr, curvature: sympy.Expr) -> sympy.Expr:
    """z² − (1 + λβ − (1 − λ)ηa)z + λβ: of one step on ax²/2 with C(v) = (1 − λ)v."""
    return _Z**2 - (1 + kept * BETA - (1 - kept) * eta * curvature) * _Z + kept * BETA


def _map_steps() -> tuple[Step, ...]:
    return (
        Step(
            "f = ax²/2, C(v) = (1 − λ)v: (x, e) moves by a matrix with the polynomial z² − (1 + λβ − (1 − λ)ηa)z + λβ",
            _characteristic,
        ),
    )


def _characteristic() -> sympy.Expr:
    push = eta * _A
    update = sympy.Matrix([[1 - (1 - _KEPT) * push, -(1 - _KEPT) * BETA], [_KEPT * push, _KEPT * BETA]])
    return sympy.expand((update - _Z * sympy.eye(2)).det() - _polynomial(_KEPT, _A))


def _slow() -> sympy.Expr:
    room = (1 - THETA) * (THETA - S * BETA) - (1 - S) * eta * mu * THETA
    return sympy.expand(_polynomial(S, mu).subs(_Z, THETA) + room)


def _fast() -> sympy.Expr:
    room = (1 + S) * eta * L * THETA - (1 + THETA) * (THETA - S * BETA)
    return sympy.expand(_polynomial(-S, L).subs(_Z, -THETA) + room)


def _slow_other() -> sympy.Expr:
    room = (1 - THETA) * (THETA + S * BETA) - (1 + S) * eta * mu * THETA
    return sympy.expand(_polynomial(-S, mu).subs(_Z, THETA) + room)


def _meet(bound: sympy.Expr) -> sympy.Basic:
    """(1 − θ)/((1 − s)μ) = (1 + θ)/((1 + s)L); and the bound is that θ's square."""
    factor = descent_factor(S)
    same = numerator((1 - factor) / ((1 - S) * mu) - (1 + factor) / ((1 + S) * L))
    return sympy.And(sympy.Eq(same, 0), sympy.Eq(sympy.simplify(bound.subs(ROOT, S) - factor**2), 0))


def _meet_other() -> sympy.Expr:
    """(1 − φ)(φ + sβ)/μ − (1 + φ)(φ − sβ)/L is (L + μ)/(Lμ) times −(φ² − (1 − sβ)rφ − sβ)."""
    difference = (1 - THETA) * (THETA + S * BETA) / mu - (1 + THETA) * (THETA - S * BETA) / L
    return numerator(difference + (L + mu) / (L * mu) * _equation())


def _equation() -> sympy.Expr:
    return THETA**2 - (1 - S * BETA) * (L - mu) / (L + mu) * THETA - S * BETA


def _is_factor(bound: sympy.Expr) -> sympy.Basic:
    factor = feedback_factor(S * BETA)
    root = sympy.expand(_equation().subs(THETA, factor))
    stated = sympy.simplify(bound.subs({ROOT: S, residual_decay: BETA}) - factor**2)
    return sympy.And(sympy.Eq(sympy.simplify(root), 0), sympy.Eq(stated, 0))


def _larger() -> sympy.Expr:
    factor, spread = descent_factor(S), (L - mu) / (L + mu)
    return numerator(_equation().subs(THETA, factor) - S * (1 - spread * factor) * (factor - BETA))


STATEMENTS = by_label(__name__, decayed_tight_rate, decayed_rate_floor, decayed_rate_lower)
"""The statements of this file."""
