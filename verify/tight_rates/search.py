"""Can one step shrink less than the stated rate? Steps in exact fractions, and the cases that a search draws.

Vectors are pairs of fractions. At one point, or between two, every L-smooth μ-strongly convex f acts like
Δg = A(Δx + r y) with ‖y‖ ≤ ‖Δx‖, A = (L + μ)/2, r = (L − μ)/(L + μ), and such gradients always extend to an f (Taylor,
Hendrickx and Glineur 2017, Theorem 4); every C has C(v) = v − s w with ‖w‖ ≤ ‖v‖. So y and w are drawn as turned,
reflected and shortened vectors. s and θ are rational, which makes the rate rational. Ours.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Any

import sympy
from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.admission import rational_root, substituted
from sparsync.verify.tight_rates.certificates import SMOOTHNESS

Pair = tuple[Fraction, Fraction]
"""A vector with two coordinates."""

Rows = tuple[Fraction, Fraction, Fraction, Fraction]
"""A matrix with two rows and columns, row by row."""

MAX_WORKERS = 3
"""Largest number of workers that a search draws."""


@dataclass(frozen=True)
class Turn:
    """A linear map that lengthens nothing: turn by the angle whose half has tangent u, reflect or not, shorten.

    Args:
        half_tangent: u.
        reflected: the second coordinate changes its sign first.
        length: factor in [−1, 1].
    """

    half_tangent: Fraction
    reflected: bool
    length: Fraction

    def __call__(self, vector: Pair) -> Pair:
        """The image of a vector."""
        square = 1 + self.half_tangent**2
        cosine, sine = (1 - self.half_tangent**2) / square, 2 * self.half_tangent / square
        first, second = vector[0], -vector[1] if self.reflected else vector[1]
        return (self.length * (cosine * first - sine * second), self.length * (sine * first + cosine * second))


@dataclass(frozen=True)
class Worker:
    """What one worker brings to a step.

    Args:
        curvature: maps Δx to y.
        response: maps v to w.
        memory: e of error feedback, d of EF21.
        gradient: ∇f(x), used by EF21.
    """

    curvature: Turn
    response: Turn
    memory: Pair
    gradient: Pair


@dataclass(frozen=True)
class Numbers:
    """s, μ and the step size; L is `SMOOTHNESS`.

    Args:
        root_epsilon: s.
        mu: μ.
    """

    root_epsilon: Fraction
    mu: Fraction

    @property
    def step_size(self) -> Fraction:
        """η* as stated."""
        return exact("ef_tight_step", self)

    def assumed_step(self, label: str) -> Fraction:
        """η as a rate assumes it."""
        return _at(STATEMENTS[label].given("step_size"), self)

    def assumed_root(self, label: str) -> Fraction:
        """The root of the share that the compressor may keep back, as a statement assumes it; rounded down."""
        return rational_root(_at(STATEMENTS[label].given("kept_back"), self))


def exact(label: str, numbers: Numbers) -> Fraction:
    """The bound of a statement, which is rational here."""
    # Searches return to the same numbers; a relation is immutable, so a replaced statement has its own entry.
    return _exact(STATEMENTS[label].relation, label, numbers)


@lru_cache(maxsize=10_000)
def _at(expression: sympy.Expr, numbers: Numbers) -> Fraction:
    """An expression in μ, L and ε, which is rational here."""
    return substituted(
        expression,
        {"mu": numbers.mu, "smoothness": Fraction(SMOOTHNESS), "epsilon": numbers.root_epsilon**2},
    )


@lru_cache(maxsize=10_000)
def _exact(_relation: sympy.Rel, label: str, numbers: Numbers) -> Fraction:
    value = STATEMENTS[label].exact(mu=numbers.mu, smoothness=SMOOTHNESS, epsilon=numbers.root_epsilon**2)
    return Fraction(int(value.p), int(value.q))


def feedback_margin(numbers: Numbers, position: Pair, workers: Sequence[Worker]) -> Fraction:
    """ρ − V_1/V_0 of error feedback; the minimiser is zero for all workers. ρ where V_0 = 0, which leaves V_1 = 0."""
    s, eta, count = numbers.root_epsilon, numbers.assumed_step("ef_tight_rate"), len(workers)
    largest = numbers.assumed_root("ef_tight_rate")
    corrected = [
        _add(worker.memory, _scale(eta, gradient_change(numbers, position, worker.curvature))) for worker in workers
    ]
    kept = [_scale(largest, worker.response(vector)) for worker, vector in zip(workers, corrected, strict=True)]
    sent = [_add(vector, _scale(-1, rest)) for vector, rest in zip(corrected, kept, strict=True)]
    end = _add(position, _scale(Fraction(-1, count), _total(sent)))
    before = _feedback_value(s, position, [worker.memory for worker in workers])
    return _margin("ef_tight_rate", numbers, before=before, after=_feedback_value(s, end, kept))


def feedback_21_margin(numbers: Numbers, workers: Sequence[Worker]) -> Fraction:
    """ρ − V_1/V_0 of EF21; the workers' gradients are any vectors."""
    s, count = numbers.root_epsilon, len(workers)
    largest = numbers.assumed_root("ef21_tight_rate")
    move = _scale(-numbers.assumed_step("ef21_tight_rate") / count, _total([worker.memory for worker in workers]))
    gradients = [_add(worker.gradient, gradient_change(numbers, move, worker.curvature)) for worker in workers]
    errors = [
        _scale(largest, worker.response(_add(gradient, _scale(-1, worker.memory))))
        for worker, gradient in zip(workers, gradients, strict=True)
    ]
    before_errors = [_add(worker.gradient, _scale(-1, worker.memory)) for worker in workers]
    before = _feedback_21_value(s, [worker.gradient for worker in workers], before_errors)
    return _margin("ef21_tight_rate", numbers, before=before, after=_feedback_21_value(s, gradients, errors))


