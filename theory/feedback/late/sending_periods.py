"""Why does momentum after aggregation not help where gradients are sent late? Each lump plays out before the next.

Of a separable quadratic every coordinate is sent once in N steps, N = 1/κ, with the sum of its N gradients, and
momentum γ decays in between: e ← e + ηλx; every N-th step m ← γm + e, e ← 0, else m ← γm; x ← x − m. Over a period this
is a linear map of (x, m). Below, a = ηλ, h = a/(1 − γ), G = γ^N and P = γ + … + γ^N. For N = 1 h may be as large as
2(1 + γ)/(1 − γ), which is what momentum is for; from N = 2 on it may not, whatever γ. Gradients of a fixed age are in
`theory/delay/stability.py`. Ours.
"""

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    L,
    beta,
    effective_limit,
    effective_step,
    mu,
    period_radius,
    sending_period,
    stable_limit,
    worst_radius,
)

ROUND_ROBIN = (
    r"$e\leftarrow e+\eta\lambda x$, then at every $N$-th step $m\leftarrow\gamma m+e$, $e\leftarrow0$, at others "
    r"$m\leftarrow\gamma m$, then $x\leftarrow x-m$; $\lambda>0$"
)
_MOMENTUM = r"$0\le\gamma<1$"
_PERIOD = r"$\rho$ is the spectral radius of the map of $(x,m)$ over $N$ steps"

_N, _H = sending_period, effective_step
_X, _M = sympy.symbols("x m", real=True)
_STEP = sympy.Symbol("j", integer=True, nonnegative=True)
_LAST = sympy.Symbol("G", nonnegative=True)
"""γ^N."""
_SUM = sympy.Symbol("P", nonnegative=True)
"""γ + … + γ^N ≤ N."""
_ROOT = sympy.Symbol("z")
_SMALL = sympy.Symbol("u", positive=True)


def round_robin_limit() -> Statement:
    """x → 0 iff 0 < ηλ < (1 − γ)/max(N/2 − P/(1 + G), (P − NG)/(1 − G)).

    For N = 1 it is Polyak's 2(1 + γ), for γ = 0 it is 2/N. For N ≫ 1/(1 − γ) the effective step ηλ/(1 − γ) has the
    limit 2/N, as without momentum; as γ → 1 it has 2/(N − 1).

    Source: ours; N = 1: Polyak 1964.
    """
    last = beta**_N
    places = {_LAST: last, _SUM: beta * (1 - last) / (1 - beta)}
    bound = (1 - beta) / sympy.Max(*(each.subs(places) for each in _limits()))
    return Statement(
        label="round_robin_limit",
        title="Largest stable step, momentum, each coordinate sent every N steps",
        assumptions=(ROUND_ROBIN,),
        relation=sympy.Eq(stable_limit, bound),
        domain=(sympy.Lt(beta, 1),),
        source="ours; N = 1: Polyak 1964",
        derivation=(
            *_map_steps(),
            Step(
                "p(1) = hN(1 − G) > 0; p(−1) > 0 iff h(N/2 − P/(1 + G)) < 1; det < 1 iff h(P − NG)/(1 − G) < 1",
                _jury,
                argued="Jury's conditions: both roots lie inside the circle iff p(1) > 0, p(−1) > 0 and det < 1",
            ),
            Step(
                "both hold iff h < 1/max, and ηλ = (1 − γ)h",
                lambda: (1 - beta) / sympy.Max(*(each.subs(places) for each in _limits())) - bound,
                concludes=bound,
            ),
            Step("N = 1: 2(1 + γ); γ = 0: 2/N", lambda: _known_limits(bound)),
            Step("N → ∞: hN → 2", _long_periods, argued="G and NG tend to 0"),
            Step("γ → 1: h → 2/(N − 1)", _long_memory),
        ),
    )


