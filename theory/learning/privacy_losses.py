"""What does one example change in a private step, what adds up over steps, and what can an attack make of it?

The gradient of each example is shortened to C, noise N(0, (σC)²I) is added to the sum, and only then entries are
selected. So selection is done to what is private already, and costs nothing; before the noise it would cost everything.
"""

import sympy

from sparsync.theory.language.given import Given
from sparsync.theory.language.sampled_moments import TERM, SampledMoment
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    clip_norm,
    clipped_move,
    largest_entry,
    loss_excess,
    loss_factor,
    membership_advantage,
    noise_ratio,
    order,
    renyi_divergence,
    sample_share,
    selected_move,
)

PRIVATE = (r"$\mathrm{clip}(g)=\min(1,C/\lVert g\rVert)\,g$",)
LARGEST_EXPANDED = 5
"""Order up to which powers are multiplied out."""

_NORM = sympy.Symbol("r", positive=True)
_LONGER = sympy.Symbol("longer", nonnegative=True)
_PLACE = sympy.Symbol("x", real=True)
OTHER_CHANCE = sympy.Symbol("Q(S)", nonnegative=True)
"""Of a set of models, from the other data."""
_FIRST, _SECOND = sympy.symbols("T F", real=True)


def clipped_sum_move() -> Statement:
    """‖Σ clip(g) with an example − that without‖ ≤ C, however long its gradient is.

    Source: Abadi et al. 2016.
    """
    bound = clip_norm
    return Statement(
        label="clipped_sum_move",
        title="What one example adds to a clipped sum",
        assumptions=PRIVATE,
        relation=sympy.Le(clipped_move, bound, evaluate=False),
        domain=(),
        source="Abadi et al. 2016",
        derivation=(
            Step("the sums differ by the clipped gradient, of length min(1, C/r)·r = min(r, C)", _clipped_length),
            Step(
                "which is C at most, and C from there on",
                lambda: sympy.Min(clip_norm + _LONGER, clip_norm) - bound,
                concludes=bound,
            ),
        ),
    )


def selected_sum_move() -> Statement:
    """max ‖Top_k(g + v) − Top_k(g)‖² ≥ a² + (a + C/2)² over ‖v‖ ≤ C: no multiple of C bounds it.

    Of two entries and k = 1 it says so; more entries do not make the change smaller. An example may decide which
    entries are selected. So noise in proportion to C, added to the selected entries, makes
    nothing private; where noise comes first, selection only reads what is private.

    Source: ours.
    """
    bound = largest_entry**2 + (largest_entry + clip_norm / 2) ** 2
    return Statement(
        label="selected_sum_move",
        title="What one example changes in a selection from a sum",
        assumptions=(
            Given(
                "example_length",
                r"\lVert v\rVert",
                "≤",
                clip_norm,
                words="$g$ is any sum whose largest entry is $a$, and {}",
            ),
        ),
        relation=sympy.Ge(selected_move, bound, evaluate=False),
        domain=(),
        source="ours",
        derivation=(
            Step("of g = (a, a − C/2) with a > C/4 the first entry is selected", _first_is_selected),
            Step("v = (0, C) makes the second the largest", lambda: _runner_up() + clip_norm - largest_entry > 0),
            Step(
                "(0, a + C/2) − (a, 0)",
                lambda: sympy.expand((_runner_up() + clip_norm) ** 2 + largest_entry**2 - bound),
                concludes=bound,
            ),
            Step(
                "for a ≤ C/2 v = (0, C) moves the selection from g = (a, 0) by a² + C², which is no less",
                _small_move,
            ),
            Step(
                "over C² it is beyond every number as a grows",
                lambda: sympy.Eq(sympy.limit(bound / clip_norm**2, largest_entry, sympy.oo), sympy.oo),
            ),
        ),
    )


