"""Why does error feedback with a fixed step size not reach the minimiser of workers that differ? A cycle, step by step.

The steps behind `ef_heterogeneous_distance`. Coordinates are taken from x*, and (α, α) = ∇f_1(x*) = −∇f_2(x*), α > 0.
The state before the t-th step is x_t = (−1)^t y_t (1, −1); an odd step is an even one with the coordinates swapped, so
one step is enough. Ours.
"""

import sympy

from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import L, eta, heterogeneity

SLOPE = sympy.Symbol("alpha", positive=True)
"""α, with 2α² = ζ²."""
PLACE = sympy.Symbol("y", nonnegative=True)
"""y_t."""
EARLIER = sympy.Symbol("y_-", nonnegative=True)
"""y_{t−1}; what is remembered at t = 0, nothing, is what y_{−1} = α/L would leave."""
HALF_PRODUCT = eta * L / 2
"""c = ηL/2."""

Pair = tuple[sympy.Expr, sympy.Expr]
"""The two coordinates of a vector."""


def oscillation_steps(bound: sympy.Expr) -> tuple[Step, ...]:
    """The steps of `ef_heterogeneous_distance`."""
    return (
        Step("the workers' slopes at x* cancel: x* is the minimiser of their mean", _common_minimiser),
        Step("worker 2 does what worker 1 does with coordinates swapped and signs changed", _mirrored),
        Step("if worker 1 sends coordinate 1, y⁺ = ηα − (1 − c)y − c y₋, c = ηL/2, and all is swapped", _one_step),
        Step("no memory at the start is the memory of y₋ = α/L", _empty_memory),
        Step("0 ≤ y, y₋ ≤ ηα gives ηα times a mean of 1 − y/(ηα) and 1 − y₋/(ηα): y⁺ stays there", _stays),
        Step("for 0 < y_0 ≤ ηα/2 and no memory, 0 ≤ y_1 ≤ ηα as well", _enters),
        Step("ηL < 1 makes coordinate 1 the larger one of worker 1 at all steps", _sends_first),
        Step("at the start too, for every y_0 > 0", _sends_first_at_start),
        Step("z² + (1 − c)z + c has its roots inside the unit circle for 0 < c < 1: y → ηα/2", _settles),
        Step(
            "‖x_t − x*‖² = 2y_t² → η²α²/2 = η²ζ²/4",
            lambda: 2 * _fixed_place().subs(SLOPE, sympy.sqrt(heterogeneity / 2)) ** 2 - bound,
            concludes=bound,
        ),
    )


def _gradients(position: Pair) -> tuple[Pair, Pair]:
    first = (L * position[0] + SLOPE, L * position[1] + SLOPE)
    return first, (L * position[0] - SLOPE, L * position[1] - SLOPE)


def _memory() -> Pair:
    """What worker 1 holds back before an even step: the gradient of coordinate 1 at x_{t−1} = −y₋(1, −1)."""
    return eta * (SLOPE - L * EARLIER), sympy.Integer(0)


def _swapped(pair: Pair) -> Pair:
    return pair[1], pair[0]


def _mirror(pair: Pair) -> Pair:
    return -pair[1], -pair[0]


def _following() -> sympy.Expr:
    return eta * SLOPE - (1 - HALF_PRODUCT) * PLACE - HALF_PRODUCT * EARLIER


def _corrected() -> Pair:
    """e + ηg of worker 1 before an even step."""
    gradient, memory = _gradients((PLACE, -PLACE))[0], _memory()
    return memory[0] + eta * gradient[0], memory[1] + eta * gradient[1]


def _equal(left: Pair, right: Pair) -> sympy.Basic:
    return sympy.And(*(sympy.Eq(sympy.expand(one - other), 0) for one, other in zip(left, right, strict=True)))


def _common_minimiser() -> sympy.Basic:
    first, second = _gradients((sympy.Integer(0), sympy.Integer(0)))
    squares = sympy.expand(first[0] ** 2 + first[1] ** 2 - 2 * SLOPE**2)
    return sympy.And(_equal(first, (-second[0], -second[1])), sympy.Eq(squares, 0))


