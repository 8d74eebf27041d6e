"""What is the exact worst-case rate of error feedback on smooth strongly convex functions?

Rate, step size, Lyapunov functions and multipliers are those of Thomsen, Taylor and Dieuleveut (2025; 2026 for several
workers). That the rate is θ² for the positive root θ of θ² = (1 − s)rθ + s, s = √ε, r = (L − μ)/(L + μ), is ours: it
makes both proofs one square, for every number of workers, and θ an eigenvalue that no Lyapunov function avoids.
The steps are in `feedback_steps.py`, `worker_steps.py`, `descent_steps.py` and `oscillation_steps.py`.
"""

from dataclasses import replace

import sympy

from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.symbols import (
    L,
    best_step,
    delta,
    epsilon,
    eta,
    function_factor,
    heterogeneity,
    limit_distance,
    lyapunov_factor,
    mu,
    steps_needed,
    tolerance,
)
from sparsync.theory.tight_rates.descent_steps import descent_rate, descent_steps
from sparsync.theory.tight_rates.feedback_steps import (
    error_feedback_21_steps,
    error_feedback_steps,
    feedback_factor,
    feedback_step,
    small_delta_steps,
    step_size_steps,
)
from sparsync.theory.tight_rates.oscillation_steps import oscillation_steps
from sparsync.theory.tight_rates.worker_steps import error_feedback_21_workers, error_feedback_workers

CLASS_DOMAIN = (sympy.Le(mu, L), sympy.Lt(epsilon, 1))
"""0 < μ ≤ L and 0 ≤ ε < 1; the lower ends come with the symbols."""
SMALL_DELTA_DOMAIN = (sympy.Le(mu, L), sympy.Le(delta, 1), sympy.Le(tolerance, 1))
"""0 < μ ≤ L, 0 < δ ≤ 1 and 0 < tol ≤ 1."""
ROOT = sympy.sqrt(epsilon)
"""s = √ε."""

CLASS = r"each $f_i$ is $L$-smooth and $\mu$-strongly convex"
KEPT_BACK = Given("kept_back", r"\|C(v)-v\|^2/\|v\|^2", "≤", epsilon, words=r"{} for every $v\neq0$, $C(0)=0$")
OPTIMAL_STEP = Given("step_size", r"\eta", "=", feedback_step(ROOT))
FEEDBACK = r"error feedback: $v_i=e_i+\eta\nabla f_i(x)$, $x^{+}=x-\frac{1}{n}\sum_i C(v_i)$, $e_i^{+}=v_i-C(v_i)$"


def ef_tight_rate() -> Statement:
    """V_{t+1} ≤ θ² V_t for V = Σ‖x − x* − e_i‖² + ‖Σ e_i‖²/(ns), with equality in every step for f = μx²/2.

    The n functions have a common minimiser x*; for s = 0 there is no memory, e_i = 0, and V = n‖x − x*‖².

    Source: Thomsen, Taylor and Dieuleveut 2025 (n = 1) and 2026; form, deviations and equality ours.
    """
    bound = feedback_factor(ROOT) ** 2
    return Statement(
        label="ef_tight_rate",
        title="error feedback, rate at the best step size",
        assumptions=(
            CLASS,
            KEPT_BACK,
            FEEDBACK,
            OPTIMAL_STEP,
            r"$\nabla f_i(x^{*})=0$ for all $n\geq 1$ workers",
            r"$V=\sum_i\|x-x^{*}-e_i\|^2+\|\sum_i e_i\|^2/(n\sqrt{\epsilon})$ ($e_i=0$ if $\epsilon=0$)",
        ),
        relation=sympy.Eq(lyapunov_factor, bound),
        domain=CLASS_DOMAIN,
        source="Thomsen, Taylor and Dieuleveut 2025, 2026; this form and proof: ours",
        derivation=(*error_feedback_steps(bound), *error_feedback_workers()),
    )


def ef21_tight_rate() -> Statement:
    """V_{t+1} ≤ θ² V_t for V = Σ‖∇f_i(x) − d_i‖²/s + ‖Σ∇f_i(x)‖²/n, with equality in every step for f = μx²/2.

    The functions may differ: no minimiser enters, and V ≥ nμ²‖x − x*‖² for the minimiser x* of their mean, so x_t → x*
    at the same tight rate. For s = 0 there is no error, d_i = ∇f_i(x), and V = ‖Σ∇f_i(x)‖²/n.

    Source: Thomsen, Taylor and Dieuleveut 2025 (n = 1) and 2026; form, deviations and equality ours.
    """
    bound = feedback_factor(ROOT) ** 2
    return Statement(
        label="ef21_tight_rate",
        title="EF21, rate at the best step size",
        assumptions=(
            CLASS,
            KEPT_BACK,
            r"EF21: $x^{+}=x-\frac{\eta}{n}\sum_i d_i$, $d_i^{+}=d_i+C(\nabla f_i(x^{+})-d_i)$",
            OPTIMAL_STEP,
            r"the $f_i$ may differ: $\nabla f_i(x^{*})$ need not be $0$ at the minimiser $x^{*}$ of their mean",
            r"$V=\sum_i\|\nabla f_i(x)-d_i\|^2/\sqrt{\epsilon}+\|\sum_i\nabla f_i(x)\|^2/n$, $n\geq 1$ workers "
            r"($d_i=\nabla f_i(x)$ if $\epsilon=0$)",
        ),
        relation=sympy.Eq(lyapunov_factor, bound),
        domain=CLASS_DOMAIN,
        source="Thomsen, Taylor and Dieuleveut 2025, 2026; this form and proof: ours",
        derivation=(*error_feedback_21_steps(bound), *error_feedback_21_workers()),
    )