def descent_margin(numbers: Numbers, position: Pair, curvature: Turn, response: Turn) -> Fraction:
    """ρ − f(x_1)/f(x_0) of compressed gradient descent for a quadratic f with ∇f(x) = A(x + r y), y a reflection."""
    s, eta = numbers.assumed_root("compressed_descent_rate"), numbers.assumed_step("compressed_descent_rate")
    gradient = gradient_change(numbers, position, curvature)
    sent = _add(gradient, _scale(s, response(gradient)))
    end = _add(position, _scale(-eta, sent))
    before, after = _dot(position, gradient), _dot(end, gradient_change(numbers, end, curvature))
    return _margin("compressed_descent_rate", numbers, before=before, after=after)


def step_margin(numbers: Numbers, step_size: Fraction) -> Fraction:
    """How much larger max |t| is at a step size than at η*, t the trace of a step on μx²/2 or Lx²/2, C(v) = (1 + s)v.

    The determinant is −s at any step size, so the largest eigenvalue grows with |t|; another determinant would refute
    this, and gives the margin −1.
    """
    margins, root = [], numbers.assumed_root("ef_tight_step")
    for method in (_feedback_matrix, _feedback_21_matrix):
        steps = {eta: _matrices(method, numbers, eta, root) for eta in (step_size, numbers.step_size)}
        determinants = {a * d - b * c for matrices in steps.values() for a, b, c, d in matrices}
        if determinants != {-root}:
            return Fraction(-1)
        sizes = [max(abs(a + d) for a, _, _, d in steps[eta]) for eta in (step_size, numbers.step_size)]
        margins.append(sizes[0] - sizes[1])
    return min(margins)


def gradient_change(numbers: Numbers, move: Pair, curvature: Turn) -> Pair:
    """Δg = A(Δx + r y)."""
    mean, half = (SMOOTHNESS + numbers.mu) / 2, (SMOOTHNESS - numbers.mu) / 2
    return _add(_scale(mean, move), _scale(half, curvature(move)))


def sharp(margin: Callable[..., Fraction]) -> Callable[[bool, tuple[Any, ...]], Fraction]:
    """The margin of a case, or −|margin| where the case is said to attain the rate: neither side has room there."""

    def signed(attains: bool, case: tuple[Any, ...]) -> Fraction:
        return -abs(margin(*case)) if attains else margin(*case)

    return signed


