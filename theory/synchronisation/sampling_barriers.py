"""What does a barrier see that looks at a few workers only? Passing, and the law of lags that follows from it.

Probabilistic synchronous parallel (PSP, Wang, Catterall and Mortier 2017): a worker that comes to the barrier looks at
β of the n − 1 others and waits if one of them lags. No gap is excluded for β < n − 1, only improbable. Sampling is
classical; the bounds on the lag's moments are ours.
"""

from itertools import combinations

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    T,
    lag_decay,
    lag_threshold,
    lag_weight,
    laggard_count,
    mean_lag,
    mean_square_lag,
    n,
    pass_probability,
    sample_count,
)

SAMPLED = (
    r"of the $n-1$ other workers $b$ lag too far behind",
    r"a worker looks at $\beta$ of the others, drawn uniformly without replacement whoever lags, and passes if none of "
    r"these does",
)
SAMPLE_DOMAIN = (
    sympy.Ge(n, 2),
    sympy.Le(laggard_count, n - 1),
    sympy.Le(sample_count, n - 1),
)
LAGS = (
    r"the lag $\gamma\le T$ is $j\le r$ with a probability proportional to $f(j)\ge 0$, $\sum_{j\le r}f(j)=F$",
    r"and $r+j$ with one proportional to $a^{j}$, for $j\ge 1$",
)
LAG_DOMAIN = (sympy.Lt(lag_decay, 1),)
LARGEST_ENUMERATED = 6
"""Number of other workers up to which the samples are also listed."""
DRAWN = sympy.Symbol("i", integer=True, nonnegative=True)
"""Number of workers looked at already."""


def psp_pass_probability() -> Statement:
    """A sample holds no laggard with probability C(n − 1 − b, β)/C(n − 1, β).

    β = 0 always passes (ASP); β = n − 1 passes iff nobody lags (BSP, or SSP with a staleness).

    Source: classical (hypergeometric); rule: Wang, Catterall and Mortier 2017.
    """
    bound = _passing(sample_count)
    return Statement(
        label="psp_pass_probability",
        title="Passing a barrier that samples workers",
        assumptions=SAMPLED,
        relation=sympy.Eq(pass_probability, bound),
        domain=SAMPLE_DOMAIN[1:],
        source="classical; rule: Wang, Catterall and Mortier 2017",
        derivation=(
            Step("C(n − 1, β) samples are alike, and C(n − 1 − b, β) hold no laggard", _counted, concludes=bound),
            Step("the same by drawing: none lags at i = 0", lambda: _passing(sympy.Integer(0)) - 1),
            Step(
                "and the next drawn is one of n − 1 − b − i among n − 1 − i",
                lambda: sympy.combsimp(_passing(DRAWN + 1) / _passing(DRAWN)) - _next_passes(DRAWN),
            ),
            Step(f"the samples are listed for n − 1 ≤ {LARGEST_ENUMERATED}", _listed),
        ),
    )


def psp_pass_bound() -> Statement:
    """The probability to pass is at most (1 − b/(n − 1))^β: every worker looked at makes it exponentially smaller.

    It is attained by β ≤ 1, by b = 0 and by b = n − 1.

    Source: classical.
    """
    bound = (1 - laggard_count / (n - 1)) ** sample_count
    return Statement(
        label="psp_pass_bound",
        title="Passing a barrier that samples workers, bounded",
        assumptions=SAMPLED,
        relation=sympy.Le(pass_probability, bound, evaluate=False),
        domain=SAMPLE_DOMAIN,
        source="classical",
        derivation=(
            Step("the i-th factor is (n − 1 − b − i)/(n − 1 − i)", _factors_of_passing),
            Step("1 − b/(n − 1) exceeds it by bi/((n − 1)(n − 1 − i)) ≥ 0", _sampling_helps),
            Step(
                "the product of β such factors is at most the bound",
                lambda: sympy.simplify(sympy.Product(_first_factor(), (DRAWN, 0, sample_count - 1)).doit() - bound),
                concludes=bound,
            ),
            Step("β = 1 attains it", lambda: sympy.combsimp(_passing(sympy.Integer(1))) - bound.subs(sample_count, 1)),
        ),
    )


