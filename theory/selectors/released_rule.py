"""Where does the threshold rule released with Gaussian-k end? At an exact multiple of its start: it is a rotation.

The rule (code released with Shi, Chu, Cheung and See 2019; `gaussian_k_released` in `kernels/reference.py`) counts the
coordinates with |u| > t, accepts between 2k/3 and 4k/3 of them, otherwise halves t (too few) or multiplies it by 3/2
(too many), at most three times. The accepted thresholds are a window [a, b), empty if magnitudes tie, of ratio r = b/a.

A halving and a raise differ by a factor 3, so up to powers of three every move is the same multiplication by 3/2: on a
circle of length ln 3 the rule is the rotation by ln(3/2). It is irrational (no 3^i is a 2^j), so without a limit on the
passes every non-empty window of positive thresholds is met from every positive start:
`theory/selectors/released_rotation.py` says how soon, and three passes often do not do. From a negative threshold it is
never met. What this means for laws: `theory/selectors/released_laws.py`. All is ours.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import sympy

from sparsync.theory.contraction.tail import is_nonnegative_polynomial
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import pass_count, reachable_count, start_length, window_ratio


def released_reachable() -> Statement:
    """P passes can count P(P + 1)/2 thresholds, t₀ 3^i/2^j with 0 ≤ i ≤ j < P, and end in the window iff it holds one.

    For P = 3: t₀ times 1/4, 1/2, 3/4, 1, 3/2, 9/4. The pass that ends there is the (j + 1)-th for the smallest such j.

    Proof. Let x be the element of the window with the smallest j; before j moves no other is met. Outside the window
    the rule moves as it would for the window {x}: up while below, down while above. After j moves it is at some x·3^c.
    The moves from [x/2, 3x/2) stay there, and there x is the only x·3^c. If the rule has never been there, it has only
    moved down, to t₀/2^j > x, or only up, to t₀(3/2)^j < x; but x = t₀ 3^i/2^j lies between these two.
    """
    bound = pass_count * (pass_count + 1) / 2
    return Statement(
        label="released_reachable",
        title="thresholds that the released rule can count",
        assumptions=(
            r"the rule makes at most $P$ passes from $t_0>0$",
            r"a threshold is reachable if for some window $[a,b)$ of accepted thresholds it is counted",
        ),
        relation=sympy.Eq(reachable_count, bound),
        domain=(),
        source="ours",
        derivation=(
            Step("j moves, i of them up: (1/2)^(j − i) (3/2)^i = 3^i/2^j", _moves_commute),
            Step("no two are equal: 3^i is odd and 3^i 2^e is even for e > 0", _multiples_differ),
            Step("the moves from [x/2, 3x/2) stay there", _target_traps),
            Step("x/3 and 3x lie outside: of the x·3^c only x is inside", _one_power_inside),
            Step(
                "only down to t₀/2^j > x = t₀ 3^i/2^j is impossible, only up to t₀ (3/2)^j < x too: so the rule ends "
                "in the window iff some t₀ 3^i/2^j with 0 ≤ i ≤ j < P lies in it",
                _transient_arrives,
                argued="that outside a window the rule moves as it would for one point x of it",
            ),
            Step("Σ_{j < P} (j + 1) = P(P + 1)/2", lambda: _reachable_sum() - bound, concludes=bound),
        ),
    )


def released_starts() -> Statement:
    """The starts from which P passes end in a window of ratio r fill at most P(P + 1)/2 · ln r of the line of ln t₀.

    Each multiple of `released_reachable` takes one interval of length ln r into the window, and three passes attain the
    bound for r ≤ 4/3. The intervals lie between (4/9)a and 4b: for a Gaussian at κ = 0.001 they fill 0.353 of 2.256, so
    that five in six of the starts in that range end outside.
    """
    bound = pass_count * (pass_count + 1) / 2 * sympy.log(window_ratio)
    return Statement(
        label="released_starts",
        title="starts from which the released rule ends in its range",
        assumptions=(r"the accepted thresholds are a window of ratio $r=b/a$, the rule makes at most $P$ passes",),
        relation=sympy.Le(start_length, bound, evaluate=False),
        domain=(sympy.Ge(window_ratio, 1),),
        source="ours",
        derivation=(
            Step("a multiple m of t₀ is in [a, b) for ln t₀ in an interval of length ln r", _preimage_length),
            Step(
                "the P(P + 1)/2 intervals cover at most the sum of their lengths",
                lambda: released_reachable().bound * sympy.log(window_ratio) - bound,
                concludes=bound,
            ),
            Step("P = 3: successive multiples differ by 4/3 or more, so the intervals are disjoint", _three_pass_gaps),
        ),
    )


_TARGET = sympy.Symbol("x", positive=True)
_LOWER = sympy.Symbol("above_lower_end", nonnegative=True)
_UPPER = sympy.Symbol("below_upper_end", positive=True)
_UPS, _DOWNS = sympy.symbols("i downs", integer=True, nonnegative=True)


def _moves_commute() -> sympy.Expr:
    moves = sympy.Rational(1, 2) ** _DOWNS * sympy.Rational(3, 2) ** _UPS
    return sympy.simplify(moves * 2 ** (_UPS + _DOWNS) / 3**_UPS) - 1


def _multiples_differ() -> sympy.Basic:
    more = 1 + _DOWNS
    longer = sympy.expand_log(sympy.log(3**more))
    return sympy.And(
        sympy.S(bool((3**_UPS).is_odd)), sympy.S(bool((3**_UPS * 2**more).is_even)), sympy.S(bool(longer.is_positive))
    )


def _target_traps() -> sympy.Basic:
    """y in [x, 3x/2) is halved, y in [x/2, x) raised; each end is checked with y measured from it."""
    half, raised = sympy.Rational(1, 2), sympy.Rational(3, 2)
    rooms = (
        half * (_TARGET + _LOWER) - half * _TARGET,
        raised * _TARGET - half * (raised * _TARGET - _UPPER),
        raised * (half * _TARGET + _LOWER) - half * _TARGET,
        raised * _TARGET - raised * (_TARGET - _UPPER),
    )
    return sympy.And(*(is_nonnegative_polynomial(room, _TARGET, _LOWER, _UPPER) for room in rooms))


def _one_power_inside() -> sympy.Basic:
    return sympy.And(_TARGET / 2 - _TARGET / 3 > 0, 3 * _TARGET - 3 * _TARGET / 2 > 0)


def _transient_arrives() -> sympy.Basic:
    """ln of x over t₀/2^j, and of t₀(3/2)^j over x, is at least 0."""
    passes = _UPS + _DOWNS
    target = 3**_UPS / sympy.Integer(2) ** passes
    quotients = (target * 2**passes, sympy.Rational(3, 2) ** passes / target)
    logarithms = [sympy.expand_log(sympy.log(sympy.simplify(quotient))) for quotient in quotients]
    return sympy.And(*(sympy.S(bool(logarithm.is_nonnegative)) for logarithm in logarithms))


def _reachable_sum() -> sympy.Expr:
    moves = sympy.Symbol("j", integer=True, nonnegative=True)
    return sympy.summation(moves + 1, (moves, 0, pass_count - 1))


def _preimage_length() -> sympy.Expr:
    multiple, lower_end = sympy.symbols("m a", positive=True)
    ends = (sympy.log(lower_end / multiple), sympy.log(window_ratio * lower_end / multiple))
    return sympy.expand_log(ends[1] - ends[0]) - sympy.log(window_ratio)


def _three_pass_gaps() -> sympy.Basic:
    multiples = sorted(Fraction(3**ups, 2**moves) for moves in range(3) for ups in range(moves + 1))
    gaps = [larger / smaller for smaller, larger in pairwise(multiples)]
    return sympy.S(len(multiples) == released_reachable().bound.subs(pass_count, 3) and min(gaps) == Fraction(4, 3))


STATEMENTS = by_label(__name__, released_reachable, released_starts)
"""The statements of this file."""
