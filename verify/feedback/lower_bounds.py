"""What evidence is there for the lower bounds, besides their derivations? Methods on the chains, and two solvers.

Every method of `runs/chain_runs.py` is run for every way in which messages may arrive, exactly; the best answer to what
is known attains each bound (`rational`), and none of the others beats it (`property`). Ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise, product

import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import L, T, chain_length, d, delta, gap, mu, n, variance
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.admission import Number, bound_at, substituted
from sparsync.verify.feedback.runs.chain_runs import (
    ZERO,
    Method,
    PieceChain,
    QuadraticChain,
    energy,
    least_mean_energy,
    least_noisy_energy,
    mean_share,
)
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check
from sparsync.verify.tools.smt import Query, smt_check

GREEDY = Method("greedy")
CHANCES = (Fraction(1, 10), Fraction(1, 2), Fraction(1))
"""δ of the listed runs."""
RATIOS = (Fraction(0), Fraction(1, 3), Fraction(4, 5))
"""q of the listed quadratic chains."""


def stated_share(chain: QuadraticChain, chance: Fraction, rounds: int) -> Fraction:
    """The lower bound at the chain's own numbers."""
    return STATEMENTS["erased_distance"].fraction(
        smoothness=chain.smoothness, mu=chain.convexity, d=chain.length, delta=chance, T=rounds
    )


def stated_energy(chain: PieceChain, chance: Fraction, rounds: int) -> Fraction:
    """The same of a gradient whose messages are lost."""
    return STATEMENTS["erased_gradient"].fraction(
        smoothness=chain.smoothness, gap=chain.gap, chain_length=chain.length, delta=chance, T=rounds
    )


def stated_noisy_energy(chain: PieceChain, noise: Fraction, workers: int, rounds: int) -> Fraction:
    """The same of noisy gradients."""
    numbers: dict[str, Number] = {
        "smoothness": chain.smoothness,
        "gap": chain.gap,
        "chain_length": chain.length,
        "T": rounds,
    }
    return bound_at("noisy_gradient", {**numbers, "variance": noise, "n": workers})


def arrival(label: str, chance: Fraction) -> Fraction:
    """The probability that a message arrives, as the statement with this δ assumes it."""
    return substituted(STATEMENTS[label].given("arrival"), {"delta": chance})


def seen_chance(chain: PieceChain, noise: Fraction) -> Fraction:
    """p = φ²/(φ² + σ₀²)."""
    return chain.slope**2 / (chain.slope**2 + noise)


def share_margin(chain: QuadraticChain, method: Method, chance: Fraction, rounds: int) -> Fraction:
    """E‖x_T − x*‖²/‖x*‖² less the bound."""
    assumed = arrival("erased_distance", chance)
    return mean_share(chain, method, delta=assumed, rounds=rounds) - stated_share(chain, chance, rounds)


def energy_margin(chain: PieceChain, method: Method, chance: Fraction, rounds: int) -> Fraction:
    """min_t E‖∇f(x_t)‖² less the bound, in units of φ²; or what is left of ‖Δ∇f‖ ≤ L‖Δx‖ in the run, if less."""
    least = least_mean_energy(chain, method, delta=arrival("erased_gradient", chance), rounds=rounds)
    room = (least - stated_energy(chain, chance, rounds)) / chain.slope**2
    visited = method.positions(chain, [True] * rounds)
    return min([room, *(_smooth_room(chain, one, other) for one, other in pairwise(visited))])


def noisy_margin(chain: PieceChain, noise: Fraction, workers: int, rounds: int, step: Fraction | None) -> Fraction:
    """The same of gradient descent, or of the best answer, with noise."""
    chance = seen_chance(chain, noise)
    least = least_noisy_energy(chain, workers=workers, chance=chance, rounds=rounds, step=step)
    return (least - stated_noisy_energy(chain, noise, workers, rounds)) / chain.slope**2