def psp_lag_mean() -> Statement:
    """E γ ≤ r + a/((1 − a)(F(1 − a) + a)), whatever the law is up to r, and for every T.

    It is attained for T → ∞ by lags that are r or more. As we understand Wang, Catterall and Mortier 2017, they state
    S(r(r + 1)/2 + a(r + 2)/(1 − a)²) with the normaliser S of the same law, F ≤ 1, which is never less.

    Source: law: Wang, Catterall and Mortier 2017; bound ours.
    """
    bound = lag_threshold + _excess_moment(1)
    return Statement(
        label="psp_lag_mean",
        title="Mean lag, geometric beyond a threshold",
        assumptions=LAGS,
        relation=sympy.Le(mean_lag, bound, evaluate=False),
        domain=LAG_DOMAIN,
        source="law: Wang, Catterall and Mortier 2017; bound ours",
        derivation=(
            Step("the weights sum to F + (a − a^{T−r+1})/(1 − a) for T < ∞", _normaliser),
            Step("to F + a/(1 − a) for T → ∞", _limit_of_weights),
            Step("smaller T removes the largest lags: the mean of γ^q does not grow", _truncation_lowers),
            Step("γ ≤ max(γ, r) = r + max(γ − r, 0)", _lags_below_threshold),
            Step(
                "Σ_j j a^j over the weights is the rest",
                lambda: lag_threshold + _tail_sum(1) / _weights() - bound,
                concludes=bound,
            ),
            Step("f = F at r attains it", lambda: _concentrated(1) - bound),
            Step(
                "F ≤ 1: r(r + 1)/2 + a(r + 2)/(1 − a)² exceeds the bound times the weights for r = 0 and r ≥ 1",
                _published_mean,
            ),
        ),
    )


def psp_lag_second_moment() -> Statement:
    """E γ² ≤ r² + (2ra + a(1 + a)/(1 − a))/((1 − a)(F(1 − a) + a)), whatever the law is up to r, and for every T.

    It is attained for T → ∞ by lags that are r or more. As we understand Wang, Catterall and Mortier 2017, they state
    S(r(r + 1)(2r + 1)/6 + a(r² + 4)/(1 − a)³). Its last term alone is less than the tail's part Σ_j (r + j)² a^j for
    r ≥ 2 and small a; the first one makes up for it.

    Source: law: Wang, Catterall and Mortier 2017; bound ours.
    """
    bound = lag_threshold**2 + 2 * lag_threshold * _excess_moment(1) + _excess_moment(2)
    return Statement(
        label="psp_lag_second_moment",
        title="Second moment of a lag, geometric beyond a threshold",
        assumptions=LAGS,
        relation=sympy.Le(mean_square_lag, bound, evaluate=False),
        domain=LAG_DOMAIN,
        source="law: Wang, Catterall and Mortier 2017; bound ours",
        derivation=(
            Step("the weights sum to F + a/(1 − a) for T → ∞", _limit_of_weights),
            Step("smaller T removes the largest lags: the mean of γ^q does not grow", _truncation_lowers),
            Step("γ² ≤ r² + 2ry + y² for y = max(γ − r, 0), whether γ ≤ r or not", _squares_below_threshold),
            Step(
                "2rΣ_j j a^j + Σ_j j² a^j over the weights is the rest",
                lambda: lag_threshold**2 + (2 * lag_threshold * _tail_sum(1) + _tail_sum(2)) / _weights() - bound,
                concludes=bound,
            ),
            Step("f = F at r attains it", lambda: _concentrated(2) - bound),
            Step("Σ_j (r + j)² a^j − a(r² + 4)/(1 − a)³ is a(2r − 3) + O(a²)", _published_tail),
        ),
    )


def _passing(looked_at: sympy.Expr) -> sympy.Expr:
    return sympy.binomial(n - 1 - laggard_count, looked_at) / sympy.binomial(n - 1, looked_at)


