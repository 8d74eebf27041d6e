"""Which weights does self-paced learning give, and does its objective fall when weights and pace are new?

F = Σ_j v_j(ℓ_j − λ) with weights v_j in [0, 1] (Kumar, Packer and Koller 2010, not read). That
the weights are 1 where ℓ_j < λ is theirs; what the pace may do, and when, is ours.
"""

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    loss,
    objective_change,
    pace,
    raised_pace,
    selected_count,
    weighted_loss,
)

LARGEST_WEIGHT = Given("largest_weight", "v_j", "≤", sympy.Integer(1), words=r"weights have $v_j\geq0$ and {}")

_WEIGHT = sympy.Symbol("v", nonnegative=True)
_REST = sympy.Symbol("rest", nonnegative=True)
"""1 − v."""


def pace_weights() -> Statement:
    """v = 1 where ℓ < λ, and 0 elsewhere, minimises vℓ − λv over [0, 1]: it is min(0, ℓ − λ).

    At ℓ = λ every weight does.

    Source: Kumar, Packer and Koller 2010; re-derived.
    """
    bound = sympy.Min(0, loss - pace)
    return Statement(
        label="pace_weights",
        title="The weights of self-paced learning",
        assumptions=(LARGEST_WEIGHT,),
        relation=sympy.Eq(weighted_loss, bound, evaluate=False),
        domain=(),
        source="Kumar, Packer and Koller 2010",
        derivation=(
            Step("where ℓ = λ + more, v·more ≥ 0, which v = 0 attains", lambda: decided(_with_more().is_nonnegative)),
            Step(
                "where ℓ = λ − more, −v·more ≥ −more, which v = 1 attains", lambda: decided(_with_less().is_nonnegative)
            ),
            Step(
                "so it is the lesser of the two ends",
                lambda: sympy.Min(*(weight * (loss - pace) for weight in (0, 1))) - bound,
                concludes=bound,
            ),
        ),
    )


def pace_raise() -> Statement:
    """New weights and a new pace change F by −(λ⁺ − λ)N at most, whichever of the two comes first.

    N counts the losses below λ. Weights by λ⁺ let F fall further, by |λ⁺ − ℓ| for each loss between. A raised pace lets
    F fall; one that falls may let it rise, by as much: so λ ← min(μλ, τ) needs μ ≥ 1 and τ ≥ λ from the start.

    Source: ours.
    """
    bound = -(raised_pace - pace) * selected_count
    return Statement(
        label="pace_raise",
        title="Weights by the old pace or the new",
        assumptions=(
            r"$F=\sum_j v_j(\ell_j-\lambda)$ with any weights before",
            LARGEST_WEIGHT,
            r"$v_j=1$ for $\ell_j<\lambda$, or for $\ell_j<\lambda^{+}$, and 0 elsewhere after",
            r"$N$ losses are below $\lambda$",
        ),
        relation=sympy.Le(objective_change, bound, evaluate=False),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "weights by λ do not let F rise",
                lambda: decided(_with_more().is_nonnegative and _with_less().is_nonnegative),
            ),
            Step(
                "then N terms ℓ_j − λ become ℓ_j − λ⁺",
                lambda: _raised_terms() - bound,
                concludes=bound,
            ),
            Step("weights by λ⁺ add ℓ_j − λ⁺ ≤ 0 for λ ≤ ℓ_j < λ⁺", _adds_nothing_positive),
            Step("for λ⁺ < λ they leave out ℓ_j − λ⁺ ≥ 0 for λ⁺ ≤ ℓ_j < λ", _leaves_out_nothing_negative),
            Step("with λ⁺ < λ and the same weights of N ≥ 1 examples the change is positive", _falling_pace),
        ),
    )


def _with_more() -> sympy.Expr:
    """vℓ − λv − 0 where ℓ ≥ λ."""
    more = sympy.Symbol("more", nonnegative=True)
    return sympy.expand(_WEIGHT * (pace + more - pace))


def _with_less() -> sympy.Expr:
    """vℓ − λv − (ℓ − λ) where ℓ ≤ λ, with v = 1 − rest."""
    more = sympy.Symbol("more", nonnegative=True)
    return sympy.expand((1 - _REST) * -more + more)


def _raised_terms() -> sympy.Expr:
    return sympy.expand(selected_count * ((loss - raised_pace) - (loss - pace)))


def _adds_nothing_positive() -> sympy.Basic:
    short = sympy.Symbol("short", nonnegative=True)
    added = (raised_pace - short) - raised_pace
    return decided(added.is_nonpositive)


def _leaves_out_nothing_negative() -> sympy.Basic:
    more = sympy.Symbol("more", nonnegative=True)
    return decided(((raised_pace + more) - raised_pace).is_nonnegative)


def _falling_pace() -> sympy.Basic:
    lost, count = sympy.Symbol("lost", positive=True), sympy.Symbol("count", integer=True, positive=True)
    change = _raised_terms().subs(selected_count, count).subs(raised_pace, pace - lost)
    return decided(sympy.expand(change).is_positive)


STATEMENTS = by_label(__name__, pace_weights, pace_raise)
"""The statements of this file."""