def sampled_gaussian_divergence() -> Statement:
    """D_α = ln(Σ_j C(α, j)(1 − q)^(α − j) q^j e^{j(j − 1)/(2σ²)})/(α − 1) of (1 − q)N(0, σ²) + qN(1, σ²) from N(0, σ²).

    For q = 1 it is α/(2σ²). It adds up over steps, and the divergence the other way round is not larger (Mironov,
    Talwar and Zhang 2019, as described to us), so that it bounds what one example changes.

    Source: Mironov, Talwar and Zhang 2019, arXiv 1908.10530; derived anew.
    """
    bound = sympy.log(_moment()) / (order - 1)
    return Statement(
        label="sampled_gaussian_divergence",
        title="Rényi divergence of a step with a Poisson sample",
        assumptions=(
            Given(
                "inclusion",
                r"\Pr(\text{an example is in a step})",
                "=",
                sample_share,
                words="{}, independently of all others",
            ),
            Given(
                "noise_variance",
                "v",
                "=",
                (noise_ratio * clip_norm) ** 2,
                words=r"it adds $C$ along one direction to a sum with noise $N(0,vI)$, {}",
            ),
        ),
        relation=sympy.Eq(renyi_divergence, bound),
        domain=(sympy.Ge(order, 2), sympy.Le(sample_share, 1)),
        source="Mironov et al. 2019",
        derivation=(
            Step("N(1, σ²) over N(0, σ²) at x is e^{(2x − 1)/(2σ²)}", _density_quotient),
            Step("E e^{j(2x − 1)/(2σ²)} = e^{j(j − 1)/(2σ²)} under N(0, σ²)", _gaussian_moment),
            Step(
                "the α-th power of 1 − q + q e^{…}, multiplied out",
                _powers_expand,
                concludes=bound,
                argued=f"for α > {LARGEST_EXPANDED}: the binomial theorem",
            ),
            Step("q = 1 leaves the term j = α, and so α/(2σ²)", _whole_sample),
        ),
    )


def membership_bound() -> Statement:
    """TPR − FPR ≤ (e^ε − 1 + 2δ)/(e^ε + 1) of every attack that is asked of one example.

    No model has e^ε < 1 − δ, since the set of all models has the chance 1 from both data.

    Source: Kairouz, Oh and Viswanath 2015 give the region of TPR and FPR; the bound follows.
    """
    bound = (loss_factor - 1 + 2 * loss_excess) / (loss_factor + 1)
    return Statement(
        label="membership_bound",
        title="Advantage of an attack on membership",
        assumptions=(
            Given(
                "loss",
                r"\Pr(S)",
                "≤",
                loss_factor * OTHER_CHANCE + loss_excess,
                words="{} for every set $S$ of models, where $Q(S)$ is its chance with an example more or less",
            ),
            "TPR and FPR are the chances that the attack says yes with the example and without",
        ),
        relation=sympy.Le(membership_advantage, bound),
        domain=(sympy.Ge(loss_factor, 1 - loss_excess),),
        source="Kairouz et al. 2015",
        derivation=(
            Step(
                "T ≤ e^ε F + δ and 1 − F ≤ e^ε(1 − T) + δ, added, say (e^ε + 1)(T − F) ≤ e^ε − 1 + 2δ",
                lambda: sympy.expand(_slack() - (loss_factor - 1 + 2 * loss_excess - (loss_factor + 1) * _gained())),
                concludes=bound,
            ),
            Step("which is attained where both hold with equality: F = (1 − δ)/(1 + e^ε), for δ ≤ 1", _both_attained),
        ),
    )


def _clipped_length() -> sympy.Basic:
    """Of gradients longer than C, and not."""
    long = (clip_norm / (clip_norm + _LONGER)) * (clip_norm + _LONGER)
    return sympy.And(sympy.Eq(sympy.cancel(long), clip_norm), sympy.Eq(sympy.Min(_NORM, _NORM + _LONGER), _NORM))


def _runner_up() -> sympy.Expr:
    return largest_entry - clip_norm / 2


def _first_is_selected() -> sympy.Basic:
    """a above the other's magnitude, of either sign, with a = C/4 + more."""
    more = sympy.Symbol("more", positive=True)
    rooms = [largest_entry - sign * _runner_up() for sign in (1, -1)]
    return sympy.And(*(room.subs(largest_entry, clip_norm / 4 + more) > 0 for room in rooms))


