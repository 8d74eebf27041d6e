"""How long does a butterfly all-reduce of unequal peers take at best, and what does it save where less is sent?

Peer i averages the share w_i of a vector for all n: it sends the rest of its own, and its share of the mean to each
other peer. The setting is that of DeDLOC (Diskin et al. 2021), which was not read; the laws here are ours. One vector
takes 1/b_i on the link of peer i, each way at once.
"""

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    averager_count,
    butterfly_seconds,
    d,
    entry_cost,
    exchange_factor,
    gradient_share,
    kappa,
    largest_bandwidth,
    least_bandwidth,
    mean_share,
    n,
    scattered_seconds,
    total_bandwidth,
    whole_seconds,
)

BUTTERFLY = (
    r"$n$ peers have vectors of length 1, and peer $i\leq m$ averages the share $w_i\geq0$, $\sum_iw_i=1$",
    r"it sends what others average, and its mean to $n-1$ others, at $b_i$; it receives at $b_i$ meanwhile",
    "the links of the other $n-m$ peers, who are clients, are not counted",
)
SPARSE = (
    r"$n$ peers average the shares $w_i\geq0$ of a vector, $\sum_iw_i=1$",
    r"a gradient travels as $\alpha$, and the mean as $\beta$ of a whole vector, evenly over the shares",
    r"peer $i$ sends $\alpha(1-w_i)+(n-1)\beta w_i$ and receives $\beta(1-w_i)+(n-1)\alpha w_i$, each way at $b_i$",
    r"the longer of both takes it $t_i$",
)

_PLACE = sympy.Symbol("i", integer=True, positive=True)
_BANDWIDTH, _SHARE = sympy.IndexedBase("b", positive=True), sympy.IndexedBase("w", nonnegative=True)
_MORE, _REST, _EXTRA = sympy.symbols("more rest extra", nonnegative=True)
_ONE_SHARE, _RATE = sympy.Symbol("w", nonnegative=True), sympy.Symbol("r", positive=True)
_LEVEL, _ONE_BANDWIDTH = sympy.symbols("xi b", positive=True)
_WHOLE = {gradient_share: 1, mean_share: 1}


def butterfly_time() -> Statement:
    """max((n + m − 2)/Σ b_i, 1/min b_i): the first where w_i = (ξb_i − 1)/(n − 2) ≥ 0 for all, the second otherwise.

    Where all average ξ = 2(n − 1)/Σ b_i, for equal peers the cost 2(n − 1)/(nb) of a ring; one peer that is much faster
    than the others averages all, as a parameter server. To average parts at several peers gains nothing.

    Source: ours; in part it is the shipped rule of hivemind, as described to us.
    """
    bound = sympy.Max((n + averager_count - 2) / total_bandwidth, 1 / least_bandwidth)
    return Statement(
        label="butterfly_time",
        title="Butterfly of unequal peers",
        assumptions=BUTTERFLY,
        relation=sympy.Eq(butterfly_seconds, bound),
        domain=(
            sympy.Ge(n, 2),
            sympy.Le(averager_count, n),
            sympy.Le(averager_count * least_bandwidth, total_bandwidth),
        ),
        source="ours; the setting is that of Diskin et al. 2021",
        derivation=(
            Step(
                "a peer that averages w sends and receives 1 + (n − 2)w, so 1 or more: none is done before 1/b_i",
                _loads,
            ),
            Step("m peers send n + m − 2 in all, and no more than tΣ b_i by t", _all_loads),
            Step("at the later of both times 1 + (n − 2)w_i ≤ tb_i leaves room for shares of 1 or more", _room),
            Step(
                "so the later of both is the least",
                lambda: sympy.Max(_time_of_all(), 1 / least_bandwidth) - bound,
                concludes=bound,
            ),
            Step("where all average, ξ = 2(n − 1)/Σ b_i; for equal peers 2(n − 1)/(nb) ≥ 1/b", _ring),
            Step(
                "if peer i averages q_i and S = Σ q_i ≥ r, so that all receive r, peers send (m − 1)S + nr − Σ g_ii or "
                "more, g_ii ≤ q_i being for themselves: not less than (n + m − 2)r",
                _copies,
                argued="that this is what is sent",
            ),
            Step(
                "each sends S − q_i of its own, and at least r − (S − q_i) to each of n − 1 others: not less than r",
                _own_copies,
                argued="that means of the others are S − q_i at most",
            ),
        ),
    )