def _next_passes(looked_at: sympy.Expr) -> sympy.Expr:
    """Probability that the next worker drawn does not lag, if none before did."""
    return (n - 1 - laggard_count - looked_at) / (n - 1 - looked_at)


def _counted() -> sympy.Expr:
    # Each sample is β! of the orders in which β can be drawn.
    orders = sympy.ff(n - 1 - laggard_count, sample_count), sympy.ff(n - 1, sample_count)
    samples = [drawn / sympy.factorial(sample_count) for drawn in orders]
    return sympy.combsimp(samples[0] / samples[1] / _passing(sample_count)) - 1


def _listed() -> sympy.Basic:
    sizes = (
        (others, lagging, looked_at)
        for others in range(1, LARGEST_ENUMERATED + 1)
        for lagging in range(others + 1)
        for looked_at in range(others + 1)
    )
    return decided(all(_share_without_laggard(*size) == _at(*size) for size in sizes))


def _share_without_laggard(others: int, lagging: int, looked_at: int) -> sympy.Expr:
    samples = list(combinations(range(others), looked_at))
    return sympy.Rational(sum(all(worker >= lagging for worker in sample) for sample in samples), len(samples))


def _at(others: int, lagging: int, looked_at: int) -> sympy.Expr:
    return _passing(sample_count).subs({n: others + 1, laggard_count: lagging, sample_count: looked_at})


def _first_factor() -> sympy.Expr:
    return _next_passes(sympy.Integer(0))


def _factors_of_passing() -> sympy.Expr:
    return sympy.combsimp(_passing(DRAWN + 1) / _passing(DRAWN)) - _next_passes(DRAWN)


def _sampling_helps() -> sympy.Basic:
    excess = _first_factor() - _next_passes(DRAWN)
    stated = laggard_count * DRAWN / ((n - 1) * (n - 1 - DRAWN))
    more = sympy.Symbol("more", integer=True, positive=True)
    # The i-th is drawn while i < n − 1 remain.
    decided_sign = sympy.factor(stated.subs(n, DRAWN + 1 + more)).is_nonnegative
    return decided(sympy.simplify(excess - stated) == 0 and decided_sign)


def _weights() -> sympy.Expr:
    """Sum of all weights for T → ∞."""
    return lag_weight + lag_decay / (1 - lag_decay)


def _excess_moment(power: int) -> sympy.Expr:
    """Σ_j j^q a^j over the sum of all weights: E max(γ − r, 0)^q for T → ∞, in the form that is stated."""
    numerator = {1: lag_decay, 2: lag_decay * (1 + lag_decay) / (1 - lag_decay)}[power]
    return numerator / ((1 - lag_decay) * (lag_weight * (1 - lag_decay) + lag_decay))


def _tail_sum(power: int) -> sympy.Expr:
    """Σ_{j≥1} j^q a^j by differentiating the geometric series."""
    series = lag_decay / (1 - lag_decay)
    for _ in range(power):
        series = lag_decay * sympy.diff(series, lag_decay)
    return series


def _normaliser() -> sympy.Basic:
    # A partial sum of the geometric series is decided by its first term and its last.
    length = sympy.Symbol("length", integer=True, positive=True)

    def closed(terms: sympy.Expr) -> sympy.Expr:
        return (lag_decay - lag_decay ** (terms + 1)) / (1 - lag_decay)

    grows = sympy.simplify(closed(length + 1) - closed(length) - lag_decay ** (length + 1))
    published = (1 - lag_decay) / (lag_weight * (1 - lag_decay) + lag_decay - lag_decay ** (T - lag_threshold + 1))
    differs = sympy.simplify(1 / published - (lag_weight + closed(T - lag_threshold)))
    return decided(sympy.simplify(closed(sympy.Integer(1)) - lag_decay) == 0 and grows == 0 and differs == 0)