def round_robin_reach() -> Statement:
    """From N = 2 on ηλ/(1 − γ) ≤ 6/(N − 1) whatever the momentum, where dense vectors have 2(1 + γ)/(1 − γ).

    It is honestly loose: the largest limit over γ is 1.46 times less as N → ∞, and 2.1 times less at N = 2.

    Source: ours.
    """
    bound = 6 / (_N - 1)
    return Statement(
        label="round_robin_reach",
        title="Largest stable effective step, any momentum, each coordinate sent every N steps",
        assumptions=(ROUND_ROBIN, _MOMENTUM),
        relation=sympy.Le(effective_limit, bound, evaluate=False),
        domain=(sympy.Ge(_N, 2),),
        source="ours",
        derivation=(
            Step(
                "by round_robin_limit hA ≤ 1 and hB ≤ 1, A and B being what the maximum is taken of",
                None,
                argued="a maximum is at least each of its terms",
            ),
            Step("(1 + G)A/2 + (1 − G)B/2 = N(1 − G)/4, so hN(1 − G) ≤ 4", _weighted),
            Step(
                "γ^j − γ^N ≥ G(1 − G)(N − j)/N, summed: B ≥ G(N − 1)/2, so hG(N − 1) ≤ 2",
                _long_side,
                argued="1 − γ^s is concave in s, so (1 − γ^{N−j})/(1 − γ^N) ≥ (N − j)/N, and γ^j ≥ γ^N",
            ),
            Step(
                "h(N − 1) = h(N − 1)(1 − G) + h(N − 1)G ≤ 4 + 2",
                lambda: sympy.solve(_H * (_N - 1) - (4 + 2), _H)[0] - bound,
                concludes=bound,
            ),
        ),
    )


def round_robin_rate() -> Statement:
    """ρ ≥ 1 − 2Nηλ/(1 − γ): over a period no curvature is left faster than at twice the effective step.

    Without momentum ρ = |1 − Nηλ|. It is approached by the heavy ball itself: N = 1, γ = (1 − √a)², a → 0.

    Source: ours.
    """
    bound = 1 - 2 * _N * _H
    return Statement(
        label="round_robin_rate",
        title="Least spectral radius, momentum, each coordinate sent every N steps",
        assumptions=(ROUND_ROBIN, _MOMENTUM, _PERIOD, r"$h=\eta\lambda/(1-\gamma)$"),
        relation=sympy.Ge(period_radius, bound, evaluate=False),
        domain=(),
        source="ours",
        derivation=(
            *_map_steps(),
            Step(
                "p(1 − 2hN) = hN(2h(N + P) − (1 − G)): where it is ≤ 0 a real root is at least 1 − 2hN",
                lambda: sympy.expand(_polynomial(bound) - _H * _N * (2 * _H * (_N + _SUM) - (1 - _LAST))),
                concludes=bound,
            ),
            Step("else h > (1 − G)/(2(N + P)), and 1 − 2hN < (P + NG)/(N + P)", _least_step),
            Step(
                "there det − ((P + NG)/(N + P))² ≥ (1 − G)(P + NG)(N − P)/(2(N + P)²) ≥ 0, and ρ² ≥ det",
                _determinant_room,
                argued="det grows with h as P ≥ NG, and P ≤ N, term by term",
            ),
            Step("N = 1, γ = (1 − √a)²: ρ = 1 − √a, and (1 − ρ)/(2h) → 1 as a → 0", _approached),
        ),
    )


