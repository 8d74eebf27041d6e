"""Which density reaches a tolerance soonest, and what does a switch of modes save? Steps times seconds of a step.

Sparser steps are shorter, but there are more of them: error feedback needs as many as its contraction δ asks for. A
step takes a + bκ seconds with a sparse all-gather, of which bκ are entries that travel; a ring that sends every entry
without indices takes a + b/n where an index has as many bytes as a value. All of it is ours; the rate of error
feedback is that of Thomsen, Taylor and Dieuleveut 2025.
"""

import sympy

from sparsync.theory.cost.rate_exponents import (
    ends_of_exponent,
    exponent_is_convex,
    largest_exponent,
    root_grows,
    root_of_rate,
    slope_of_exponent,
)
from sparsync.theory.delay.stability import decided
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    L,
    asynchronous_seconds,
    delta,
    dense_seconds,
    entry_gain,
    fixed_seconds,
    kappa,
    later_updates,
    least_run_seconds,
    lyapunov_factor,
    mu,
    n,
    restart_seconds,
    run_seconds,
    saved_seconds,
    sparse_crossover,
    synchronous_seconds,
    tolerance,
    whole_steps,
)

STEP = Given(
    "step_seconds",
    r"\text{seconds of a step}",
    "=",
    fixed_seconds + dense_seconds * kappa,
    words=r"{}, $\kappa\leq1$ the density",
)
LINEAR = Given(
    "contraction",
    r"\delta",
    "=",
    entry_gain * kappa,
    words=r"error feedback contracts with {}, and $\delta\leq1$ as ever",
)
SATURATING = Given(
    "contraction",
    r"\delta",
    "=",
    entry_gain * kappa / (1 + (entry_gain - 1) * kappa),
    words="error feedback contracts with {}",
)
STEPS = Given("step_count", r"\text{steps}", "=", whole_steps / delta)
RING = Given(
    "ring_seconds",
    r"\text{seconds of the ring}",
    "=",
    whole_steps * (fixed_seconds + dense_seconds / n),
    words="{}, for $n$ workers",
)

_SHARE, _ABOVE, _MORE = sympy.symbols("share above more", positive=True)


def linear_gain_seconds() -> Statement:
    """Where δ = cκ no density is sooner than the largest, κ = 1/c: sparser steps save less than they cost.

    It holds for the tight rate itself (`ef_tight_rate`) and whatever the link is, for −ln ρ is convex in δ, and 0 at 0.
    It is attained at κ = 1/c, where c ≥ 1. That seconds fall up to κ = 1/c stays true where some of the exchange hides,
    no longer than a step takes without it.

    Source: ours; the rate is that of Thomsen, Taylor and Dieuleveut 2025.
    """
    bound = (
        (fixed_seconds + dense_seconds / entry_gain) * sympy.log(1 / tolerance) / (2 * sympy.log((L + mu) / (L - mu)))
    )
    return Statement(
        label="linear_gain_seconds",
        title="Seconds to a tolerance where the contraction is linear in the density",
        assumptions=(
            STEP,
            LINEAR,
            Given(
                "step_count",
                r"\text{steps}",
                "=",
                sympy.log(tolerance) / sympy.log(lyapunov_factor),
                words=r"{}, whole or not, by error feedback's tight rate for $L$-smooth, $\mu$-strongly convex $f_i$",
            ),
        ),
        relation=sympy.Ge(run_seconds, bound, evaluate=False),
        domain=(sympy.Lt(mu, L), sympy.Lt(tolerance, 1)),
        source="ours; rate: Thomsen, Taylor and Dieuleveut 2025",
        derivation=(
            Step("θ² = (1 − s)rθ + s has s = θ(θ − r)/(1 − rθ)", root_of_rate),
            Step("for 0 < r < θ < 1 s grows with θ, from 0 at θ = r to 1 at θ = 1", root_grows),
            Step("with δ = 1 − s², d(−2 ln θ)/dδ = 1/(θ s ds/dθ)", slope_of_exponent),
            Step("for 0 < r < θ < 1 this slope grows with δ: −ln ρ is convex in δ", exponent_is_convex),
            Step(
                "it is 0 at δ = 0 and f = 2 ln((L + μ)/(L − μ)) at δ = 1, so at most δf between",
                ends_of_exponent,
            ),
            Step("(xf′ − f)′ = xf″ ≥ 0: f/x does not fall", _quotient_grows),
            Step("(a + bκ)/(cκ) = a/(cκ) + b/c falls with κ, to a + b/c at cκ = 1", _step_by_gain),
            Step("where h ≤ a is hidden, a/(cκ) and (a − h + bκ)/(cκ) do not grow either", _hidden_too),
            Step(
                "so there are ln(1/tol)/f steps or more of which each costs a + b/c",
                lambda: _per_gain(1 / entry_gain) * sympy.log(1 / tolerance) / largest_exponent() - bound,
                concludes=bound,
            ),
        ),
    )