def hagenbach_time() -> Statement:
    """ξd + (m − 1)(ξ − 1/max b_i) or less, ξd being the time of parts of values: of whole ones, those of the rule of
    Hagenbach-Bischoff take that much more at most, and equal peers with one value do.

    The parts that `greedy_split` gives take (m − 1)(n − 2)/Σ b_i more or less (`greedy_split_time`), which is the same
    for equal peers.

    Source: ours; the rule is classical.
    """
    level = (n + averager_count - 2) / total_bandwidth
    bound = level * d + (averager_count - 1) * (level - 1 / largest_bandwidth)
    return Statement(
        label="hagenbach_time",
        title="Butterfly with parts by the rule of Hagenbach-Bischoff",
        assumptions=(
            *BUTTERFLY,
            Given("level", r"\xi", "=", level, words=r"$w_i=(\xi b_i-1)/(n-2)>0$ for all $m$ who average, with {}"),
            r"$d$ values are shared as $\sum_id_i=d$, one after another where $\frac{w_i}{d_i+1}$ is largest",
        ),
        relation=sympy.Le(whole_seconds, bound, evaluate=False),
        domain=(
            sympy.Ge(n, 3),
            sympy.Le(averager_count, n),
            sympy.Ge(averager_count * largest_bandwidth, total_bandwidth),
        ),
        source="ours; the rule is classical",
        derivation=(
            Step(
                "when i got its last value no other had w_j/(d_j + 1) above w_i/d_i: d_j + 1 ≥ w_j d_i/w_i, in sum "
                "over all j ≠ i: d + m − 1 ≥ d_i/w_i",
                _quota,
                argued="that no d_j falls afterwards",
            ),
            Step("(d + (n − 2)d_i)/b_i is ξ(d + m − 1) − (m − 1)/b_i then, or less", _whole_load),
            Step("and that is most for the largest b_i", _most_for_largest),
            Step(
                "with that ξ the shares sum to 1",
                lambda: sympy.simplify(_whole_time(_level_of_all(), largest_bandwidth) - bound),
                concludes=bound,
            ),
            Step(
                "n equal peers take n − 1 of the time 1/b for one value, and the bound is that",
                lambda: _one_value(bound),
            ),
        ),
    )


def scattered_butterfly_time() -> Statement:
    """(n − 1)(α + β)/(n min b_i), by equal shares, however fast the others are: gradients have little in common.

    A peer that averages more receives more of gradients, and less of the mean. Of whole vectors the first is more, so
    that the slowest peer should average least; here the second is, and it should average as much as all. At equal
    bandwidths equal shares are best in any case.

    Source: ours.
    """
    bound = (n - 1) * (gradient_share + mean_share) / (n * least_bandwidth)
    return Statement(
        label="scattered_butterfly_time",
        title="Butterfly of gradients that have little in common",
        assumptions=(
            *SPARSE,
            Given("mean", r"\beta", "≥", (n - 1) * gradient_share, words="{}, or all $b_i$ are equal"),
        ),
        relation=sympy.Eq(scattered_seconds, bound),
        domain=(),
        source="ours; the setting is that of Diskin et al. 2021",
        derivation=(
            Step("at w_i = 1/n it sends and receives (n − 1)(α + β)/n", _at_equal),
            Step("below 1/n the slowest receives as much or more: β − (n − 1)α ≥ 0 for each share less", _below),
            Step("above 1/n it sends as much or more: (n − 1)β − α ≥ 0 for each share more, n ≥ 2", _above),
            Step("equal shares take nobody longer than the slowest", lambda: _of_slowest() - bound, concludes=bound),
            Step("all together send (n − 1)(α + β): of equal peers one sends 1/n of that, or more", _all_sparse),
            Step("one peer alone sends and receives nothing", _alone),
            Step("whole vectors, three peers and more: below 1/n the slowest receives less", _whole_below),
        ),
    )


def density_saturation() -> Statement:
    """(min(1, eκ) + min(1, neκ))/2 of the time of whole vectors: from the density 1/(ne) on more than half.

    Below that it is (n + 1)eκ/2: the means of n gradients with nothing in common have n times their entries.

    Source: ours.
    """
    gradient, mean = sympy.Min(1, entry_cost * kappa), sympy.Min(1, n * entry_cost * kappa)
    bound = (gradient + mean) / 2
    return Statement(
        label="density_saturation",
        title="What a butterfly of equal peers saves by sending a density",
        assumptions=(
            *SPARSE,
            "all $b_i$ are equal; an entry costs $e$ values, and what has a density travels whole where that is less",
            "no two peers send the same entry, as long as there are others",
        ),
        relation=sympy.Eq(exchange_factor, bound),
        domain=(sympy.Ge(entry_cost, 1), sympy.Ge(n, 2)),
        source="ours",
        kind="definition",
        derivation=(
            Step(
                "(n − 1)(α + β)/(nb) over 2(n − 1)/(nb) is (α + β)/2",
                lambda: _over_whole() - (gradient_share + mean_share) / 2,
            ),
            Step(
                "a mean has the share min(1, nκ) of all entries: β = min(1, e min(1, nκ)) = min(1, neκ)", _whole_means
            ),
            Step(
                "with α = min(1, eκ) and that β",
                lambda: ((gradient_share + mean_share) / 2).subs({gradient_share: gradient, mean_share: mean}) - bound,
                concludes=bound,
            ),
            Step("at κ = 1/(ne) and above it is more than 1/2", lambda: _saturated(bound)),
        ),
    )


