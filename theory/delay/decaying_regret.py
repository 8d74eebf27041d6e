"""What does staleness cost in regret if steps decrease like σ/√t? A pair of updates is paid for once, at its first.

A view may lack an earlier update of its window or hold a later one; of two updates both may happen, but the two costs
have opposite signs. So pairs are counted, not views: that halves what the window seems to permit. Ho, Cipar, Cui et al.
2013 chose the order and the steps; the bounds, their constants and the proofs are ours.
"""

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.delay.stale_regret import (
    CONVEX,
    IN_WINDOW,
    MOVES,
    NUMBERED,
    ONE_STEP,
    WORKER,
    cost_of_one_update,
    delay_factor,
    one_step,
    ssp_regret_optimised,
    with_positive_factor,
)
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import T, lipschitz, n, radius, regret, staleness, step_scale

DIAMETER = Given("half_square", r"\frac12\lVert x_t-x^{*}\rVert^2", "≤", radius**2, words="{} for every $t$")
DECREASES = r"$\eta_t=\sigma/\sqrt{t}$"

_MORE, _LESS, _CUT = sympy.symbols("more less cut", nonnegative=True)
_LARGER, _SMALLER = sympy.symbols("eta_l eta_t", positive=True)
_HALF = sympy.Symbol("half", integer=True, nonnegative=True)


def ssp_regret_decaying() -> Statement:
    """R ≤ F²√T/σ + σℓ²((1 + (2s + 1)(n − 1))√T + ⌊n²/4⌋/2) for the steps σ/√t, whatever views the window permits.

    For every n, s and σ the ratio to the worst case tends to 1 as T → ∞. The best σ for long runs,
    F/(ℓ√(1 + (2s + 1)(n − 1))), makes it √2 times `ssp_regret_optimised`, and ℓ²σ⌊n²/4⌋/2 more.

    Source: ours; steps: Ho, Cipar, Cui et al. 2013.
    """
    bound = radius**2 * sympy.sqrt(T) / step_scale + step_scale * lipschitz**2 * _pairs_at_most()
    return Statement(
        label="ssp_regret_decaying",
        title="Regret under bounded staleness, decaying steps",
        assumptions=(CONVEX, DIAMETER, NUMBERED, MOVES, IN_WINDOW, DECREASES),
        relation=sympy.Le(regret, bound, evaluate=False),
        domain=(),
        source="steps: Ho et al. 2013; bound and proof: ours",
        derivation=(
            *_first_steps(),
            Step(
                "update (k, j) is the first of s(n − 1) + n − j pairs at most: with iterations k + 1, …, k + s of the "
                "others, and with k of the workers after j; with 1/2 that is (1 + (2s + 1)(n − 1))/2 + (n + 1)/2 − j",
                _pairs_of_an_update,
            ),
            Step("Σ_{t≤T} 1/√t ≤ 2√T", _sum_of_steps),
            Step(
                "(n + 1)/2 − j has the other sign at n + 1 − j, and its positive values sum to ⌊n²/4⌋/2", _antisymmetric
            ),
            Step(
                "so in a round Σ_j ((n + 1)/2 − j)η_j ≤ (η_1 − η_n)⌊n²/4⌋/2, for η_j − η_(n+1−j) ≤ η_1 − η_n",
                _round_of_decreasing,
            ),
            Step("rounds follow one another: these differences sum to η_1 = σ at most", _rounds_follow),
            Step("a last round of r ≤ n workers has no later ones, and no larger numbers", _last_round),
            Step("F²/η_T and the cost of all pairs are the bound", lambda: _in_all() - bound, concludes=bound),
            Step("at the best σ the terms in √T are √2 times `ssp_regret_optimised`", _at_best_scale),
            Step(
                "gradients along a circle about x*, of which ‖x_{t+1} − x*‖ = ‖x_t − x*‖ leaves g_t(x_t − x*) = "
                "η_tℓ²/2, and then straight to x*, from T − m on, with views that lack all they may: over the bound "
                "that tends to 1 for m ∝ √T",
                lambda: _circling(bound),
                argued="that gradients of one window turn by less and less",
            ),
        ),
    )