def ef_tight_step() -> Statement:
    """η* = 2/(L + μ) · (1 − s)/(1 + s): every other step size has a larger worst-case rate, whatever is measured.

    Source: Thomsen, Taylor and Dieuleveut 2025; this proof, by the eigenvalue of two quadratics, ours.
    """
    bound = feedback_step(ROOT)
    return Statement(
        label="ef_tight_step",
        title="error feedback and EF21, best step size",
        assumptions=(
            r"error feedback or EF21, $f$ $L$-smooth and $\mu$-strongly convex",
            KEPT_BACK,
            r"$\eta^{*}$ minimises the worst-case rate $\sup_{f,C}\limsup_T\|x_T-x^{*}\|^{2/T}$",
        ),
        relation=sympy.Eq(best_step, bound),
        domain=CLASS_DOMAIN,
        source="Thomsen, Taylor and Dieuleveut 2025; this proof: ours",
        derivation=step_size_steps(bound),
    )


def compressed_descent_rate() -> Statement:
    """f(x⁺) − f* ≤ ((q − 1)/(q + 1))²(f(x) − f*), q = L(1 + s)/(μ(1 − s)), with equality for f = μx²/2.

    It is a statement about f − f*. ‖x − x*‖² and ‖∇f(x)‖² shrink more slowly in some step, from two dimensions on.

    Source: de Klerk, Glineur and Taylor 2020, Theorem 5.3, for the rate of inexact gradients, as PEPit cites them;
    Thomsen, Taylor and Dieuleveut 2025 for compression; this proof ours.
    """
    bound = descent_rate(ROOT)
    return Statement(
        label="compressed_descent_rate",
        title="compressed gradient descent, rate at the best step size",
        assumptions=(
            r"$f$ is $L$-smooth and $\mu$-strongly convex",
            KEPT_BACK,
            r"$x^{+}=x-\eta C(\nabla f(x))$, one worker, exact gradients",
            Given("step_size", r"\eta", "=", 2 / ((1 - ROOT) * mu + (1 + ROOT) * L)),
        ),
        relation=sympy.Eq(function_factor, bound),
        domain=CLASS_DOMAIN,
        source=(
            "rate: de Klerk, Glineur and Taylor 2020; as compression: Thomsen, Taylor and Dieuleveut 2025; proof: ours"
        ),
        derivation=descent_steps(bound),
    )


def ef_small_delta() -> Statement:
    """V_T ≤ tol·V_0 once T ≥ (L + μ)/(μδ) · ln(1/tol), for both kinds of error feedback at η*.

    To first order in δ nothing is lost: (1 − ρ*)/δ → μ/(L + μ) as δ → 0.

    Source: ours, from the rate of Thomsen, Taylor and Dieuleveut 2025.
    """
    bound = (L + mu) / (mu * delta) * sympy.log(1 / tolerance)
    return Statement(
        label="ef_small_delta",
        title="error feedback and EF21, steps to a tolerance",
        assumptions=(
            CLASS,
            replace(KEPT_BACK, right=1 - delta),
            r"error feedback at $\eta^{*}$, and $\nabla f_i(x^{*})=0$ for all workers; or EF21 at $\eta^{*}$",
            r"$\rho^{*}=\sup V_{t+1}/V_t$ of its Lyapunov function $V$; the left side is $0$ if $\rho^{*}=0$",
        ),
        relation=sympy.Le(steps_needed, bound, evaluate=False),
        domain=SMALL_DELTA_DOMAIN,
        source="ours",
        derivation=small_delta_steps(bound),
    )


def ef_heterogeneous_distance() -> Statement:
    """‖x_t − x*‖² → η²ζ²/4: error feedback with a fixed step size circles the minimiser of workers that differ.

    Consecutive iterates lie on opposite sides of x*, so their mean is x*, but no iterate comes near it. EF21 has the
    rate of `ef21_tight_rate` for any functions, hence x_t → x* here.

    Source: ours.
    """
    bound = eta**2 * heterogeneity / 4
    return Statement(
        label="ef_heterogeneous_distance",
        title="error feedback, two different workers, distance in the limit",
        assumptions=(
            r"Top-1 in two dimensions, $f_{1,2}(x)=\frac{L}{2}\|x-x^{*}\|^2\pm\langle a,x-x^{*}\rangle$, "
            r"$a$ a positive multiple of $(1,1)$",
            Given("heterogeneity", r"\|a\|^2", "=", heterogeneity),
            r"error feedback with $e_i=0$ at the start, $x_0-x^{*}=y(1,-1)$, $y>0$",
            Given("start", "y", "≤", eta * sympy.sqrt(heterogeneity) / (2 * sympy.sqrt(2))),
        ),
        relation=sympy.Eq(limit_distance, bound),
        domain=(sympy.Lt(eta * L, 1),),
        source="ours",
        derivation=oscillation_steps(bound),
    )


STATEMENTS = by_label(
    __name__,
    ef_tight_rate,
    ef21_tight_rate,
    ef_tight_step,
    compressed_descent_rate,
    ef_small_delta,
    ef_heterogeneous_distance,
)
"""The statements of this file."""