def _limit_of_weights() -> sympy.Expr:
    odds, length = sympy.Symbol("odds", positive=True), sympy.Symbol("length", integer=True, positive=True)
    # a = 1/(1 + y) with y > 0.
    decay = 1 / (1 + odds)
    partial = lag_weight + (decay - decay ** (length + 1)) / (1 - decay)
    return sympy.simplify(sympy.limit(partial, length, sympy.oo) - _weights().subs(lag_decay, decay))


def _truncation_lowers() -> sympy.Basic:
    # Every lag kept is at most T, every lag removed more: their means lie on either side of T, and of its powers.
    limit, low, high, removed = sympy.symbols("limit low high removed", nonnegative=True)
    kept, mean_kept = sympy.Symbol("kept", positive=True), limit - low
    all_lags = (kept * mean_kept + removed * (limit + high)) / (kept + removed)
    return decided(sympy.factor(all_lags - mean_kept).is_nonnegative)


def _lags_below_threshold() -> sympy.Basic:
    lag = sympy.Symbol("lag", nonnegative=True)
    larger = sympy.Max(lag, lag_threshold)
    differs = larger.rewrite(sympy.Abs) - (lag_threshold + sympy.Max(lag - lag_threshold, 0)).rewrite(sympy.Abs)
    return decided(sympy.Max(larger, lag) == larger and sympy.simplify(sympy.expand(differs)) == 0)


def _squares_below_threshold() -> sympy.Basic:
    lag, short, excess = sympy.symbols("lag short excess", nonnegative=True)

    def stated(threshold: sympy.Expr, beyond: sympy.Expr) -> sympy.Expr:
        return threshold**2 + 2 * threshold * beyond + beyond**2

    shorter = stated(lag + short, sympy.Integer(0)) - lag**2
    longer = stated(lag_threshold, excess) - (lag_threshold + excess) ** 2
    return decided(sympy.expand(shorter).is_nonnegative and sympy.expand(longer) == 0)


def _concentrated(power: int) -> sympy.Expr:
    """E γ^q where the weight F lies at r, for T → ∞; Σ_j j^q a^j = a Σ_{j≥0} (j + 1)^q a^j gives the sums in turn."""
    sums: list[sympy.Expr] = []
    for degree in range(power + 1):
        unknown = sympy.Symbol("unknown")
        known = sympy.Add(*(sympy.binomial(degree, lower) * value for lower, value in enumerate(sums)))
        sums.append(sympy.solve(sympy.Eq(unknown, lag_decay * (1 + known + unknown)), unknown)[0])
    powers = (sympy.binomial(power, q) * lag_threshold ** (power - q) * value for q, value in enumerate(sums))
    return sympy.cancel((lag_threshold**power * lag_weight + sympy.Add(*powers)) / _weights())


def _published_mean() -> sympy.Basic:
    first = lag_threshold * (lag_threshold + 1) / 2
    excess = first + lag_decay * (lag_threshold + 2) / (1 - lag_decay) ** 2
    ours = _weights() * (lag_threshold + _excess_moment(1))
    lower, odds, room = sympy.symbols("lower odds room", nonnegative=True)
    values = {lag_decay: 1 / (1 + odds), lag_weight: 1 / (1 + room)}
    at_least_one = (excess - ours).subs(lag_threshold, 1 + lower).subs(values)
    at_zero = (excess - ours).subs(lag_threshold, 0).subs(values)
    return decided(all(_nonnegative_quotient(value) for value in (at_least_one, at_zero)))


def _nonnegative_quotient(expression: sympy.Expr) -> bool:
    return all(sympy.expand(part).is_nonnegative for part in sympy.fraction(sympy.cancel(expression)))


def _published_tail() -> sympy.Expr:
    tail = lag_threshold**2 * _tail_sum(0) + 2 * lag_threshold * _tail_sum(1) + _tail_sum(2)
    differs = tail - lag_decay * (lag_threshold**2 + 4) / (1 - lag_decay) ** 3
    return sympy.limit(sympy.cancel(differs / lag_decay), lag_decay, 0) - (2 * lag_threshold - 3)


STATEMENTS = by_label(__name__, psp_pass_probability, psp_pass_bound, psp_lag_mean, psp_lag_second_moment)
"""The statements of this file."""