def _sends(share: sympy.Expr) -> sympy.Expr:
    return gradient_share * (1 - share) + (n - 1) * mean_share * share


def _receives(share: sympy.Expr) -> sympy.Expr:
    return mean_share * (1 - share) + (n - 1) * gradient_share * share


def _whole_load_of(share: sympy.Expr) -> sympy.Expr:
    return 1 + (n - 2) * share


def _loads() -> sympy.Basic:
    same = [
        sympy.expand(load(_ONE_SHARE).subs(_WHOLE) - _whole_load_of(_ONE_SHARE)) == 0 for load in (_sends, _receives)
    ]
    peers = sympy.Symbol("peers", integer=True, nonnegative=True)
    at_least = sympy.expand((_whole_load_of(_ONE_SHARE) - 1).subs(n, peers + 2))
    return decided(all(same) and at_least.is_nonnegative)


def _sum_of_loads() -> sympy.Expr:
    shares = sympy.Sum(_SHARE[_PLACE], (_PLACE, 1, averager_count))
    loads = sympy.Sum(1 + (n - 2) * _SHARE[_PLACE], (_PLACE, 1, averager_count)).expand().doit()
    return sympy.expand(loads.factor(deep=True).expand().xreplace({shares: sympy.Integer(1)}))


def _all_loads() -> sympy.Expr:
    return sympy.expand(_sum_of_loads() - (n + averager_count - 2))


def _time_of_all() -> sympy.Expr:
    return _sum_of_loads() / total_bandwidth


def _room() -> sympy.Basic:
    """Σ (tb_i − 1) ≥ n − 2 at the later time."""
    later = _time_of_all() + _MORE
    room = later * total_bandwidth - averager_count
    return decided(sympy.expand(room - (n - 2)).is_nonnegative)


def _ring() -> sympy.Basic:
    all_average = sympy.simplify(_time_of_all().subs(averager_count, n) - 2 * (n - 1) / total_bandwidth)
    # n = peers + 2: 2(n − 1)/n is 1 or more.
    peers = sympy.Symbol("peers", integer=True, nonnegative=True)
    later = sympy.factor((2 * (n - 1) / n - 1).subs(n, peers + 2))
    return decided(all_average == 0 and later.is_nonnegative)


def _copies() -> sympy.Basic:
    # S = r + more. With two averagers or more Σ g_ii = S − rest; one alone averages no more than r for itself.
    total = _RATE + _MORE
    several = averager_count - 1
    sent = several * total + n * _RATE - (total - _REST)
    excess = sympy.expand((sent - (n + averager_count - 2) * _RATE).subs(averager_count, 2 + _EXTRA))
    alone = (n * _RATE - (_RATE - _REST)) - (n - 1) * _RATE
    return decided(excess.is_nonnegative and sympy.expand(alone).is_nonnegative)


def _own_copies() -> sympy.Basic:
    # S − q_i = r + more, or r − rest·r/(1 + rest), a part of r.
    enough = _RATE + _MORE
    peers = sympy.Symbol("peers", integer=True, nonnegative=True)
    part = _RATE / (1 + _REST)
    sent = part + (peers + 1) * (_RATE - part)
    return decided((enough - _RATE).is_nonnegative and sympy.factor(sent - _RATE).is_nonnegative)


def _quota() -> sympy.Expr:
    part = sympy.Symbol("d_i", positive=True)
    # Σ_{j≠i} (d_j + 1) = d − d_i + m − 1 and Σ_{j≠i} w_j = 1 − w_i.
    others = (d - part) + (averager_count - 1) - (1 - _ONE_SHARE) * part / _ONE_SHARE
    return sympy.expand(others - (d + averager_count - 1 - part / _ONE_SHARE))


def _whole_load() -> sympy.Expr:
    share = (_LEVEL * _ONE_BANDWIDTH - 1) / (n - 2)
    load = (d + (n - 2) * share * (d + averager_count - 1)) / _ONE_BANDWIDTH
    return sympy.simplify(load - _whole_time(_LEVEL, _ONE_BANDWIDTH))