def ssp_regret() -> Statement:
    """R ≤ 2Fℓ√(2(s + 1)nT) for the steps σ/√t, σ = F/(ℓ√(2(s + 1)n)): the published form with 2 for 4.

    No smaller number serves all n, s and T. For given n and s worst cases tend to 2 − (n + 2s)/(2(s + 1)n) times
    Fℓ√(2(s + 1)nT), see `ssp_regret_decaying`. Updates may be fewer: a worker may make none of some iterations. As we
    understand Ho et al. 2013, Theorem 1, they state 4Fℓ√(2(s + 1)nT) for these steps, so theirs follows. That a view
    misreads at most 2s(n − 1) updates, as we understand their proof to say, holds for s ≥ 1; with a barrier, which is
    s = 0, it misreads up to n − 1.

    Source: steps and form: Ho, Cipar, Cui et al. 2013; constant and proof: ours.
    """
    bound = published_bound(staleness + 1)
    return Statement(
        label="ssp_regret",
        title="Regret under bounded staleness, published step size",
        assumptions=(CONVEX, DIAMETER, NUMBERED, MOVES, IN_WINDOW, published_scale(staleness + 1)),
        relation=sympy.Le(regret, bound, evaluate=False),
        domain=(),
        source="steps and form: Ho et al. 2013; constant and proof: ours",
        derivation=(
            *_first_steps(),
            Step("an update is the first of (s + 1)(n − 1) pairs at most", _pairs_at_most_each),
            Step("Σ_{t≤T} 1/√t ≤ 2√T", _sum_of_steps),
            Step(
                "so the regret is at most F²√T/σ + σℓ²√T + 2σℓ²(s + 1)(n − 1)√T = qFℓ√(2κT), κ = (s + 1)n",
                _at_published,
            ),
            Step("q = 2 − (2s + 1)/(2κ) < 2", _terms_ratio_is_small),
            Step("hence 2Fℓ√(2κT)", lambda: _largest_share() * bound / 2 - bound, concludes=bound),
            Step(
                "`ssp_regret_decaying` at this σ tends to 2 − (n + 2s)/(2κ) times Fℓ√(2κT) as T → ∞, and this to 2",
                _least_constant,
            ),
            Step(
                "the square of `ssp_regret_optimised` over it is 1/4 at s = 0, and below 1/2, its limit", _square_shares
            ),
            Step("a view misreads up to 2s(n − 1) updates for s ≥ 1, and n − 1 for s = 0", _published_count),
        ),
    )


def published_scale(pending: sympy.Expr) -> Given:
    """σ = F/(ℓ√(2(s + 1)n)), for s + 1 as given."""
    scale = radius / (lipschitz * sympy.sqrt(2 * pending * n))
    return Given("step_scale", r"\sigma", "=", scale, words=rf"{DECREASES} with {{}}")


def published_bound(pending: sympy.Expr) -> sympy.Expr:
    """2Fℓ√(2(s + 1)nT), for s + 1 as given."""
    return 2 * radius * lipschitz * sympy.sqrt(2 * pending * n * T)


def _first_steps() -> tuple[Step, ...]:
    return (
        Step(ONE_STEP, one_step),
        Step("for decreasing η_t, the squares leave at most F²/η_T", _squares_leave_last_step),
        Step("|g_t g_l| ≤ ℓ²", cost_of_one_update),
        Step(
            "a pair l < t costs (aη_l − bη_t)g_t g_l ≤ η_lℓ², where a and b are 1 or 0: whether view t lacks l, and "
            "whether view l holds t",
            _cost_of_one_pair,
        ),
    )


def _squares_leave_last_step() -> sympy.Basic:
    # The room F²/η_T − Σ_t (D_t − D_{t+1})/η_t − D_{T+1}/η_T is ≥ 0 at T = 1, and 1/η_{T+1} = 1/η_T + growth.
    inverse, growth, short, after = sympy.symbols("inverse growth short after", nonnegative=True)
    now = radius**2 - short
    start = radius**2 * inverse - (now - after) * inverse - after * inverse
    term = (now - after) * (inverse + growth)
    later = radius**2 * (inverse + growth) - term - after * (inverse + growth)
    grows = later - (radius**2 * inverse - now * inverse)
    return decided(sympy.expand(start).is_nonnegative and sympy.expand(grows).is_nonnegative)