def _smooth_room(chain: PieceChain, one: tuple[Fraction, ...], other: tuple[Fraction, ...]) -> Fraction:
    """L² less ‖Δ∇f‖²/‖Δx‖², over L²."""
    move = energy(tuple(a - b for a, b in zip(one, other, strict=True)))
    change = energy(tuple(a - b for a, b in zip(chain.gradient(one), chain.gradient(other), strict=True)))
    return 1 - change / (chain.smoothness**2 * move) if move else ZERO + 1


_STEPS = st.sampled_from([Fraction(1, 20), Fraction(1, 4), Fraction(1), Fraction(3)])
_CHANCES = st.integers(1, 8).map(lambda part: Fraction(part, 8))
_UNITS = st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(3)])
_METHODS = st.one_of(
    st.just(GREEDY),
    st.builds(
        Method,
        st.sampled_from(["feedback", "feedback 21"]),
        _STEPS,
        st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(9, 10)]),
    ),
)


def share_cases() -> Members:
    """Quadratic chains of one to five coordinates, and one to five rounds."""
    ratios = st.integers(0, 7).map(lambda part: Fraction(part, 8))
    chains = st.builds(QuadraticChain, ratios, st.integers(1, 5))
    return st.tuples(chains, _METHODS, _CHANCES, st.integers(1, 5))


def _piece_chains(longest: int) -> Members:
    return st.builds(PieceChain, st.integers(1, longest), _UNITS, _UNITS)


def energy_cases() -> Members:
    """Chains of pieces that are no longer than the run, of one to five rounds."""
    return st.integers(1, 5).flatmap(
        lambda rounds: st.tuples(_piece_chains(rounds), _METHODS, _CHANCES, st.just(rounds))
    )


def noisy_cases() -> Members:
    """Up to three rounds of up to three workers."""
    noises = st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(9)])
    return st.integers(1, 3).flatmap(
        lambda rounds: st.tuples(
            _piece_chains(rounds), noises, st.integers(1, 3), st.just(rounds), st.one_of(st.none(), _STEPS)
        )
    )


def share_check(_profile: Profile) -> Outcome:
    """`rational`: the best answer attains the bound where no more messages are sent than there are coordinates."""
    margins = [
        share_margin(QuadraticChain(ratio, length), GREEDY, chance, rounds)
        for ratio, length, chance in product(RATIOS, (1, 2, 4), CHANCES)
        for rounds in range(1, length + 1)
    ]
    return _all_zero(margins)


def energy_check(_profile: Profile) -> Outcome:
    """`rational`: the best answer attains the bound on chains that are no longer than the run."""
    margins = [
        energy_margin(PieceChain(length, Fraction(2), Fraction(1, 3)), GREEDY, chance, rounds)
        for chance, rounds in product(CHANCES, (1, 2, 5))
        for length in range(1, rounds + 1)
    ]
    return _all_zero(margins)


def noisy_check(_profile: Profile) -> Outcome:
    """`rational`: the same of one and two workers with little, and with much noise."""
    margins = [
        noisy_margin(PieceChain(length, Fraction(2), Fraction(1, 3)), noise, workers, rounds, None)
        for noise, workers, rounds in product((Fraction(1, 9), Fraction(5)), (1, 2), (1, 2, 4))
        for length in range(1, rounds + 1)
    ]
    return _all_zero(margins)


def _all_zero(margins: list[Fraction]) -> Outcome:
    return Outcome(
        earned=bool(margins) and all(margin == 0 for margin in margins), detail={"cases_count": len(margins)}
    )


_r, _t, _x, _y, _s, _v, _m, _E = sympy.symbols("r t x y s v m E", real=True)