def _whole_time(level: sympy.Expr, bandwidth: sympy.Expr) -> sympy.Expr:
    """Of a peer with the largest part that the rule may give."""
    return level * (d + averager_count - 1) - (averager_count - 1) / bandwidth


def _most_for_largest() -> sympy.Basic:
    gap = _whole_time(_LEVEL, _ONE_BANDWIDTH + _MORE) - _whole_time(_LEVEL, _ONE_BANDWIDTH)
    return decided(sympy.factor(sympy.simplify(gap.subs(averager_count, 1 + _REST))).is_nonnegative)


def _one_value(bound: sympy.Expr) -> sympy.Expr:
    equal = {
        averager_count: n,
        total_bandwidth: n * _ONE_BANDWIDTH,
        largest_bandwidth: _ONE_BANDWIDTH,
        d: sympy.Integer(1),
    }
    return sympy.simplify(bound.subs(equal, simultaneous=True) - _whole_load_of(1) / _ONE_BANDWIDTH)


def _level_of_all() -> sympy.Expr:
    shares = sympy.Sum(_LEVEL * _BANDWIDTH[_PLACE] - 1, (_PLACE, 1, averager_count)).expand().doit()
    all_bandwidths = sympy.Sum(_BANDWIDTH[_PLACE], (_PLACE, 1, averager_count))
    in_terms = shares.factor(deep=True).expand().xreplace({all_bandwidths: total_bandwidth})
    (found,) = sympy.solve(sympy.Eq(in_terms, n - 2), _LEVEL)
    return found


def _at_equal() -> sympy.Basic:
    equal = (n - 1) * (gradient_share + mean_share) / n
    return decided(all(sympy.simplify(load(1 / n) - equal) == 0 for load in (_sends, _receives)))


def _below() -> sympy.Basic:
    # β = (n − 1)α + more, w = 1/n − rest.
    scattered = {mean_share: (n - 1) * gradient_share + _MORE}
    gap = _receives(1 / n - _REST) - _receives(1 / n)
    return decided(sympy.factor(sympy.simplify(gap.subs(scattered))).is_nonnegative)


def _above() -> sympy.Basic:
    peers = sympy.Symbol("peers", integer=True, nonnegative=True)
    gap = (_sends(1 / n + _REST) - _sends(1 / n)).subs(mean_share, (n - 1) * gradient_share + _MORE)
    return decided(sympy.expand(sympy.simplify(gap.subs(n, peers + 2))).is_nonnegative)


def _of_slowest() -> sympy.Expr:
    return sympy.simplify(_sends(1 / n) / least_bandwidth)


def _alone() -> sympy.Basic:
    return decided(all(load(sympy.Integer(1)).subs(n, 1) == 0 for load in (_sends, _receives)))


def _all_sparse() -> sympy.Expr:
    loads = sympy.Sum(sympy.expand(_sends(_SHARE[_PLACE])), (_PLACE, 1, n)).expand().doit()
    shares = sympy.Sum(_SHARE[_PLACE], (_PLACE, 1, n))
    terms = sympy.Add(*(term.factor(deep=True) for term in sympy.Add.make_args(loads)))
    total = sympy.expand(terms.xreplace({shares: sympy.Integer(1)}))
    return sympy.expand(total - (n - 1) * (gradient_share + mean_share))


def _whole_below() -> sympy.Basic:
    peers = sympy.Symbol("peers", integer=True, nonnegative=True)
    less = sympy.Symbol("less", positive=True)
    gap = (_receives(1 / n - less) - _receives(1 / n)).subs(_WHOLE)
    return decided(sympy.factor(sympy.simplify(gap.subs(n, peers + 3))).is_negative)


def _over_whole() -> sympy.Expr:
    return sympy.simplify(_of_slowest() / _of_slowest().subs(_WHOLE))


def _whole_means() -> sympy.Basic:
    # e = 1 + more, and e min(1, nκ) = min(e, neκ).
    cost = 1 + _MORE
    return decided(sympy.Min(1, cost, n * cost * kappa) == sympy.Min(1, n * cost * kappa))


def _saturated(bound: sympy.Expr) -> sympy.Basic:
    dense = bound.subs(kappa, (1 + _MORE) / (n * entry_cost))
    return decided(sympy.simplify(dense - sympy.Rational(1, 2)).is_positive)


STATEMENTS = by_label(__name__, butterfly_time, hagenbach_time, scattered_butterfly_time, density_saturation)
"""The statements of this file."""