def _mirrored() -> sympy.Basic:
    """The mirror of a position y(1, −1) is itself, and worker 2's gradient is the mirror of worker 1's."""
    position = (PLACE, -PLACE)
    first, second = _gradients(position)
    return sympy.And(_equal(_mirror(position), position), _equal(_mirror(first), second))


def _one_step() -> sympy.Basic:
    """The position and what worker 1 keeps, after worker 1 sent coordinate 1 and worker 2 the mirror of it."""
    corrected = _corrected()
    sent, kept = (corrected[0], sympy.Integer(0)), (sympy.Integer(0), corrected[1])
    other = _mirror(sent)
    following = (PLACE - (sent[0] + other[0]) / 2, -PLACE - (sent[1] + other[1]) / 2)
    expected = tuple(entry.subs(EARLIER, PLACE) for entry in _swapped(_memory()))
    return sympy.And(
        _equal(following, _swapped((_following(), -_following()))), _equal(kept, (expected[0], expected[1]))
    )


def _empty_memory() -> sympy.Expr:
    return _memory()[0].subs(EARLIER, SLOPE / L)


def _stays() -> sympy.Expr:
    """The weights 1 − c and c are ≥ 0 for ηL < 1."""
    whole = eta * SLOPE
    mean = (1 - HALF_PRODUCT) * (1 - PLACE / whole) + HALF_PRODUCT * (1 - EARLIER / whole)
    return sympy.expand(_following() - whole * mean)


def _enters() -> sympy.Basic:
    """With y_0 = ηα/2 − room: y_1 = cηα/2 + (1 − c)·room and ηα − y_1 = ηα/2 + (1 − c)y_0."""
    room = sympy.Symbol("room", nonnegative=True)
    first = _following().subs(EARLIER, SLOPE / L)
    below = first.subs(PLACE, eta * SLOPE / 2 - room) - HALF_PRODUCT * eta * SLOPE / 2 - (1 - HALF_PRODUCT) * room
    above = eta * SLOPE - first - eta * SLOPE / 2 - (1 - HALF_PRODUCT) * PLACE
    return sympy.And(sympy.Eq(sympy.expand(below), 0), sympy.Eq(sympy.expand(above), 0))


def _sends_first() -> sympy.Basic:
    """v_1 ± v_2 > 0, with y₋ = ηα − room and η = 1/(L(1 + margin)), over η and times 1 + margin."""
    room, margin = sympy.Symbol("room", nonnegative=True), sympy.Symbol("margin", positive=True)
    first, second = (entry.subs(EARLIER, eta * SLOPE - room) for entry in _corrected())
    scaled = (
        sympy.cancel(((first + sign * second) / eta).subs(eta, 1 / (L * (1 + margin))) * (1 + margin))
        for sign in (1, -1)
    )
    return sympy.And(*(sympy.sympify(bool(sympy.expand(entry).is_positive)) for entry in scaled))


def _sends_first_at_start() -> sympy.Basic:
    place = sympy.Symbol("y_0", positive=True)
    first, second = (entry.subs({EARLIER: SLOPE / L, PLACE: place}) for entry in _corrected())
    return sympy.And(*(sympy.sympify(bool(sympy.expand(first + sign * second).is_positive)) for sign in (1, -1)))


def _fixed_place() -> sympy.Expr:
    return eta * SLOPE / 2


def _settles() -> sympy.Basic:
    """Schur and Cohn: |c| < 1 and |1 − c| < 1 + c; c = 1/(1 + slack). And ηα/2 is the fixed point."""
    fixed = sympy.expand(_following().subs({PLACE: _fixed_place(), EARLIER: _fixed_place()}) - _fixed_place())
    linear, constant = -sympy.diff(_following(), PLACE), -sympy.diff(_following(), EARLIER)
    slack, half_product = sympy.Symbol("slack", positive=True), sympy.Symbol("c", positive=True)
    inside = [1 - constant, 1 + linear + constant, 1 - linear + constant]
    reduced = (entry.subs(eta, 2 * half_product / L).subs(half_product, 1 / (1 + slack)) for entry in inside)
    return sympy.And(sympy.Eq(fixed, 0), *(sympy.sympify(bool(sympy.factor(entry).is_positive)) for entry in reduced))