def _cost_of_one_pair() -> sympy.Basic:
    # η_l = η_t + more; the product is between −ℓ² and ℓ².
    first = _SMALLER + _MORE
    costs = [lacks * first - holds * _SMALLER for lacks in (0, 1) for holds in (0, 1)]
    return decided(all(sympy.expand(first - sign * cost).is_nonnegative for cost in costs for sign in (1, -1)))


def _pairs_of_an_update() -> sympy.Expr:
    """Pairs and 1/2, less the mean and what the place in the round adds."""
    counted = staleness * (n - 1) + n - WORKER
    return sympy.expand(counted + sympy.Rational(1, 2) - (delay_factor() / 2 + (n + 1) / 2 - WORKER))


def _sum_of_steps() -> sympy.Basic:
    # Both sides at one more update, in roots: old² + 1 = new².
    old, new = sympy.sqrt(T), sympy.sqrt(T + 1)
    differs = sympy.simplify(2 * new - 2 * old - 1 / new - (new - old) ** 2 / new)
    return decided(differs == 0 and (2 * old - 1).subs(T, 1).is_positive)


def _place(workers: sympy.Expr) -> sympy.Expr:
    return (workers + 1) / 2 - WORKER


def _antisymmetric() -> sympy.Basic:
    opposite = sympy.expand(_place(n) + _place(n).subs(WORKER, n + 1 - WORKER))
    even, odd = 2 * _HALF, 2 * _HALF + 1
    sums = [sympy.summation(_place(workers), (WORKER, 1, _HALF)) for workers in (even, odd)]
    stated = [sympy.floor(sympy.expand(workers**2 / 4)) / 2 for workers in (even, odd)]
    differences = [sympy.expand(found - value) for found, value in zip(sums, stated, strict=True)]
    return decided(opposite == 0 and differences == [0, 0])


def _round_of_decreasing() -> sympy.Basic:
    # η_1 = η_j + more, η_n = η_{n+1−j} − less.
    first, last = _LARGER + _MORE, _SMALLER - _LESS
    return decided(sympy.expand((first - last) - (_LARGER - _SMALLER)).is_nonnegative)


def _rounds_follow() -> sympy.Basic:
    # η_1 less the last step of a round bounds the differences; the next round starts at no larger a step.
    start, last, next_last = sympy.symbols("start last next_last", nonnegative=True)
    next_first = last - _LESS
    room = (start - next_last) - ((start - last) + (next_first - next_last))
    return decided(sympy.expand(room).is_nonnegative and sympy.expand(start - (start - last)).is_nonnegative)


def _last_round() -> sympy.Basic:
    # n = r + cut: pairs of update j of r are r − j, and (n² − r²)/4 ≥ 0.
    workers = sympy.Symbol("r", integer=True, positive=True)
    stated = delay_factor() / 2 + _place(workers)
    room = sympy.expand((stated - (sympy.Rational(1, 2) + workers - WORKER)).subs(n, workers + _CUT))
    at_least = room.subs(workers, 1 + _HALF)
    return decided(
        sympy.expand(at_least).is_nonnegative and sympy.expand((workers + _CUT) ** 2 - workers**2).is_nonnegative
    )


def _pairs_at_most() -> sympy.Expr:
    """What Σ_t (1/2 and the pairs of t)/√t is at most."""
    return delay_factor() * sympy.sqrt(T) + sympy.floor(n**2 / 4) / 2


def _in_all() -> sympy.Expr:
    last_step = step_scale / sympy.sqrt(T)
    mean = delay_factor() / 2 * (2 * sympy.sqrt(T))
    return radius**2 / last_step + step_scale * lipschitz**2 * (mean + sympy.floor(n**2 / 4) / 2)


def _at_best_scale() -> sympy.Expr:
    best = radius / (lipschitz * sympy.sqrt(delay_factor()))
    long_runs = radius**2 * sympy.sqrt(T) / best + best * lipschitz**2 * delay_factor() * sympy.sqrt(T)
    return sympy.simplify(with_positive_factor(long_runs - sympy.sqrt(2) * ssp_regret_optimised().bound))