def feedback_cases() -> st.SearchStrategy[tuple[bool, tuple[Any, ...]]]:
    """Cases of `feedback_margin`: any state, or the one that shrinks least, which attains the rate."""
    free = st.tuples(numbers(), pairs(), st.lists(workers(), min_size=1, max_size=MAX_WORKERS))
    return _free_or_extremal(free, numbers().map(_extremal_feedback))


def feedback_21_cases() -> st.SearchStrategy[tuple[bool, tuple[Any, ...]]]:
    """Cases of `feedback_21_margin`, likewise."""
    free = st.tuples(numbers(), st.lists(workers(), min_size=1, max_size=MAX_WORKERS))
    return _free_or_extremal(free, numbers().map(_extremal_feedback_21))


def descent_cases() -> st.SearchStrategy[tuple[bool, tuple[Any, ...]]]:
    """Cases of `descent_margin`: symmetric maps as curvature, so that f is quadratic; the two extreme quadratics."""
    free = st.tuples(
        numbers(), pairs(), turns(reflected=True), st.one_of(turns(reflected=True), turns(reflected=False))
    )
    extremal = st.tuples(numbers(), pairs(), st.sampled_from((_KEPT, _REVERSED)))
    return _free_or_extremal(free, extremal.map(lambda case: (*case, case[-1])))


def step_cases() -> st.SearchStrategy[tuple[Numbers, Fraction]]:
    """Cases of `step_margin`: η in units of 1/L, up to 4, or the one at which the two traces cancel."""
    free = st.tuples(numbers(), grid(1, 4000, 1000).map(lambda scaled: scaled / SMOOTHNESS))
    return st.one_of(free, numbers().map(_balanced))


@st.composite
def numbers(draw: st.DrawFn) -> Numbers:
    """s in (0, 1) and θ in (√s, 1), both rational, and μ = L(1 − r)/(1 + r) with r = (θ² − s)/(θ(1 − s))."""
    s = draw(grid(1, 49, 50))
    upper = (1 + s) / 2
    theta = upper + draw(grid(0, 49, 50)) * (1 - upper)
    spread = (theta**2 - s) / (theta * (1 - s))
    return Numbers(root_epsilon=s, mu=SMOOTHNESS * (1 - spread) / (1 + spread))


def turns(*, reflected: bool) -> st.SearchStrategy[Turn]:
    """Turns of any angle, of full length more often than not."""
    tangents = grid(-32, 32, 8)
    lengths = st.one_of(st.sampled_from([Fraction(1), Fraction(-1)]), grid(-8, 8, 8))
    return st.builds(Turn, tangents, st.just(reflected), lengths)


def workers() -> st.SearchStrategy[Worker]:
    """Any worker."""
    either = st.one_of(turns(reflected=True), turns(reflected=False))
    return st.builds(Worker, either, either, pairs(), pairs())


def pairs() -> st.SearchStrategy[Pair]:
    """Small vectors, not both coordinates zero."""
    entries = grid(-32, 32, 8)
    return st.tuples(entries, entries).filter(any)


def grid(lowest: int, highest: int, denominator: int) -> st.SearchStrategy[Fraction]:
    """Fractions with one denominator, which are faster to draw than any."""
    return st.integers(lowest, highest).map(lambda numerator: Fraction(numerator, denominator))


def _balanced(values: Numbers) -> tuple[Numbers, Fraction]:
    """(1 − s) − (1 + s)ηa at a = μ and at a = L add up to zero."""
    s = values.root_epsilon
    return values, 2 * (1 - s) / ((1 + s) * (values.mu + SMOOTHNESS))


def _extremal_feedback(values: Numbers) -> tuple[Numbers, Pair, list[Worker]]:
    """f = μx²/2, C(v) = (1 + s)v and the eigenvector (1, (1 − θ)/(1 + s) − ημ) of θ; θ + det/θ is the trace."""
    theta = _factor(values)
    memory = (1 - theta) / (1 + values.root_epsilon) - values.step_size * values.mu
    worker = Worker(_REVERSED, _REVERSED, memory=(memory, Fraction(0)), gradient=(values.mu, Fraction(0)))
    return values, (Fraction(1), Fraction(0)), [worker]