def best_density() -> Statement:
    """The least of N(a + bκ)/δ is N(√b + √((c − 1)a))²/c, at κ = √(a/((c − 1)b)).

    Where a > (c − 1)b, that density is above 1, or c ≤ 1; seconds fall up to κ = 1, and N(a + b) is the least. With N
    its steps at δ = 1, the tight rate asks for no fewer than N/δ (see `linear_gain_seconds`), so no run is sooner.
    c = 3 is that of persistent gradients (`steady_drift`), 6 that of noise (`steady_noise`).

    Source: ours.
    """
    bound = whole_steps * (sympy.sqrt(dense_seconds) + sympy.sqrt((entry_gain - 1) * fixed_seconds)) ** 2 / entry_gain
    return Statement(
        label="best_density",
        title="Seconds to a tolerance at the best density",
        assumptions=(STEP, SATURATING, STEPS),
        relation=sympy.Eq(least_run_seconds, bound),
        domain=(sympy.Le(fixed_seconds, (entry_gain - 1) * dense_seconds),),
        source="ours",
        derivation=(
            Step("N(a + bκ)/δ = (N/c)(a/κ + (c − 1)bκ + b + (c − 1)a)", _spread_out),
            Step("its second derivative is positive, its first vanishes at κ* = √(a/((c − 1)b))", _one_minimum),
            Step("κ* ≤ 1 where a ≤ (c − 1)b, so that c > 1", _within_one),
            Step(
                "there it is the bound",
                lambda: _at_best(bound),
                concludes=bound,
            ),
            Step("where a > (c − 1)b the slope is negative for κ ≤ 1", _boundary),
        ),
    )


def sparse_overtakes_ring() -> Statement:
    """The best density is sooner than the ring iff b/a exceeds this: with δ/κ → c ≤ n it never is, on any link.

    It never is by the tight rate either, which asks for N/δ steps or more.

    Source: ours.
    """
    bound = (n * (sympy.sqrt(entry_gain - 1) + sympy.sqrt(entry_gain * (n - 1) / n)) / (entry_gain - n)) ** 2
    return Statement(
        label="sparse_overtakes_ring",
        title="Link at which the best density overtakes the ring that sends everything",
        assumptions=(STEP, SATURATING, STEPS, RING),
        relation=sympy.Eq(sparse_crossover, bound),
        domain=(sympy.Gt(entry_gain, n),),
        source="ours",
        derivation=(
            Step("with b = ax² the bounds differ by Na times (1/c − 1/n)x² + 2√(c − 1)x/c − 1/c", _difference),
            Step(
                "for c > n its square has the coefficient (n − c)/(cn) < 0: it is negative beyond the larger root",
                _turns_down,
            ),
            Step("which is n(√(c − 1) + √(c(n − 1)/n))/(c − n)", _larger_root),
            Step("b/a is its square", lambda: _root_of_link() ** 2 - bound, concludes=bound),
            Step(
                "at κ* = 1, x² = 1/(c − 1), the difference is not negative, and 0 for one worker alone, whose larger "
                "root that is: the smaller root is not reached",
                _at_boundary,
            ),
            Step("for 1 < c ≤ n and x² > 1/(c − 1) it is positive throughout", _never),
            Step("for smaller x, and c ≤ 1, every entry is sent: a + b ≥ a + b/n", _all_are_sent),
        ),
    )


