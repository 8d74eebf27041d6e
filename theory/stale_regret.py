"""What does staleness cost in regret? The constant of bounded staleness, and the constant its own proof allows.

Ho, Cipar, Cui et al. 2013 bound the regret of stochastic descent under bounded staleness by three terms that depend on
the step size σ/√t, and then choose σ. That three-term bound is taken from the literature and is an assumption of both
statements (we have not read its printed proof); what follows from it is derived here. The better σ is ours.
"""

import sympy

from sparsync.theory.stability import decided
from sparsync.theory.statement import Statement, Step
from sparsync.theory.symbols import T, lipschitz, n, radius, regret, staleness

SCALE = sympy.Symbol("sigma", positive=True)
"""Scale σ of the step size σ/√t."""
PENDING = sympy.Symbol("kappa_s", positive=True)
"""κ_s = (s + 1)n, half the largest number of updates that a view may lack or have too many."""
SLACK = sympy.Symbol("slack", nonnegative=True)
"""κ_s − 1."""

THREE_TERMS = (
    r"$\sum_t f_t(x_t)-f_t(x^{*})\le\sigma\ell^2\sqrt{T}+F^2\sqrt{T}/\sigma+4\sigma\ell^2(s+1)n\sqrt{T}$ for steps "
    r"$\sigma/\sqrt{t}$ (Ho et al. 2013)"
)
CONVEX = r"$f_t$ convex and $\ell$-Lipschitz, $\frac12\lVert x-y\rVert^2\le F^2$ on the feasible set"


def ssp_regret() -> Statement:
    """R ≤ 4Fℓ√(2(s + 1)nT) for the step size σ/√t, σ = F/(ℓ√(2(s + 1)n)).

    Source: Ho, Cipar, Cui et al. 2013, as quoted by Zhao, An, Liu and Chen 2019.
    """
    bound = 4 * radius * lipschitz * sympy.sqrt(2 * (staleness + 1) * n * T)
    return Statement(
        label="ssp_regret",
        title="Regret under bounded staleness, published step size",
        assumptions=(CONVEX, THREE_TERMS, r"$\sigma=F/(\ell\sqrt{2(s+1)n})$"),
        relation=sympy.Le(regret, bound, evaluate=False),
        domain=(),
        source="Ho et al. 2013",
        derivation=(
            Step("κ_s = (s + 1)n is at least 1", _pending_is_positive),
            Step("the three terms are Fℓ√(2κ_s T)(3 + 1/(2κ_s)) at this σ", _terms_at_published_scale),
            Step("3 + 1/(2κ_s) ≤ 4, with room: 1 − 1/(2κ_s) ≥ 1/2", _bracket_is_small),
            Step("so the bound is 4Fℓ√(2κ_s T)", lambda: _published_bound() - bound, concludes=bound),
        ),
    )


def ssp_regret_optimised() -> Statement:
    """R ≤ 2Fℓ√((1 + 4(s + 1)n)T) for σ = F/(ℓ√(1 + 4(s + 1)n)): the same proof with its best step size.

    It is below `ssp_regret` everywhere, by a factor from √(5/8) (one worker, s = 0) down to 1/√2.

    Source: ours, from the three terms of Ho, Cipar, Cui et al. 2013.
    """
    bound = 2 * radius * lipschitz * sympy.sqrt((1 + 4 * (staleness + 1) * n) * T)
    return Statement(
        label="ssp_regret_optimised",
        title="Regret under bounded staleness, best step size",
        assumptions=(CONVEX, THREE_TERMS, r"$\sigma=F/(\ell\sqrt{1+4(s+1)n})$"),
        relation=sympy.Le(regret, bound, evaluate=False),
        domain=(),
        source="ours, from the three terms of Ho et al. 2013",
        derivation=(
            Step("the three terms are stationary in σ at F/(ℓ√(1 + 4κ_s))", _best_scale_is_stationary),
            Step("there they are the bound", lambda: _best_bound() - bound, concludes=bound),
            Step("at any other σ they exceed it by a square over σ", _excess_is_a_square),
            Step("bound²/published² = (1 + 4κ_s)/(8κ_s) < 1 for κ_s ≥ 1", _is_below_published),
            Step("the ratio is √(5/8) at κ_s = 1, and 1/√2 as κ_s → ∞", _ratio_ends),
        ),
    )


def _three_terms() -> sympy.Expr:
    """σℓ²√T + F²√T/σ + 4σℓ²κ_s√T."""
    return sympy.sqrt(T) * (SCALE * lipschitz**2 + radius**2 / SCALE + 4 * SCALE * lipschitz**2 * PENDING)


def _published_scale() -> sympy.Expr:
    return radius / (lipschitz * sympy.sqrt(2 * PENDING))


def _best_scale() -> sympy.Expr:
    return radius / (lipschitz * sympy.sqrt(1 + 4 * PENDING))


def _pending_is_positive() -> sympy.Basic:
    more_workers = sympy.Symbol("more_workers", integer=True, nonnegative=True)
    return decided(sympy.expand(((staleness + 1) * n - 1).subs(n, more_workers + 1)).is_nonnegative)


def _bracket() -> sympy.Expr:
    return 3 + 1 / (2 * PENDING)


def _terms_at_published_scale() -> sympy.Expr:
    stated = radius * lipschitz * sympy.sqrt(2 * PENDING * T) * _bracket()
    return sympy.simplify(_three_terms().subs(SCALE, _published_scale()) - stated)


def _bracket_is_small() -> sympy.Basic:
    room = sympy.factor((4 - _bracket() - sympy.Rational(1, 2)).subs(PENDING, 1 + SLACK))
    return decided(room.is_nonnegative)


def _published_bound() -> sympy.Expr:
    largest_bracket = sympy.Integer(4)
    terms = sympy.simplify(_three_terms().subs(SCALE, _published_scale()) / _bracket()) * largest_bracket
    return terms.subs(PENDING, (staleness + 1) * n)


def _best_scale_is_stationary() -> sympy.Expr:
    return sympy.simplify(sympy.diff(_three_terms(), SCALE).subs(SCALE, _best_scale()))


def _best_bound() -> sympy.Expr:
    return sympy.simplify(_three_terms().subs(SCALE, _best_scale())).subs(PENDING, (staleness + 1) * n)


def _excess_is_a_square() -> sympy.Expr:
    best = _three_terms().subs(SCALE, _best_scale())
    square = sympy.sqrt(T) * lipschitz**2 * (1 + 4 * PENDING) * (SCALE - _best_scale()) ** 2 / SCALE
    return sympy.simplify(sympy.expand(_three_terms() - best - square))


def _square_ratio() -> sympy.Expr:
    best, published = _best_bound(), _published_bound()
    return sympy.simplify((best / published) ** 2).subs(n, PENDING / (staleness + 1))


def _is_below_published() -> sympy.Basic:
    square = sympy.simplify(_square_ratio())
    room = sympy.factor((1 - square).subs(PENDING, 1 + SLACK))
    return decided(sympy.simplify(square - (1 + 4 * PENDING) / (8 * PENDING)) == 0 and room.is_positive)


def _ratio_ends() -> sympy.Basic:
    square = sympy.simplify(_square_ratio())
    return decided(
        square.subs(PENDING, 1) == sympy.Rational(5, 8)
        and sympy.limit(square, PENDING, sympy.oo) == sympy.Rational(1, 2)
    )