def _extremal_feedback_21(values: Numbers) -> tuple[Numbers, list[Worker]]:
    """The same with d = (1 − θ)/η at x = 1."""
    estimate = (1 - _factor(values)) / values.step_size
    worker = Worker(_REVERSED, _REVERSED, memory=(estimate, Fraction(0)), gradient=(values.mu, Fraction(0)))
    return values, [worker]


def _free_or_extremal(
    free: st.SearchStrategy[Any], extremal: st.SearchStrategy[Any]
) -> st.SearchStrategy[tuple[bool, tuple[Any, ...]]]:
    return st.one_of(st.tuples(st.just(False), free), st.tuples(st.just(True), extremal))


_KEPT = Turn(Fraction(0), reflected=False, length=Fraction(1))
"""v ↦ v: the curvature L, and the response C(v) = (1 + s)v of compressed gradient descent."""
_REVERSED = Turn(Fraction(0), reflected=False, length=Fraction(-1))
"""v ↦ −v: the curvature μ, and the response C(v) = (1 + s)v of error feedback, C(v) = (1 − s)v of descent."""


def _factor(values: Numbers) -> Fraction:
    """θ from its equation, as the larger root of θ² − (1 − s)rθ − s: the root of a rational square."""
    s = values.root_epsilon
    linear = (1 - s) * (SMOOTHNESS - values.mu) / (SMOOTHNESS + values.mu)
    square = linear**2 + 4 * s
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    return (linear + root) / 2


def _margin(label: str, values: Numbers, *, before: Fraction, after: Fraction) -> Fraction:
    if before == 0:
        return exact(label, values) if after == 0 else Fraction(-1)
    return exact(label, values) - after / before


def _feedback_value(s: Fraction, position: Pair, memories: Sequence[Pair]) -> Fraction:
    """Σ‖x − e_i‖² + ‖Σ e_i‖²/(ns)."""
    virtual = (_add(position, _scale(-1, memory)) for memory in memories)
    total = _total(memories)
    return sum((_dot(vector, vector) for vector in virtual), Fraction(0)) + _dot(total, total) / (len(memories) * s)


def _feedback_21_value(s: Fraction, gradients: Sequence[Pair], errors: Sequence[Pair]) -> Fraction:
    """Σ‖g_i − d_i‖²/s + ‖Σ g_i‖²/n."""
    total = _total(gradients)
    return sum((_dot(error, error) for error in errors), Fraction(0)) / s + _dot(total, total) / len(gradients)


def _matrices(
    method: Callable[[Fraction, Fraction, Fraction], Rows], numbers: Numbers, eta: Fraction, root: Fraction
) -> list[Rows]:
    return [method(eta, curvature, root) for curvature in (numbers.mu, SMOOTHNESS)]


def _feedback_matrix(eta: Fraction, curvature: Fraction, s: Fraction) -> Rows:
    """(x, e) after a step, row by row, from the unit states."""

    def step(x: Fraction, e: Fraction) -> Pair:
        v = e + eta * curvature * x
        return x - (1 + s) * v, v - (1 + s) * v

    (a, c), (b, d) = step(Fraction(1), Fraction(0)), step(Fraction(0), Fraction(1))
    return a, b, c, d


def _feedback_21_matrix(eta: Fraction, curvature: Fraction, s: Fraction) -> Rows:
    """(x, d) after a step, row by row, from the unit states."""

    def step(x: Fraction, d: Fraction) -> Pair:
        end = x - eta * d
        return end, d + (1 + s) * (curvature * end - d)

    (a, c), (b, d) = step(Fraction(1), Fraction(0)), step(Fraction(0), Fraction(1))
    return a, b, c, d


def _add(left: Pair, right: Pair) -> Pair:
    return left[0] + right[0], left[1] + right[1]


def _scale(factor: Fraction | int, vector: Pair) -> Pair:
    return factor * vector[0], factor * vector[1]


def _dot(left: Pair, right: Pair) -> Fraction:
    return left[0] * right[0] + left[1] * right[1]


def _total(vectors: Sequence[Pair]) -> Pair:
    return sum((vector[0] for vector in vectors), Fraction(0)), sum((vector[1] for vector in vectors), Fraction(0))