def switch_saving() -> Statement:
    """(s − r)h − o: each of the h updates after the switch saves s − r, and the switch costs o.

    So the earliest switch that is safe is the best one, or none where (s − r)h ≤ o; and of two orders that one saves
    more which lets more updates be asynchronous.

    Source: ours.
    """
    bound = (synchronous_seconds - asynchronous_seconds) * later_updates - restart_seconds
    return Statement(
        label="switch_saving",
        title="Seconds that a switch from synchronous to asynchronous saves",
        assumptions=(
            r"an update adds a report of each of $n$ workers: in $s$ seconds at a barrier, in $r$ without",
            "the last $h$ updates, or the first, wait for nobody; to change modes once takes $o$ seconds",
        ),
        relation=sympy.Eq(saved_seconds, bound),
        domain=(),
        source="ours",
        derivation=(
            Step("of T updates at a barrier h are replaced", lambda: sympy.expand(_saved() - bound), concludes=bound),
            Step("in each order the same", lambda: _saved() - _saved(is_reversed=True)),
            Step("one update more saves s − r more", _one_more),
        ),
        kind="definition",
    )


def _quotient_grows() -> sympy.Expr:
    place = sympy.Symbol("x", positive=True)
    function = sympy.Function("f")(place)
    numerator = place * sympy.diff(function, place) - function
    return sympy.expand(sympy.diff(numerator, place) - place * sympy.diff(function, place, 2))


def _per_gain(density: sympy.Expr) -> sympy.Expr:
    """Seconds of a step over its contraction."""
    return (fixed_seconds + dense_seconds * density) / (entry_gain * density)


def _step_by_gain() -> sympy.Basic:
    falls = sympy.factor(sympy.diff(_per_gain(kappa), kappa)).is_negative
    differs = sympy.cancel(_per_gain(1 / entry_gain) - (fixed_seconds + dense_seconds / entry_gain))
    return decided(falls and differs == 0)


def _hidden_too() -> sympy.Basic:
    hidden, rest = sympy.symbols("h rest", nonnegative=True)
    exposed = _per_gain(kappa) - hidden / (entry_gain * kappa)
    slopes = [
        sympy.factor(sympy.diff(seconds.subs(fixed_seconds, hidden + rest), kappa))
        for seconds in (fixed_seconds / (entry_gain * kappa), exposed)
    ]
    return decided(all(slope.is_nonpositive for slope in slopes))


def _seconds_at(density: sympy.Expr) -> sympy.Expr:
    return (STEPS.right.subs(delta, SATURATING.right) * STEP.right).subs(kappa, density)


def _best() -> sympy.Expr:
    return sympy.sqrt(fixed_seconds / ((entry_gain - 1) * dense_seconds))


def _spread_out() -> sympy.Expr:
    terms = (
        fixed_seconds / kappa
        + (entry_gain - 1) * dense_seconds * kappa
        + dense_seconds
        + (entry_gain - 1) * fixed_seconds
    )
    return sympy.cancel(_seconds_at(kappa) - whole_steps * terms / entry_gain)


def _above_one(expression: sympy.Expr) -> sympy.Expr:
    """With c = 1 + x, x > 0."""
    return sympy.factor(expression.subs(entry_gain, 1 + _SHARE))


def _one_minimum() -> sympy.Basic:
    slope = sympy.diff(_seconds_at(kappa), kappa)
    # a = (c − 1)by² is every a, and κ* is y.
    square = {fixed_seconds: _SHARE * dense_seconds * _ABOVE**2}
    is_found = sympy.simplify(_best().subs(entry_gain, 1 + _SHARE).subs(square) - _ABOVE) == 0
    at_best = sympy.cancel(slope.subs(entry_gain, 1 + _SHARE).subs(square).subs(kappa, _ABOVE))
    return decided(is_found and at_best == 0 and _above_one(sympy.diff(slope, kappa)).is_positive)


def _within_one() -> sympy.Basic:
    square = _best() ** 2
    # (c − 1)b = a + more.
    return decided(sympy.factor(1 - square.subs(dense_seconds, (fixed_seconds + _MORE) / (entry_gain - 1))).is_positive)


def _at_best(bound: sympy.Expr) -> sympy.Expr:
    # c − 1 = x², a = y² and b = z² make everything rational.
    root = sympy.Symbol("z", positive=True)
    squares = {entry_gain: 1 + _SHARE**2, fixed_seconds: _ABOVE**2, dense_seconds: root**2}
    return sympy.cancel(_seconds_at(_best()).subs(squares) - bound.subs(squares))


def _boundary() -> sympy.Basic:
    # κ = 1/(1 + x); a = (c − 1)b and more for c = 1 + y, any a for c = 1/(1 + y).
    share, first = sympy.symbols("x y", nonnegative=True)
    slope = sympy.diff(_seconds_at(kappa), kappa).subs(kappa, 1 / (1 + share))
    above = slope.subs({entry_gain: 1 + first, fixed_seconds: first * dense_seconds + _MORE}, simultaneous=True)
    return decided(all(sympy.factor(case).is_negative for case in (above, slope.subs(entry_gain, 1 / (1 + first)))))