def _sides(bound: sympy.Expr, sign_at: dict[sympy.Symbol, sympy.Expr]) -> tuple[sympy.Expr, sympy.Expr]:
    """Numerator and denominator, which is positive at the point given and has no zero in the connected domain."""
    above, below = sympy.fraction(sympy.cancel(bound.doit()))
    plain = {symbol: sympy.Symbol(symbol.name, real=True) for symbol in bound.free_symbols}
    above, below = above.xreplace(plain), below.xreplace(plain)
    sign = sympy.sign(below.subs(sign_at))
    return sympy.expand(sign * above), sympy.expand(sign * below)


def share_queries() -> Iterator[Query]:
    """Two coordinates, one or two rounds, and any answers: x after the first arrival, y after the second.

    With μ = 1 and L = (1 + r)², q = r/(2 + r).
    """
    more, chance = sympy.Symbol("r", nonnegative=True), sympy.Symbol("t", positive=True)
    whole = (2 + _r) ** 2
    once, twice, untouched = whole * (_x - 1) ** 2 + _r**2, ((2 + _r) * _y - _r) ** 2, whole + _r**2
    ends = {
        1: (1 - _t) * untouched + _t * once,
        2: (1 - _t) ** 2 * untouched + 2 * _t * (1 - _t) * once + _t**2 * twice,
    }
    for rounds, end in ends.items():
        values = {L: (1 + more) ** 2, mu: 1, d: 2, T: rounds, delta: chance}
        above, below = _sides(STATEMENTS["erased_distance"].bound.subs(values), {_r: sympy.S.One, _t: sympy.S.One})
        yield Query(
            f"two coordinates, T = {rounds}",
            (_r >= 0, _t > 0, _t <= 1),
            sympy.Ge(sympy.expand(end * below - above * untouched), 0),
            sympy.Ge(sympy.expand(end * below - above * untouched - below * untouched / 100), 0),
        )


def energy_queries() -> Iterator[Query]:
    """Two links: no x_1 makes ‖∇f‖ less than φ while x_2 = 0; and three rounds, φ² or more until both are known."""
    first, second = sympy.symbols("g_1 g_2", real=True)
    for name, (low, high), slope, opened, opening in _PIECES:
        entries = (slope - opening / 10, -opened)
        square = sympy.expand(sum(entry**2 for entry in entries))
        yield Query(
            f"‖∇F‖ ≥ 1 for x_1 {name}, x_2 = 0",
            tuple(end for end in (_x >= low, _x <= high) if end != sympy.true),
            sympy.Ge(square, 1),
            sympy.Ge(square, 3),
        )
    chance, start = sympy.Symbol("t", positive=True), sympy.Symbol("s", positive=True)
    # φ² = s where L(f(x_0) − f*) = 5·23s/6 for N = 2.
    values = {L: sympy.Rational(115, 6) * start, gap: 1, chain_length: 2, T: 3, delta: chance}
    sides = _sides(STATEMENTS["erased_gradient"].bound.subs(values), {_t: sympy.Rational(1, 2), _s: sympy.S.One})
    end = (1 - _t) ** 2 * first + 2 * _t * (1 - _t) * second
    premises = (_t > 0, _t <= 1, _s >= 1, first >= _s, second >= _s)
    yield Query(
        "N = 2, T = 3",
        premises,
        sympy.Ge(sympy.expand(end * sides[1] - sides[0]), 0),
        sympy.Ge(sympy.expand(end * sides[1] - sides[0] - sides[1] / 100), 0),
    )


def noisy_queries() -> Iterator[Query]:
    """One link and two rounds of one or two workers: φ² remains if no worker sees it, m = σ₀²/(φ² + σ₀²) each."""
    square, noise = sympy.symbols("s v", positive=True)
    for workers in (1, 2):
        values = {L: sympy.Rational(55, 6) * square, gap: 1, chain_length: 1, T: 2, n: workers, variance: noise}
        sides = _sides(STATEMENTS["noisy_gradient"].bound.subs(values), {_s: sympy.S.One, _v: sympy.S.One})
        premises = (_s > 0, _v > 0, sympy.Eq(_m * (_s + _v), _v), _s * _m**workers <= _E, _s <= 1)
        yield Query(
            f"N = 1, T = 2, n = {workers}",
            premises,
            sympy.Ge(sympy.expand(_E * sides[1] - sides[0]), 0),
            sympy.Ge(sympy.expand(_E * sides[1] - 2 * sides[0]), 0),
        )