def round_robin_speed() -> Statement:
    """max ρ ≥ 1 − 12Nμ/((N − 1)L) over curvatures in [μ, L], whatever stable η and γ: no root of L/μ is gained.

    Without momentum the best is (L − μ)/(L + μ) over a period; momentum is at best a constant faster. Dense vectors
    with momentum have 1 − 2/(√(L/μ) + 1) in every step.

    Source: ours.
    """
    bound = 1 - 12 * _N * mu / ((_N - 1) * L)
    reach = 6 / (_N - 1)
    return Statement(
        label="round_robin_speed",
        title="Best rate of all momenta, each coordinate sent every N steps",
        assumptions=(
            ROUND_ROBIN,
            _MOMENTUM,
            r"$\rho_{\max}<1$ is the largest spectral radius over a period of curvatures in $[\mu,L]$, both taken",
        ),
        relation=sympy.Ge(worst_radius, bound, evaluate=False),
        domain=(sympy.Le(mu, L), sympy.Ge(_N, 2)),
        source="ours",
        derivation=(
            Step(
                "round_robin_reach at λ = L, where all is stable: h ≤ 6/(N − 1), and h is linear in λ",
                lambda: _scaled(reach),
            ),
            Step(
                "round_robin_rate at λ = μ: ρ ≥ 1 − 2Nh",
                lambda: (1 - 2 * _N * _H).subs(_H, reach * mu / L) - bound,
                concludes=bound,
            ),
        ),
    )


def _limits() -> tuple[sympy.Expr, sympy.Expr]:
    """A and B: what h must be below one over."""
    return _N / 2 - _SUM / (1 + _LAST), (_SUM - _N * _LAST) / (1 - _LAST)


def _map_steps() -> tuple[Step, ...]:
    return (
        Step("j < N steps after a send x has moved by −mγ(1 − γ^j)/(1 − γ)", _moves),
        Step("so N gradients sum to a(Nx − Am), A = γ(N − (1 − G)/(1 − γ))/(1 − γ)", _lump),
        Step(
            "in z = x − γm/(1 − γ) and m a period has trace 1 − hN + G + hP and det G + h(P − NG)",
            _trace_and_determinant,
        ),
    )


def _moved(step: sympy.Expr) -> sympy.Expr:
    """By how much x has moved so many steps after a send, over −m."""
    return beta * (1 - beta**step) / (1 - beta)


def _moves() -> sympy.Expr:
    """In step j + 1 the buffer is γ^{j+1}m."""
    return sympy.simplify(_moved(_STEP + 1) - _moved(_STEP) - beta ** (_STEP + 1)) + _moved(sympy.Integer(0))


def _missing(count: sympy.Expr) -> sympy.Expr:
    """A: Σ of `_moved` over the steps 0, …, count − 1."""
    return beta * (count - (1 - beta**count) / (1 - beta)) / (1 - beta)


def _lump() -> sympy.Expr:
    """The sum grows by its next term, from 0."""
    return sympy.simplify(_missing(_STEP + 1) - _missing(_STEP) - _moved(_STEP)) + _missing(sympy.Integer(0))


def _period_map() -> sympy.Matrix:
    """Of (z, m), with G for γ^N."""
    size = _H * (1 - beta)
    memory = beta / (1 - beta)
    rest, buffer = sympy.symbols("rest buffer", real=True)
    place = rest + memory * buffer
    missing = memory * (_N - (1 - _LAST) / (1 - beta))
    lump = size * (_N * place - missing * buffer)
    sent = _LAST * buffer + lump
    after = place - beta * (1 - _LAST) / (1 - beta) * buffer - lump
    return sympy.Matrix([after - memory * sent, sent]).jacobian(sympy.Matrix([rest, buffer]))


def _trace_and_determinant() -> sympy.Basic:
    total = beta * (1 - _LAST) / (1 - beta)
    found = _period_map()
    trace, determinant = _stated()
    differ = (found.trace() - trace.subs(_SUM, total), found.det() - determinant.subs(_SUM, total))
    return decided(all(sympy.simplify(each) == 0 for each in differ))


def _stated() -> tuple[sympy.Expr, sympy.Expr]:
    """Trace and determinant."""
    return 1 - _H * _N + _LAST + _H * _SUM, _LAST + _H * (_SUM - _N * _LAST)


def _polynomial(at: sympy.Expr) -> sympy.Expr:
    trace, determinant = _stated()
    return at**2 - trace * at + determinant