def _small_move() -> sympy.Basic:
    """C = 2(a + less): v makes the second entry the largest, and a² + C² is at least what is stated."""
    less = sympy.Symbol("less", nonnegative=True)
    room = largest_entry**2 + clip_norm**2 - selected_sum_move().bound
    short = 2 * (largest_entry + less)
    return sympy.And(short - largest_entry > 0, sympy.expand(room.subs(clip_norm, short)) >= 0)


def _moment(power: sympy.Expr = order) -> sympy.Expr:
    return SampledMoment(power, sample_share, noise_ratio)


def _density(mean: int) -> sympy.Expr:
    return sympy.exp(-((_PLACE - mean) ** 2) / (2 * noise_ratio**2)) / (noise_ratio * sympy.sqrt(2 * sympy.pi))


def _quotient() -> sympy.Expr:
    return sympy.exp((2 * _PLACE - 1) / (2 * noise_ratio**2))


def _density_quotient() -> sympy.Expr:
    return sympy.simplify(sympy.log(_density(1) / _density(0) / _quotient()))


def _gaussian_moment() -> sympy.Expr:
    power = sympy.exp(TERM * (2 * _PLACE - 1) / (2 * noise_ratio**2))
    mean = sympy.integrate(sympy.powsimp(power * _density(0)), (_PLACE, -sympy.oo, sympy.oo))
    return sympy.simplify(mean - sympy.exp(TERM * (TERM - 1) / (2 * noise_ratio**2)))


def _powers_expand() -> sympy.Basic:
    """Each power of the quotient is replaced by its mean."""
    quotient = sympy.Symbol("quotient")
    claims = []
    for power in range(2, LARGEST_EXPANDED + 1):
        expanded = sympy.Poly((1 - sample_share + sample_share * quotient) ** power, quotient)
        mean = sympy.Add(
            *(
                coefficient * sympy.exp(sympy.Rational(degree * (degree - 1), 2) / noise_ratio**2)
                for (degree,), coefficient in expanded.terms()
            )
        )
        claims.append(sympy.Eq(sympy.expand(mean - _moment(sympy.Integer(power)).rewrite(sympy.Sum).doit()), 0))
    return sympy.And(*claims)


def _whole_sample() -> sympy.Basic:
    """All terms but the last have a positive power of 1 − q."""
    earlier = sympy.Symbol("earlier", integer=True, positive=True)
    term = _moment().rewrite(sympy.Sum).function
    others = term.subs(TERM, order - earlier).subs(sample_share, 1)
    whole = sympy.expand_log(sympy.log(term.subs(TERM, order).subs(sample_share, 1)), force=True) / (order - 1)
    return sympy.And(sympy.Eq(others, 0), sympy.Eq(sympy.simplify(whole - order / (2 * noise_ratio**2)), 0))


def _gained() -> sympy.Expr:
    return _FIRST - _SECOND


def _slack() -> sympy.Expr:
    """What both inequalities leave, added up."""
    first = loss_factor * _SECOND + loss_excess - _FIRST
    second = loss_factor * (1 - _FIRST) + loss_excess - (1 - _SECOND)
    return first + second


def _both_attained() -> sympy.Expr:
    found = sympy.solve(
        [
            loss_factor * _SECOND + loss_excess - _FIRST,
            loss_factor * (1 - _FIRST) + loss_excess - (1 - _SECOND),
        ],
        [_FIRST, _SECOND],
    )
    bound = (loss_factor - 1 + 2 * loss_excess) / (loss_factor + 1)
    stated = (1 - loss_excess) / (1 + loss_factor)
    is_stated = sympy.simplify(found[_SECOND] - stated) == 0
    return sympy.simplify(found[_FIRST] - found[_SECOND] - bound) if is_stated else sympy.nan


STATEMENTS = by_label(__name__, clipped_sum_move, selected_sum_move, sampled_gaussian_divergence, membership_bound)
"""The statements of this file."""