def _over_ring(root: sympy.Expr) -> sympy.Expr:
    """How much longer the best density takes than the ring, in units of Na, at b = ax²."""
    return (1 / entry_gain - 1 / n) * root**2 + 2 * sympy.sqrt(entry_gain - 1) * root / entry_gain - 1 / entry_gain


def _difference() -> sympy.Expr:
    root = sympy.Symbol("x", positive=True)
    link = {dense_seconds: fixed_seconds * root**2}
    sparse = best_density().bound - RING.right
    stated = whole_steps * fixed_seconds * _over_ring(root)
    return sympy.expand(sympy.expand(sparse.subs(link)) - sympy.expand(stated))


def _turns_down() -> sympy.Basic:
    leading = sympy.diff(_over_ring(_ABOVE), _ABOVE, 2) / 2
    return decided(sympy.factor(leading.subs(entry_gain, n + _MORE)).is_negative)


def _root_of_link() -> sympy.Expr:
    """√(b/a) where the best density takes as long as the ring."""
    radicals = sympy.sqrt(entry_gain - 1) + sympy.sqrt(entry_gain * (n - 1) / n)
    return n * radicals / (entry_gain - n)


def _larger_root() -> sympy.Basic:
    # z² = c − 1 and y² = c(n − 1)/n.
    first, second, place = sympy.symbols("z y x", positive=True)
    root = n * (first + second) / (entry_gain - n)
    over = (1 / entry_gain - 1 / n) * place**2 + 2 * first * place / entry_gain - 1 / entry_gain
    is_stated = sympy.expand(over.subs(first, sympy.sqrt(entry_gain - 1)) - _over_ring(place)) == 0
    value = sympy.expand(over.subs(place, root)).subs({first**2: entry_gain - 1, second**2: entry_gain * (n - 1) / n})
    slope = sympy.cancel(sympy.diff(over, place).subs(place, root))
    return decided(is_stated and sympy.cancel(value) == 0 and slope.is_nonpositive)


def _at_boundary() -> sympy.Basic:
    value = _over_ring(1 / sympy.sqrt(entry_gain - 1)).subs({entry_gain: 1 + _SHARE})
    more = sympy.Symbol("workers", positive=True)
    alone = sympy.simplify(_root_of_link().subs(n, 1).subs(entry_gain, 1 + _SHARE) - 1 / sympy.sqrt(_SHARE))
    return decided(
        sympy.factor(value.subs(n, 1 + more)).is_positive and sympy.factor(value.subs(n, 1)) == 0 and alone == 0
    )


def _never() -> sympy.Basic:
    # n = c + rest, x = (1 + y)/√(c − 1), c = 1 + z².
    rest = sympy.Symbol("rest", nonnegative=True)
    square_root = sympy.Symbol("z", positive=True)
    value = _over_ring((1 + _ABOVE) / square_root).subs(n, entry_gain + rest).subs(entry_gain, 1 + square_root**2)
    return decided(sympy.factor(value).is_positive)


def _all_are_sent() -> sympy.Basic:
    more = sympy.Symbol("workers", nonnegative=True)
    whole = _seconds_at(sympy.Integer(1)) - RING.right
    return decided(sympy.factor(whole.subs(n, 1 + more)).is_nonnegative)


def _saved(*, is_reversed: bool = False) -> sympy.Expr:
    """Of T = q + h updates all at a barrier, less those where h wait for nobody."""
    earlier = sympy.Symbol("q", integer=True, nonnegative=True)
    modes = [(earlier, synchronous_seconds), (later_updates, asynchronous_seconds)]
    switched = sympy.Add(*(count * seconds for count, seconds in (reversed(modes) if is_reversed else modes)))
    return sympy.expand((earlier + later_updates) * synchronous_seconds - switched - restart_seconds)


def _one_more() -> sympy.Expr:
    more = _saved().subs(later_updates, later_updates + 1)
    return sympy.expand(more - _saved() - (synchronous_seconds - asynchronous_seconds))


STATEMENTS = by_label(__name__, linear_gain_seconds, best_density, sparse_overtakes_ring, switch_saving)
"""The statements of this file."""