def _jury() -> sympy.Basic:
    first, second = _limits()
    _, determinant = _stated()
    differ = (
        _polynomial(sympy.Integer(1)) - _H * _N * (1 - _LAST),
        _polynomial(sympy.Integer(-1)) - 2 * (1 + _LAST) * (1 - _H * first),
        1 - determinant - (1 - _LAST) * (1 - _H * second),
    )
    return decided(all(sympy.simplify(each) == 0 for each in differ))


def _known_limits(bound: sympy.Expr) -> sympy.Basic:
    one = [each.subs({_LAST: beta, _SUM: beta}).subs(_N, 1) for each in _limits()]
    at_one = sympy.simplify(one[0] - (1 - beta) / (2 * (1 + beta)))
    none = bound.subs(beta, 0)
    return decided(at_one == 0 and one[1] == 0 and sympy.simplify(none - 2 / _N) == 0)


def _long_periods() -> sympy.Basic:
    places = {_LAST: 0, _SUM: beta / (1 - beta)}
    per_step = [sympy.limit(sympy.expand(each.subs(places) / _N), _N, sympy.oo) for each in _limits()]
    return decided(per_step == [sympy.Rational(1, 2), 0])


def _long_memory() -> sympy.Basic:
    """γ = 1 − u, with the series of γ^N."""
    last = sympy.series((1 - _SMALL) ** _N, _SMALL, 0, 4).removeO()
    places = {_LAST: last, _SUM: (1 - _SMALL) * (1 - last) / _SMALL}
    at_one = [sympy.limit(sympy.cancel(each.subs(places)), _SMALL, 0) for each in _limits()]
    return decided(sympy.simplify(at_one[0]) == 0 and sympy.simplify(at_one[1] - (_N - 1) / 2) == 0)


def _weighted() -> sympy.Expr:
    first, second = _limits()
    return sympy.simplify((1 + _LAST) * first / 2 + (1 - _LAST) * second / 2 - _N * (1 - _LAST) / 4)


def _long_side() -> sympy.Expr:
    index = sympy.Symbol("j", integer=True, positive=True)
    least = sympy.summation(_LAST * (1 - _LAST) * (_N - index) / _N, (index, 1, _N)) / (1 - _LAST)
    return sympy.simplify(least - _LAST * (_N - 1) / 2)


def _least_step() -> sympy.Expr:
    least = (1 - _LAST) / (2 * (_N + _SUM))
    return sympy.simplify(1 - 2 * least * _N - (_SUM + _N * _LAST) / (_N + _SUM))


def _determinant_room() -> sympy.Expr:
    _, determinant = _stated()
    at_least = determinant.subs(_H, (1 - _LAST) / (2 * (_N + _SUM)))
    room = (1 - _LAST) * (_SUM + _N * _LAST) * (_N - _SUM) / (2 * (_N + _SUM) ** 2)
    return sympy.simplify(at_least - ((_SUM + _N * _LAST) / (_N + _SUM)) ** 2 - room)


def _approached() -> sympy.Basic:
    """With u = √a: trace 2(1 − u) and det (1 − u)² make 1 − u a double root."""
    momentum = (1 - _SMALL) ** 2
    places = {_N: 1, _LAST: momentum, _SUM: momentum, _H: _SMALL**2 / (1 - momentum)}
    trace, determinant = (sympy.simplify(each.subs(places)) for each in _stated())
    is_double = sympy.expand(trace - 2 * (1 - _SMALL)) == 0 and sympy.expand(determinant - (1 - _SMALL) ** 2) == 0
    share = sympy.limit(_SMALL / (2 * places[_H]), _SMALL, 0)
    return decided(is_double and share == 1)


def _scaled(reach: sympy.Expr) -> sympy.Expr:
    """h at μ where it is `reach` at L."""
    ratio = sympy.Symbol("c", positive=True)
    return sympy.solve(ratio * L - reach, ratio)[0] * mu - reach * mu / L


STATEMENTS = by_label(__name__, round_robin_limit, round_robin_reach, round_robin_rate, round_robin_speed)
"""The statements of this file."""