_FIFTH, _TWO, _THREE = sympy.Rational(1, 5), sympy.Rational(2, 5), sympy.Rational(3, 5)
_RISE = sympy.Rational(25, 12)
_PIECES = (
    ("below −1/5", (-sympy.oo, -_FIFTH), sympy.Integer(-1), sympy.S.Zero, sympy.S.Zero),
    ("in [−1/5, 0]", (-_FIFTH, sympy.S.Zero), 5 * _x - (1 + 5 * _x), sympy.S.Zero, sympy.S.Zero),
    ("in [0, 2/5]", (sympy.S.Zero, _TWO), sympy.Integer(-1), _RISE * _x**2, 2 * _RISE * _x),
    ("in [2/5, 3/5]", (_TWO, _THREE), sympy.Integer(-1), (5 * _x - 1) / 3, sympy.Rational(5, 3)),
    ("in [3/5, 1]", (_THREE, sympy.S.One), sympy.Integer(-1), 1 - _RISE * (1 - _x) ** 2, 2 * _RISE * (1 - _x)),
    ("in [1, 6/5]", (sympy.S.One, sympy.Rational(6, 5)), 5 * _x - 6, sympy.S.One, sympy.S.Zero),
    ("beyond", (sympy.Rational(6, 5), sympy.oo), sympy.S.Zero, sympy.S.One, sympy.S.Zero),
)
"""Words for a piece, its ends, P' − Φ', Ψ and Ψ' on it; Φ(0) = 1/10."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "erased_distance": {
        "smt": smt_check(lambda: tuple(share_queries())),
        "rational": share_check,
        "property": property_check(share_cases, share_margin),
    },
    "erased_gradient": {
        "smt": smt_check(lambda: tuple(energy_queries())),
        "rational": energy_check,
        "property": property_check(energy_cases, energy_margin),
    },
    "noisy_gradient": {
        "smt": smt_check(lambda: tuple(noisy_queries())),
        "rational": noisy_check,
        "property": property_check(noisy_cases, noisy_margin),
    },
}
"""Every check of these statements, by label and grade."""

BEYOND = Fraction(17, 16)
EDGES: dict[str, tuple[Remark, ...]] = {
    "erased_distance": (
        Unneeded("mu <= smoothness", "no function is more strongly convex than it is smooth"),
        Edge(
            "delta <= 1",
            {"delta": BEYOND, "mu": 1, "smoothness": 1, "T": 2, "d": 3},
            lambda: mean_share(QuadraticChain(ZERO, 3), GREEDY, delta=Fraction(1), rounds=2),
        ),
    ),
    "erased_gradient": (
        Edge(
            "delta <= 1",
            {"delta": BEYOND, "smoothness": 1, "gap": 1, "chain_length": 1, "T": 3},
            lambda: least_mean_energy(PieceChain(1, ZERO + 1, ZERO + 1), GREEDY, delta=Fraction(1), rounds=3),
        ),
        Edge("chain_length <= T", {"delta": 1, "smoothness": 1, "gap": 1, "chain_length": 2, "T": 1}),
    ),
    "noisy_gradient": (
        Edge("chain_length <= T", {"variance": 0, "n": 1, "smoothness": 1, "gap": 1, "chain_length": 2, "T": 1}),
        Unneeded("0 < gap + variance", "numbers below 0 are no gaps and no variances", widened=True),
        Edge("0 < gap + variance", {"variance": 0, "n": 1, "smoothness": 1, "gap": 0, "chain_length": 1, "T": 1}),
    ),
}
"""What lies beyond the conditions."""