def _circling(bound: sympy.Expr) -> sympy.Basic:
    # The steps T − m, …, T of length σℓ/√t lead the distance √2 F to x*: m of at least σℓ/√T each are enough.
    stretch = sympy.sqrt(2) * radius * sympy.sqrt(T) / (step_scale * lipschitz)
    before = T - stretch
    reached = radius**2 * sympy.sqrt(before) / step_scale
    reached += step_scale * lipschitz**2 * delay_factor() * (sympy.sqrt(before) - 1)
    ratio = sympy.simplify(with_positive_factor(reached / sympy.sqrt(T)))
    limit = sympy.limit(ratio, T, sympy.oo)
    stated = sympy.limit(with_positive_factor(sympy.expand(bound / sympy.sqrt(T))), T, sympy.oo)
    # On the circle the half square stays: 2η_t g_t(x_t − x*) = η_t²ℓ².
    distance, product, step = sympy.symbols("distance product eta", positive=True)
    (kept,) = sympy.solve(sympy.Eq(distance, distance - 2 * step * product + step**2 * lipschitz**2), product)
    return decided(sympy.simplify(limit - stated) == 0 and sympy.expand(kept - step * lipschitz**2 / 2) == 0)


def _pairs_at_most_each() -> sympy.Basic:
    position, after = sympy.symbols("position after", integer=True, nonnegative=True)
    counted = staleness * (n - 1) + after
    room = ((staleness + 1) * (n - 1) - counted).subs(n, position + 1 + after)
    return decided(sympy.expand(room).is_nonnegative)


def _terms_ratio() -> sympy.Expr:
    """q, the three terms over Fℓ√(2κT) at the published σ."""
    return 2 - (2 * staleness + 1) / (2 * (staleness + 1) * n)


def _at_published() -> sympy.Expr:
    scale = published_scale(staleness + 1).right
    terms = radius**2 / scale + scale * lipschitz**2 * (1 + 2 * (staleness + 1) * (n - 1))
    return sympy.simplify(terms - radius * lipschitz * sympy.sqrt(2 * (staleness + 1) * n) * _terms_ratio())


def _terms_ratio_is_small() -> sympy.Basic:
    return decided(sympy.factor(2 - _terms_ratio()).is_positive)


def _long_runs() -> sympy.Expr:
    """`ssp_regret_decaying` at the published σ over Fℓ√(2κT), for T → ∞."""
    scale = published_scale(staleness + 1).right
    terms = radius**2 / scale + scale * lipschitz**2 * delay_factor()
    return sympy.simplify(terms / (radius * lipschitz * sympy.sqrt(2 * (staleness + 1) * n)))


def _largest_share() -> sympy.Expr:
    return sympy.limit(sympy.limit(_terms_ratio(), n, sympy.oo), staleness, sympy.oo)


def _least_constant() -> sympy.Basic:
    stated = 2 - (n + 2 * staleness) / (2 * (staleness + 1) * n)
    limit = sympy.limit(sympy.limit(stated, n, sympy.oo), staleness, sympy.oo)
    return decided(sympy.simplify(_long_runs() - stated) == 0 and limit == 2)


def _square_shares() -> sympy.Basic:
    share = sympy.simplify((ssp_regret_optimised().bound / published_bound(staleness + 1)) ** 2)
    limit = sympy.limit(sympy.limit(share, n, sympy.oo), staleness, sympy.oo)
    room = sympy.factor(with_positive_factor(limit - share))
    return decided(
        sympy.simplify(share.subs(staleness, 0)) == sympy.Rational(1, 4)
        and limit == sympy.Rational(1, 2)
        and room.is_positive
    )


def _published_count() -> sympy.Basic:
    # Another worker's window has s iterations before k and s from k on; of those before i, iteration k is expected.
    more = sympy.Symbol("more", integer=True, nonnegative=True)
    loose = (WORKER - 1) * ((staleness + 1) + (staleness - 1)) + (n - WORKER) * 2 * staleness
    barrier = (WORKER - 1) * (staleness + 1) + (n - WORKER) * staleness
    return decided(
        sympy.expand((loose - 2 * staleness * (n - 1)).subs(staleness, more + 1)) == 0
        and barrier.subs({staleness: 0, WORKER: n}) == n - 1
    )


STATEMENTS = by_label(__name__, ssp_regret_decaying, ssp_regret)
"""The statements of this file."""
